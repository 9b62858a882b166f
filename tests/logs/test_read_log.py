from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import read_baskets, read_log, store

ROWS = [
    ("u2", "red mice", "2020-01-01 10:00:00"),
    ("u1", "zebra", "2020-01-01 11:00:00"),
    ("u2", "zebra", "2020-01-02 10:00:00"),
]
BAGS = {"u1": {"zebra": 1}, "u2": {"mouse": 1, "red": 1, "zebra": 1}}


def aol(rows):
    return "".join(f"{user}\t{query}\t{time}\t1\thttp://x.org\n" for user, query, time in rows)


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def bags(transactions):
    return {owner: transactions.row(i) for i, owner in enumerate(transactions.owners.to_pylist())}


def events(log):
    rows = log.store.table("SELECT * FROM events").to_pylist()
    return sorted((row["user"], row["time"], row["query"], row["url"]) for row in rows)


AOL_HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
SECONDS = {
    "2020-01-01 10:00:00": 1577872800,
    "2020-01-01 11:00:00": 1577876400,
    "2020-01-02 10:00:00": 1577959200,
}
TEXTS = {
    "aol": AOL_HEADER + aol(ROWS),
    "excite": "".join(f"{u}\t{t[2:].translate(str.maketrans('', '', '-: '))}\t{q}\n" for u, q, t in ROWS),
    "csv": "uid,when,q\n" + "".join(f'{u},{t},"{q}"\n' for u, q, t in ROWS),
    "tsv": "user_id\tquery\twhen\n" + "".join(f"{u}\t{q}\t{t}\n" for u, q, t in ROWS),
    "jsonl": "".join(json.dumps({"user": u, "query": q, "when": t, "more": [1]}) + "\n" for u, q, t in ROWS),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("format_name", ["auto", "named"])
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_every_format_gives_the_same_rows(tmp_path, name, format_name, compression):
    data = TEXTS[name].encode()
    if compression:
        data = gzip.compress(data) if compression == ".gz" else pa.compress(data, "zstd", asbytes=True)
    path = write(tmp_path / f"log{compression}", data)
    columns = None if name in ("aol", "excite") else {"time": "when"}
    with read_log(path, format=name if format_name == "named" else "auto", columns=columns) as log:
        assert log.format == name
        assert [event[:3] for event in events(log)] == sorted((u, SECONDS[t], q) for u, q, t in ROWS)
        assert bags(log.transactions()) == BAGS


@pytest.mark.parametrize("name", TEXTS)
def test_line_ends_and_byte_order_mark_change_nothing(tmp_path, name):
    path = write(tmp_path / "log", b"\xef\xbb\xbf" + TEXTS[name].replace("\n", "\r\n").encode())
    columns = None if name in ("aol", "excite") else {"time": "when"}
    with read_log(path, columns=columns) as log:
        assert log.format == name
        assert not log.rejects
        assert bags(log.transactions()) == BAGS


def test_parquet_with_numbers_and_timestamps(tmp_path):
    times = pa.array([SECONDS[t] for *_, t in ROWS]).cast(pa.timestamp("s", "UTC"))
    table = pa.table(
        {"user": [2, 1, 2], "query": pa.array([q for _, q, _ in ROWS]).dictionary_encode(), "time": times}
    )
    pq.write_table(table, tmp_path / "log.parquet")
    with read_log(tmp_path / "log.parquet") as log:
        assert log.format == "parquet"
        assert log.lines == 3
        assert [event[1] for event in events(log)] == [1577876400, 1577872800, 1577959200]
        assert bags(log.transactions()) == {"1": BAGS["u1"], "2": BAGS["u2"]}


def test_parquet_rows_are_rejected_by_number(tmp_path):
    pq.write_table(
        pa.table({"user": ["a", None, "c"], "query": ["x", "y", "z"], "time": ["5", "6", "?"]}),
        tmp_path / "p",
    )
    with read_log(tmp_path / "p") as log:
        log.rejects.write(tmp_path / "rejects.jsonl")
        assert log.rejects.counts == {"no user": 1, "unparsable time": 1}
    assert [json.loads(line)["line"] for line in (tmp_path / "rejects.jsonl").read_text().splitlines()] == [
        2,
        3,
    ]


def test_aol_rows_with_and_without_the_click(tmp_path):
    short, long = "a\tdog\t2020-01-01 10:00:00\n", "b\tcat\t2020-01-01 10:00:00\t\t\n"
    for first, second in ((short, long), (long, short)):
        with read_log(write(tmp_path / "log", first + second + "c\tx\t2020-01-01 10:00:00\t1\n")) as log:
            assert log.format == "aol"
            assert [event[0] for event in events(log)] == ["a", "b"]
            assert log.rejects.counts.total() == 1


def test_semicolons_and_newlines_and_quotes_in_csv(tmp_path):
    with read_log(write(tmp_path / "x.csv", 'user;query\n"a;b";"dog\nand ""cat"""\nc;5" pipe\n')) as log:
        assert [event[2] for event in events(log)] == ['dog\nand "cat"', '5" pipe']
        assert bags(log.transactions(items="terms")) == {
            "a;b": {"dog": 1, "cat": 1},
            "c": {"5": 1, "pipe": 1},
        }


def test_blank_lines_before_the_header(tmp_path):
    for block_bytes in (1, 8 << 20):
        with read_log(write(tmp_path / "x.csv", "\n \nuser,query\na,dog\n"), block_bytes=block_bytes) as log:
            assert [event[0] for event in events(log)] == ["a"]
            assert log.rejects.counts == {"blank line": 2}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x", "1 2 3\n4\n", "dat"),
        ("x.csv.gz", "user,q\na,1\n", "csv"),
        ("x", "uid;keywords\na;1\n", "csv"),
        ("x.TSV", "user\tq\na\t1\n", "tsv"),
        ("x", "user\tq\na\t1\n", "tsv"),
        ("x", "a\tdog\t2020-01-01 10:00:00\n", "aol"),
        ("x.csv", "a\t970916001949\tdog\n", "excite"),
        ("x.log", ' {"user": 1, "q": "x"}\n', "jsonl"),
    ],
)
def test_formats_are_recognised(tmp_path, name, text, expected):
    with read_log(write(tmp_path / name, text)) as log:
        assert log.format == expected


