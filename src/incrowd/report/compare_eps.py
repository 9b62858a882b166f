"""Use against eps: what differential privacy costs, beside releases that have no eps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.compare_charts import Chart, Section, domain_of, lines
from incrowd.report.line_names import log_axis, names_at_ends
from incrowd.report.vega import Spec

__all__ = ["eps_charts", "eps_section"]

Row = Mapping[str, Any]

CHARTS = (
    Chart(
        "eps_items",
        "How far off are counts of items, by eps?",
        "Counts of the 1,000 most frequent items, as below. Less is better.",
        "use_items_error",
        "counts of items off by",
    ),
    Chart(
        "eps_pairs",
        "How many frequent pairs are found, by eps?",
        "Of the 1,000 most frequent pairs, as below. More is better.",
        "use_pairs_recall",
        "frequent pairs found",
    ),
)
NOTE = "A small eps promises much: 1 or less is strong, and 10 is weak. Lines across are releases that have no eps; they promise something else."


def eps_charts(rows: Sequence[Row]) -> dict[str, Spec]:
    """Return the charts by the ids of their places; none where no method ran with several eps."""
    noisy = [row for row in rows if row["eps"] is not None and row["use_items_error"] is not None]
    if len({row["eps"] for row in noisy}) == 1 or not noisy:
        return {}
    others = [
        row
        for row in rows
        if row["eps"] is None and row["use_items_error"] is not None and row["kind"] != "none"
    ]
    return {chart.id: _by_eps(rows, noisy, others, chart) for chart in CHARTS}


def eps_section(specs: Mapping[str, Spec]) -> list[Section]:
    """Return the section of the charts that are drawn."""
    drawn = [chart for chart in CHARTS if chart.id in specs]
    return [Section("What eps costs", NOTE, [], drawn)] if drawn else []


def _by_eps(rows: Sequence[Row], noisy: Sequence[Row], others: Sequence[Row], chart: Chart) -> Spec:
    """Return a chart of a measure by eps: a line for each method, and one across for each other run."""
    every = sorted({row["eps"] for row in noisy})
    domain = domain_of([*noisy, *others], chart.field)
    across = [
        {
            **{name: row[name] for name in ("family", "kind", "k", chart.field)},
            "label": _name(row),
            "eps": eps,
        }
        for row in others
        for eps in (every[0], every[-1])
    ]
    last = {row["family"]: row for row in sorted(noisy, key=lambda row: row["eps"])}
    last |= {row["label"]: row for row in across}
    names = names_at_ends(last, chart.field, domain)
    x = log_axis("eps", every, names, "~g")
    level = {
        "data": {"values": across},
        "mark": {"type": "line", "strokeWidth": 1.5},
        "encoding": {"detail": {"field": "label"}},
    }
    return lines(rows, chart, x, domain, names, detail="family", below=[level] if across else [])


def _name(row: Row) -> str:
    return row["label"] if row["k"] is None else f"{row['label']}, k = {row['k']}"
