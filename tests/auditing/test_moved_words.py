"""Releases with moved words: confirmed for every method that takes them, and so many words, no more, hang elsewhere."""

from __future__ import annotations

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import incrowd as ic
from auditing.test_forgeries import aol, forge, made, verdict
from auditing.test_named_words import renamed
from auditing.test_tiles import derive, read
from cli.helpers import call
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, IncrowdError
from incrowd.methods.registry import METHODS
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from strategies import taxonomy_of

K = 3
WORDS = ["jaguar", "cheetah", "car", "truck", "zorblax"]
MOVES = {"jaguar": "motor vehicle", "zorblax": "big cat", "unheard": "car", "tiger": "car"}
OUT_OF_PLACE = "taxonomy.parquet has a label that WordNet does not have there"
RECORDS = ("flock", "partition", "clump", "apriori", "suppress", "ssc")
CHILDREN = {
    "thing": ["drink", "animal"],
    "drink": ["wine", "beer", "tea"],
    "animal": ["dog", "cat", "newt"],
    "newt": ["eft"],
}


@pytest.fixture
def moves(tmp_path):
    path = tmp_path / "moves.tsv"
    path.write_text("".join(f"{word}\t{below}\n" for word, below in MOVES.items()), encoding="utf-8")
    return path


@pytest.fixture
def release(tmp_path, moves):
    """Six people who have all words, two of which are moved; of the others of the list, one is of two people and one of nobody."""
    people = {f"u{n}": WORDS + (["tiger"] if n < 2 else []) for n in range(6)}
    options = ("--moves", moves, "--items", "terms", "--set", "specificity=1")
    return made(tmp_path, aol(tmp_path / "log.tsv", people), *options)


def placed(word, below, level):
    """Return a change of taxonomy rows that hangs a word elsewhere."""

    def of_rows(rows):
        return [
            row | {"parent": below, "level": level} if (row["label"], row["exact"]) == (word, True) else row
            for row in rows
        ]

    return of_rows


def level_of(release, name):
    rows = pq.read_table(release.path / "taxonomy.parquet").to_pylist()
    (level,) = (row["level"] for row in rows if (row["label"], row["exact"]) == (name, False))
    return level


def says(number):
    """Return a change of the manifest to another number of moved words; None: to none."""

    def of_manifest(said):
        parameters = {name: value for name, value in said["parameters"].items() if name != "moved"}
        said["parameters"] = parameters if number is None else _in_order(parameters, number)

    return of_manifest


def _in_order(parameters, number):
    """Return parameters in the order of a manifest."""
    own = {name: parameters[name] for name in ("specificity",)}
    return {**{name: v for name, v in parameters.items() if name not in own}, "moved": number, **own}


def test_the_release_says_how_many_published_words_were_moved_and_no_more(release):
    assert verdict(release)[0] == 0
    code, said = verdict(release, *release.originals)
    assert code == 0, said
    shown = call("show", release.path, "--json").json
    assert shown["parameters"]["moved"] == 2
    assert "The publisher moved 2 of the published words" in " ".join(shown["account"])
    page = (release.path / "report.html").read_text(encoding="utf-8")
    assert "The publisher moved 2 of the published words: below another class" in page
    files = b"".join(path.read_bytes() for path in release.path.iterdir())
    assert b"jaguar" in files
    for private in (b"tiger", b"unheard", b"moves.tsv"):
        assert private not in files
    rows = pq.read_table(release.path / "taxonomy.parquet").to_pylist()
    parent = {row["label"]: row["parent"] for row in rows if row["exact"]}
    assert parent == {
        "jaguar": "motor vehicle",
        "cheetah": "big cat",
        "car": "car",
        "truck": "truck",
        "zorblax": "big cat",
    }


def test_an_honest_forgery_changes_nothing(release):
    forge(release, manifest=says(2))
    assert verdict(release, *release.originals)[0] == 0


@pytest.mark.parametrize("number", [None, 1, 3, 5, 6])
def test_another_number(release, number):
    forge(release, manifest=says(number))
    assert verdict(release)[0] == 1


@pytest.mark.parametrize("number", [0, -1, 2.5, True, "2"])
def test_what_is_no_number(release, number):
    text = (release.path / "manifest.json").read_text(encoding="utf-8")
    spelled = msgspec.json.encode(number).decode()
    (release.path / "manifest.json").write_text(text.replace('"moved": 2', f'"moved": {spelled}'))
    assert verdict(release)[0] == 1


