"""The whole job on Spark against the local engine: the same records, rejects and account, and the same refusals."""

from __future__ import annotations

import json
import stat
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import BLOCK

from helpers import Quiet
from incrowd.auditing.audit import audit
from incrowd.errors import BadInputError, ClaimError
from incrowd.jobs.audit import audit_release
from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.logs.form import InputForm
from incrowd.logs.synth.generate import write_log
from incrowd.release.budget import Budget, create_budget
from incrowd.release.private_map import read_map
from incrowd.spark import collected as spark_collected
from incrowd.spark import release as spark_release
from incrowd.spark import run as spark_run
from incrowd.spark.dp import SparkPeople
from incrowd.spark.people import WithPeople
from incrowd.spark.reading.lines import read_lines
from incrowd.spark.reading.read import read
from incrowd.spark.run import run_spark_job
from incrowd.spark.session import check_java
from incrowd.spark.work import Work

SHARD = 80  # smaller than the log of 4,000 lines: its parts are split on Spark


def records(directory: Path) -> pa.Table:
    path = directory / "records.parquet"
    return (
        pa.concat_tables([pq.read_table(part) for part in sorted(path.iterdir())])
        if path.is_dir()
        else pq.read_table(path)
    )


def on_both(path: Path, where: Path, shard=None, **options):
    """Run a job on both engines; return both outcomes as JSON, and check that the releases are the same."""
    options = {"k": 4, "method": "partition", **options}
    (where / "spark").mkdir()
    (where / "local").mkdir()
    here, there = (where / name / "out" for name in ("spark", "local"))
    names = {name: options.pop(name) for name in ("private_map", "private_report") if name in options}
    private = [{option: out.with_name(name) for option, name in names.items()} for out in (here, there)]
    found = run_spark_job(Options(path, here, **private[0], **options), Quiet(), shard=shard).as_dict()
    local = run_job(Options(path, there, **private[1], **options), Quiet()).as_dict()
    if (there / "records.parquet").exists():
        assert records(where / "spark/out").equals(records(where / "local/out"))
    ours, theirs = (sorted((where / name / "out").iterdir()) for name in ("spark", "local"))
    assert [file.name for file in ours] == [file.name for file in theirs]
    for own, other in zip(ours, theirs, strict=True):
        assert own.name == "records.parquet" or own.read_bytes() == other.read_bytes()
    audited, same = (audit(where / name / "out") for name in ("spark", "local"))
    assert audited.as_dict() == same.as_dict()
    assert not audited.problems
    assert list(found) == list(local)
    for name in local.keys() - {
        "loss",
        "seconds",
        "peak_rss_mb",
        "out",
        "rejected",
        "certificate",
        "dictionary",
    }:
        assert found[name] == local[name]
    assert found.get("loss", {}) == pytest.approx(local.get("loss", {}), rel=1e-9)
    assert found["rejected"]["by_reason"] == local["rejected"]["by_reason"]
    rejects = [where / name / "rejects.jsonl" for name in ("spark", "local")]
    assert rejects[0].exists() == rejects[1].exists() == bool(found["rejected"]["by_reason"])
    if rejects[0].exists():
        assert rejects[0].read_bytes() == rejects[1].read_bytes()
        assert [stat.S_IMODE(file.stat().st_mode) for file in rejects] == [0o600, 0o600]
    assert sorted(one.name for one in (where / "spark").iterdir()) == sorted(
        one.name for one in (where / "local").iterdir()
    )
    return found, local


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "a log.tsv"
    write_log(path, lines=4_000, seed=3, people="all")
    lines = path.read_bytes().splitlines(keepends=True)
    # What a real log has: a short line, no time, no user, a blank line, bytes that are not UTF-8, other line ends.
    lines[100:100] = [b"1\tonly two\n", b"7\tcars\tsoon\t\t\n", b"\tcars\t2006-03-01 07:17:12\t\t\n", b"\n"]
    lines[2500:2500] = [b"7\tcaf\xe9 paris\t2006-03-01 07:17:12\t\t\r\n", b"x\t" + b"y" * 1_100_000 + b"\n"]
    path.write_bytes(b"".join(lines).removesuffix(b"\n"))
    return path


