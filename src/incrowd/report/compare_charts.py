"""The charts of a comparison.

Colour says which method. Shape and dash say what kind of promise: runs that promise different things look
different, for they must not be ranked against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.vega import Spec

__all__ = ["CHARTS", "chart_rows", "charts"]

Row = Mapping[str, Any]

CHARTS = ("ggd", "ncp", "kept", "trade", "recall", "sdist", "loss", "linkage", "time")
HEIGHT = 260
SHAPES = {
    "k-anonymity": "circle",
    "k^m-anonymity": "square",
    "differential privacy": "diamond",
    "none": "triangle-up",
}
DASHES = {
    "k-anonymity": [1, 0],
    "k^m-anonymity": [7, 4],
    "differential privacy": [9, 3, 2, 3],
    "none": [2, 3],
}
TOOLTIP = [
    {"field": "label", "title": "method"},
    {"field": "k", "title": "k"},
    {"field": "kind", "title": "promise"},
    {"field": "ggd_norm", "title": "GGD", "format": ".2%"},
    {"field": "ncp", "title": "NCP", "format": ".2%"},
    {"field": "kept_exactly", "title": "kept exactly", "format": ".2%"},
    {"field": "recall", "title": "recall of patterns", "format": ".2%"},
    {"field": "sdist", "title": "sDist of patterns", "format": ".2f"},
    {"field": "information_loss", "title": "L", "format": ".1f"},
    {"field": "linkage", "title": "RL", "format": ".1f"},
    {"field": "groups", "title": "distinct records", "format": ","},
    {"field": "withheld", "title": "withheld", "format": ","},
    {"field": "seconds", "title": "seconds", "format": ".3f"},
]


def chart_rows(runs: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what the charts draw: the runs that came to something, without what the charts do not use."""
    fields = [tip["field"] for tip in TOOLTIP]
    return [{name: run[name] for name in fields} for run in runs if run["holds"] is not None]


def charts(rows: Sequence[Row]) -> dict[str, Spec]:
    """Return the specification of each chart, by the name of its place in the page; the data are named ``runs``."""
    highest = max([0.01, *(row[name] for row in rows for name in ("ggd_norm", "ncp"))])
    same = {"domain": [0, min(1.0, highest * 1.05)]}  # one scale for both, so that they can be held together
    return {
        "ggd": _by_k(rows, _share("ggd_norm", "GGD / occurrences", same)),
        "ncp": _by_k(rows, _share("ncp", "NCP", same)),
        "kept": _by_k(rows, _share("kept_exactly", "kept exactly", {"zero": True})),
        "trade": _trade(rows),
        "recall": _by_k(rows, _share("recall", "recall of patterns", {"zero": True})),
        "sdist": _by_k(rows, {"field": "sdist", "type": "quantitative", "title": "sDist of patterns"}),
        "loss": _by_k(rows, _percent("information_loss", "L, percent")),
        "linkage": _by_k(rows, _percent("linkage", "RL, percent")),
        "time": _by_k(rows, _seconds(rows)),
    }


def _share(field: str, title: str, scale: Spec) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": {"format": "~%", "tickCount": 6},
    }


def _percent(field: str, title: str) -> Spec:
    scale = {"domain": [0, 100]}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": {"tickCount": 6}}


def _seconds(rows: Sequence[Row]) -> Spec:
    """Return the axis of time: by powers of ten, for methods differ by such."""
    times = [row["seconds"] for row in rows]
    return {
        "field": "seconds",
        "type": "quantitative",
        "title": "seconds (logarithmic)",
        "scale": {
            "type": "log",
            "domain": [max(min(times, default=1), 1e-6) / 1.5, max(times, default=1) * 1.5],
        },
        "axis": {"format": "~g", "tickCount": 5},
    }


def _by_k(rows: Sequence[Row], y: Spec) -> Spec:
    """Return a chart of some measure by k: a line and points for each method."""
    ks = sorted({row["k"] for row in rows})
    x = {
        "field": "k",
        "type": "quantitative",
        "title": "k (logarithmic)",
        "scale": {"type": "log", "domain": [ks[0] / 1.15, ks[-1] * 1.15]},
        "axis": {"values": ks, "format": "d", "grid": False, "labelOverlap": True},
    }
    line = {
        "mark": "line",
        "encoding": {"strokeDash": _promise(rows, DASHES), "strokeWidth": _falling(rows, 4, 1.5)},
    }
    return _chart(rows, {"x": x, "y": y}, [line])


def _trade(rows: Sequence[Row]) -> Spec:
    """Return GGD against what is kept exactly: a point for each method and k, with k beside it."""
    x = _share("kept_exactly", "kept exactly (more is better)", {"zero": False, "padding": 20})
    y = _share("ggd_norm", "GGD / occurrences (less is better)", {"zero": False, "padding": 20})
    path = {
        "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.45},
        "encoding": {"order": {"field": "k"}, "strokeDash": _promise(rows, DASHES)},
    }
    name = {
        "mark": {"type": "text", "dx": 9, "align": "left", "fontSize": 11},
        "encoding": {"text": {"field": "k"}},
    }
    return _chart(rows, {"x": x, "y": y}, [path, name])


def _chart(rows: Sequence[Row], axes: Spec, below: list[Spec]) -> Spec:
    """Return a chart: the axes and colours that its layers share, and points with tooltips on top."""
    labels = _labels(rows)
    # A legend has room for some 80 letters a line, the symbols included.
    columns = max(1, min(4, 80 // (5 + max(map(len, labels), default=1))))
    key = {"title": None, "orient": "bottom", "columns": columns, "symbolType": "stroke"}
    colour = {"field": "label", "type": "nominal", "sort": labels, "legend": {**key, "symbolStrokeWidth": 3}}
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {"shape": _promise(rows, SHAPES), "size": _falling(rows, 150, 40), "tooltip": TOOLTIP},
    }
    return {
        "data": {"name": "runs"},
        "width": "container",
        "height": HEIGHT,
        "encoding": {**axes, "color": colour},
        "layer": [*below, points],
    }


def _labels(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _falling(rows: Sequence[Row], first: float, last: float) -> Spec:
    """Return a size for each method, the first drawn the largest: equal values show as rings, none is hidden."""
    labels = _labels(rows)
    step = (first - last) / max(len(labels) - 1, 1)
    sizes = [first - step * number for number in range(len(labels))]
    scale = {"domain": labels, "range": sizes}
    return {"field": "label", "type": "nominal", "scale": scale, "legend": None}


def _promise(rows: Sequence[Row], marks: Mapping[str, Any]) -> Spec:
    """Return how the kind of promise is drawn; the page itself says which mark means what."""
    kinds = [kind for kind in marks if any(row["kind"] == kind for row in rows)]
    scale = {"domain": kinds, "range": [marks[kind] for kind in kinds]}
    return {"field": "kind", "type": "nominal", "scale": scale, "legend": None}
