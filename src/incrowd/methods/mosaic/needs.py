"""How many people a tile needs, and what its labels weigh, by the kinds of its labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.core.kinds import KINDS, MAIN
from incrowd.core.thresholds import Thresholds, needed
from incrowd.core.types import Bools, Floats, Ints64
from incrowd.errors import BadInputError, check_least

__all__ = ["Needs", "needs_of"]


class Needs(NamedTuple):
    """What depends on kinds. A set of kinds is a number whose bit 0 stands for words and bit i for the i-th further kind.

    Parameters
    ----------
    people
        How many people a tile needs, for each set of kinds.
    is_context
        Whether each set has nothing but kinds that say when, where or with what.
    weight
        What a label of each kind counts where tiles are joined.
    """

    people: Ints64
    is_context: Bools
    weight: Floats


def needs_of(kinds: Sequence[str], k: int, thresholds: Thresholds, weights: Mapping[str, float]) -> Needs:
    """Return what depends on kinds, where units have words and some further kinds.

    Raises
    ------
    BadInputError
        A threshold is below k, or for a kind that units do not have.
    """
    names = (MAIN, *kinds)
    _check_known("thresholds", {kind for some in thresholds for kind in some}, names)
    _check_known("weights", weights, names)
    for some, least in thresholds.items():
        check_least(f"thresholds {'+'.join(some)}", least, k)
    sets = [[name for i, name in enumerate(names) if number >> i & 1] for number in range(1 << len(names))]
    people = np.array([needed(some, k, thresholds) for some in sets], dtype=np.int64)
    context = sum(1 << i for i, kind in enumerate(names) if i and KINDS[kind].is_context)
    is_context = (np.arange(len(people)) & ~context) == 0
    is_context[0] = False
    usual = [1.0, *(KINDS[kind].weight for kind in kinds)]
    weight = [weights.get(name, own) for name, own in zip(names, usual, strict=True)]
    return Needs(people, is_context, np.array(weight))


def _check_known(option: str, said: Iterable[str], names: Sequence[str]) -> None:
    unknown = next((kind for kind in said if kind not in names), None)
    if unknown is not None:
        raise BadInputError(f"{option} names {unknown}, which units do not have: add it to kinds, or drop it")
