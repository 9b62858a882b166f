"""A search engine's log on one machine: seconds, memory and cost per line of every step, at full size, 1/10 and 1/100.

    python benchmarks/full_size.py [--scale 1,10,100] [--only nouns-partition] [--folder DIR] [--memory 12GB]

The log is made up by ``incrowd synth``: 650,000 users, 36 million lines, 2.3 GB at full size. Each job runs in a process of
its own, as ``incrowd anonymize --k 5`` runs it. Prints Markdown. The bars, on two quiet cores: nouns with partition 5 minutes
and 8 GB, nouns with flock 8 minutes, queries as items 10 minutes and 12 GB; cost per line flat within 1.3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.logs.synth.generate import write_log

USERS = 650_000
JOBS = {
    "nouns-partition": ("nouns", "wordnet", "partition"),
    "nouns-flock": ("nouns", "wordnet", "flock"),
    "queries-partition": ("queries", "balanced:5", "partition"),
    "queries-flock": ("queries", "balanced:5", "flock"),
}
STEPS = ("read", "items", "taxonomy", "anonymize", "measure", "write", "audit")
TICK = 0.02
PAGE = 4096


class Scale:
    """Weighs this process while it works: the most memory in each step."""

    def __init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self._step = "start"
        threading.Thread(target=self._weigh, daemon=True).start()

    def step(self, name: str) -> None:
        self._step = name

    def reading(self, done: int, total: int) -> None:
        """Pass by: nobody watches."""

    def _weigh(self) -> None:
        while True:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            self.peaks[self._step] = max(self.peaks.get(self._step, 0), pages * PAGE)
            time.sleep(TICK)


def work(name: str, log: Path, out: Path, memory: str) -> dict[str, Any]:
    """Run a job in this process; return what it took."""
    items, taxonomy, method = JOBS[name]
    scale = Scale()
    unlisted = "keep" if taxonomy == "wordnet" else None
    job = Options(
        log,
        out,
        5,
        method=method,
        taxonomy=taxonomy,
        items=items,
        unlisted=unlisted,
        memory=memory,
        force=True,
    )
    outcome = run_job(job, scale)
    return {
        "lines": outcome.made.summary["lines"],
        "records": len(outcome.release.transactions),
        "occurrences": outcome.release.transactions.occurrences,
        "entries": len(outcome.release.transactions.items),
        "distinct": len(outcome.release.transactions.vocabulary),
        "nodes": len(outcome.release.taxonomy),
        "seconds": outcome.seconds,
        "peaks": scale.peaks,
    }


def shown(name: str, part: str, done: dict[str, Any]) -> str:
    """Return a line of the table."""
    seconds = done["seconds"]
    steps = [f"{seconds[step]:.1f}" for step in STEPS]
    working = sum(seconds[step] for step in STEPS)
    cells = [name, part, f"{done['lines']:,}", *steps, f"{seconds['total']:.0f}"]
    cells += [f"{1e6 * working / done['lines']:.2f}", f"{max(done['peaks'].values()) / 1e9:.1f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="100,10,1", help="parts of the full size")
    parser.add_argument("--only", default=",".join(JOBS), help="some of the jobs")
    parser.add_argument("--folder", type=Path, help="where logs and releases go, and logs are found again")
    parser.add_argument("--memory", default="12GB")
    parser.add_argument("--job", help="one job in this process, as NAME:LOG:OUT")
    options = parser.parse_args()
    if options.job:
        name, log, out = options.job.split(":")
        print(json.dumps(work(name, Path(log), Path(out), options.memory)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        print("| job | size | lines | " + " | ".join(STEPS) + " | seconds | us a line | peak GB |")
        print("|---" * (len(STEPS) + 6) + "|", flush=True)
        for name in options.only.split(","):
            for part in options.scale.split(","):
                measure(name, part, folder, options.memory)


def measure(name: str, part: str, folder: Path, memory: str) -> None:
    """Run a job of some size in a process of its own, and print its line."""
    log = folder / f"log-{part}.tsv"
    if not log.exists():
        write_log(log, users=USERS // int(part), people="all")
    command = [sys.executable, __file__, "--memory", memory]
    command += ["--job", f"{name}:{log}:{folder / f'release-{name}-{part}'}"]
    done = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(shown(name, f"1/{part}" if part != "1" else "full", done), flush=True)
    detail = {key: done[key] for key in ("records", "occurrences", "entries", "distinct", "nodes")}
    peaks = {step: round(peak / 1e6) for step, peak in done["peaks"].items()}
    print(f"{name} 1/{part}: {detail}, peak MB by step {peaks}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
