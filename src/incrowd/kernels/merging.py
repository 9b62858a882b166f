"""Merges classes of too few people with the neighbour that costs least.

A class is represented by its least counts m, as in Clump: merging A and B costs |A| W(m_A) + |B| W(m_B) - (|A| + |B|) W(min(m_A, m_B)).
Classes are ordered by what they publish, so similar ones are near: only the nearest on either side are tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.kernels.lcg import AncestorRows, common_worth, keep_common

__all__ = ["merge_small_classes"]


END = -1


class Chains(NamedTuple):
    """The classes that are left, as a list in both directions, and the rows of each as a chain."""

    before: Ints64
    behind: Ints64
    first_row: Ints64
    last_row: Ints64
    next_row: Ints64


@kernel
def merge_small_classes(
    least: AncestorRows, weight: Ints64, size: Ints64, of_row: Ints32, person: Ints32, k: int, window: int
) -> Ints32:
    """Merge classes until each has rows of at least k different people; return the class that each was merged into.

    Parameters
    ----------
    least
        The least counts of each class. They change in place, as `size` does.
    weight
        (M - 1) * (LM(parent v) - LM(v)) for each node; 0 for the root.
    size
        Rows in each class.
    of_row
        The class of each row; below 0 for a row that is not published.
    person
        A number for the person behind each row.
    k
        The least number of people.
    window
        How many classes on either side are tried.
    """
    classes = len(size)
    length, worth = np.diff(least.start), np.zeros(classes, np.int64)
    for one in range(classes):
        worth[one] = _common(least, weight, length, one, one)
    chains = _chains(classes, of_row)
    seen, target = np.full(person.max() + 1, END, np.int64), np.arange(classes).astype(np.int32)
    stamp = 0
    for poor in range(classes):
        while target[poor] == poor and _fewer_people(chains, poor, person, seen, stamp, k):
            stamp += 1
            other = _cheapest(least, weight, length, worth, size, chains, poor, window)
            if other == END:
                break
            length[poor] = keep_common(least.node, least.times, least.start[poor], length[poor], least, other)
            worth[poor] = _common(least, weight, length, poor, poor)
            size[poor] += size[other]
            target[other] = poor
            _join(chains, poor, other)
        stamp += 1
    return _ends(target)


@helper
def _chains(classes: int, of_row: Ints32) -> Chains:
    """Put all classes into one list, and the rows of each into its chain."""
    before, behind = np.arange(-1, classes - 1), np.arange(1, classes + 1)
    behind[classes - 1] = END
    chains = Chains(before, behind, np.full(classes, END), np.full(classes, END), np.full(len(of_row), END))
    for row in range(len(of_row)):
        own = of_row[row]
        if own < 0:
            continue
        if chains.first_row[own] == END:
            chains.first_row[own] = row
        else:
            chains.next_row[chains.last_row[own]] = row
        chains.last_row[own] = row
    return chains


@helper
def _fewer_people(chains: Chains, one: int, person: Ints32, seen: Ints64, stamp: int, k: int) -> bool:
    """Return whether a class has rows of fewer than k different people; people already counted are marked with the stamp."""
    people, row = 0, chains.first_row[one]
    while row != END and people < k:
        if seen[person[row]] != stamp:
            seen[person[row]] = stamp
            people += 1
        row = chains.next_row[row]
    return people < k


@helper
def _cheapest(
    least: AncestorRows,
    weight: Ints64,
    length: Ints64,
    worth: Ints64,
    size: Ints64,
    chains: Chains,
    poor: int,
    window: int,
) -> int:
    """Return the neighbour whose merging loses least; of equals the nearest, then the one before."""
    best, lowest = END, 0
    left, right = chains.before[poor], chains.behind[poor]
    for _ in range(window):
        for other in (left, right):
            if other == END:
                continue
            common = _common(least, weight, length, poor, other)
            cost = size[poor] * (worth[poor] - common) + size[other] * (worth[other] - common)
            if best == END or cost < lowest:
                best, lowest = other, cost
        left = chains.before[left] if left != END else END
        right = chains.behind[right] if right != END else END
    return best


@helper
def _common(least: AncestorRows, weight: Ints64, length: Ints64, one: int, other: int) -> int:
    """Return (M - 1) * W of the lesser counts of two classes."""
    at, to = least.start[one], least.start[other]
    return common_worth(weight, least.node, least.times, at, at + length[one], least, to, to + length[other])


@helper
def _join(chains: Chains, one: int, other: int) -> None:
    """Append the rows of a class to another's, and take it off the list."""
    chains.next_row[chains.last_row[one]] = chains.first_row[other]
    chains.last_row[one] = chains.last_row[other]
    before, behind = chains.before[other], chains.behind[other]
    if before != END:
        chains.behind[before] = behind
    if behind != END:
        chains.before[behind] = before


@helper
def _ends(target: Ints32) -> Ints32:
    """Follow each class to the one it was finally merged into."""
    for one in range(len(target)):
        end = target[one]
        while target[end] != end:
            end = target[end]
        target[one] = end
    return target
