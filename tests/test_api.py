"""The Python face: the lines of the design, as a notebook would run them."""

from __future__ import annotations

import ast
import gzip
import pydoc
import re
from pathlib import Path

import numpy as np
import pytest

import incrowd
import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line

OBJECTS = ("log", "transactions", "taxonomy", "release", "losses", "claim", "audit")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("api")
    lines = [
        aol_line(user, query) for user in range(40) for query in ("dogs", "cats zorblax", f"beer{user % 4}")
    ]
    (directory / "aol.tsv.gz").write_bytes(gzip.compress((AOL_HEADER + "".join(lines)).encode()))
    (directory / "x.dat").write_text("1 2 3\n" * 6 + "2 3 3\n" * 6)
    return directory


@pytest.fixture(scope="module")
def objects(place):
    log = ic.read_log(place / "aol.tsv.gz")
    transactions = log.transactions()
    taxonomy = ic.wordnet(transactions)
    release = ic.anonymize(transactions, taxonomy, k=5, goal="people")
    audit = release.write(place / "for-objects")
    made = (log, transactions, taxonomy, release, release.losses, release.claim, audit)
    return dict(zip(OBJECTS, made, strict=True))


def test_the_lines_of_the_design(place, monkeypatch):
    monkeypatch.chdir(place)
    log = ic.read_log("aol.tsv.gz")
    tx = log.transactions(unit="user", items="nouns")
    tree = ic.wordnet(tx)
    release = ic.anonymize(tx, tree, method="partition", k=5)
    assert 0 <= release.losses.ncp <= 1
    assert release.claim.k == 5
    assert release.table().num_rows == 40
    release.write("out")
    assert ic.audit("out").holds is True


def test_the_table_goes_to_pandas(objects):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = objects["release"].to_pandas()
    assert list(frame.columns) == ["items", "exact", "counts"]
    assert len(frame) == 40


def test_baskets_and_a_balanced_tree(place, tmp_path):
    tx = ic.read_baskets(place / "x.dat").transactions()
    release = ic.anonymize(tx, ic.balanced(tx, 5), k=5, method="partition", publish="bag")
    assert release.losses.ncp == 0
    assert release.losses.kept_exactly == 1
    assert release.write(tmp_path / "out").holds


def test_a_taxonomy_from_a_file_and_unlisted_items(place, tmp_path):
    path = tmp_path / "tree.tsv"
    path.write_text("1\todd\n3\todd\nodd\tany\n")
    tx = ic.read_baskets(place / "x.dat").transactions()
    with pytest.raises(ic.BadInputError, match="lacks 1 of the 3 items"):
        ic.anonymize(tx, ic.read_taxonomy(path), k=5, method="flock")
    kept = ic.anonymize(tx, ic.read_taxonomy(path), k=5, method="flock", unlisted="keep")
    dropped = ic.anonymize(tx, ic.read_taxonomy(path), k=5, method="flock", unlisted="drop")
    assert "2" in str(kept.table().to_pydict()["items"])
    assert "2" not in str(dropped.table().to_pydict()["items"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"k": 1}, "k must be at least 2"),
        ({"k": 2.5}, "k must be an integer"),
        ({"k": 41}, "k must be at most 40"),
        ({"k": 5, "method": "partitoin"}, "did you mean 'partition'"),
        ({"k": 5, "method": "partition", "publish": "bags"}, "did you mean 'bag'"),
        ({"k": 5, "method": "partition", "publsh": "bag"}, "did you mean 'publish'"),
        ({"k": 5, "unlisted": "kep"}, "did you mean 'keep'"),
        ({"goal": "word"}, "did you mean 'words'"),
        ({"goal": "people", "method": "flock"}, "give goal, which chooses a method, or method, and not both"),
        ({"unit": "user"}, "transactions have their unit already: drop unit"),
        ({"items": "terms"}, "transactions have their items already: drop items"),
        ({"seed": "x"}, "seed must be an integer"),
    ],
)
def test_mistakes_are_named_with_the_remedy(objects, options, says):
    with pytest.raises(ic.BadInputError, match=says):
        ic.anonymize(objects["transactions"], objects["taxonomy"], **options)


def test_numbers_of_numpy_are_numbers(objects):
    release = ic.anonymize(
        objects["transactions"], objects["taxonomy"], k=np.int64(5), seed=np.int64(1), method="flock"
    )
    assert release.claim.k == 5
    assert release.manifest()


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_show_themselves(objects, name):
    shown = repr(objects[name])
    assert "object at 0x" not in shown
    assert "\n" not in shown
    assert len(shown) < 400
    assert any(letter.isdigit() for letter in shown)


def test_originals_show_no_item(objects):
    for name in ("log", "transactions", "taxonomy"):
        value = objects[name]
        assert "zorblax" not in repr(value) + str(value) + value._repr_html_()


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_show_themselves_in_a_notebook(objects, name):
    html = objects[name]._repr_html_()
    assert html.startswith("<p>")
    assert html.endswith("</table>")
    assert html.count("<tr>") == html.count("</tr>") > 0


def test_a_release_shows_what_it_publishes_and_no_more(objects):
    release = objects["release"]
    html = release._repr_html_()
    assert release.claim.in_words in html
    assert "beer0" in html
    assert "zorblax" in html
    assert f"{release.losses.ncp:.2%}" in html
    assert "fewer than 5" in html  # how many are withheld is not published where they are few


def test_what_is_shown_is_escaped():
    rows = [["<b>"]] * 25 + [["a&b"]] * 25
    release = ic.anonymize(rows, k=2, seed=1)
    assert "<b>" not in release._repr_html_()
    assert "&lt;b&gt;" in release._repr_html_()


def test_a_claim_is_its_sentence(objects):
    assert str(objects["claim"]) == objects["claim"].in_words


def test_errors_are_of_one_family():
    assert issubclass(ic.BadInputError, ic.IncrowdError)
    assert issubclass(ic.ClaimError, ic.IncrowdError)
    assert issubclass(ic.BadInputError, ValueError)


def public_names():
    """Return the names that the package offers, as its type checker reads them."""
    tree = ast.parse(Path(incrowd.__file__).read_text(encoding="utf-8"))
    lists = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
    ]
    return ast.literal_eval(lists[0].value)


def test_every_public_name_is_there():
    names = public_names()
    assert set(names) == set(incrowd._HOME)
    assert all(getattr(incrowd, name) is not None for name in names)
    assert set(names) <= set(dir(incrowd))
    with pytest.raises(AttributeError, match="anonymise"):
        _ = incrowd.anonymise


def test_public_things_are_documented():
    public = {name: getattr(incrowd, name) for name in public_names()}
    assert [name for name, value in public.items() if callable(value) and not value.__doc__] == []


def test_help_fits_on_two_screens_and_names_everything():
    text = pydoc.plain(pydoc.render_doc(incrowd))
    assert len(text.splitlines()) <= 100
    assert [
        name for name in public_names() if not re.search(rf"\b{name}\b", incrowd.__doc__ + "__version__")
    ] == []
