"""Releases in a row: every event is in exactly one, whatever the times, the runs and the files do."""

from __future__ import annotations

import json
import shutil
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, only_line, refused
from incrowd.auditing.series import audit_index
from incrowd.core.window import Window, spelled_time
from incrowd.errors import BadInputError
from incrowd.release import series as series_module
from incrowd.release.files.series_index import INDEX_FORMAT, Index, IndexedRelease
from incrowd.release.files.window import SpelledWindow
from incrowd.release.series import Entry, Seen, Series

DAY = 86_400
FIRST = 13_147  # 2005-12-30
WORDS = ("floors", "school", "barn", "pottery")
TREE = ("--taxonomy", "balanced:5")
HOW = ("--method", "mosaic", "--items", "terms", "--unit", "query", "--k", 3, *TREE)
ALL_COUNTED = ("--set", "cap=1000", "--set", "confidence=1", "--set", "aged=1")


def event(person: int, when: int, word: str) -> str:
    return f"p{person},{spelled_time(when)},{word}"


def events_of(day: int, people: int = 30) -> list[str]:
    """Return a day of events: some at its first second, some at its last."""
    moments = (0, DAY // 2, DAY - 1)
    return [
        event(person, day * DAY + moments[person % 3], WORDS[(person + day) % 4]) for person in range(people)
    ]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def growing(tmp_path):
    """Write a log of the first days."""

    def written(days: int, *more: str) -> Path:
        lines = [line for day in range(FIRST, FIRST + days) for line in events_of(day)]
        return write(tmp_path / "log.csv", [*lines, *more])

    return written


@pytest.fixture
def publish(tmp_path):
    """Publish a window of a log in the series."""

    def published(log: Path, out: str, *options: object, window: str = "new"):
        series = ("--series", tmp_path / "series", "--window", window, "--json")
        return call("anonymize", log, "--out", tmp_path / out, *HOW, *ALL_COUNTED, *series, *options)

    return published


def index_of(tmp_path: Path) -> list[dict]:
    return json.loads((tmp_path / "series/index.json").read_text(encoding="utf-8"))["releases"]


def counted(*releases: Path) -> Counter[str]:
    """Return how often each word is in the tiles of releases."""
    found: Counter[str] = Counter()
    for release in releases:
        for row in pq.read_table(release / "tiles.parquet").to_pylist():
            found.update(dict.fromkeys(row["items"], row["units"]))
    return found


def audit_of(tmp_path: Path, *places: object):
    return call("audit", "--series", tmp_path / "series", *places, "--json")


def test_every_event_of_a_growing_log_is_released_once(tmp_path, growing, publish):
    days = 5  # over the end of a year
    for day in range(days):
        ran = publish(growing(day + 1), f"day{day}")
        assert ran.code == 0, ran.err
        taken = ran.json["window"]
        assert (taken["inside"], taken["before"], taken["late"]) == (30, 30 * day, 0)
        assert (taken["after"], taken["unreleased"]) == (0, 0)
        assert "there is a release beside" not in ran.err
    lines = [line.split(",")[2] for day in range(FIRST, FIRST + days) for line in events_of(day)]
    releases = [tmp_path / f"day{day}" for day in range(days)]
    assert counted(*releases) == Counter(lines)
    assert [one["window"]["from"] for one in index_of(tmp_path)] == [
        None,
        "2005-12-31T00:00:00Z",
        "2006-01-01T00:00:00Z",
        "2006-01-02T00:00:00Z",
        "2006-01-03T00:00:00Z",
    ]
    found = audit_of(tmp_path)
    assert found.code == 0, found.out
    assert found.json["problems"] == found.json["notes"] == found.json["unchecked"] == []
    assert len(found.json["neighbours"]) == days - 1
    assert stat.S_IMODE((tmp_path / "series").stat().st_mode) == 0o700
    seed = str(Series(tmp_path / "series").seed)
    assert seed not in (tmp_path / "series/index.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in (tmp_path / "series/index.json").read_text(encoding="utf-8")


def test_parameters_that_one_release_lacks_differ_and_days_do_not(tmp_path, growing, publish):
    """The first and the last day of a release are its own; a list of words that only one release left out is not."""
    for days, more in ((1, ()), (2, ()), (3, ("--never", tmp_path / "never.txt"))):
        (tmp_path / "never.txt").write_text("zyzzyva\n", encoding="utf-8")
        ran = publish(growing(days), f"day{days}", "--certificate", *more)
        assert ran.code == 0, ran.err
        found = audit_of(tmp_path).json
        assert found["notes"] == (["releases differ in never: not set (2), true (1)"] if more else [])
        assert ("all releases of tiles have the same parameters" in found["checks"]) is not bool(more)


def test_an_event_at_the_boundary_is_in_the_later_window(tmp_path, publish):
    lines = [line for day in (FIRST, FIRST + 1) for line in events_of(day, 90)]
    log = write(tmp_path / "log.csv", lines)
    noon = "2005-12-30T12:00:00"
    assert publish(log, "one", window=f"..{noon}").json["window"]["inside"] == 30
    assert publish(log, "two", window=f"{noon}..2005-12-30").json["window"]["inside"] == 60
    assert publish(log, "three").json["window"]["inside"] == 90
    words = [line.split(",")[2] for line in lines]
    assert counted(*(tmp_path / name for name in ("one", "two", "three"))) == Counter(words)
    assert audit_of(tmp_path).code == 0


def test_windows_that_overlap_are_refused_and_nothing_is_published(tmp_path, publish, growing):
    log = growing(3)
    assert publish(log, "one", window="2005-12-31..2005-12-31").code == 0
    before = (tmp_path / "series/ledger").read_bytes()
    for window in ("2005-12-31..2005-12-31T00:00:01", "..", "2005-12-30..2006-01-01", "..2005-12-31"):
        ran = publish(log, "two", "--set", "cap=7", window=window)
        assert ran.code == 2, window
        assert "overlaps 'one', which was released" in ran.json["error"]
        assert not (tmp_path / "two").exists()
    assert (tmp_path / "series/ledger").read_bytes() == before
    assert publish(log, "two", window="..2005-12-30").code == 0
    whole = call("anonymize", log, "--out", tmp_path / "three", *HOW, "--series", tmp_path / "series")
    assert whole.code == 2
    assert "overlaps 'one'" in whole.err


def test_what_comes_late_is_counted_and_left_out(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    late = [event(40 + number, FIRST * DAY + 5, "school") for number in range(4)]
    ran = publish(growing(2, *late), "two")
    assert (ran.json["window"]["before"], ran.json["window"]["late"]) == (34, 4)
    third = call(
        "anonymize", growing(3, *late), "--out", tmp_path / "three", *HOW, "--series", tmp_path / "series",
        "--window", "new",
    )  # fmt: skip
    shown = " ".join(third.out.split())
    assert "64 events before the window were left out. 4 of them came late" in shown
    assert sum(counted(tmp_path / "one", tmp_path / "two").values()) == 60


def test_what_no_window_has_is_counted(tmp_path, publish, growing):
    log = growing(3)
    assert publish(log, "one", window="2005-12-30..2005-12-30").code == 0
    ran = publish(log, "two", window="2006-01-01..")
    assert (ran.json["window"]["before"], ran.json["window"]["unreleased"]) == (60, 30)
    found = audit_of(tmp_path)
    assert found.code == 0
    (gap,) = found.json["notes"]
    assert gap == "gap: no release has events from 2005-12-31T00:00:00Z to 2006-01-01T00:00:00Z"
    assert publish(log, "three", window="2005-12-31..2005-12-31").code == 0
    assert audit_of(tmp_path).json["notes"] == []


def test_nothing_new_is_nothing_to_release(tmp_path, publish, growing):
    log = growing(1)
    assert publish(log, "one").code == 0
    ran = publish(log, "two")
    assert ran.code == 2
    assert "no day of log.csv from 2005-12-31T00:00:00Z on has events of 3 people" in ran.json["error"]
    ran = publish(log, "two", window="new..2005-12-30")
    assert "nothing is new" in ran.json["error"]
    assert [one["name"] for one in index_of(tmp_path)] == ["one"]


def test_a_single_wrong_time_does_not_close_the_series(publish, growing):
    """Somebody's clock is far ahead: the window ends with the last day of k people, and the rest can still be released."""
    wrong = event(7, (FIRST + 9_000) * DAY, "school")
    ran = publish(growing(1, wrong), "one")
    assert ran.json["window"]["to"] == "2005-12-31T00:00:00Z"
    assert ran.json["window"]["after"] == 1
    assert publish(growing(2, wrong), "two").json["window"]["inside"] == 30


def test_the_day_after_today_waits_where_the_end_is_said(publish, growing):
    part_of_a_day = [event(person, (FIRST + 1) * DAY + person, "barn") for person in range(9)]
    ran = publish(growing(1, *part_of_a_day), "one", window="new..2005-12-30")
    assert (ran.json["window"]["inside"], ran.json["window"]["after"]) == (30, 9)
    ran = publish(growing(2, *part_of_a_day), "two", window="new..2005-12-31")
    assert (ran.json["window"]["inside"], ran.json["window"]["late"]) == (39, 0)


def test_clocks_that_go_back_an_hour_lose_no_event_and_release_none_twice(tmp_path, publish):
    """A log in local time without zones: on 29 October 2006 the hour from two to three is there twice."""
    day = 13_450
    twice = [event(person, day * DAY + 2 * 3600 + 30 * person, WORDS[person % 4]) for person in range(90)] * 2
    log = write(tmp_path / "log.csv", twice)
    half = "2006-10-29T02:20:00"
    assert publish(log, "one", window=f"..{half}").json["window"]["inside"] == 2 * 40
    assert publish(log, "two").json["window"]["inside"] == 2 * 50


def test_accounts_are_as_old_as_everything_before_the_end_says(tmp_path, growing, publish):
    """On one day nobody was active on two; with the days before it everybody was, and the days after it do not count."""
    log = growing(3)
    old = ("--set", "aged=2")
    first = publish(log, "one", *old, window="..2005-12-30")
    assert first.code == 2
    assert "30 people who were active on 2 days or more (aged) (found 0)" in first.json["error"]
    second = publish(log, "two", *old, "--private-map", tmp_path / "map", window="2005-12-31..2005-12-31")
    assert second.code == 0, second.err
    assert second.json["window"]["inside"] == 30
    third = publish(log, "three", *old, window="2006-01-01..2006-01-01")
    assert third.code == 0
    audited = call("audit", tmp_path / "two", "--original", log, "--private-map", tmp_path / "map", "--json")
    assert audited.code == 0, audited.out
    assert any("active on at least 2 days" in check for check in audited.json["checks"])


def test_the_default_age_goes_by_all_that_was_read(tmp_path):
    """Two weeks of log and a window of one day: an account must have been active on two days."""
    lines = [line for day in range(FIRST, FIRST + 14) for line in events_of(day)]
    log = write(tmp_path / "log.csv", lines)
    aged = [
        ic.anonymize(
            log, method="mosaic", k=3, unit="query", window=window, taxonomy="balanced:5"
        ).parameters["aged"]
        for window in ("2006-01-12..2006-01-12", "2006-01-11..2006-01-11")
    ]
    assert aged == [2, 1]


def test_the_audit_reads_the_same_window_again_and_says_where_events_came_late(tmp_path, publish, growing):
    options = ("--private-map", tmp_path / "map")
    assert publish(growing(2), "one", *options, window="2005-12-31..2005-12-31").code == 0
    again = ("audit", tmp_path / "one", "--original", tmp_path / "log.csv", "--private-map", tmp_path / "map")
    growing(4)
    assert call(*again).code == 0  # what came after the window makes no difference
    growing(4, event(1, (FIRST + 1) * DAY + 1, "school"))
    ran = call(*again, "--json")
    assert ran.code == 1
    assert any("other events in the window, or before it" in problem for problem in ran.json["problems"])


def test_a_manifest_says_its_window_and_no_other(tmp_path, publish, growing):
    log = growing(2)
    options = ("--private-map", tmp_path / "map")
    assert publish(log, "one", *options, window="2005-12-31..2005-12-31").code == 0
    path = tmp_path / "one/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["window"] == {"from": "2005-12-31T00:00:00Z", "to": "2006-01-01T00:00:00Z"}
    assert "2005-12-31T00:00:00Z" in (tmp_path / "one/report.html").read_text(encoding="utf-8")
    forged = [
        path.read_text(encoding="utf-8").replace("2006-01-01T00", "2006-01-02T00"),
        path.read_text(encoding="utf-8").replace('"2006-01-01T00:00:00Z"\n', '"2006-01-01"\n'),
        path.read_text(encoding="utf-8").replace('"from": "2005', '"from": "2015'),
    ]
    for text in forged:
        path.write_text(text, encoding="utf-8")
        assert call("audit", tmp_path / "one").code == 1
    call("anonymize", log, "--out", tmp_path / "plain", *HOW)
    plain = tmp_path / "plain/manifest.json"
    assert "window" not in json.loads(plain.read_text(encoding="utf-8"))
    plain.write_text(plain.read_text(encoding="utf-8").replace("\n}\n", ',\n  "window": null\n}\n'))
    assert call("audit", tmp_path / "plain").code == 1


def test_a_forged_window_does_not_pass_the_originals(tmp_path, publish, growing):
    """A whole release that says of another day: its files agree with each other, the originals do not."""
    log = growing(2)
    assert publish(log, "one", "--private-map", tmp_path / "map", window="..2005-12-30").code == 0
    for name in ("manifest.json", "report.html"):
        file = tmp_path / "one" / name
        file.write_text(file.read_text(encoding="utf-8").replace("2005-12-31T00", "2006-01-01T00"))
    assert call("audit", tmp_path / "one").code == 0
    assert call("audit", tmp_path / "one", "--original", log, "--private-map", tmp_path / "map").code == 1


def test_a_release_that_says_another_window_than_its_data_is_not_confirmed(tmp_path, growing):
    release = ic.anonymize(
        growing(2), "balanced:5", method="mosaic", k=3, unit="query", window="2005-12-31..", confidence=1
    )
    assert release.write(tmp_path / "one").holds
    rows = replace(release.transactions, window=None)
    found = ic.audit(tmp_path / "one", originals=replace(release, transactions=rows).originals)
    assert "the release is of another window of time than it says" in found.problems


def test_a_session_that_a_window_cuts_is_two_units(tmp_path):
    midnight = FIRST * DAY
    lines = [
        event(person, midnight + moment, word)
        for person in range(30)
        for moment, word in ((-600, "floors"), (600, "school"))
    ]
    lines += [event(person, midnight + moment, "barn") for person in range(30, 60) for moment in (-9, 9)]
    log = write(tmp_path / "log.csv", lines)
    how = {"method": "mosaic", "k": 3, "unit": "session:30m", "confidence": 1, "taxonomy": "balanced:5"}
    whole = ic.anonymize(log, **how)
    parts = [ic.anonymize(log, **how, window=window) for window in ("..2005-12-29", "2005-12-30..")]
    assert tiles_of(whole) == [["barn"], ["floors", "school"]]
    assert [tiles_of(part) for part in parts] == [[["barn"], ["floors"]], [["barn"], ["school"]]]
    assert whole.parameters["aged"] == parts[1].parameters["aged"] == 1


def tiles_of(release) -> list[list[str]]:
    return [[text for text, _ in tile.labels] for tile in release.published]


class Killed(BaseException):
    """The run ends without any clean-up."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_run_that_is_killed_before_it_says_so_had_published(tmp_path, publish, growing, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Series, "note", killed)
        with pytest.raises(Killed):
            publish(growing(1), "one")
    assert (tmp_path / "one").exists()
    (said,) = index_of(tmp_path)
    assert (said["state"], said["files"]) == ("begun", None)
    found = audit_of(tmp_path).json
    assert found["holds"] is False  # nothing is published yet, as far as the index knows
    assert found["notes"] == ["'one' (..2005-12-31T00:00:00Z) was begun and may be out: its run did not end"]
    ran = publish(growing(2), "two")
    assert ran.json["window"]["from"] == "2005-12-31T00:00:00Z"
    assert [one["state"] for one in index_of(tmp_path)] == ["published"] * 2
    assert audit_of(tmp_path).code == 0


def test_a_run_that_is_killed_before_it_publishes_is_repeated(tmp_path, publish, growing, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("incrowd.release.publication.atomic_writes", killed)
        patch.setattr("incrowd.jobs.series._identity", lambda _: object())  # no clean-up either
        with pytest.raises(Killed):
            publish(growing(1), "one")
    assert not (tmp_path / "one").exists()
    assert [one["state"] for one in index_of(tmp_path)] == ["begun"]
    late = event(2, FIRST * DAY + 7, "barn")
    ran = publish(growing(2, late), "two")  # other data than may be out
    assert ran.code == 2
    assert "was begun, and may have been released" in ran.json["error"]
    assert "--window ..2005-12-31T00:00:00Z" in ran.json["error"]
    ran = publish(growing(2), "two")
    assert (ran.json["window"]["to"], ran.json["window"]["inside"]) == ("2005-12-31T00:00:00Z", 30)
    assert publish(growing(2), "three").json["window"]["from"] == "2005-12-31T00:00:00Z"
    assert [(one["name"], one["state"]) for one in index_of(tmp_path)] == [
        ("two", "published"),
        ("three", "published"),
    ]
    assert audit_of(tmp_path).code == 0


def test_a_run_that_is_killed_before_the_index_leaves_it_to_the_next(tmp_path, publish, growing, monkeypatch):
    calls = []

    def once(self, past, write=Series._write_index):
        calls.append(past)
        if len(calls) > 4:  # made, opened again, alone, begun
            raise Killed
        write(self, past)

    with monkeypatch.context() as patch:
        patch.setattr(Series, "_write_index", once)
        with pytest.raises(Killed):
            publish(growing(1), "one")
    states = [line["state"] for line in map(json.loads, ledger_of(tmp_path)[1:])]
    assert states == ["begun", "published"]
    assert [one["state"] for one in index_of(tmp_path)] == ["begun"]
    found = audit_of(tmp_path)
    assert found.code == 1
    assert any("a run was killed" in problem for problem in found.json["problems"])
    assert publish(growing(2), "two").code == 0
    assert [one["state"] for one in index_of(tmp_path)] == ["published"] * 2


def ledger_of(tmp_path: Path) -> list[str]:
    return (tmp_path / "series/ledger").read_text(encoding="utf-8").splitlines()


def test_of_two_runs_at_once_the_second_waits_for_another_day(tmp_path, publish, growing):
    log = growing(1)
    with Series(tmp_path / "series").alone():
        ran = publish(log, "one")
        assert ran.code == 2
        assert "is in use by another run: try again" in ran.json["error"]
        assert not (tmp_path / "one").exists()
    assert publish(log, "one").code == 0


def test_an_older_copy_of_the_ledger_releases_nothing_twice(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    older = (tmp_path / "series/ledger").read_bytes()
    assert publish(growing(2), "two").code == 0
    latest = (tmp_path / "series/ledger").read_bytes()
    (tmp_path / "series/ledger").write_bytes(older)
    ran = publish(growing(2), "three")
    assert ran.code == 2
    assert "names 1 releases that the ledger beside it does not" in ran.json["error"]
    found = audit_of(tmp_path)
    assert found.code == 1
    assert any("put the latest ledger back" in problem for problem in found.json["problems"])
    (tmp_path / "series/ledger").write_bytes(latest)
    assert publish(growing(3), "three").code == 0


def test_an_index_that_was_changed_is_seen_and_one_that_is_gone_is_made_again(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    path = tmp_path / "series/index.json"
    whole = path.read_text(encoding="utf-8")
    digest = json.loads(whole)["releases"][0]["files"]["tiles.parquet"]
    changed = {
        "a hash": whole.replace(digest, "0" * 64),
        "a name": whole.replace('"one"', '"other"'),
        "a path": whole.replace('"one"', '"../one"'),
        "no JSON": whole[:-9],
        "a field more": whole.replace('"name"', '"more": 1,\n      "name"'),
    }
    for text in changed.values():
        path.write_text(text, encoding="utf-8")
        assert audit_of(tmp_path).code in (1, 2)
        assert publish(growing(2), "two").code == 2
        assert not (tmp_path / "two").exists()
    path.write_text(whole.replace('"people_min": 7', '"people_min": 8'), encoding="utf-8")
    assert audit_of(tmp_path).code == 1
    path.unlink()
    assert publish(growing(2), "two").code == 0
    assert audit_of(tmp_path).code == 0


def test_a_release_that_is_gone_or_another_s_is_found_out(tmp_path, publish, growing):
    for day in range(3):
        assert publish(growing(day + 1), f"day{day}").code == 0
    other = ("--series", tmp_path / "others", "--window", "2005-12-31..2005-12-31")
    log = tmp_path / "log.csv"
    (tmp_path / "elsewhere").mkdir()
    twin = tmp_path / "elsewhere/day1"
    assert call("anonymize", log, "--out", twin, *HOW, *ALL_COUNTED, *other, "--set", "cap=2").code == 0
    (tmp_path / "day1").rename(tmp_path / "hidden")
    gone = audit_of(tmp_path)
    assert gone.code == 1
    assert gone.json["problems"] == ["'day1' is not there: give its path"]
    stranger = audit_of(tmp_path, tmp_path / "elsewhere")
    assert stranger.code == 1
    assert stranger.json["problems"] == ["'day1' has other files than the index says"]
    (tmp_path / "kept").mkdir()
    (tmp_path / "hidden").rename(tmp_path / "kept/day1")
    assert audit_of(tmp_path, tmp_path / "kept").code == 0
    assert audit_of(tmp_path, tmp_path / "kept/day1").code == 0
    shutil.copytree(tmp_path / "kept/day1", tmp_path / "renamed")
    assert audit_of(tmp_path, tmp_path / "renamed").code == 0
    (tmp_path / "kept/day1/notes").write_text("more", encoding="utf-8")
    assert audit_of(tmp_path, tmp_path / "kept").code == 1


def test_an_index_and_its_releases_can_be_audited_by_others(tmp_path, publish, growing):
    for day in range(2):
        assert publish(growing(day + 1), f"day{day}").code == 0
    public = tmp_path / "public"
    public.mkdir()
    shutil.copy(tmp_path / "series/index.json", public)
    for day in range(2):
        shutil.copytree(tmp_path / f"day{day}", public / f"day{day}")
    ran = call("audit", "--series", public, "--json")
    assert ran.code == 0
    assert any("only the ledger shows it" in text for text in ran.json["unchecked"])
    assert ic.audit_series(public / "index.json").holds
    text = (public / "index.json").read_text(encoding="utf-8")
    (public / "index.json").write_text(text.replace("2006-01-01T00:00:00Z", "2006-01-02T00:00:00Z"))
    found = ic.audit_series(public)
    assert found.problems == ["'day1' is of another window than the index says"]


def test_what_has_no_hashes_in_the_index_is_not_said_to_have_its_files(tmp_path, publish, growing):
    for day in range(2):
        assert publish(growing(day + 1), f"day{day}").code == 0
    public = tmp_path / "public"
    shutil.copytree(tmp_path / "day0", public / "day0")
    shutil.copytree(tmp_path / "day1", public / "day1")
    index = json.loads((tmp_path / "series/index.json").read_text(encoding="utf-8"))
    index["releases"][1] |= {"files": None, "counts": None}
    (public / "index.json").write_text(json.dumps(index), encoding="utf-8")
    found = ic.audit_series(public)
    assert found.holds
    assert found.checks[0] == "1 of 2 releases have the files of the index, and no audit of one failed"
    assert "the files of 'day1': the index has no hashes of them" in found.unchecked


def test_an_index_whose_windows_overlap_does_not_hold():
    def release(name: str, start: int | None, stop: int, digest: str = "0") -> IndexedRelease:
        window = SpelledWindow.of(Window(start, stop))
        return IndexedRelease(name, "published", window, {"manifest.json": digest * 64}, None)

    def told(*releases: IndexedRelease) -> tuple[list[str], list[str]]:
        found = audit_index(Index(INDEX_FORMAT, [*releases]), {})
        return [problem for problem in found.problems if "is not there" not in problem], found.notes

    first = release("first", None, 10)
    assert told(first, release("next", 10, 20, "1")) == ([], [])
    overlap = ["the windows of 'first' and 'more' overlap"]
    assert told(release("more", 9, 20, "1"), first) == (overlap, [])
    # One that lies within an earlier and longer one overlaps it too, also behind a third.
    assert told(first, release("short", 10, 11, "1"), release("more", 3, 4, "2")) == (overlap, [])
    assert told(first, release("again", None, 10)) == ([], ["'again' is 'first' again, byte for byte"])
    twice = audit_index(Index(INDEX_FORMAT, [first, release("again", None, 10)]), {})
    assert not any("no event is in two releases" in check for check in twice.checks)
    assert told(release("late", 30, 40, "1"), first)[1] == [
        "gap: no release has events from 1970-01-01T00:00:10Z to 1970-01-01T00:00:30Z"
    ]


def test_a_ledger_of_the_older_form_is_moved_and_loses_nothing(tmp_path, publish, growing):
    old = tmp_path / "old"
    entry = Entry("first", "0" * 32, Seen("times", FIRST * DAY, FIRST * DAY + 99))
    made = Series(tmp_path / "made")
    made.note(made.begin(entry), "published")
    shutil.copy(tmp_path / "made/ledger", old)
    log = growing(2)
    options = ("--series", old, "--window", "2005-12-30..")
    ran = call("anonymize", log, "--out", tmp_path / "one", *HOW, *options)
    line = refused(ran, tmp_path / "one")
    assert f"mkdir -m 700 DIR && mv {old} DIR/ledger" in line
    (tmp_path / "series").mkdir(mode=0o700)
    old.rename(tmp_path / "series/ledger")
    ran = publish(log, "one", window="2005-12-30..")
    assert "overlaps 'first', which was released" in ran.json["error"]
    ran = publish(log, "one")
    assert "'first' has none" in ran.json["error"]
    assert publish(log, "one", window="2005-12-31..").code == 0
    found = audit_of(tmp_path)
    assert found.code == 1  # it was written before there were hashes, and is not there
    assert found.json["problems"] == ["'first' is not there: give its path"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--window", "new"), "give --series DIR"),
        (("--window", "2006"), "--window must be FROM..TO"),
        (("--window", "..", "--method", "flock"), "--window is for method mosaic"),
        (("--window", "1999-01-01..1999-01-02"), "has no event from 1999-01-01T00:00:00Z"),
    ],
)
def test_what_has_no_window_is_refused_with_the_remedy(tmp_path, growing, options, said):
    ran = call("anonymize", growing(1), "--out", tmp_path / "one", "--k", 3, *options)
    assert said in refused(ran, tmp_path / "one")


def test_baskets_and_logs_without_times_have_no_window(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"p{person},barn\n" for person in range(30)), encoding="ascii")
    ran = call("anonymize", log, "--out", tmp_path / "one", "--k", 3, "--window", "..")
    assert "--window needs times" in refused(ran, tmp_path / "one")
    path = tmp_path / "baskets.dat"
    path.write_text("1 2\n2 3\n" * 30, encoding="ascii")
    ran = call("anonymize", path, "--out", tmp_path / "one", "--k", 3, "--window", "..")
    assert "--window needs times" in refused(ran, tmp_path / "one")


def test_a_directory_that_is_not_private_or_holds_other_files_is_refused(tmp_path, publish, growing):
    log, place = growing(1), tmp_path / "series"
    place.mkdir(mode=0o755)
    assert f"chmod 700 {place}" in publish(log, "one").json["error"]
    place.chmod(0o700)
    (place / "letters").write_text("dear", encoding="utf-8")
    assert "holds other files and no ledger" in publish(log, "one").json["error"]
    (place / "letters").unlink()
    assert publish(log, "one").code == 0
    (place / "ledger").unlink()  # and with it the memory of what was released
    assert "put the ledger back" in publish(growing(2), "two").json["error"]


def test_a_name_stands_for_one_release_of_the_series(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    ran = publish(growing(2), "one", "--force")
    assert "has a release 'one' already" in ran.json["error"]
    assert audit_of(tmp_path).code == 0


def test_a_dry_run_says_the_window_and_leaves_the_series_as_it_is(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    before = {path: path.read_bytes() for path in sorted((tmp_path / "series").iterdir())}
    ran = publish(growing(2), "two", "--dry-run")
    assert ran.code == 0, ran.err
    assert ran.json["window"]["from"] == "2005-12-31T00:00:00Z"
    assert {path: path.read_bytes() for path in sorted((tmp_path / "series").iterdir())} == before


def test_a_window_in_python_leaves_the_log_as_it_is(growing):
    with ic.read_log(growing(2)) as log:
        how = {"method": "mosaic", "k": 3, "unit": "query", "taxonomy": "balanced:5"}
        one = ic.anonymize(log, **how, window="2005-12-31..")
        assert len(one.transactions) == 30
        assert one.transactions.window == Window((FIRST + 1) * DAY, (FIRST + 2) * DAY)
        assert len(log.transactions(unit="query", items="terms")) == 60
        with pytest.raises(BadInputError, match="transactions have no times"):
            ic.anonymize(log.transactions(items="terms"), method="mosaic", window="..")


def test_usage_of_the_audit_of_a_series(tmp_path, publish, growing):
    assert publish(growing(1), "one").code == 0
    assert call("audit").code == 2
    assert call("audit", tmp_path / "one", tmp_path / "one").code == 2
    line = only_line(call("audit", "--series", tmp_path / "one").err)
    assert "is no series" in line
    ran = call("audit", "--series", tmp_path / "series", "--private-map", tmp_path / "map")
    assert "audit it without --series" in only_line(ran.err)
    shown = call("audit", "--series", tmp_path / "series").out
    assert "Nothing is wrong with the series: 1 releases." in shown


def test_what_two_neighbours_tell_is_counted(tmp_path, publish):
    """With k = 3: five people type a word on the second day only, so at least three are new; of three, one is told of."""
    first = events_of(FIRST)
    day = (FIRST + 1) * DAY
    second = events_of(FIRST + 1)
    second += [event(person, day + 100 + person, "reunion") for person in range(5)]
    second += [event(person, day + 200 + person, "hardwood") for person in range(3)]
    assert publish(write(tmp_path / "log.csv", first), "one").code == 0
    assert publish(write(tmp_path / "log.csv", first + second), "two").code == 0
    (two,) = audit_of(tmp_path).json["neighbours"]
    assert (two["labels_both"], two["labels_first"], two["labels_second"], two["items_of_few"]) == (
        4,
        0,
        2,
        1,
    )
    assert (two["tiles_both"], two["tiles_first"], two["tiles_second"]) == (4, 0, 2)


def test_the_index_names_only_what_the_ledger_does(tmp_path):
    place = tmp_path / "series"
    series = Series(place)
    number = series.begin(Entry("x", "1" * 32, Seen("times", 0, 9), Window(0, 10), 4))
    assert [one.state for one in series.index.releases] == ["begun"]
    series.note(number, "withdrawn")
    assert series.index.releases == []
    assert series_module.read_index(place).releases == []
