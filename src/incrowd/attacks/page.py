"""``risk.html``: what attackers get, before and after, on one self-contained page. It has shares and counts, and no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from incrowd.attacks.rates import Figure
from incrowd.attacks.result import GROUPS, QUESTIONS, Found, Risk, each_figure, title_of
from incrowd.attacks.shown import (
    LOWER_BOUND,
    PRIVATE,
    Answer,
    answer_of,
    interval_in_words,
    known_in_words,
    limits_in_words,
    parts_of,
    people_in_words,
    released_in_words,
    skipped_of,
)
from incrowd.report.html import render, share
from incrowd.report.vega import Spec
from incrowd.version import __version__

__all__ = ["MARK", "risk_page"]

MARK = "incrowd risk page"
HEIGHT = 240
LEAST_TOP = 0.1
# Before is drawn with a solid line, after with a broken one: colour alone says nothing.
DASHES = {"before": [1, 0], "after": [6, 3]}


class Curve(NamedTuple):
    """A chart of unicity: the id of its place, its heading, and the attack that it draws."""

    id: str
    heading: str
    attack: str


CURVES = (
    Curve("random", "Random items known", "unicity"),
    Curve("rarest", "Rarest items known", "unicity_rarest"),
    Curve("recent", "Latest items known", "unicity_recent"),
)


class Question(NamedTuple):
    """A question with its answer for each side."""

    text: str
    answers: Mapping[str, Answer]


def risk_page(risk: Risk) -> str:
    """Render the page of what attacks found. It is private."""
    specs = _charts(risk)
    return render(
        "risk.html",
        specs,
        risk=risk,
        mark=MARK,
        version=__version__,
        private=PRIVATE,
        lower_bound=LOWER_BOUND,
        people=people_in_words(risk.people),
        released=released_in_words(risk),
        limits=limits_in_words(risk.limits),
        questions=_questions(risk),
        curves_after=risk.after is not None and any(curve.attack in risk.after.found for curve in CURVES),
        curves=[curve for curve in CURVES if curve.id in specs],
        parts=parts_of(risk),
        skipped=[(title_of(name), sides, why) for name, sides, why in skipped_of(risk)],
        share=share,
        interval=interval_in_words,
        known=known_in_words,
    )


def _questions(risk: Risk) -> list[Question]:
    return [
        Question(GROUPS[group], {name: answer_of(risk, side, group) for name, side in risk.sides.items()})
        for group in QUESTIONS
    ]


def _charts(risk: Risk) -> dict[str, Spec]:
    """Return a chart for each way in which known items are drawn, all on one scale."""
    rows = {
        curve.id: [
            row
            for name, side in risk.sides.items()
            for row in _points(name, side.found.get(curve.attack, {}))
        ]
        for curve in CURVES
    }
    top = max((row["high"] for some in rows.values() for row in some), default=0.0)
    highest = min(1.0, 1.05 * max(LEAST_TOP, top))
    return {name: _chart(some, highest) for name, some in rows.items() if some}


def _points(side: str, found: Found) -> Iterator[dict[str, Any]]:
    """Yield how often an attack succeeds by number of known items."""
    for known, figure in each_figure(found).items():
        if figure.attack.tries:
            yield {"side": side, "known": known, **_place(figure)}


def _place(figure: Figure) -> dict[str, Any]:
    low, high = figure.attack.interval
    control = None if figure.control is None else figure.control.value
    return {"value": figure.value, "low": low, "high": high, "tries": figure.attack.tries, "control": control}


def _chart(rows: list[dict[str, Any]], highest: float) -> Spec:
    """Return a line with its band for each side that has any figures."""
    sides = list(dict.fromkeys(row["side"] for row in rows))
    ticks = sorted({row["known"] for row in rows})
    x = {
        "field": "known",
        "type": "quantitative",
        "title": "known items",
        "scale": {"domain": [ticks[0] - 0.3, ticks[-1] + 0.3], "nice": False},
        "axis": {"values": ticks, "format": "d", "grid": False},
    }
    scale = {"domain": [0, highest], "nice": False}
    y = {
        "type": "quantitative",
        "title": "people singled out",
        "scale": scale,
        "axis": {"format": "~%", "tickCount": 5},
    }
    key = {
        "title": None,
        "orient": "bottom",
        "symbolType": "stroke",
        "symbolSize": 400,
        "symbolStrokeWidth": 2.5,
    }
    legend = key if len(sides) > 1 else None
    colour = {"field": "side", "type": "nominal", "scale": {"domain": sides}, "legend": legend}
    dash = {**colour, "scale": {"domain": sides, "range": [DASHES[side] for side in sides]}}
    return {
        "data": {"values": rows},
        "width": "container",
        "height": HEIGHT,
        "encoding": {"x": x, "color": colour},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "strokeWidth": 2},
                "encoding": {"y": {**y, "field": "value"}, "strokeDash": dash},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
                "encoding": {"y": {**y, "field": "value"}, "tooltip": _TOOLTIP},
            },
        ],
    }


_TOOLTIP = [
    {"field": "side", "title": "data"},
    {"field": "known", "title": "known items"},
    {"field": "value", "title": "singled out", "format": ".2%"},
    {"field": "low", "title": "at least", "format": ".2%"},
    {"field": "high", "title": "at most", "format": ".2%"},
    {"field": "control", "title": "control", "format": ".2%"},
    {"field": "tries", "title": "people tried", "format": ","},
]