def test_a_header_with_names_of_ones_own_is_found_by_the_column_map(tmp_path):
    path = write(tmp_path / "x", "who\twhen\twhat\na\t970916001949\tdog\n")
    with read_log(path, columns={"user": "who", "query": "what"}) as log:
        assert log.format == "tsv"
        assert events(log) == [("a", None, "dog", None)]


def test_strange_text_survives(tmp_path):
    queries = ["🐈 cat", "שלום עולם", "a\0b", "tab\u00a0zone"]
    lines = "".join(f"u{i}\t{query}\t2020-01-01 10:00:00\t\t\n" for i, query in enumerate(queries))
    with read_log(write(tmp_path / "log", lines)) as log:
        rows = bags(log.transactions(items="terms"))
    assert rows == {
        "u0": {"🐈": 1, "cat": 1},
        "u1": {"שלום": 1, "עולם": 1},
        "u2": {"ab": 1},
        "u3": {"tab": 1, "zone": 1},
    }


BROKEN = (
    AOL_HEADER
    + "a\tdog\t2020-01-01 10:00:00\t\t\n"  # 2
    + "b\tcat\n"  # 3: two fields
    + "\tcat\t2020-01-01 10:00:00\t\t\n"  # 4: no user
    + "c\tcat\tnoon\t\t\n"  # 5: time
    + "\n"  # 6: blank
    + "d\tcow\t2020-01-01 10:00:00\t\t\n"  # 7
    + "e\tx\ty\tz\t2\t3\n"  # 8: six fields
    + "f\tpig\t2020-01-01 10:00:00\t\t"  # 9
)
REASONS = {3: "2 fields, not 5", 4: "no user", 5: "unparsable time", 6: "blank line", 8: "6 fields, not 5"}


@pytest.mark.parametrize("block_bytes", [1, 40, 64, 100, 8 << 20])
@pytest.mark.parametrize("keep", [False, True])
def test_rejects_have_exact_line_numbers(tmp_path, block_bytes, keep):
    with read_log(write(tmp_path / "log", BROKEN), block_bytes=block_bytes, keep_rejected=keep) as log:
        assert log.lines == 9
        assert bags(log.transactions()) == {"a": {"dog": 1}, "d": {"cow": 1}, "f": {"pig": 1}}
        log.rejects.write(tmp_path / "rejects.jsonl")
        assert len(log.rejects) == 5
        assert log.rejects.counts == dict.fromkeys(REASONS.values(), 1)
    written = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    lines = BROKEN.split("\n")
    expected = [
        {"line": n, "reason": r} | ({"text": lines[n - 1]} if keep else {}) for n, r in REASONS.items()
    ]
    assert written == expected


@pytest.mark.parametrize("block_bytes", [50, 8 << 20])
def test_rejects_of_json(tmp_path, block_bytes):
    good = '{"user": "a", "query": "dog", "time": 5}\n'
    text = (
        good
        + "{nope}\n"
        + "\n"
        + good
        + "[1]\n"
        + '{"user": [1], "query": "x"}\n'
        + '{"query": "x", "time": 5}\n'
        + good
    )
    with read_log(write(tmp_path / "log", text), block_bytes=block_bytes, keep_rejected=True) as log:
        log.rejects.write(tmp_path / "r")
        assert len(events(log)) == 3
    written = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    reasons = {
        2: "not a JSON object",
        3: "blank line",
        5: "value is not text",
        6: "value is not text",
        7: "no user",
    }
    assert {row["line"]: row["reason"] for row in written} == reasons
    assert written[0]["text"] == "{nope}"


