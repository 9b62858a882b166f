"""The measures of a comparison: what they are called for people, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.html import share

__all__ = ["COLUMNS", "HIGHEST_RISK", "RISKS", "cell", "columns_of", "flat", "risks_of"]

Run = Mapping[str, Any]

# In plain words; the papers' names are in brackets.
COLUMNS = {
    "use_items_error": "item counts off",
    "use_pairs_recall": "pairs found",
    "use_pairs_error": "pair counts off",
    "use_kept_exactly": "items kept",
    "use_links_kept": "links kept",
    "use_trend_error": "weekly counts off",
    "use_clicks_recall": "clicks found",
    "ggd_norm": "loss (GGD)",
    "ncp": "uncertainty (NCP)",
    "ic_norm": "log. loss (IC)",
    "kept_exactly": "copies kept",
    "blm": "bag loss (bLM)",
    "recall": "pattern recall",
    "sdist": "pattern distance (sDist)",
    "information_loss": "group change (L)",
    "linkage": "linkage (RL)",
    "avg_length": "length",
    "avg_level": "level",
    "groups": "distinct",
    "k_min": "smallest",
    "people_min": "people",
    "withheld": "withheld",
    "risk_singling_out": "singled out",
    "risk_linkability": "linked",
    "risk_inference": "inferred",
    "seconds": "seconds",
    "peak_mb": "peak MB",
}
RISKS = {
    "risk_singling_out": "singling out",
    "risk_linkability": "linkability",
    "risk_inference": "inference",
}
HIGHEST_RISK = "risk"
ENDS = ("low", "high")
USE = tuple(name for name in COLUMNS if name.startswith("use_"))
SHARES = (*USE, "ggd_norm", "ncp", "ic_norm", "kept_exactly", "blm", "recall", *RISKS)
WHOLE = ("groups", "k_min", "people_min", "withheld", "peak_mb")
DECIMALS = {"sdist": 2, "information_loss": 1, "linkage": 1, "avg_length": 2, "avg_level": 2, "seconds": 3}


def flat(run: Run) -> dict[str, Any]:
    """Return a run with its measures of use and the ends of its risks beside the others, as ``use_...`` and ``risk_..._low``; None where it has none."""
    use, ends = run["use"] or {}, run["risk_intervals"] or {}
    measured = {name: use.get(name.removeprefix("use_")) for name in USE}
    risks = {
        f"{name}_{end}": ends[name][place] if name in ends else None
        for name in RISKS
        for place, end in enumerate(ENDS)
    }
    return {**run, **measured, **risks}


def risks_of(run: Run) -> dict[str, float | None]:
    """Return the risks of a run with what they lie between, and the highest of them; None where it was not attacked."""
    measured = [name for name in RISKS if run[name] is not None]
    highest = max(measured, key=lambda name: run[name], default=None)
    found: dict[str, float | None] = {}
    for end in ("", *(f"_{end}" for end in ENDS)):
        found |= {f"{name}{end}": run[f"{name}{end}"] for name in RISKS}
        found[f"{HIGHEST_RISK}{end}"] = None if highest is None else run[f"{highest}{end}"]
    return found


def columns_of(runs: Sequence[Run]) -> dict[str, str]:
    """Return the columns in which any run has a number."""
    return {name: title for name, title in COLUMNS.items() if any(run[name] is not None for run in runs)}


def cell(run: Run, name: str) -> str:
    """Format one number of a run; an empty text where there is none."""
    value = run[name]
    if value is None:
        return ""
    if name in SHARES:
        return share(value)
    return f"{value:,.0f}" if name in WHOLE else f"{value:,.{DECIMALS[name]}f}"
