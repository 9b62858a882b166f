"""Ladders of groups: values of an attribute are grouped so that a group discloses little about the protected attributes.

If a policy requires nearly the guessing entropy of the whole table, hardly any single value may be sent, and strategy
strict drops nearly everything. A group of values with the same mixture of protected values as the whole table may still
be sent, and the provider need not return the rest of the table. The groups depend on the table alone, so they are rungs
of a ladder like any other: all that strict guarantees with ladders, also for linked queries, holds with these.

Values are assigned in order of frequency. Each goes to the group whose rows have least in common with its own: the sum,
over protected values, of the product of the counts is least. So groups get about the same size and mixture. The next
rung joins groups in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, check_least
from incrowd.generalizer.schema import AuxiliaryTable, text_of

__all__ = ["group_ladder"]


def group_ladder(
    table: AuxiliaryTable,
    name: str,
    protected: Sequence[str],
    *,
    sizes: Sequence[int] = (8, 2),
    separator: str = "|",
) -> dict[Any, tuple[str, ...]]:
    """Return a ladder of groups: each value's groups, finest first, as `schema_of` takes it.

    A group is named by its values, so that it can be sent to a provider that takes several values at once.

    Parameters
    ----------
    table
        The auxiliary table.
    name
        The attribute.
    protected
        The protected attributes, in which each group should have the mixture of the whole table.
    sizes
        How many groups each rung has, falling; a rung with no fewer groups than the one below is left out.
    separator
        The text between the values in the name of a group.
    """
    if not protected or name in protected:
        raise BadInputError(f"protected must name attributes other than '{name}', at least one")
    check_least("sizes", min(sizes, default=1))
    texts = [text_of(value) for value in table.schema[name].domain]
    if any(separator in text for text in texts):
        raise BadInputError(
            f"separator '{separator}' is part of a value of attribute '{name}'; choose another one"
        )
    counts = np.concatenate([_counts(table, name, each) for each in protected], axis=1)
    of_value = np.arange(len(texts))
    rungs = []
    for size in sizes:
        if size < len(counts):
            group = _spread(counts, size)
            of_value = group[of_value]
            counts = np.array([counts[group == number].sum(axis=0) for number in range(size)])
            members = [separator.join(np.array(texts)[of_value == number]) for number in range(size)]
            rungs.append([members[number] for number in of_value])
    return dict(zip(table.schema[name].domain, zip(*rungs, strict=True), strict=True)) if rungs else {}


def _counts(table: AuxiliaryTable, name: str, protected: str) -> Ints64:
    """Count the rows by the attribute's value and by protected value."""
    values, width = len(table.schema[name].domain), len(table.schema[protected].domain)
    pairs = table.columns[name].astype(np.int64) * width + table.columns[protected]
    return np.bincount(pairs, minlength=values * width).reshape(values, width)


def _spread(counts: Ints64, size: int) -> Ints64:
    """Return the group of each value. Every group gets at least one: an empty group has nothing in common with any value."""
    group = np.zeros(len(counts), dtype=np.int64)
    held = np.zeros((size, counts.shape[1]))
    members = np.zeros(size, dtype=np.int64)
    for value in np.argsort(-counts.sum(axis=1), kind="stable"):
        common = held @ counts[value]
        # Of equal groups the one with the fewest values, so that values without rows are spread too.
        best = min(range(size), key=lambda number: (common[number], members[number]))
        group[value] = best
        held[best] += counts[value]
        members[best] += 1
    return group
