"""What may be published for a query: the query itself, the name of its concept, a name above that, or nothing.

Every method that publishes queries uses this rule. The safe rule: at least k different people typed a published query, and
at least k different people have a published name's concept or something below it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.claims import SpeaksOf
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.events import QueryEvents
from incrowd.core.ragged import count_distinct, distinct, list_ids, starts_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.taxonomy.attach import UNRELATED
from incrowd.taxonomy.meaning import Meaning
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["NOTHING", "Copies", "Rule", "classes_of", "people_below", "rule_for"]


NOTHING = -1


class Rule(NamedTuple):
    """Which queries may be published as they are, and which node's name may stand for each node (NOTHING: none).

    ``least`` is the number of different people that the rule requires; 1: it requires nothing.
    """

    query: Bools
    name: Ints32
    least: int


class Copies(NamedTuple):
    """What classes would publish. Each entry: a class, a concept, a query that means it (NOTHING: none), and a count."""

    owner: Ints64
    node: Ints32
    query: Ints64
    times: Ints64


class _Published(NamedTuple):
    """Entries as they may be published; ``as_text`` are queries, the others names of nodes."""

    node: Ints32
    as_text: Bools


def rule_for(
    transactions: Transactions,
    taxonomy: Taxonomy,
    events: QueryEvents,
    meaning: Meaning,
    *,
    people: Ints32 | None,
    least: int,
) -> Rule:
    """Return what may be published.

    Parameters
    ----------
    transactions, taxonomy, events, meaning
        The data, the tree to which it is attached, the query events, and what nodes mean.
    people
        A number for the person behind each row; None: as the transactions count them.
    least
        How many different people a query or a name needs; with 1 every query may be published.
    """
    if least <= 1:
        return Rule(np.ones(len(events.texts), dtype=np.bool_), meaning.instead, 1)
    person = transactions.person if people is None else people
    typists = count_distinct(events.query, person[list_ids(events.start)], len(events.texts))
    named = (people_below(transactions, taxonomy, person) >= least) & ~_says_nothing(taxonomy)
    return Rule(typists >= least, _climbed(meaning.of_node, named, taxonomy.parent), least)


def people_below(transactions: Transactions, taxonomy: Taxonomy, person: Ints32) -> Ints64:
    """Count the different people who have an item at or below each node.

    Each leaf of a person counts once, and 1 is subtracted at the lowest common ancestor of each two consecutive leaves
    in pre-order: below any node that leaves exactly one for each person.
    """
    leaf = taxonomy.leaves_of(transactions.items)
    whose = person[list_ids(transactions.indptr)].astype(np.int64)
    owner, node = np.divmod(distinct(whose * len(taxonomy) + leaf), len(taxonomy))
    follows = owner[1:] == owner[:-1]
    met = _meeting_points(node[:-1][follows], node[1:][follows], taxonomy.parent)
    change = np.bincount(node, minlength=len(taxonomy)) - np.bincount(met, minlength=len(taxonomy))
    before = starts_of(change)
    return np.asarray(before[taxonomy.end] - before[:-1], dtype=np.int64)


def _meeting_points(one: Ints64, other: Ints64, parent: Ints32) -> Ints64:
    """Return the lowest node above (or at) both: in pre-order the greater number is never above the lesser."""
    one, other = one.copy(), other.copy()
    while len(apart := np.flatnonzero(one != other)):
        low, high = np.minimum(one[apart], other[apart]), np.maximum(one[apart], other[apart])
        one[apart], other[apart] = low, parent[high]
    return one


def _says_nothing(taxonomy: Taxonomy) -> Bools:
    """Mark the nodes whose names carry no information: the root, and the nodes made for unlisted items."""
    made = np.zeros(len(taxonomy), dtype=np.bool_)
    if taxonomy.edge is not None:
        made = taxonomy.edge >= UNRELATED
    top = made[taxonomy.parent] & (taxonomy.parent >= 0)  # the given tree's root, below an added one
    top[0] = True
    return np.asarray(made | top)


def _climbed(node: Ints32, allowed: Bools, parent: Ints32) -> Ints32:
    """Return the nearest allowed node at or above each; NOTHING where there is none."""
    found = node.copy()
    while len(stuck := np.flatnonzero((found != NOTHING) & ~allowed[found])):
        found[stuck] = parent[found[stuck]]
    return found


def classes_of(
    copies: Copies,
    of_row: Ints32,
    *,
    events: QueryEvents,
    meaning: Meaning,
    rule: Rule,
    speaks_of: SpeaksOf = "class",
) -> Classes:
    """Return classes that publish what the rule allows; the rows of a class without anything to publish are withheld."""
    shown = _as_published(copies, meaning, rule)
    left = np.flatnonzero(shown.node != NOTHING)
    query = np.where(shown.as_text, copies.query, NOTHING)[left]
    speaking, owner = np.unique(copies.owner[left], return_inverse=True)
    keys = np.stack([owner, shown.node[left], query])
    entry, place = np.unique(keys, axis=1, return_inverse=True)
    # Sums of integers are exact in doubles up to 2^53.
    times = np.bincount(place.reshape(-1), weights=copies.times[left], minlength=entry.shape[1])
    return Classes(
        of_row=_renumbered(of_row, speaking),
        start=np.searchsorted(entry[0], np.arange(len(speaking) + 1)).astype(np.int64),
        nodes=entry[1].astype(np.int32),
        counts=times.astype(np.int32),
        texts=events.texts.take(pa.array(entry[2], mask=entry[2] == NOTHING)),
        speaks_of=speaks_of,
        typed_by=rule.least,
        notes=(_note(copies.times, shown, int(np.count_nonzero(meaning.private)), rule.least),),
    )


def _as_published(copies: Copies, meaning: Meaning, rule: Rule) -> _Published:
    """Decide what each entry is published as. An unlisted query is its own leaf: that node's label is its text."""
    typed = copies.query != NOTHING
    typed[typed] = rule.query[copies.query[typed]]
    node = np.where(typed, copies.node, rule.name[copies.node]).astype(np.int32)
    return _Published(node, typed & ~meaning.private[copies.node])


def _renumbered(of_row: Ints32, speaking: Ints64) -> Ints32:
    """Return the class of each row when only some classes are left."""
    number = np.full(max(int(of_row.max(initial=0)), int(speaking.max(initial=0))) + 2, WITHHELD, np.int32)
    number[speaking] = np.arange(len(speaking), dtype=np.int32)
    return number[of_row]  # the last entry is for rows without a class


def _note(times: Ints64, shown: _Published, unlisted: int, least: int) -> str:
    """Return a sentence on how many published copies are real queries."""
    real, dropped = int(times[shown.as_text].sum()), int(times[shown.node == NOTHING].sum())
    named = int(times.sum()) - real - dropped
    if least <= 1:
        rule = "some of them typed by a single person"
        gone = ""
    else:
        rule = f"typed by at least {least:,} people"
        gone = f", and dropped {_roughly(dropped, least)} for which no name is common enough"
    return (
        f"Published {real:,} copies of queries, {rule}, and {named:,} names in place of queries{gone}; "
        f"{_roughly(unlisted, least)} distinct queries mean nothing that the knowledge base lists."
    )


def _roughly(number: int, least: int) -> str:
    """Return a number, unless it is so small that it could reveal something about one person."""
    return f"fewer than {least:,}" if 0 < number < least else f"{number:,}"
