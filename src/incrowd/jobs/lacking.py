"""Which words of the data their taxonomy lacks, those that most people have first. For the owner: it names words of the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.core.claims import plural_of
from incrowd.core.ragged import list_ids
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints64
from incrowd.jobs.anonymize import counted_by
from incrowd.jobs.data import taxonomy_for, unlisted_by
from incrowd.jobs.spec import Job
from incrowd.taxonomy import given_tree
from incrowd.taxonomy.lacking import lacking_items

__all__ = ["Lacking", "LackingItem", "find_lacking"]


class LackingItem(NamedTuple):
    """An item, how many have it, and the class below which it would hang; None where nothing is known of it."""

    item: str
    number: int
    below: str | None


class Lacking(NamedTuple):
    """What a taxonomy lacks: what is counted (people, records, sessions), how many items it lacks, and those that most have."""

    counts: str
    in_all: int
    items: list[LackingItem]
    named: bool
    """Whether items hang below the classes that tell their kinds."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as the plan has it."""
        return {
            "lacking": [one._asdict() for one in self.items],
            "lacking_in_all": self.in_all,
            "lacking_counts": self.counts,
        }


def find_lacking(job: Job, rows: Transactions, most: int) -> Lacking:
    """Return the items that a job's taxonomy lacks, those that most people have first; where k counts records, most records.

    Parameters
    ----------
    job, rows
        A job that is settled, and its data before they are attached: what is not attached is among what the taxonomy lacks.
    most
        How many items to return.
    """
    data, items = counted_by(rows, job.options.distinct), str(job.items)
    by_person = data.people is not None or data.unit == "user"
    counts = "people" if by_person else plural_of(data.unit.partition(":")[0])
    source = taxonomy_for(job, items)
    unlisted = unlisted_by(job, items, source)
    if unlisted is None:  # the tree is made from the items
        return Lacking(counts, 0, [], named=False)
    named = unlisted == "name"
    found = lacking_items(given_tree(source), data.vocabulary, named=named, moves=job.moves)
    is_lacking = np.zeros(len(data.vocabulary), dtype=np.bool_)
    is_lacking[found.item] = True
    number = _having(data, is_lacking)[found.item]
    first = np.argsort(-number, kind="stable")[:most]
    texts = data.vocabulary.take(found.item[first]).to_pylist()
    shown = zip(texts, number[first].tolist(), found.below(first), strict=True)
    return Lacking(counts, len(found.item), [LackingItem(*one) for one in shown], named)


def _having(data: Transactions, wanted: Bools) -> Ints64:
    """Return how many people have each of the wanted items, whatever row it is in."""
    entry, items = np.flatnonzero(wanted[data.items]), len(wanted)
    item = data.items[entry]
    if data.people is not None:
        person = data.person[list_ids(data.indptr)[entry]].astype(np.int64)
        item = np.unique(person * items + item) % items
    return np.bincount(item, minlength=items)
