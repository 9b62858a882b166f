"""Method dp: how many items it finds beside PipelineDP, and what its lists are of use for beside mosaic's tiles and korolova's lists.

    python benchmarks/dp.py [--peer PYTHON] [--quick] [--data DIRECTORY] [--out FILE]

``--peer`` is the Python of an environment of its own that has pipeline-dp. Part 1: BMS-WebView-2, eps = 3, delta = 1e-6, d = 5, five runs each.
Part 2: retail and made-up logs of 1,000 and 20,000 users, eps from 0.5 to 10; plots go to docs/images/dp.svg.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import incrowd as ic
from incrowd.core.spending import spend
from incrowd.logs.synth.generate import write_log
from incrowd.methods.dp.entries import entries_of
from incrowd.methods.dp.mechanism import find_items
from plots import LOOK, PANEL_INCHES, ROOT
from public_data import DATA, existing

EPS, DELTA, D = 3.0, 1e-6, 5
STRATEGIES = (
    "TRUNCATED_GEOMETRIC",
    "LAPLACE_THRESHOLDING",
    "GAUSSIAN_THRESHOLDING",
    "WEIGHTED_GAUSSIAN_THRESHOLDING",
)
SLOW = STRATEGIES[-1]  # some minutes a run
ALL_EPS = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
MEASURES = ("items_error", "pairs_recall")
K = 5
WORDS = tuple(f"dp:d={d}" for d in (10, 30, 100))
QUERIES = ("dp:d=10", "dp:d=30", "korolova:d=10;delta=1e-6")
Measures = dict[str, dict[float, dict[str, float]]]


def missing(found: set[str], people: Counter[str]) -> float:
    """Return the share of all items of people that are not among those found."""
    return 1 - sum(people[item] for item in found) / sum(people.values())


def peers(python: str, file: Path, people: Counter[str], runs: int) -> None:
    """Print what PipelineDP finds with each of its strategies."""
    script = Path(__file__).with_name("dp_peer.py")
    for strategy in STRATEGIES:
        found = []
        for _ in range(1 if strategy == SLOW else runs):
            command = [python, script, file, str(EPS), str(DELTA), str(D), strategy]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                print(f"| PipelineDP, {strategy.lower()} | failed | |")
                break
            found.append(set(ran.stdout.split()))
        else:
            _row(f"PipelineDP, {strategy.lower().replace('_', ' ')}", found, people)


def ours(data: ic.Transactions, people: Counter[str], runs: int) -> None:
    """Print what dp finds, with and without counts."""
    words = data.vocabulary.to_pylist()
    for counts in (0.0, 0.25):
        for rounds in (1, 3):
            spending = spend(d=D, eps=EPS, delta=DELTA, rounds=rounds, counts=counts)
            drawn = (entries_of(data, "items", d=D).people for _ in range(runs))
            found = [{words[item] for item in find_items(people, spending).tolist()} for people in drawn]
            said = f", and counts to within {spending.error_bar}" if counts else ", items alone"
            _row(f"dp, rounds = {rounds}{said}", found, people)


def _row(name: str, found: list[set[str]], people: Counter[str]) -> None:
    sizes = [len(one) for one in found]
    lost = mean(missing(one, people) for one in found)
    print(f"| {name} | {mean(sizes):,.0f} ({min(sizes):,} to {max(sizes):,}) | {lost:.1%} |", flush=True)


def compared(data: Path, methods: Sequence[str], **how: Any) -> Measures:
    """Return the measures of each method by eps; mosaic has none, and is the same for all."""
    found: Measures = {}
    for run in ic.compare(data, methods=["mosaic", *methods], k=K, eps=ALL_EPS, **how).runs:
        use = {name: getattr(run.use, name) for name in MEASURES}
        if run.method == "mosaic":
            found[f"mosaic, k = {K}"] = dict.fromkeys(ALL_EPS, use)
        else:
            found.setdefault(f"{run.method}, d = {run.parameters['d']}", {})[run.parameters["eps"]] = use
    return found


def table(name: str, found: Measures) -> None:
    """Print the measures of a data set."""
    print(f"\n{name}\n\n| | measure | {' | '.join(f'eps = {eps:g}' for eps in ALL_EPS)} |")
    print("|---|---|" + "---|" * len(ALL_EPS))
    for method, by_eps in found.items():
        for measure in MEASURES:
            cells = " | ".join(f"{by_eps[eps][measure]:.3f}" for eps in ALL_EPS)
            print(f"| {method} | `{measure}` | {cells} |", flush=True)


def draw(all_found: Mapping[str, Measures], path: Path) -> None:
    """Draw the measures against eps."""
    with mpl.rc_context(LOOK):
        width, height = PANEL_INCHES
        figure = Figure((width * len(MEASURES), height * len(all_found)), layout="constrained")
        axes = figure.subplots(len(all_found), len(MEASURES), squeeze=False)
        for row, (name, found) in zip(axes, all_found.items(), strict=True):
            for axis, measure in zip(row, MEASURES, strict=True):
                for method, by_eps in found.items():
                    style = "--" if method.startswith("mosaic") else "o-"
                    axis.plot(ALL_EPS, [by_eps[eps][measure] for eps in ALL_EPS], style, label=method)
                axis.set(title=f"{name}: {measure}", xlabel="eps", xscale="log", ylim=(0, 1.02))
            row[0].legend(frameon=False, fontsize="small")
        figure.savefig(path, metadata={"Date": None})


def lists_of_queries(log: Path) -> None:
    """Print how many queries dp and korolova publish of a log."""
    own = {"dp, d = 10": 10, "dp, d = 50": 50, "korolova, d = 1": 1, "korolova, d = 10": 10}
    print(f"\n| eps, with delta = 1e-6 | {' | '.join(own)} |\n|---|---|---|---|---|")
    with ic.read_log(log) as read:
        queries = read.transactions(unit="user", items="queries", events=True)
    tree = ic.balanced(queries, 5)
    for eps in ALL_EPS:
        sizes = [
            ic.anonymize(queries, tree, method=name.partition(",")[0], eps=eps, delta=1e-6, d=d)
            .table()
            .num_rows
            for name, d in own.items()
        ]
        print(f"| {eps:g} | {' | '.join(f'{size:,}' for size in sizes)} |", flush=True)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", help="Python with pipeline-dp")
    parser.add_argument("--quick", action="store_true", help="a tiny size, to test that it runs")
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the public data sets")
    parser.add_argument("--out", type=Path, help="where the plots go (docs/images/dp.svg; none with --quick)")
    options = parser.parse_args()
    runs, users = (1, (200,)) if options.quick else (5, (1_000, 20_000))
    file = existing(options.data / "transactions/BMS-WebView-2.dat")
    with ic.read_baskets(file) as read:
        data = read.transactions()
    words = data.vocabulary.to_pylist()
    people = Counter(dict(enumerate(np.bincount(data.items, minlength=len(words)).tolist())))
    named = Counter({words[item]: number for item, number in people.items()})
    print(
        f"BMS-WebView-2, eps = {EPS:g}, delta = {DELTA:g}, d = {D}\n\n| | items found | missing mass |\n|---|---|---|"
    )
    ours(data, named, runs)
    if options.peer:
        peers(options.peer, file, named, runs)
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        logs = {number: Path(scratch) / f"{number}.tsv" for number in users}
        for number, log in logs.items():
            write_log(log, users=number, seed=0, people="all")
        last = logs[users[-1]]
        retail = existing(options.data / "transactions/retail.dat")
        todo: dict[str, tuple[Path, Sequence[str], dict[str, Any]]] = {"retail": (retail, WORDS, {})}
        todo |= {
            f"words of {number:,} users": (log, WORDS, {"items": "terms", "unit": "user"})
            for number, log in logs.items()
        }
        todo[f"queries of {users[-1]:,} users"] = (last, QUERIES, {})
        for name, (source, methods, how) in todo.items():
            begun = time.perf_counter()
            found[name] = compared(source, methods, **how)
            table(name, found[name])
            print(f"\n({time.perf_counter() - begun:.0f} s)", file=sys.stderr)
        lists_of_queries(last)
    if options.out or not options.quick:
        draw(found, options.out or ROOT / "docs/images/dp.svg")


if __name__ == "__main__":
    main()
