"""Matching what an attacker knows with published sets: one way through the index for all attacks.

A known item x speaks for a set by the finest label v of it that is x or lies above x: ``weight(x) * worth(v)``, where the weight is
larger for an item that fewer people have, and the worth is ``1 - ln leaves(v) / ln M``: 1 for the very item, 0 for the root. Sets with the
highest sum match best. In raw data these are the people who have all that is known. Sums are of whole numbers, so that sets tie whatever the
order in which items are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from incrowd.attacks.people import People, inverted
from incrowd.attacks.seen import Seen
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.kernels.jit import helper, kernel
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Index",
    "Links",
    "Matches",
    "best_matches",
    "count_sharing",
    "guesses",
    "in_parts",
    "index_of",
    "linked_halves",
    "links",
]

NONE = -1
UNIT = float(2**32)
"""A score of 1, as it is added up."""
PART = 256
"""Targets that a thread takes at a time."""
Result = TypeVar("Result")


class Index(NamedTuple):
    """What is published, by label: label v is in the sets ``sets[start[v]:start[v + 1]]``.

    ``set_start`` and ``set_nodes`` are the labels of each set, and ``people`` how many people hold it; ``leaf_of`` is the rank of a node that is a
    leaf, else -1.
    """

    parent: Ints32
    leaf_node: Ints32
    leaf_of: Ints32
    worth: Floats
    weight: Floats
    start: Ints64
    sets: Ints32
    set_start: Ints64
    set_nodes: Ints32
    people: Ints64


class Board(NamedTuple):
    """Scores of sets for one target; `stamp` says for which known item a set was scored last."""

    score: Ints64
    stamp: Ints64
    touched: Ints32


def index_of(seen: Seen, tree: Taxonomy, people: People) -> Index:
    """Return what is published, by label."""
    postings = inverted(seen.sets, len(tree))
    leaf_of = np.where(tree.is_leaf, tree.first_leaf, NONE).astype(np.int32)
    return Index(
        tree.parent,
        tree.leaf_nodes,
        leaf_of,
        1 - tree.ic,
        people.weights,
        postings.start,
        postings.value,
        seen.sets.start,
        seen.sets.value,
        seen.people,
    )


def in_parts(work: Callable[[int, int], Result], number: int) -> list[Result]:
    """Do some work on targets in threads, some at a time; the result does not depend on how many threads there are."""
    firsts = range(0, number, PART)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda first: work(first, min(first + PART, number)), firsts))


@kernel
def count_sharing(
    people_start: Ints64, leaf: Ints32, holders: tuple[Ints64, Ints32], known: Ints32, most: int
) -> Ints64:
    """Count the people who have all items of each row of `known`, up to `most`."""
    start, holder = holders
    found = np.zeros(len(known), np.int64)
    for row in range(len(known)):
        rarest = known[row, 0]
        for item in known[row]:
            if start[item + 1] - start[item] < start[rarest + 1] - start[rarest]:
                rarest = item
        for at in range(start[rarest], start[rarest + 1]):
            own = leaf[people_start[holder[at]] : people_start[holder[at] + 1]]
            found[row] += _has_all(own, known[row])
            if found[row] >= most:
                break
    return found


@helper
def _has_all(own: Ints32, known: Ints32) -> bool:
    """Tell whether an ascending list has all of some numbers."""
    for item in known:
        at = np.searchsorted(own, item)
        if at == len(own) or own[at] != item:
            return False
    return True


@helper
def _new_board(sets: int) -> Board:
    return Board(np.zeros(sets, np.int64), np.full(sets, -1, np.int64), np.empty(sets, np.int32))


@helper
def _match(index: Index, known: Ints32, skip: int, tick: int, board: Board) -> int:
    """Score the sets that some known leaves speak for, but for one; return how many there are. `tick` counts known items of all targets."""
    number = 0
    for i in range(len(known)):
        weight, node = index.weight[known[i]], index.leaf_node[known[i]]
        while node >= 0 and index.worth[node] > 0:
            points = int(weight * index.worth[node] * UNIT)
            for at in range(index.start[node], index.start[node + 1]):
                one = index.sets[at]
                if one == skip or board.stamp[one] == tick + i:
                    continue
                if board.stamp[one] < tick:
                    board.score[one] = 0
                    board.touched[number] = one
                    number += 1
                board.stamp[one] = tick + i
                board.score[one] += points
            node = index.parent[node]
    return number


@helper
def _best(board: Board, number: int) -> int:
    best = 0
    for i in range(number):
        best = max(best, board.score[board.touched[i]])
    return best


class Matches(NamedTuple):
    """For each target: how many different people hold the sets that match best, and whether one of these is the target's own."""

    people: Ints64
    own: Bools


@kernel
def best_matches(
    index: Index, known: Ints32, held: tuple[Ints64, Ints32], holders: tuple[Ints64, Ints32], person: Ints64
) -> Matches:
    """Find the sets that match best what is known of each person. Of sets that match equally well, all are taken.

    `held` are the sets of each person, `holders` the people of each set: who holds several of the best is one candidate.
    """
    board, counted = _new_board(len(index.people)), np.full(len(held[0]) - 1, NONE, np.int64)
    people, own = np.zeros(len(person), np.int64), np.zeros(len(person), np.bool_)
    width = known.shape[1]
    for row in range(len(person)):
        number = _match(index, known[row], NONE, row * width, board)
        best = _best(board, number)
        for i in range(number):
            one = board.touched[i]
            if board.score[one] == best:
                people[row] += _count_new(holders, one, row, counted)
        for at in range(held[0][person[row]], held[0][person[row] + 1]):
            one = held[1][at]
            own[row] |= number > 0 and board.stamp[one] >= row * width and board.score[one] == best
    return Matches(people, own)