def test_rejects_beyond_what_memory_holds_stay_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.logs.rejects._FLUSH_AT", 7)
    with read_log(
        write(tmp_path / "log", AOL_HEADER + "a\tdog\t2020-01-01 10:00:00\t\t\n" + "x\n" * 100)
    ) as log:
        log.rejects.write(tmp_path / "r")
    assert [json.loads(line)["line"] for line in (tmp_path / "r").read_text().splitlines()] == list(
        range(3, 103)
    )


def test_baskets(tmp_path):
    with read_baskets(write(tmp_path / "x.dat", "3 1 3 \r\n\r\n  a\tb\r\n10 2")) as log:
        made = log.transactions()
        assert made.unit == "record"
        assert made.owners.to_pylist() == ["1", "2", "3", "4"]
        assert bags(made) == {"1": {"1": 1, "3": 2}, "2": {}, "3": {"a": 1, "b": 1}, "4": {"10": 1, "2": 1}}
        assert made.vocabulary.to_pylist() == ["1", "10", "2", "3", "a", "b"]
        assert log.users == 4
        with pytest.raises(BadInputError, match="items must be one of raw for baskets"):
            log.transactions(items="nouns")
        with pytest.raises(BadInputError, match="unit session needs a query log"):
            log.transactions(unit="session:5")


@given(st.lists(st.lists(st.sampled_from(["1", "10", "2", "é", "z"])), min_size=1), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_baskets_are_what_was_written_for_blocks_of_any_size(rows, block_bytes):
    path = write(
        Path(os.environ.get("TMPDIR", "/tmp")) / f"baskets-{os.getpid()}.dat",
        "\n".join(map(" ".join, rows)) + "\n",
    )
    try:
        with read_baskets(path, block_bytes=block_bytes) as log:
            made = log.transactions()
    finally:
        path.unlink()
    assert [made.row(i) for i in range(len(rows))] == [{x: row.count(x) for x in sorted(row)} for row in rows]


def test_progress_reaches_the_end(tmp_path):
    seen = []
    path = write(tmp_path / "log", aol(ROWS) * 50)
    read_log(path, block_bytes=1000, progress=lambda done, total: seen.append((done, total))).close()
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_closing_deletes_the_files_and_keeps_the_counts(tmp_path):
    log = read_log(write(tmp_path / "log", TEXTS["aol"]))
    directory = log.store._directory.path
    assert directory.is_dir()
    assert repr(log) == "Log(log, aol: 4 lines, 2 users, 0 rejected)"
    log.close()
    assert not directory.exists()
    assert repr(log) == "Log(log, aol: 4 lines, 0 rejected, closed)"
    with pytest.raises(BadInputError, match="the log is closed"):
        log.transactions()


@pytest.mark.parametrize("little", [0, store.LITTLE])
def test_a_log_that_lets_go_of_its_rows_keeps_its_rejects(tmp_path, monkeypatch, little):
    monkeypatch.setattr(store, "LITTLE", little)  # with 0 the database is a new one
    log = read_log(write(tmp_path / "it's a log", TEXTS["aol"] + "1\tonly two\n"), format="aol")
    with log:
        made = log.transactions()
        log.free_rows()
        assert log.store.table("SHOW TABLES").column(0).to_pylist() == ["rejects"]
        assert repr(log) == "Log(it's a log, aol: 5 lines, 1 rejected)"
        with pytest.raises(BadInputError, match="read it again"):
            log.transactions()
        log.rejects.write(tmp_path / "rejects")
    assert json.loads((tmp_path / "rejects").read_text()) == {"line": 5, "reason": "2 fields, not 5"}
    assert len(made) == 2


def test_a_forgotten_log_deletes_its_files(tmp_path):
    log = read_log(write(tmp_path / "log", TEXTS["aol"]))
    directory = log.store._directory.path
    del log
    assert not directory.exists()


@pytest.mark.data
def test_public_data(data_dir):
    with read_log(data_dir / "transactions" / "BMS-WebView-2.dat") as log:
        made = log.transactions()
        assert (len(made), len(made.vocabulary), made.occurrences) == (77_512, 3_340, 358_278)
    with read_log(data_dir / "logs" / "excite-small.log") as log:
        assert log.format == "excite"
        assert (log.lines, len(log.transactions()), len(log.rejects)) == (4_501, 891, 0)
