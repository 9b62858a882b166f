"""What earlier releases of a chain tell about people: who is alike in all of them, and who may go on being so.

A *group* is all people who have the same record in every earlier release, or are missing from the same ones. Groups are what an attacker
who knows a person's records in all releases is left with, so every one must have at least k people (docs/papers/previous.md).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

__all__ = ["Member", "Past", "Step", "next_step"]


@dataclass(frozen=True)
class Past:
    """The groups of the people of earlier releases. Private.

    Parameters
    ----------
    groups
        The people of each group.
    published
        How many of the groups, the first ones, are in the last release. The others left before it.
    k
        The smallest k of these releases: no group is smaller.
    """

    groups: Sequence[Sequence[str]]
    published: int
    k: int

    @cached_property
    def group_of(self) -> dict[str, int]:
        """The group of each person."""
        return {person: number for number, group in enumerate(self.groups) for person in group}


class Member(NamedTuple):
    """A person, and the number of the group among those of the past."""

    person: str
    group: int


class Step(NamedTuple):
    """What becomes of the people of earlier releases in the next one. Private.

    Parameters
    ----------
    stay
        People who have a record now and are published.
    counted
        People who have none now and are counted, as long as their group cannot be parted.
    withheld
        People who have returned and are not published, as their group cannot be parted.
    gone
        The groups that are not in the next release.
    """

    stay: list[Member]
    counted: list[Member]
    withheld: list[str]
    gone: list[list[str]]


def next_step(past: Past, present: Container[str], k: int) -> Step:
    """Decide for each group who is in the next release: all of it, nobody, or those who have a record now.

    The last only if at least k of it are on either side. Else a group stays where it was in the last release.
    """
    step = Step([], [], [], [])
    for number, group in enumerate(past.groups):
        here = [person for person in group if person in present]
        away = [person for person in group if person not in present]
        if not here or not away or min(len(here), len(away)) >= k:
            inside, outside = here, away
        elif number < past.published:
            inside, outside = list(group), []
            step.counted.extend(Member(person, number) for person in away)
        else:
            inside, outside = [], list(group)
            step.withheld.extend(here)
        if inside:
            step.stay.extend(Member(person, number) for person in here)
        if outside:
            step.gone.append(outside)
    return step
