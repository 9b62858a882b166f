from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.logs.formats.times import excite_times, written_times

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda t: t.replace(microsecond=0))  # noqa: DTZ001


def seconds(moment):
    return (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2006-03-01 07:17:12", 1141197432),
        ("2006-03-01T07:17:12", 1141197432),
        ("2006-03-01T07:17:12Z", 1141197432),
        ("2006-03-01 09:17:12+02:00", 1141197432),
        ("2006-03-01T07:17:12.900", 1141197432),
        (" 2006-03-01 07:17:12 ", 1141197432),
        ("2006-03-01", 1141171200),
        ("1141197432", 1141197432),
        ("1141197432.9", 1141197432),
        ("-5", -5),
        ("2006-02-30 00:00:00", None),
        ("2006-03-01x07:17:12", None),
        ("1141197432000", None),
        ("0000-01-01 00:00:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_written_times(text, expected):
    assert written_times(pa.array([text])).to_pylist() == [expected]
    # One bad time beside it must not change how it is read.
    assert written_times(pa.array([text, "?"])).to_pylist() == [expected, None]


@given(st.lists(MOMENTS, min_size=1), st.sampled_from([" ", "T"]))
def test_iso_times_are_read_alike_in_bulk_and_one_by_one(moments, separator):
    texts = [moment.isoformat(separator) for moment in moments]
    expected = [seconds(moment) for moment in moments]
    assert written_times(pa.array(texts)).to_pylist() == expected
    assert written_times(pa.array([*texts, "?"])).to_pylist() == [*expected, None]


@given(st.datetimes(datetime(1970, 1, 1), datetime(2069, 12, 31)))  # noqa: DTZ001
def test_excite_times(moment):
    moment = moment.replace(microsecond=0)
    assert excite_times(pa.array([moment.strftime("%y%m%d%H%M%S")])).to_pylist() == [seconds(moment)]


@pytest.mark.parametrize(
    "text", ["970230000000", "971301000000", "970100000000", "970101240000", "97010100000", "x", ""]
)
def test_bad_excite_times_are_null(text):
    assert excite_times(pa.array([text, "970916001949"])).to_pylist() == [None, 874369189]
