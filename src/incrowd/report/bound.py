"""The lower bound of the generalization loss in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.html import share

__all__ = ["bound_line", "bound_note", "bounds_note"]

Numbers = Mapping[str, int | float]


def bound_line(bound: Numbers) -> str:
    """Return a few words that explain the number and say whether it is exact."""
    sampled = f" (by a sample of {bound['rows']:,} records)" if bound["error"] else ""
    return f"no method can lose less than this{sampled}"


def bound_note(bound: Numbers | None) -> str:
    """Return a sentence for a release; an empty text where there is no bound."""
    if bound is None:
        return ""
    sample = f"a sample of {bound['rows']:,} records; three standard errors are taken off"
    how = f" ({sample})" if bound["error"] else ""
    return f" With this k no method can lose less than {share(bound['ggd_norm'])}, unless it withholds records{how}."


def bounds_note(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence for a comparison; an empty text where no run has a bound."""
    bounds = {run["k"]: run["bound"] for run in runs if run["bound"] is not None}
    if not bounds:
        return ""
    by_k = ", ".join(f"{share(bounds[k]['ggd_norm'])} (k = {k})" for k in sorted(bounds))
    sampled = any(bound["error"] for bound in bounds.values())
    how = "; from samples, three standard errors taken off" if sampled else ""
    return f"Under k-anonymity no method can lose less than {by_k}, unless it withholds records{how}."
