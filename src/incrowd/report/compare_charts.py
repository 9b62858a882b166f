"""The charts of a comparison.

Colour shows the method. Point shape and line dash show the kind of promise, because runs with different promises must
not be ranked against each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from incrowd.report.vega import CONFIGS, Spec

__all__ = ["chart_rows", "charts"]

Row = Mapping[str, Any]

HEIGHT, TALL = 260, 400
CURVE = "specificity"  # runs that differ only in this parameter are points on a curve, one curve for each k
SHAPES = {
    "k-anonymity": "circle",
    "k^m-anonymity": "square",
    "k-anonymous tiles": "cross",
    "differential privacy": "diamond",
    "none": "triangle-up",
}
DASHES = {
    "k-anonymity": [1, 0],
    "k^m-anonymity": [7, 4],
    "k-anonymous tiles": [3, 3],
    "differential privacy": [9, 3, 2, 3],
    "none": [2, 3],
}
TOOLTIP = [
    {"field": "label", "title": "method"},
    {"field": "k", "title": "k"},
    {"field": "kind", "title": "promise"},
    {"field": "ggd_norm", "title": "generalization loss (GGD)", "format": ".2%"},
    {"field": "ncp", "title": "item uncertainty (NCP)", "format": ".2%"},
    {"field": "kept_exactly", "title": "kept exactly", "format": ".2%"},
    {"field": "recall", "title": "pattern recall", "format": ".2%"},
    {"field": "sdist", "title": "pattern distance (sDist)", "format": ".2f"},
    {"field": "information_loss", "title": "change of user groups (L)", "format": ".1f"},
    {"field": "linkage", "title": "record linkage (RL)", "format": ".1f"},
    {"field": "groups", "title": "distinct records", "format": ","},
    {"field": "withheld", "title": "withheld", "format": ","},
    {"field": "seconds", "title": "seconds", "format": ".3f"},
]


def chart_rows(runs: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows that the charts draw: the runs that succeeded, without unused fields."""
    fields = [tip["field"] for tip in TOOLTIP]
    drawn = [run for run in runs if run["promise"] is not None]
    points = defaultdict(set)
    for run in drawn:
        points[_without_curve(run)].add(run["parameters"].get(CURVE))
    return [{name: run[name] for name in fields} | _place(run, points[_without_curve(run)]) for run in drawn]


def _without_curve(run: Row) -> str:
    """Return a run's label without the parameter that varies along a curve."""
    given = filter(None, run["label"].partition(":")[2].split(";"))
    others = ";".join(part for part in given if not part.startswith(f"{CURVE}="))
    return f"{run['method']}:{others}" if others else str(run["method"])


def _place(run: Row, points: Collection[float]) -> dict[str, Any]:
    """Return a run's place in the chart of generalization loss against kept exactly: its line, position and labels.

    A method's runs are joined by k; if they also differ along a curve, they are joined along it, k by k.
    """
    at, k = run["parameters"].get(CURVE), "-" if run["k"] is None else run["k"]
    setting = "none" if at is None else f"{at:g}"
    if len(points) == 1:
        name = run["label"]
        return {CURVE: setting, "family": name, "line": name, "at": k, "left": "", "right": f"{k}"}
    name = _without_curve(run)
    left = f"{k}, s = {setting}" if at == min(points) else ""
    right = f"s = {setting}" if at == max(points) else ""
    return {
        CURVE: setting,
        "family": name,
        "line": f"{name}, k = {k}",
        "at": at,
        "left": left,
        "right": right,
    }


