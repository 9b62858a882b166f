"""Windows of time: how they are read, and that they are half-open."""

from __future__ import annotations

import pytest

from incrowd.core.window import BEGINNING, Window, parse_window, read_time, spelled_time
from incrowd.errors import BadInputError

DAY = 86_400


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("1970-01-02..1970-01-02", (DAY, 2 * DAY, False)),
        ("1970-01-02..1970-01-03T00:00", (DAY, 2 * DAY, False)),
        (" 1970-01-02 .. ", (DAY, None, False)),
        ("..1970-01-01T00:00:10Z", (None, 10, False)),
        ("1970-01-01T02:00+02:00..1970-01-01 00:00:01", (0, 1, False)),
        ("..", (None, None, False)),
        ("new", (None, None, True)),
        ("new..", (None, None, True)),
        ("new..1970-01-01", (None, DAY, True)),
        ("1972-02-29..1972-02-29", (789 * DAY, 790 * DAY, False)),
        ("1999-12-31..1999-12-31", (10956 * DAY, 10957 * DAY, False)),
    ],
)
def test_a_day_is_whole_and_a_time_at_the_end_is_left_out(text, window):
    assert tuple(parse_window(text)) == window


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2006-03-01",
        "new..new",
        "..new",
        "2006-3-1..2006-03-02",
        "2006-02-30..",
        "..9999-12-31",
        "2006-W10-1..",
        "20060301..",
        "2006-03-01T24:00..",
        "2006-03-01T10:00:00.5..",
        "yesterday..today",
        "2006-03-01...2006-03-02",
        "2006-03-01..2006-03-02..2006-03-03",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(BadInputError, match=r"window must be FROM\.\.TO"):
        parse_window(text)


@pytest.mark.parametrize("text", ["2006-03-02..2006-03-01", "2006-03-01T10:00..2006-03-01T10:00"])
def test_a_window_without_time_in_it_is_refused(text):
    with pytest.raises(BadInputError, match="must end after it begins"):
        parse_window(text)


def test_windows_that_touch_do_not_meet():
    first, second = Window(None, 10), Window(10, 20)
    assert not first.meets(second)
    assert not second.meets(first)
    assert second.meets(Window(19, 20))
    assert first.meets(Window(None, 1))
    assert first.first == BEGINNING


def test_times_have_one_spelling():
    assert spelled_time(1141171200) == "2006-03-01T00:00:00Z"
    assert read_time("2006-03-01T00:00:00Z") == 1141171200
    for text in ("2006-03-01", "2006-03-01T00:00:00", "2006-03-01T01:00:00+01:00", "2006-03-01 00:00:00Z"):
        with pytest.raises(ValueError, match="in another way"):
            read_time(text)
    window = Window(DAY, 2 * DAY)
    asked = parse_window(str(window))
    assert (asked.start, asked.stop) == (window.start, window.stop)
