"""Where the names of lines and points stand in a chart: at their ends, apart from each other, with room at the right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.report.vega import Spec

__all__ = ["HEIGHT", "TALL", "log_axis", "names_at_ends", "names_beside", "room_for_names"]

Row = Mapping[str, Any]

HEIGHT, TALL = 260, 400
# A line of text, a letter, a chart of two and a wide one have about so many pixels.
NAME_HEIGHT, LETTER, CHART_WIDTH, WIDE_CHART = 13, 6.2, 440, 1000
MOST_FOR_NAMES = 0.45  # of a chart's width


def names_at_ends(last: Mapping[str, Row], field: str, domain: tuple[float, float]) -> list[Row]:
    """Return where the name of each line stands, given its last point: there, or as near as other names allow."""
    log = field == "seconds"
    low, high = (math.log(end) if log else end for end in domain)
    wanted = sorted(
        (((math.log(max(row[field], domain[0])) if log else row[field]) - low) / (high - low), label)
        for label, row in last.items()
    )
    places = _apart([place for place, _ in wanted], NAME_HEIGHT / HEIGHT)
    found: list[Row] = []
    for place, (_, label) in zip(places, wanted, strict=True):
        value = low + place * (high - low)
        row = {name: last[label][name] for name in ("family", "kind", "k", "eps")}
        found.append({**row, "label": label, field: math.exp(value) if log else value})
    return found


def names_beside(
    drawn: Sequence[Row], x: tuple[str, Sequence[float]], y: tuple[str, Sequence[float]]
) -> list[Row]:
    """Return the rows of a wide chart's points with the names at their right; points of a line that stand together share one name.

    Parameters
    ----------
    drawn
        The rows, those of a line in order.
    x, y
        The field of each axis, and where the axis begins and ends.
    """
    found: list[Row] = []
    last: dict[str, int] = {}
    for row in drawn:
        before, name = last.get(row["line"]), row["right"]
        if before is not None and _overlap(found[before], row, x, y):
            name = f"{found[before]['right']}, {name}"
            found[before] = {**found[before], "right": ""}
        last[row["line"]] = len(found)
        found.append({**row, "right": name})
    return found


def _overlap(one: Row, other: Row, x: tuple[str, Sequence[float]], y: tuple[str, Sequence[float]]) -> bool:
    """Whether the name of one point, which is nothing but a k, would stand on another point or on its name."""
    if not (one["right"] and other["right"]) or one["right"].strip("0123456789, "):
        return False
    near = ((x, LETTER * len(one["right"]) + 14, WIDE_CHART), (y, NAME_HEIGHT, TALL))
    return all(
        abs(one[field] - other[field]) / (ends[1] - ends[0]) * size < room
        for (field, ends), room, size in near
    )


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return places, ascending from 0 to 1, moved until each two are a gap apart, as far as there is room."""
    moved = list(places)
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    ceiling = 1.0
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], ceiling)
        ceiling = moved[i] - gap
    return moved


def log_axis(field: str, values: Sequence[float], names: Sequence[Row], number: str) -> Spec:
    """Return a logarithmic axis with some values on it, in a format of numbers, and room for the names at the right."""
    return {
        "field": field,
        "type": "quantitative",
        "title": f"{field} (logarithmic)",
        "scale": {"type": "log", "domain": [values[0] / 1.15, _room_on_log(values, names)]},
        "axis": {"values": values, "format": number, "grid": False, "labelOverlap": True},
    }


def _room_on_log(values: Sequence[float], names: Sequence[Row]) -> float:
    """Return where a logarithmic axis ends, so that the names at the right have room."""
    low, high = math.log(values[0] / 1.15), math.log(values[-1] * 1.15)
    part = _part_for(max(len(row["label"]) for row in names), CHART_WIDTH)
    return math.exp(high + (high - low) * part / (1 - part))


def _part_for(letters: int, width: int) -> float:
    """Return the part of a chart's width that a name takes."""
    return min(MOST_FOR_NAMES, (LETTER * letters + 14) / width)


def room_for_names(drawn: Sequence[Row]) -> float:
    """Return the part of a wide chart's width that the names beside its points take."""
    return _part_for(max(len(row["right"]) for row in drawn), WIDE_CHART)
