"""The charts of a comparison.

Colour shows the method, the same on all charts. Point shape and line dash show the kind of promise, because runs with different
promises must not be ranked against each other. Lines carry their names at their ends.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.report.compare_measures import RISKS, risks_of
from incrowd.report.line_names import HEIGHT, TALL, log_axis, names_at_ends, names_beside, room_for_names
from incrowd.report.vega import Spec

__all__ = [
    "Chart",
    "Section",
    "against",
    "chart_rows",
    "charts",
    "domain_of",
    "lines",
    "sections",
]

Row = Mapping[str, Any]

CURVE, EPS = (
    "specificity",
    "eps",
)  # runs that differ only in this parameter are points on a curve, one curve for each k
SHORT = {CURVE: "s", EPS: EPS}
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
    {"field": "use_items_error", "title": "counts of items off by", "format": ".2%"},
    {"field": "use_pairs_recall", "title": "frequent pairs found", "format": ".2%"},
    {"field": "use_pairs_error", "title": "counts of pairs off by", "format": ".2%"},
    {"field": "use_kept_exactly", "title": "items kept as themselves", "format": ".2%"},
    {"field": "use_trend_error", "title": "weekly counts off by", "format": ".2%"},
    {"field": "ggd_norm", "title": "generalization loss (GGD)", "format": ".2%"},
    {"field": "ncp", "title": "item uncertainty (NCP)", "format": ".2%"},
    {"field": "kept_exactly", "title": "copies kept exactly", "format": ".2%"},
    {"field": "recall", "title": "pattern recall", "format": ".2%"},
    {"field": "sdist", "title": "pattern distance (sDist)", "format": ".2f"},
    {"field": "information_loss", "title": "change of user groups (L)", "format": ".1f"},
    {"field": "linkage", "title": "record linkage (RL)", "format": ".1f"},
    {"field": "groups", "title": "distinct records or tiles", "format": ","},
    {"field": "withheld", "title": "withheld", "format": ","},
    *({"field": name, "title": f"risk: {title}", "format": ".2%"} for name, title in RISKS.items()),
    {"field": "seconds", "title": "seconds", "format": ".3f"},
]


class Chart(NamedTuple):
    """A chart: the id of its place, what it is called, what it shows, and the measure (against another one, or by k)."""

    id: str
    heading: str
    words: str
    field: str
    axis: str
    against: tuple[str, str] | None = None


class Section(NamedTuple):
    """Charts that stand together under a heading: wide ones, and others side by side."""

    heading: str
    note: str
    wide: list[Chart]
    pairs: list[Chart]


WORTH = Chart(
    "worth",
    "Counts of items against frequent pairs",
    "One point for each method and k. Good is high and to the left.",
    "use_pairs_recall",
    "frequent pairs found (more is better)",
    ("use_items_error", "counts of items off by (less is better)"),
)
TRADE = Chart(
    "trade",
    "Generalization loss (GGD) against copies kept exactly",
    "One point for each method and k. Good is low and to the right. Tiles have no such loss.",
    "ggd_norm",
    "generalization loss (GGD; less is better)",
    ("kept_exactly", "copies kept exactly (more is better)"),
)
USE = (
    Chart(
        "items",
        "How far off are counts of items?",
        "Counts of the 1,000 most frequent items, made from the release alone: difference / larger of both, on average. Less is better.",
        "use_items_error",
        "counts of items off by",
    ),
    Chart(
        "pairs",
        "How many frequent pairs are found?",
        "Of the 1,000 pairs of items that occur together most often, the share that the release shows to be such. More is better.",
        "use_pairs_recall",
        "frequent pairs found",
    ),
    Chart(
        "pair_counts",
        "How far off are counts of pairs?",
        "Counts of these 1,000 pairs, as for items. Less is better.",
        "use_pairs_error",
        "counts of pairs off by",
    ),
    Chart(
        "kept",
        "How many items are kept as themselves?",
        "The share of the items of all units that are published unchanged; how often a unit has an item does not matter. More is better.",
        "use_kept_exactly",
        "items kept as themselves",
    ),
    Chart(
        "trend",
        "How far off are weekly counts?",
        "Counts of the 100 most frequent items, week by week. Where a release does not say when, its counts are spread evenly. Less is better.",
        "use_trend_error",
        "weekly counts off by",
    ),
)
LOSSES = (
    Chart(
        "ggd",
        "Generalization loss (GGD) by k",
        "How much detail is lost for each original item. An item that is not published, also a copy that collapsed into another, costs 1. Less is better.",
        "ggd_norm",
        "generalization loss (GGD)",
    ),
    Chart(
        "ncp",
        "Item uncertainty (NCP) by k",
        "How uncertain each original item has become, on the same scale. Copies that collapse into one cost nothing here. Less is better.",
        "ncp",
        "item uncertainty (NCP)",
    ),
    Chart(
        "recall",
        "Pattern recall (Recall) by k",
        "Of the 100 most frequent closed patterns of the data, the share of items that the release's patterns still have. More is better.",
        "recall",
        "pattern recall",
    ),
    Chart(
        "sdist",
        "Pattern distance (sDist) by k",
        "Taxonomy steps per item from those patterns to the nearest pattern of the release. It favours short, general patterns. Less is better.",
        "sdist",
        "pattern distance (sDist)",
    ),
    Chart(
        "loss",
        "Change of user groups (L) by k",
        "How differently people are grouped by similar interests in the originals and in the release. Less is better.",
        "information_loss",
        "change of user groups (L), percent",
    ),
    Chart(
        "linkage",
        "Record linkage (RL) by k",
        "A risk: the share of records re-linked to their owners by an attacker who has the originals. Less is safer.",
        "linkage",
        "record linkage (RL), percent",
    ),
)
TIME = Chart(
    "time",
    "Time by k",
    "Seconds of the method alone: without reading, measuring and the audit.",
    "seconds",
    "seconds (logarithmic)",
)
SAME_SCALE = ("ggd_norm", "ncp")
PERCENT = ("information_loss", "linkage")
DISAGREE = (
    "Where generalization loss and item uncertainty disagree about which method is better, copies that collapse into one make the "
    "difference: use the generalization loss if it matters how often something occurs, and the item uncertainty if it matters only which things occur."
)


def sections(specs: Mapping[str, Spec], bounds: str) -> list[Section]:
    """Return the charts that are drawn, in the order of the page; `bounds` says what no method can beat."""
    wholes = [
        Section("What can be learned from the releases", "", [WORTH], list(USE)),
        Section("What records lose", f"{bounds} {DISAGREE}".strip(), [TRADE], list(LOSSES)),
        Section("What it costs", "", [], [TIME]),
    ]
    drawn = [
        Section(heading, note, *([chart for chart in some if chart.id in specs] for some in (wide, pairs)))
        for heading, note, wide, pairs in wholes
    ]
    return [one for one in drawn if one.wide or one.pairs]


def chart_rows(runs: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows that the charts draw: the runs that succeeded, without unused fields."""
    fields = [tip["field"] for tip in TOOLTIP]
    drawn = [run for run in runs if run["promise"] is not None]
    points = defaultdict(set)
    largest: dict[str, int] = {}
    for run in drawn:
        points[_without_curve(run)].add(run["parameters"].get(_curve(run)))
        largest[run["label"]] = max(largest.get(run["label"], 0), run["k"] or 0)
    return [
        {name: run[name] for name in fields}
        | risks_of(run)
        | _place(run, points[_without_curve(run)], is_last=(run["k"] or 0) == largest[run["label"]])
        for run in drawn
    ]


