"""The first records of an input, as they are written."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.logs import InputForm, first_records

ROWS = [{"user": f"u{n}", "query": f"dogs, {n}", "time": "2006-03-01 10:00:00"} for n in range(9)]


def as_csv(path):
    lines = "".join(f'{row["user"]},"{row["query"]}",{row["time"]}\n' for row in ROWS)
    path.write_text("user,query,time\n" + lines, encoding="utf-8")


def as_jsonl(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")


def as_array(path):
    path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8")


def as_parquet(path):
    pq.write_table(pa.Table.from_pylist(ROWS), path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.csv", as_csv), ("a.jsonl", as_jsonl), ("a.json", as_array), ("a.parquet", as_parquet)],
)
def test_they_are_the_first_rows_by_role(tmp_path, name, write):
    write(tmp_path / name)
    assert first_records(tmp_path / name, InputForm(), 2) == ROWS[:2]


def test_of_baskets_they_are_lines_and_compression_does_not_matter(tmp_path):
    with gzip.open(tmp_path / "a.dat.gz", "wt") as file:
        file.write("\nmilk bread\nbeer\n")
    assert first_records(tmp_path / "a.dat.gz", InputForm()) == [{"items": "milk bread"}, {"items": "beer"}]
