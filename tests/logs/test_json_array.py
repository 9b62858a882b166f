"""A JSON array is read like JSON lines, however it is laid out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.logs import read_log
from incrowd.logs.formats.json_array import ArrayCutter

TEXTS = st.text(st.sampled_from('a"\\{}[],: é\n'), max_size=6)
OBJECTS = st.lists(st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=3))


class Stream:
    stored_bytes_read = 0

    def __init__(self, data):
        self._data = data

    def read(self, size, *, line):  # noqa: ARG002
        piece, self._data = self._data[:size], self._data[size:]
        return piece


@given(OBJECTS, st.sampled_from([None, 1]), st.integers(1, 40))
def test_objects_are_cut_apart_wherever_blocks_end(objects, indent, size):
    text = json.dumps(objects, indent=indent, ensure_ascii=False).encode()
    cutter = ArrayCutter("f", block_bytes=size)
    found = [line for block in cutter.blocks(Stream(text)) for line in block.texts()]
    assert [json.loads(line) for line in found] == objects
    assert cutter.line == len(objects)


@pytest.mark.parametrize("indent", [None, 2])
def test_what_is_no_object_is_rejected_with_its_number(tmp_path, indent):
    rows = [{"user": "u1", "query": "dog"}, {"user": [1], "query": "dog"}, {"user": "u2", "query": "cat"}]
    (tmp_path / "log.json").write_text(json.dumps(rows, indent=indent), encoding="utf-8")
    with read_log(tmp_path / "log.json") as log:
        assert [(row["line"], row["reason"]) for row in log.rejected_rows()] == [(2, "value is not text")]
        assert (log.rows, log.lines) == (2, 3)
