"""Files that cannot be used, and odd ones that can. No message shows a record."""

from __future__ import annotations

import gzip
import os

import pyarrow.parquet as pq
import pytest

from cli.helpers import AOL_HEADER, aol_line, aol_log, call, command, only_line, refused, visible

SECRET = "mirabel.quench@example.org"
ROWS = "".join(aol_line(user, f"{SECRET} dogs") for user in range(9))


@pytest.fixture
def refusal(tmp_path):
    """Return the line that refuses a file of the given content."""

    def run(content, *options, name="log.tsv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        out = tmp_path / "release"
        ran = call("anonymize", "--method=flock", path, "--out", out, "--k", 2, *options)
        assert "mirabel" not in ran.out + ran.err
        return refused(ran, out)

    return run


@pytest.fixture
def published(tmp_path):
    """Return what a file of the given content is published as: the distinct records and the JSON result."""

    def run(content, *options, name="log.tsv", k=2):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        out = tmp_path / "release"
        ran = call("anonymize", "--method=flock", path, "--out", out, "--k", k, "--json", *options)
        assert ran.code == 0, ran.err
        assert ran.err == "" or ran.json["beside"] == [
            "release"
        ]  # --force replaces one that may be published
        assert visible(tmp_path) <= {name, "release", "rejects.jsonl"}
        rows = pq.read_table(out / "records.parquet")["items"].to_pylist()
        return {tuple(row) for row in rows}, ran.json

    return run


def test_a_file_that_does_not_exist_and_a_directory(tmp_path):
    out = tmp_path / "release"
    assert "does not exist" in refused(
        call("anonymize", "--method=flock", tmp_path / "no.tsv", "--out", out, "--k", 2), out
    )
    assert "directory" in refused(call("anonymize", "--method=flock", tmp_path, "--out", out, "--k", 2), out)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "gzip"])
def test_empty_file(refusal, content):
    assert "empty" in refusal(content)


def test_only_blank_lines(refusal):
    assert "blank lines" in refusal("\n\n\n")


@pytest.mark.parametrize(("header", "name"), [(AOL_HEADER, "log.tsv"), ("user,query\n", "log.csv")])
def test_only_a_header(refusal, header, name):
    assert "only the names of columns" in refusal(header, name=name)


def test_a_misnamed_column_says_which_were_found(refusal):
    line = refusal(f"person,query\n1,{SECRET}\n", name="log.csv")
    assert "the user" in line
    assert "person, query" in line
    assert "--columns" in line


def test_a_missing_column_says_which_were_found(refusal):
    line = refusal(f"user,words\n1,{SECRET}\n", "--columns", "user=user,query=question", name="log.csv")
    assert "'question'" in line
    assert "user, words" in line


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (f"17,{SECRET}\n18,x\n", "log.csv"),
        (f"17\t{SECRET}\n18\tx\n", "log.tsv"),
        ("mirabel quench lives here\nand there\n", "log.tsv"),
        ("mirabel,leprosy\nquench,flu\n", "log.csv"),
    ],
)
def test_a_file_without_a_header_is_refused_without_its_first_record(refusal, content, name):
    assert refusal(content, name=name)


@pytest.mark.parametrize(
    ("header", "options"),
    [("user,user,query", ()), ("user,query,words", ("--columns", "user=user,query=user"))],
)
def test_columns_that_are_not_one_for_each_role(refusal, header, options):
    assert "column" in refusal(f"{header}\n" + f"1,2,{SECRET}\n" * 9, *options, name="log.csv")


def test_a_table_of_people_and_items_is_not_taken_for_baskets(refusal, published):
    table = "".join(f"{700 + row // 4} {row % 4}\n" for row in range(40))
    assert "--format" in refusal(table, name="log.dat")
    _, result = published(table, "--format", "dat", name="log.dat")
    assert result["records_in"] == 40


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--seed", -1), "seed must be 0 or more (got -1)"),
        (("--seed", 2**63), f"seed must be at most {2**63 - 1} (got {2**63})"),
        (("--unit", "session:999999999d"), "at most 3650d"),
    ],
)
def test_numbers_out_of_range_are_named(log, tmp_path, options, says):
    out = tmp_path / "release"
    assert says in refused(call("anonymize", "--method=flock", log, "--out", out, "--k", 2, *options), out)
    assert says in refused(call("compare", log, "--out", out, "--k", 2, "--methods", "flock", *options), out)


def test_a_file_name_that_is_not_utf_8(tmp_path):
    path, out = os.fsdecode(os.fsencode(tmp_path) + b"/log\xff.tsv"), tmp_path / "release"
    try:
        with open(path, "w") as file:  # noqa: PTH123
            file.write(AOL_HEADER + ROWS)
    except OSError:
        pytest.skip("this file system has no such names")
    assert "is no name in UTF-8" in refused(
        command("anonymize", "--method=flock", path, "--out", out, "--k", 2), out
    )


