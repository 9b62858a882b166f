"""Mosaic on Spark against the local engine: the same tiles, byte for byte, and a refusal where the driver cannot hold the units."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from test_engine import on_both

from helpers import Quiet
from incrowd.core import memory
from incrowd.errors import BadInputError
from incrowd.jobs.audit import audit_release
from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.logs.synth.generate import write_log
from incrowd.spark import run as spark_run
from incrowd.spark.run import run_spark_job

GIANT = "giant#1"  # a name that looks like that of a session


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log in several blocks: sixty people, and one who has typed all that the others have, most of it in one session."""
    path = tmp_path_factory.mktemp("logs") / "a log.tsv"
    write_log(path, lines=1_200, seed=4, people="all")
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    queries = [line.split("\t")[1] for line in lines]
    # Neighbours in the log, who type the same again, are different people here.
    said = [(f"u{place % 60}", query, 1 + place % 28) for place, query in enumerate(queries)]
    said += [(GIANT, query, 1 if place % 3 else 1 + place % 28) for place, query in enumerate(queries)]
    said += [(GIANT, "zyzzyva breeder", 30)]
    rows = [f"{user}\t{query}\t2006-04-{day:02} 07:17:12\t\t" for user, query, day in said] + ["1\tonly two"]
    order = np.random.default_rng(1).permutation(len(rows))
    path.write_text("\n".join([header, *(rows[place] for place in order)]) + "\n", encoding="utf-8")
    assert path.stat().st_size > 64 * 1024  # several blocks
    return path


def is_proven(where, original):
    """Tell whether the originals and the private map prove what Spark has published."""
    out, private_map = where / "spark/out", where / "spark/map"
    held = {"original": original, "private_map": private_map, "taxonomy": None, "columns": None}
    return audit_release(out, **held, memory="1GB", listener=Quiet()).confirmed


@pytest.mark.usefixtures("spark")
def test_sessions_of_terms_and_a_giant_person(log, tmp_path):
    found, _ = on_both(
        log, tmp_path, method="mosaic", k=3, unit="session:30m", items="terms", private_map="map", seed=5
    )
    assert found["claim"]["kind"] == "k-anonymous tiles"
    assert found["claim"]["aged"] == 2  # the log spans a month
    assert found["claim"]["distinct"] == "people"
    assert found["people_min"] >= 3
    assert found["rejected"]["by_reason"] == {"2 fields, not 5": 1}
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()
    assert is_proven(tmp_path, log)
    tiles = pq.read_table(tmp_path / "spark/out/tiles.parquet").to_pylist()
    assert max(len(tile["items"]) for tile in tiles) > 2
    assert max(tile["people"] for tile in tiles) > 10
    # However often one person has an item, each tile counts them at most three times.
    assert all(tile["units"] <= 3 * tile["people"] for tile in tiles)
    assert not any(b"zyzzyva" in file.read_bytes() for file in (tmp_path / "spark/out").iterdir())


@pytest.mark.usefixtures("spark")
def test_words_of_a_tile_are_in_the_local_order(log, tmp_path):
    options = {"method": "mosaic", "k": 3, "unit": "session:30m", "items": "terms", "seed": 5}
    options["parameters"] = {"aged": "1"}
    run_spark_job(Options(log, tmp_path / "spark", **options), Quiet())
    run_job(Options(log, tmp_path / "local", **options), Quiet())
    one, other = (pq.read_table(tmp_path / name / "tiles.parquet") for name in ("spark", "local"))
    assert one.equals(other)
    assert any(order for order in one["order"].to_pylist())


@pytest.mark.usefixtures("spark")
def test_people_with_nouns_that_wordnet_knows(log, tmp_path):
    found, _ = on_both(
        log, tmp_path, method="mosaic", k=2, unit="user", items="nouns", unlisted="drop", sets=True, seed=5,
        parameters={"counts": "rounded"},
    )  # fmt: skip
    assert found["items"]["unlisted"] > 0


@pytest.mark.usefixtures("spark")
def test_baskets_of_which_some_are_empty(tmp_path):
    path = tmp_path / "baskets.dat"
    chance = np.random.default_rng(2)
    lines = [" ".join(map(str, np.minimum(chance.zipf(1.3, 1 + i % 7), 200))) for i in range(900)]
    lines[7] = lines[500] = ""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, _ = on_both(path, tmp_path, method="mosaic", k=5, private_map="map", seed=5)
    assert found["records_in"] == 900
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()
    assert is_proven(tmp_path, path)


@pytest.mark.usefixtures("spark")
def test_what_the_driver_cannot_hold_is_refused_before_it_comes_there(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", 10**9)
    monkeypatch.setattr(spark_run, "place_rows", None)  # whoever calls it fails
    path = tmp_path / "baskets.dat"
    path.write_text("1 2\n1 3\n2 3\n" * 20, encoding="utf-8")
    job = Options(path, tmp_path / "out", 2, method="mosaic", memory="640MB")
    with pytest.raises(BadInputError) as caught:
        run_spark_job(job, Quiet())
    assert str(caught.value) == (
        "memory of 640MB is too little for 60 records of 3 distinct items with method mosaic on the driver: "
        "give --memory 1.1GB, or fewer records"
    )
    assert list(tmp_path.iterdir()) == [path]


def test_a_series_is_for_tiles_alone(log, tmp_path):
    job = Options(log, tmp_path / "out", 3, method="partition", series=tmp_path / "ledger")
    with pytest.raises(BadInputError, match="--series with method partition is for the local engine only"):
        run_spark_job(job, Quiet())
