"""Which items expose people: those that, with one more item, lead to one person. Private: it names items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.attacks.attacked import Setting
from incrowd.attacks.matching import count_sharing, in_parts
from incrowd.attacks.people import People
from incrowd.attacks.rates import Rate
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.taxonomy import Attached

__all__ = ["ExposingItem", "Exposure", "exposure"]

CODE = 21
MOST_ITEMS = 30
"""How many items of each person are tried at the most."""
ENOUGH = 2


class ExposingItem(NamedTuple):
    """An item, how many people have it, for how many it was tried together with one more item, and how many of them these two single out."""

    item: str
    people: int
    tried: int
    singled_out: int


class Exposure(NamedTuple):
    """The items that only one person has, how many people have such an item, and the other items that lead to one person most surely. Private."""

    items_of_one: int
    people_with_one: int
    items: list[ExposingItem]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**self._asdict(), "items": [one._asdict() for one in self.items]}


def exposure(attached: Attached, people: People, setting: Setting, most: int) -> Exposure:
    """Draw people, and try each of their items with one other of theirs; return the items that lead to one person most surely.

    Parameters
    ----------
    attached, people
        The items on their taxonomy, and who has which.
    setting
        On how many people, and the seed.
    most
        How many items to return.
    """
    alone = people.counts == 1
    owners = people.holders.value[people.holders.start[:-1][alone]]
    known = _pairs(people, setting)
    lists = people.holders.start, people.holders.value
    parts = in_parts(
        lambda first, stop: count_sharing(people.start, people.leaf, lists, known[first:stop], ENOUGH),
        len(known),
    )
    sharing = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    tried = np.bincount(known[:, 0], minlength=people.leaves)
    singled = np.bincount(known[sharing == 1, 0], minlength=people.leaves)
    shared = np.flatnonzero((singled > 0) & ~alone)
    # A high share of few tries may be chance: the lowest share counts that the tries do not speak against.
    surely = [Rate(singled[leaf], int(tried[leaf])).interval.low for leaf in shared.tolist()]
    first = shared[np.lexsort((shared, -singled[shared], -np.round(surely, 12)))][:most]
    return Exposure(
        int(np.count_nonzero(alone)),
        len(np.unique(owners)),
        [
            ExposingItem(text, int(people.counts[leaf]), int(tried[leaf]), int(singled[leaf]))
            for text, leaf in zip(_texts(attached, first), first.tolist(), strict=True)
        ],
    )


def _pairs(people: People, setting: Setting) -> Ints32:
    """Return items of some people, each with another one of the same person."""
    dice = setting.dice(CODE)
    able = np.flatnonzero(people.sizes > 1)
    drawn = np.sort(dice.permutation(able)[: setting.most])
    pairs = []
    for one in drawn.tolist():
        own = people.leaf[people.start[one] : people.start[one + 1]]
        order = dice.permutation(own)
        pairs.append(np.column_stack([order, np.roll(order, 1)])[:MOST_ITEMS])
    return np.concatenate(pairs).astype(np.int32) if pairs else np.zeros((0, 2), np.int32)


def _texts(attached: Attached, leaves: Ints64) -> list[str]:
    """Return the items on some leaves."""
    data: Transactions = attached.transactions
    of_item = attached.taxonomy.item_leaf
    assert of_item is not None  # noqa: S101 - the items are attached
    item = np.full(attached.taxonomy.leaf_count, -1, dtype=np.int64)
    item[of_item] = np.arange(len(of_item))
    texts: list[str] = data.vocabulary.take(item[leaves]).to_pylist()
    return texts
