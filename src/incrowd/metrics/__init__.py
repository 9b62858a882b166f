"""What a release costs its readers."""

from __future__ import annotations

from incrowd.metrics.losses import Losses, measure_losses
from incrowd.metrics.patterns import PatternUtility, pattern_utility

__all__ = ["Losses", "PatternUtility", "measure_losses", "pattern_utility"]
