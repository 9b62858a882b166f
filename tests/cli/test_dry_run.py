"""The dry run: what a job would do, in the words of the job itself, and nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.helpers import AOL_HEADER, aol_line, aol_log, call, command, only_line, refused
from helpers import Quiet
from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.logs.synth.generate import write_log


@pytest.fixture(scope="module")
def searches(tmp_path_factory):
    path = tmp_path_factory.mktemp("searches") / "searches.tsv.gz"
    write_log(path, users=60, seed=3)
    return path


def everything(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Return all names below a directory, hidden ones too, with what would change if they were written to."""
    below = [directory, *directory.rglob("*")]
    return {
        str(path): (status.st_ino, status.st_mtime_ns, status.st_size)
        for path, status in ((path, os.lstat(path)) for path in below)
    }


def test_it_tells_what_was_recognised_counted_and_chosen(searches):
    ran = call("anonymize", searches, "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    out = " ".join(ran.out.split())
    for part in (
        "Dry run: the input was read to its end, and nothing was written.",
        (
            "searches.tsv.gz is read as aol in UTF-8, with a header line; "
            "columns user=AnonID, query=Query, time=QueryTime, url=ClickURL."
        ),
        "0 of them would be rejected",
        "60 people",
        "distinct items (--items terms)",
        "distinct items that wordnet lacks: their kind is not known either, and they would get a branch of their own",
        "--unlisted name words that WordNet lacks are named by their kinds",
        "--method mosaic for --goal words, the default",
        "--k 5 the default",
        "--unit session:30m what mosaic takes of a query log with times",
        "Other questions: --goal queries, --goal people.",
        "a rough estimate",
        "The job would run. It needs --out DIR for the release.",
    ):
        assert part in out


def test_it_counts_and_chooses_as_the_job_does(searches, tmp_path):
    plan = call("anonymize", searches, "--dry-run", "--json").json
    done = call("anonymize", searches, "--out", tmp_path / "release", "--json").json
    assert plan["would_run"] is True
    assert plan["refused"] is None
    assert "error" not in plan
    assert (plan["method"], plan["k"], plan["chosen"]) == (done["method"], done["k"], done["chosen"])
    assert set(plan["why"]) == set(plan["chosen"])
    assert plan["counts"] == done["input"]
    assert {name: plan["taxonomy"][name] for name in done["items"]} == done["items"]
    assert plan["promise"] == done["claim"]["kind"]
    assert plan["input"]["columns"] == {
        "user": "AnonID",
        "query": "Query",
        "time": "QueryTime",
        "url": "ClickURL",
    }
    low, high = plan["estimate"]["seconds"]
    assert 0 < plan["estimate"]["seconds_read"] < low < high
    assert plan["estimate"]["memory"] < plan["estimate"]["memory_allowed"]


def test_nothing_is_written(tmp_path):
    log = aol_log(tmp_path / "log.tsv")
    with log.open("a", encoding="utf-8") as file:
        file.write("a line without fields\n")
    before = everything(tmp_path)
    ran = call(
        *("anonymize", log, "--dry-run", "--method", "flock", "--k", 3, "--keep-rejected", "--write", "csv"),
        *("--out", tmp_path / "release", "--private-map", tmp_path / "map", "--series", tmp_path / "ledger"),
        *("--private-report", tmp_path / "report.html"),
    )
    assert ran.code == 0, ran.err
    assert f"The release would be {tmp_path}/release/." in ran.out
    assert everything(tmp_path) == before


def test_a_refusal_after_reading_writes_no_rejects_either(tmp_path):
    log = aol_log(tmp_path / "log.tsv")
    with log.open("a", encoding="utf-8") as file:
        file.write("a line without fields\n")
    before = everything(tmp_path)
    ran = call("anonymize", log, "--dry-run", "--method", "flock", "--k", 99)
    line = only_line(ran.err)
    assert ran.code == 2
    assert line == (
        "k must be at most 20, the number of records that hold anything (got 99) "
        "(1 lines were rejected, 1 of them: 1 fields, not 5)"
    )
    assert everything(tmp_path) == before


def test_rejected_lines_are_counted_by_reason_with_the_first_numbers(tmp_path):
    log = tmp_path / "log.tsv"
    bad = "only one field\n" * 5 + aol_line("u", "cats", "no time")
    good = "".join(aol_line(user, "dog food") for user in range(9))
    log.write_text(AOL_HEADER + good + bad, encoding="utf-8")
    options = ("anonymize", log, "--dry-run", "--method=flock", "--k", 3)
    few, late = call(*options, "--json").json["rejected"]
    assert few == {"reason": "1 fields, not 5", "lines": 5, "first": [11, 12, 13]}
    assert (late["lines"], late["first"]) == (1, [16])
    out = call(*options).out
    assert "5  of them would be rejected: 1 fields, not 5 (lines 11, 12, 13, ...)" in out
    assert f"1  of them would be rejected: {late['reason']} (line 16)" in out
    assert "only one field" not in out


REFUSALS = {
    "too few people for k": ("--method=flock", "--k=99"),
    "too few people for tiles": (),
    "too little memory": ("--method=flock", "--memory=1"),
    "a goal that baskets cannot have": ("--goal=queries",),
    "nothing is left": ("--method=flock", "--k=3", "--taxonomy=tree.txt", "--unlisted=drop"),
    "items that the taxonomy lacks": ("--method=flock", "--k=3", "--taxonomy=tree.txt"),
    "an output that exists": ("--method=flock", "--k=3", "--out=taken"),
    "a parameter that is not there": ("--method=flock", "--set", "wrong=1"),
}


@pytest.mark.parametrize("options", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("name", ["baskets", "log"])
def test_it_refuses_in_the_words_of_the_job(options, name, request, tmp_path, monkeypatch):
    source = request.getfixturevalue(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.txt").write_text("x\troot\ny\troot\n")
    (tmp_path / "taken").mkdir()
    out = () if any(option.startswith("--out") for option in options) else ("--out", "release")
    job = call("anonymize", source, *options, *out)
    before = everything(tmp_path)
    look = call("anonymize", source, *options, "--dry-run", "--json")
    assert everything(tmp_path) == before
    assert (look.code, look.err) == (job.code, job.err)
    if options == ("--goal=queries",) and name == "log":
        assert "people (found" in job.err  # it is another refusal
    assert job.code == 2
    assert look.json["error"] == only_line(look.err)
    assert look.json["exit_code"] == 2


def test_a_refusal_still_shows_what_was_found(baskets):
    ran = call("anonymize", baskets, "--dry-run")
    assert ran.code == 2
    assert "mosaic needs at least 10 k = 50 people (found 9)" in only_line(ran.err)
    assert "baskets.dat is read as dat: baskets, one a line, in UTF-8." in ran.out
    assert "9  records, each counted as a person" in ran.out
    assert ran.out.endswith("The job would be refused:\n")
    found = call("anonymize", baskets, "--dry-run", "--json").json
    assert (found["would_run"], found["counts"]["units"], found["estimate"]) == (False, 9, None)


def test_memory_that_is_too_little_is_refused_as_in_the_job(searches, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.core.memory.BASE", 10**9)
    options = ("anonymize", searches, "--memory", "700MB")
    job = call(*options, "--out", tmp_path / "release")
    look = call(*options, "--dry-run")
    assert "memory of 700MB is too little" in only_line(look.err)
    assert (look.code, look.err) == (job.code, job.err)


def test_a_series_is_looked_at_and_left_as_it_is(searches, tmp_path):
    ledger = tmp_path / "series"
    first = call("anonymize", searches, "--out", tmp_path / "first", "--series", ledger)
    assert first.code == 0, first.err
    other = ("anonymize", searches, "--series", ledger, "--k", 3)
    before = everything(tmp_path)
    look = call(*other, "--dry-run", "--out", tmp_path / "second")
    assert look.code == 2
    assert everything(tmp_path) == before
    job = call(*other, "--out", tmp_path / "second")
    assert look.err.splitlines()[-1] == job.err.splitlines()[-1]
    again = call("anonymize", searches, "--series", ledger, "--dry-run", "--out", tmp_path / "again")
    assert again.code == 0, again.err  # the same job has the same bytes


def test_a_ledger_whose_last_line_was_cut_off_is_not_repaired(searches, tmp_path):
    series, ledger = tmp_path / "series", tmp_path / "series/ledger"
    run_job(Options(searches, tmp_path / "first", series=series), Quiet())
    with ledger.open("ab") as file:
        file.write(b'{"id":"cut')
    before = ledger.read_bytes()
    assert call("anonymize", searches, "--dry-run", "--series", series).code == 0
    assert ledger.read_bytes() == before


def test_spark_is_refused_with_the_remedy(log):
    line = refused(call("anonymize", log, "--dry-run", "--engine", "spark", "--master", "local[1]"))
    assert line == "--dry-run reads the input on this machine: drop --engine spark"


def test_a_job_needs_a_place_and_a_dry_run_none(log):
    line = refused(call("anonymize", log, "--method=flock", "--k", 3))
    assert line.startswith(
        "Missing option '--out': name a directory for the release, or look first with --dry-run"
    )
    assert call("anonymize", log, "--method=flock", "--k", 3, "--dry-run").code == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "who;q;time\nu1;dog;2006-03-01 10:00:00\n",
            "csv in UTF-8, with a header line; columns user=who, query=q, time=time",
        ),
        ("u1\tdog\t2006-03-01 10:00:00\n", "aol in UTF-8; columns by number user=1, query=2, time=3"),
        ('{"user": "u1", "q": "dog"}\n', "jsonl in UTF-8; columns user=user, query=q"),
    ],
)
def test_how_inputs_are_recognised(text, expected, tmp_path):
    (tmp_path / "log").write_text(text, encoding="utf-8")
    columns = ("--columns", "user=who") if "who" in text else ()
    ran = call("anonymize", tmp_path / "log", "--dry-run", "--k", 2, "--method=flock", *columns)
    assert f"log is read as {expected}." in ran.out


def test_a_method_that_compares_records_with_each_other_is_not_estimated(log):
    ran = call("anonymize", log, "--dry-run", "--k", 3, "--method", "clump")
    assert "not estimated, as clump compares records with each other" in " ".join(ran.out.split())
    assert (
        call("anonymize", log, "--dry-run", "--k", 3, "--method", "clump", "--json").json["estimate"][
            "seconds"
        ]
        is None
    )


@pytest.mark.parametrize(
    ("header", "options", "why"),
    [
        ("user,query", ("--goal", "words"), "--unit user what mosaic takes of a query log without times"),
        ("user,query", ("--goal", "people"), "--unit user what flock takes of a query log --unlisted name"),
        ("user,query", ("--goal", "queries"), "--items queries what --goal queries is about"),
    ],
)
def test_the_reason_of_a_choice_is_told(header, options, why, tmp_path):
    (tmp_path / "log.csv").write_text(
        header + "\n" + "".join(f"{n},dog\n" for n in range(60)), encoding="utf-8"
    )
    out = call("anonymize", tmp_path / "log.csv", "--dry-run", *options).out
    assert why in " ".join(out.split())


def test_releases_beside_are_told(release, log):
    ran = call("anonymize", log, "--dry-run", "--method=flock", "--k", 3, "--json")
    assert ran.json["beside"] == [release.name]
    assert "there is a release beside" in ran.err


def test_kernels_are_not_compiled_and_that_is_told(log, tmp_path):
    environment = {**os.environ, "INCROWD_CACHE_DIR": str(tmp_path / "cache")}
    ran = command("anonymize", log, "--dry-run", "--method=flock", "--k", 3, env=environment)
    assert ran.code == 0
    assert "up to a minute for compiling, once on this machine" in ran.out
    assert "compiling kernels" not in ran.err
