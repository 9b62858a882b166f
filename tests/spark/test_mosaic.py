"""Mosaic on Spark against the local engine: the same tiles, byte for byte, and a refusal where the driver cannot hold the units."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from cluster import BLOCK
from test_engine import on_both

from helpers import Quiet
from incrowd.core import memory
from incrowd.errors import BadInputError
from incrowd.jobs.audit import audit_release
from incrowd.jobs.spec import Options
from incrowd.logs.synth.generate import write_log
from incrowd.spark import run as spark_run
from incrowd.spark.run import run_spark_job

GIANT = "giant#1"  # a name that looks like that of a session


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of a month in several blocks: sixty people, and one who has typed all that the others have, most of it in one session.

    Twenty accounts are of one day only, and do not count. Some queries have clicks.
    """
    path = tmp_path_factory.mktemp("logs") / "a log.tsv"
    write_log(path, lines=1_200, seed=4, people="all")
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    queries = [line.split("\t")[1] for line in lines]
    # Neighbours in the log, who type the same again, are different people here.
    said = [(f"u{place % 60}", query, 1 + place % 28) for place, query in enumerate(queries)]
    said += [(GIANT, query, 1 if place % 3 else 1 + place % 28) for place, query in enumerate(queries)]
    said += [(GIANT, "zyzzyva breeder", 30)]
    said += [(f"new{place % 20}", query, 20) for place, query in enumerate(queries[:200])]
    clicks = ("\t", "\t", "1\thttp://www.kennel.example")
    rows = [
        f"{user}\t{query}\t2006-04-{day:02} 07:17:12\t{clicks[place % 3]}"
        for place, (user, query, day) in enumerate(said)
    ] + ["1\tonly two"]
    order = np.random.default_rng(1).permutation(len(rows))
    path.write_text("\n".join([header, *(rows[place] for place in order)]) + "\n", encoding="utf-8")
    assert path.stat().st_size > BLOCK  # several of them
    return path


def is_proven(where, original):
    """Tell whether the originals and the private map prove what Spark has published."""
    out, private_map = where / "spark/out", where / "spark/map"
    held = {"original": original, "private_map": private_map, "taxonomy": None}
    return audit_release(out, **held, memory="1GB", listener=Quiet()).confirmed


@pytest.mark.usefixtures("spark")
def test_sessions_of_terms_and_a_giant_person(log, tmp_path):
    found, _ = on_both(
        log, tmp_path, method="mosaic", k=3, unit="session:30m", items="terms", seed=5,
        private_map="map", private_report="page.html", text_forms=("jsonl", "csv", "dat"), title="Queries", date="2026-05-01",
    )  # fmt: skip
    assert found["claim"]["kind"] == "k-anonymous tiles"
    assert found["claim"]["distinct"] == "people"
    assert found["claim"]["aged"] == 2  # the log spans a month
    assert found["use"]["trend_error"] > 0
    assert found["use"]["clicks_recall"] == 0
    assert found["people_min"] >= 3
    assert found["rejected"]["by_reason"] == {"2 fields, not 5": 1}
    for name in ("map", "page.html"):
        assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    assert is_proven(tmp_path, log)
    tiles = pq.read_table(tmp_path / "spark/out/tiles.parquet").to_pylist()
    assert max(len(tile["items"]) for tile in tiles) > 2
    assert any(tile["order"] for tile in tiles)
    assert max(tile["people"] for tile in tiles) > 10
    # However often one person has an item, each tile counts them at most three times.
    assert all(tile["units"] <= 3 * tile["people"] for tile in tiles)
    assert not any(b"zyzzyva" in file.read_bytes() for file in (tmp_path / "spark/out").iterdir())


@pytest.fixture(scope="module")
def few_days(tmp_path_factory):
    """Thirty people around two midnights, of which one ends a week: each has clicks, queries of one second, one that is typed again, and an empty one."""
    path = tmp_path_factory.mktemp("days") / "days.csv"
    lines = ["user,time,query,url"]
    for user in range(30):
        said = [("wine shop", "red wine"), ("dog food", "dog")][user % 2]
        for night in ("2006-03-04", "2006-03-05"):  # a Saturday and a Sunday
            lines += [f"u{user},{night} 23:59:59,{query}," for query in reversed(said)]
        lines += [f"u{user},2006-03-0{day} 00:00:00,{said[0]},http://{url}" for day in (5, 6) for url in "ab"]
        lines += [f"u{user},2006-03-06 07:00:00,,", f"u{user},2006-03-20 07:00:00,{said[user % 3 > 0]},"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("unit", "units"), [("query", 240), ("day", 120), ("week", 90)])
