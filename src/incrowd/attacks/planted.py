"""Planted accounts: before a release is made, the attacker adds k - 1 people who have what is known of a target, and looks where they are.

No promise about k people holds where k - 1 of them are the attacker's (J. R. Douceur, "The Sybil Attack", IPTPS 2002). The method is run again
for it, on at most 5,000 of the people (fewer, if these have more than 100,000 items), with several targets at once where records are
published: one for each thousand people, so that they hardly meet. Accounts for tiles share a dictionary, so that there is one target at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.attacks.attacked import Setting
from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.seen import record_of_class
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import count_distinct, distinct, list_ids, starts_of, take_lists
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.metrics.published import sets_of_classes
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "MOST_PEOPLE",
    "MOST_TARGETS",
    "MOST_TARGETS_OF_TILES",
    "Look",
    "Planted",
    "Run",
    "Target",
    "look_into_records",
    "look_into_tiles",
    "planted_in_records",
    "planted_in_tiles",
    "with_accounts",
]

MOST_PEOPLE, MOST_ITEMS, PEOPLE_A_TARGET = 5_000, 100_000, 1_000
MOST_TARGETS, MOST_TARGETS_OF_TILES = 20, 10
DICTIONARY = 500
LEAST_BESIDE, MOST_OF_TARGET = 3, 45
CODE = 6
Run = Callable[[Transactions], Classes | Tiles]
"""Runs the method on rows with the vocabulary of the data, so that the same taxonomy fits them."""


class Target(NamedTuple):
    """A row that is attacked: the items that every planted account has, and those that are looked for beside them."""

    row: int
    planted: Ints32
    looked_for: Ints32


class Look(NamedTuple):
    """What planted accounts see of a target: whether nobody else is with them, and the nodes that are published beside what they have."""

    alone: bool
    nodes: Ints32


class Planted(NamedTuple):
    """What planted accounts find: who is left alone with them, and items that they read off."""

    alone: Figure
    read_off: Figure


NOTHING = Look(alone=False, nodes=np.zeros(0, np.int32))


def planted_in_records(data: Transactions, tree: Taxonomy, run: Run, setting: Setting) -> Planted:
    """Plant accounts for people whose records are published.

    *alone*: each account has half of the target's items; counted are targets whose record nobody else shares. *read_off*: each has one guess
    besides; counted are guesses that are printed in the record of an account. The guess is an item of the target, and for the control one
    that the target does not have.

    Parameters
    ----------
    data, tree
        The people, and the taxonomy that their items are attached to.
    run
        Runs the method; where it refuses the data, nothing is found.
    setting
        k, the seed, and who is told of progress.
    """
    dice = setting.dice(CODE)
    data = _fewer(data, dice)
    found, at_once = [], max(len(distinct(data.person)) // PEOPLE_A_TARGET, 1)
    for done, targets in enumerate(_guesses(data, dice)):
        found.append((targets, list(_looks(data, tree, run, targets, setting.k, at_once))))
        setting.progress((done + 1) / 3)
    halves, right, wrong = found
    return Planted(
        Figure(Rate(float(sum(look.alone for look in halves[1])), len(halves[0]))),
        Figure(_read(tree, *right), _read(tree, *wrong)),
    )


def planted_in_tiles(data: Transactions, tree: Taxonomy, run: Run, setting: Setting) -> Planted:
    """Plant accounts for people who have an item that nobody else has.

    Each account has that item and a dictionary, the 500 items of most rows. *alone*: the target holds a tile that nobody else but accounts
    holds. *read_off*: the share of what the target has beside the item that is published in tiles with it; for the control, of what the
    next target has. Parameters are those of :func:`planted_in_records`.
    """
    dice = setting.dice(CODE)
    data = _fewer(data, dice)
    targets = _rare(data, dice, setting.k)
    looks = []
    for look in _looks(data, tree, run, targets, setting.k, 1):
        looks.append(look)
        setting.progress(len(looks) / len(targets))
    alone = Figure(Rate(float(sum(look.alone for look in looks)), len(targets)))
    read = _read(tree, targets, looks)
    if len(targets) < 2:  # noqa: PLR2004 - nobody to exchange with
        return Planted(alone, Figure(read))
    return Planted(alone, Figure(read, _read(tree, [*targets[1:], targets[0]], looks)))


def _read(tree: Taxonomy, targets: Sequence[Target], looks: Sequence[Look]) -> Rate:
    """Return which share of what is looked for is published beside what accounts have."""
    shares = (
        np.isin(tree.leaves_of(target.looked_for), look.nodes).mean()
        for target, look in zip(targets, looks, strict=True)
    )
    return Rate(float(sum(shares)), len(targets))


def _looks(
    data: Transactions, tree: Taxonomy, run: Run, targets: Sequence[Target], k: int, at_once: int
) -> Iterator[Look]:
    """Plant accounts for some targets at a time, run the method and look."""
    for first in range(0, len(targets), at_once):
        some = targets[first : first + at_once]
        rows = with_accounts(data, [target.planted for target in some], k - 1)
        try:
            made = run(rows)
        except BadInputError:
            yield from [NOTHING] * len(some)
            continue
        if isinstance(made, Tiles):
            yield from look_into_tiles(made, tree, rows, some, k - 1)
        else:
            yield from look_into_records(made, tree, rows, some, k - 1)


def _accounts(rows: Transactions, targets: Sequence[Target], copies: int) -> Iterator[tuple[Target, Ints64]]:
    """Yield each target with the rows of its accounts, which are the last ones."""
    first = len(rows) - copies * len(targets)
    for number, target in enumerate(targets):
        yield target, np.arange(first + number * copies, first + (number + 1) * copies)


def look_into_records(
    made: Classes, tree: Taxonomy, rows: Transactions, targets: Sequence[Target], copies: int
) -> Iterator[Look]:
    """Look for targets among records; the last rows are `copies` accounts for each target."""
    published = sets_of_classes(made, tree)
    record = np.append(record_of_class(made), WITHHELD)[made.of_row]
    shown = np.flatnonzero(record != WITHHELD)
    people = count_distinct(record[shown], rows.person[shown], len(made))
    for target, accounts in _accounts(rows, targets, copies):
        own = record[target.row]
        beside = int(np.count_nonzero(record[accounts] == own))
        of_accounts = distinct(made.of_row[accounts][made.of_row[accounts] != WITHHELD])
        _, at = take_lists(published.start, of_accounts.astype(np.int64))
        yield Look(
            bool(own != WITHHELD and people[own] == 1 + beside), published.nodes[at[published.part[at] == 1]]
        )


def look_into_tiles(
    made: Tiles, tree: Taxonomy, rows: Transactions, targets: Sequence[Target], copies: int
) -> Iterator[Look]:
    """Look for targets among tiles, by the first item of their accounts; the last rows are `copies` accounts for each target."""
    row, tile = list_ids(made.held_start), list_ids(made.start)
    people = count_distinct(made.held, rows.person[row], len(made))
    for target, accounts in _accounts(rows, targets, copies):
        theirs = made.held[(row >= accounts[0]) & (row <= accounts[-1])]
        beside = np.bincount(theirs, minlength=len(made))
        own = made.held[made.held_start[target.row] : made.held_start[target.row + 1]]
        known = tile[made.nodes == tree.leaves_of(target.planted[:1])[0]]
        _, at = take_lists(made.start, known)
        yield Look(bool((people[own] == 1 + beside[own]).any()), made.nodes[at])


# --- targets ---


def _guesses(
    data: Transactions, dice: np.random.Generator
) -> tuple[list[Target], list[Target], list[Target]]:
    """Draw rows with two items or more: half of them known; that and an item of the rest; that and one that the row does not have."""
    able = np.flatnonzero(np.diff(data.indptr) > 1)
    halves, right, wrong = [], [], []
    for row in dice.permutation(able)[:MOST_TARGETS].tolist():
        own = dice.permutation(data.items[data.indptr[row] : data.indptr[row + 1]])
        half = own[: len(own) // 2]
        halves.append(Target(row, half, half[:0]))
        right.append(Target(row, np.append(half, own[-1]), own[-1:]))
        others = data.items[dice.integers(len(data.items), size=1_000)]
        others = others[~np.isin(others, own)][:1]
        if len(others):
            wrong.append(Target(row, np.append(half, others), others))
    return halves, right, wrong


def _rare(data: Transactions, dice: np.random.Generator, k: int) -> list[Target]:
    """Draw rows with an item that no other row has, and three or more that others have too; no long ones, which a method may split."""
    rows_with = np.bincount(data.items, minlength=len(data.vocabulary))
    order = np.argsort(-rows_with, kind="stable")[:DICTIONARY]
    dictionary = order[rows_with[order] >= k]
    is_rare = rows_with[data.items] == 1
    rare = np.bincount(list_ids(data.indptr)[is_rare], minlength=len(data))
    sizes = np.diff(data.indptr)
    able = np.flatnonzero((rare > 0) & (sizes - rare >= LEAST_BESIDE) & (sizes <= MOST_OF_TARGET))
    targets = []
    for row in dice.permutation(able)[:MOST_TARGETS_OF_TILES].tolist():
        part = slice(data.indptr[row], data.indptr[row + 1])
        own, alone = data.items[part], is_rare[part]
        word = own[alone][:1]
        targets.append(
            Target(
                row, np.concatenate((word, dictionary[dictionary != word[0]])).astype(np.int32), own[~alone]
            )
        )
    return targets


# --- data ---


def _fewer(data: Transactions, dice: np.random.Generator) -> Transactions:
    """Return the rows of some people, at most 5,000 with 100,000 items (and one at least), with the same vocabulary."""
    people = dice.permutation(distinct(data.person))[:MOST_PEOPLE]
    items = np.bincount(data.person, weights=np.diff(data.indptr))
    people = people[: max(int(np.searchsorted(np.cumsum(items[people]), MOST_ITEMS, "right")), 1)]
    return data.take_rows(np.flatnonzero(np.isin(data.person, people)))


def with_accounts(data: Transactions, bags: Sequence[Ints32], copies: int) -> Transactions:
    """Return the rows and, for each bag of distinct items, so many people who have it, active on as many days as anybody is.

    Nothing says when accounts had what: single queries, places and weeks are left out.
    """
    added = [np.sort(bag) for bag in bags for _ in range(copies)]
    names = pa.array([f"planted account {number}" for number in range(len(added))], pa.string())
    items = np.concatenate([data.items, *added]).astype(np.int32)
    activity = data.activity
    if activity is not None:
        most = np.full(len(added), activity.days.max(initial=1), np.int32)
        activity = activity._replace(days=np.concatenate((activity.days, most)))
    return replace(
        data,
        indptr=starts_of(np.concatenate((np.diff(data.indptr), [len(bag) for bag in added]))),
        items=items,
        counts=np.concatenate((data.counts, np.ones(len(items) - len(data.items), np.int32))),
        owners=pa.concat_arrays([data.owners, names]),
        people=None if data.people is None else pa.concat_arrays([data.people, names]),
        activity=activity,
        events=None,
        places=None,
        weeks=None,
    )
