"""How far off the tables of a release are: pairs of items held against the originals.

    python benchmarks/table_errors.py [FILE ...] [--k 5]

Without files: BMS-WebView-2 and retail (read from ``INCROWD_DATA``, default ``../shared/data`` from the project's root) and a made-up log of
1,000 heavy users. Every pair is counted in the originals anew, in plain Python. Of the units of people who count, as the tables are.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

import incrowd as ic
from incrowd.logs.synth.generate import write_log
from incrowd.release.tables.made import Tables, tables

TOP = 1_000
DATA = Path(os.environ.get("INCROWD_DATA", Path(__file__).resolve().parents[2] / "shared/data"))
Pair = tuple[str, str]


def counted(release: ic.TileRelease) -> tuple[Counter[Pair], Counter[Pair]]:
    """Count units, and people, that have both of each two items."""
    data = release.transactions
    words = data.vocabulary.to_pylist()
    aged = release.tiles.used["aged"]
    counts = [True] * len(data) if aged == 1 else (data.activity.days >= aged).tolist()
    units: Counter[Pair] = Counter()
    people: set[tuple[int, Pair]] = set()
    for row in range(len(data)):
        items = data.items[data.indptr[row] : data.indptr[row + 1]]
        pairs = list(combinations(sorted({words[item] for item in items}), 2)) if counts[row] else []
        units.update(pairs)
        people.update((int(data.person[row]), pair) for pair in pairs)
    return units, Counter(pair for _, pair in people)


def share(true: Iterable[bool]) -> str:
    """Return how many of some are true."""
    found = list(true)
    return f"{sum(found) / max(len(found), 1):.1%}"


def errors(made: Tables, units: Counter[Pair], people: Counter[Pair]) -> dict[str, Any]:
    """Hold the pairs of exact items against what was counted."""
    rows = {
        (row["item_a"], row["item_b"]): row
        for row in made["pairs"].table().to_pylist()
        if row["exact_a"] and row["exact_b"]
    }
    first = sorted(units, key=lambda pair: (-units[pair], pair))[:TOP]
    found = [pair for pair in first if pair in rows]
    off = [abs(rows[pair]["estimate"] - units[pair]) / units[pair] for pair in found]
    signed = [(rows[pair]["estimate"] - units[pair]) / units[pair] for pair in found]
    apart = [pair for pair in rows if rows[pair]["joint"] == 0]
    return {
        "listed": f"{len(rows):,}",
        "of the first 1,000": len(found),
        "median error": f"{median(off):.1%}",
        "mean error": f"{mean(off):.1%}",
        "mean, signed": f"{mean(signed):+.1%}",
        "within 2 errors": share(within(rows[pair], units[pair]) for pair in found),
        "never in a tile: within 2 errors": share(within(rows[pair], units[pair]) for pair in apart),
        "in [lower, upper]": share(row["lower"] <= units[pair] <= row["upper"] for pair, row in rows.items()),
        "people in bounds": share(
            row["people_low"] <= people[pair] <= row["people_high"] for pair, row in rows.items()
        ),
    }


def within(row: dict[str, Any], number: int) -> bool:
    """Tell whether a number is at most two standard errors away from its estimate."""
    return bool(abs(row["estimate"] - number) <= 2 * row["error"] + 0.01)


def measure(path: Path, k: int) -> dict[str, Any]:
    """Make a release of a file, its tables, and hold these against the file."""
    release = ic.anonymize(path, k=k, seed=1)
    with tempfile.TemporaryDirectory() as scratch:
        release.write(Path(scratch) / "release")
        begin = time.perf_counter()
        made = tables(Path(scratch) / "release", top=TOP)
        seconds = time.perf_counter() - begin
    return {"data": path.name, **errors(made, *counted(release)), "seconds": f"{seconds:.1f}"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--k", type=int, default=5)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        files = asked.files
        if not files:
            files = [DATA / "transactions/BMS-WebView-2.dat", DATA / "transactions/retail.dat"]
            files.append(Path(scratch) / "synth.tsv")
            write_log(files[-1], users=1_000, seed=1)
        lines = [measure(path, asked.k) for path in files]
    print("| " + " | ".join(lines[0]) + " |")
    print("|" + "---|" * len(lines[0]))
    for line in lines:
        print("| " + " | ".join(map(str, line.values())) + " |")


if __name__ == "__main__":
    main()
