"""Flock (docs/papers/flock.md) for the tests to compare with: plain Python, exact with whole losses, slow.

All is said in terms of least common generalizations and what their nodes lose; the weights and lists that the product
works with do not occur, save in the split into blocks, which is defined by them. Nothing here is shared with the product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableSequence, Sequence
from typing import NamedTuple

from reference import Bag, Tree
from reference_clump import lcg, length

__all__ = [
    "Loss",
    "best_partition",
    "grow",
    "improve",
    "join_leftovers",
    "loss_of_group",
    "loss_of_groups",
    "mixed_loss",
    "split",
    "weights",
]

Rows = MutableSequence[int]


class Loss(NamedTuple):
    """What an occurrence loses that is published as a node, and what one loses that is not published."""

    of_node: Mapping[str, float]
    of_nothing: float


def mixed_loss(tree: Tree, specificity: float) -> Loss:
    """Return (1 - s) * LM + s * IC of each node; nothing at all loses 1."""
    lm = {node: (leaves - 1) / max(tree.size - 1, 1) for node, leaves in tree.leaves.items()}
    ic = {node: math.log(leaves) / math.log(max(tree.size, 2)) for node, leaves in tree.leaves.items()}
    return Loss({node: (1 - specificity) * lm[node] + specificity * ic[node] for node in tree.path}, 1)


def weights(tree: Tree, loss: Loss) -> list[float]:
    """Return in pre-order how much less a node loses than its parent; above the root is nothing."""
    above = [loss.of_node[way[-2]] if len(way) > 1 else loss.of_nothing for way in tree.path.values()]
    return [more - loss.of_node[node] for more, node in zip(above, tree.path, strict=True)]


def saved(shown: Bag, loss: Loss) -> float:
    """Return what a record saves over publishing nothing."""
    return sum(count * (loss.of_nothing - loss.of_node[node]) for node, count in shown.items())


def loss_of_group(tree: Tree, bags: Sequence[Bag], loss: Loss) -> float:
    """Return what rows lose if each publishes what all of them have in common."""
    shown = lcg(tree, bags)
    published = len(bags) * sum(count * loss.of_node[node] for node, count in shown.items())
    return published + loss.of_nothing * sum(length(bag) - length(shown) for bag in bags)


def loss_of_groups(tree: Tree, bags: Sequence[Bag], groups: Sequence[Sequence[int]], loss: Loss) -> float:
    return sum(loss_of_group(tree, [bags[row] for row in rows], loss) for rows in groups)


def best_partition(tree: Tree, bags: Sequence[Bag], k: int, loss: Loss) -> float:
    """Return the least loss of all ways to divide the rows into groups of at least k.

    Sets of rows are whole numbers, a row a bit; the group of a set's last row is one of its subsets.
    """
    own: dict[int, float] = {}
    for rows in range(1 << len(bags)):
        if rows.bit_count() >= k:
            own[rows] = loss_of_group(tree, [bag for i, bag in enumerate(bags) if rows >> i & 1], loss)
    least = {0: 0.0}
    for rows in own:
        last = 1 << rows.bit_length() - 1
        ways, others = [], rows ^ last
        rest = others
        while rest:
            rest = rest - 1 & others
            if rest in least and rows ^ rest in own:
                ways.append(own[rows ^ rest] + least[rest])
        least[rows] = min(ways, default=math.inf)
    return least[(1 << len(bags)) - 1]


# Blocks


def split(
    counts: Sequence[Mapping[int, int]], weight: Sequence[float], rows: Sequence[int], most: int
) -> list[list[int]]:
    """Split rows in two at the node whose weighted count varies most, until no part has more than `most`.

    `counts` has a row's items below each node, by the node's number. If nothing varies, length decides (node 0).
    """
    if len(rows) <= most:
        return [list(rows)]
    varies = {node: _variation(counts, rows, node) * (w * w) for node, w in enumerate(weight) if w > 0}
    node = max(varies, key=varies.__getitem__, default=0)  # max() takes the first of equals
    if not varies.get(node):
        node = 0
    ordered = sorted(rows, key=lambda row: counts[row].get(node, 0))
    parts = -(-len(rows) // most)
    at = _cut([counts[row].get(node, 0) for row in ordered], len(rows) * (parts // 2) // parts)
    return split(counts, weight, ordered[:at], most) + split(counts, weight, ordered[at:], most)


def _variation(counts: Sequence[Mapping[int, int]], rows: Sequence[int], node: int) -> float:
    """Return the sum of the squares of the differences from the mean."""
    column = [counts[row].get(node, 0) for row in rows]
    return sum(times * times for times in column) - sum(column) ** 2 / len(column)


def _cut(column: Sequence[int], aim: int) -> int:
    """Return the cut between different counts nearest to where it should be, the upper of equals; far out, just there."""
    size = len(column)
    cuts = [at for at in range(size - 1, 0, -1) if column[at] != column[at - 1]]
    near = min(cuts, key=lambda at: abs(at - aim), default=0)
    return near if min(near, size - near) >= size / 8 else aim


# The greedy start


def grow(
    tree: Tree, bags: Sequence[Bag], loss: Loss, block: Sequence[int], k: int
) -> tuple[list[list[int]], list[int]]:
    """Return groups of k and who is left over, both in the order in which they are found."""
    free, groups = list(block), []
    while len(free) >= k:
        group = [max(free, key=lambda row: length(bags[row]))]  # the first of equals
        free.remove(group[0])
        while len(group) < k:
            shown = [bags[row] for row in group]
            nearest = min(free, key=lambda row, shown=shown: _unfit(tree, shown, bags[row], loss))  # type: ignore[misc]
            group.append(nearest)
            free.remove(nearest)
        groups.append(group)
    return groups, free


def _unfit(tree: Tree, shown: Sequence[Bag], bag: Bag, loss: Loss) -> float:
    """Return twice the loss of a group with a row, less what the row would lose alone: half its length is left out."""
    return 2 * loss_of_group(tree, [*shown, bag], loss) - loss.of_nothing * length(bag)


def join_leftovers(
    tree: Tree, bags: Sequence[Bag], loss: Loss, groups: Sequence[Rows], leftovers: Sequence[int]
) -> None:
    """Add each row to the group whose loss grows least, the first of equals."""
    for row in leftovers:
        min(groups, key=lambda group, row=row: _increase(tree, bags, loss, group, row)).append(row)  # type: ignore[misc]


def _increase(tree: Tree, bags: Sequence[Bag], loss: Loss, group: Sequence[int], row: int) -> float:
    return loss_of_groups(tree, bags, [[*group, row]], loss) - loss_of_groups(tree, bags, [group], loss)


# Local search


class Change(NamedTuple):
    """A row goes to a group, in exchange for one of its members or for nobody, and the loss shrinks."""

    gain: float
    away: int = -1
    other: int | None = None


def improve(
    tree: Tree, bags: Sequence[Bag], loss: Loss, groups: Sequence[Rows], *, k: int, most: int, tries: int
) -> float:
    """Go once through the groups and make for each row the change that gains most; return the gain.

    Changes are tried with the groups that the row was most like at the beginning.
    """
    at_first = [lcg(tree, [bags[row] for row in group]) for group in groups]
    gained = 0.0
    for home, group in enumerate(groups):
        place = 0
        while place < len(group):
            change = Change(0)
            if _loses_anything(tree, bags, loss, group, group[place]):
                found = _most_like(tree, bags[group[place]], loss, at_first, home)[:tries]
                change = _best_change(
                    tree, bags, loss, groups, of=(home, place), found=found, sizes=(k, most)
                )
            if change.gain:
                _make(groups, home, place, change)
                gained += change.gain
            if not change.gain or change.other is not None:  # after a move another row has the place
                place += 1
    return gained


def _loses_anything(tree: Tree, bags: Sequence[Bag], loss: Loss, group: Sequence[int], row: int) -> bool:
    return saved(lcg(tree, [bags[other] for other in group]), loss) != saved(bags[row], loss)


def _most_like(tree: Tree, bag: Bag, loss: Loss, shown: Sequence[Bag], home: int) -> list[int]:
    """Return the other groups, those first that lose least of what they have in common to the row."""
    fit = [2 * saved(lcg(tree, [one, bag]), loss) - saved(one, loss) for one in shown]
    return sorted((away for away in range(len(shown)) if away != home), key=lambda away: -fit[away])


def _best_change(
    tree: Tree,
    bags: Sequence[Bag],
    loss: Loss,
    groups: Sequence[Rows],
    *,
    of: tuple[int, int],
    found: Sequence[int],
    sizes: tuple[int, int],
) -> Change:
    """Try a move first, then all exchanges, with one group after the other; the first of equals."""
    best, (home, place) = Change(0), of
    rows = list(groups[home])
    row = rows.pop(place)
    for away in found:
        there = list(groups[away])
        before = loss_of_groups(tree, bags, [groups[home], there], loss)
        ways: list[tuple[int | None, list[list[int]]]] = [
            (at, [[*rows, other], [*there[:at], *there[at + 1 :], row]]) for at, other in enumerate(there)
        ]
        if len(rows) >= sizes[0] and len(there) < sizes[1]:
            ways.insert(0, (None, [rows, [*there, row]]))
        for other, after in ways:
            gain = before - loss_of_groups(tree, bags, after, loss)
            if gain > best.gain:
                best = Change(gain, away, other)
    return best


def _make(groups: Sequence[Rows], home: int, place: int, change: Change) -> None:
    """Make a change; the last of a group takes the place of who has moved."""
    here, there = groups[home], groups[change.away]
    if change.other is None:
        there.append(here[place])
        here[place] = here[-1]
        here.pop()
    else:
        here[place], there[change.other] = there[change.other], here[place]
