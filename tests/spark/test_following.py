"""What needs all originals in one process works on a cluster too: a release that follows another, series, and private reports."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow.parquet as pq
import pytest
from test_engine import on_both, records

from helpers import Quiet
from incrowd.errors import BadInputError
from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.spark.run import run_spark_job

METHODS = ("flock", "partition")


def write_users(path, users, seed):
    """Write what users typed, some words each."""
    rng = random.Random(seed)
    lines = [f"u{user},{rng.choice('abcdef')} {rng.choice('abcdefgh')}" for user in users for _ in range(2)]
    path.write_text("\n".join(["user,query", *lines]) + "\n", encoding="utf-8")
    return path


def said_of(release, private_map):
    """Return what is published of each user."""
    said = records(release).to_pylist()
    return {line["owner"]: str(said[line["row"]]) for line in pq.read_table(private_map).to_pylist()}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", METHODS)
def test_a_release_that_follows_another(method, tmp_path):
    how = {"k": 3, "method": method, "taxonomy": "balanced:3", "items": "terms"}
    first, later = (
        write_users(tmp_path / f"{number}.csv", range(6 * number, 60 + 6 * number), seed=number)
        for number in (0, 1)
    )
    before, its_map = tmp_path / "before", tmp_path / "before.map"
    run_job(Options(first, before, private_map=its_map, **how), Quiet())
    following = {"previous": its_map, "previous_release": before}
    beside = {"private_map": "map", "private_report": "report.html"}
    found, _ = on_both(later, tmp_path, **how, **following, **beside)
    assert found["claim"]["follows"] == 3
    for name in ("map", "report.html"):
        assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    both = said_of(before, its_map), said_of(tmp_path / "spark/out", tmp_path / "spark/map")
    ways = Counter(tuple(said.get(user) for said in both) for user in both[0].keys() | both[1].keys())
    assert min(ways.values()) >= 3


@pytest.mark.usefixtures("spark")
def test_one_release_in_a_series_and_no_second_of_the_same_people(tmp_path):
    log = write_users(tmp_path / "log.csv", range(40), seed=3)
    series = tmp_path / "series"
    how = {"k": 3, "method": "flock", "taxonomy": "balanced:3", "items": "terms", "series": series}
    run_spark_job(Options(log, tmp_path / "spark", **how), Quiet())
    assert (series / "index.json").exists()
    write_users(log, range(20, 60), seed=3)
    with pytest.raises(BadInputError, match="overlaps"):
        run_spark_job(Options(log, tmp_path / "again", **how), Quiet())
    with pytest.raises(BadInputError, match="overlaps"):
        run_job(Options(log, tmp_path / "again", **how), Quiet())
    assert not (tmp_path / "again").exists()
