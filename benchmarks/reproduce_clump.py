"""The experiments of Milani Fard & Wang, SECRYPT 2010 (figures 3 to 7): Clump against Partition on users' nouns over WordNet.

    python benchmarks/reproduce_clump.py [--quick] [--out DIR]

The paper's query log cannot be shipped; these users are made up by ``incrowd synth``, as many as the paper has
(53,058) and with as many nouns. k = 5, 7, 10, 15; r = 10 where it is not varied. Two tables more: the same on
a tree of the occurring nouns only, and the baskets of He & Naughton (read from ``INCROWD_DATA``, default
``../shared/data`` from the project's root). What comes out, and how it compares: docs/experiments.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import incrowd as ic
from incrowd.logs.synth.generate import write_log
from incrowd.taxonomy import open_taxonomy
from plots import Experiment, Measure, Style, first_filled, publish, read_data, read_options, run

SIZES = (1_000, 10_000, 20_000, 30_000, 40_000, 53_058)
QUICK_USERS = 300
KS, RS = (5, 7, 10, 15), (5, 10, 30, 50, 100)
PARTITION, TOTAL = {"method": "partition"}, {"method": "clump", "criterion": "total"}
INCREASE = {"method": "clump", "criterion": "increase"}
METHODS = {
    "Partition": PARTITION,
    "Partition, LCG": PARTITION | {"publish": "lcg"},
    "Clump1, total": TOTAL,
    "Clump2, total": TOTAL | {"duplicates": "drop"},
    "Clump1, increase": INCREASE,
    "Clump2, increase": INCREASE | {"duplicates": "drop"},
}
STYLES = {
    "Partition": Style("#000000", "o"),
    "Partition, LCG": Style("#000000", "o", "--"),
    "Clump1, total": Style("#D55E00", "s"),
    "Clump2, total": Style("#D55E00", "s", "--"),
    "Clump1, increase": Style("#0072B2", "^"),
    "Clump2, increase": Style("#0072B2", "^", "--"),
}
TIMED = ("Partition", "Partition, LCG", "Clump1, total", "Clump1, increase")  # Clump2 takes Clump1's time
LOSS = "GGD / occurrences"


@dataclass(frozen=True)
class Data:
    """Rows on a taxonomy."""

    rows: ic.Transactions
    tree: ic.Taxonomy

    def first(self, users: int) -> Data:
        """Return the first users, on the same taxonomy."""
        return Data(first_filled(self.rows, users), self.tree)

    def losses(self, name: str, **settings: Any) -> ic.Losses:
        """Return what a method loses; methods have the names of the plots."""
        return run(self.rows, self.tree, best_of=1, **{"k": 5, **METHODS[name], **settings})[1]

    def seconds(self, name: str, **settings: Any) -> float:
        """Return how long a method takes, warm."""
        return run(self.rows, self.tree, best_of=3, **{"k": 5, **METHODS[name], **settings})[0]


def made_up_users(users: int) -> Data:
    """Return users with the set of their nouns; who has none is left out."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        write_log(path, users=users + users // 10, people="all")  # one in thirty has no noun
        with ic.read_log(path) as log:
            nouns = log.transactions(items="nouns").as_sets()
    attached = open_taxonomy("wordnet", nouns, unlisted="drop")
    return Data(attached.transactions, attached.taxonomy).first(users)


def occurring_only(data: Data) -> Data:
    """Return the data on the part of the tree that its nouns need, as the paper's tree is."""
    used = np.unique(data.rows.items)
    leaves = data.tree.leaf_nodes[np.asarray(data.tree.item_leaf)[used]]
    kept = data.tree.ancestors(leaves)
    parent = np.searchsorted(kept, data.tree.parent[kept]).astype(np.int32)
    parent[0] = -1
    tree = ic.Taxonomy.from_parents(parent, data.tree.labels_of(kept), name=data.tree.name)
    unused = np.ones(len(data.rows.vocabulary), dtype=np.bool_)
    unused[used] = False
    rows = data.rows.without_items(unused, note="Kept the nouns that occur.")
    item_leaf = tree.first_leaf[np.searchsorted(kept, leaves)]
    return Data(rows, replace(tree, items=rows.vocabulary, item_leaf=item_leaf))