def test_one_more_word_than_is_said(release):
    forge(release, rows=placed("cheetah", "motor vehicle", level_of(release, "motor vehicle") + 1))
    code, said = verdict(release)
    assert (code, said) == (1, f"{OUT_OF_PLACE}, beside the 2 words that were moved")


def test_one_more_word_that_is_said_is_not_the_originals(release):
    """From the files alone it may be so; the originals and the list say that it is not."""
    level = level_of(release, "motor vehicle") + 1
    forge(release, rows=placed("cheetah", "motor vehicle", level), manifest=says(3))
    assert verdict(release)[0] == 0
    assert verdict(release, *release.originals)[0] == 1


def test_another_word_in_place_of_one_that_was_moved(release):
    def of_rows(rows):
        there = {(row["label"], row["exact"]): row for row in rows}
        cat, vehicle = there["big cat", False]["level"], there["motor vehicle", False]["level"]
        rows = placed("jaguar", "big cat", cat + 1)(rows)
        return placed("cheetah", "motor vehicle", vehicle + 1)(rows)

    forge(release, rows=of_rows)
    assert verdict(release)[0] == 0
    assert verdict(release, *release.originals)[0] == 1


def test_no_class_is_moved(release):
    def of_rows(rows):
        (motor,) = (row for row in rows if row["label"] == "motor vehicle")
        change = {"parent": "motor vehicle", "level": motor["level"] + 1}
        return [row | change if (row["label"], row["exact"]) == ("big cat", False) else row for row in rows]

    forge(release, rows=of_rows, manifest=says(3))
    assert verdict(release)[0] == 1


@pytest.mark.parametrize("new", ["margate", "555-1234", "johnsmith"])
def test_a_word_that_is_published_as_its_kind_only_is_no_moved_word(release, new):
    """All that a list may say is where a word hangs, and not that it may be published."""
    records, rows = renamed("zorblax", new)
    forge(release, records=records, rows=rows)
    expected = 0 if new == "margate" else 1
    assert verdict(release)[0] == expected
    assert verdict(release, *release.originals)[0] == 1


@pytest.mark.parametrize("name", ["unlisted", "unlisted 1.1", "anything", "no class of wordnet"])
def test_nothing_is_moved_below_what_is_no_class(release, name):
    def of_rows(rows):
        (motor,) = (row for row in rows if row["label"] == "motor vehicle")
        level = motor["level"] + 1
        made_class = motor | {"label": name, "parent": "motor vehicle", "level": level, "leaves": None}
        return [*placed("cheetah", name, level + 1)(rows), made_class]

    forge(release, rows=of_rows, manifest=says(3))
    assert verdict(release)[0] == 1


def test_no_word_of_wordnet_is_moved_among_those_that_it_lacks(tmp_path, moves):
    source = aol(tmp_path / "log.tsv", {f"u{n}": [*WORDS, "zzyzxqqq"] for n in range(6)})
    release = made(tmp_path, source, "--moves", moves, "--items", "terms", "--set", "specificity=1")
    rows = pq.read_table(release.path / "taxonomy.parquet").to_pylist()
    (unknown,) = (row for row in rows if row["label"] == "zzyzxqqq")
    assert unknown["parent"] == "anything"  # a branch of one word has no name
    forge(release, rows=placed("cheetah", unknown["parent"], unknown["level"]), manifest=says(3))
    assert verdict(release)[0] == 1


@pytest.mark.parametrize("taxonomy", ["balanced:5", "file"])
def test_another_taxonomy(release, taxonomy):
    def of_manifest(said):
        said["parameters"] |= {"taxonomy": taxonomy}

    forge(release, manifest=of_manifest)
    code, said = verdict(release)
    if taxonomy == "file":  # whose classes nobody knows without the originals
        assert code == 0
        shown = call("audit", release.path, "--json").json["unchecked"]
        assert "which words were moved, and how many: only the originals show it" in shown
    else:
        assert (code, "which this method and taxonomy do not" in said) == (1, True)


