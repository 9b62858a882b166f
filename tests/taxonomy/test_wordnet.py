from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd.data
from incrowd.taxonomy.sources.wordnet import (
    ADJECTIVE_RULES,
    FEW_WORDS,
    NOUN_RULES,
    VERB_RULES,
    Lexicon,
    lexicon,
)
from reference_words import SingleWords

WORDNET = Path("/usr/share/wordnet")
DATA = Path(incrowd.data.__file__).parent
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_wordnet.py"
needs_wordnet = pytest.mark.skipif(not WORDNET.is_dir(), reason=f"{WORDNET} is absent (Debian: wordnet-base)")

LOAD = """
import time, numpy, pyarrow, pyarrow.compute, pyarrow.ipc
pyarrow.array([1]).to_numpy()  # Arrow's own start: it imports pandas here where there is one
from incrowd.taxonomy.sources.wordnet import lexicon
start = time.process_time()
lexicon()
print(time.process_time() - start)
"""


@pytest.fixture(scope="module")
def words() -> Lexicon:
    return lexicon()


@pytest.fixture(scope="module")
def single():
    return SingleWords(lexicon())


def ancestors(words: Lexicon, lemma: str) -> list[str]:
    node, names = words.node(lemma), []
    while node >= 0:
        names.append(words.labels[node].as_py())
        node = words.parent[node]
    return names


def test_tree_has_one_root_and_all_noun_synsets_in_preorder(words):
    assert len(words.parent) == 82_115
    assert words.labels[0].as_py() == "entity"
    assert words.parent[0] == -1
    assert (words.parent[1:] >= 0).all()
    # In pre-order each node's parent is the node before it or one of that node's ancestors.
    path = [0]
    for node, parent in enumerate(words.parent[1:].tolist(), start=1):
        while path[-1] != parent:
            path.pop()  # an IndexError here means: not pre-order
        path.append(node)


def test_labels_are_unique_and_ambiguous_ones_carry_their_sense(words):
    labels = words.labels.to_pylist()
    assert len(set(labels)) == len(labels) == len(words.parent)
    assert "motor vehicle" in labels
    assert "mouse (sense 3)" in labels  # a quiet person
    assert "mouse (sense 4)" not in labels  # "computer mouse" says it without a number
    assert "mouse (sense 1)" not in labels
    assert not any("_" in label or label != label.lower() for label in labels)


def test_label_without_sense_is_a_lemma_of_that_first_sense(words):
    for node, label in enumerate(words.labels.to_pylist()):
        if "(sense " not in label:
            assert words.node(label) == node


def test_lemmas_are_sorted_and_each_has_a_node(words):
    lemmas = words.lemmas.to_pylist()
    assert lemmas == sorted(set(lemmas))
    assert len(lemmas) == len(words.lemma_node) == 117_798
    assert words.lemma_node.min() == 0
    assert words.lemma_node.max() < len(words.parent)


def test_first_sense_and_first_hypernym(words):
    assert ancestors(words, "auto")[:3] == ["car", "motor vehicle", "self-propelled vehicle"]
    assert ancestors(words, "mouse")[:3] == ["mouse", "rodent", "placental"]
    assert ancestors(words, "entity") == ["entity"]
    assert words.node("no such lemma") is None


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("dog", "dog"),
        ("dogs", "dog"),
        ("boots", "boot"),
        ("mice", "mouse"),
        ("children", "child"),
        ("axes", "ax"),
        ("cities", "city"),
        ("churches", "church"),
        ("dishes", "dish"),
        ("boxes", "box"),
        ("buses", "bus"),
        ("quizzes", "quiz"),
        ("women", "woman"),
        ("firemen", "fireman"),
        ("motor vehicles", "motor vehicle"),
        ("news", "news"),
        ("glass", "glass"),
        ("glasses", "glasses"),
        ("gas", "gas"),
        ("men", "men"),
        ("hiss", "hiss"),
        ("catss", None),
        ("bs", "bs"),
        ("ys", None),
        ("went", None),
        ("cheap", None),
        ("zzxqy", None),
        ("", None),
        ("s", "s"),
        ("日本", None),
    ],
)
def test_morphology_of_nouns(words, single, word, lemma):
    assert single.noun(word) == lemma
    expected = -1 if lemma is None else words.node(lemma)
    assert words.nodes_of(pa.array([word])).tolist() == [expected]


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("cheap", True),
        ("cheaper", True),
        ("cheapest", True),
        ("went", True),
        ("created", True),
        ("walked", True),
        ("marries", True),
        ("encouraging", True),
        ("quickly", True),
        ("nicer", True),
        ("dog", False),
        ("running", False),
        ("mice", False),
        ("zzxqy", False),
        ("zzxqying", False),
        ("ed", False),
        ("", False),
    ],
)
def test_other_parts_of_speech(words, single, word, other):
    assert single.other_part_of_speech(word) is other
    known = words.are_other_parts_of_speech(pa.array([word]))[0]
    assert (known and single.noun(word) is None) == other


