from __future__ import annotations

import gzip
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs.formats.blocks import LINE_TOO_LONG, MAX_LINE_BYTES, QUOTE_NOT_CLOSED, BlockCutter
from incrowd.logs.formats.source import Source


class Bytes:
    """A stream from memory with the face of a ByteStream."""

    def __init__(self, data):
        self.data, self.position = data, 0

    def read(self, size, *, line):  # noqa: ARG002
        piece = self.data[self.position : self.position + size]
        self.position += len(piece)
        return piece


def cut(data, *, block_bytes=1 << 20, quoted_by=None):
    rejects = []
    cutter = BlockCutter(lambda *reject: rejects.append(reject), quoted_by=quoted_by, block_bytes=block_bytes)
    records = []
    for block in cutter.blocks(Bytes(data)):
        assert len(block.texts()) == len(block.lines)
        records += zip(block.lines.tolist(), block.texts(), strict=True)
    return records, rejects, cutter


def test_lines_are_numbered_from_one_and_the_last_needs_no_end():
    records, rejects, cutter = cut(b"a\n\nb")
    assert records == [(1, "a"), (2, ""), (3, "b")]
    assert rejects == []
    assert cutter.line == 3


def test_carriage_returns_nul_and_byte_order_mark():
    records, _, cutter = cut(b"\xef\xbb\xbfa\r\nb\rc\r\nd\0e\n")
    assert records == [(1, "a"), (2, "b c"), (3, "de")]
    assert cutter.bad_bytes == 0


def test_bad_bytes_are_replaced_and_counted():
    records, _, cutter = cut("é\n".encode() + b"a\xffb\xc3\n" + "\ufffd\n".encode())
    assert records == [(1, "é"), (2, "a\ufffdb\ufffd"), (3, "\ufffd")]
    assert cutter.bad_bytes == 2


@pytest.mark.parametrize("block_bytes", [1000, 300_000, 1 << 20, 8 << 20])
def test_a_line_too_long_is_rejected_and_the_next_one_is_read(block_bytes):
    just_legal, too_long = b"x" * MAX_LINE_BYTES, b"y" * (MAX_LINE_BYTES + 1)
    data = b"a\n" + just_legal + b"\n" + too_long + b"\nb\n" + too_long
    records, rejects, cutter = cut(data, block_bytes=block_bytes)
    assert [(line, len(text)) for line, text in records] == [(1, 1), (2, MAX_LINE_BYTES), (4, 1)]
    assert rejects == [(3, LINE_TOO_LONG), (5, LINE_TOO_LONG)]
    assert cutter.line == 5


def test_a_newline_in_quotes_does_not_end_a_record():
    records, rejects, _ = cut(b'a,"b\nc"\nd,e\n"x\n\ny",z\nlast\n', quoted_by=",")
    assert records == [(1, 'a,"b\nc"'), (3, "d,e"), (4, '"x\n\ny",z'), (7, "last")]
    assert rejects == []


def test_a_quote_inside_a_field_is_a_character():
    records, rejects, _ = cut(b'1,tv 32" wide\n2,"a ""b"" c"\n3,x\n', quoted_by=",")
    assert [line for line, _ in records] == [1, 2, 3]
    assert rejects == []


@pytest.mark.parametrize("block_bytes", [7, 1 << 20])
def test_a_quote_that_does_not_close_costs_its_own_line_only(block_bytes):
    records, rejects, _ = cut(b'1,a\n2,"b\n3,c\n4,d\n', quoted_by=",", block_bytes=block_bytes)
    assert records == [(1, "1,a"), (3, "3,c"), (4, "4,d")]
    assert rejects == [(2, QUOTE_NOT_CLOSED)]


@pytest.mark.parametrize("block_bytes", [100_000, 8 << 20])
def test_a_quote_that_closes_too_late_costs_its_own_line_only(block_bytes):
    filler = b"x,y\n" * (MAX_LINE_BYTES // 4 + 10)
    records, rejects, cutter = cut(b'1,"a\n' + filler + b'2,b"\n', quoted_by=",", block_bytes=block_bytes)
    assert rejects == [(1, QUOTE_NOT_CLOSED)]
    assert len(records) == cutter.line - 1
    assert records[0] == (2, "x,y")


@pytest.mark.parametrize("block_bytes", [20_000, 2 << 20, 8 << 20])
def test_no_quote_closes_behind_a_long_line(block_bytes):
    data = b'1,"a\n' + b"z" * (MAX_LINE_BYTES + 1) + b'\n2,b",c\n' + b"x,y\n" * 500_000
    records, rejects, _ = cut(data, quoted_by=",", block_bytes=block_bytes)
    assert records[:2] == [(3, '2,b",c'), (4, "x,y")]
    assert rejects == [(1, QUOTE_NOT_CLOSED), (2, LINE_TOO_LONG)]


def test_a_long_line_inside_quotes():
    data = b'1,"a\n' + b"z" * (MAX_LINE_BYTES + 1) + b"\n2,b\n"
    records, rejects, _ = cut(data, quoted_by=",")
    assert records == [(3, "2,b")]
    assert sorted(rejects) == [(1, QUOTE_NOT_CLOSED), (2, LINE_TOO_LONG)]


@given(
    st.lists(
        st.sampled_from(
            [b"a", b",", b'"', b"\n", b"\r\n", b"\r", b"\0", b"\xff", "é".encode(), b"\xef\xbb\xbf"]
        )
    ),
    st.integers(1, 20),
    st.sampled_from([None, ","]),
)
def test_the_size_of_blocks_does_not_matter(pieces, block_bytes, quoted_by):
    data = b"".join(pieces)
    whole, rejects, cutter = cut(data, quoted_by=quoted_by)
    parts, part_rejects, part_cutter = cut(data, quoted_by=quoted_by, block_bytes=block_bytes)
    assert parts == whole
    assert sorted(part_rejects) == sorted(rejects)
    assert (part_cutter.line, part_cutter.bad_bytes) == (cutter.line, cutter.bad_bytes)


@pytest.mark.parametrize("compress", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
def test_cut_short_compression_names_the_file_and_the_line(tmp_path, compress):
    lines = "".join(f"line {i * 7919 % 1_000_003} {i * i}\n" for i in range(100_000)).encode()
    path = tmp_path / "log.bin"
    path.write_bytes(compress(lines)[:-10])
    source = Source(path)
    cutter = BlockCutter(lambda *_: None, block_bytes=200_000)
    told = r"^log.bin is damaged or cut short after line ([\d,]+): get a whole copy of the file$"
    with pytest.raises(BadInputError, match=told) as caught, source.open() as stream:
        list(cutter.blocks(stream))
    line = int(re.match(told, str(caught.value))[1].replace(",", ""))
    assert 80_000 < line <= 100_000


def test_several_gzip_members_are_one_file(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    with Source(path).open() as stream:
        blocks = list(BlockCutter(lambda *_: None).blocks(stream))
    assert [text for block in blocks for text in block.texts()] == ["a", "b"]
