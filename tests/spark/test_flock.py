"""Flock on Spark: the local method's records, whatever the shards, the partitions and the order of the rows."""

from __future__ import annotations

import random
from collections import Counter
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType

import incrowd as ic
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.kernels import arrays, lcg
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.logs.synth.generate import write_log
from incrowd.methods.flock import blocks, growing
from incrowd.methods.flock import method as local
from incrowd.methods.flock import search as flock_search
from incrowd.spark.bags import lists
from incrowd.spark.flock import equal as flock_equal
from incrowd.spark.flock import measure as flock_measure
from incrowd.spark.flock import method as on_spark
from incrowd.spark.flock import splits as flock_splits
from incrowd.spark.flock import units as flock_units
from incrowd.spark.work import Work
from incrowd.taxonomy import Attached, attach, balanced

Published = dict[int, tuple[int, list[int], list[int]]]


def frame(session: SparkSession, data: Attached, order: list[int] | None = None) -> DataFrame:
    """Return the rows that hold anything as the parts of the engine hand them on, in some order."""
    rows = leaf_rows(data.transactions, data.taxonomy)
    columns = (lists(rows.start, values) for values in (rows.leaf, rows.times))
    numbers = pa.array(np.arange(len(data.transactions)))
    table = pa.Table.from_arrays([numbers, *columns], ["row", "leaf", "times"])
    filled = np.flatnonzero(np.diff(rows.start))
    return session.createDataFrame(table.take(pa.array(filled if order is None else filled[order])))


def locally(data: Attached, **parameters: Any) -> Published:
    classes = local.flock(data.transactions, data.taxonomy, **parameters)
    parts = [slice(*classes.start[c : c + 2]) for c in range(len(classes))]
    bags = [
        (number, classes.nodes[part].tolist(), classes.counts[part].tolist())
        for number, part in enumerate(parts)
    ]
    return {row: bags[c] for row, c in enumerate(classes.of_row.tolist()) if c >= 0}


def on_cluster(rows: DataFrame, data: Attached, work: Any, **parameters: Any) -> Published:
    made = on_spark.flock_on_spark(
        rows, tree_arrays(data.taxonomy), data.taxonomy, work=str(work), **parameters
    ).toArrow()
    assert len(set(made.column("row").to_pylist())) == len(made)
    columns = (made.column(name).to_pylist() for name in ("row", "place", "nodes", "counts"))
    number = {place: number for number, place in enumerate(sorted(set(made.column("place").to_pylist())))}
    return {row: (number[place], nodes, counts) for row, place, nodes, counts in zip(*columns, strict=True)}


def set_sizes(patch: pytest.MonkeyPatch, **sizes: int) -> None:
    """Make blocks and neighbourhoods small, in both engines."""
    for name, size in sizes.items():
        patch.setattr(local, name, size)


def made_rows(count: int, seed: int) -> Attached:
    """Rows of none to four of 60 items, some far more usual than others."""
    dice = random.Random(seed)
    rows = [
        [f"i{int(60 * dice.random() ** 3):02}" for _ in range(dice.choice([0, 1, 1, 2, 3, 4]))]
        for _ in range(count)
    ]
    transactions = Transactions.from_rows(rows)
    return attach(transactions, balanced(transactions, 3))


@pytest.fixture
def watched(monkeypatch) -> SimpleNamespace:
    """Note what comes to the driver, and how many rows the parts have that are handed to shards."""
    seen = SimpleNamespace(collected=[], parts=[])
    kind = import_module("pyspark.sql.classic.dataframe").DataFrame
    collect, split = kind.collect, flock_splits.split_units

    def collecting(frame):
        lines = collect(frame)
        seen.collected.append((frame.schema, len(lines)))
        return lines

    def splitting(*arguments, **sizes):
        found = split(*arguments, **sizes)
        parts = found.select("part", "row").toArrow()
        rows = Counter()
        for part, members in zip(*(parts.column(name).to_pylist() for name in ("part", "row")), strict=True):
            rows[part] += len(members)
        seen.parts.append(list(rows.values()))
        return found

    monkeypatch.setattr(kind, "collect", collecting)
    monkeypatch.setattr(on_spark, "split_units", splitting)
    return seen


