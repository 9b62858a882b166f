"""Taxonomy files: lines, paths and rows, and one line that says what is wrong with a bad one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import open_taxonomy, parse_taxonomy, read_taxonomy
from incrowd.taxonomy.check import check_file
from incrowd.taxonomy.sources import lines, parsed
from strategies import trees

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def written(tmp_path):
    """Write bytes to a file called ``t`` and return it."""

    def write(content: bytes | str):
        path = tmp_path / "t"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def shape(tree) -> dict[str, str | None]:
    labels = tree.labels.to_pylist()
    assert len(set(labels)) == len(labels)
    return {
        label: labels[above] if above >= 0 else None for label, above in zip(labels, tree.parent, strict=True)
    }


ANIMALS = {"animal": None, "dog": "animal", "pug": "dog", "cat": "animal"}
PATHS = {"Top": None, "Top/Arts": "Top", "Top/Arts/Film": "Top/Arts", "Top/Games": "Top"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("dog\tanimal\npug\tdog\ncat\tanimal\n", ANIMALS),
        ("pug\tdog\ncat\tanimal\ndog\tanimal", ANIMALS),
        ("dog\tanimal\r\npug\tdog\r\ncat\tanimal\r\n", ANIMALS),
        (BOM + b"dog\tanimal\npug\tdog\ncat\tanimal\n", ANIMALS),
        ("\n \ndog\tanimal\n\npug\t dog \n\n\ncat\tanimal\n\n", ANIMALS),
        ("Top/Arts/Film\nTop/Games\n", PATHS),
        ("Top/Arts/Film\t12\nTop/Games\t3\n", PATHS),
        ("Top/Arts/Film\r\nTop/Arts\r\nTop/Games/\r\n", PATHS),
        (BOM + b"\r\nTop/Arts/Film\r\n\r\nTop/Games\r\n", PATHS),
        ("pug;dog;animal\ncat;animal\n", ANIMALS),
        ('"pug";"dog";animal\r\n\r\ncat;cat;animal\r\n', ANIMALS),
        (BOM + b"pug;dog;animal\ncat;animal;animal", ANIMALS),
        ("dog\tanimal\rpug\tdog\rcat\tanimal\r", ANIMALS),
        ("# Made up\ndog\tanimal\n#\npug\tdog\ncat\tanimal\n", ANIMALS),
        ("# Made up\nTop/Arts/Film\nTop/Games\n", PATHS),
        ("# Made up\npug;dog;animal\ncat;animal\n", ANIMALS),
        ("#pug\tdog\n", {"dog": None, "#pug": "dog"}),
        ("a > b\tR\nc\ta > b\n", {"R": None, "a > b": "R", "c": "a > b"}),
        ("c\ta > b\nd\ta > b\n", {"a > b": None, "c": "a > b", "d": "a > b"}),
        ("T/a\nT/b\nT/c > d\n", {"T": None, "T/a": "T", "T/b": "T", "T/c > d": "T"}),
        ("a;x;*\nb;x;y;*\n", {"*": None, "*/x": "*", "a": "*/x", "y": "*", "y/x": "y", "b": "y/x"}),
        ("a;x;*\nx;y;*\n", {"*": None, "*/x": "*", "a": "*/x", "y": "*", "x": "y"}),
    ],
)
def test_forms(written, content, expected):
    assert shape(read_taxonomy(written(content))) == expected


@given(trees())
def test_child_parent_lines_give_the_tree_back(tmp_path_factory, children):
    path = tmp_path_factory.mktemp("trees") / "t"
    lines = [f"{child}\t{node}" for node, below in children.items() for child in below]
    path.write_text("\n".join(lines), encoding="utf-8")
    tree = reference.Tree(children)
    assert shape(read_taxonomy(path)) == {
        node: way[-2] if len(way) > 1 else None for node, way in tree.path.items()
    }


@given(trees(), st.randoms(use_true_random=False))
def test_the_three_forms_agree(tmp_path_factory, children, dice):
    tree, directory = reference.Tree(children), tmp_path_factory.mktemp("forms")
    ways = [way for node, way in tree.path.items() if tree.is_leaf(node)]
    dice.shuffle(ways)
    (directory / "paths").write_text("\n".join("/".join(way) for way in ways), encoding="utf-8")
    (directory / "rows").write_text("\n".join(";".join(reversed(way)) for way in ways), encoding="utf-8")
    by_rows, by_paths = shape(read_taxonomy(directory / "rows")), shape(read_taxonomy(directory / "paths"))
    assert by_rows == {node: way[-2] if len(way) > 1 else None for node, way in tree.path.items()}
    assert set(by_paths) == {"/".join(way) for way in tree.path.values()}


EXPECTED = (
    "expected 'child TAB parent' (or, in the whole file, 'A > B' or 'A/B' paths or 'leaf;parent;*' rows)"
)
BAD = [
    ("a\tb\nb\tc\nc\ta\n", "line 1: a cycle: the node is above itself; remove one of the lines"),
    ("a\tR\n\nb\tc\nc\tb\n", "line 3: a cycle: the node is above itself; remove one of the lines"),
    ("a\tR\nb\tb\n", "line 2: a cycle: the node is above itself; remove one of the lines"),
    ("a\tR\nb\tS\n", "2 roots (first named on lines 1 and 2); put them under one root"),
    ("T/a\n\nU/b\n", "2 roots (first named on lines 1 and 3); put them under one root"),
    ("a;x;*\nb;x;+\n", "2 roots (first named on lines 1 and 2); put them under one root"),
    ("a\tR\nb\tR\na\tb\n", "line 3 (first on line 1): the child has a parent already; keep one of them"),
    ("T/a\nT/b\nT/a\n", "line 3 (first on line 1): the path stands there twice; keep one of them"),
    ("a;x;*\nb;x;*\na;y;*\n", "line 3 (first on line 1): the leaf stands there twice; keep one of them"),
    ("a\tR\nb R\n", f"line 2: {EXPECTED}"),
    ("a\tR\nb\tR\tx\n", f"line 2: {EXPECTED}"),
    ("a\tR\nb\t\n", f"line 2: {EXPECTED}"),
    ("a\tR\r\n\r\nbR\r\nc\tR\r\n", f"line 3: {EXPECTED}"),
    ("T/a\nT//b\n", "line 2: a path with an empty step"),
    ("a;x;*\nb;;*\n", "line 2: an empty cell"),
    ("a;x;*\nb;;*\nc;;*\n", "lines 2, 3: an empty cell"),
    ("a;x;*\n" + "b;;*\n" * 1200, "lines 2, 3, 4 and 1,197 more: an empty cell"),
    (
        "T/a\nT/b\nT//c\nT/b\nT/a\n",
        "line 3: a path with an empty step (1 more kind: see 'incrowd taxonomy check')",
    ),
    ("a\tR\nb\nb\tS\nb\tR\n", f"line 2: {EXPECTED} (2 more kinds: see 'incrowd taxonomy check')"),
]


@pytest.mark.parametrize(("content", "says"), BAD)
def test_bad_files(written, content, says):
    with pytest.raises(BadInputError) as caught:
        read_taxonomy(written(content))
    assert str(caught.value) == f"taxonomy t: {says}"


EMPTY = (
    "taxonomy t is empty; give lines of 'child TAB parent', 'A > B' or 'A/B' paths, or 'leaf;parent;*' rows"
)
BINARY = "taxonomy t looks like a binary file; give a text file in UTF-8"
LATIN = "is not in UTF-8; convert it, as by 'iconv -f LATIN1 -t UTF-8 t', with the encoding that it is in"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", EMPTY),
        (b"\n \r\n", EMPTY),
        (BOM, EMPTY),
        (b"# nothing\n# at all\n", EMPTY),
        (b"a\tR\n\0\0b\tR\n", BINARY),
        (b"\x1f\x8b\x08\0\xff\xfe", BINARY),
        ("a\tR\n".encode("utf-16-le"), BINARY),
        (
            "a\tR\n".encode("utf-16"),
            "taxonomy t is in UTF-16; convert it, as by 'iconv -f UTF-16 -t UTF-8 t'",
        ),
        (
            "a\tR\n".encode("utf-32"),
            "taxonomy t is in UTF-32; convert it, as by 'iconv -f UTF-32 -t UTF-8 t'",
        ),
        (b"a\tR\n\n\xff\tR\n", f"taxonomy t: line 3 {LATIN}"),
        (BOM + b"T/a\xe9\nT/b\n", f"taxonomy t: line 1 {LATIN}"),
    ],
    ids=[
        "empty",
        "blank",
        "bom",
        "comments",
        "nul",
        "gzip",
        "wide",
        "utf16",
        "utf32",
        "latin1",
        "bom-latin1",
    ],
)
def test_files_that_are_no_text(written, content, says):
    with pytest.raises(BadInputError, match=f"^{re.escape(says)}$"):
        read_taxonomy(written(content))


def test_a_file_that_is_too_large_is_not_read(written, monkeypatch):
    monkeypatch.setattr(lines, "MOST_BYTES", 9)
    assert len(read_taxonomy(written("a\tR\nb\tR"))) == 3
    with pytest.raises(
        BadInputError, match=r"^taxonomy t has 10 bytes, and a taxonomy may have 9; give a smaller file"
    ):
        read_taxonomy(written("aaaa\tR\nb\tR"))


def test_paths_that_grow_without_end_are_refused(written, monkeypatch):
    """A label is a whole path, so a path of n steps has labels of n * n characters in all."""
    monkeypatch.setattr(parsed, "MOST_CHARACTERS", 10_000)
    assert len(read_taxonomy(written("/".join("a" * 90)))) == 90
    with pytest.raises(
        BadInputError, match=r"^taxonomy t: line 1: its paths are too long: .*10,000 characters"
    ):
        read_taxonomy(written("/".join("a" * 110)))


def test_a_leaf_called_like_the_root_is_refused(written):
    """Its label would not be unique, and the item of that name would land on the root."""
    with pytest.raises(BadInputError, match=r"^taxonomy t: line 1: "):
        read_taxonomy(written("*;a;*\nb;a;*\n"))


def test_a_missing_file(tmp_path):
    with pytest.raises(BadInputError, match=r"^taxonomy gone cannot be read: No such file or directory$"):
        read_taxonomy(tmp_path / "gone")


def test_all_problems_are_collected(written):
    found = parse_taxonomy(written("a\tR\nb\nc\tR\nc\ta\n"))
    assert [(problem.line, problem.earlier) for problem in found.problems] == [(2, 0), (4, 3)]


def test_problems_are_grouped_by_kind_with_their_first_lines(written):
    found = check_file(str(written("a\tR\na\tS\n" + "b\n" * 14_606 + "a\tT\n")))
    assert [(kind["problem"], kind["count"], kind["lines"]) for kind in found["problems"]] == [
        ("the child has a parent already; keep one of them", 2, [2, 14_609]),
        (EXPECTED, 14_606, [3, 4, 5]),
        ("3 roots (first named on lines 1 and 2); put them under one root", 1, []),
    ]
    assert found["problems"][0]["in_words"] == (
        "lines 2 (first on line 1), 14,609 (first on line 1): the child has a parent already; keep one of them"
    )
    assert found["shape"] is None


TX = Transactions.from_rows([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "wordnt",
            "taxonomy must be wordnet, balanced:F or a file that exists (got 'wordnt') (did you mean 'wordnet'?)",
        ),
        (
            "Balanced:5",
            "taxonomy must be wordnet, balanced:F or a file that exists (got 'Balanced:5') (did you mean 'balanced:5'?)",
        ),
        ("qqq", "taxonomy must be wordnet, balanced:F or a file that exists (got 'qqq')"),
        ("balanced:x", "taxonomy balanced:F needs a whole number F, as in balanced:5 (got 'balanced:x')"),
        ("balanced:", "taxonomy balanced:F needs a whole number F, as in balanced:5 (got 'balanced:')"),
        ("balanced", "taxonomy balanced:F needs a whole number F, as in balanced:5 (got 'balanced')"),
        ("balanced:-2", "taxonomy balanced:F needs a whole number F, as in balanced:5 (got 'balanced:-2')"),
        ("balanced:٣", "taxonomy balanced:F needs a whole number F, as in balanced:5 (got 'balanced:٣')"),
        ("balanced:1", "balanced:F needs a fan-out F from 2 to 1,000,000 (got 1)"),
    ],
)
def test_unknown_sources(source, says):
    with pytest.raises(BadInputError) as caught:
        open_taxonomy(source, TX)
    assert str(caught.value) == says


@pytest.mark.parametrize("source", ["x" * 5000, "balanced:" + "9" * 5000], ids=["long-name", "long-number"])
def test_absurd_sources_are_bad_input_too(source):
    with pytest.raises(BadInputError):
        open_taxonomy(source, TX)


def test_open_a_file_refuses_what_it_lacks_unless_told(written):
    path = written("a\tR\nb\tR\n")
    with pytest.raises(BadInputError, match=r"^taxonomy t lacks 1 of the 3 items; use unlisted='keep' "):
        open_taxonomy(str(path), TX)
    data = open_taxonomy(str(path), TX, unlisted="drop")
    assert (data.listed, data.unlisted, data.transactions.empty_rows) == (2, 1, 1)


def test_open_balanced():
    assert open_taxonomy("balanced:2", TX).taxonomy.leaf_count == 3


def test_open_wordnet_keeps_what_it_lacks():
    data = open_taxonomy("wordnet", Transactions.from_rows([["dog", "qwzzx"]]))
    assert (data.listed, data.unlisted) == (1, 1)


@pytest.mark.data
def test_a_real_directory_of_categories(data_dir, written):
    """It is in Latin-1: the error says so, and converting it is all that it takes."""
    path = data_dir / "taxonomies/dmoz-3-levels.tsv"
    with pytest.raises(BadInputError, match=r": line 3579 is not in UTF-8; .*iconv -f LATIN1 -t UTF-8"):
        read_taxonomy(path)
    tree = read_taxonomy(written(path.read_text(encoding="latin-1")))
    assert "Top/Games/Trading_Card_Games/Pok\u00e9mon" in tree.labels.to_pylist()
    assert tree.labels[0].as_py() == "Top"
    assert tree.leaf_count <= 4872 < len(tree)


def test_what_cannot_be_seen_is_no_part_of_a_label(tmp_path):
    """The data has none of it either: a label and an item that look the same are the same."""
    path = tmp_path / "taxonomy.tsv"
    path.write_text("mi\u200blk\tdri\u00adnk\nte\u0301a\tdrink\n", encoding="utf-8")
    tree = read_taxonomy(path)
    assert sorted(tree.labels.to_pylist()) == ["drink", "milk", "téa"]