@pytest.mark.usefixtures("spark")
def test_a_differentially_private_list_has_the_same_claim_and_files(tmp_path):
    """Of many pairs of words of a person two count, and what one person has is not there; the budget is charged."""
    said = ["red wine", "old rome", "milk"]
    lines = [
        f"u{n},2006-03-01 10:0{place}:00,{said[place]}" for n in range(400) for place in range(1 + n % 3)
    ]
    lines += [f"zoe,2006-03-01 10:00:0{n},zorblax{n} only" for n in range(9)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    create_budget(tmp_path / "budget", eps=30.0, delta=1e-4)
    own = {"of": "pairs", "eps": 9.0, "d": 2}
    wanted = {"method": "dp", "parameters": own, "budget": tmp_path / "budget"}
    runs = {"spark": run_spark_job, "local": run_job}
    said = {
        name: run(Options(path, tmp_path / name, **wanted), Quiet()).as_dict() for name, run in runs.items()
    }
    spent = said["spark"].pop("budget"), said["local"].pop("budget")
    assert [one["name"] for one in spent[1]["releases"]] == ["spark", "local"]
    assert spent[0]["rho_spent"] == spent[1]["rho_spent"] / 2
    for name in ("manifest.json", "report.html"):
        assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    assert {**said["spark"], "out": "", "pairs": 0} == {**said["local"], "out": "", "pairs": 0}
    counts = [
        {
            (row["item_a"], row["item_b"]): row["count"]
            for row in pq.read_table(tmp_path / name / "pairs.parquet").to_pylist()
        }
        for name in runs
    ]
    assert not audit(tmp_path / "spark").problems
    # Of one pair, six and ten pairs of a person, two count at most.
    expected = {
        ("red", "wine"): 134 + 133 * 2 / 6 + 133 * 2 / 10,
        ("old", "rome"): 133 * 2 / 6 + 133 * 2 / 10,
    }
    for found in counts:
        assert found.keys() >= expected.keys()
        assert not any("zorblax" in word for pair in found for word in pair)
        assert all(abs(found[pair] - number) < 45 for pair, number in expected.items())


@pytest.mark.usefixtures("spark")
def test_what_a_cluster_refuses_costs_nothing(tmp_path):
    path, budget = tmp_path / "log.csv", tmp_path / "budget"
    path.write_text("user,time,query\nzoe,2006-03-01 10:00:00,red wine\n")
    create_budget(budget, eps=30.0, delta=1e-4)
    how = {"method": "dp", "unit": "session:30m", "distinct": "records", "budget": budget}
    with pytest.raises(BadInputError, match="method dp protects people"):
        run_spark_job(Options(path, tmp_path / "out", **how), Quiet())
    assert Budget(budget).state().releases == []


def test_what_people_give_is_written_down_before_it_is_added_up(spark, tmp_path, monkeypatch):
    """Drawn again where a part of the work is repeated, it would be added to what was read of the first draw, and a person would give more."""
    plans, settle = {}, Work.settle

    def noted(self, rows, name, **how):
        plans[name] = rows._jdf.queryExecution().analyzed().toString()
        return settle(self, rows, name, **how)

    monkeypatch.setattr(Work, "settle", noted)
    sets = spark.createDataFrame([([n, n + 1],) for n in range(9)], "items array<bigint>")
    sums = SparkPeople(Work(spark, tmp_path), sets).people(np.arange(10), 1)
    assert sums.sum.sum() == 9
    assert "MapInArrow" in plans["given"]
    assert "Aggregate" not in plans["given"]
    assert "MapInArrow" not in plans["sums"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spark")
def test_no_line_decides_on_a_cluster_whether_a_list_is_made(tmp_path):
    lines = [f"u{n}\tred wine\t2006-03-01 10:00:00\n".encode() for n in range(3_000)]
    lines.insert(2_500, b"zoe\t" + b"\xff" * 4_000 + b"\t2006-03-01 10:00:00\n")
    path = tmp_path / "log.tsv"
    path.write_bytes(b"user\tquery\ttime\n" + b"".join(lines))
    options = Options(path, tmp_path / "out", method="dp", parameters={"eps": 9.0})
    run_spark_job(options, Quiet())
    items = pq.read_table(tmp_path / "out" / "items.parquet")["item"].to_pylist()
    assert items == ["red", "wine"]


@pytest.fixture(scope="module")
def few_lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    write_log(path, users=20, seed=5, people="all")
    path.write_bytes(path.read_bytes() + b"1\tonly two\n")
    return path


@pytest.mark.usefixtures("spark")
def test_a_log_gives_the_same_release_and_the_same_rejects(log, tmp_path):
    found, _ = on_both(log, tmp_path, shard=SHARD, keep_rejected=True)
    assert found["rejected"]["by_reason"] == {
        "2 fields, not 5": 1,
        "unparsable time": 1,
        "no user": 1,
        "blank line": 1,
        "line longer than 1 MiB": 1,
    }
    assert found["input"]["bad_bytes"] == 1
    assert has_named_words(found)


def has_named_words(found):
    """Tell whether words that WordNet lacks were named, as they are unless something else is said."""
    return found["input"]["given_name_words"] > 0 and found["input"]["private_number_words"] > 0


@pytest.mark.usefixtures("spark")
def test_flock_gives_the_same_release_with_terms_and_the_local_audit_reads_it(tmp_path):
    write_log(tmp_path / "log.tsv", lines=1_500)
    options = {"items": "terms", "unlisted": "name", "text_forms": ("jsonl", "csv", "dat")}
    found, _ = on_both(tmp_path / "log.tsv", tmp_path, method="flock", **options)
    assert has_named_words(found)
    assert audit(tmp_path / "spark/out").holds
    (tmp_path / "spark/out/records.parquet/more.parquet").write_bytes(b"")
    assert not audit(tmp_path / "spark/out").holds


@pytest.mark.usefixtures("spark")
def test_whole_queries_as_items_and_the_private_map(log, tmp_path):
    found, _ = on_both(log, tmp_path, items="queries", k=2, private_map="map")
    assert stat.S_IMODE((tmp_path / "spark/map").stat().st_mode) == 0o600
    assert read_map(tmp_path / "spark/map") == read_map(tmp_path / "local/map")
    assert None not in (found["bound"], found["utility"])
    assert is_confirmed(tmp_path / "spark/out", log, tmp_path / "spark/map")


def is_confirmed(out, original, private_map):
    """Tell whether the originals and the private map prove what a release claims."""
    held = {"original": original, "private_map": private_map, "taxonomy": None}
    return audit_release(out, **held, memory="1GB", listener=Quiet()).confirmed


@pytest.mark.usefixtures("spark")
def test_concepts_as_items(few_lines, tmp_path):
    found, _ = on_both(few_lines, tmp_path, items="concepts", k=2)
    assert {"listed_words", "unlisted_words"} <= found["input"].keys()


@pytest.mark.usefixtures("spark")
def test_excite_columns_and_dropped_words_and_sets(tmp_path):
    words = ["car", "dog", "cat", "tree", "qwxyz", "house", "bread"]
    rows = [f"u{i % 60:02}\t970916{i % 24:02}0000\t{words[i % 7]} {words[i * i % 7]}" for i in range(600)]
    rows[10] = "u1\t991399000000\tno such month"
    path = tmp_path / "excite.txt"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    on_both(path, tmp_path, unlisted="drop", sets=True, parameters={"publish": "lcg"})


@pytest.mark.usefixtures("spark")
def test_baskets_in_which_invisible_characters_make_no_difference(tmp_path):
    path = tmp_path / "baskets.dat"
    lines = [" ".join(str((i * j) % 17) for j in range(1, 2 + i % 5)) for i in range(500)]
    lines[7] = ""
    lines += ["caf\u00e9 milk", "cafe\u0301 mi\u200blk", "milk"] * 10
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, _ = on_both(path, tmp_path, parameters={"publish": "bag"}, private_map="map")
    assert found["withheld"] == 1
    assert found["input"]["items"] == 17 + 2
    assert read_map(tmp_path / "spark/map") == read_map(tmp_path / "local/map")


@pytest.mark.usefixtures("spark")
def test_a_private_map_of_several_files_of_baskets_is_refused(tmp_path):
    (tmp_path / "baskets").mkdir()
    for name in ("a.dat", "b.dat"):
        (tmp_path / "baskets" / name).write_text("1 2\n1 3\n2 3\n", encoding="utf-8")
    job = Options(tmp_path / "baskets", tmp_path / "out", 2, "flock", private_map=tmp_path / "map")
    with pytest.raises(BadInputError, match="give one file, or drop --private-map"):
        run_spark_job(job, Quiet())
    assert [one.name for one in tmp_path.iterdir()] == ["baskets"]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Ten users with two or three sessions each; all sessions that speak of yachts are one user's, and one holds nothing."""
    path = tmp_path_factory.mktemp("sessions") / "sessions.csv"
    lines = ["user,time,query"]
    for user in range(10):
        for visit in range(3):
            said = ("dog cat", "car", "horse bread")[(user + visit) % 3] if user else "yacht sail"
            lines.append(f"u{user},{100_000 * visit},{said}")
            lines.append(
                f"u{user},{100_000 * visit + 1_800},{said if visit else ''}"
            )  # the gap is not longer
    lines += [f"u0,{900_000 + 10_000 * visit},yacht" for visit in range(4)]
    lines += ["u1,2000000,", "u1,2001801,bread", "u1,2001801,bread"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("spark")
def test_sessions_give_the_same_release_and_k_counts_people(sessions, tmp_path):
    found, _ = on_both(
        sessions, tmp_path, k=3, shard=None, unit="session:30m", items="terms", taxonomy="balanced:2",
        private_map="map",
    )  # fmt: skip
    assert (found["records_in"], found["withheld"]) == (36, 1)
    assert found["people_min"] >= 3
    assert found["claim"]["distinct"] == "people"
    assert found["account"][-1].startswith("Merged ")
    assert read_map(tmp_path / "spark/map") == read_map(tmp_path / "local/map")
    assert is_confirmed(tmp_path / "spark/out", sessions, tmp_path / "spark/map")


@pytest.mark.usefixtures("spark")
def test_classes_of_k_sessions_of_fewer_people_are_not_published(sessions, tmp_path, monkeypatch):
    monkeypatch.setattr(
        spark_run, "with_people_on_spark", lambda made, *_, **__: WithPeople(made.drop("place"))
    )
    job = Options(
        sessions,
        tmp_path / "out",
        3,
        method="partition",
        unit="session:30m",
        items="terms",
        taxonomy="balanced:2",
    )
    with pytest.raises(ClaimError, match="shared by fewer than 3 different people"):
        run_spark_job(job, Quiet())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spark")
def test_k_sessions_of_fewer_people_are_not_enough(tmp_path):
    path = tmp_path / "two.csv"
    lines = (f"u{row % 2},{10_000 * row},dog" for row in range(8))
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    with pytest.raises(BadInputError, match="k must be at most 2, the number of people who have anything"):
        run_spark_job(Options(path, tmp_path / "out", 3, "flock", unit="session:30m"), Quiet())
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
def test_text_in_another_encoding_is_refused_with_likely_ones(tmp_path):
    path, out = tmp_path / "log.csv", tmp_path / "out"
    path.write_bytes(
        ("user,query\n" + "".join(f"{u},cr\u00e8me br\u00fbl\u00e9e\n" for u in range(9))).encode("latin-1")
    )
    with pytest.raises(BadInputError, match=r"log.csv is not UTF-8: .* \(likely latin-1, cp1252\)"):
        run_spark_job(Options(path, out, 2, "flock"), Quiet())
    assert not out.exists()


def test_a_quoted_record_may_go_on_over_lines_and_blocks(spark, tmp_path):
    path = tmp_path / "quoted.csv"
    said = [(f"u{i % 50}", f'car {"dog" if i % 3 else "cat"}\nand "house" {i % 4}') for i in range(5_000)]
    quoted = (f'{user},"{query.replace(chr(34), chr(34) * 2)}"' for user, query in said)
    path.write_text("\n".join(["user,query", *quoted]) + "\n", encoding="utf-8")
    assert path.stat().st_size > BLOCK
    reading = read(Work(spark, tmp_path / "work"), [str(path)], InputForm(), keep_rejected=False)
    assert Counter((row["user"], row["query"]) for row in reading.good.collect()) == Counter(said)
    assert reading.rejected == {}


def test_files_are_one_log_whose_rejects_name_their_file_also_where_the_driver_measures_nothing(
    spark, log, tmp_path, monkeypatch
):
    monkeypatch.setattr(spark_collected, "MOST_ENTRIES", 0)
    (tmp_path / "parts").mkdir()
    lines = log.read_bytes().splitlines(keepends=True)
    (tmp_path / "parts/a.tsv").write_bytes(b"".join(lines[:2000]))
    (tmp_path / "parts/b.tsv").write_bytes(lines[0] + b"".join(lines[2000:]))
    whole = run_job(Options(log, tmp_path / "whole", 4, method="partition"), Quiet())
    out, private_map = tmp_path / "out", tmp_path / "map"
    job = Options(tmp_path / "parts/*.tsv", out, 4, method="partition", private_map=private_map)
    found = run_spark_job(job, Quiet()).as_dict()
    assert (found["bound"], found["utility"]) == (None, None)
    assert is_confirmed(out, log, private_map)
    assert records(out).equals(records(tmp_path / "whole"))
    assert found["input"]["lines"] == whole.made.summary["lines"] + 1
    said = [json.loads(line) for line in Path(found["rejected"]["file"]).read_text().splitlines()]
    places = [(Path(one["file"]).name, one["line"]) for one in said]
    assert places == [("a.tsv", 101), ("a.tsv", 102), ("a.tsv", 103), ("a.tsv", 104), ("b.tsv", 503)]
    assert read_lines(spark, [str(tmp_path / "parts")]).count() == found["input"]["lines"]


def parts_of(folder, times, sep="|", users=30):
    """Write two files without a header, each with a line that has too few fields."""
    folder.mkdir()
    for number, name in enumerate(("a.txt", "b.txt")):
        rows = [f"u{user}{sep}car dog {user % 3}{sep}{times[number]}\n" for user in range(users)]
        (folder / name).write_text("".join([*rows, "x\n"]), encoding="utf-8")
    return [folder / "a.txt", folder / "b.txt"]


@pytest.mark.usefixtures("spark")
def test_what_is_said_of_the_input_holds_and_sessions_counted_as_records_are_said_to_be_so(tmp_path):
    paths = parts_of(tmp_path / "logs", ["31-03-2006 10:00", "31-03-2006 10:31"])
    hers = [f"her|yacht sail|31-03-2006 {hour}:00\n" for hour in range(12, 18)]
    paths[0].write_text(paths[0].read_text(encoding="utf-8") + "".join(hers), encoding="utf-8")
    said = {"delimiter": "pipe", "columns": "user=1,query=2,time=3", "time_format": "%d-%m-%Y %H:%M"}
    options = {"items": "terms", "taxonomy": "balanced:2", "unit": "session:30m", "distinct": "records"}
    found, _ = on_both(paths, tmp_path, **options, **said)
    assert found["records_in"] == 60 + len(hers)
    assert found["people_min"] == 1
    assert found["claim"]["distinct"] == "records"


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("times", "line"),
    [
        (["03/04/2006", "03/04/2006"], "may begin with the month or with the day"),
        (["2006-03-31", "31.03.2006"], "not written in one way"),
        (["10:00", "10:00"], "day='2006-03-31'"),
    ],
)
def test_times_that_cannot_be_told_are_refused(tmp_path, times, line):
    paths = parts_of(tmp_path / "logs", times)
    job = Options(paths, tmp_path / "out", 2, "partition", delimiter="|", columns="user=1,query=2,time=3")
    with pytest.raises(BadInputError, match=line):
        run_spark_job(job, Quiet())
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'[{"user": "u", "query": "q"}]', "is a JSON array: write one object a line"),
        (
            "20060331235959\t57375476989eea\t搜索食物\t1\t1\tx\n".encode("gbk"),
            "is in gb18030: convert it to UTF-8",
        ),
    ],
)
def test_a_file_that_only_the_local_engine_reads(tmp_path, content, line):
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(BadInputError, match=line):
        run_spark_job(Options(tmp_path / "log", tmp_path / "out", 2, "partition"), Quiet())