def by_k(data: Data, title: str) -> Experiment:
    """Return figures 3, 4 and 5 at one size: loss, length and level by k."""
    runs = {name: [data.losses(name, k=k) for k in KS] for name in METHODS}
    loss = {name: [losses.ggd_norm for losses in of_k] for name, of_k in runs.items()}
    length = {name: [losses.avg_length for losses in of_k] for name, of_k in runs.items()}
    level = {name: [losses.avg_level for losses in of_k] for name, of_k in runs.items()}
    measures = [
        Measure(LOSS, ".3f", loss, f"Figure 3: {title}"),
        Measure("items in a record", ".1f", length, f"Figure 4: {title}"),
        Measure("level (root = 1)", ".2f", level, f"Figure 5: {title}"),
    ]
    return Experiment(f"Figures 3, 4, 5: {title}", "k", KS, measures)


def by_r(data: Data) -> Experiment:
    """Return figure 6: what r does to the loss, and what it costs."""
    names = ("Clump1, total", "Clump1, increase")
    loss = {name: [data.losses(name, r=r).ggd_norm for r in RS] for name in names}
    seconds = {name: [data.seconds(name, r=r) for r in RS] for name in names}
    measures = [Measure(LOSS, ".3f", loss), Measure("seconds", ".2f", seconds, "Figure 6: the time it takes")]
    return Experiment("Figure 6: effect of r, k = 5", "r", RS, measures)


def by_size(data: Data, sizes: Sequence[int]) -> Experiment:
    """Return figure 7: time by size."""
    parts = [data.first(users) for users in sizes]
    seconds = {name: [part.seconds(name) for part in parts] for name in TIMED}
    measures = [Measure("seconds", ".3f", seconds)]
    return Experiment("Figure 7: time, k = 5, r = 10", "users", sizes, measures, to_scale=True)


def density(data: Data, sizes: Sequence[int]) -> Experiment:
    """Return table 3: items / (users x distinct items)."""
    parts = [data.first(users).rows for users in sizes]
    shares = [rows.occurrences / len(rows) / len(np.unique(rows.items)) for rows in parts]
    measures = [Measure("density", ".2%", {"nouns": shares})]
    return Experiment("Table 3", "users", sizes, measures, drawn=False)


def baskets(*, quick: bool) -> Experiment:
    """Return losses on He & Naughton's data, which the paper does not use."""
    names = ("BMS-WebView-1", "BMS-WebView-2")
    all_rows = [first_filled(rows, QUICK_USERS if quick else len(rows)) for rows in map(read_data, names)]
    data = [Data(rows, ic.balanced(rows, 5)) for rows in all_rows]
    lines = {name: [part.losses(name).ggd_norm for part in data] for name in TIMED}
    for name in ("Clump1, total", "Clump1, increase"):
        lines[f"{name}, r = 100"] = [part.losses(name, r=100).ggd_norm for part in data]
    return Experiment("Baskets, balanced:5, k = 5", "data", names, [Measure(LOSS, ".3f", lines)], drawn=False)


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """Yield the figures and the tables beside them."""
    sizes = (QUICK_USERS // 3, QUICK_USERS // 2, QUICK_USERS) if quick else SIZES
    data = made_up_users(sizes[-1])
    print(f"{data.rows}\n{data.tree}\n")
    for users in (sizes[0], sizes[1], sizes[-1]):
        yield by_k(data.first(users), f"{users:,} users")
    yield by_r(data)
    yield by_size(data, sizes)
    yield density(data, sizes)
    yield replace(by_k(occurring_only(data), "tree of the nouns that occur"), drawn=False)
    yield baskets(quick=quick)


def main() -> None:
    options = read_options(__doc__)
    publish(experiments(quick=options.quick), STYLES, "reproduce-clump", options.out, columns=3)


if __name__ == "__main__":
    main()
