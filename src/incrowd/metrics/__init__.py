"""Measures of a release: information loss, utility for analysis, and linkage risk (docs/glossary.md)."""

from __future__ import annotations

from incrowd.metrics.bound import Bound, bound_of, lower_bound
from incrowd.metrics.losses import Losses, measure_losses
from incrowd.metrics.tasks import Utility, measure_utility

__all__ = ["Bound", "Losses", "Utility", "bound_of", "lower_bound", "measure_losses", "measure_utility"]
