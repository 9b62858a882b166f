"""How times are written is told by looking at them."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import read_log
from incrowd.logs.form import InputForm
from incrowd.logs.formats.time_styles import choose_times
from incrowd.logs.formats.times import Times, check_time_format

NOON = datetime(2006, 3, 31, 12, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "style", "moment"),
    [
        ("2006-03-31T14:00:05.5+02:00", "written", NOON),
        ("2006-03-31 12:00:05 +0000", "written", NOON),
        ("1143806405", "written", NOON),
        ("1143806405.25", "written", NOON),
        ("1143806405999", "milliseconds", NOON),
        ("874369189000", "milliseconds", datetime(1997, 9, 16, 0, 19, 49, tzinfo=UTC)),
        ("060331120005", "excite", NOON),
        ("20060331120005", "digits", NOON),
        ("20060331", "digits", NOON.replace(hour=0, second=0)),
        ("3/31/2006 12:00:05 PM", "month first", NOON),
        ("03/31/2006, 12:00 am", "month first", NOON.replace(hour=0, second=0)),
        ("31/3/2006 12:00:05", "day first", NOON),
        ("31.03.2006 12:00:05", "german", NOON),
        ("2006/03/31 12:00", "year first", NOON.replace(second=0)),
        ("[31/Mar/2006:05:00:05 -0700]", "access log", NOON),
        ("2006-03-31", "written", NOON.replace(hour=0, second=0)),
    ],
)
def test_styles(text, style, moment):
    found = choose_times({"f": pa.array([text, "", "?"])}, InputForm())
    assert found == Times(style)
    assert found.read(pa.array([text, "?", ""])).to_pylist() == [int(moment.timestamp()), None, None]


def test_small_numbers_are_seconds():
    assert choose_times({"f": pa.array(["20061350", "5"])}, InputForm()) == Times("written")
    assert choose_times({"f": pa.array(["20061350"])}, InputForm()) == Times("written")  # no such month


@given(st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30)))  # noqa: DTZ001
def test_a_time_format_reads_what_strftime_writes(moment):
    seconds = int(moment.replace(microsecond=0, tzinfo=UTC).timestamp())
    for pattern in ("%d-%b-%Y %I:%M:%S %p", "%A, %B %d %Y %T.%f", "%Y%m%d%H%M%S", "%S %M %H %d %m %Y%%"):
        text = f"{moment.year:04}".join(moment.strftime(part) for part in pattern.split("%Y"))
        assert Times(check_time_format(pattern)).read(pa.array([text])).to_pylist() == [seconds], pattern


@pytest.mark.parametrize(
    "text",
    ["32/01/2006", "31.2.2006", "3/31/2006 13:00 PM", "3/31/2006 0:30 am", "1/1/06", "31/Foo/2006:00:00:00"],
)
def test_no_moment_is_null(text):
    for style in ("month first", "day first", "german", "access log"):
        assert Times(style).read(pa.array([text])).to_pylist() == [None]


@pytest.mark.parametrize("pattern", ["%Q", "", "no time", "%d %d", "%Y %m", "100%"])
def test_bad_time_formats(pattern):
    with pytest.raises(BadInputError, match="time_format"):
        check_time_format(pattern)


def log_of(path, times):
    path.write_text("user,query,time\n" + "".join(f"u,dog,{time}\n" for time in times), encoding="utf-8")
    return path


@pytest.mark.parametrize(("last", "month"), [("03/31/2006", 3), ("31/03/2006", 4)])
def test_month_or_day_is_told_by_a_row_far_away(tmp_path, last, month):
    path = log_of(tmp_path / "log.csv", ["03/04/2006"] * 9_000 + [last])
    with read_log(path, block_bytes=20_000) as log:
        found = log.store.table("SELECT DISTINCT time FROM events").column(0).to_pylist()
    days = [(3, 31), (month, 7 - month)]
    assert set(found) == {int(datetime(2006, *day, tzinfo=UTC).timestamp()) for day in days}


def test_a_column_that_mixes_both_keeps_to_the_more_frequent(tmp_path):
    path = log_of(tmp_path / "log.csv", ["03/30/2006"] * 5 + ["30/03/2006"])
    with read_log(path) as log:
        assert dict(log.rejected) == {"unparsable time": 1}


def test_a_few_bad_times_are_rejects_and_no_reason_to_refuse(tmp_path):
    paths = [log_of(tmp_path / "a.csv", ["2006-03-31"] * 9), log_of(tmp_path / "b.csv", ["mirabel"])]
    with read_log(paths) as log:
        assert dict(log.rejected) == {"unparsable time": 1}
