"""A release that follows others of the same people: where the people of its input stand, and the classes that this allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations
from incrowd.core.history import Past, Step, next_step
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, option
from incrowd.methods.following import NEWCOMER, Standing, followed
from incrowd.release.history import Following
from incrowd.taxonomy import Taxonomy

__all__ = ["check_unit", "follow", "stand"]


def check_unit(unit: str) -> None:
    """Refuse units other than people: of a person who has several records, or of baskets, nobody knows who is who later."""
    if unit != "user":
        raise BadInputError(
            f"{option('previous')} is about people, each with one record: use {option('unit', 'user')} and a log that names users"
        )


def follow(
    data: Transactions,
    tree: Taxonomy,
    past: Past,
    run: Callable[..., Any],
    records_of: Callable[..., Generalizations],
    *,
    k: int,
) -> tuple[Classes, Following]:
    """Return classes that respect the groups of the past, and what the release knows of its people.

    The method is given as ``run(transactions, taxonomy, k=k)``, and by what it makes of given groups of rows.
    """
    standing, step = stand(past, data, k=k)
    classes = followed(data, tree, standing, run, records_of, k=k)
    group = np.concatenate((standing.of_row, standing.of_left))
    left = [person for person, _ in step.counted]
    notes = (*classes.notes, *_told(step))
    return replace(classes, notes=notes), Following(past, group, left, step.gone)


def stand(past: Past, data: Transactions, *, k: int) -> tuple[Standing, Step]:
    """Return where the people of the data stand; refuse data of other people than those of the past."""
    check_unit(data.unit)
    owners, filled = data.owners.to_pylist(), (np.diff(data.indptr) > 0).tolist()
    present = {owner for owner, is_filled in zip(owners, filled, strict=True) if is_filled}
    if len(present) < sum(filled):
        raise BadInputError("a person has several records: give each one, with all items")
    step = next_step(past, present, k)
    if not past.group_of.keys() & present:
        raise BadInputError(
            f"nobody of the release before is in the input: is {option('previous')} the map of a release of these people?"
        )
    group, silent = dict(step.stay), {*step.withheld}
    of_row = [
        group.get(owner, NEWCOMER) if is_filled and owner not in silent else WITHHELD
        for owner, is_filled in zip(owners, filled, strict=True)
    ]
    of_left = [number for _, number in step.counted]
    return Standing(np.array(of_row, dtype=np.int64), np.array(of_left, dtype=np.int64)), step


def _told(step: Step) -> list[str]:
    """Say what became of people of earlier releases, for the owner."""
    said = {
        "people who have left are still counted, as too few of their groups have": len(step.counted),
        "people who have returned are withheld, as too few of their groups have": len(step.withheld),
    }
    return [f"{number:,} {what}." for what, number in said.items() if number]
