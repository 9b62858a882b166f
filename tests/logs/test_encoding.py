from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import read_baskets, read_log
from incrowd.logs.formats.encoding import DecodedStream, find_encoding, likely_encodings

TEXTS = {
    "gbk": ["天气预报 北京", "红烧肉的做法", "便宜的机票", "医院挂号 感冒吃什么药"],
    "big5": ["天氣預報 臺北", "紅燒肉的做法", "便宜的機票", "醫院掛號"],
    "shift_jis": ["天気予報 東京", "安い航空券", "ラーメン レシピ", "かぜ くすり"],
    "euc-jp": ["天気予報 東京", "安い航空券", "ラーメン レシピ", "かぜ くすり"],
    "euc-kr": ["날씨 예보 서울", "싼 항공권", "라면 요리법", "감기 약"],
    "cp1251": ["погода в Москве", "дешёвые билеты", "рецепт борща"],
    "cp1252": ["crème brûlée", "météo l\u2019été", "hôtel près de la gare"],
    "latin-1": ["wetter münchen", "straße köln", "übelkeit kinder", "Ärzte"],
}


class Bytes:
    """A stream from memory that gives few bytes at a time."""

    stored_bytes_read = 0

    def __init__(self, data):
        self.data = data

    def read(self, size, *, line):  # noqa: ARG002
        piece, self.data = self.data[:size], self.data[size:]
        return piece


def write(path, data):
    path.write_bytes(data)
    return path


def rows_of(queries):
    return "user\tquery\n" + "".join(f"u{i}\t{query}\n" for i, query in enumerate(queries))


def queries(log):
    return sorted(row["query"] for row in log.store.table("SELECT * FROM events").to_pylist())


