"""When units were active, week by week, and whether a log has clicks."""

from __future__ import annotations

import random

import pytest

import incrowd as ic

DAY = 86_400


def log_of(path, rows):
    path.write_text(
        "user,time,query,url\n"
        + "".join(f"{user},{time},{query},{url}\n" for user, time, query, url in rows),
        encoding="utf-8",
    )
    return ic.read_log(path)


def weeks_of(made):
    assert made.weeks is not None
    bounds, week = made.weeks.start.tolist(), made.weeks.week.tolist()
    return {
        owner: week[bounds[i] : bounds[i + 1]] for i, owner in enumerate(made.owners.to_pylist())
    }, made.weeks.number


def is_new(unit, before, now):
    """Tell whether an event begins another unit of its person."""
    if unit == "session:30m":
        return now - before > 1800
    return unit == "query" or (unit == "day" and now // DAY > before // DAY)


@pytest.mark.parametrize("unit", ["user", "session:30m", "query", "day"])
def test_a_unit_is_of_the_weeks_in_which_it_has_queries(tmp_path, unit):
    dice = random.Random(7)
    start = 1_141_000_000
    rows = [(f"u{dice.randint(1, 9)}", start + dice.randrange(24 * DAY), "dog", "") for _ in range(60)]
    rows += [("u1", start, "cat", ""), ("u2", start + 24 * DAY - 1, "cat", "")]
    with log_of(tmp_path / "log.csv", rows) as log:
        made = log.transactions(unit=unit)
    found, number = weeks_of(made)
    expected: dict[str, set[int]] = {}
    visits: dict[str, int] = {}
    last: dict[str, int] = {}
    for user, time, *_ in sorted(rows):
        if user not in last or is_new(unit, last[user], time):
            visits[user] = visits.get(user, 0) + 1
        last[user] = time
        owner = user if unit == "user" else f"{user}#{visits[user]}"
        expected.setdefault(owner, set()).add((time - start) // (7 * DAY))
    assert number == 4
    assert found == {owner: sorted(weeks) for owner, weeks in expected.items()}


@pytest.mark.parametrize("unit", ["query", "day", "week"])
def test_parts_of_a_log_are_of_their_weeks(tmp_path, unit):
    start = 1_141_000_000
    rows = [(f"u{n % 3}", start + n * 2 * DAY, "dog", "") for n in range(12)]
    with log_of(tmp_path / "log.csv", rows) as log:
        made = log.transactions(unit=unit)
    found, number = weeks_of(made)
    assert number == 4
    assert len(found) == len(made)
    assert all(found.values())
    times = sorted((time - start) // (7 * DAY) for _, time, *_ in rows)
    if unit != "week":
        assert sorted(week for weeks in found.values() for week in weeks) == times


@pytest.mark.parametrize(
    ("seconds", "number"),
    [(13 * DAY, None), (14 * DAY - 1, 2), (14 * DAY, 2), (14 * DAY + 1, 3), (40_000 * DAY, None)],
)
def test_less_than_two_weeks_are_none_and_a_century_is_not_believed(tmp_path, seconds, number):
    with log_of(tmp_path / "log.csv", [("a", 0, "dog", ""), ("b", seconds, "dog", "")]) as log:
        made = log.transactions()
    assert (made.weeks and made.weeks.number) == number
    if made.weeks is not None:
        assert made.weeks.week.max() == number - 1


def test_without_times_there_are_no_weeks_and_without_clicks_none(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,query\na,dog\nb,dog\n", encoding="utf-8")
    with ic.read_log(path) as log:
        made = log.transactions()
    assert (made.weeks, made.has_clicks) == (None, False)
    with log_of(path, [("a", 0, "dog", ""), ("b", 5, "dog", "http://kennel.example")]) as log:
        assert log.transactions().has_clicks


def test_baskets_have_neither(tmp_path):
    path = tmp_path / "baskets.dat"
    path.write_text("1 2\n1\n", encoding="utf-8")
    with ic.read_log(path) as log:
        made = log.transactions()
    assert (made.weeks, made.has_clicks) == (None, False)
