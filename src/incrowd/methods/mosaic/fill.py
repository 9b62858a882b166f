"""Filling one unit with tiles: a choice of tiles without a label in common that is worth much.

First greedily, from the tile of most worth to that of the least. Then every tile that was not chosen is forced in: of the tiles before, those that it leaves
stay, and what became free is filled greedily. The best of these is where the next step begins, at most `STEPS` times.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.types import Bools, Floats, Ints32, Ints64, Words64
from incrowd.kernels.jit import helper

__all__ = ["STEPS", "filled"]

STEPS = 6
WORD = 64
BETTER = 1e-9  # worth is a multiple of a millionth


@helper
def filled(first: Ints64, label: Ints32, labels: int, worth: Floats) -> tuple[Bools, float]:
    """Return a good choice of tiles, and its value.

    Parameters
    ----------
    first, label
        Where the labels of each tile begin, and the labels, as places in the unit. Tiles come from the most worth to the least.
    labels
        How many labels the unit has.
    worth
        What each tile is worth.
    """
    if labels <= WORD:
        return _filled_short(_masks(first, label), worth)
    return _filled_long(first, label, labels, worth)


@helper
def _masks(first: Ints64, label: Ints32) -> Words64:
    """Return which labels each tile has, as bits."""
    mask = np.zeros(len(first) - 1, np.uint64)
    for i in range(len(mask)):
        for at in range(first[i], first[i + 1]):
            mask[i] |= np.uint64(1) << np.uint64(label[at])
    return mask


@helper
def _filled_short(mask: Words64, worth: Floats) -> tuple[Bools, float]:
    """Fill a unit whose labels are bits of one word: all tiles are gone through in a register."""
    best, none = np.zeros(len(mask), np.bool_), np.zeros(len(mask), np.bool_)
    best_value = _fill(mask, worth, -1, none, best)
    trial = best.copy()
    for _ in range(STEPS):
        improved, start = False, best.copy()
        for i in range(len(mask)):
            if start[i]:
                continue
            its_value = _fill(mask, worth, i, start, trial)
            if its_value > best_value + BETTER:
                best_value, improved = its_value, True
                best[:] = trial
        if not improved:
            break
    return best, best_value


@helper
def _fill(mask: Words64, worth: Floats, forced: int, before: Bools, chosen: Bools) -> float:
    """Choose one forced tile, keep of those before what it leaves, and fill up greedily; return the value."""
    total, taken = 0.0, np.uint64(0)
    chosen[:] = False
    if forced >= 0:
        taken, total = mask[forced], worth[forced]
        chosen[forced] = True
        for i in range(len(mask)):
            if before[i] and not mask[i] & taken:
                taken |= mask[i]
                chosen[i] = True
                total += worth[i]
    for i in range(len(mask)):
        if not mask[i] & taken:
            taken |= mask[i]
            chosen[i] = True
            total += worth[i]
    return total


@helper
def _filled_long(first: Ints64, label: Ints32, labels: int, worth: Floats) -> tuple[Bools, float]:
    """Fill a unit of many labels: a forced tile frees few of them, and only tiles with one of these can come in."""
    by_label, with_label = _tiles_by_label(first, label, labels)
    best, best_value = _filled_greedily(first, label, labels, worth)
    stamp = np.full(len(worth), -1, np.int64)  # which forced tile a tile was looked at for
    comes, goes = np.empty(len(worth), np.int64), np.empty(len(worth), np.int64)
    for _ in range(STEPS):
        improved, start, start_value = False, best.copy(), best_value
        holder = _holders(first, label, labels, start)
        stamp[:] = -1
        for i in range(len(worth)):
            if start[i]:
                continue
            going = _pushed_out(i, first, label, holder, goes)
            coming = _that_could_come(
                i, goes[:going], first, label, by_label, with_label, start, stamp, comes
            )
            coming = _let_in(i, comes, coming, goes[:going], first, label, holder)
            value = start_value + worth[comes[:coming]].sum() - worth[goes[:going]].sum()
            if value > best_value + BETTER:
                best_value, improved = value, True
                best[:] = start
                best[goes[:going]] = False
                best[comes[:coming]] = True
        if not improved:
            break
    return best, best_value


@helper
def _tiles_by_label(first: Ints64, label: Ints32, labels: int) -> tuple[Ints64, Ints64]:
    """Return where the tiles of each label begin, and these tiles."""
    start = np.zeros(labels + 1, np.int64)
    for one in label:
        start[one + 1] += 1
    start = np.cumsum(start)
    tile, used = np.empty(len(label), np.int64), start.copy()
    for i in range(len(first) - 1):
        for at in range(first[i], first[i + 1]):
            tile[used[label[at]]] = i
            used[label[at]] += 1
    return start, tile


@helper
def _filled_greedily(first: Ints64, label: Ints32, labels: int, worth: Floats) -> tuple[Bools, float]:
    chosen, value = np.zeros(len(worth), np.bool_), 0.0
    is_free = np.ones(labels, np.bool_)
    for i in range(len(worth)):
        own = label[first[i] : first[i + 1]]
        if is_free[own].all():
            is_free[own] = False
            chosen[i] = True
            value += worth[i]
    return chosen, value


@helper
def _holders(first: Ints64, label: Ints32, labels: int, chosen: Bools) -> Ints64:
    """Return the chosen tile that holds each label; -1 where none does."""
    holder = np.full(labels, -1, np.int64)
    for i in range(len(chosen)):
        if chosen[i]:
            holder[label[first[i] : first[i + 1]]] = i
    return holder


@helper
def _pushed_out(i: int, first: Ints64, label: Ints32, holder: Ints64, goes: Ints64) -> int:
    """Note the chosen tiles that have a label of a forced one; return how many."""
    going = 0
    for at in range(first[i], first[i + 1]):
        other = holder[label[at]]
        if other >= 0 and other not in goes[:going]:
            goes[going] = other
            going += 1
    return going


@helper
def _that_could_come(
    i: int,
    goes: Ints64,
    first: Ints64,
    label: Ints32,
    by_label: Ints64,
    with_label: Ints64,
    start: Bools,
    stamp: Ints64,
    comes: Ints64,
) -> int:
    """Note the forced tile, and then all that have a label which it frees, from the most worth to the least; return how many."""
    comes[0], coming = i, 1
    stamp[i] = i
    for gone in goes:
        for at in range(first[gone], first[gone + 1]):
            for place in range(by_label[label[at]], by_label[label[at] + 1]):
                other = with_label[place]
                if not start[other] and stamp[other] != i:
                    stamp[other] = i
                    comes[coming] = other
                    coming += 1
    comes[1:coming].sort()
    return coming


@helper
def _let_in(
    i: int, comes: Ints64, coming: int, goes: Ints64, first: Ints64, label: Ints32, holder: Ints64
) -> int:
    """Keep of the tiles that could come those whose labels are free; return how many. Who holds a label is as before in the end."""
    for gone in goes:
        holder[label[first[gone] : first[gone + 1]]] = -1
    holder[label[first[i] : first[i + 1]]] = i
    kept = 1
    for at in range(1, coming):
        other = comes[at]
        own = label[first[other] : first[other + 1]]
        if (holder[own] < 0).all():
            holder[own] = other
            comes[kept] = other
            kept += 1
    for at in range(kept):
        holder[label[first[comes[at]] : first[comes[at] + 1]]] = -1
    for gone in goes:
        holder[label[first[gone] : first[gone + 1]]] = gone
    return kept
