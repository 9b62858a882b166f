"""Partition's warm kernel beside the plain Python reference, on BMS-WebView-2 with balanced:5.

    python benchmarks/partition_speed.py

The data is read from ``INCROWD_DATA`` (default ``../shared/data`` from the project's root).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from incrowd.core.transactions import Transactions
from incrowd.methods.registry import METHODS
from incrowd.metrics import measure_losses
from incrowd.taxonomy import balanced
from public_data import DATA, existing

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import reference  # noqa: E402 - the naive versions live with the tests

FAN_OUT = 5


def best_seconds(job: Callable[[], object], runs: int) -> float:
    """Return the least of some runs' wall-clock times."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(rows: list[list[str]], transactions: Transactions, k: int) -> str:
    """Run both on the same rows and return a line of the table."""
    tree = balanced(transactions, FAN_OUT)
    partition = METHODS["partition"]
    classes = partition(transactions, tree, k=k)  # compiles, or loads what was compiled
    kernel = best_seconds(lambda: partition(transactions, tree, k=k), 5)
    items = sorted({item for row in rows for item in row}, key=int)
    names, bags = reference.Tree(reference.balanced(items, FAN_OUT)), [reference.bag_of(row) for row in rows]
    naive = best_seconds(lambda: reference.partition(names, bags, k), 1)
    ncp = measure_losses(transactions, tree, classes).ncp
    return f"{k:>4} {ncp:>8.2%} {naive:>14.2f} {kernel:>11.4f} {naive / kernel:>8.0f}"


def main() -> None:
    path = existing(DATA / "transactions/BMS-WebView-2.dat")
    rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    transactions = Transactions.from_rows(rows)
    print(f"BMS-WebView-2, balanced:{FAN_OUT}; kernel: best of 5, reference: one run, same process")
    print(f"{'k':>4} {'NCP':>8} {'reference, s':>14} {'kernel, s':>11} {'ratio':>8}")
    for k in (10, 5):
        print(compare(rows, transactions, k))


if __name__ == "__main__":
    main()