def test_an_unforeseen_error_is_one_line_without_a_record(log, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("incrowd.jobs.run.run_job", fail)
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 2)
    assert ran.code == 3
    assert only_line(ran.err).startswith("internal error, RuntimeError at test_bad_inputs.py:")
    assert "mirabel" not in ran.out + ran.err


def test_a_binary_file(refusal):
    assert "binary" in refusal(bytes(range(256)) * 40)
    assert "binary" in refusal(b"\x7fELF" + SECRET.encode() * 10)


def test_a_damaged_archive_names_the_line(refusal):
    whole = gzip.compress((AOL_HEADER + ROWS + os.urandom(60_000).hex()).encode())
    assert "after line" in refusal(whole[: len(whole) // 2], name="log.tsv.gz")


def test_lines_that_are_all_bad_say_so(refusal):
    line = refusal(AOL_HEADER + f"{SECRET}\n" * 5)
    assert "reject" in line
    assert "5" in line


def test_words_that_are_all_filtered_say_so(refusal):
    line = refusal("user,query\n" + "".join(f"{u},the of\n" for u in range(5)), name="log.csv")
    assert "at most 0" not in line
    assert "--items" in line


def test_a_bad_line_is_counted_and_listed_by_number_only(published, tmp_path):
    log = AOL_HEADER + "".join(aol_line(u, "dogs") for u in range(5)) + f"{SECRET}\n"
    _, result = published(log)
    assert result["rejected"] == {
        "by_reason": {"1 fields, not 5": 1},
        "file": str(tmp_path / "rejects.jsonl"),
    }
    assert (tmp_path / "rejects.jsonl").read_text() == '{"line": 7, "reason": "1 fields, not 5"}\n'


def test_keep_rejected_keeps_the_text_outside_the_release(published, tmp_path):
    log = AOL_HEADER + "".join(aol_line(u, "dogs") for u in range(5)) + f"{SECRET}\n"
    published(log, "--keep-rejected")
    assert SECRET in (tmp_path / "rejects.jsonl").read_text()
    assert not any(SECRET.encode() in file.read_bytes() for file in (tmp_path / "release").iterdir())


def test_bad_bytes_are_replaced_and_counted(published):
    good = "".join(aol_line(u, "dogs and cats") for u in range(300))
    log = (AOL_HEADER + good).encode() + b"".join(
        b"%d\tdogs c\xff\xfet\t2006-03-01 10:00:00\t\t\n" % u for u in range(5)
    )
    records, result = published(log)
    assert result["input"]["bad_bytes"] == 10
    assert "dog" in {item for record in records for item in record}


def test_a_line_of_one_megabyte(published):
    log = AOL_HEADER + aol_line(3, "x" * 1_000_000) + "".join(aol_line(u, "dogs") for u in range(5))
    records, result = published(log)
    assert result["records_out"] == 5
    assert max(len(item) for record in records for item in record) < 100


def test_tabs_and_zero_bytes_and_newlines_in_quotes(published):
    log = "user,query\n" + "".join(f'{u},"dog\tfood \0\ncat ""x"""\n' for u in range(5))
    records, result = published(log, name="log.csv")
    assert result["records_out"] == 5
    assert all({"dog", "food", "cat"} <= set(record) for record in records)


@pytest.mark.parametrize("text", ["😀 🐕", "שלום עולם", "مرحبا", "日本 語"])
def test_emoji_and_right_to_left_text(published, text):
    log = "user,query\n" + "".join(f"{u},{text}\n" for u in range(5))
    records, _ = published(log, "--items", "queries", name="log.csv")
    assert records == {(text,)}


def test_crlf_and_unsorted_users_make_no_difference(published, tmp_path):
    users = {u: ["dogs", "cats"] if u % 2 else ["dogs", "beer"] for u in range(8)}
    text = aol_log(tmp_path / "log.tsv", users).read_text()
    plain = published(text)
    first, *lines = text.splitlines(keepends=True)
    mixed = first + "".join(lines[::2] + lines[1::2])
    assert mixed != text
    assert published(mixed.replace("\n", "\r\n"), "--force")[0] == plain[0]


def test_a_user_with_nothing_left_is_withheld_and_reported(published, tmp_path):
    log = AOL_HEADER + "".join(aol_line(u, "dogs") for u in range(5)) + aol_line(77, "the of")
    records, result = published(log)
    assert (result["records_in"], result["records_out"], result["withheld"]) == (6, 5, 1)
    assert records == {("dog",)}
    ran = call("anonymize", "--method=flock", tmp_path / "log.tsv", "--out", tmp_path / "again", "--k", 2)
    assert "1  users withheld: no item was left to publish" in ran.out


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("milk\tfood\nfood\tdrink\ndrink\tfood\n", ["line 2", "cycle"]),
        ("milk\tfood\nbeer\tdrink\n", ["2 roots", "lines 1 and 2"]),
        ("milk\tfood\nmilk\tdrink\nfood\tall\ndrink\tall\n", ["line 2", "line 1"]),
        ("milk;food;*\nmilk;drink;*\n", ["line 2", "line 1"]),
        ("all/milk\nall/milk\n", ["line 2", "line 1"]),
        ("milk\tfood\nbread\tfood\n", ["lacks 1 of the 3 items", "--unlisted keep"]),
        ("milk\tfood\nbread\n", ["line 2", "child TAB parent"]),
        ("", ["empty"]),
        ("milk\0food\n", ["binary"]),
    ],
)
def test_a_taxonomy_with_a_problem_names_the_line(baskets, tmp_path, lines, says):
    taxonomy, out = tmp_path / "taxonomy.txt", tmp_path / "release"
    taxonomy.write_text(lines)
    line = refused(
        call("anonymize", "--method=flock", baskets, "--out", out, "--k", 2, "--taxonomy", taxonomy), out
    )
    assert all(part in line for part in says)
    assert "beer" not in line  # the item that it lacks


