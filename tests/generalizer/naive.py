"""The query generalizer as slowly and plainly as it can be written."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import pyarrow as pa

from incrowd.generalizer import encode, schema_of


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


def own_query(random_, person):
    """Return a query of a person about themselves: two thirds of what is known of them."""
    return {name: value for name, value in person.items() if random_.random() < 2 / 3}


def in_order(rungs, shape):
    """Return what is least for the query that keeps most; `shape` has the number of rungs."""
    return sum(rung == size - 1 for rung, size in zip(rungs, shape, strict=True)), sum(rungs), rungs


def choice(strategy, shape, score, draws=(), total=None):
    """Follow the four strategies to the letter, with the documented order of equals: (rungs or None, ran out)."""
    private = [rungs for rungs in product(*map(range, shape)) if score(rungs) >= 1]
    best = min(private, key=lambda rungs: (score(rungs), in_order(rungs, shape)), default=None)
    if strategy == "brute-force":
        return best, False
    if strategy == "least-rows":
        return min(private, key=lambda rungs: (total(rungs), in_order(rungs, shape)), default=None), False
    sign = 1 if strategy == "best-fit" else -1
    rungs, step = (0,) * len(shape), 0
    while rungs not in private:
        places = [place for place, size in enumerate(shape) if rungs[place] + 1 < size]
        ups = [tuple(r + (i == place) for i, r in enumerate(rungs)) for place in places]
        if not ups:
            return best, True
        if strategy == "random-fit":  # counted from the attribute last in the schema
            rungs, step = ups[::-1][draws[step] % len(ups)], step + 1
        else:
            rungs = min(ups, key=lambda up: (sign * score(up), in_order(up, shape)))
    return rungs, False
