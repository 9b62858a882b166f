from __future__ import annotations

import csv

from hypothesis import given
from hypothesis import strategies as st

from incrowd.logs.blocks import MAX_LINE_BYTES, Block
from incrowd.logs.delimited import DelimitedParser
from incrowd.logs.formats import Layout
from incrowd.logs.quotes import QuotedRecords
from incrowd.logs.rejects import Rejects
from incrowd.logs.store import Store

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
    store = Store()
    rejects = Rejects(store)
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
    store.close()
