"""Parquet as input on Spark: what the local engine makes of the same rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_engine import on_both

from helpers import Quiet
from incrowd.errors import BadInputError
from incrowd.jobs.spec import Options
from incrowd.spark.run import run_spark_job

WORDS = ["car", "dog", "cat", "tree", "house", "bread", "river"]
START = datetime(2006, 3, 1, tzinfo=UTC)


def rows(count: int = 400) -> pa.Table:
    """Return a log with whole numbers for users, real times, and what real tables have: nulls and blanks."""
    users = [None if i == 17 else i % 40 for i in range(count)]
    queries = [None if i == 30 else f"{WORDS[i % 7]} {WORDS[i * i % 7]}" for i in range(count)]
    times = [None if i == 50 else START + timedelta(minutes=i) for i in range(count)]
    return pa.table(
        {
            "a page": pa.array(range(count)),
            "the `user`": pa.array(users, pa.int32()),
            "when.asked": pa.array(times, pa.timestamp("us", "UTC")),
            "words": pa.array(queries),
        }
    )


COLUMNS = {"columns": "user=the `user`,query=words,time=when.asked,url=a page"}


@pytest.mark.usefixtures("spark")
def test_parquet_files_give_the_same_release_and_the_same_rejects(tmp_path):
    (tmp_path / "log").mkdir()
    for number in range(4):
        part = rows().slice(100 * number, 100)
        pq.write_table(part, tmp_path / f"log/part-{number}.parquet", row_group_size=64)
    found, _ = on_both(tmp_path / "log", tmp_path, **COLUMNS)
    assert found["rejected"]["by_reason"] == {"no user": 1, "unparsable time": 1}
    assert found["input"]["lines"] == 400
    assert found["use"]["clicks_recall"] == 0
    rejects = (tmp_path / "spark/rejects.jsonl").read_text(encoding="utf-8").splitlines()
    assert any('part-0.parquet", "line": 51, "reason": "unparsable time"' in line for line in rejects)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("column", "line"),
    [
        (pa.array([["a"]] * 400), "column 'words' is not text in UTF-8"),
        (None, "log.parquet"),
    ],
    ids=["lists for queries", "no queries"],
)
def test_columns_that_cannot_be_used_are_said_in_one_line(tmp_path, column, line):
    table = rows().drop_columns("words")
    path = tmp_path / "log.parquet"
    pq.write_table(table if column is None else table.append_column("words", column), path)
    with pytest.raises(BadInputError) as caught:
        run_spark_job(Options(path, tmp_path / "out", 4, method="partition", **COLUMNS), Quiet())
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("spark")
def test_a_damaged_file(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(rows(), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadInputError) as caught:
        run_spark_job(Options(path, tmp_path / "out", 4, method="partition", **COLUMNS), Quiet())
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
