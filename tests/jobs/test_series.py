"""The series ledger: releases that overlap an earlier one are refused, whatever happens in between."""

from __future__ import annotations

import contextlib
import os
import random
import stat
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cli.helpers import call
from incrowd.errors import BadInputError
from incrowd.jobs import run
from incrowd.release.series import Entry, Seen, Series

DAY = 86_400
WORDS = ["hardwood floors", "high school", "pottery barn", "hardwood school"]
MOSAIC = ("--method", "mosaic", "--items", "terms", "--unit", "day")


def write_log(path: Path, days: range, *, times: bool = True, people: range = range(40)) -> Path:
    lines = ["user,time,query" if times else "user,query"]
    for person in people:
        for day in days:
            when = f"{DAY * day + person}," if times else ""
            lines.append(f"p{person},{when}{WORDS[(person + day) % 4]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def publish(tmp_path):
    """Publish a log of the series, as a directory of some name."""

    def published(log: Path, out: str, *options: object, k: int = 3, how: tuple[object, ...] = MOSAIC):
        ledger = ("--series", tmp_path / "series")
        return call("anonymize", log, "--out", tmp_path / out, "--k", k, *how, *ledger, *options)

    return published


@pytest.fixture
def week(tmp_path):
    return write_log(tmp_path / "week.csv", range(7))


def lines_of(tmp_path: Path) -> list[dict]:
    return [msgspec.json.decode(line) for line in (tmp_path / "series/ledger").read_bytes().splitlines()]


def states(tmp_path: Path) -> list[str]:
    return [line["state"] for line in lines_of(tmp_path)[1:]]


def refused(ran, tmp_path: Path, out: str) -> str:
    assert ran.code == 2, ran.err
    assert not (tmp_path / out).exists()
    (line,) = [line for line in ran.err.splitlines() if line.startswith("incrowd: ")]
    return line


def test_a_log_and_then_the_next_but_not_both_again(tmp_path, publish, week):
    assert publish(week, "one").code == 0
    assert publish(write_log(tmp_path / "next.csv", range(7, 14)), "two").code == 0
    line = refused(publish(write_log(tmp_path / "more.csv", range(8)), "more"), tmp_path, "more")
    assert "overlaps 'one', which was released" in line
    assert "1970-01-01 to 1970-01-07" in line
    last = write_log(tmp_path / "last.csv", range(13, 20))
    assert "overlaps 'two'" in refused(publish(last, "more"), tmp_path, "more")
    assert states(tmp_path) == ["begun", "published"] * 2
    assert stat.S_IMODE((tmp_path / "series/ledger").stat().st_mode) == 0o600


def test_another_k_is_an_overlap_and_the_same_job_a_repetition(tmp_path, publish, week):
    assert publish(week, "one").code == 0
    assert "overlaps 'one'" in refused(publish(week, "two", k=4), tmp_path, "two")
    assert "overlaps 'one'" in refused(
        publish(week, "two", how=("--method", "partition", "--items", "terms")), tmp_path, "two"
    )
    assert "overlaps" in refused(publish(week, "two", "--set", "counts=rounded"), tmp_path, "two")
    assert publish(week, "two").code == 0
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_what_replaces_a_release_is_a_second_one(tmp_path, publish, week):
    assert publish(week, "one").code == 0
    before = (tmp_path / "one/tiles.parquet").read_bytes()
    assert publish(week, "one", "--force", k=4).code == 2
    assert (tmp_path / "one/tiles.parquet").read_bytes() == before


def test_the_seed_is_drawn_once_and_never_published(tmp_path, publish, week):
    ran = publish(week, "one", "--json")
    seed = lines_of(tmp_path)[0]["seed"]
    assert ran.json["private"]["seed"] == seed > 2**40
    assert ran.json["series"] == str(tmp_path / "series")
    following = write_log(tmp_path / "next.csv", range(7, 14))
    ran = publish(following, "two", "--json", how=("--method", "partition", "--items", "terms"))
    assert ran.json["parameters"]["seed"] == 0
    files = [*(tmp_path / "one").iterdir(), *(tmp_path / "two").iterdir()]
    assert not any(str(seed).encode() in file.read_bytes() for file in files)
    later = write_log(tmp_path / "later.csv", range(14, 21))
    assert "drop --seed" in refused(publish(later, "three", "--seed", 5), tmp_path, "three")


def test_a_job_that_fails_is_withdrawn(tmp_path, publish, week):
    ran = publish(week, "one", k=5)
    assert "mosaic needs at least 10 k" in refused(ran, tmp_path, "one")
    assert states(tmp_path) == ["begun", "withdrawn"]
    assert publish(week, "one").code == 0


class Killed(BaseException):
    """The run ends without any clean-up."""


def test_a_run_that_is_killed_before_it_ends_may_have_published(tmp_path, publish, week, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Series, "note", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            publish(week, "one")
    assert (tmp_path / "one").exists()
    assert states(tmp_path) == ["begun"]
    line = refused(publish(week, "two", k=2), tmp_path, "two")
    assert "was begun, and may have been released" in line
    assert publish(week, "two").code == 0


def test_a_failure_after_the_release_has_its_name_withdraws_nothing(tmp_path, publish, week, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(run, "Outcome", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        publish(week, "one")
    assert (tmp_path / "one").exists()
    assert states(tmp_path) == ["begun"]
    assert publish(week, "two", k=2).code == 2


def entry(first: int, last: int, job: str = "") -> Entry:
    return Entry(f"{first}", job or f"{first} {last}", Seen("times", first, last))


def test_of_two_runs_at_once_one_passes(tmp_path):
    for trial in range(5):
        series = [Series(tmp_path / f"ledger{trial}") for _ in range(8)]
        assert len({one.seed for one in series}) == 1
        start, passed = threading.Barrier(8), []

        def begin(number, series=series, start=start, passed=passed):
            start.wait()
            with contextlib.suppress(BadInputError):
                passed.append(series[number].begin(entry(number, 100)))

        threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(passed) == 1


def test_of_two_equal_runs_one_that_fails_withdraws_itself_alone(tmp_path):
    series = Series(tmp_path / "series")
    first, second = series.begin(entry(1, 2)), series.begin(entry(1, 2))
    series.note(first, "withdrawn")
    with pytest.raises(BadInputError, match="may have been released"):
        series.begin(entry(2, 3))
    series.note(second, "withdrawn")
    series.begin(entry(2, 3))


def test_a_line_that_was_not_completed_is_removed_and_a_damaged_one_refused(tmp_path):
    place, path = tmp_path / "series", tmp_path / "series/ledger"
    series = Series(place)
    series.begin(entry(1, 2))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id":"x","state":"beg')
    assert Series(place).seed == series.seed
    assert path.read_bytes() == whole
    for damaged in (
        whole.replace(b"begun", b"bogus"),
        whole + b'{"id":"x","state":"published"}\n',
        whole[5:],
        b"[]\n",
    ):
        path.write_bytes(damaged)
        with pytest.raises(BadInputError, match="is no series ledger, or a damaged one"):
            Series(place)


@pytest.mark.parametrize("text", ["user,query\nann,b\nbob,cc", "one line", '{"format":"else"'])
def test_a_file_of_another_kind_is_left_as_it_is(tmp_path, publish, week, text):
    (tmp_path / "series").mkdir(mode=0o700)
    (tmp_path / "series/ledger").write_text(text, encoding="utf-8")
    (tmp_path / "series/ledger").chmod(0o600)
    assert "is no series ledger" in refused(publish(week, "one"), tmp_path, "one")
    assert (tmp_path / "series/ledger").read_text(encoding="utf-8") == text


def test_a_first_line_that_was_not_completed_is_written_anew(tmp_path):
    (tmp_path / "series").mkdir(mode=0o700)
    for text in ("", '{"format":"incr', '{"format":"incrowd-series/1","seed":12'):
        (tmp_path / "series/ledger").write_text(text, encoding="utf-8")
        (tmp_path / "series/ledger").chmod(0o600)
        assert Series(tmp_path / "series").seed == Series(tmp_path / "series").seed > 2**40


def test_a_ledger_that_others_can_read_or_that_is_no_file_is_refused(tmp_path, publish, week):
    Series(tmp_path / "series")
    (tmp_path / "series/ledger").chmod(0o640)
    assert "chmod 600" in refused(publish(week, "one"), tmp_path, "one")
    (tmp_path / "series/ledger").rename(tmp_path / "real")
    (tmp_path / "series/ledger").symlink_to(tmp_path / "real")
    assert "cannot be opened" in refused(publish(week, "one"), tmp_path, "one")
    (tmp_path / "series/ledger").unlink()
    os.mkfifo(tmp_path / "series/ledger")
    assert "is no regular file" in refused(publish(week, "one"), tmp_path, "one")


def test_a_ledger_is_not_made_inside_a_release(tmp_path, publish, week):
    ran = call(
        "anonymize", week, "--out", tmp_path / "o", "--k", 3, *MOSAIC, "--series", tmp_path / "o/ledger"
    )
    assert "must not lie inside the release" in refused(ran, tmp_path, "o")
    assert publish(week, "one").code == 0
    ran = call(
        "anonymize", week, "--out", tmp_path / "o", "--k", 3, *MOSAIC, "--series", tmp_path / "one/ledger"
    )
    assert "would lie inside the release" in refused(ran, tmp_path, "o")


def test_without_times_people_are_recognised(tmp_path, publish):
    how = ("--method", "mosaic", "--items", "terms")
    first = write_log(tmp_path / "first.csv", range(3), times=False)
    assert publish(first, "one", how=how).code == 0
    other = write_log(tmp_path / "other.csv", range(3), times=False, people=range(40, 80))
    assert publish(other, "two", how=how).code == 0
    mixed = write_log(tmp_path / "mixed.csv", range(3, 5), times=False, people=range(79, 120))
    line = refused(publish(mixed, "three", how=how), tmp_path, "three")
    assert "overlaps 'two'" in line
    assert "shares 1 people, and no times" in line
    timed = write_log(tmp_path / "timed.csv", range(100, 103), people=range(200, 240))
    assert "cannot be compared" in refused(publish(timed, "three", how=how), tmp_path, "three")
    assert b"p79" not in (tmp_path / "series/ledger").read_bytes()


def test_baskets_are_recognised_by_the_long_ones(tmp_path, publish):
    def baskets(name: str, rows: list[set[int]]) -> Path:
        path = tmp_path / name
        path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows), encoding="ascii")
        return path

    dice = np.random.default_rng(1)
    rows = [set(dice.choice(40, 12, replace=False).tolist()) for _ in range(400)]
    short = [{1, 2}] * 50
    how = ("--method", "mosaic", "--set", "effort=fast")
    assert publish(baskets("a.dat", [*rows[:200], *short]), "one", how=how).code == 0
    assert publish(baskets("b.dat", [*short, *rows[200:350]]), "two", how=how).code == 0
    shuffled = rows[180:181] + rows[350:] * 3 + short
    random.Random(1).shuffle(shuffled)
    line = refused(publish(baskets("c.dat", shuffled), "three", how=how), tmp_path, "three")
    assert "cannot be told from it" in line  # 51 different long ones
    more = [set(dice.choice(40, 12, replace=False).tolist()) for _ in range(200)] + rows[180:181]
    line = refused(publish(baskets("d.dat", more), "three", how=how), tmp_path, "three")
    assert "overlaps 'one'" in line
    assert "shares 1 long baskets" in line


@pytest.mark.parametrize("method", ["korolova", "dp"])
def test_lists_are_no_series(tmp_path, publish, week, method):
    """Whether they overlap is told by the data, and noise needs no series."""
    line = refused(publish(week, "one", how=("--method", method)), tmp_path, "one")
    assert (
        f"--series looks for overlaps in the data, which method {method} must not disclose: use --budget FILE"
        in line
    )


def test_without_a_series_the_owner_is_told(tmp_path, week):
    ran = call("anonymize", week, "--out", tmp_path / "one", "--k", 3, *MOSAIC)
    assert "Overlaps with earlier releases were not looked for: --series DIR" in " ".join(ran.out.split())