def _without_curve(run: Row) -> str:
    """Return a run's label without the parameter that varies along a curve."""
    given = filter(None, run["label"].partition(":")[2].split(";"))
    others = ";".join(part for part in given if not part.startswith(f"{_curve(run)}="))
    return f"{run['method']}:{others}" if others else str(run["method"])


def _curve(run: Row) -> str:
    """Return the parameter that varies along a curve of such runs."""
    return EPS if run["kind"] == "differential privacy" else CURVE


def _place(run: Row, points: Collection[float], *, is_last: bool) -> dict[str, Any]:
    """Return a run's place in a chart of one measure against another: its line, position and labels.

    A method's runs are joined by k; if they also differ along a curve, they are joined along it, k by k. The one with the largest k
    has the method's name beside it.
    """
    curve, k = _curve(run), "-" if run["k"] is None else run["k"]
    at = run["parameters"].get(curve)
    setting = "none" if at is None else f"{at:g}"
    place = {CURVE: setting if curve == CURVE else "none", EPS: at if curve == EPS else None}
    if len(points) == 1:
        name = run["label"]
        named = name if run["k"] is None else f"{k} {name}"
        beside = {"left": "", "right": named if is_last else f"{k}"}
        return {**place, "family": name, "line": name, "at": k, **beside}
    name, said = _without_curve(run), f"{SHORT[curve]} = {setting}"
    left = (said if run["k"] is None else f"{k}, {said}") if at == min(points) else ""
    right = f"{said}{f', {name}' if is_last else ''}" if at == max(points) else ""
    return {
        **place,
        "family": name,
        "line": f"{name}, k = {k}",
        "at": at,
        "left": left,
        "right": right,
    }