def message(path, **options):
    with pytest.raises(BadInputError) as caught:
        read_log(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("encoding", TEXTS)
def test_text_in_another_encoding_is_refused_with_likely_ones_and_read_when_named(tmp_path, encoding):
    path = write(tmp_path / "log.tsv", rows_of(TEXTS[encoding]).encode(encoding))
    said = message(path)
    assert "is not UTF-8" in said
    assert said.endswith(f"as encoding='{encoding}'")
    assert not any(word in said for query in TEXTS[encoding] for word in query.split() if not word.isascii())
    with read_log(path, encoding=encoding) as log:
        assert queries(log) == sorted(TEXTS[encoding])
        assert log.bad_bytes == 0


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_the_order_of_bytes_without_a_mark_is_named(tmp_path, encoding):
    path = write(tmp_path / "log.tsv", rows_of(["cats", "天气"]).encode(encoding))
    assert message(path, encoding=encoding[:-3]).endswith(f"encoding='{encoding}'")
    with read_log(path, encoding=encoding) as log:
        assert queries(log) == ["cats", "天气"]


@pytest.mark.parametrize("name", ["iso2022_jp", "iso2022_jp_1"])
def test_japanese_in_bytes_of_7_bits_is_refused_until_it_is_named(tmp_path, name):
    path = write(tmp_path / "log.tsv", rows_of(TEXTS["shift_jis"]).encode(name))
    assert "encoding='iso2022_jp'" in message(path)
    with read_log(path, encoding="iso2022_jp") as log:
        assert queries(log) == sorted(TEXTS["shift_jis"])


@pytest.mark.parametrize("encoding", ["gbk", "latin-1"])
@pytest.mark.parametrize("times", [1, 3000])  # within the head, and beyond
def test_baskets_in_another_encoding_ask_for_it_and_not_for_the_format(tmp_path, encoding, times):
    text = "\n".join(TEXTS[encoding] * times).replace(" ", "\n")
    path = write(tmp_path / "x.dat", text.encode(encoding))
    assert message(path).endswith(f"as encoding='{encoding}'")


def test_names_of_columns_in_another_encoding_ask_for_it(tmp_path):
    rows = "".join(f"u{i},{query}\n" for i, query in enumerate(TEXTS["gbk"]))
    path = write(tmp_path / "x.csv", ("用户,查询\n" + rows).encode("gbk"))
    assert message(path).endswith("as encoding='gbk'")
    with read_log(path, encoding="gbk", columns={"user": "用户", "query": "查询"}) as log:
        assert queries(log) == sorted(TEXTS["gbk"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "utf-8-sig"])
@pytest.mark.parametrize("block_bytes", [1, 2, 7, 8 << 20])
def test_characters_are_whole_whatever_the_blocks(tmp_path, encoding, block_bytes):
    # In UTF-16, the second and third character have a byte like a line's end, the fourth is of two units.
    words = ["ab", "\u0a0aa", "\u010a", "🐈", "天气"]
    path = write(tmp_path / "log.tsv", rows_of(words).encode(encoding))
    with read_log(path, encoding=encoding, block_bytes=block_bytes) as log:
        assert queries(log) == sorted(words)
        assert log.lines == 6


@given(st.text(), st.integers(1, 9), st.sampled_from(["gb18030", "utf-16", "utf-8", "utf-7"]))
def test_a_decoded_stream_gives_all_of_the_text_in_pieces_of_the_size(text, size, encoding):
    stream = DecodedStream(Bytes(text.encode(encoding)), encoding)
    pieces = []
    while piece := stream.read(size, line=0):
        pieces.append(piece)
    assert b"".join(pieces) == text.encode()
    assert all(len(piece) == size for piece in pieces[:-1])
    assert stream.seen.bad == 0


def test_few_bad_bytes_are_replaced_and_counted_in_any_encoding(tmp_path):
    good = rows_of(TEXTS["gbk"] * 300).encode("gbk")
    path = write(tmp_path / "log.tsv", good + b"x\t\xffmouse\n")
    with read_log(path, encoding="gbk") as log:
        assert log.bad_bytes == 1
        assert "\ufffdmouse" in queries(log)
        assert "Bytes that were not GBK, replaced: 1." in log.transactions(items="terms").account


def test_a_tenth_of_a_percent_is_the_limit(tmp_path):
    start, end = b"user\tquery\nu1\t", b"\nu\t\xff\xfe\n"
    at_limit = start + b"x" * (2000 - len(start + end)) + end
    with read_log(write(tmp_path / "log.tsv", at_limit)) as log:
        assert log.bad_bytes == 2
    beyond = at_limit.replace(b"x", b"", 1)
    assert "0.10% of its bytes" in message(write(tmp_path / "log.tsv", beyond))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_bad_bytes_at_the_very_end_count_too(tmp_path, compress):
    data = b"user\tquery\n" + b"u1\tmouse\n" * 2000 + b"u2\tcaf\xe9\n" * 200
    path = write(tmp_path / "log", compress(data))
    assert "encoding='latin-1'" in message(path, block_bytes=4096)


def test_a_plain_file_is_refused_as_soon_as_it_is_certain(tmp_path):
    data = b"user\tquery\n" + b"u2\tcaf\xe9\n" * 10_000
    done = []
    message(write(tmp_path / "log", data), block_bytes=1000, progress=lambda at, _: done.append(at))
    assert len(done) < 5


def test_the_wrong_encoding_is_refused_with_the_right_one(tmp_path):
    path = write(tmp_path / "log.tsv", rows_of(TEXTS["gbk"]).encode("gbk"))
    said = message(path, encoding="ascii")
    assert "is not ASCII" in said
    assert "encoding='gbk'" in said
    assert "no zero byte" in message(path, encoding="utf-16")
    utf8 = write(tmp_path / "log.tsv", rows_of(TEXTS["gbk"]).encode())
    assert "is UTF-8, not iso8859-1: drop encoding" in message(utf8, encoding="latin-1")


@pytest.mark.parametrize(
    ("name", "near"),
    [("gbkk", "gbk"), ("latin-l", "latin-1"), ("utf-9", "utf-8"), ("rot13", None), ("base64", None)],
)
def test_an_unknown_encoding_names_the_nearest(tmp_path, name, near):
    said = message(write(tmp_path / "log", b"1 2\n"), encoding=name)
    assert f"encoding '{name}' is not known" in said
    assert near is None or f"did you mean '{near}'?" in said


def test_names_of_encodings_may_be_written_in_many_ways():
    assert {find_encoding(name) for name in ("UTF8", "utf-8", "U8", "utf_8_sig")} == {"utf-8"}
    assert find_encoding("windows-1252") == find_encoding("CP1252") == "cp1252"


def test_parquet_has_no_other_encoding(tmp_path):
    pq.write_table(pa.table({"user": ["a"], "query": ["b"]}), tmp_path / "p")
    assert "drop encoding" in message(tmp_path / "p", encoding="gbk")


def test_baskets_in_another_encoding(tmp_path):
    with read_baskets(write(tmp_path / "x.dat", "牛奶 面包\n啤酒\n".encode("gbk")), encoding="gbk") as log:
        assert log.transactions().vocabulary.to_pylist() == sorted(["牛奶", "面包", "啤酒"])


def test_noise_is_in_no_encoding():
    assert likely_encodings(bytes(range(128, 256)) * 3) == []


def test_a_damaged_line_does_not_hide_the_encoding():
    lines = "\n".join(TEXTS["gbk"] * 5).encode("gbk") + b"\n\xff\xff\n"
    assert likely_encodings(lines)[0] == "gbk"