# The same records


@pytest.mark.parametrize(
    ("k", "specificity", "shard", "partitions"),
    [(2, 0.8, 100, 5), (3, 0, 120, 1)],
    ids=["5 partitions", "1 partition"],
)
def test_small_shards_give_the_same_records(  # noqa: PLR0917 - fixtures
    spark, tmp_path, monkeypatch, watched, k, specificity, shard, partitions
):
    """Several blocks and neighbourhoods, cut on Spark more than once; nothing of a row comes to the driver."""
    set_sizes(monkeypatch, BLOCK=20, LEAST_GROUPS=6, NEIGHBOURHOOD=24, ROUNDS=2)
    data = made_rows(300, seed=k)
    expected = locally(data, k=k, specificity=specificity)
    order = random.Random(k).sample(range(len(expected)), len(expected))
    rows = frame(spark, data, order).repartition(partitions)
    assert on_cluster(rows, data, tmp_path, k=k, specificity=specificity, shard=shard) == expected
    assert len(watched.parts) == 3
    assert all(len(parts) > 1 and max(parts) <= shard for parts in watched.parts)
    assert max(map(len, watched.parts)) > 3
    for schema, lines in watched.collected:
        assert not any(isinstance(field.dataType, ArrayType) for field in schema)
        assert not {"row", "leaf", "times", "items", "place"} & set(schema.names)
        assert lines < len(expected)


@pytest.mark.slow
def test_the_nouns_of_a_log(spark, tmp_path, monkeypatch, watched):
    """1,600 made-up people in shards of 400."""
    set_sizes(monkeypatch, BLOCK=200, LEAST_GROUPS=20, NEIGHBOURHOOD=200, ROUNDS=1)
    write_log(tmp_path / "log.tsv", users=1_600, seed=2, people="all")
    transactions = ic.read_log(tmp_path / "log.tsv").transactions()
    data = attach(transactions, ic.wordnet(transactions))
    rows = frame(spark, data).repartition(5)
    found = on_cluster(rows, data, tmp_path / "work", k=5, specificity=0.8, shard=400)
    assert found == locally(data, k=5, specificity=0.8)
    assert all(len(parts) >= 4 and max(parts) <= 400 for parts in watched.parts)


@pytest.mark.parametrize("others", [0, 1, 4])
def test_rows_that_are_the_same(spark, tmp_path, monkeypatch, others):
    """Kinds of 3 to 8 rows; those few rows that are like none pull the last kind back."""
    set_sizes(monkeypatch, ROUNDS=1)
    kinds = [[f"i{n}", f"i{n + 1}"] for n in range(6)]
    rows = [kind for n, kind in enumerate(kinds) for _ in range(3 + n)]
    rows += [[f"o{n}"] * (n + 1) for n in range(others)]
    random.Random(3).shuffle(rows)
    transactions = Transactions.from_rows(rows)
    data = attach(transactions, balanced(transactions, 2))
    found = on_cluster(frame(spark, data), data, tmp_path, k=3, specificity=0.8, shard=10_000)
    assert found == locally(data, k=3, specificity=0.8)


def test_kinds_of_rows_that_share_a_digest(spark):
    """Rows <a> <b> <a> <a> with one digest are three kinds, as in the local method: a kind is a run of equal rows."""
    rows = [(n, [leaf], [1], bytes(8) + n.to_bytes(8, "big")) for n, leaf in enumerate([0, 1, 0, 0])]
    kinds = flock_equal._kinds(spark.createDataFrame(rows, flock_equal.PLACED))
    found = {line["row"]: (line["kind"], line["copies"], line["nth"]) for line in kinds.collect()}
    assert found == {0: (1, 1, 0), 1: (2, 1, 0), 2: (3, 2, 0), 3: (3, 2, 1)}


# Cuts