@helper
def _count_new(holders: tuple[Ints64, Ints32], one: int, row: int, counted: Ints64) -> int:
    """Count the people of a set who were not counted for a target yet."""
    number = 0
    for at in range(holders[0][one], holders[0][one + 1]):
        number += counted[holders[1][at]] != row
        counted[holders[1][at]] = row
    return number


class Links(NamedTuple):
    """For each profile: the set that scores highest, -1 where it is not accepted, and whether any scores at all."""

    best: Ints64
    scored: Bools


@kernel
def links(index: Index, profile_start: Ints64, profile: Ints32, eccentricity: float) -> Links:
    """Link profiles to sets by a scoreboard.

    Narayanan & Shmatikov, IEEE S&P 2008, section 4: the best is accepted if it exceeds the second best by more than so many
    standard deviations of the scores of all sets.
    """
    rows, sets = len(profile_start) - 1, len(index.people)
    board = _new_board(sets)
    found, scored = np.full(rows, NONE, np.int64), np.zeros(rows, np.bool_)
    for row in range(rows):
        known = profile[profile_start[row] : profile_start[row + 1]]
        number = _match(index, known, NONE, profile_start[row], board)
        best = second = 0
        total = squares = 0.0
        at_best = NONE
        for i in range(number):
            score = board.score[board.touched[i]]
            total += score
            squares += float(score) * score
            if score > best:
                best, second, at_best = score, best, board.touched[i]
            elif score > second:
                second = score
        scored[row] = number > 0
        if number > 0:
            spread = np.sqrt(max(squares / sets - (total / sets) ** 2, 0.0))
            if best - second > eccentricity * spread:
                found[row] = at_best
    return Links(found, scored)


@kernel
def linked_halves(index: Index, known: Ints32, skip: Ints64) -> Ints64:
    """Return for each row of `known` how many people hold the sets that match both of its halves best; 0 where there is none."""
    board, other = _new_board(len(index.people)), _new_board(len(index.people))
    found, half = np.zeros(len(known), np.int64), known.shape[1] // 2
    for row in range(len(known)):
        first = _match(index, known[row, :half], skip[row], row * half, board)
        second = _match(index, known[row, half:], skip[row], row * half, other)
        best, best_other = _best(board, first), _best(other, second)
        for i in range(first):
            one = board.touched[i]
            if board.score[one] == best and other.stamp[one] >= row * half and other.score[one] == best_other:
                found[row] += index.people[one]
    return found


@kernel
def guesses(index: Index, known: Ints32, skip: Ints64, wanted: Bools, order: Ints32) -> Ints64:
    """Guess one more leaf of each person, of those wanted.

    Looked at are the sets that match best of those that print such a leaf beside what is known; guessed is the leaf that most people of
    these sets have. Where no set says anything: the first of `order` that is not known; -1 where there is none.
    """
    board = _new_board(len(index.people))
    tally, guess = np.zeros(len(wanted), np.int64), np.full(len(known), NONE, np.int64)
    width = known.shape[1]
    for row in range(len(known)):
        number = _match(index, known[row], skip[row], row * width, board)
        best = 0
        for i in range(number):
            one = board.touched[i]
            if board.score[one] > best and _has_new(index, one, known[row], wanted):
                best = board.score[one]
        if best > 0:
            guess[row] = _most_held(index, known[row], wanted, board, number, best, tally)
            continue
        for leaf in order:
            if not _is_known(leaf, known[row]):
                guess[row] = leaf
                break
    return guess


@helper
def _is_known(leaf: int, known: Ints32) -> bool:
    for item in known:
        if item == leaf:
            return True
    return False


@helper
def _has_new(index: Index, one: int, known: Ints32, wanted: Bools) -> bool:
    """Tell whether a set prints a wanted leaf that is not known."""
    for at in range(index.set_start[one], index.set_start[one + 1]):
        leaf = index.leaf_of[index.set_nodes[at]]
        if leaf >= 0 and wanted[leaf] and not _is_known(leaf, known):
            return True
    return False


@helper
def _most_held(
    index: Index, known: Ints32, wanted: Bools, board: Board, number: int, best: int, tally: Ints64
) -> int:
    """Return the wanted leaf that most people of the best sets have; the first in the taxonomy of several. `tally` is 0 before and after."""
    chosen = NONE
    for turn in range(2):
        for i in range(number):
            one = board.touched[i]
            if board.score[one] != best:
                continue
            for at in range(index.set_start[one], index.set_start[one + 1]):
                leaf = index.leaf_of[index.set_nodes[at]]
                if leaf < 0 or not wanted[leaf] or _is_known(leaf, known):
                    continue
                if turn:
                    tally[leaf] = 0
                    continue
                tally[leaf] += index.people[one]
                better = chosen == NONE or tally[leaf] > tally[chosen]
                if better or (tally[leaf] == tally[chosen] and leaf < chosen):
                    chosen = leaf
    return chosen
