"""Rows that are a person's queries, days or weeks, and how many days people were active on."""

from __future__ import annotations

import pytest

from incrowd.errors import BadInputError
from incrowd.logs import read_log

DAY = 86_400
# 1970-01-01 was a Thursday: the week ends on Sunday, day 3.
EVENTS = [
    ("ann", 10, "a bb"),
    ("ann", 10, "cc"),
    ("ann", 10, "a bb"),
    ("ann", DAY - 1, "dd"),
    ("ann", DAY, "a"),
    ("ann", 4 * DAY - 1, "ee"),
    ("ann", 4 * DAY, "ff"),
    ("bob", -1, "a"),
    ("bob", 0, "gg"),
    ("cy", 5, ""),
    ("cy", 6, "gg"),
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    lines = [f"{user},{time},{query}" for user, time, query in EVENTS]
    path.write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    return path


def rows_of(path, unit, **how):
    with read_log(path) as log:
        made = log.transactions(unit=unit, items="terms", **how)
    return made, [(made.owners[row].as_py(), sorted(made.row(row))) for row in range(len(made))]


def test_a_query_event_is_a_row_and_its_clicks_are_one(log):
    made, rows = rows_of(log, "query")
    assert rows == [
        ("ann#1", ["bb"]),  # "a" is a function word
        ("ann#2", ["cc"]),
        ("ann#3", ["dd"]),
        ("ann#4", []),
        ("ann#5", ["ee"]),
        ("ann#6", ["ff"]),
        ("bob#1", []),
        ("bob#2", ["gg"]),
        ("cy#1", []),
        ("cy#2", ["gg"]),
    ]
    assert made.unit == "query"
    assert made.people.to_pylist() == ["ann"] * 6 + ["bob"] * 2 + ["cy"] * 2
    assert any(sentence.startswith("Queries: 10;") for sentence in made.account)


def test_days_and_weeks_are_those_of_utc(log):
    _, days = rows_of(log, "day")
    assert days == [
        ("ann#1", ["bb", "cc", "dd"]),
        ("ann#2", []),
        ("ann#3", ["ee"]),
        ("ann#4", ["ff"]),
        ("bob#1", []),
        ("bob#2", ["gg"]),
        ("cy#1", ["gg"]),
    ]
    _, weeks = rows_of(log, "week")
    assert weeks == [
        ("ann#1", ["bb", "cc", "dd", "ee"]),
        ("ann#2", ["ff"]),
        ("bob#1", ["gg"]),
        ("cy#1", ["gg"]),
    ]


@pytest.mark.parametrize("unit", ["user", "query", "day", "week", "session:30m"])
def test_active_days_are_the_person_s_whatever_the_unit(log, unit):
    made, rows = rows_of(log, unit)
    days = {"ann": 4, "bob": 2, "cy": 1}
    assert [days[owner.partition("#")[0]] for owner, _ in rows] == made.activity.days.tolist()
    assert (made.activity.first, made.activity.last, made.activity.span) == (-1, 4 * DAY, 6)


def test_query_events_know_their_row(log):
    for unit in ("query", "day", "week"):
        with read_log(log) as read:
            made = read.transactions(unit=unit, items="queries", events=True)
        texts = made.events.texts.to_pylist()
        for row in range(len(made)):
            own = made.events.query[made.events.start[row] : made.events.start[row + 1]]
            assert sorted(texts[q] for q in own) == sorted(
                item for item, times in made.row(row).items() for _ in range(times)
            )


def test_without_times_there_are_queries_and_no_days(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,query\nann,bb\nann,bb\nann,cc\nbob,bb\n", encoding="utf-8")
    made, rows = rows_of(path, "query")
    assert rows == [("ann#1", ["bb"]), ("ann#2", ["bb"]), ("ann#3", ["cc"]), ("bob#1", ["bb"])]
    assert made.activity is None
    for unit in ("day", "week"):
        with pytest.raises(BadInputError, match=f"unit {unit} needs times"):
            rows_of(path, unit)
    with read_log(path) as log, pytest.raises(BadInputError, match="needs times for unit query"):
        log.transactions(unit="query", items="queries", events=True)


def test_baskets_have_no_parts(tmp_path):
    path = tmp_path / "baskets.dat"
    path.write_text("1 2\n3\n", encoding="ascii")
    with read_log(path) as log, pytest.raises(BadInputError, match="unit day needs a query log"):
        log.transactions(unit="day")
