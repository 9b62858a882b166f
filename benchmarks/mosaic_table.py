"""Tiles of click streams and baskets: what is kept, what is found, and how long it takes; docs/papers/mosaic.md.

    python benchmarks/mosaic_table.py [--quick] [--data DIR]

Prints a table as Markdown: BMS-WebView-1, BMS-WebView-2 and retail (``--data``, default ``INCROWD_DATA``, else ``../shared/data`` from the
project's root), joining alone (`fast`) and all steps (`best`) at k = 5, and all steps at k = 2, 10 and 25, with `confidence=1`.
Every row is a unit of its own, and nothing is generalized. Seconds are of the method alone, the least of three warm runs at k = 5.

Everything is counted here anew, by products of sparse matrices and not by the program's own measures. The last two columns count pairs of the originals only in
units of up to 60 items, and published ones in all units: counted so, joining alone has the figures of the prototype that the method is held against.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

import incrowd as ic
from incrowd.core.tiles import Tiles
from incrowd.core.types import Ints64
from incrowd.methods.mosaic.method import mosaic
from public_data import existing, read_options

__all__ = ["Line", "lines_of"]

SETS = ("BMS-WebView-1", "BMS-WebView-2", "retail")
SETTINGS = ((5, "fast"), (5, "best"), (2, "best"), (10, "best"), (25, "best"))
TIMED, RUNS = 5, 3
TOP = 1_000
SHORT = 60  # items of the longest units whose pairs the prototype counted
QUICK = 2_000
HEADINGS = "data | k | effort | kept exactly | in tiles of 2+ | links kept | pairs recall | pairs error | seconds | recall, prototype's way | error, prototype's way"


class Line(NamedTuple):
    """What is kept of units, and found of their pairs: by the definition, and as the prototype counted."""

    kept: float
    in_larger: float
    links: float
    recall: float
    error: float
    recall_short: float
    error_short: float


def pairs_of(units: csr_matrix) -> tuple[Ints64, Ints64]:
    """Return each two items that some unit has, as one number, ascending, and the units of both."""
    both = (units.T @ units).tocoo()
    above = both.row < both.col
    pair, number = both.row[above].astype(np.int64) * units.shape[1] + both.col[above], both.data[above]
    order = np.argsort(pair)
    return pair[order], np.rint(number[order]).astype(np.int64)


def found(pairs: Ints64, numbers: Ints64, sought: Ints64) -> Ints64:
    """Return the numbers of some pairs, 0 for those that are not there."""
    number = np.zeros(len(sought), np.int64)
    known = np.isin(sought, pairs)
    number[known] = numbers[np.searchsorted(pairs, sought[known])]
    return number


def most(pairs: Ints64, numbers: Ints64) -> Ints64:
    return pairs[np.lexsort((pairs, -numbers))[:TOP]]


def matrix_of(start: Ints64, item: Ints64, items: int) -> csr_matrix:
    return csr_matrix((np.ones(len(item)), item, start), shape=(len(start) - 1, items))


def measured(data: ic.Transactions, tree: ic.Taxonomy, tiles: Tiles) -> Line:
    """Count what tiles of exact items say of units that each have an owner of their own."""
    items, lengths = tree.leaf_count, np.diff(data.indptr)
    units = matrix_of(data.indptr, tree.item_leaf[data.items], items)
    sets = matrix_of(tiles.start, tree.first_leaf[tiles.nodes], items)
    number = np.bincount(tiles.held, minlength=len(tiles))
    joint = pairs_of(csr_matrix(sets.multiply(np.sqrt(number)[:, None])))
    alone = sets.T @ number

    first = np.sort(np.argsort(-alone, kind="stable")[:TOP])
    a, b = np.triu_indices(len(first), 1)
    by_chance = first[a] * items + first[b]  # pairs that are in no tile may be estimated as frequent

    def recall_and_error(pairs: Ints64, true: Ints64) -> tuple[float, float]:
        frequent = most(pairs, true)
        candidates = np.unique(np.concatenate((pairs, joint[0], by_chance)))
        estimates = estimate(candidates)
        seen, n = estimate(frequent), found(pairs, true, frequent)
        recall = np.isin(frequent, most(candidates, estimates)).mean()
        return float(recall), float((np.abs(n - seen) / np.maximum(n, seen)).mean())

    def estimate(pairs: Ints64) -> Ints64:
        together, a, b = found(*joint, pairs), pairs // items, pairs % items
        return together + (alone[a] - together) * (alone[b] - together) / len(data)

    every, short = pairs_of(units), pairs_of(units[np.flatnonzero(lengths <= SHORT)])
    sizes = tiles.sizes
    return Line(
        float(sizes @ number / lengths.sum()),
        float((sizes * number)[sizes > 1].sum() / lengths.sum()),
        float((sizes * (sizes - 1)) @ number / (lengths * (lengths - 1)).sum()),
        *recall_and_error(*every),
        *recall_and_error(*short),
    )


def lines_of(path: Path, rows: int | None) -> Iterator[tuple[int, str, Line, float | None]]:
    """Yield what each setting makes of a file of baskets."""
    lines = existing(path).read_text(encoding="ascii").splitlines()[:rows]
    data = ic.Transactions.from_rows([sorted(set(line.split())) for line in lines])
    tree = ic.balanced(data, 5)
    for k, effort in SETTINGS:
        tiles, seconds = None, []
        for _ in range(RUNS + 1 if k == TIMED else 1):
            begin = time.perf_counter()
            tiles = mosaic(data, tree, k=k, seed=1, confidence=1.0, effort=effort, generalize=False)
            seconds.append(time.perf_counter() - begin)
        yield k, effort, measured(data, tree, tiles), min(seconds[1:], default=None)


def main() -> None:
    """Print the table."""
    how = read_options(__doc__)
    print(f"| {HEADINGS} |")
    print("|" + "---|" * len(HEADINGS.split("|")))
    for name in SETS:
        path = how.data / "transactions" / f"{name}.dat"
        for k, effort, line, seconds in lines_of(path, QUICK if how.quick else None):
            took = "-" if seconds is None else f"{seconds:.2f}"
            cells = [name, k, effort, f"{line.kept:.4f}", f"{line.in_larger:.3f}", f"{line.links:.4f}"]
            cells += [f"{line.recall:.3f}", f"{line.error:.3f}", took]
            print(
                "| "
                + " | ".join(map(str, [*cells, f"{line.recall_short:.3f}", f"{line.error_short:.3f}"]))
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
