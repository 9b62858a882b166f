"""Words that look equal are equal, whatever they were read from."""

from __future__ import annotations

import json
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.clean import clean_ids, clean_texts
from incrowd.logs import read_log

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u202e\u061c\u034f\ufe0f\u2800\U000e0041\x1b\x07\x7f\x9b"
ALIKE = ["café", "cafe\u0301", "ca\u200bfé", "c\u00adaf\u200de\u0301", "\ufeffcafé", "caf\x1bé", "caf\x07é"]


def as_csv(path):
    path.write_text(
        "user,query\n" + "".join(f"u{i},{text}\n" for i, text in enumerate(ALIKE)), encoding="utf-8"
    )


def as_tsv(path):
    path.write_text(
        "user\tquery\n" + "".join(f"u{i}\t{text}\n" for i, text in enumerate(ALIKE)), encoding="utf-8"
    )


def as_jsonl(path):
    rows = [{"user": i, "query": text} for i, text in enumerate(ALIKE)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="ascii")  # as \u escapes


def as_parquet(path):
    pq.write_table(pa.table({"user": list(range(len(ALIKE))), "query": ALIKE}), path)


def as_dat(path):
    path.write_text("\n".join(ALIKE) + "\n", encoding="utf-8")


@pytest.mark.parametrize("make", [as_csv, as_tsv, as_jsonl, as_parquet, as_dat])
@pytest.mark.parametrize("items", ["terms", "queries"])
def test_every_format_gives_one_word(tmp_path, make, items):
    make(tmp_path / "x")
    with read_log(tmp_path / "x", format="dat" if make is as_dat else "auto") as log:
        made = log.transactions(items=None if make is as_dat else items)
    assert len(made) == len(ALIKE)
    assert made.vocabulary.to_pylist() == ["café"]


def test_users_that_look_equal_are_one(tmp_path):
    (tmp_path / "x.csv").write_text("user,query\nann,dog\nan\u200bn,cat\nann\x1b,cow\n", encoding="utf-8")
    with read_log(tmp_path / "x.csv") as log:
        assert log.users == 1


def test_what_parts_words_parts_them_still_and_lines_stay():
    texts = pa.array(["a\vb", "a\fb", "a\x85b", "a\tb", "a\nb", "a\0b", None, "", "plain"])
    assert clean_texts(texts).to_pylist() == ["a b", "a b", "a b", "a\tb", "a\nb", "ab", None, "", "plain"]


def test_plain_text_is_not_even_copied():
    texts = pa.array(["mouse", "tab\tline\n"])
    assert clean_texts(texts[:1]).buffers()[2].address == texts.buffers()[2].address
    assert clean_texts(texts).buffers()[2].address == texts.buffers()[2].address


@given(
    st.lists(st.text(alphabet=st.sampled_from("ae\u0301\u0300é한\u1112\u1161 \t" + INVISIBLE)), max_size=9),
    st.integers(0, 3),
)
def test_no_two_texts_differ_by_what_cannot_be_seen(texts, skipped):
    def seen(text):
        return unicodedata.normalize("NFC", "".join(c for c in text if c not in INVISIBLE))

    array = pa.array(["x"] * skipped + texts, pa.string())[skipped:]
    assert clean_texts(array).to_pylist() == [seen(text) for text in texts]


@given(st.text())
def test_nothing_is_left_of_the_categories_cc_and_cf(text):
    (cleaned,) = clean_texts(pa.array([text], pa.string())).to_pylist()
    assert all(unicodedata.category(c) not in {"Cc", "Cf"} or c in "\t\n\r" for c in cleaned)
    assert unicodedata.is_normalized("NFC", cleaned)
    assert clean_texts(pa.array([cleaned], pa.string())).to_pylist() == [cleaned]


def test_an_id_with_an_empty_fraction_is_the_whole_number():
    given = pa.array([" 7.0", "7", "7.00", "-7.0", "7.01", "10.0.0.0", "v7.0", "7.0\u200b", "", None])
    assert clean_ids(given).to_pylist() == ["7", "7", "7", "-7", "7.01", "10.0.0.0", "v7.0", "7", "", None]


LONG = 49_170_000_000  # numbers as long as those of telephones


def ids_as_csv(path, kind):
    path.write_text(f"user,query\n{kind(LONG)},boots\n", encoding="utf-8")


def ids_as_json(path, kind):  # so long that Python writes a float as 4.917e+16
    path.write_text(json.dumps({"user": kind(LONG * 10**6), "query": "boots"}), encoding="utf-8")


def ids_as_parquet(path, kind):
    pq.write_table(pa.table({"user": [kind(LONG)], "query": ["boots"]}), path)


@pytest.mark.parametrize("make", [ids_as_csv, ids_as_json, ids_as_parquet])
def test_a_person_is_one_though_a_part_writes_numbers_with_fractions(tmp_path, make):
    for name, kind in (("a", int), ("b", float)):
        make(tmp_path / f"{name}.{make.__name__[7:]}", kind)
    with read_log(tmp_path, format={"ids_as_json": "jsonl"}.get(make.__name__, "auto")) as log:
        (owner,) = log.transactions().owners.to_pylist()
    assert owner.startswith(str(LONG))