@settings(max_examples=150)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=80), st.integers(1, 40))
def test_cuts_say_who_goes_left(counts, most):
    """Those with a smaller count than that of the first unit on the right, and as many with its count as are missing then."""
    most, ordered = min(most, len(counts) - 1), sorted(counts)
    cut = flock_splits._cut(sorted(Counter(counts).items()), most)
    assert 0 < cut.left < len(counts)
    assert cut.at == ordered[cut.left]
    assert cut.equal == counts.count(cut.at)
    assert cut.some == cut.left - sum(count < cut.at for count in counts)


@pytest.mark.parametrize("some", [1, 17, 39])
def test_borders_between_places(spark, tmp_path, some):
    """Whatever the place is that the border falls on: before it are as many places of its part as are wanted."""
    dice = random.Random(some)
    places = sorted({dice.choice([b"\0", b"\1ab"]) * 2 + dice.randbytes(2) for _ in range(60)})[:40]
    lines = [(part, place, 2) for place in places for part in ("0", "10")]
    lines += [("0", b"other", 1), ("1", b"other", 2)]
    dice.shuffle(lines)
    counted = spark.createDataFrame(lines, "part string, place binary, count int")
    cuts = {
        "1": flock_splits.Cut(1, 2, 0, 1),
        "10": flock_splits.Cut(5, 2, 5, 40),
        "0": flock_splits.Cut(some + 1, 2, some, 40),
    }
    borders = flock_splits._borders(counted, cuts, Work(spark, tmp_path), "borders")
    before = {part: sum(place < border for place in places) for part, border in borders.items()}
    assert before == {"0": some, "10": 5}


# Kernels and parameters


def test_all_kernels_are_compiled_beforehand():
    """What a shard needs, `compile_kernels` has compiled, with the very types: no two processes compile at once."""
    kernels = [
        function
        for module in (arrays, blocks, growing, flock_search, lcg)
        for function in vars(module).values()
        if hasattr(function, "signatures") and not function.targetoptions.get("no_cpython_wrapper")
    ]
    flock_measure.compile_kernels()
    before = {kernel: list(kernel.signatures) for kernel in kernels}
    data = made_rows(60, seed=5)
    sent = SimpleNamespace(
        value=flock_measure.WeightedTree(tree_arrays(data.taxonomy), local.weights(data.taxonomy, 0.8))
    )
    measure = flock_measure.Measure(sent)
    limits = on_spark.Limits(local.Sizes(k=2, block=20, neighbours=6), shard=60)
    rows = leaf_rows(data.transactions, data.taxonomy)
    filled = np.flatnonzero(np.diff(rows.start))
    units = flock_units.Units(np.arange(len(filled) + 1), filled, arrays.compact(rows, filled))
    alone = flock_units.columns_of(units, units.start, np.arange(len(filled)))
    table = pa.table(
        {"part": pa.repeat("", len(filled)), "place": pa.array(filled.astype(str)).cast("binary"), **alone}
    )
    used = {kernel: list(kernel.signatures) for kernel in kernels}
    groups = on_spark._grow_shard(measure, limits, table)
    improved = on_spark._improve_shard(measure, limits, groups)
    list(on_spark._published(measure, improved.to_batches()))
    list(flock_splits._summed(measure, groups.to_batches()))
    list(flock_splits._counted(measure, {"": 1}, groups.to_batches()))
    list(flock_equal._placed(measure, table.set_column(2, "row", pa.array(filled)).to_batches()))
    assert {kernel: list(kernel.signatures) for kernel in kernels} == used
    assert all(set(before[kernel]) <= set(used[kernel]) for kernel in kernels)


def test_refuses_shards_that_hold_no_block(spark, tmp_path):
    data = made_rows(20, seed=1)
    with pytest.raises(BadInputError) as caught:
        on_cluster(frame(spark, data), data, tmp_path, k=2, shard=7_999)
    assert str(caught.value) == "spark.incrowd.shard must be at least 9,000 for flock with k = 2 (got 7999)"


def test_refuses_more_than_there_are_rows(spark, tmp_path):
    data = made_rows(4, seed=1)
    filled = len(frame(spark, data).collect())
    with pytest.raises(BadInputError, match=rf"^k must be at most {filled}, the number of records"):
        on_cluster(frame(spark, data), data, tmp_path, k=5)
