"""What a release costs its readers."""

from __future__ import annotations

from incrowd.metrics.losses import Losses, measure_losses
from incrowd.metrics.utility import Utility, measure_utility

__all__ = ["Losses", "Utility", "measure_losses", "measure_utility"]
