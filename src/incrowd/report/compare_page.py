"""``compare.html``: a comparison of methods on one self-contained page.

The page is made from counts and measures; it contains no record, original or published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from incrowd.core.claims import Claim
from incrowd.report.bound import bounds_note
from incrowd.report.compare_charts import chart_rows, charts, sections
from incrowd.report.compare_choice import choices, in_words, shown_ks
from incrowd.report.compare_eps import eps_charts, eps_section
from incrowd.report.compare_measures import cell, columns_of, flat
from incrowd.report.compare_risk import CHART, risk_chart, risk_note
from incrowd.report.html import render

__all__ = ["KINDS", "PRIVATE", "input_in_words", "render_comparison", "verdict"]

# The promises from the strongest to none, described for a reader who chooses between them.
KINDS = {
    "k-anonymity": "Every whole published record is shared by at least k: the strongest promise about records here.",
    "k^m-anonymity": (
        "Any m published items that occur together are shared by at least k: a weaker promise, so it costs less."
    ),
    "k-anonymous tiles": (
        "Small sets of items, each held by at least k people; nothing says which sets are one person's, so no one's record is there."
    ),
    "differential privacy": "The release hardly depends on any one person; it contains no records of people.",
    "none": "Nothing is promised of these releases. They show how little is lost when nothing is protected.",
}
PRIVATE = (
    "Numbers of runs with differential privacy are private: measured on the originals, for the owner only, not covered by "
    "the promise."
)
# How the charts mark each promise (see compare_charts.SHAPES and DASHES).
SIGNS = {
    "k-anonymity": "● ───",
    "k^m-anonymity": "■ ╌╌╌",
    "k-anonymous tiles": "✚ ┄┄┄",
    "differential privacy": "◆ ─╌─",
    "none": "▲ ┈┈┈",
}


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
    runs = [flat(run) for run in result["runs"]]
    rows = chart_rows(runs)
    attacked = result.get("risk")
    specs = charts(rows) | eps_charts(rows) | (risk_chart(rows, attacked) if attacked else {})
    return render(
        "compare.html",
        result=result,
        cell=cell,
        verdict=verdict,
        groups=_groups(runs),
        shared=input_in_words(result),
        best=in_words(runs),
        choices=choices(runs),
        ks=shown_ks(runs),
        failures=[run for run in runs if run["error"]],
        columns=columns_of(runs),
        decide=[CHART] if CHART.id in specs else [],
        risk_note=risk_note(attacked) if attacked else "",
        sections=eps_section(specs) + sections(specs, bounds_note(runs)),
        specs=specs,
        without_k=any(row["k"] is None for row in rows),
        has_curve=any(row["family"] != row["label"] and row["eps"] is None for row in rows),
        datasets={"runs": rows},
    )


def input_in_words(result: Mapping[str, Any]) -> str:
    """Return the common input of all methods in words: the unit, the items and the taxonomy."""
    unit, items, taxonomy = result["unit"], result["items"]["kind"], result["taxonomy"]
    return f"unit {unit}, items {items}, taxonomy {taxonomy['name']} ({taxonomy['leaves']:,} leaves, {taxonomy['levels']} levels)"


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