def charts(rows: Sequence[Row]) -> dict[str, Spec]:
    """Return the specification of each chart, by the id of its element in the page; the data are named ``runs``.

    Charts by k leave out runs without k. A chart that would be empty is left out.
    """
    found = {chart.id: against(rows, chart) for chart in (WORTH, TRADE) if _drawn(rows, chart)}
    for chart in (*USE, *LOSSES, TIME):
        if with_k := [row for row in _drawn(rows, chart) if row["k"] is not None]:
            found[chart.id] = _by_k(rows, with_k, chart)
    return found


def _drawn(rows: Sequence[Row], chart: Chart) -> list[Row]:
    """Return the rows that have a place in a chart."""
    fields = [chart.field, *([chart.against[0]] if chart.against else [])]
    return [row for row in rows if all(row[field] is not None for field in fields)]


def domain_of(rows: Sequence[Row], field: str) -> tuple[float, float]:
    """Return where the axis of a measure begins and ends."""
    fields = (
        SAME_SCALE if field in SAME_SCALE else (field,)
    )  # one scale for both, so that they can be compared
    values = [row[name] for row in rows for name in fields if row[name] is not None]
    if field == "seconds":
        return max(min(values), 1e-6) / 1.5, max(values) * 1.5
    most = math.inf if field == "sdist" else 100.0 if field in PERCENT else 1.0
    return 0.0, min(most, 1.05 * max([0.01, *values]))


def _axis(field: str, title: str, scale: Spec) -> Spec:
    shares = field not in (*PERCENT, "sdist", "seconds")
    axis: Spec = {"tickCount": 6, **({"format": "~%"} if shares else {})}
    if field == "seconds":  # logarithmic, because methods differ by powers of ten
        axis, scale = {"format": "~g", "tickCount": 5}, {"type": "log", **scale}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _by_k(rows: Sequence[Row], drawn: Sequence[Row], chart: Chart) -> Spec:
    """Return a chart of some measure by k: a line and points for each method, and its name at the end."""
    ks = sorted({row["k"] for row in drawn})
    domain = domain_of(drawn, chart.field)
    last = {row["label"]: row for row in sorted(drawn, key=lambda row: row["k"])}
    names = names_at_ends(last, chart.field, domain)
    x = log_axis("k", ks, names, "d")
    return lines(rows, chart, x, domain, names)


def lines(
    rows: Sequence[Row],
    chart: Chart,
    x: Spec,
    domain: tuple[float, float],
    names: Sequence[Row],
    *,
    detail: str = "label",
    below: Sequence[Spec] = (),
) -> Spec:
    """Return a chart of a measure along x: a line and points for each value of a field, with names at the ends, and further layers below."""
    line = {
        "mark": "line",
        "encoding": {
            "detail": {"field": detail},
            "strokeDash": _promise(rows, DASHES),
            "strokeWidth": _falling(rows, 4, 1.5) if detail == "label" else {"value": 2},
        },
    }
    text = {
        "data": {"values": names},
        "mark": {"type": "text", "dx": 10, "align": "left", "fontSize": 11},
        "encoding": {"text": {"field": "label"}},
    }
    y = _axis(chart.field, chart.axis, {"domain": list(domain)})
    return _chart(rows, chart, {"x": x, "y": y}, [*below, line, text], legend=False)


def _around(drawn: Sequence[Row], field: str, part: float) -> list[float]:
    """Return where an axis begins and ends: a little before the least value, and a part of it beyond the largest."""
    values = [row[field] for row in drawn]
    low, span = min(values), max(0.01, max(values) - min(values))
    return [low - 0.06 * span, low + span * 1.02 / (1 - part)]


