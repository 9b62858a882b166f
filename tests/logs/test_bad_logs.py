from __future__ import annotations

import gzip
import json
import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.errors import BadInputError
from incrowd.logs import read_log
from incrowd.logs.store import Store

SECRET = "jane.doe@example.org"
ROW = f"17\t{SECRET}\t2020-01-01 10:00:00\t1\thttp://x.org\n"


def write(path, data):
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def message(path, **options):
    with pytest.raises(BadInputError) as caught:
        read_log(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert SECRET not in text
    assert caught.value.__cause__ is None
    return text


@pytest.mark.parametrize(
    "data", [b"", gzip.compress(b""), pa.compress(b"", "zstd", asbytes=True)], ids=["plain", "gzip", "zstd"]
)
def test_empty_file(tmp_path, data):
    assert "log is empty" in message(write(tmp_path / "log", data))


@pytest.mark.parametrize(
    "header", ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n", "user,query\n", "user,query"]
)
def test_only_a_header(tmp_path, header):
    assert "has no rows" in message(write(tmp_path / "log", header))


def test_parquet_without_rows(tmp_path):
    pq.write_table(
        pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())}), tmp_path / "p"
    )
    assert "has no rows" in message(tmp_path / "p")


def test_missing_file_and_directory(tmp_path):
    assert "does not exist" in message(tmp_path / "nowhere")
    assert "directory without a file" in message(tmp_path)


def test_unreadable_file():
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        path = write(Path(directory) / "log", ROW)
        path.chmod(0)
        root = os.geteuid() == 0
        if root:  # who may read everything: be nobody for a moment
            os.seteuid(65534)
        try:
            assert "Permission denied" in message(path)
        finally:
            if root:
                os.seteuid(0)


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x7fELF" + b"text" * 50])
def test_binary_file(tmp_path, data):
    assert "looks like a binary file" in message(write(tmp_path / "log", data))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_says_how_to_read_it(tmp_path, encoding):
    path = write(tmp_path / "log", ROW.encode(encoding))
    assert f"encoding='{encoding}'," in message(path)
    with read_log(path, encoding=encoding) as log:
        assert log.format == "aol"
        assert log.transactions().owners.to_pylist() == ["17"]


def test_unknown_format_suggests_the_nearest(tmp_path):
    assert "did you mean 'jsonl'?" in message(write(tmp_path / "log", ROW), format="jsonls")


def test_unrecognised_format_says_how_to_name_it(tmp_path):
    assert "(format)" in message(write(tmp_path / "log", f"{SECRET},b\tc\nd,e\n"))


def test_missing_column_names_the_columns(tmp_path):
    text = message(write(tmp_path / "log.csv", f"who,query,when\na,{SECRET},b\n"))
    assert "no column that looks like the user: found who, query, when" in text
    text = message(write(tmp_path / "log.jsonl", '{"user": 1, "words": "' + SECRET + '"}\n'))
    assert "no column that looks like the query: found user, words" in text


def test_two_columns_of_one_name(tmp_path):
    assert "2 columns of one name for the user" in message(
        write(tmp_path / "x.csv", "user,user,query\na,b,c\n")
    )
    table = pa.Table.from_arrays(
        [pa.array(["a"]), pa.array([SECRET]), pa.array(["b"])], ["user", "query", "query"]
    )
    pq.write_table(table, tmp_path / "p")
    assert "2 columns of one name for the query" in message(tmp_path / "p")


def test_one_column_for_two_roles(tmp_path):
    path = write(tmp_path / "x.csv", "user,query\na,b\n")
    assert "one column of x.csv" in message(path, columns={"user": "user", "query": "user"})


def test_keys_that_may_be_content_are_not_shown(tmp_path):
    text = message(write(tmp_path / "log.jsonl", '{"alice": "leprosy", "bob": "flu"}\n'))
    assert "the shape 'aaaa, aaa'" in text
    assert "alice" not in text


def test_no_header_is_not_quoted(tmp_path):
    assert "no header line" in message(write(tmp_path / "log.csv", f"17,{SECRET}\n18,x\n"))


def test_columns_where_there_are_none_to_choose(tmp_path):
    assert "format='tsv'" in message(write(tmp_path / "log", ROW), columns={"user": "x"}, format="aol")
    assert "format dat" in message(write(tmp_path / "log.dat", "1 2\n"), columns={"user": "x"})
    assert "columns has no 'usr'" in message(
        write(tmp_path / "log.csv", "user,query\na,b\n"), columns={"usr": "x"}
    )


