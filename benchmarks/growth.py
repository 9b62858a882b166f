"""How cost grows with the log: made-up logs of 100 k, 1 M and 5 M lines, nouns over WordNet, k = 5.

Run: python benchmarks/growth.py [--lines 100000,1000000,5000000] [--memory 4GB]
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

HEAD = "| lines | users | read s | read us/line | anonymize s | anonymize us/line | audit s | write s | total s | peak MB | growth read | growth anonymize |"


def run(log: Path, out: Path, memory: str) -> dict:
    """Anonymize a log in a process of its own."""
    command = [sys.executable, "-m", "incrowd", "anonymize", log, "--out", out, "--k", "5"]
    command += ["--items", "nouns", "--taxonomy", "wordnet", "--memory", memory, "--json"]
    return json.loads(
        subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", default="100000,1000000,5000000")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--best-of", type=int, default=3)
    options = parser.parse_args()
    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|")
    before = None
    with tempfile.TemporaryDirectory() as scratch:
        for lines in map(int, options.lines.split(",")):
            log = Path(scratch) / f"{lines}.tsv"
            subprocess.run(
                [sys.executable, "-m", "incrowd", "synth", "--lines", str(lines), "--out", str(log)],
                check=True,
                capture_output=True,
            )
            runs = [
                run(log, Path(scratch) / f"out-{lines}-{i}", options.memory) for i in range(options.best_of)
            ]
            best = {step: min(r["seconds"][step] for r in runs) for step in runs[0]["seconds"]}
            cost = {step: best[step] / lines * 1e6 for step in ("read", "anonymize")}
            growth = {step: cost[step] / before[step] if before else float("nan") for step in cost}
            print(
                f"| {lines:,} | {runs[0]['records_in']:,} | {best['read']:.2f} | {cost['read']:.2f} "
                f"| {best['anonymize']:.2f} | {cost['anonymize']:.2f} | {best['audit']:.2f} | {best['write']:.2f} "
                f"| {best['total']:.2f} | {max(r['peak_rss_mb'] for r in runs):.0f} "
                f"| {growth['read']:.2f} | {growth['anonymize']:.2f} |",
                flush=True,
            )
            before = cost
            log.unlink()


if __name__ == "__main__":
    main()
