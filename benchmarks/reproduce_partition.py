"""The experiments of He & Naughton, VLDB 2009 (figures 3 to 7): Partition against Apriori (AA), time and NCP.

    python benchmarks/reproduce_partition.py [--quick] [--out DIR]

As in the paper: k = 10 and m = 4 where they are not varied, balanced trees, every number the mean over the
fan-outs 4, 5 and 6, and BMS-WebView-2 from figure 4 on. The data is read from ``INCROWD_DATA`` (default
``../shared/data`` from the project's root). What comes out, and how it compares: docs/experiments.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import NamedTuple, TypeVar

import numpy as np

import incrowd as ic
from incrowd.taxonomy import attach
from plots import Experiment, Measure, Style, first_filled, publish, read_data, read_options, run

K, M, FAN_OUTS = 10, 4, (4, 5, 6)
WEB1, WEB2 = "BMS-WebView-1", "BMS-WebView-2"
STYLES = {"AA": Style("#D55E00", "s"), "Partition": Style("#0072B2", "o")}
QUICK_ROWS = 1_500


class Outcome(NamedTuple):
    """Seconds and NCP."""

    seconds: float
    ncp: float


Pair = dict[str, Outcome]
X = TypeVar("X", int, str)


@dataclass(frozen=True)
class Bench:
    """The data sets, and how often each run is repeated."""

    data: dict[str, ic.Transactions]
    best_of: int

    def both(
        self, rows: ic.Transactions, *, k: int = K, m: int = M, fan_outs: Sequence[int] = FAN_OUTS
    ) -> Pair:
        """Run AA and Partition; return each one's mean over the fan-outs."""
        trees = [ic.balanced(rows, fan_out) for fan_out in fan_outs]
        return {
            "AA": self._mean(rows, trees, k=k, method="apriori", m=m),
            "Partition": self._mean(rows, trees, k=k, method="partition"),
        }

    def _mean(self, rows: ic.Transactions, trees: list[ic.Taxonomy], **settings: object) -> Outcome:
        runs = [run(rows, tree, best_of=self.best_of, **settings) for tree in trees]
        return Outcome(mean(seconds for seconds, _ in runs), mean(losses.ncp for _, losses in runs))


def longest(rows: ic.Transactions) -> int:
    """Return m_max, the items of the longest transaction: with it AA promises as much as Partition."""
    return int(np.diff(rows.indptr).max())


def vary(
    title: str, x_label: str, values: Sequence[X], measure: Callable[[X], Pair], *, to_scale: bool = False
) -> Experiment:
    """Run both for each value; a panel of time and one of NCP, as in the paper."""
    pairs = [measure(value) for value in values]
    seconds = {name: [pair[name].seconds for pair in pairs] for name in STYLES}
    losses = {name: [pair[name].ncp for pair in pairs] for name in STYLES}
    measures = [Measure("seconds", ".3f", seconds), Measure("NCP", ".2%", losses)]
    return Experiment(title, x_label, list(values), measures, to_scale)


def experiments(bench: Bench) -> Iterator[Experiment]:
    """Yield figures 3 to 7."""
    web2 = bench.data[WEB2]
    m_max = longest(web2)
    sizes = [n for n in (1_000, 3_000, 10_000, 20_000, 40_000) if n < len(web2)] + [len(web2)]
    sets = vary(
        "Figure 3: two data sets (m = max)",
        "data",
        [WEB1, WEB2],
        lambda name: bench.both(bench.data[name], m=longest(bench.data[name])),
    )
    yield replace(sets, joined=False)
    yield vary(
        "Figure 4: effect of m",
        "m",
        ["1", "2", "3", "4", "5", "6", "7", "max"],
        lambda m: bench.both(web2, m=m_max if m == "max" else int(m)),
    )
    yield vary("Figure 5: effect of k", "k", [2, 5, 10, 25, 50, 100], lambda k: bench.both(web2, k=k))
    yield vary(
        "Figure 6: effect of |D|",
        "transactions",
        sizes,
        lambda n: bench.both(first_filled(web2, n)),
        to_scale=True,
    )
    yield vary("Figure 7: effect of f", "fan-out f", range(2, 11), lambda f: bench.both(web2, fan_outs=[f]))


def already_anonymous(bench: Bench) -> str:
    """Run both on what Partition published (section 5.2.3): there is nothing left to do, who notices?"""
    web2 = bench.data[WEB2]
    release = ic.anonymize(web2, ic.balanced(web2, 5), k=K, method="partition")
    rows = ic.Transactions.from_rows(release.table()["items"].to_pylist())
    tree = attach(rows, release.taxonomy).taxonomy
    words = []
    for name, settings in (
        ("AA", {"method": "apriori", "m": longest(rows)}),
        ("Partition", {"method": "partition"}),
    ):
        seconds, losses = run(rows, tree, best_of=bench.best_of, k=K, **settings)
        words.append(f"{name} takes {seconds:.3f} s and loses {losses.ncp:.2%}")
    return f"Partition's own 10-anonymization as input: {'; '.join(words)}.\n"


def main() -> None:
    options = read_options(__doc__)
    data = {name: read_data(name) for name in (WEB1, WEB2)}
    if options.quick:
        data = {name: first_filled(rows, QUICK_ROWS) for name, rows in data.items()}
    bench = Bench(data, best_of=1 if options.quick else 3)
    publish(experiments(bench), STYLES, "reproduce-partition", options.out, columns=2)
    print(already_anonymous(bench))


if __name__ == "__main__":
    main()
