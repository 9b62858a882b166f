"""Classes of enough different people on Spark: the local engine's where they fit a shard, and never of fewer people."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.kernels.arrays import tree_arrays
from incrowd.methods.partition.method import partition
from incrowd.methods.people import with_people
from incrowd.spark.bags import lists
from incrowd.spark.people import with_people_on_spark
from incrowd.spark.work import Work
from incrowd.taxonomy import balanced

K = 3


@pytest.fixture(scope="module")
def grouped():
    """Return 300 rows of at most 40 people, many of whom have several, the tree, and groups, some of fewer than K people."""
    chance = np.random.default_rng(5)
    bags = [np.minimum(chance.zipf(1.4, 3), 30).astype(str).tolist() for _ in range(300)]
    data = Transactions.from_rows(bags, people=np.minimum(chance.zipf(1.7, 300), 40).astype(str).tolist())
    tree = balanced(data, 3)
    classes = partition(data, tree, k=K, publish="bag")
    assert np.count_nonzero(classes.people(data.person) < K) > 10
    return data, tree, classes


def on_spark(spark, path, grouped, person, shard):
    """Return what each row publishes once classes are merged on Spark, and the notes."""
    _, tree, classes = grouped
    nodes, counts = (
        lists(classes.start, values).take(classes.of_row) for values in (classes.nodes, classes.counts)
    )
    places = pa.array([int(number).to_bytes(4, "big") for number in classes.of_row])
    row = np.arange(len(classes.of_row))
    work = Work(spark, path)
    published = work.table(
        pa.table({"row": row, "place": places, "nodes": nodes, "counts": counts}), "made.parquet"
    )
    rows = work.table(pa.table({"row": row, "person": person.astype(np.int64)}), "rows.parquet")
    made = with_people_on_spark(published, rows, tree, k=K, shard=shard, work=work)
    found = made.published.toArrow().sort_by("row")
    return list(zip(found["nodes"].to_pylist(), found["counts"].to_pylist(), strict=True)), made.notes


def test_one_shard_merges_as_the_local_engine_does(spark, tmp_path, grouped):
    data, tree, classes = grouped
    found, notes = on_spark(spark, tmp_path, grouped, data.person, 10_000)
    merged = with_people(classes, tree, data.person, K)
    spans = [slice(*merged.start[own : own + 2]) for own in merged.of_row]
    assert found == [(merged.nodes[span].tolist(), merged.counts[span].tolist()) for span in spans]
    assert notes == merged.notes


def test_several_shards_leave_no_class_of_fewer_people_and_publish_what_is_true(spark, tmp_path, grouped):
    data, tree, classes = grouped
    found, _ = on_spark(spark, tmp_path, grouped, data.person, 90)
    people = {}
    for record, person in zip(map(str, found), data.person.tolist(), strict=True):
        people.setdefault(record, set()).add(person)
    assert min(map(len, people.values())) >= K
    parent = tree_arrays(tree).parent
    for row, (nodes, counts) in enumerate(found):  # no more below a node than the class had published there
        own = slice(*classes.start[classes.of_row[row] : classes.of_row[row] + 2])
        had, said = below(parent, classes.nodes[own], classes.counts[own]), below(parent, nodes, counts)
        assert all(said[node] <= had.get(node, 0) for node in said)


def below(parent, nodes, counts):
    """Return how many copies there are at or below each node."""
    total = {}
    for node, count in zip(nodes, counts, strict=True):
        while node >= 0:
            total[int(node)] = total.get(int(node), 0) + int(count)
            node = parent[node]  # noqa: PLW2901 - towards the root
    return total


def test_a_shard_with_too_few_people_is_refused(spark, tmp_path, grouped):
    classes = grouped[2]
    person = np.where(classes.of_row < len(classes) // 2, 0, np.arange(len(classes.of_row)))
    with pytest.raises(
        BadInputError, match=r"fewer than 3 different people: give a larger spark.incrowd.shard"
    ):
        on_spark(spark, tmp_path, grouped, person, K)