def test_nulls_and_no_words(words):
    nulls = pa.array([None, "dog", None], pa.string())
    assert words.nodes_of(nulls).tolist() == [-1, words.node("dog"), -1]
    assert words.are_other_parts_of_speech(nulls).tolist() == [False, True, False]
    empty = pa.array([], pa.string())
    assert words.nodes_of(empty).dtype == np.int32
    assert len(words.nodes_of(empty)) == len(words.are_other_parts_of_speech(empty)) == 0


stems = st.sampled_from(
    ["dog", "church", "wom", "cit", "bus", "box", "walk", "nice", "glas", "is", "", "é", "mice"]
)
endings = st.sampled_from(sorted({ending for ending, _ in NOUN_RULES + VERB_RULES + ADJECTIVE_RULES}))


@settings(deadline=None)  # the first example loads the table
@given(st.lists(st.one_of(st.text(max_size=8), st.builds(str.__add__, stems, endings)), max_size=30))
def test_arrays_are_treated_as_single_words_are(single, texts):
    words, array = lexicon(), pa.array(texts, pa.string())
    lemmas = [words.lemmas[p].as_py() if p >= 0 else None for p in words.lemmas_of(array).tolist()]
    assert lemmas == [single.noun(text) for text in texts]
    many = pa.concat_arrays([array, pa.nulls(FEW_WORDS, pa.string())])  # too many to be looked up one by one
    assert words.lemmas_of(many)[: len(texts)].tolist() == words.lemmas_of(array).tolist()
    known = words.are_other_parts_of_speech(array).tolist()
    others = [k and lemma is None for k, lemma in zip(known, lemmas, strict=True)]
    assert others == [single.other_part_of_speech(text) for text in texts]


def test_every_form_in_the_table_is_treated_alike_alone_and_in_an_array(words, single):
    forms = words.others.to_pylist() + words.exceptions.to_pylist()
    forms += [form + "s" for form in forms[::3]]
    nouns = [single.noun(form) for form in forms]
    nodes = [-1 if noun is None else words.node(noun) for noun in nouns]
    assert words.nodes_of(pa.array(forms)).tolist() == nodes


def test_loads_in_a_fifth_of_a_second():
    """Of the processor's time, so that it does not matter what else runs."""
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True, text=True)
    assert float(done.stdout) < 0.2


def test_lexicon_is_loaded_once():
    assert lexicon() is lexicon()


def test_licence_notice_ships_with_the_table():
    notice = (DATA / "WORDNET-LICENSE.txt").read_text(encoding="ascii")
    assert notice.startswith("This software and database is being provided to you, the LICENSEE, by\n")
    assert "WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved." in notice
    assert notice.endswith("Princeton University and LICENSEE agrees to preserve same.\n")


def test_table_is_small():
    assert (DATA / "wordnet.arrow").stat().st_size <= 2_000_000


@needs_wordnet
def test_script_makes_the_shipped_table(tmp_path):
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        subprocess.run([sys.executable, SCRIPT, WORDNET, "--out", tmp_path / name], check=True)
        made.append((tmp_path / name / "wordnet.arrow").read_bytes())
    assert made[0] == made[1]
    # By content: another version of zstd may compress the same columns to other bytes.
    shipped = (DATA / "wordnet.arrow").read_bytes()
    assert pa.ipc.open_file(made[0]).read_all().equals(pa.ipc.open_file(shipped).read_all())
    notice = (tmp_path / "first" / "WORDNET-LICENSE.txt").read_bytes()
    assert notice == (DATA / "WORDNET-LICENSE.txt").read_bytes()


HEAD = "  1 The notice  \n"
ENTITY = "00000001 03 n 01 entity 0 001 ~ 00000002 n 0000 | gloss\n"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (ENTITY + "00000002 03 n 01 other 0 000 | gloss\n", "more than one root"),
        (
            ENTITY
            + "00000002 03 n 01 egg 0 001 @ 00000003 n 0000 | gloss\n"
            + "00000003 03 n 01 hen 0 002 @i 00000002 n 0000 @ 00000001 n 0000 | gloss\n",
            "cycle",
        ),
    ],
)
def test_script_refuses_what_is_not_a_tree(tmp_path, lines, problem):
    (tmp_path / "data.noun").write_text(HEAD + lines)
    spec = importlib.util.spec_from_file_location("make_wordnet", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with pytest.raises(SystemExit, match=problem):
        script.number_in_preorder(script.read_synsets(tmp_path / "data.noun"))
