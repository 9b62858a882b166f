from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.logs import read_log
from incrowd.logs.formats.blocks import MAX_LINE_BYTES, Block, QuotedRecords
from incrowd.logs.formats.delimited import DelimitedParser
from incrowd.logs.formats.detect import Layout
from incrowd.logs.rejects import Rejects

PIECES = st.lists(st.sampled_from(["a", ",", '"', '""', '"b"', "\n", '"\n"'])).map("".join)


@given(PIECES)
def test_counting_quotes_and_the_pattern_agree(text):
    data = (text + "\n").encode()
    records = QuotedRecords(",", MAX_LINE_BYTES)
    if records._is_regular(data):
        fast, slow = records._cut_regular(data), records._cut_one_by_one(data, last=False)
        assert (fast.data, fast.rest) == (slow.data, slow.rest)
        assert fast.ends.tolist() == slow.ends.tolist()
        assert fast.lines.tolist() == slow.lines.tolist()


@given(st.lists(st.lists(st.text(st.sampled_from('a,"\n é')), min_size=2, max_size=2), min_size=1))
def test_what_a_csv_writer_writes_is_regular_and_read_back(rows):
    data = "".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in rows
    ).encode()
    records = QuotedRecords(",", MAX_LINE_BYTES)
    assert records._is_regular(data)
    cut = records.cut(data, last=True)
    assert len(cut.ends) == len(rows)
    assert not cut.unclosed
    assert not cut.rest


@given(PIECES)
def test_records_are_those_of_the_csv_module(text):
    data = (text + "\n").encode()
    cut = QuotedRecords(",", MAX_LINE_BYTES).cut(data, last=True)
    assume_closed = not cut.unclosed
    if assume_closed:
        expected = list(csv.reader((text + "\n").splitlines(keepends=True)))
        assert len(cut.ends) == len(expected)


def test_fields_are_those_of_the_csv_module():
    rejects = Rejects()
    parser = DelimitedParser(Layout("csv", {"user": 0, "query": 1}, 2, ",", quoted=True), rejects)

    @given(PIECES)
    def check(text):
        data = (text + "\n").encode()
        cut = QuotedRecords(",", MAX_LINE_BYTES).cut(data, last=True)
        if cut.unclosed or not len(cut.ends):
            return
        expected = list(csv.reader((text + "\n").splitlines(keepends=True)))
        lines, queries = [], []
        before = rejects.counts.total()
        for rows in parser.parse(Block(cut.data, cut.ends, cut.lines + 1)):
            lines += rows.lines.tolist()
            queries += rows.query.to_pylist()
        numbers = (cut.lines + 1).tolist()
        wanted = [
            (n, row[1] if row else "") for n, row in zip(numbers, expected, strict=True) if len(row) in (0, 2)
        ]
        assert list(zip(lines, queries, strict=True)) == wanted
        assert rejects.counts.total() - before == len(expected) - len(wanted)

    check()


def read(path, text):
    path.write_text(text, encoding="utf-8")
    with read_log(path, format="csv", block_bytes=50) as log:
        queries = log.store.table("SELECT * FROM events").to_pylist()
        return {row["user"]: row["query"] for row in queries}, dict(log.rejects.counts)


@pytest.mark.parametrize(
    ("closing", "between"),
    [
        (text, n)
        for text in ('"cats', '"cats, dogs"', '"cats"', 'cats"')
        for n in (0, 2, 30)
        if n or text[0] == '"'
    ],
)  # two lines of which the second ends with a quote are legal
def test_a_forgotten_quote_makes_no_query_of_other_people_s_rows(tmp_path, closing, between):
    rows = [f"u{i},query {i}" for i in range(73)]
    rows[5], rows[6 + between] = 'u5,"cat', f"u{6 + between},{closing}"
    queries, rejects = read(tmp_path / "x.csv", "user,query\n" + "\n".join(rows) + "\n")
    swallowed = range(5, 7 + between)
    assert queries == {f"u{i}": f"query {i}" for i in range(73) if i not in swallowed}
    assert rejects == {"quote not closed": len(swallowed)}


@pytest.mark.parametrize(
    "query",
    [
        "a\nb",
        "a\n\nb",
        "a\nb\nc\nd",
        "dear all,\ncats\ndogs\nyours, x",
        "a,b\nc,d",
        "a\nb,c\nd",
        'a\n"b"\nc',
        "a,,\n,,b\n,,c\n,",
    ],
)
def test_legal_fields_of_several_lines_are_read(tmp_path, query):
    quoted = query.replace('"', '""')
    assert read(tmp_path / "x.csv", f'user,query\nu1,"{quoted}"\n"u2","x" \n') == (
        {"u1": query, "u2": "x "},
        {},
    )
