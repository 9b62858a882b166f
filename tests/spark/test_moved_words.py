"""Moved words on Spark: the release of the local engine, also where the cluster groups."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from test_engine import on_both
from test_mosaic import is_proven


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("moved") / "log.csv"
    words = ("jaguar", "cheetah", "truck", "zorblax")
    lines = [f"u{user},2006-03-01 10:00:00,{words[user % 4]} {words[(user + 1) % 4]}" for user in range(40)]
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", ["mosaic", "flock", "partition"])
def test_moved_words(log, tmp_path, method):
    moves = tmp_path / "moves.tsv"
    moves.write_text("jaguar\tmotor vehicle\nzorblax\tbig cat\n", encoding="utf-8")
    own = {"parameters": {"confidence": "1"}} if method == "mosaic" else {}
    wanted = {"method": method, "k": 3, "seed": 5, "items": "terms", "unit": "user", "moves": moves}
    found, local = on_both(log, tmp_path, private_map="map", **wanted, **own)
    assert found["parameters"].get("moved") == local["parameters"].get("moved")
    rows = pq.read_table(tmp_path / "spark/out/taxonomy.parquet").to_pylist()
    parents = {row["label"]: row["parent"] for row in rows if row["exact"]}
    assert (parents["jaguar"], parents["zorblax"]) == ("motor vehicle", "big cat")
    assert b'"moved": 2' in (tmp_path / "spark/out/manifest.json").read_bytes()
    assert is_proven(tmp_path, log)
