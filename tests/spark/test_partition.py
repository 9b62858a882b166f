"""Partition on Spark against the local method: whatever the shards, every row publishes the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from incrowd.core.transactions import Transactions
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.methods.partition.method import partition
from incrowd.spark.bags import lists
from incrowd.spark.partition.method import _pack, partition_on_spark
from incrowd.spark.partition.parts import Part, gains_of
from incrowd.spark.partition.splits import Bucket, _divide
from incrowd.spark.session import kernels_place
from incrowd.spark.work import Work
from incrowd.taxonomy import balanced


def some_rows(seed: int, rows: int, most: int, copies: int) -> Transactions:
    chance = np.random.default_rng(seed)
    bags = [
        np.minimum(chance.zipf(1.3, chance.integers(1, 7)), most).astype(str).tolist() for _ in range(rows)
    ]
    bags += [["1", "2", "2"]] * copies
    return Transactions.from_rows([bags[i] for i in chance.permutation(len(bags))])


def on_spark(spark, path, data, tree, **how):
    leaves = leaf_rows(data, tree)
    columns = {"leaf": lists(leaves.start, leaves.leaf), "times": lists(leaves.start, leaves.times)}
    table = pa.table({"row": np.arange(len(data)), **columns})
    rows = Work(spark, path).table(table, "rows.parquet").repartition(3)
    found = partition_on_spark(rows, tree_arrays(tree), tree, work=str(path / "work"), **how).toArrow()
    found = found.sort_by("row").to_pydict()
    number = {place: number for number, place in enumerate(sorted(set(found["place"])))}
    classes = [number[place] for place in found["place"]]
    return list(zip(found["row"], classes, found["nodes"], found["counts"], strict=True))


def on_this_machine(data, tree, **how):
    classes = partition(data, tree, **how)
    spans = [slice(classes.start[own], classes.start[own + 1]) for own in classes.of_row]
    return [
        (row, classes.of_row[row], classes.nodes[span].tolist(), classes.counts[span].tolist())
        for row, span in enumerate(spans)
    ]


@pytest.mark.parametrize(
    ("made", "how", "shard"),
    [
        ((2, 900, 60, 300), {"k": 5, "publish": "lcg"}, 100),  # 300 equal rows: more than a shard, and final
        ((3, 900, 20, 300), {"k": 4, "publish": "bag"}, 50),
        ((4, 1200, 300, 10), {"k": 7, "publish": "set"}, 30),  # leftovers are filled up, and buckets dissolve
    ],
)
def test_every_row_publishes_the_same(spark, tmp_path, made, how, shard):
    data = some_rows(*made)
    tree = balanced(data, 3)
    found = on_spark(spark, tmp_path, data, tree, shard=shard, **how)
    assert found == on_this_machine(data, tree, **how)
    assert len(list((tmp_path / "work").glob("level-*"))) > 2  # one level of splits would not do
    compiled = [path.name for path in kernels_place().rglob("kernel.split_rows*.nbc")]
    assert compiled
    assert not [
        name for name in compiled if not name.endswith(".1.nbc")
    ]  # warming left nothing to compile later


def test_leftovers_are_filled_up_or_a_bucket_dissolves():
    large, small = Bucket(b"a", 9, 0, 50), Bucket(b"b", 6, 1, 20)
    assert _divide([small, large], 15, 5).balance.left == 0
    assert _divide([small, large], 20, 5).balance.left == 5
    kept, filled = _divide([small, large], 17, 5)
    assert (kept, filled.left, filled.missing) == ([large, small], 5, 3)
    kept, dissolved = _divide([Bucket(b"a", 5, 0, 50), Bucket(b"b", 5, 1, 20)], 12, 5)
    assert ([one.children for one in kept], dissolved.left, dissolved.missing) == ([b"a"], 7, 0)


def test_of_two_buckets_of_the_same_gain_the_first_dissolves():
    tied = _divide([Bucket(b"b", 5, 1, 20), Bucket(b"a", 5, 0, 20)], 12, 5)
    assert [one.children for one in tied.buckets] == [b"b"]


def test_shards_never_hold_more_than_their_limit():
    sizes = dict(enumerate([5, 40, 30, 31, 1, 100, 101, 99, 2]))
    shards = _pack(sizes, 100)
    assert set(sizes) - set(shards) == {6}
    filled = [sum(sizes[part] for part in shards if shards[part] == shard) for shard in set(shards.values())]
    assert max(filled) <= 100


def test_gains_are_those_of_the_definition():
    data = some_rows(5, 50, 30, 0)
    tree = balanced(data, 3)
    arrays, rows = tree_arrays(tree), leaf_rows(data, tree)
    nodes = tree.children[tree.child_start[0] : tree.child_start[1]]
    nodes = nodes[arrays.weight[nodes] > 0]
    plain = [0] * len(nodes)
    for leaf, times in zip(rows.leaf.tolist(), rows.times.tolist(), strict=True):
        for at, node in enumerate(nodes.tolist()):
            if arrays.first_leaf[node] <= leaf < arrays.last_leaf[node]:
                child = arrays.way[arrays.depth[node] + 1][leaf]
                plain[at] += int(arrays.weight[node] - arrays.weight[child]) * times
    part = Part(nodes, np.zeros(len(nodes), np.int64), 50)
    assert gains_of(rows, arrays, np.arange(len(rows.start) - 1), part).tolist() == plain
