"""What is attacked: published sets beside the people they are about; and the control group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from incrowd.attacks.matching import Index, index_of
from incrowd.attacks.people import Lists, People, inverted
from incrowd.attacks.seen import Seen, seen_of_people
from incrowd.core.types import Bools, Ints64
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Attacked", "Outsiders", "Setting", "attacked_raw", "nobody"]


@dataclass(frozen=True, eq=False)
class Attacked:
    """People, and what an attacker sees of them.

    Parameters
    ----------
    people, tree
        What people have, as leaves of a taxonomy.
    seen
        What is published, and who holds it.
    is_raw
        Whether the attacker sees everybody's items, so that set p is person p's.
    """

    people: People
    tree: Taxonomy
    seen: Seen
    is_raw: bool = False

    @cached_property
    def index(self) -> Index:
        """What is published, by label."""
        return index_of(self.seen, self.tree, self.people)

    @cached_property
    def holders(self) -> Lists:
        """The people who hold each set. Private."""
        return inverted(self.seen.held, len(self.seen))


class Outsiders(NamedTuple):
    """A control group: people who are not in a release that was made in the same way from others."""

    attacked: Attacked
    are_out: Bools


class Setting(NamedTuple):
    """How attacks are run.

    Parameters
    ----------
    k
        Fewer than so many candidates single a person out.
    most
        How many people are attacked at the most, for every number of known items.
    seed
        The same seed draws the same people and items.
    progress
        Is called with the share of the work that is done.
    """

    k: int = 5
    most: int = 1_000
    seed: int = 0
    progress: Callable[[float], None] = lambda _: None

    def dice(self, *attack: int) -> np.random.Generator:
        """Return a source of chance for an attack, which does not depend on what other attacks draw."""
        return np.random.default_rng([self.seed, *attack])


def attacked_raw(people: People, tree: Taxonomy) -> Attacked:
    """Return raw data as an attacker sees it who has it: who is who is not said, everything else is."""
    return Attacked(people, tree, seen_of_people(people, tree), is_raw=True)


def nobody(number: int) -> Ints64:
    """Return that no set is left out, for so many targets."""
    return np.full(number, -1, dtype=np.int64)
