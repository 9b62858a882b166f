"""Flock beside Partition and Clump on six sets of data: what is lost, what is kept, and the seconds it takes.

    python benchmarks/flock_table.py [--quick] [--out DIR] [--data NAME,NAME] [--k 2,5,10,25]

Prints the full table and a short one as Markdown; with ``--out`` they are also written to ``flock-full.md`` and
``flock-short.md``, and the numbers to ``flock.json``. The public data is read from ``INCROWD_DATA`` (default
``../shared/data`` from the project's root); users are made up by ``incrowd synth``. All rows are bags.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import incrowd as ic
from incrowd.logs.synth.generate import write_log
from incrowd.metrics.patterns import pattern_utility
from incrowd.taxonomy import attach, open_taxonomy
from plots import first_filled, read_data
from public_data import DATA, existing

__all__ = ["BASELINES", "BETTER", "FLOCK", "METHODS", "Result", "groceries", "is_best"]

KS, QUICK_KS = (2, 5, 10, 25), (2, 5)
USERS, QUICK_ROWS = 5_000, 300
FLOCK = "flock"
BASELINES: dict[str, dict[str, Any]] = {
    "Partition + LCG": {"method": "partition", "publish": "lcg"},
    "Clump, total": {"method": "clump", "criterion": "total"},
    "Clump, increase": {"method": "clump", "criterion": "increase"},
}
METHODS: dict[str, dict[str, Any]] = {
    FLOCK: {"method": "flock"},
    "flock, s = 0": {"method": "flock", "specificity": 0.0},
    "flock, s = 1": {"method": "flock", "specificity": 1.0},
    **BASELINES,
}
# What flock must be best at, and which way better is.
BETTER: dict[str, Callable[[float, float], bool]] = {
    "ggd_norm": lambda mine, other: mine < other,
    "ic_norm": lambda mine, other: mine < other,
    "kept_exactly": lambda mine, other: mine > other,
}
TITLES = {
    "ggd_norm": "generalization loss (GGD = bLM)",
    "ic_norm": "logarithmic loss (IC)",
    "kept_exactly": "kept exactly",
    "ncp": "item uncertainty (NCP)",
    "recall": "pattern recall",
    "seconds": "seconds",
}


class Data(NamedTuple):
    """Rows on a taxonomy."""

    rows: ic.Transactions
    tree: ic.Taxonomy


class Result(NamedTuple):
    """The measures of one method with one k on one set of data."""

    data: str
    k: int
    method: str
    ggd_norm: float
    ic_norm: float
    kept_exactly: float
    ncp: float
    recall: float
    seconds: float


def baskets(name: str, rows: int | None) -> Data:
    """Read baskets, under a balanced tree of fan-out 5."""
    read = first_filled(read_data(name), rows or sys.maxsize)
    return Data(read, ic.balanced(read, 5))


def groceries(rows: int | None) -> Data:
    """Read the groceries: the first digits of an item's code are its category and that category's own."""
    directory = DATA / "transactions/groceries"
    table = existing(directory / "Groceries.data")
    codes = _codes(directory / "Groceries.labels")
    counts = [line.split("\t") for line in table.read_text(encoding="latin-1").splitlines()][:rows]
    bags = [
        [code for code, times in zip(codes, line, strict=True) for _ in range(int(times))] for line in counts
    ]
    inner = _codes(directory / "Groceries.cat1.labels") + _codes(directory / "Groceries.cat2.labels")
    names = ["", *inner, *codes]
    place = {name: number for number, name in enumerate(names)}
    parent = np.array([-1] + [place[name[:-1]] for name in names[1:]], dtype=np.int32)
    labels = pa.array(["all", *names[1:]], pa.string())
    tree = ic.Taxonomy.from_parents(parent, labels, name="groceries")
    return _attached(ic.Transactions.from_rows(bags), tree)


def excite(rows: int | None) -> Data:
    """Read the nouns of each user of the Excite log."""
    return _nouns(existing(DATA / "logs/excite-small.log"), rows)


def synth(rows: int | None) -> Data:
    """Make up users, and take their nouns."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log.tsv"
        write_log(log, users=rows or USERS, people="all")
        return _nouns(log, rows)


DATASETS: dict[str, Callable[[int | None], Data]] = {
    "BMS-WebView-1, balanced:5": lambda rows: baskets("BMS-WebView-1", rows),
    "BMS-WebView-2, balanced:5": lambda rows: baskets("BMS-WebView-2", rows),
    "retail, balanced:5": lambda rows: baskets("retail", rows),
    "groceries, its own 3 levels": groceries,
    "Excite, nouns, WordNet": excite,
    "synth users, nouns, WordNet": synth,
}


def _codes(path: Path) -> list[str]:
    return [line.split("\t")[0] for line in existing(path).read_text(encoding="latin-1").splitlines()]


def _nouns(log: Path, rows: int | None) -> Data:
    with ic.read_log(log) as read:
        nouns = read.transactions(items="nouns")
    attached = open_taxonomy("wordnet", nouns, unlisted="drop")
    return Data(first_filled(attached.transactions, rows or sys.maxsize), attached.taxonomy)


def _attached(rows: ic.Transactions, tree: ic.Taxonomy) -> Data:
    attached = attach(rows, tree)
    return Data(attached.transactions, attached.taxonomy)


def measured(name: str, data: Data, k: int, method: str) -> Result:
    """Run one method with one k."""
    begun = time.perf_counter()
    release = ic.anonymize(data.rows, data.tree, k=k, **METHODS[method])
    seconds = time.perf_counter() - begun
    losses = release.losses
    recall = pattern_utility(data.rows, data.tree, release.classes).recall
    return Result(
        name, k, method, losses.ggd_norm, losses.ic_norm, losses.kept_exactly, losses.ncp, recall, seconds
    )


