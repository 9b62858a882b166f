"""Several files as one log: which they are, in which order, and what they are called."""

from __future__ import annotations

import gzip
import os
import threading
import zipfile

import pytest

from incrowd.errors import BadInputError
from incrowd.logs import read_log
from incrowd.logs.files import find_parts, name_of
from incrowd.logs.formats.streams import AheadStream, ByteStream

ROWS = "".join(f"u{number}\tdog\t2006-03-31 10:00:00\t\t\n" for number in range(2_000))


def write(path, content=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def names(*given):
    return [part.name for part in find_parts(list(given))]


def test_a_folder_has_its_filled_files_in_the_order_of_their_names(tmp_path):
    for name in ("b.tsv", "a.tsv", ".hidden", "_SUCCESS", "deep/c.tsv"):
        write(tmp_path / name)
    write(tmp_path / "empty.tsv", "")
    assert names(tmp_path) == ["a.tsv", "b.tsv"]
    assert names(tmp_path / "b.tsv", tmp_path / "a.tsv") == ["a.tsv", "b.tsv"]


def test_patterns_find_what_the_shell_would_and_a_file_of_such_a_name_wins(tmp_path):
    for name in ("x1.tsv", "x[1].tsv", "deep/x2.tsv"):
        write(tmp_path / name)
    assert names(tmp_path / "x?.tsv") == ["x1.tsv"]
    assert names(tmp_path / "x[1].tsv") == ["x[1].tsv"]
    assert names(str(tmp_path / "**/x*.tsv")) == ["x1.tsv", "x2.tsv", "x[1].tsv"]


def test_names_are_as_long_as_it_takes_to_tell_files_apart_wherever_they_are_read_from(tmp_path, monkeypatch):
    paths = [write(tmp_path / folder / "x.tsv") for folder in ("b", "a")]
    assert names(*paths) == ["a/x.tsv", "b/x.tsv"]
    monkeypatch.chdir(tmp_path / "a")
    assert names("x.tsv", "../b/x.tsv") == ["a/x.tsv", "b/x.tsv"]


def test_a_file_comes_once_by_whatever_path(tmp_path):
    path = write(tmp_path / "a.tsv")
    os.link(path, tmp_path / "b.tsv")
    (tmp_path / "c.tsv").symlink_to(path)
    for other in ("b.tsv", "c.tsv", "../" + tmp_path.name + "/a.tsv"):
        with pytest.raises(BadInputError, match="is given twice"):
            find_parts([path, tmp_path / other])


def test_an_archive_has_its_members(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("2/b.tsv", "1/a.tsv.gz", "__MACOSX/a.tsv", "1/.hidden"):
            archive.writestr(name, gzip.compress(ROWS.encode()) if name.endswith("gz") else ROWS + ROWS)
    assert names(tmp_path / "logs") == ["logs:1/a.tsv.gz", "logs:2/b.tsv"]
    with read_log(tmp_path / "logs", block_bytes=999) as log:
        assert (log.rows, log.users, log.name) == (6_000, 2_000, "logs")


@pytest.mark.parametrize(
    ("given", "name"), [(["a.tsv"], "a.tsv"), (["."], "logs"), (["a.tsv", "b.tsv"], "2 files")]
)
def test_what_an_input_is_called(tmp_path, monkeypatch, given, name):
    for part in ("a.tsv", "b.tsv"):
        write(tmp_path / "logs" / part)
    monkeypatch.chdir(tmp_path / "logs")
    assert name_of(given, find_parts(given)) == name


def test_progress_goes_on_from_part_to_part(tmp_path):
    paths = [write(tmp_path / "a.tsv"), write(tmp_path / "b.tsv", ROWS.replace("dog", "cat"))]
    told = []
    with read_log(paths, progress=lambda *steps: told.append(steps), block_bytes=10_000):
        pass
    done, of = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == of[0] == 2 * len(ROWS)


def test_bad_bytes_and_lines_are_those_of_all_parts(tmp_path):
    for name in "ab":
        write(tmp_path / name, ROWS.encode() + name.encode() + b"\tcaf\xe9\t2006-03-31 10:00:00\t\t\n")
    with read_log(tmp_path) as log:
        assert (log.lines, log.bad_bytes) == (4_002, 2)


def ahead(path):
    return AheadStream(ByteStream(path))


@pytest.mark.parametrize("size", [1, 7, 100_000, 10_000_000])
def test_reading_ahead_gives_the_same_bytes(tmp_path, size):
    text = os.urandom(3_000) if size < 100 else os.urandom(1_500) * 3_000
    path = write(tmp_path / "x.gz", gzip.compress(text, 1))
    with ahead(path) as stream:
        pieces = []
        while piece := stream.read(size, line=0):
            pieces.append(piece)
    assert b"".join(pieces) == text
    assert all(len(piece) == size for piece in pieces[:-1])


def test_who_stops_early_leaves_no_thread(tmp_path):
    path = write(tmp_path / "x.gz", gzip.compress(bytes(50_000_000), 1))
    with ahead(path) as stream:
        assert stream.read(10, line=0) == bytes(10)
        assert any(thread.name == "incrowd-decompress" for thread in threading.enumerate())
    assert not any(thread.name == "incrowd-decompress" for thread in threading.enumerate())


def test_damage_is_told_with_the_line_that_was_reached(tmp_path):
    path = write(tmp_path / "x.gz", gzip.compress(b"line\n" * 100_000, 1)[:-5])
    with (
        ahead(path) as stream,
        pytest.raises(BadInputError, match=r"x\.gz is damaged or cut short after line \d+,"),
    ):
        stream.read(10_000_000, line=4_000)


def test_parts_are_in_one_encoding_though_one_of_them_is_ascii(tmp_path):
    row = "20060331235959\t57375476989{}\t{}\t1\t1\thttp://x.cn/\n"
    write(tmp_path / "a", row.format("a", "dog"))
    write(tmp_path / "b", row.format("b", "食物").encode("gbk"))
    with read_log(tmp_path) as log:
        assert log.encoding == "gb18030"
        assert {row["query"] for row in log.store.table("SELECT query FROM events").to_pylist()} == {
            "dog",
            "食物",
        }
    write(tmp_path / "a", row.format("a", "食物食物食物食物"))
    with pytest.raises(BadInputError, match="a is UTF-8, not gb18030"):
        read_log(tmp_path)


def test_a_copy_is_no_further_part_however_it_is_packed(tmp_path):
    baskets = "".join(f"{number} {number + 1}\n" for number in range(20_000))
    write(tmp_path / "a.dat", baskets)
    more = write(
        tmp_path / "b.dat", baskets + "7 8\n"
    )  # the same beginning, and longer than what is looked at first
    with read_log([tmp_path / "a.dat", more]) as log:
        assert log.rows == 40_001
    write(tmp_path / "c.dat.gz", gzip.compress(baskets.encode()))
    with pytest.raises(BadInputError, match=r"^c.dat.gz has the content of a.dat: leave one out"):
        read_log(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(more, "b.dat")
    with pytest.raises(BadInputError, match=r"^b.dat has the content of a.zip:b.dat"):
        read_log([tmp_path / "a.zip", more])


def test_parts_may_have_a_header_and_nothing_else(tmp_path):
    write(tmp_path / "a.csv", "user,query\nx,red car\n")
    for name in ("b.csv", "c.csv"):
        write(tmp_path / name, "user,query\n\n")
    with read_log(tmp_path) as log:
        assert log.rows == 1


def test_a_number_is_the_same_column_in_every_part_that_has_names(tmp_path):
    by_number = {"user": 1, "query": 2, "time": 3}
    write(tmp_path / "a.csv", "user,query,time\nx,red car,2006-03-31 10:00:00\n")
    write(tmp_path / "b.csv", "User, Query ,TIME\nx,blue car,2006-03-31 10:00:00\n")
    write(tmp_path / "c.csv", "y,bus,2006-03-31 10:00:00\n")
    with read_log(tmp_path, columns=by_number) as log:
        assert (log.rows, log.users) == (3, 2)
    write(tmp_path / "d.csv", "time,query,user\n2006-03-31 10:00:00,train,x\n")
    with pytest.raises(
        BadInputError, match=r"^d.csv and a.csv have another column at the number of the user"
    ):
        read_log(tmp_path, columns=by_number)
