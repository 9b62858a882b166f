"""What a release costs its readers."""

from __future__ import annotations

from incrowd.metrics.losses import Losses, measure_losses

__all__ = ["Losses", "measure_losses"]
