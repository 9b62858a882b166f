"""Options that lists with noise do not take: what they would do depends on the data, or takes away the noise."""

from __future__ import annotations

from pathlib import Path

from incrowd.errors import BadInputError, option
from incrowd.methods.registry import Method

__all__ = ["check_noisy"]


def check_noisy(method: Method, *, unit: str | None, series: Path | None, seed: int | None) -> None:
    """Refuse units of which a person has several to a method that protects rows, a series, and a seed."""
    if method.needs_events and unit not in (None, "user"):
        raise BadInputError(
            f"method {method.name} protects rows: use {option('unit', 'user')}, so that a row is a person"
        )
    if series is not None:
        raise BadInputError(
            f"{option('series')} looks for overlaps in the data, which method {method.name} must not disclose: use {option('budget', 'FILE')} for "
            f"releases one after another, and method dp with of=weeks for counts by week"
        )
    if seed is not None:
        raise BadInputError(
            f"method {method.name} takes no seed, for noise that can be drawn again protects nobody: drop {option('seed', seed)}"
        )
