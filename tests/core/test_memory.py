"""What a job may take of the machine's memory, and what it needs."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from incrowd.core import memory
from incrowd.core.memory import Footprint, Sizes, check_memory, machine_memory, needed_memory, parse_memory
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.methods.registry import METHODS


def many(records, each=10, distinct=1000):
    """Return so many records with the same number of items."""
    data = Transactions(
        np.arange(records + 1, dtype=np.int64) * each,
        np.tile(np.arange(each, dtype=np.int32), records),
        np.ones(records * each, dtype=np.int32),
        pa.array([f"item {number:08}" for number in range(distinct)]),
        pa.array([str(number) for number in range(records)]),
    )
    return Sizes.of(data)


@pytest.mark.parametrize("method", ["partition", "flock", "ssc"])
def test_what_is_refused_fits_with_the_number_that_is_given(method):
    data = many(500_000)
    with pytest.raises(BadInputError, match="500,000 records of 1,000 distinct items") as caught:
        check_memory(data, method, Footprint(120), "640MB")
    would_do = re.search(r"memory=.(\S+).,", str(caught.value))
    assert would_do
    check_memory(data, method, Footprint(120), would_do[1])
    assert "item 0" not in str(caught.value)


def test_more_of_anything_needs_more():
    base = needed_memory(many(1000), Footprint(120))
    assert needed_memory(many(2000), Footprint(120)) > base
    assert needed_memory(many(1000, each=20), Footprint(120)) > base
    assert needed_memory(many(1000, distinct=2000), Footprint(120)) > base
    assert needed_memory(many(1000), Footprint(85)) < base


def test_a_small_job_fits_into_the_least_memory():
    check_memory(many(1000), "flock", Footprint(120), "640MB")


def test_a_job_may_take_three_quarters_of_what_the_process_was_given(tmp_path, monkeypatch):
    group = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTROL_GROUP", group)
    whole = parse_memory(machine_memory())
    group.write_text("max\n")
    assert parse_memory(machine_memory()) == whole
    group.write_text("2000000000\n")
    assert machine_memory() == "1500MB"
    group.write_text("100000000\n")
    assert machine_memory() == "640MB"


@pytest.mark.parametrize(
    ("records", "entries", "distinct", "measured"),
    [
        (
            1_760_965,
            13_551_214,
            966_376,
            1.58e9,
        ),  # sessions of a log of 3.6 million lines with kinds: words, addresses, weeks, places
    ],
)
def test_the_estimate_of_mosaic_is_near_what_was_measured(records, entries, distinct, measured):
    sizes = Sizes(records, entries, pa.repeat("an item of 25 characters.", distinct))
    needed = needed_memory(sizes, METHODS["mosaic"].footprint)
    assert measured <= needed <= 1.5 * measured