@pytest.mark.usefixtures("spark")
def test_a_file_that_comes_by_two_paths(tmp_path):
    paths = parts_of(tmp_path / "logs", ["1", "2"])
    with pytest.raises(BadInputError, match=r"a\.txt is given twice"):
        run_spark_job(Options([tmp_path / "logs", paths[0]], tmp_path / "out", 2, "partition"), Quiet())


@pytest.mark.usefixtures("spark")
def test_nothing_is_published_unless_the_audit_holds(few_lines, tmp_path, monkeypatch):
    count_records = spark_release.count_records

    def one_row_less(spelled, labels, records_in):
        counts = count_records(spelled, labels, records_in)
        return msgspec.structs.replace(counts, groups=counts.groups - 1)

    monkeypatch.setattr(spark_release, "count_records", one_row_less)
    with pytest.raises(ClaimError, match="groups is not what was counted"):
        run_spark_job(Options(few_lines, tmp_path / "out", 2, method="partition"), Quiet())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spark")
def test_without_its_private_map_nothing_is_published_and_what_lies_between_steps_is_private(
    few_lines, tmp_path, monkeypatch
):
    def no_space(*_):
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())
        raise OSError(28, "No space left on device")

    modes = []
    monkeypatch.setattr(spark_release.SparkRelease, "owners", no_space)
    job = Options(few_lines, tmp_path / "out", 2, method="partition", private_map=tmp_path / "map")
    with pytest.raises(BadInputError, match="No space left"):
        run_spark_job(job, Quiet())
    assert sorted(modes) == [0o600, *[0o700] * 3]  # rejects; the steps, and the drafts of map and release
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"method": "clump"}, "method clump is for the local engine only"),
        ({"method": "dp", "parameters": {"of": "clicks"}}, "of=clicks is for the local engine only"),
        ({"encoding": "gbk"}, "--encoding gbk is for the local engine only"),
        ({"format": "json"}, "--format json is for the local engine only"),
        ({"input": ["a.tsv", "-"]}, "input - is for the local engine only"),
        ({"input": ["a.tsv", "b.ZIP"]}, "input b.ZIP is for the local engine only"),
        ({"input": "a.xlsx"}, "a.xlsx is a spreadsheet: save it as CSV"),
        ({"delimiter": "||"}, "delimiter must be one ASCII character"),
        ({"series": Path("ledger"), "encoding": "gbk"}, "--encoding gbk is for the local engine only"),
        ({"k": 1}, "k must be at least 2"),
        ({"memory": "4XB"}, "memory must be a size like 4GB"),
    ],
)
def test_what_is_local_only_is_refused_before_anything_starts(tmp_path, monkeypatch, options, line):
    monkeypatch.chdir(tmp_path)
    options = {"input": tmp_path / "log", "k": 4, "method": "partition", **options}
    with pytest.raises(BadInputError, match=line):
        run_spark_job(Options(out=tmp_path / "out", **options), Quiet())
    assert list(tmp_path.iterdir()) == []  # no ledger either