def test_parquet_asked_of_text_and_text_of_parquet(tmp_path):
    assert "is not a Parquet file" in message(write(tmp_path / "log", ROW), format="parquet")
    pq.write_table(pa.table({"user": ["a"], "query": [SECRET]}), tmp_path / "p")
    assert "is a Parquet file" in message(tmp_path / "p", format="csv")
    assert "no delimiter: drop delimiter" in message(tmp_path / "p", delimiter=";")


def test_damaged_parquet_and_parquet_of_another_type(tmp_path):
    pq.write_table(pa.table({"user": ["a"] * 1000, "query": [SECRET] * 1000}), tmp_path / "p")
    assert "damaged or cut short" in message(write(tmp_path / "q", (tmp_path / "p").read_bytes()[:-30]))
    pq.write_table(pa.table({"user": [[1]], "query": [SECRET]}), tmp_path / "p")
    assert "column 'user' is not text" in message(tmp_path / "p")


def test_json_without_an_object(tmp_path):
    assert "no JSON object" in message(write(tmp_path / "log", f"[{SECRET}]\n"), format="jsonl")


DEEP = '{"user": "a", "query": "x", "more": ' + "[" * 5000 + "]" * 5000 + "}\n"


@pytest.mark.parametrize("first", [True, False])
def test_json_that_is_nested_too_deeply_is_a_reject(tmp_path, first):
    good = json.dumps({"user": "b", "query": SECRET}) + "\n"
    with read_log(write(tmp_path / "log", DEEP + good if first else good + DEEP), format="jsonl") as log:
        assert log.rejects.counts == {"nested too deeply": 1}
        assert log.transactions(items="queries").owners.to_pylist() == ["b"]
    assert "no JSON object" in message(write(tmp_path / "log", DEEP), format="jsonl")


def test_a_file_name_that_is_not_utf_8(tmp_path):
    path = os.fsencode(tmp_path) + b"/log\xff.tsv"
    try:
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(ROW.encode())
    except OSError:
        pytest.skip("this file system has no such names")
    assert "log\\udcff.tsv is no name in UTF-8: rename" in message(os.fsdecode(path))


def test_bad_bytes_are_counted(tmp_path):
    path = write(tmp_path / "log", ROW.encode() * 20 + b"18\tcaf\xe9\t2020-01-01 10:00:00\t\t\n")
    with read_log(path) as log:
        made = log.transactions(items="terms")
    assert log.bad_bytes == 1
    assert "Bytes that were not UTF-8, replaced: 1." in made.account
    assert made.row(1) == {"caf\ufffd": 1}


def test_a_line_of_a_megabyte(tmp_path):
    long = f"18\t{'x' * (1 << 20)}\t2020-01-01 10:00:00\t\t\n"
    with read_log(write(tmp_path / "log", ROW + long + ROW.replace("17", "19"))) as log:
        assert log.rejects.counts == {"line longer than 1 MiB": 1}
        assert log.transactions().owners.to_pylist() == ["17", "19"]


def test_nothing_of_a_bad_line_is_told_but_where_it_is_asked_for(tmp_path):
    bad = f"17\t{SECRET}\n17\t{SECRET}\t{SECRET}\t\t\n"
    with read_log(write(tmp_path / "log", ROW + bad)) as log:
        log.rejects.write(tmp_path / "rejects")
        told = (tmp_path / "rejects").read_text() + repr(log) + repr(log.rejects) + str(log.rejects.counts)
        told += "".join(log.transactions(items="queries").account)
    assert len(log.rejects) == 2
    assert SECRET not in told


def test_too_little_memory_says_which_number_to_raise(monkeypatch):
    monkeypatch.setattr("incrowd.logs.store._LEAST_DATABASE", 0)
    monkeypatch.setattr("incrowd.logs.store._DATABASE_SHARE", 0.01)
    store = Store("640MB")
    with pytest.raises(BadInputError, match=r"memory of 640MB is too small .*give memory='1.0GB'.*TMPDIR"):
        store.run(f"CREATE TABLE t AS SELECT string_agg('{SECRET}' || range, '') FROM range(1000000)")
    store.close()


def test_errors_of_the_database_quote_nothing():
    store = Store()
    with pytest.raises(BadInputError) as caught:
        store.run(f"SELECT CAST('{SECRET}' AS INTEGER)")
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    store.close()


def test_a_failed_reading_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    message(write(tmp_path / "log", "user,query\n"))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_rejects_cannot_be_written(tmp_path):
    with (
        read_log(write(tmp_path / "log", ROW)) as log,
        pytest.raises(BadInputError, match="cannot be written"),
    ):
        log.rejects.write(tmp_path / "nowhere" / "rejects.jsonl")