def against(rows: Sequence[Row], chart: Chart) -> Spec:
    """Return a chart of one measure against another: a point for each method and k, and any curves."""
    assert chart.against is not None  # noqa: S101 - the caller has such charts
    drawn, across = _drawn(rows, chart), chart.against[0]
    down = _around(drawn, chart.field, 0.04)
    named_within = (across, _around(drawn, across, room_for_names(drawn))), (chart.field, down)
    names = names_beside(drawn, *named_within)
    x = _axis(*chart.against, {"domain": _around(drawn, across, room_for_names(names)), "nice": False})
    y = _axis(chart.field, chart.axis, {"domain": down, "nice": False})
    for axis in (x, y):  # room for marks and names is no value
        axis["axis"]["labelExpr"] = "datum.value < 0 || datum.value > 1 ? '' : datum.label"
    path = {
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.6},
        "encoding": {
            "order": {"field": "at"},
            "detail": {"field": "line"},
            "strokeDash": _promise(rows, DASHES),
        },
    }
    texts = [_text("left", -9), {"data": {"values": names}, **_text("right", 9)}]
    return {**_chart(rows, chart, {"x": x, "y": y}, [path, *texts], legend=True), "height": TALL}


def _text(field: str, dx: int) -> Spec:
    """Return texts beside the points, to the right of them or (where `dx` is less than 0) to the left."""
    mark = {"type": "text", "dx": dx, "align": "left" if dx > 0 else "right", "fontSize": 11}
    return {"mark": mark, "encoding": {"text": {"field": field}}}


def _chart(rows: Sequence[Row], chart: Chart, axes: Spec, below: list[Spec], *, legend: bool) -> Spec:
    """Return a chart: the axes and colours that its layers share, and points with tooltips on top.

    The colours are those of all methods, also of methods that this chart does not draw.
    """
    names = _different(rows, "family")
    drawn = _different(_drawn(rows, chart), "family")
    # A legend has room for some 160 letters a line, the symbols included.
    columns = max(1, min(8, 160 // (5 + max(map(len, drawn), default=1))))
    key = {"title": None, "orient": "bottom", "columns": columns, "symbolType": "stroke", "values": drawn}
    colour = {
        "field": "family",
        "type": "nominal",
        "scale": {"domain": names},
        "legend": {**key, "symbolStrokeWidth": 3} if legend else None,
    }
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "shape": _promise(rows, SHAPES),
            "size": _falling(rows, 150, 40),
            "tooltip": _tooltip(rows),
        },
    }
    fields = [axes[name]["field"] for name in ("x", "y")]
    return {
        "data": {"name": "runs"},
        "transform": [{"filter": {"and": [{"field": field, "valid": True} for field in fields]}}],
        "width": "container",
        "height": HEIGHT,
        "encoding": {**axes, "color": colour},
        "layer": [*below, points],
    }


def _tooltip(rows: Sequence[Row]) -> list[Spec]:
    """Return the tooltip of a point: what any run has, with its position on a curve if there are curves."""
    more = [{"field": CURVE, "title": CURVE}] if any(row[CURVE] != "none" for row in rows) else []
    more += [{"field": EPS, "title": EPS}] if any(row[EPS] is not None for row in rows) else []
    known = [tip for tip in TOOLTIP[2:] if any(row[tip["field"]] is not None for row in rows)]
    return [*TOOLTIP[:2], *more, *known]


def _different(rows: Sequence[Row], field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))


def _falling(rows: Sequence[Row], first: float, last: float) -> Spec:
    """Return a size for each method, the first drawn the largest: equal values show as rings, so no point is hidden."""
    names = _different(rows, "label")
    step = (first - last) / max(len(names) - 1, 1)
    sizes = [first - step * number for number in range(len(names))]
    scale = {"domain": names, "range": sizes}
    return {"field": "label", "type": "nominal", "scale": scale, "legend": None}


def _promise(rows: Sequence[Row], marks: Mapping[str, Any]) -> Spec:
    """Return how the kind of promise is drawn; the page has the legend."""
    kinds = [kind for kind in marks if any(row["kind"] == kind for row in rows)]
    scale = {"domain": kinds, "range": [marks[kind] for kind in kinds]}
    return {"field": "kind", "type": "nominal", "scale": scale, "legend": None}