def test_an_output_that_exists_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(BadInputError, match=r"out exists; choose another name"):
        run_spark_job(Options(tmp_path / "log", tmp_path / "out", 4, method="partition"), Quiet())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("many", "spark.incrowd.shard must be a whole number of records, 1 or more (got 'many')"),
        ("0", "spark.incrowd.shard must be a whole number of records, 1 or more (got '0')"),
        ("500", "spark.incrowd.shard must be at least 10,800 for flock with k = 5 (got 500)"),
    ],
)
def test_a_shard_that_cannot_be_is_refused_before_anything_is_read(spark, tmp_path, setting, line):
    spark.conf.set("spark.incrowd.shard", setting)
    try:
        with pytest.raises(BadInputError) as caught:
            run_spark_job(Options(tmp_path / "no.tsv", tmp_path / "out", 5, method="flock"), Quiet())
    finally:
        spark.conf.unset("spark.incrowd.shard")
    assert str(caught.value) == line


@pytest.mark.usefixtures("java")
def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(BadInputError, match=r"input .*nothing\.tsv does not exist"):
        run_spark_job(Options(tmp_path / "nothing.tsv", tmp_path / "out", 4, method="partition"), Quiet())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spark")
def test_a_k_that_nobody_can_give_names_the_rejects_too(few_lines, tmp_path):
    with pytest.raises(
        BadInputError, match=r"k must be at most .* \(1 lines were rejected, 1 of them: .*rejects.jsonl"
    ):
        run_spark_job(Options(few_lines, tmp_path / "out", 100_000, method="partition"), Quiet())