def test_queries_days_and_weeks(few_days, tmp_path, unit, units):
    found, _ = on_both(
        few_days, tmp_path, method="mosaic", k=3, unit=unit, items="terms", private_map="map", seed=5
    )
    assert (found["claim"]["unit"], found["records_in"]) == (unit.partition(":")[0], units)
    assert found["groups"] > 1
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", ["mosaic", "flock"])
def test_words_that_are_never_published_and_the_certificate_of_mini_sessions(few_days, tmp_path, method):
    never = tmp_path / "never.txt"
    never.write_text("wine\n", encoding="utf-8")
    wanted = {"unit": "mini-session:2/10m", "items": "terms", "never": never, "certificate": True}
    found, local = on_both(few_days, tmp_path, method=method, k=3, seed=5, private_map="map", **wanted)
    assert (found["claim"]["unit"], found["records_in"]) == ("mini-session", 180)
    assert found["groups"] > 1
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()
    assert found["input"]["never_occurrences"] == local["input"]["never_occurrences"] > 0
    # The days on which all are active, and not those of one.
    assert found["parameters"]["first_day"] == "2006-03-04"
    assert found["parameters"]["last_day"] == "2006-03-20"
    dictionaries = [(tmp_path / name / "out.dictionary.html").read_bytes() for name in ("spark", "local")]
    assert dictionaries[0] == dictionaries[1]
    if method == "mosaic":  # the records of flock are in another file there
        pages = [(tmp_path / name / "out.certificate.html").read_bytes() for name in ("spark", "local")]
        assert pages[0] == pages[1]
    assert not any(
        b"wine" in file.read_bytes() for file in (tmp_path / "spark/out").rglob("*") if file.is_file()
    )


@pytest.mark.usefixtures("spark")
def test_people_with_nouns_that_wordnet_knows_in_one_series(log, tmp_path):
    ledger = tmp_path / "series/ledger"
    ledger.parent.mkdir(mode=0o700)
    ledger.write_text('{"format":"incrowd-series/1","seed":5}\n', encoding="utf-8")
    ledger.chmod(0o600)
    found, _ = on_both(
        log, tmp_path, method="mosaic", k=2, unit="user", items="nouns", unlisted="drop", sets=True,
        parameters={"counts": "rounded"}, series=ledger.parent,
    )  # fmt: skip
    assert found["items"]["unlisted"] > 0
    assert found["claim"]["aged"] == 2
    # The local engine was given the same data: otherwise its release would overlap the first, and be refused.
    lines = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    assert [line["state"] for line in lines[1:]] == ["begun", "published"] * 2
    assert lines[1]["entry"] == lines[3]["entry"]


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
        "give memory='1.1GB', or fewer records"
    )
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("unit", "time"), [("query", "week"), ("user", "day")])
def test_items_of_further_kinds(tmp_path, unit, time):
    """Clicks, shown addresses, times and places: the same tiles in the same columns, thresholds and all."""
    path = tmp_path / "log.tsv"
    write_log(path, lines=900, seed=4, people="all", with_columns="place,device,language,shown")
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    rows = [f"u{place % 40}\t" + line.partition("\t")[2] for place, line in enumerate(lines)]
    path.write_text("\n".join([header, *rows, *rows[:200]]) + "\n", encoding="utf-8")
    found, _ = on_both(
        path,
        tmp_path,
        method="mosaic",
        k=3,
        unit=unit,
        kinds=f"url,shown,hour,{time},place,device,language",
        seed=5,
        private_map="map",
        parameters={"thresholds": "place=4"},
    )
    assert found["claim"]["holds"]
    assert is_proven(tmp_path, path)


@pytest.mark.parametrize(
    ("window", "days"), [("2006-04-16..2006-04-20T12:00", range(16, 21)), ("2006-04-21..", range(21, 29))]
)
def test_a_window_is_the_same_events_on_both(log, tmp_path, window, days):
    found, _ = on_both(
        log, tmp_path, method="mosaic", k=3, unit="session:30m", items="terms", seed=5, private_map="map",
        window=window,
    )  # fmt: skip
    assert found["claim"]["aged"] == 2  # the log had spanned two weeks before the window
    assert found["window"]["before"] > 0
    lines = log.read_text(encoding="utf-8").splitlines()
    assert found["window"]["inside"] == sum(f"\t2006-04-{day:02} " in line for line in lines for day in days)
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()
    assert is_proven(tmp_path, log)
