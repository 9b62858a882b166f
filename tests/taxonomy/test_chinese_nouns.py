"""The list of Chinese nouns: every entry leads to a node, can be found, and is what it should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import incrowd.data
from helpers import strings
from incrowd.taxonomy.look import look_up
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.words import name_words
from incrowd.taxonomy.words.chinese import chinese_noun, chinese_nouns
from incrowd.taxonomy.words.tree import named_tree
from incrowd.text.chinese import segmented

FILE = Path(incrowd.data.__file__).parent / "chinese.tsv"
ENTRIES = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

ENGLISH_ONLY = """
from incrowd.taxonomy.words import name_words
from incrowd.taxonomy.words.chinese import chinese_nouns
name_words(["kmart", "резторан", "résumé", "レストラン", "555-1234"])
before = chinese_nouns.cache_info().currsize
name_words(["苹果"])
print(before, chinese_nouns.cache_info().currsize)
"""


def entry(word):
    (found,) = name_words([word])
    return found


def path_of(label):
    tree = named_tree()
    nodes = tree.ancestors(np.array([tree.labels.index(label).as_py()], dtype=np.int32))
    return tree.labels_of(nodes).to_pylist()


def test_the_list_is_sorted_and_has_no_word_twice():
    words = [line.split("\t")[0] for line in ENTRIES]
    assert words == sorted(set(words))
    assert len(words) >= 3_600
    assert FILE.stat().st_size < 80_000


def test_every_entry_leads_to_a_node():
    parents = pa.array([chinese_noun(word).parent for word in chinese_nouns()], pa.string())
    assert set(parents.to_pylist()) <= set(named_tree().labels.to_pylist())
    assert {len(line.split("\t")) for line in ENTRIES} == {2}


def test_every_entry_is_split_off_as_one_word():
    pytest.importorskip("jieba", reason="needs jieba (pip install 'incrowd[zh]')")
    words = list(chinese_nouns())
    assert [
        word for word, text in zip(words, segmented(strings(*words)).to_pylist(), strict=True) if word != text
    ] == []


@pytest.mark.parametrize(
    ("word", "parent", "above"),
    [
        ("苹果", "apple", "edible fruit"),
        ("电脑", "computer", "machine"),
        ("鼠标", "computer mouse", "electronic device"),
        ("老鼠", "mouse", "rodent"),
        ("银行", "depository financial institution", "financial institution"),
        ("土耳其", "republic of turkey", "country (sense 2)"),
        ("深圳", "town in china", "town in asia"),
        ("感冒", "cold", "respiratory disease"),
        ("医生", "doctor", "medical practitioner"),
        ("手机电池", "electric battery", "device"),
        ("重庆火锅", "dish (sense 2)", "food"),
    ],
)
def test_words_are_below_the_node_of_their_usual_sense(word, parent, above):
    found = entry(word)
    assert found[:3] == ("chinese noun", word, parent)
    assert above in path_of(parent)


@pytest.mark.parametrize("word", ["苹", "苹果果", "東京", "天気", "苹果x", "手机电池价格", "苹果" * 40])
def test_other_words_in_chinese_characters_are_no_chinese_nouns(word):
    found = entry(word)
    assert found is None or found.kind == "shape"


def test_it_is_said_why():
    found = look_up(wordnet_tree(), "苹果")
    assert found["why"] == (
        "WordNet lacks it. With unlisted='name' it is a Chinese noun that means 'apple'; published as '苹果', below 'apple'."
    )
    assert found["found"][0]["label"] == "apple"
    assert (
        "two Chinese nouns in one, of which the last means 'concert'"
        in look_up(wordnet_tree(), "北京演唱会")["why"]
    )


def test_the_list_is_not_read_for_other_words():
    done = subprocess.run([sys.executable, "-c", ENGLISH_ONLY], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1\n"