@pytest.mark.parametrize(("said", "found"), [("11.0.2", "11"), ("1.8.0_392", "8")])
def test_an_old_java_is_refused_with_the_one_that_is_needed(tmp_path, monkeypatch, said, found):
    program = tmp_path / "bin/java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BadInputError, match=rf"needs Java 17 or later \(found {found}\): install Java 17"):
        check_java()


def test_no_java_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BadInputError, match="needs Java 17 or later, and none was found"):
        check_java()


@pytest.mark.usefixtures("spark")
def test_items_on_a_list_of_categories_by_id_and_in_another_case(tmp_path):
    (tmp_path / "list").write_text(
        "1 - Boats\n2 - Boats > Canoes\n3 - Boats > Rafts\n4 - Garden\n5 - Garden > Rakes\n", encoding="utf-8"
    )
    words = ["2", "Canoes", "canoes", "RAFTS", "Rafts", "rakes", "5"]
    lines = [" ".join(words[(row + step) % 7] for step in range(3)) for row in range(70)]
    (tmp_path / "log.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, _ = on_both(
        tmp_path / "log.dat", tmp_path, taxonomy=str(tmp_path / "list"), items="raw", private_map="map"
    )
    assert found["items"] == {"listed": 7, "unlisted": 0, "other_case": 3}
    assert (tmp_path / "spark/map").read_bytes() == (tmp_path / "local/map").read_bytes()
