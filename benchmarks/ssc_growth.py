"""How SSC's clustering grows: made-up logs of 1 k, 3 k and 10 k users, nouns over WordNet, k = 5, eps = 4.

Run: python benchmarks/ssc_growth.py [--users 1000,3000,10000] [--k 5] [--eps 4] [--farthest]
Prints a Markdown table: one process and one core each, compiled kernels. The bar: 10 k users in 5 minutes and 2 GB.
A pair is a row and a centre of which the distance might have mattered; the bounds avoided most of the matchings.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import incrowd
from incrowd.kernels.arrays import Rows, leaf_rows
from incrowd.kernels.terms import Bags, Paths, count_near, list_near, paths_to
from incrowd.logs.synth.generate import write_log
from incrowd.methods.ssc.kernel import ssc_clusters
from incrowd.taxonomy import open_taxonomy

COLUMNS = [
    "vocabularies",
    "terms",
    "terms each",
    "relevant pairs",
    "relevance s",
    "clusters s",
    "pairs considered",
    "matched",
    "avoided",
    "peak MB",
]


def vocabularies(users: int, scratch: Path) -> tuple[Paths, Bags]:
    """Return the paths of WordNet to the nouns of a made-up log, and each user's nouns."""
    write_log(scratch / "log.tsv", users=users, people="all")
    transactions = incrowd.read_log(scratch / "log.tsv").transactions(items="nouns").as_sets()
    data = open_taxonomy("wordnet", transactions, unlisted="drop")
    rows: Rows = leaf_rows(data.transactions, data.taxonomy)
    leaf, term = np.unique(rows.leaf, return_inverse=True)
    tree = data.taxonomy
    return (
        paths_to(tree.parent, tree.end, tree.root_distance, tree.leaf_nodes[leaf]),
        Bags(rows.start, term.astype(np.int32), rows.times),
    )


def measure(users: int, k: int, eps: int, *, farthest: bool) -> list[str]:
    """Return the cells of one size."""
    with tempfile.TemporaryDirectory() as scratch:
        paths, bags = vocabularies(users, Path(scratch))
    began = time.perf_counter()
    near = list_near(paths, eps, count_near(paths, eps, 10**9))
    known = time.perf_counter()
    filled = np.flatnonzero(np.diff(bags.start))
    person = np.arange(len(bags.start) - 1, dtype=np.int32)
    found = ssc_clusters(bags, near, filled, person, k=k, omega=eps + 1, farthest=farthest)
    done = time.perf_counter()
    return [
        f"{len(filled):,}",
        f"{len(paths.node):,}",
        f"{len(bags.term) / len(filled):.1f}",
        f"{len(near.term):,}",
        f"{known - began:.2f}",
        f"{done - known:.2f}",
        f"{found.considered:,}",
        f"{found.computed:,}",
        f"{1 - found.computed / max(found.considered, 1):.2%}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", default="1000,3000,10000")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--eps", type=int, default=4)
    parser.add_argument("--farthest", action="store_true")
    options = parser.parse_args()
    sizes = [int(users) for users in options.users.split(",")]
    if len(sizes) == 1:
        measure(100, options.k, options.eps, farthest=options.farthest)  # compiles the kernels, or loads them
        print("| " + " | ".join(measure(sizes[0], options.k, options.eps, farthest=options.farthest)) + " |")
        return
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    rest = ["--k", str(options.k), "--eps", str(options.eps), *["--farthest"] * options.farthest]
    for users in sizes:  # a process each: the peak of memory is its own
        subprocess.run([sys.executable, __file__, "--users", str(users), *rest], check=True)


if __name__ == "__main__":
    main()
