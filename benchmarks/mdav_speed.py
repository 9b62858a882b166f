"""How semantic microaggregation grows: made-up logs of 1 k, 3 k and 10 k users, nouns over WordNet, k = 5.

Run: python benchmarks/mdav_speed.py [--users 1000,3000,10000] [--k 5] [--block-size 10000]
Prints a Markdown table: a process each, compiled kernels, all cores. The bars for the whole method, log to release:
1 k users in 15 s, 10 k users in 5 minutes and 4 GB. `spread` is the mean distance Ds between the users of a cluster,
which is what smaller blocks cost.
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
from incrowd.kernels.arrays import leaf_rows
from incrowd.kernels.likeness import UNIT, distances, taken, weights
from incrowd.logs.synth.generate import write_log
from incrowd.methods.microaggregation.mdav import BLOCK_SIZE, Clusters, mdav_in_blocks
from incrowd.methods.microaggregation.representatives import like_order, representatives
from incrowd.taxonomy import Taxonomy, open_taxonomy
from incrowd.taxonomy.meaning import Categories

COLUMNS = [
    "users",
    "categories",
    "each",
    "read s",
    "distances s",
    "clusters s",
    "representatives s",
    "spread",
    "peak MB",
]


def users_of(users: int, scratch: Path) -> tuple[Categories, Taxonomy]:
    """Return the concepts of each user's nouns in a made-up log, and WordNet."""
    write_log(scratch / "log.tsv", users=users, people="all")
    transactions = incrowd.read_log(scratch / "log.tsv").transactions(items="nouns")
    data = open_taxonomy("wordnet", transactions, unlisted="drop")
    tree, rows = data.taxonomy, leaf_rows(data.transactions, data.taxonomy)
    leaf = tree.leaf_nodes[rows.leaf]
    concept = leaf if tree.edge is None else np.where(tree.edge[leaf] == 0, tree.parent[leaf], leaf)
    row = np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start))
    keys, entry = np.unique(row * len(tree) + concept, return_inverse=True)
    times = np.bincount(entry, weights=rows.times).astype(np.int32)
    start = np.searchsorted(keys // len(tree), np.arange(len(rows.start)))
    bags = Categories(start.astype(np.int64), (keys % len(tree)).astype(np.int32), times)
    return taken(bags, np.flatnonzero(np.diff(bags.start))), tree


def spread(bags: Categories, tree: Taxonomy, found: Clusters) -> float:
    """Return the mean distance of two users of a cluster, over a hundred clusters."""
    means = []
    number = len(found.start) - 1
    for c in range(0, number, max(number // 100, 1)):
        members = taken(bags, found.member[found.start[c] : found.start[c + 1]])
        ds = distances(members, tree.parent, tree.level - 1)
        means.append(ds.sum() / (len(ds) * (len(ds) - 1)) / UNIT)
    return float(np.mean(means))


def measure(users: int, k: int, block_size: int) -> list[str]:
    """Return the cells of one size."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        bags, tree = users_of(users, Path(scratch))
    depth, rows = tree.level - 1, len(bags.start) - 1
    read = time.perf_counter()
    spent = [0.0]

    def distances_of(members: np.ndarray) -> np.ndarray:
        since = time.perf_counter()
        matrix = distances(taken(bags, members), tree.parent, depth)
        spent[0] += time.perf_counter() - since
        return matrix

    order = like_order(bags, tree.parent, depth)
    person = np.arange(rows, dtype=np.int32)
    found = mdav_in_blocks(distances_of, order, person, k=k, block_size=block_size)
    clustered = time.perf_counter()
    representatives(bags, tree.parent, depth, found)
    done = time.perf_counter()
    return [
        f"{rows:,}",
        f"{weights(bags).sum():,}",
        f"{len(bags.node) / rows:.1f}",
        f"{read - began:.2f}",
        f"{spent[0]:.2f}",
        f"{clustered - read - spent[0]:.2f}",
        f"{done - clustered:.3f}",
        f"{spread(bags, tree, found):.4f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", default="1000,3000,10000")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--block-size", type=int, default=BLOCK_SIZE)
    options = parser.parse_args()
    sizes = [int(users) for users in options.users.split(",")]
    if len(sizes) == 1:
        measure(100, options.k, options.block_size)  # compiles the kernels, or loads them
        print("| " + " | ".join(measure(sizes[0], options.k, options.block_size)) + " |")
        return
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    rest = ["--k", str(options.k), "--block-size", str(options.block_size)]
    for users in sizes:  # a process each: the peak of memory is its own
        subprocess.run([sys.executable, __file__, "--users", str(users), *rest], check=True)


if __name__ == "__main__":
    main()
