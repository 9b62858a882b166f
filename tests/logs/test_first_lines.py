"""Inputs of which the first lines alone tell how all others are read: what one person has changes nothing of how others are read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.errors import BadInputError
from incrowd.logs.formats.blocks import MAX_LINE_BYTES, QuotedLines
from incrowd.logs.formats.times import written_times

PEOPLE = 4_000  # the first lines, which are looked at, are those of less than half of them
ISO, SLASHES = "2006-03-01 10:00:00", "03/14/2006 10:00"
LINES = {
    "a quote that is not closed": [b'zoe,"open,2006-03-01 10:00:00', b'zoe,"again,2006-03-01 10:00:00'],
    "a quote within a field": [b'zoe,"a"b"c,2006-03-01 10:00:00', b'zoe,d"",2006-03-01 10:00:00'],
    "bytes of no encoding": [b"zoe," + b"\xff\xfe" * 4_000 + b",2006-03-01 10:00:00"],
    "a long line": [b'zoe,"' + b"long " * (MAX_LINE_BYTES // 4) + b'",2006-03-01 10:00:00'],
}


def csv(path, lines=(), time=ISO):
    """Write a log in which the lines of one more person stand between those of others."""
    rows = [f'p{n},"red wine, old {n % 7}",{time}'.encode() for n in range(PEOPLE)]
    for number, line in enumerate(lines):
        rows.insert(2_500 + 100 * number, line)
    path.write_bytes(b"\n".join([b"user,query,time", *rows]) + b"\n")
    return path


def others(path, **how):
    """Return what everybody but one person has."""
    with ic.read_log(path, by_first_lines=True, **how) as log:
        data = log.transactions(items="terms")
    return {owner: data.row(at) for at, owner in enumerate(data.owners.to_pylist()) if owner != "zoe"}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_lines_of_one_person_take_nothing_from_others(tmp_path, lines):
    assert others(csv(tmp_path / "log.csv", lines)) == others(csv(tmp_path / "without.csv"))
    assert len(others(tmp_path / "log.csv")) == PEOPLE


def test_an_object_over_several_lines_takes_nothing_from_others(tmp_path):
    """As many objects as there are lines prove nothing: one may be spread over three of them, and two share one."""
    usual = [f'{{"user": "p{n}", "query": "red wine {n}"}}' for n in range(99)]
    around = ['{"user": "zoe", "more":', usual[50], "}"]
    double = '{"user": "zoe", "query": "a"} {"user": "zoe", "query": "b"}'
    path, without = tmp_path / "log.jsonl", tmp_path / "without.jsonl"
    path.write_text("\n".join([*usual[:50], *around, double, double, *usual[51:]]) + "\n")
    without.write_text("\n".join(usual) + "\n")
    assert others(path) == others(without)
    assert len(others(path)) == len(usual)
    with ic.read_log(path) as log:
        assert log.rejected == {"not a JSON object": 4}


def test_a_quote_takes_lines_with_it_where_a_record_may_have_several(tmp_path):
    path = csv(tmp_path / "log.csv", LINES["a quote that is not closed"])
    with ic.read_log(path) as log:
        assert log.users < PEOPLE


@pytest.mark.parametrize(
    "odd", ["0000-12-31 23:00:00-02:00", "0001-01-01 00:00:00+01:00", "9999-12-31 23:00:00-02:00"]
)
def test_a_time_is_read_alike_whatever_stands_beside_it(odd):
    (alone,) = written_times(pa.array([odd])).to_pylist()
    for other in (ISO, "2006-03-01T10:00:00.5Z", "1141171200", "never"):
        assert written_times(pa.array([other, odd]))[1].as_py() == alone
        assert written_times(pa.array([odd, other]))[0].as_py() == alone


def test_a_time_in_a_later_line_does_not_tell_how_all_are_written(tmp_path):
    """The first lines leave open whether the month or the day comes first: with all lines, one of them decides for everybody."""
    usual = [f"p{n},red wine,03/04/2006 10:00" for n in range(9_000)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["user,query,time", *usual, "zoe,wine,13/04/2006 10:00"]) + "\n")
    with ic.read_log(path) as log:
        assert log.users == 9_001
    for data in (path, {"user": ["a", "b"], "query": ["x", "y"], "time": ["03/04/2006 10:00"] * 2}):
        with pytest.raises(BadInputError, match="may begin with the month or with the day"):
            ic.read(data, by_first_lines=True)
    with ic.read_log(path, by_first_lines=True, time_format="%m/%d/%Y %H:%M") as log:
        assert (log.users, log.rejected["unparsable time"]) == (9_000, 1)


def test_first_lines_in_another_encoding_are_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"user,query\n" + "p,caf\xe9 cr\xe8me\n".encode("latin-1") * 99)
    with pytest.raises(BadInputError, match="is not UTF-8"):
        ic.read_log(path, by_first_lines=True)
    with ic.read_log(path, by_first_lines=True, encoding="latin-1") as log:
        assert log.rows == 99


def test_regular_lines_are_cut_as_odd_ones_are():
    """The way of regular text is a short cut: it gives the same records."""
    lines = [b'a,"b ""c"" d",e\n', b"\n", b'"",""\n', b"plain,line\n", b'"x","y"\n']
    cutter = QuotedLines(",", MAX_LINE_BYTES)
    whole = cutter.cut(b"".join(lines), last=True)
    odd = cutter.cut(b"".join([*lines, b'bad,"open\n']), last=True)
    assert (whole.data, whole.ends.tolist(), whole.lines.tolist()) == (
        odd.data,
        odd.ends.tolist(),
        odd.lines.tolist(),
    )
    assert (whole.unclosed, odd.unclosed) == ([], [len(lines)])
    assert np.array_equal(whole.lines, np.arange(len(lines)))
    assert whole.data == b"".join(lines)