def charts(rows: Sequence[Row]) -> dict[str, Spec]:
    """Return the specification of each chart, by the id of its element in the page; the data are named ``runs``.

    Charts by k leave out runs without k, and are themselves left out if no run has a k.
    """
    highest = max([0.01, *(row[name] for row in rows for name in ("ggd_norm", "ncp"))])
    same = {"domain": [0, min(1.0, highest * 1.05)]}  # one scale for both, so that they can be compared
    if all(row["k"] is None for row in rows):
        return {"trade": _trade(rows)}
    return {
        "ggd": _by_k(rows, _share("ggd_norm", "generalization loss (GGD)", same)),
        "ncp": _by_k(rows, _share("ncp", "item uncertainty (NCP)", same)),
        "kept": _by_k(rows, _share("kept_exactly", "kept exactly", {"zero": True})),
        "trade": _trade(rows),
        "recall": _by_k(rows, _share("recall", "pattern recall", {"zero": True})),
        "sdist": _by_k(rows, {"field": "sdist", "type": "quantitative", "title": "pattern distance (sDist)"}),
        "loss": _by_k(rows, _percent("information_loss", "change of user groups (L), percent")),
        "linkage": _by_k(rows, _percent("linkage", "record linkage (RL), percent")),
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
    """Return the axis of time: logarithmic, because methods differ by powers of ten."""
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
    ks = sorted({row["k"] for row in rows if row["k"] is not None})
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
    chart = _chart(rows, {"x": x, "y": y}, [line])
    return {**chart, "transform": [{"filter": {"field": "k", "valid": True}}]}


def _trade(rows: Sequence[Row]) -> Spec:
    """Return the chart of generalization loss against kept exactly: a point for each method and k, and any curves."""
    x = _share("kept_exactly", "kept exactly (more is better)", {"zero": False, "padding": 24})
    y = _share("ggd_norm", "generalization loss (GGD; less is better)", {"zero": False, "padding": 24})
    path = {
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.6},
        "encoding": {
            "order": {"field": "at"},
            "detail": {"field": "line"},
            "strokeDash": _promise(rows, DASHES),
        },
    }
    chart = _chart(rows, {"x": x, "y": y}, [path, _text("left", -9), _text("right", 9)], by="family")
    return {**chart, "height": TALL}


def _text(field: str, dx: int) -> Spec:
    """Return texts beside the points, to the right of them or (where `dx` is less than 0) to the left."""
    mark = {"type": "text", "dx": dx, "align": "left" if dx > 0 else "right", "fontSize": 11}
    return {"mark": mark, "encoding": {"text": {"field": field}}}


def _chart(rows: Sequence[Row], axes: Spec, below: list[Spec], by: str = "label") -> Spec:
    """Return a chart: the axes and colours that its layers share, and points with tooltips on top."""
    names = _different(rows, by)
    # A legend has room for some 80 letters a line, the symbols included.
    columns = max(1, min(4, 80 // (5 + max(map(len, names), default=1))))
    key = {"title": None, "orient": "bottom", "columns": columns, "symbolType": "stroke", "values": names}
    scale = {"domain": _colour_order(rows, by)}
    colour = {"field": by, "type": "nominal", "scale": scale, "legend": {**key, "symbolStrokeWidth": 3}}
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "shape": _promise(rows, SHAPES),
            "size": _falling(rows, 150, 40, by),
            "tooltip": _tooltip(rows),
        },
    }
    return {
        "data": {"name": "runs"},
        "width": "container",
        "height": HEIGHT,
        "encoding": {**axes, "color": colour},
        "layer": [*below, points],
    }


def _colour_order(rows: Sequence[Row], by: str) -> list[str]:
    """Return names in the order of the colours: a family has the colour of its first member in every chart.

    If there are not enough colours for that, at least different families have different colours.
    """
    if len(_different(rows, "label")) > len(CONFIGS["light"]["range"]["category"]):
        return _different(rows, by)
    first = {row[by]: row["label"] for row in reversed(rows)}
    names = {label: name for name, label in first.items()}
    return [names.get(label, f"{label}, not drawn") for label in _different(rows, "label")]


def _tooltip(rows: Sequence[Row]) -> list[Spec]:
    """Return the tooltip of a point, with its position on a curve if there are curves."""
    more = [{"field": CURVE, "title": CURVE}] if any(row[CURVE] != "none" for row in rows) else []
    return [*TOOLTIP[:2], *more, *TOOLTIP[2:]]


def _different(rows: Sequence[Row], field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))


def _falling(rows: Sequence[Row], first: float, last: float, by: str = "label") -> Spec:
    """Return a size for each method, the first drawn the largest: equal values show as rings, so no point is hidden."""
    names = _different(rows, by)
    step = (first - last) / max(len(names) - 1, 1)
    sizes = [first - step * number for number in range(len(names))]
    scale = {"domain": names, "range": sizes}
    return {"field": by, "type": "nominal", "scale": scale, "legend": None}


def _promise(rows: Sequence[Row], marks: Mapping[str, Any]) -> Spec:
    """Return how the kind of promise is drawn; the page has the legend."""
    kinds = [kind for kind in marks if any(row["kind"] == kind for row in rows)]
    scale = {"domain": kinds, "range": [marks[kind] for kind in kinds]}
    return {"field": "kind", "type": "nominal", "scale": scale, "legend": None}
