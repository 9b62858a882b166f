"""Chinese queries: where their words end, and whole jobs on WordNet and with a taxonomy of the owner's; other languages are filed by their script."""

# ruff: noqa: RUF001 (Chinese punctuation)

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.helpers import call
from helpers import strings
from incrowd.errors import BadInputError
from incrowd.taxonomy.words import name_words
from incrowd.text import chinese
from incrowd.text.chinese import segmented

SAMPLE = Path(__file__).parent / "zh"


@pytest.fixture
def jieba():
    pytest.importorskip("jieba", reason="needs jieba (pip install 'incrowd[zh]')")


@pytest.fixture
def fresh():
    chinese._splitter.cache_clear()
    yield
    chinese._splitter.cache_clear()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("北京天气预报", "北京 天气预报"),
        ("成都的火锅哪里好吃？", "成都 火锅 好吃 ？"),
        ("nba比赛2024", "nba 比赛 2024"),
        ("周杰伦演唱会", "周 杰伦 演唱会"),
        ("司马光", "司马 光"),
        ("大熊猫和熊猫", "大熊猫 熊猫"),
        ("hello world", "hello world"),
    ],
)
@pytest.mark.usefixtures("jieba")
def test_words_have_blanks_between_them(query, words):
    assert segmented(strings(query)).to_pylist() == [words]


@pytest.mark.usefixtures("jieba")
def test_names_that_are_not_known_fall_into_single_characters():
    (text,) = segmented(strings("张伟明电话")).to_pylist()
    assert "张伟明" not in text
    assert text.endswith("电话")


@pytest.mark.usefixtures("jieba")
def test_nulls_stay():
    assert segmented(strings("苹果手机", None)).to_pylist() == ["苹果 手机", None]


@pytest.mark.usefixtures("jieba", "fresh")
def test_no_common_cache_is_read_or_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "jieba.cache").write_bytes(b"not a cache")
    segmented(strings("苹果手机"))
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == b"not a cache"


@pytest.mark.usefixtures("fresh")
def test_without_jieba_the_remedy_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(BadInputError, match=r"needs jieba: install it with pip install 'incrowd\[zh\]'"):
        segmented(strings("dog"))
    ran = call("anonymize", SAMPLE / "queries.tsv", "--out", tmp_path / "out", "--segment", "zh")
    assert ran.code == 2
    assert "--segment zh needs jieba" in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--segment", "ja"), "segment must be one of zh (got 'ja')"),
        (("--segment", "zh", "--format", "dat"), "holds baskets, whose items are whole: drop --segment zh"),
        (("--segment", "zh", "--engine", "spark"), "--segment works on this machine alone"),
    ],
)
def test_what_cannot_be_segmented_is_refused(options, error, tmp_path):
    ran = call("anonymize", SAMPLE / "queries.tsv", "--out", tmp_path / "out", *options)
    assert ran.code == 2
    assert error in ran.err


@pytest.mark.usefixtures("jieba")
def test_a_whole_job_with_a_taxonomy_of_the_owners(tmp_path):
    out, notes = tmp_path / "out", tmp_path / "map"
    how = ("--segment", "zh", "--items", "terms", "--taxonomy", SAMPLE / "kinds.tsv", "--unlisted", "keep")
    ran = call(
        "anonymize", SAMPLE / "queries.tsv", "--out", out, "--method", "mosaic", "--k", 2, *how,
        "--private-map", notes, "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = pq.read_table(out / "taxonomy.parquet").to_pylist()
    parent = {row["label"]: row["parent"] for row in rows}
    assert parent["北京"] == "城市"
    said = json.dumps(rows + pq.read_table(out / "tiles.parquet").to_pylist(), ensure_ascii=False)
    assert not [secret for secret in ("周杰伦", "张伟明", "13800138000") if secret in said]
    found = call("audit", out, "--original", SAMPLE / "queries.tsv", "--private-map", notes, "--json")
    assert (found.code, found.json["problems"]) == (0, [])
    assert any("--segment zh" in text for text in found.json["unchecked"])


def published_words(out):
    """Return the words that a release publishes as themselves."""
    (path,) = [path for name in ("tiles", "records") if (path := out / f"{name}.parquet").exists()]
    rows = pq.read_table(path, columns=["items", "exact"]).to_pylist()
    return {text for row in rows for text, exact in zip(row["items"], row["exact"], strict=True) if exact}


@pytest.mark.parametrize("method", ["mosaic", "flock"])
@pytest.mark.usefixtures("jieba")
def test_a_whole_job_on_wordnet_publishes_words_under_telling_parents(method, tmp_path):
    out, notes = tmp_path / "out", tmp_path / "map"
    ran = call(
        "anonymize", SAMPLE / "queries.tsv", "--out", out, "--method", method, "--k", 2, "--segment", "zh",
        "--private-map", notes, "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = pq.read_table(out / "taxonomy.parquet").to_pylist()
    parent = {row["label"]: row["parent"] for row in rows}
    words = published_words(out)
    telling = {word for word in words if parent[word] != "chinese or japanese word"}
    assert {
        "苹果": "apple",
        "火锅": "dish (sense 2)",
        "手机电池": "electric battery",
    }.items() <= parent.items()
    assert len(telling) >= 25
    assert len(telling) / len(words) > 0.75
    assert not [word for word in words if word.isascii()]  # no translation
    said = "\n".join([json.dumps(rows, ensure_ascii=False), *words])
    assert not [secret for secret in ("周杰伦", "张伟明", "13800138000") if secret in said]
    found = call("audit", out, "--original", SAMPLE / "queries.tsv", "--private-map", notes, "--json")
    assert (found.code, found.json["problems"]) == (0, [])


@pytest.mark.parametrize(
    ("word", "node"),
    [
        ("погода", "cyrillic word"),
        ("ресторан", "cyrillic word"),
        ("طقس", "arabic word"),
        ("天気", "chinese or japanese word"),
        ("レストラン", "chinese or japanese word"),
        ("哪吒", "chinese or japanese word"),
        ("날씨", "hangul word"),
        ("καιρός", "greek word"),
    ],
)
def test_words_of_other_scripts_are_filed_by_their_script_alone(word, node):
    (found,) = name_words([word])
    assert (found.kind, found.item, found.parent) == ("shape", word, node)
    assert found.why == "a word in another script than the Latin"
