"""A series of releases of the same people, each of another time: what attackers get who put them together.

No number of one release is part of a number of another, so nothing can be subtracted. What is left is to recognise people by their habits (A.
Narayanan, V. Shmatikov, IEEE S&P 2008), and to keep those who are possible in every release (S. R. Ganta, S. P. Kasiviswanathan, A. Smith, KDD
2008). Every release has its own taxonomy, and a person has the same number in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from incrowd.attacks.attacked import Attacked, Setting
from incrowd.attacks.linkability import ECCENTRICITY, rightly_found
from incrowd.attacks.matching import UNIT, Index
from incrowd.attacks.people import Drawn, draw_known
from incrowd.attacks.rates import Figure, Rate
from incrowd.core.ragged import distinct, take_lists
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "KNOWN",
    "SeriesOutsiders",
    "best_of",
    "candidates",
    "draw_in_each",
    "followed",
    "intersected",
    "scored_sets",
    "shared",
]

KNOWN = (1, 2, 3, 5)
"""Items that are known of the time of each release."""
LEAST_RELEASES = 2
CODE, CODE_FOLLOWED, CODE_SHARED = 10, 11, 12
NONE = -1


class SeriesOutsiders(NamedTuple):
    """A control group: people who are in none of the releases that were made in the same way from others."""

    series: Sequence[Attacked]
    are_out: Bools


# --- intersection ---


def intersected(
    series: Sequence[Attacked], setting: Setting, control: SeriesOutsiders | None = None
) -> Mapping[int, Figure]:
    """Keep for each person those who are among the best matches in every release, by some items of the person in each.

    Raw data single out who is left alone; the control is who would be but for the person. Releases single out who is left with
    fewer than k, the person among them; the control is of whom that looks so though they are in none of them.
    """
    found = {}
    for done, p in enumerate(KNOWN):
        left, tries = _left(series, setting, p)
        sizes = [len(some) for some in left.values()]
        own = [len(some) < setting.k and person in some for person, some in left.items()]
        if all(one.is_raw for one in series):
            found[p] = Figure(Rate(float(sizes.count(1)), tries), Rate(float(sizes.count(2)), tries))
        else:
            found[p] = Figure(Rate(float(sum(own)), tries), _seemingly(control, setting, p))
        setting.progress((done + 1) / len(KNOWN))
    return found


def _seemingly(control: SeriesOutsiders | None, setting: Setting, p: int) -> Rate | None:
    """Count people who look singled out in releases that they are not in."""
    if control is None:
        return None
    left, tries = _left(control.series, setting, p, control.are_out)
    return Rate(float(sum(0 < len(some) < setting.k for some in left.values())), tries)


def _left(
    series: Sequence[Attacked], setting: Setting, p: int, among: Bools | None = None
) -> tuple[dict[int, Ints64], int]:
    """Return who is left for each person that is tried, where anything matches; and how many are tried."""
    chosen, known = draw_in_each(series, p, setting.most, setting.dice(CODE, p), among)
    left: dict[int, Ints64] = {}
    for one, some in zip(series, known, strict=True):
        for person, found in _candidates_of(one, some):
            before = left.get(person)
            left[person] = found if before is None else np.intersect1d(before, found, assume_unique=True)
    return left, len(chosen)


def draw_in_each(
    series: Sequence[Attacked], p: int, most: int, dice: np.random.Generator, among: Bools | None = None
) -> tuple[Ints64, list[Drawn]]:
    """Draw people who have at least p items in the time of two releases or more, and p items of each such time."""
    able = np.sum([one.people.sizes >= p for one in series], axis=0) >= LEAST_RELEASES
    chosen = _some(able if among is None else able & among, most, dice)
    tried = np.zeros(len(able), np.bool_)
    tried[chosen] = True
    return chosen, [draw_known(one.people, p, len(chosen), dice, among=tried) for one in series]


def _some(able: Bools, most: int, dice: np.random.Generator) -> Ints64:
    """Draw some of the people who can be tried."""
    person = np.flatnonzero(able)
    return np.sort(dice.choice(person, most, replace=False)) if len(person) > most else person


def _candidates_of(attacked: Attacked, known: Drawn) -> Iterator[tuple[int, Ints64]]:
    """Yield the candidates for each target that anything matches: where nothing does, nothing is learnt."""
    score = np.zeros(len(attacked.seen), np.int64)
    for person, items in zip(known.person.tolist(), known.known, strict=True):
        sets = best_of(*scored_sets(attacked.index, items, score))
        if len(sets):
            yield person, candidates(attacked, sets)


def scored_sets(index: Index, known: Ints32, score: Ints64) -> tuple[Ints64, Ints64]:
    """Return the sets that known items speak for, ascending, and their scores.

    They are scored as by :func:`incrowd.attacks.matching.best_matches`. `score` has room for all sets, and is 0 before and after.
    """
    touched: list[Ints32] = []
    for leaf in known.tolist():
        node, spoken = int(index.leaf_node[leaf]), index.sets[:0]
        while node >= 0 and index.worth[node] > 0:
            some = index.sets[index.start[node] : index.start[node + 1]]
            if len(some):
                fresh = some[~np.isin(some, spoken)] if len(spoken) else some
                score[fresh] += int(index.weight[leaf] * index.worth[node] * UNIT)
                spoken = np.concatenate((spoken, fresh))
            node = int(index.parent[node])
        touched.append(spoken)
    every = distinct(np.concatenate(touched)).astype(np.int64)
    scores = score[every]
    score[every] = 0
    return every, scores


def best_of(sets: Ints64, scores: Ints64) -> Ints64:
    """Return the sets that score highest."""
    best: Ints64 = sets[scores == scores.max(initial=0)]
    return best


def candidates(attacked: Attacked, sets: Ints64) -> Ints64:
    """Return the people who hold any of some sets, ascending."""
    holders = attacked.holders
    _, at = take_lists(holders.start, sets)
    return distinct(holders.value[at]).astype(np.int64)


# --- shared records ---


def shared(series: Sequence[Attacked], setting: Setting) -> Figure:
    """Return the share of people who have the same records as fewer than k people, in all releases in which they have any."""
    able = np.sum([_holding(one) for one in series], axis=0) >= LEAST_RELEASES
    chosen = _some(able, setting.most, setting.dice(CODE_SHARED))
    few = sum(_sharing(series, person) < setting.k for person in chosen.tolist())
    return Figure(Rate(float(few), len(chosen)))


def _sharing(series: Sequence[Attacked], person: int) -> int:
    """Count the people who hold all that a person holds."""
    left: Ints64 | None = None
    for one in series:
        held = one.seen.held
        for number in held.value[held.start[person] : held.start[person + 1]].tolist():
            some = candidates(one, np.array([number]))
            left = some if left is None else np.intersect1d(left, some, assume_unique=True)
    return 0 if left is None else len(left)


# --- from one release to the next ---


def followed(series: Sequence[Attacked], setting: Setting) -> Figure:
    """Look for people in the next release by one set that they hold.

    A link that is accepted and right counts as 1 / the people who hold what was found. The control exchanges people: it is how often a
    link is right by chance.
    """
    pairs = list(pairwise(series))
    each = -(-setting.most // max(len(pairs), 1))
    right = by_chance = 0.0
    tries = exchanged = 0
    for number, (first, second) in enumerate(pairs):
        person, best = _followed(first, second, each, setting.dice(CODE_FOLLOWED, number))
        right, tries = right + rightly_found(second, best, person), tries + len(person)
        if len(person) > 1:
            by_chance += rightly_found(second, best, np.roll(person, 1))
            exchanged += len(person)
        setting.progress((number + 1) / len(pairs))
    return Figure(Rate(right, tries), Rate(by_chance, exchanged) if exchanged else None)


def _followed(
    first: Attacked, second: Attacked, most: int, dice: np.random.Generator
) -> tuple[Ints64, Ints64]:
    """Draw people who hold something in both releases; return them, and the set of the second that is taken for theirs (-1: none)."""
    held = first.seen.held
    person = _some(_holding(first) & _holding(second), most, dice)
    own = held.value[dice.integers(held.start[person], held.start[person + 1])]
    alike = _named_alike(first.tree, second.tree)
    weights = _weights(second)
    score = np.zeros(len(second.seen))
    best = np.full(len(person), NONE, np.int64)
    for row, number in enumerate(own.tolist()):
        sets = first.seen.sets
        nodes = alike[sets.value[sets.start[number] : sets.start[number + 1]]]
        best[row] = _standing_out(second.index, nodes[nodes >= 0], weights, score)
    return person, best


def _holding(attacked: Attacked) -> Bools:
    """Tell who has anything, and holds anything that is published."""
    return (np.diff(attacked.seen.held.start) > 0) & (attacked.people.sizes > 0)


def _standing_out(index: Index, nodes: Ints32, weights: Floats, score: Floats) -> int:
    """Return the set that has most in common with some labels, if it stands out; -1 if none does. `score` is 0 before and after."""
    for node in nodes.tolist():
        score[index.sets[index.start[node] : index.start[node + 1]]] += weights[node]
    at = int(score.argmax()) if len(score) else NONE
    if at >= 0:
        best, spread = score[at], score.std()
        score[at] = 0.0
        if not best - score.max() > ECCENTRICITY * spread:
            at = NONE
    score[:] = 0.0
    return at


def _weights(attacked: Attacked) -> Floats:
    """Return what each label is worth: 1 / ln(1 + people who hold it)."""
    index = attacked.index
    number = np.repeat(np.arange(len(index.parent)), np.diff(index.start))
    people = np.bincount(number, weights=index.people[index.sets], minlength=len(index.parent))
    return 1 / np.log1p(np.maximum(people, 1))


def _named_alike(first: Taxonomy, second: Taxonomy) -> Ints32:
    """Return the node of the second taxonomy that is called as each of the first, -1 for none; names that the program made say nothing."""
    found = np.full(len(first), NONE, np.int32)
    for leaf in (True, False):
        own, other = (
            np.flatnonzero((tree.is_leaf == leaf) & ~_made(tree)).astype(np.int32) for tree in (first, second)
        )
        names = (tree.labels_of(some) for tree, some in ((first, own), (second, other)))
        place = pc.index_in(next(names), value_set=next(names))
        known = np.array(place.is_valid(), dtype=np.bool_)
        found[own[known]] = other[np.array(place.drop_null(), dtype=np.int64)]
    return found


def _made(tree: Taxonomy) -> Bools:
    return np.zeros(len(tree), np.bool_) if tree.made is None else tree.made
