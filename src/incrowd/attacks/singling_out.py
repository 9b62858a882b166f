"""Singling out: whether a few known items lead to one person, or to fewer than k.

Before: unicity (de Montjoye et al., Scientific Reports 2013). After: the attacker looks for the published sets that match best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.attacks.attacked import Attacked, Outsiders, Setting
from incrowd.attacks.matching import Matches, best_matches, count_sharing, in_parts
from incrowd.attacks.people import Drawn, How, draw_known
from incrowd.attacks.rates import Figure, Rate
from incrowd.core.ragged import list_ids
from incrowd.core.types import Ints64

__all__ = ["KNOWN", "WAYS", "ClassRisks", "Singled", "class_risks", "sizes_of_sets", "unicity"]

KNOWN = range(1, 11)
WAYS: tuple[How, ...] = ("random", "rarest", "recent")
CODE = 1


class Singled(NamedTuple):
    """By number of known items: who is singled out, and how often a guess among the candidates is right."""

    unicity: Mapping[int, Figure]
    reidentified: Mapping[int, Figure]


def unicity(
    attacked: Attacked,
    setting: Setting,
    how: How = "random",
    control: Outsiders | None = None,
    numbers: Sequence[int] = KNOWN,
) -> Singled:
    """Draw people and items of theirs, in each of some numbers, and count who is singled out.

    In raw data that is who alone has these items; the control is who alone but for the person has them, as if the person were not
    in the data. In a release, fewer than k people hold the sets that match best, the person among them; the control is
    of whom that looks so though they are not in it.
    """
    count = _of_raw if attacked.is_raw else _of_release
    singled, found = {}, {}
    for p in numbers:
        known = draw_known(attacked.people, p, setting.most, setting.dice(CODE, p), how=how)
        singled[p], found[p] = count(attacked, setting, known)
        if control is not None:
            others = draw_known(
                attacked.people, p, setting.most, setting.dice(CODE, p), how=how, among=control.are_out
            )
            singled[p] = singled[p]._replace(control=_seemingly(control.attacked, setting, others))
        setting.progress(p / numbers[-1])
    return Singled(singled, found)


def _of_raw(attacked: Attacked, setting: Setting, drawn: Drawn) -> tuple[Figure, Figure]:  # noqa: ARG001
    """Count whom known items single out in raw data."""
    people = attacked.people
    lists = people.holders.start, people.holders.value
    parts = in_parts(
        lambda first, stop: count_sharing(
            people.start, people.leaf, lists, drawn.known[first:stop], 1_000_000
        ),
        len(drawn),
    )
    sharing = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    tries = len(sharing)
    alone = Figure(_rate(sharing == 1), _rate(sharing == 2))  # noqa: PLR2004 - one other
    return alone, Figure(Rate(float((1 / sharing).sum()), tries))


def _matched(attacked: Attacked, drawn: Drawn) -> Matches:
    """Match what is known of people."""
    held, holders = ((some.start, some.value) for some in (attacked.seen.held, attacked.holders))
    parts = in_parts(
        lambda first, stop: best_matches(
            attacked.index, drawn.known[first:stop], held, holders, drawn.person[first:stop]
        ),
        len(drawn),
    )
    if not parts:
        return Matches(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    return Matches(*(np.concatenate(some) for some in zip(*parts, strict=True)))


def _of_release(attacked: Attacked, setting: Setting, drawn: Drawn) -> tuple[Figure, Figure]:
    """Count whom known items single out in a release."""
    found = _matched(attacked, drawn)
    right = np.divide(found.own, found.people, out=np.zeros(len(drawn)), where=found.people > 0)
    singled = _rate(found.own & (found.people < setting.k))
    return Figure(singled), Figure(Rate(float(right.sum()), len(drawn)))


def _seemingly(attacked: Attacked, setting: Setting, drawn: Drawn) -> Rate:
    """Count people who look singled out in a release that they are not in."""
    found = _matched(attacked, drawn)
    return _rate((found.people > 0) & (found.people < setting.k))


def _rate(right: np.ndarray) -> Rate:
    return Rate(float(np.count_nonzero(right)), len(right))


class ClassRisks(NamedTuple):
    """Risks of people by the number of those who share what is published of them, as ARX names them.

    Prosecutor: the attacker knows that the person is in the data; `highest` and, of all people, the share `at_risk` with fewer than k. Journalist:
    the attacker does not know that; where the people are a share of a population, the risk is that much smaller. Marketer: the
    share of people that an attacker expects to find who links everybody.
    """

    prosecutor_highest: float
    prosecutor_at_risk: float
    journalist_highest: float
    marketer: float
    people: int


def sizes_of_sets(attacked: Attacked) -> Ints64:
    """Return for each person of whom anything is published how many people hold the rarest set that they hold."""
    if attacked.is_raw:
        return _alike(attacked)
    held = attacked.seen.held
    least = np.full(len(attacked.people), np.iinfo(np.int64).max)
    np.minimum.at(least, list_ids(held.start), attacked.seen.people[held.value])
    return least[np.diff(held.start) > 0]


def _alike(attacked: Attacked) -> Ints64:
    """Return for each person who has anything how many people have the very same items."""
    people = attacked.people
    filled = np.flatnonzero(people.sizes)
    keys = [people.leaf[people.start[p] : people.start[p + 1]].tobytes() for p in filled.tolist()]
    _, number, counts = np.unique(np.array(keys, dtype=object), return_inverse=True, return_counts=True)
    return counts[number]


def class_risks(attacked: Attacked, k: int, population: int | None = None) -> ClassRisks:
    """Return the risks of people by how many share what is published of them."""
    sizes = sizes_of_sets(attacked)
    if not len(sizes):
        return ClassRisks(0.0, 0.0, 0.0, 0.0, 0)
    drawn = 1.0 if population is None else min(1.0, len(sizes) / population)
    highest = 1 / int(sizes.min())
    return ClassRisks(
        highest, float((sizes < k).mean()), highest * drawn, float((1 / sizes).mean()), len(sizes)
    )
