"""Linkability: whether two things that are known of a person are told to be of one, or are found in a release."""

from __future__ import annotations

import numpy as np

from incrowd.attacks.attacked import Attacked, Outsiders, Setting, nobody
from incrowd.attacks.matching import in_parts, linked_halves, links
from incrowd.attacks.people import Drawn, Lists, draw_known
from incrowd.attacks.rates import Figure, Rate
from incrowd.core.ragged import list_ids, take_lists
from incrowd.core.types import Ints64

__all__ = ["ECCENTRICITY", "HALF", "found_again", "halves", "rightly_found"]

HALF = 3
"""Items in each half of what is known."""
ECCENTRICITY = 1.5
FEW, FEW_CLASSES = 0.01, 4
"""A link is believed if what matches is held by at most so large a share of the people, or by so many times k."""
CODE, CODE_AGAIN = 4, 5


def halves(attacked: Attacked, setting: Setting, control: Outsiders | None = None) -> Figure:
    """Link two halves of what is known of a person, three items each.

    They are linked if a published set is among those that match best for both (as Anonymeter measures linkability: Giomi et al.,
    PoPETs 2023), and few people hold these: what matches everybody links nobody. Of raw data the control is the same without the
    person's own row.
    """
    few = max(round(FEW * np.count_nonzero(attacked.people.sizes)), FEW_CLASSES * setting.k)
    drawn = draw_known(attacked.people, 2 * HALF, setting.most, setting.dice(CODE))
    inside = Rate(_linked(attacked, drawn, few, own=True), len(drawn))
    if attacked.is_raw:
        return Figure(inside, Rate(_linked(attacked, drawn, few, own=False), len(drawn)))
    if control is None:
        return Figure(inside)
    others = draw_known(attacked.people, 2 * HALF, setting.most, setting.dice(CODE), among=control.are_out)
    return Figure(inside, Rate(_linked(control.attacked, others, few, own=True), len(others)))


def _linked(attacked: Attacked, drawn: Drawn, few: int, *, own: bool) -> float:
    """Count the people whose halves match something that few hold; without their own row of raw data where it shall not count."""
    skip = nobody(len(drawn)) if own else drawn.person
    parts = in_parts(
        lambda first, stop: linked_halves(attacked.index, drawn.known[first:stop], skip[first:stop]),
        len(drawn),
    )
    return float(sum(np.count_nonzero((part > 0) & (part <= few)) for part in parts))


def found_again(attacked: Attacked, profiles: Lists, setting: Setting) -> Figure:
    """Look for people in what is published by what is known of them from another time.

    A link that is accepted and right counts as 1 / the people who hold the set that was found. The control exchanges profiles among people:
    it is how often a link is right by chance.
    """
    person = np.flatnonzero(np.diff(profiles.start) > 0)
    dice = setting.dice(CODE_AGAIN)
    if len(person) > setting.most:
        person = np.sort(dice.choice(person, setting.most, replace=False))
    best = _best_links(attacked, profiles, person)
    found = Rate(rightly_found(attacked, best, person), len(person))
    if len(person) < 2:  # noqa: PLR2004 - nobody to exchange with
        return Figure(found)
    return Figure(found, Rate(rightly_found(attacked, best, np.roll(person, 1)), len(person)))


def _best_links(attacked: Attacked, profiles: Lists, person: Ints64) -> Ints64:
    """Return the set that is linked to each of some people's profiles, -1 for none."""
    start, at = take_lists(profiles.start, person)
    leaf = profiles.value[at]
    parts = in_parts(
        lambda first, stop: links(attacked.index, start[first : stop + 1], leaf, ECCENTRICITY).best,
        len(person),
    )
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def rightly_found(attacked: Attacked, best: Ints64, person: Ints64) -> float:
    """Count the people whose own set was found, each as much as they are of those who hold it."""
    seen = attacked.seen
    width = max(len(seen), 1)
    held = list_ids(seen.held.start) * width + seen.held.value
    wanted = person * width + best
    right = (best >= 0) & np.isin(wanted, held)
    return float((1 / seen.people[best[right]]).sum())
