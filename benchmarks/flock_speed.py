"""How fast flock is: warm seconds of the method alone, and the most memory, one process for each line.

    python benchmarks/flock_speed.py [--full] [--quick] [--k 5] [--best-of 3]

Prints a Markdown table; where other work shares the machine, trust the CPU seconds, of all threads, more. The bars: BMS-WebView-2 (read from ``INCROWD_DATA``, default ``../shared/data`` from the project's
root) in 4 s; 60,000 sessions in 8 s, and ten times as many in at most 11 times the time; with ``--full``, 650,000 users
in 5 minutes and 6 GB. The log is made up by ``incrowd synth``. Sessions end at a pause of 30 minutes; they hold 7 nouns on
average, repeats counted. Users are the sets of their nouns, 21 on average.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import incrowd as ic
from incrowd.logs.synth.generate import write_log
from incrowd.methods.registry import METHODS
from incrowd.taxonomy import open_taxonomy
from plots import first_filled, read_data

COLUMNS = [
    "data",
    "records",
    "items each",
    "seconds (growth)",
    "CPU seconds (growth)",
    "CPU us an item",
    "peak MB (with reading)",
]
SESSIONS_A_USER = 9  # ten on average, with nouns in them
USERS_WITH_NOUNS = 0.96
WARM_ROWS = 1_000
LINES = ("baskets:77512", "sessions:6000", "sessions:60000", "sessions:600000")
FULL, QUICK = "users:650000", ("sessions:300", "users:200")


def made_up(kind: str, records: int) -> tuple[ic.Transactions, ic.Taxonomy]:
    """Return so many made-up sessions or users, nouns over WordNet."""
    users = records // SESSIONS_A_USER + 30 if kind == "sessions" else round(records / USERS_WITH_NOUNS) + 30
    with tempfile.TemporaryDirectory() as scratch:
        write_log(Path(scratch) / "log.tsv", users=users, people="all")
        with ic.read_log(Path(scratch) / "log.tsv") as log:
            nouns = log.transactions(unit="session:30m" if kind == "sessions" else "user", items="nouns")
    attached = open_taxonomy("wordnet", nouns if kind == "sessions" else nouns.as_sets(), unlisted="drop")
    return first_filled(attached.transactions, records), attached.taxonomy


def rows_of(line: str) -> tuple[ic.Transactions, ic.Taxonomy]:
    """Return the data of a line, which is called as ``sessions:6000``."""
    kind, _, records = line.partition(":")
    if kind != "baskets":
        return made_up(kind, int(records))
    baskets = first_filled(read_data("BMS-WebView-2"), int(records))
    return baskets, ic.balanced(baskets, 5)


class Measured(NamedTuple):
    """What is measured of a line: the least seconds, the least CPU seconds of all threads, the most memory in MB."""

    records: int
    items: int
    seconds: float
    cpu_seconds: float
    peak: int


def measure(line: str, k: int, best_of: int) -> Measured:
    """Measure a line in this process."""
    rows, tree = rows_of(line)
    flock = METHODS["flock"]
    flock(first_filled(rows, WARM_ROWS), tree, k=k)  # compiles the kernels, or loads them
    seconds, cpu_seconds = [], []
    for _ in range(best_of):
        begun, cpu_begun = time.perf_counter(), time.process_time()
        flock(rows, tree, k=k)
        seconds.append(time.perf_counter() - begun)
        cpu_seconds.append(time.process_time() - cpu_begun)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Measured(len(rows), rows.occurrences, min(seconds), min(cpu_seconds), peak)


def measured_apart(line: str, k: int, best_of: int) -> Measured:
    """Measure a line in a process of its own, so that the peak of memory is its own."""
    command = [sys.executable, __file__, "--line", line, "--k", str(k), "--best-of", str(best_of)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(*json.loads(done.stdout))


def shown(line: str, now: Measured, before: Measured | None) -> str:
    """Return a line of the table; growth is against a smaller size of the same kind."""
    kind = line.partition(":")[0]
    cells = ["BMS-WebView-2, balanced:5" if kind == "baskets" else f"made-up {kind}, nouns, WordNet"]
    cells += [f"{now.records:,}", f"{now.items / now.records:.1f}"]
    cells.append(f"{now.seconds:.2f}" + (f" ({now.seconds / before.seconds:.1f})" if before else ""))
    grown = f" ({now.cpu_seconds / before.cpu_seconds:.1f})" if before else ""
    cells += [f"{now.cpu_seconds:.2f}{grown}", f"{now.cpu_seconds / now.items * 1e6:.1f}", f"{now.peak:,}"]
    return "| " + " | ".join(cells) + " |"


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="650,000 users too, once")
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that it runs")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--best-of", type=int, default=3)
    parser.add_argument("--line", help="one line, in this process, as in sessions:6000")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    if options.line:
        print(json.dumps(measure(options.line, options.k, options.best_of)))
        return
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    of_kind: dict[str, Measured] = {}
    for line in QUICK if options.quick else (*LINES, *[FULL] * options.full):
        kind = line.partition(":")[0]
        now = measured_apart(line, options.k, 1 if line == FULL else options.best_of)
        print(shown(line, now, of_kind.get(kind)), flush=True)
        of_kind[kind] = now


if __name__ == "__main__":
    main()
