"""Inference: how surely one more item follows from what is known of a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from incrowd.attacks.attacked import Attacked, Outsiders, Setting, nobody
from incrowd.attacks.matching import guesses, in_parts
from incrowd.attacks.people import Drawn, draw_known
from incrowd.attacks.rates import Figure, Rate
from incrowd.core.ragged import list_ids
from incrowd.core.types import Bools, Ints32, Ints64

__all__ = ["COMMON", "KNOWN", "one_more_item", "printed_of_people"]

COMMON = 0.05
"""What a larger share of people has is no secret, and is not guessed."""
KNOWN = (1, 3, 10)
CODE = 2
SENSITIVE = 3


class _Guessed(NamedTuple):
    """What is guessed of whom: p items are known, and one of the wanted leaves is guessed."""

    attacked: Attacked
    setting: Setting
    p: int
    wanted: Bools
    code: int

    def drawn(self, among: Bools | None = None) -> Drawn:
        """Draw people who have something to guess, and what is known of them."""
        people, wanted = self.attacked.people, self.wanted
        dice = self.setting.dice(self.code, self.p)
        drawn = draw_known(people, self.p, 4 * self.setting.most, dice, beside=1, among=among)
        number = np.bincount(list_ids(people.start)[wanted[people.leaf]], minlength=len(people))
        left = number[drawn.person] - np.count_nonzero(wanted[drawn.known], axis=1)
        chosen = np.flatnonzero(left > 0)[: self.setting.most]
        return Drawn(drawn.person[chosen], drawn.known[chosen])

    def control(self, outsiders: Outsiders | None, inside: Drawn) -> Rate | None:
        """Return how often the guess is right for people who are not in the data; None where there are none."""
        if self.attacked.is_raw:
            return Rate(_right(self.attacked, inside, self.wanted, inside.person), len(inside))
        if outsiders is None:
            return None
        drawn = self.drawn(outsiders.are_out)
        return Rate(_right(outsiders.attacked, drawn, self.wanted, nobody(len(drawn))), len(drawn))


def one_more_item(
    attacked: Attacked, setting: Setting, control: Outsiders | None = None, sensitive: Bools | None = None
) -> Mapping[int, Figure]:
    """Guess an item of people of whom some are known.

    Parameters
    ----------
    attacked, setting
        What is attacked, and how.
    control
        People who are not in a release; of raw data, the control is the same guess without the person's own row.
    sensitive
        The leaves to guess, and only people with such a leaf beside what is known are tried; None: whatever at most 5 % of the
        people have.
    """
    wanted = attacked.people.secrets(COMMON) if sensitive is None else sensitive
    found = {}
    for done, p in enumerate(KNOWN):
        guessed = _Guessed(attacked, setting, p, wanted, CODE if sensitive is None else SENSITIVE)
        inside = guessed.drawn()
        right = Rate(_right(attacked, inside, wanted, nobody(len(inside))), len(inside))
        found[p] = Figure(right, guessed.control(control, inside))
        setting.progress((done + 1) / len(KNOWN))
    return found


def _right(attacked: Attacked, drawn: Drawn, wanted: Bools, skip: Ints64) -> float:
    """Count the guesses that are right."""
    order = _fallback(attacked, wanted)
    parts = in_parts(
        lambda first, stop: guesses(attacked.index, drawn.known[first:stop], skip[first:stop], wanted, order),
        len(drawn),
    )
    guess = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    people = attacked.people
    keys = drawn.person * people.leaves + guess
    # Items of people are ascending, so that all of them are one sorted list of keys.
    everything = list_ids(people.start) * people.leaves + people.leaf
    place = np.minimum(np.searchsorted(everything, keys), max(len(everything) - 1, 0))
    return float(np.count_nonzero((guess >= 0) & (everything[place] == keys))) if len(everything) else 0.0


def printed_of_people(attacked: Attacked) -> Ints64:
    """Return how many people hold a set that prints each leaf."""
    seen, leaf_of = attacked.seen, attacked.index.leaf_of
    leaf = leaf_of[seen.sets.value]
    times = seen.people[list_ids(seen.sets.start)]
    shown = leaf >= 0
    return np.bincount(leaf[shown], weights=times[shown], minlength=attacked.people.leaves).astype(np.int64)


def _fallback(attacked: Attacked, wanted: Bools) -> Ints32:
    """Return the wanted leaves that are printed of most people, for where no set says anything."""
    printed = np.where(wanted, printed_of_people(attacked), 0)
    order = np.lexsort((np.arange(len(printed)), -printed))
    return order[printed[order] > 0][:100].astype(np.int32)
