"""Use against risk: the chart of a comparison to decide by, where the releases were attacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.compare_charts import Chart, against
from incrowd.report.compare_measures import HIGHEST_RISK, RISKS
from incrowd.report.line_names import room_for_names
from incrowd.report.vega import Spec

__all__ = ["CHART", "risk_chart", "risk_note"]

Row = Mapping[str, Any]

CHART = Chart(
    "risk",
    "Use against risk: the picture to decide by",
    "One point for each method and k. Good is high and to the left. Use: how many of the 1,000 most frequent pairs are found. Low risks are drawn wider than high ones. A bar through a point: its 95% interval.",
    "use_pairs_recall",
    "frequent pairs found (more is better)",
    (HIGHEST_RISK, "risk (less is better)"),
)
ASKED, SHOWN = "asked", "risk_shown"
LEAST_TOP = 0.01
BEFORE_ZERO = 0.03  # of the axis, so that points at 0 are whole


def risk_chart(rows: Sequence[Row], limits: Mapping[str, float]) -> dict[str, Spec]:
    """Return the chart by the id of its place; nothing where no run was attacked.

    The axis of risk is that of square roots: methods that protect have low risks, and one that does not would push them together.

    Parameters
    ----------
    rows
        What the charts draw, see :func:`incrowd.report.compare_charts.chart_rows`.
    limits
        The risks up to which a light is ``green`` and ``amber``.
    """
    drawn = [row for row in rows if row[HIGHEST_RISK] is not None and row[CHART.field] is not None]
    if not drawn:
        return {}
    spec, top = against(rows, CHART), max(LEAST_TOP, *(row[f"{HIGHEST_RISK}_high"] for row in drawn))
    end = 1.02 * top / (1 - room_for_names(drawn)) ** 2
    x, y = spec["encoding"]["x"], spec["encoding"]["y"]
    x = {
        **x,
        "field": SHOWN,
        "scale": {"type": "sqrt", "domain": [-(BEFORE_ZERO**2) * end, end], "nice": False},
    }
    asked = [{"calculate": f"datum[{ASKED} + '{end}']", "as": SHOWN + end} for end in ("", "_low", "_high")]
    ends = {
        "mark": {"type": "rule", "opacity": 0.4, "strokeWidth": 1.5},
        "encoding": {"x": {"field": f"{SHOWN}_low"}, "x2": {"field": f"{SHOWN}_high"}},
    }
    valid = [{"field": field, "valid": True} for field in (SHOWN, CHART.field)]
    return {
        CHART.id: {
            **spec,
            "params": [_choice(drawn)],
            "transform": [*asked, {"filter": {"and": valid}}],
            "encoding": {**spec["encoding"], "x": x, "y": y},
            "layer": [*_limit_lines(limits, end), ends, *map(_of_runs, spec["layer"])],
        }
    }


def _of_runs(layer: Spec) -> Spec:
    """Return a layer that draws the runs themselves: their places depend on which risk the reader chooses."""
    return {name: value for name, value in layer.items() if name != "data"}


def _choice(drawn: Sequence[Row]) -> Spec:
    """Return which risk is drawn: the highest of all, or that of a question, as the reader likes."""
    measured = {name: title for name, title in RISKS.items() if any(row[name] is not None for row in drawn)}
    fields = [HIGHEST_RISK, *measured]
    labels = ["the highest of the questions", *measured.values()]
    select = {"input": "select", "options": fields, "labels": labels, "name": "Risk: "}
    return {"name": ASKED, "value": HIGHEST_RISK, **({"bind": select} if len(measured) > 1 else {})}


def _limit_lines(limits: Mapping[str, float], end: float) -> list[Spec]:
    """Return where amber and red begin, as far as that is in the chart."""
    begins = [("amber", limits["green"]), ("red", limits["amber"])]
    values = [{"at": at, "says": light} for light, at in begins if at < end]
    if not values:
        return []
    shared = {"x": {"field": "at", "type": "quantitative"}, "color": {"value": "#8a93a0"}}
    rule = {"type": "rule", "strokeDash": [4, 4], "strokeWidth": 1}
    text = {"type": "text", "align": "left", "dx": 4, "dy": -6, "fontSize": 11}
    data = {"values": values}
    return [
        {"data": data, "mark": rule, "encoding": {**shared, "y": None}},
        {"data": data, "mark": text, "encoding": {**shared, "y": {"value": 0}, "text": {"field": "says"}}},
    ]


def risk_note(risk: Mapping[str, Any]) -> str:
    """Return what the risks of a comparison are, in words."""
    green, amber = (f"{100 * risk[name]:g}%" for name in ("green", "amber"))
    return (
        f"Risk: the highest that attacks found, for each question of the authorities: whether a person can be singled out (fewer than k candidates are left, "
        f"k as the run has it), records linked, something inferred; at most {risk['most']:,} people were tried. Green up to {green}, amber up to {amber}. "
        "A low figure is a lower bound of what attackers can do."
    )