@pytest.mark.parametrize("tree", ["wordnet", "file"])
@pytest.mark.parametrize("method", ["mosaic", *RECORDS])
def test_the_claim_holds_for_every_method_that_takes_moves(tmp_path, method, tree):
    words = ["jaguar", "cheetah", "car", "tea"] if tree == "wordnet" else ["dog", "wine", "eft", "tea"]
    moves = {words[0]: words[2], words[2]: words[3], words[1]: words[1]}
    rows = [[words[n % 4], words[(n + 1 + n % 3) % 4]] for n in range(60)]
    data = Transactions.from_rows(rows, owners=[f"p{n}" for n in range(60)])
    taxonomy = wordnet_tree() if tree == "wordnet" else taxonomy_of(CHILDREN | {"eft": []})
    how = {"ssc": {"typical": "generalize"}, "mosaic": {"confidence": 1}}.get(method, {})
    release = ic.anonymize(data, taxonomy, method=method, k=K, moves=moves, seed=1, **how)
    out = tmp_path / "release"
    assert release.write(out).holds is not False
    assert release.moved == 2
    assert ic.audit(out, originals=release.originals, measure=release.figured).problems == []
    if tree == "wordnet":
        assert ic.audit(out).problems == []
    (out / "manifest.json").write_text(
        (out / "manifest.json")
        .read_text()
        .replace("moved 2 of", "moved 1 of")
        .replace('"moved": 2', '"moved": 1')
    )
    assert ic.audit(out, originals=release.originals).problems


@pytest.mark.parametrize(
    "method",
    [name for name in METHODS if name not in ("mosaic", *RECORDS)],
)
def test_other_methods_take_no_moves(method):
    with pytest.raises(BadInputError, match=f"method {method} does not take moved words: drop moves"):
        ic.anonymize([["dog"]], method=method, moves={"dog": "car"})


def test_bags_of_alternatives_take_no_moves():
    with pytest.raises(BadInputError, match="method ssc does not take moved words"):
        ic.anonymize([["dog"]], method="ssc", typical="bags", moves={"dog": "car"})


@hypothesis_settings(max_examples=15)
@given(
    moves=st.dictionaries(
        st.sampled_from([leaf for family in CHILDREN.values() for leaf in family]),
        st.sampled_from([*CHILDREN, "tea", "cat"]),
        min_size=1,
    ),
    seed=st.integers(0, 5),
)
@pytest.mark.parametrize("method", ["mosaic", "flock", "partition"])
def test_whatever_is_moved(method, moves, seed, tmp_path_factory):
    words = ["dog", "cat", "newt", "eft", "wine", "tea", "animal"]
    rows = [[words[(n * step + seed) % 7] for step in (1, 2, 4)] for n in range(30)]
    data = Transactions.from_rows(rows, owners=[f"p{n}" for n in range(30)])
    release = ic.anonymize(data, taxonomy_of(CHILDREN | {"eft": []}), method=method, k=K, moves=moves, seed=1)
    out = tmp_path_factory.mktemp("moved") / "release"
    try:
        assert release.write(out).holds
    except IncrowdError as error:
        pytest.fail(str(error))
    assert ic.audit(out, originals=release.originals, measure=release.figured).confirmed


@pytest.mark.parametrize("number", [1, 3])
def test_tiles_say_it_too(tmp_path, number):
    rows = [["jaguar", "cheetah"], ["car", "zorblax"]] * 20
    data = Transactions.from_rows(rows, owners=[f"p{n}" for n in range(40)])
    release = ic.anonymize(data, "wordnet", k=K, moves=MOVES, seed=1, confidence=1)
    out = tmp_path / "release"
    assert release.write(out).confirmed
    assert release.manifest().parameters["moved"] == 2
    derive(out, read(out))
    assert ic.audit(out).problems == []
    derive(out, read(out), moved=number)
    (problem,) = ic.audit(out).problems
    assert problem.startswith(OUT_OF_PLACE)
    said = " ".join(ic.audit(out, originals=release.originals).problems)
    assert OUT_OF_PLACE in said


def test_tiles_on_a_file_are_held_against_the_originals(tmp_path):
    rows = [["dog", "wine"], ["cat", "wine"]] * 20
    data = Transactions.from_rows(rows, owners=[f"p{n}" for n in range(40)])
    release = ic.anonymize(
        data, taxonomy_of(CHILDREN | {"eft": []}), k=K, moves={"dog": "drink"}, seed=1, confidence=1
    )
    out = tmp_path / "release"
    assert release.write(out).confirmed
    derive(out, read(out), moved=2)
    assert ic.audit(out).problems == []
    assert "another number of published words" in " ".join(
        ic.audit(out, originals=release.originals).problems
    )


def test_a_taxonomy_that_was_written_otherwise_is_refused(release):
    """The moved word's row itself is held to its only form."""
    path = release.path / "taxonomy.parquet"
    table = pq.read_table(path)
    rows = [
        row | {"leaves": 2} if (row["label"], row["exact"]) == ("jaguar", True) else row
        for row in table.to_pylist()
    ]
    write_taxonomy(path, type(table).from_pylist(rows, table.schema))
    assert "a number of leaves that cannot be" in verdict(release)[1]
