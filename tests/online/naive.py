"""The query generalizer as slowly and plainly as it can be written."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa

from incrowd.online import encode, schema_of


def make_table(names, rows, **parameters):
    """Encode rows of values under the given names."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table = pa.table(columns)
    return encode(table, schema_of(table, **parameters))


def climb(ladders, name, value, rung):
    """Return the value on a rung; None on the top."""
    way = [value, *ladders.get(name, {}).get(value, ())]
    return way[rung] if rung < len(way) else None


def height(ladders, name):
    return 1 + len(next(iter(ladders.get(name, {None: ()}).values())))


def entropy(names, rows, sent, protected, ladders=None):
    """Return (G, N) over the rows that match `sent`, which is attribute -> (value, rung)."""
    ladders = ladders or {}
    seen = Counter()
    for row in rows:
        person = dict(zip(names, row, strict=True))
        if all(
            climb(ladders, name, person[name], rung) == climb(ladders, name, value, rung)
            for name, (value, rung) in sent.items()
        ):
            seen[person[protected]] += 1
    total = sum(seen.values())
    guesses = sum(place * count for place, (_, count) in enumerate(seen.most_common(), start=1))
    return (Fraction(guesses, total) if total else Fraction(0)), total


def all_states(names, rows, query, protected, ladders=None):
    """Return rungs -> (G, N) for every generalization of a query, by scanning all rows for each."""
    ladders = ladders or {}
    found = {}
    for rungs in product(*(range(height(ladders, name) + 1) for name in query)):
        sent = {name: (query[name], rung) for name, rung in zip(query, rungs, strict=True)}
        found[rungs] = entropy(names, rows, sent, protected, ladders)
    return found