def all_results(names: Sequence[str], ks: Sequence[int], rows: int | None) -> Iterator[Result]:
    """Run everything; say what the data are, to the error output, for it takes minutes."""
    for name in names:
        data = DATASETS[name](rows)
        print(f"{name}: {data.rows}", file=sys.stderr, flush=True)
        few = Data(first_filled(data.rows, QUICK_ROWS), data.tree)
        for method in METHODS:
            measured(name, few, ks[0], method)  # compiles the kernels, or loads them
        for k in ks:
            for method in METHODS:
                yield measured(name, data, k, method)


def is_best(results: Sequence[Result], measure: str) -> bool:
    """Return whether flock's default is better than every baseline; the results are those of one k and one set of data."""
    by_method = {result.method: getattr(result, measure) for result in results}
    return all(BETTER[measure](by_method[FLOCK], by_method[name]) for name in BASELINES)


def cases(results: Iterable[Result]) -> Iterator[list[Result]]:
    """Yield the results of each set of data and k together."""
    found: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        found.setdefault((result.data, result.k), []).append(result)
    yield from found.values()


def table(lines: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; the first line is its head."""
    head, *rest = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|---" * (head.count(" | ") + 1) + "|", *rest]) + "\n"


def full_table(results: Sequence[Result]) -> str:
    """Return a line for each run. A star: better than all baselines in all three measures of `BETTER` at once."""
    lines = [["data", "k", "method", *TITLES.values()]]
    for same in cases(results):
        star = " *" if all(is_best(same, measure) for measure in BETTER) else ""
        lines += [
            [
                result.data if result.method == FLOCK else "",
                str(result.k) if result.method == FLOCK else "",
                result.method + (star if result.method == FLOCK else ""),
                *(written(result, measure) for measure in TITLES),
            ]
            for result in same
        ]
    return table(lines) + "\n" + honest_words(results)


def short_table(results: Sequence[Result]) -> str:
    """Return a line for each set of data and k: flock / Partition + LCG / the better Clump, flock bold where best."""
    title = "flock / Partition + LCG / better Clump"
    lines = [
        [
            "data",
            "k",
            f"{TITLES['ggd_norm']}: {title}",
            *(TITLES[name] for name in ("ic_norm", "kept_exactly", "ncp")),
        ]
    ]
    for same in cases(results):
        cells = [beside(same, measure) for measure in (*BETTER, "ncp")]
        lines.append([same[0].data, str(same[0].k), *cells])
    return table(lines) + "\n" + honest_words(results)


def beside(same: Sequence[Result], measure: str) -> str:
    """Write a measure of flock, of Partition, and of that Clump which does better."""
    values = {result.method: written(result, measure) for result in same}
    clumps = [result for result in same if result.method.startswith("Clump")]
    best = max if measure == "kept_exactly" else min
    clump = written(best(clumps, key=lambda result: float(getattr(result, measure))), measure)
    mine = values[FLOCK]
    if measure in BETTER and is_best(same, measure):
        mine = f"**{mine}**"
    return f"{mine} / {values['Partition + LCG']} / {clump}"


def written(result: Result, measure: str) -> str:
    """Write one number for people."""
    value = getattr(result, measure)
    forms: Mapping[str, str] = {"kept_exactly": ".1%", "ncp": ".2%", "recall": ".2f", "seconds": ".2f"}
    return format(value, forms.get(measure, ".3f")).replace("%", " %")


def honest_words(results: Sequence[Result]) -> str:
    """Return how often flock is best at once, and where Partition is better in item uncertainty and pattern recall."""
    every = list(cases(results))
    best = sum(all(is_best(same, measure) for measure in BETTER) for same in every)
    words = [
        f"Best on generalization loss, logarithmic loss and terms kept exactly at once: {best} of {len(every)}."
    ]
    for measure, name, sign in (("ncp", "item uncertainty", -1), ("recall", "pattern recall", 1)):
        better: dict[str, list[str]] = {}
        for same in every:
            if sign * _of(same, "Partition + LCG", measure) > sign * _of(same, FLOCK, measure):
                better.setdefault(same[0].data.split(",")[0], []).append(str(same[0].k))
        count = sum(map(len, better.values()))
        where = ", ".join(f"{data} (k = {', '.join(ks)})" for data, ks in better.items())
        words.append(
            f"Partition's {name} is better in {count} of {len(every)}{': ' if where else ''}{where}."
        )
    return "\n".join(words) + "\n"


def _of(same: Sequence[Result], method: str, measure: str) -> float:
    return float(next(getattr(result, measure) for result in same if result.method == method))


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that it runs")
    parser.add_argument("--out", type=Path, help="where the tables and the numbers go")
    parser.add_argument(
        "--data", default="", help="only sets whose name begins so, as in BMS-WebView-1,retail"
    )
    parser.add_argument("--k", default="", help="as in 2,5,10,25")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    ks = tuple(map(int, options.k.split(","))) if options.k else QUICK_KS if options.quick else KS
    names = [name for name in DATASETS if name.startswith(tuple(options.data.split(",")))]
    results = list(all_results(names, ks, QUICK_ROWS if options.quick else None))
    full, short = full_table(results), short_table(results)
    print(f"{full}\n{short}")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "flock-full.md").write_text(full, encoding="utf-8")
        (options.out / "flock-short.md").write_text(short, encoding="utf-8")
        numbers = [result._asdict() for result in results]
        (options.out / "flock.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
