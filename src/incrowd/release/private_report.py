"""The private report: originals beside what was published of them, for some people. It never lies inside a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from incrowd.core.atomic import check_free, private_file
from incrowd.core.claims import plural_of
from incrowd.core.transactions import Transactions
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError
from incrowd.release.files.records import shown
from incrowd.release.shares import CLASS, ITSELF, WITHHELD, Chosen, Shares, choose_people, fates_of
from incrowd.report.html import is_marked, page
from incrowd.report.risk_rows import RiskRow
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Known", "check_apart", "check_report", "is_report", "write_report"]

MARK = b"incrowd private report"
MOST_UNITS = 12
MOST_ITEMS = 300
FATES = {ITSELF: "itself", CLASS: "class", WITHHELD: "withheld"}


class Known(NamedTuple):
    """The originals on their taxonomy, and who got what."""

    data: Transactions
    tree: Taxonomy
    shares: Shares


class ShownItem(NamedTuple):
    """An original item: how often, what became of it, and the nearest class above it that is published."""

    text: str
    times: int
    fate: str
    published_as: str | None


class ShownUnit(NamedTuple):
    """A unit's items, and the sets of labels that are published of it; of both, what there was no room for."""

    items: list[ShownItem]
    more_items: int
    sets: list[list[str]]
    more_sets: int


class ShownPerson(NamedTuple):
    """A person's name, why they were chosen, and some of their units."""

    name: str
    chosen: Chosen
    units: list[ShownUnit]
    more_units: int


def check_report(path: Path, out: Path, *, force: bool) -> None:
    """Refuse a private report that would be published, or that would replace another file."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"private report {path} must not lie inside the release; it shows originals")
    check_free(path, force=force, ours=is_report, what="private report")


def check_apart(paths: Sequence[Path]) -> None:
    """Refuse two private files of one name."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInputError("private map and private report must be different files")


def is_report(path: Path) -> bool:
    """Tell whether a file is a private report."""
    return is_marked(path, MARK)


def write_report(
    draft: Path, known: Known, account: Sequence[str], seed: int, attacked: Sequence[RiskRow] = ()
) -> None:
    """Write a report that only its owner can read.

    Parameters
    ----------
    draft
        The file to make.
    known
        The originals on their taxonomy, and who got what.
    account
        What was done, with exact numbers.
    seed
        Decides who is shown where several would do.
    attacked
        What attacks found, if there were any.
    """
    data, fates = known.data, fates_of(*known)
    rows_of = np.argsort(data.person, kind="stable")
    bounds = np.searchsorted(data.person[rows_of], np.arange(int(data.person.max(initial=-1)) + 2))
    people = [
        _person(known, fates, one, rows_of[bounds[one.person] : bounds[one.person + 1]])
        for one in choose_people(data, fates, seed)
    ]
    text = page(
        "private.html",
        people=people,
        account=account,
        attacked=attacked,
        units=plural_of(data.unit.partition(":")[0]),
        mark=MARK.decode(),
        fates=[int(np.count_nonzero(fates == fate)) for fate in (ITSELF, CLASS, WITHHELD)],
    )
    private_file(draft).write_text(text, encoding="utf-8")


def _person(known: Known, fates: Ints32, chosen: Chosen, rows: Ints64) -> ShownPerson:
    """Return a person with some units, evenly spaced through all that hold anything."""
    data = known.data
    filled = rows[np.diff(data.indptr)[rows] > 0]
    some = filled[np.unique(np.linspace(0, len(filled) - 1, MOST_UNITS).astype(np.int64))]
    names = data.owners if data.people is None else data.people
    units = [_unit(known, fates, int(row)) for row in some]
    return ShownPerson(str(names[int(rows[0])].as_py()), chosen, units, len(filled) - len(some))


def _unit(known: Known, fates: Ints32, row: int) -> ShownUnit:
    """Return one row's items beside what is published of it."""
    data, tree, shares = known
    held = shares.held[shares.start[row] : shares.start[row + 1]].tolist()
    entries = [range(shares.bounds[one], shares.bounds[one + 1]) for one in held]
    first, last = int(data.indptr[row]), int(data.indptr[row + 1])
    stop = min(last, first + MOST_ITEMS)
    columns = (
        data.vocabulary.take(data.items[first:stop]).to_pylist(),
        data.counts[first:stop].tolist(),
        fates[first:stop].tolist(),
        tree.leaves_of(data.items[first:stop]).tolist(),
    )
    items = [
        ShownItem(text, times, FATES[fate], _over(leaf, entries, tree, shares) if fate == CLASS else None)
        for text, times, fate, leaf in zip(*columns, strict=True)
    ]
    sets = [[_spelled(shares, entry) for entry in some[:MOST_ITEMS]] for some in entries]
    return ShownUnit(items, last - stop, sets, sum(max(0, len(some) - MOST_ITEMS) for some in entries))


def _over(leaf: int, entries: Sequence[range], tree: Taxonomy, shares: Shares) -> str | None:
    """Return the nearest published label above a leaf; None if there is none."""
    found = [
        (int(shares.nodes[entry]), entry)
        for some in entries
        for entry in some
        if shares.nodes[entry] <= leaf < tree.end[shares.nodes[entry]]
    ]
    return shown(shares.labels[max(found)[1]]) if found else None


def _spelled(shares: Shares, entry: int) -> str:
    """Return an entry as people see it."""
    name, count = shown(shares.labels[entry]), shares.counts[entry]
    return name if count == 1 else f"{name} \N{MULTIPLICATION SIGN} {count:,}"
