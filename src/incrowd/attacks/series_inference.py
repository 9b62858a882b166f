"""Inference from a series of releases: what is printed beside known items again and again is guessed to be the person's.

This is the intersection of S. R. Ganta, S. P. Kasiviswanathan and A. Smith (KDD 2008): of what is possible by each release, the attacker keeps what is
possible by all. It needs nobody's identity, so it works for records and tiles alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.attacks.attacked import Attacked, Setting
from incrowd.attacks.inference import COMMON, printed_of_people
from incrowd.attacks.people import Drawn
from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.series import KNOWN, SeriesOutsiders, best_of, draw_in_each, scored_sets
from incrowd.core.ragged import distinct, list_ids, take_lists
from incrowd.core.types import Bools, Ints64

__all__ = ["Vocabulary", "guessed"]

CODE = 13
NONE = -1


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The items of all releases of a series under one number each, and who has which. Private.

    Parameters
    ----------
    of_leaf
        For each release, the number of the item at each leaf of its taxonomy.
    size
        How many items there are.
    has
        Every item that a person has at any time, as ``person * size + item``, ascending.
    """

    of_leaf: Sequence[Ints64]
    size: int
    has: Ints64

    @classmethod
    def of(cls, series: Sequence[Attacked]) -> Vocabulary:
        """Return the items of some releases, by their texts."""
        names = [one.tree.labels_of(one.tree.leaf_nodes) for one in series]
        everything = pa.chunked_array(names, pa.string()).unique()
        of_leaf = [np.array(pc.index_in(some, value_set=everything), dtype=np.int64) for some in names]
        size = max(len(everything), 1)
        keys = [
            list_ids(one.people.start) * size + number[one.people.leaf]
            for one, number in zip(series, of_leaf, strict=True)
        ]
        return cls(of_leaf, size, distinct(np.concatenate(keys)))

    @cached_property
    def secret(self) -> Bools:
        """Which items at most 5 % of the people have: the others are no secret, and are not guessed."""
        people = len(distinct(self.has // self.size))
        number = np.bincount(self.has % self.size, minlength=self.size)
        return (number > 0) & (number <= max(COMMON * people, 1))

    def secrets_of(self, person: int) -> Ints64:
        """Return the secret items of a person."""
        first, last = np.searchsorted(self.has, [person * self.size, (person + 1) * self.size])
        own = self.has[first:last] % self.size
        return own[self.secret[own]]


def guessed(
    series: Sequence[Attacked], setting: Setting, control: SeriesOutsiders | None = None
) -> Mapping[int, Figure]:
    """Guess an item of people of whom some are known from the time of each release.

    Of raw data, the control is the same guess without the person's own rows; of releases, it is made about people who are in none of them.
    """
    words = Vocabulary.of(series)
    is_raw = all(one.is_raw for one in series)
    found = {}
    for done, p in enumerate(KNOWN):
        inside = _right(series, words, setting, p)
        outside = None
        if is_raw:
            outside = _right(series, words, setting, p, without_own=True)
        elif control is not None:
            outside = _right(control.series, words, setting, p, control.are_out)
        found[p] = Figure(inside, outside)
        setting.progress((done + 1) / len(KNOWN))
    return found


def _right(
    series: Sequence[Attacked],
    words: Vocabulary,
    setting: Setting,
    p: int,
    among: Bools | None = None,
    *,
    without_own: bool = False,
) -> Rate:
    """Count the guesses that are right, for people who have a secret beside what is known."""
    chosen, drawn = draw_in_each(series, p, setting.most, setting.dice(CODE, p), among)
    known = _known(words, drawn, chosen)
    truth = {person: np.setdiff1d(words.secrets_of(person), known[person]) for person in chosen.tolist()}
    said: dict[int, list[tuple[Ints64, Ints64]]] = {person: [] for person, own in truth.items() if len(own)}
    for number, (one, some) in enumerate(zip(series, drawn, strict=True)):
        score = np.zeros(len(one.seen), np.int64)
        of_node = _items_of_nodes(one, words.of_leaf[number])
        for person, items in zip(some.person.tolist(), some.known, strict=True):
            if person in said:
                sets, scores = scored_sets(one.index, items, score)
                if without_own:
                    sets, scores = sets[sets != person], scores[sets != person]
                said[person].append(_said(one, sets, scores, of_node, words.secret, known[person]))
    usual = _usual(series, words)
    right = sum(_guess(some, usual, known[person]) in truth[person] for person, some in said.items())
    return Rate(float(right), len(said))


def _known(words: Vocabulary, drawn: Sequence[Drawn], chosen: Ints64) -> dict[int, Ints64]:
    """Return the items that are known of each person, from any time."""
    found: dict[int, list[Ints64]] = {person: [] for person in chosen.tolist()}
    for of_leaf, some in zip(words.of_leaf, drawn, strict=True):
        for person, items in zip(some.person.tolist(), some.known, strict=True):
            found[person].append(of_leaf[items])
    return {person: np.concatenate(some) for person, some in found.items()}


def _items_of_nodes(one: Attacked, of_leaf: Ints64) -> Ints64:
    """Return the item that each node of a taxonomy is, -1 for a class."""
    leaf = one.index.leaf_of
    return np.where(leaf >= 0, of_leaf[np.maximum(leaf, 0)], NONE)


def _said(
    one: Attacked, sets: Ints64, scores: Ints64, of_node: Ints64, secret: Bools, known: Ints64
) -> tuple[Ints64, Ints64]:
    """Return the secret items that are printed in the sets that match best of those with anything new, and of how many people."""
    start, at = take_lists(one.seen.sets.start, sets)
    item, place = of_node[one.seen.sets.value[at]], list_ids(start)
    new = (item >= 0) & secret[item] & ~np.isin(item, known)
    item, place = item[new], place[new]
    best = best_of(sets, np.where(np.bincount(place, minlength=len(sets)) > 0, scores, NONE))
    chosen = np.isin(sets[place], best)
    items, number = np.unique(item[chosen], return_inverse=True)
    people = np.bincount(number, weights=one.seen.people[sets[place[chosen]]], minlength=len(items))
    return items, people.astype(np.int64)


def _usual(series: Sequence[Attacked], words: Vocabulary) -> Ints64:
    """Return the secret items that are printed of most people, for where no release says anything."""
    printed = np.zeros(words.size, np.int64)
    for one, of_leaf in zip(series, words.of_leaf, strict=True):
        np.add.at(printed, of_leaf, printed_of_people(one))
    printed[~words.secret] = 0
    order = np.lexsort((np.arange(words.size), -printed))
    return order[printed[order] > 0]


def _guess(said: Sequence[tuple[Ints64, Ints64]], usual: Ints64, known: Ints64) -> int:
    """Return the item that most releases print, and of these the one of most people; where none prints any, a usual one; else -1."""
    if not any(len(items) for items, _ in said):
        return next((item for item in usual.tolist() if item not in known), NONE)
    items, number = np.unique(np.concatenate([items for items, _ in said]), return_inverse=True)
    releases = np.bincount(number)
    people = np.bincount(number, weights=np.concatenate([people for _, people in said]))
    return int(items[np.lexsort((items, -people, -releases))[0]])
