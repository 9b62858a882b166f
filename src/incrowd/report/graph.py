"""A small drawing of which texts belong together: places for boxes and lines, for an SVG that needs no script.

A page is compared byte for byte wherever it is audited. So places are computed with nothing but sums, products, quotients and
square roots, which every machine rounds alike, and end in whole pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Box", "Drawing", "Line", "draw"]

WIDTH = 1200
LETTER, PADDING, HEIGHT = 7.5, 16.0, 24.0
GAP = 10.0
LONGEST = 20  # letters of a text
FIRST_WIDE = 0x1100
APART = 24.0  # between groups
REACH = 66.0  # the length that lines tend to
STEPS = 120
WIDER = 1.4  # texts are wider than high
COSINE, SINE = 0.6, 0.8  # of a turn that never comes back to its start


class Box(NamedTuple):
    """A text in a box: its middle and width, in whole pixels, and whether it is a class."""

    text: str
    x: int
    y: int
    width: int
    is_class: bool


class Line(NamedTuple):
    """A line between the middles of two boxes, its weight from 1 to 5, and words about it."""

    x1: int
    y1: int
    x2: int
    y2: int
    weight: int
    note: str


class Drawing(NamedTuple):
    """Boxes and lines, and the size of the whole."""

    boxes: list[Box]
    lines: list[Line]
    width: int
    height: int


Edge = tuple[int, int, int, str]  # two boxes, how strong, a note
Point = tuple[float, float]


def draw(texts: Sequence[tuple[str, bool]], edges: Sequence[Edge]) -> Drawing:
    """Place texts so that those with a line between them are near each other, group by group.

    Parameters
    ----------
    texts
        What stands in each box, and whether it is a class.
    edges
        Which boxes belong together, how strongly, and what is said of it.
    """
    texts = [(_short(text), is_class) for text, is_class in texts]
    widths = [LETTER * _letters(text) + PADDING for text, _ in texts]
    places: dict[int, Point] = {}
    left = top = shelf = 0.0
    for group in _groups(len(texts), edges):
        inside, width, height = _placed(group, widths, edges)
        if left and left + width > WIDTH:
            left, top, shelf = 0.0, top + shelf + APART, 0.0
        for box, (x, y) in inside.items():
            places[box] = (left + x, top + y)
        left, shelf = left + width + APART, max(shelf, height)
    strongest = max((edge[2] for edge in edges), default=1)
    at = {box: (round(x), round(y)) for box, (x, y) in places.items()}
    lines = [Line(*at[a], *at[b], 1 + 4 * weight // strongest, note) for a, b, weight, note in edges]
    boxes = [Box(text, *at[box], round(widths[box]), is_class) for box, (text, is_class) in enumerate(texts)]
    return Drawing(boxes, lines, WIDTH, round(top + shelf))


def _short(text: str) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _letters(text: str) -> int:
    """Return how wide a text is, in letters; those from the East are twice as wide."""
    return sum(2 if ord(one) >= FIRST_WIDE else 1 for one in text)


def _groups(boxes: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return the boxes that hang together, the largest group first."""
    group = list(range(boxes))
    for first, second, *_ in edges:
        old, new = group[second], group[first]
        group = [new if one == old else one for one in group]
    members: dict[int, list[int]] = {}
    for box, one in enumerate(group):
        members.setdefault(one, []).append(box)
    return sorted(members.values(), key=lambda some: (-len(some), some))


def _placed(
    group: Sequence[int], widths: Sequence[float], edges: Sequence[Edge]
) -> tuple[dict[int, Point], float, float]:
    """Return places of the boxes of a group, from 0 on, and its width and height."""
    number = {box: place for place, box in enumerate(group)}
    inner = tuple((number[a], number[b]) for a, b, *_ in edges if a in number)
    points = _spread(_relaxed(len(group), inner), [widths[box] for box in group])
    left = min(x - widths[box] / 2 for (x, _), box in zip(points, group, strict=True))
    right = max(x + widths[box] / 2 for (x, _), box in zip(points, group, strict=True))
    low, high = min(y for _, y in points), max(y for _, y in points)
    moved = {box: (x - left, y - low + HEIGHT / 2) for (x, y), box in zip(points, group, strict=True)}
    return moved, right - left, high - low + HEIGHT


@lru_cache(
    maxsize=256
)  # a page is made twice, when it is written and when it is audited; most groups are small and alike
def _relaxed(boxes: int, edges: tuple[tuple[int, int], ...]) -> tuple[Point, ...]:
    """Let boxes repel each other and lines pull them together (Fruchterman & Reingold, 1991)."""
    xs, ys = (list(places) for places in zip(*_spiral(boxes), strict=True))
    apart = [(a, b) for a in range(boxes) for b in range(a)]
    for step in range(STEPS):
        across, along = [0.0] * boxes, [0.0] * boxes
        for pairs, pulled in ((apart, False), (edges, True)):
            for a, b in pairs:
                dx, dy = xs[a] - xs[b], ys[a] - ys[b]
                length = _length(dx, dy)
                by = -length / REACH if pulled else REACH * REACH / (length * length)
                across[a] += by * dx
                along[a] += by * dy
                across[b] -= by * dx
                along[b] -= by * dy
        limit = REACH * (STEPS - step) / STEPS
        for box, (dx, dy) in enumerate(zip(across, along, strict=True)):
            slower = min(1.0, limit / _length(dx, dy))
            xs[box] += slower * dx
            ys[box] += slower * dy
    return tuple((x * WIDER, y) for x, y in zip(xs, ys, strict=True))


def _spiral(boxes: int) -> list[Point]:
    """Return where boxes begin: on a spiral, each a turn further than the one before."""
    points = []
    x, y = 1.0, 0.0
    for place in range(boxes):
        radius = REACH * math.sqrt(place)
        points.append((radius * x, radius * y))
        x, y = COSINE * x - SINE * y, SINE * x + COSINE * y
    return points


def _length(dx: float, dy: float) -> float:
    """Return the length of a step, never 0."""
    return max(math.sqrt(dx * dx + dy * dy), 0.1)


def _spread(points: Sequence[Point], widths: Sequence[float]) -> list[Point]:
    """Push boxes apart that would lie on each other, along the axis where less is needed."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    for _ in range(STEPS):
        moved = False
        for a in range(len(xs)):
            for b in range(a):
                across = (widths[a] + widths[b]) / 2 + GAP - abs(xs[a] - xs[b])
                along = HEIGHT + GAP - abs(ys[a] - ys[b])
                if across <= 0 or along <= 0:
                    continue
                moved = True
                axis, by = (ys, along) if along < across else (xs, across)
                sign = 1 if axis[a] >= axis[b] else -1
                axis[a] += sign * by / 2
                axis[b] -= sign * by / 2
        if not moved:
            break
    return list(zip(xs, ys, strict=True))
