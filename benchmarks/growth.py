"""How cost grows with the log: made-up logs of 100 k, 1 M and 5 M lines, nouns over WordNet, k = 5.

Run: python benchmarks/growth.py [--lines 100000,1000000,5000000] [--memory 4GB] [--best-of 3]
Prints a Markdown table. The bar: time per line of reading and of anonymizing grows by less than 1.3 from one
size to the next, and 5 M lines become transactions in at most 1.5 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COLUMNS = [
    "lines",
    "users",
    "read s",
    "anonymize s",
    "audit s",
    "write s",
    "total s",
    "read us/line (growth)",
    "anonymize us/line (growth)",
    "peak MB reading",
    "peak MB in all",
]
READ_ONLY = """
import resource, sys, incrowd
rows = incrowd.read_log(sys.argv[1], memory=sys.argv[2]).transactions(items="nouns")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def python(*arguments: object) -> str:
    """Run Python in a process of its own and return what it prints."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(log: Path, out: Path, memory: str) -> dict[str, Any]:
    """Anonymize a log."""
    options = [
        "--k",
        5,
        "--items",
        "nouns",
        "--taxonomy",
        "wordnet",
        "--unlisted",
        "keep",
        "--memory",
        memory,
        "--json",
    ]
    return json.loads(
        python("-m", "incrowd", "anonymize", log, "--out", out, "--method", "partition", *options)
    )


def measure(
    lines: int, scratch: Path, memory: str, best_of: int, before: dict[str, float]
) -> dict[str, float]:
    """Print the line of one size; return its costs per line."""
    log = scratch / f"{lines}.tsv"
    python("-m", "incrowd", "synth", "--lines", lines, "--people", "all", "--out", log)
    runs = [run(log, scratch / f"out-{lines}-{i}", memory) for i in range(best_of)]
    reading = int(python("-c", READ_ONLY, log, memory))
    log.unlink()
    best = {step: min(r["seconds"][step] for r in runs) for step in runs[0]["seconds"]}
    cost = {step: best[step] / lines * 1e6 for step in ("read", "anonymize")}
    grown = [f"{cost[step]:.2f}" + (f" ({cost[step] / before[step]:.2f})" if before else "") for step in cost]
    seconds = [f"{best[step]:.2f}" for step in ("read", "anonymize", "audit", "write", "total")]
    peak = max(r["peak_rss_mb"] for r in runs)
    cells = [f"{lines:,}", f"{runs[0]['records_in']:,}", *seconds, *grown, f"{reading:,}", f"{peak:,.0f}"]
    print("| " + " | ".join(cells) + " |", flush=True)
    return cost


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", default="100000,1000000,5000000")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--best-of", type=int, default=3)
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    cost: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for lines in map(int, options.lines.split(",")):
            cost = measure(lines, Path(scratch), options.memory, options.best_of, cost)


if __name__ == "__main__":
    main()
