"""``compare.html``: a comparison of methods on one self-contained page.

The page is made from counts and losses; it contains no record, original or published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from incrowd.core.claims import Claim
from incrowd.report.bound import bounds_note
from incrowd.report.compare_charts import chart_rows, charts
from incrowd.report.html import render, share

__all__ = ["COLUMNS", "KINDS", "PRIVATE", "cell", "input_in_words", "render_comparison", "verdict"]

# The promises from the strongest to none, described for a reader who chooses between them.
KINDS = {
    "k-anonymity": "Every whole published record is shared by at least k: the strongest promise here.",
    "k^m-anonymity": (
        "Any m published items that occur together are shared by at least k: a weaker promise, so it costs less."
    ),
    "differential privacy": "The release hardly depends on any one person; it contains no records of people.",
    "none": "Nothing is promised of these releases. They show how little is lost when nothing is protected.",
}
PRIVATE = (
    "Numbers of runs with differential privacy are private: measured on the originals, for the owner only, not covered by "
    "the promise."
)
# How the charts mark each promise (see compare_charts.SHAPES and DASHES).
SIGNS = {"k-anonymity": "● ───", "k^m-anonymity": "■ ╌╌╌", "differential privacy": "◆ ─╌─", "none": "▲ ┈┈┈"}
COLUMNS = {
    "ggd_norm": "loss (GGD)",
    "ncp": "uncertainty (NCP)",
    "ic_norm": "log. loss (IC)",
    "kept_exactly": "kept exactly",
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
    "seconds": "seconds",
    "peak_mb": "peak MB",
}
SHARES = ("ggd_norm", "ncp", "ic_norm", "kept_exactly", "blm", "recall")
WHOLE = ("groups", "k_min", "people_min", "withheld", "peak_mb")
DECIMALS = {"sdist": 2, "information_loss": 1, "linkage": 1, "avg_length": 2, "avg_level": 2, "seconds": 3}


class Group(NamedTuple):
    """Runs of one kind of promise; only these may be ranked against each other."""

    kind: str
    sign: str
    says: str
    caveat: str
    methods: list[str]
    runs: list[Mapping[str, Any]]
    note: str


def render_comparison(result: Mapping[str, Any]) -> str:
    """Render the page of a comparison (the object that ``compare.json`` holds)."""
    rows = chart_rows(result["runs"])
    return render(
        "compare.html",
        result=result,
        cell=cell,
        verdict=verdict,
        groups=_groups(result["runs"]),
        shared=input_in_words(result),
        failures=[run for run in result["runs"] if run["error"]],
        columns=COLUMNS,
        bounds=bounds_note(result["runs"]),
        specs=charts(rows),
        has_k=any(row["k"] is not None for row in rows),
        has_curve=any(row["family"] != row["label"] for row in rows),
        datasets={"runs": rows},
    )


def input_in_words(result: Mapping[str, Any]) -> str:
    """Return the common input of all methods in words: the unit, the items and the taxonomy."""
    unit, items, taxonomy = result["unit"], result["items"]["kind"], result["taxonomy"]
    return f"unit {unit}, items {items}, taxonomy {taxonomy['name']} ({taxonomy['leaves']:,} leaves, {taxonomy['levels']} levels)"


def cell(run: Mapping[str, Any], name: str) -> str:
    """Format one number of a run; an empty text where there is none."""
    value = run[name]
    if value is None:
        return ""
    if name in SHARES:
        return share(value)
    return f"{value:,.0f}" if name in WHOLE else f"{value:,.{DECIMALS[name]}f}"


def verdict(run: Mapping[str, Any]) -> str:
    """Return the audit's result in a word or two."""
    if run["promise"] is None:
        return "failed"
    if run["holds"] is None:
        return "nothing promised" if run["kind"] == "none" else "cannot be recounted"
    return "holds" if run["holds"] else "DOES NOT HOLD"


def _groups(runs: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Group the runs by kind of promise; they are already in that order."""
    found = []
    for kind, same in groupby(runs, key=lambda run: run["kind"]):
        members = list(same)
        note = PRIVATE if any(run["private"] for run in members) else ""
        labels = list(dict.fromkeys(run["label"] for run in members))
        found.append(
            Group(kind, SIGNS[kind], KINDS[kind], Claim(kind).not_promised[0], labels, members, note)
        )
    return found