def test_unlisted_items_may_be_dropped_or_kept(baskets, tmp_path):
    taxonomy = tmp_path / "taxonomy.txt"
    taxonomy.write_text("milk\tfood\nbread\tfood\n")
    options = ("--k", 2, "--taxonomy", taxonomy, "--json")
    dropped = call(
        "anonymize", "--method=flock", baskets, "--out", tmp_path / "a", *options, "--unlisted", "drop"
    ).json
    kept = call(
        "anonymize", "--method=flock", baskets, "--out", tmp_path / "b", *options, "--unlisted", "keep"
    ).json
    assert dropped["items"] == kept["items"] == {"listed": 2, "unlisted": 1, "other_case": 0}
    items = [
        {
            item
            for row in pq.read_table(tmp_path / name / "records.parquet")["items"].to_pylist()
            for item in row
        }
        for name in "ab"
    ]
    assert items[1] - items[0] == {"beer"}


@pytest.mark.parametrize("name", ["log.txt", "log.dat", "log"])
@pytest.mark.parametrize(
    "content",
    [
        f"user|query|time\n7|{SECRET}|2020-01-01\n" * 5,
        f"session;doc\n7;{SECRET}\n" * 5,
        f"7|{SECRET}|2020-01-01\n" * 5,
        "Mirabel Quench is ill. She lives here.\n" * 5,
    ],
)
def test_what_does_not_look_like_baskets_asks_for_the_format(refusal, content, name):
    line = refusal(content, name=name)
    assert "--format" in line
    assert "has the shape '" in line


def test_text_in_another_encoding_is_refused_until_it_is_named(refusal, published):
    log = ("user,query\n" + "".join(f"{u},crème brûlée\n" for u in range(5))).encode("latin-1")
    assert "--encoding latin-1" in refusal(log, name="log.csv")
    records, result = published(log, "--items", "queries", "--encoding", "latin-1", name="log.csv")
    assert records == {("crème brûlée",)}
    assert result["input"]["bad_bytes"] == 0


def test_an_unknown_encoding(refusal):
    assert "did you mean 'gbk'?" in refusal(AOL_HEADER + ROWS, "--encoding", "gbkk")


def test_the_audit_reads_the_original_in_the_encoding_that_the_map_names(tmp_path):
    log, out, owners = tmp_path / "log.csv", tmp_path / "release", tmp_path / "map"
    log.write_bytes(("user,query\n" + "".join(f"{u},红烧肉 天气\n" for u in range(5))).encode("gbk"))
    options = ("--items", "queries", "--encoding", "gbk", "--private-map", owners)
    assert call("anonymize", "--method=flock", log, "--out", out, "--k", 2, *options).code == 0
    against = ("audit", out, "--original", log, "--private-map", owners)
    assert call(*against).code == 0
    assert "not BIG5" in only_line(call(*against, "--encoding", "big5").err)


@pytest.mark.parametrize("method", ["microaggregation", "navarro", "erola", "plain", "poblete"])
def test_a_method_that_needs_meaning_says_what_to_drop(log, tmp_path, method):
    ran = call(
        "anonymize", log, "--out", tmp_path / "out", "--k", 2, "--method", method, "--items", "queries"
    )
    line = refused(ran, tmp_path / "out")
    assert line == f"method {method} needs concepts: drop --items queries (it then uses --items concepts)"


def test_a_method_that_needs_queries_says_so_of_baskets(baskets, tmp_path):
    ran = call("anonymize", baskets, "--out", tmp_path / "out", "--k", 2, "--method", "erola")
    assert "method erola needs a query log" in refused(ran, tmp_path / "out")


def test_unknown_items_are_refused_before_anything_is_read(log, tmp_path):
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "out", "--k", 2, "--items", "concept")
    line = refused(ran, tmp_path / "out")
    assert "items must be one of nouns, terms, queries, concepts, raw" in line
    assert "did you mean 'concepts'?" in line
