"""Lists of categories in the form in which shops publish them; the categories are made up."""

from __future__ import annotations

import time

import pytest

from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.taxonomy import attach, read_taxonomy
from incrowd.taxonomy.check import check_file

PLAIN = """# Made_Up_Taxonomy_Version: 2026-01-31
Boats & Rafts
Boats & Rafts > Canoes
Boats & Rafts > Canoes > Accessories
Boats & Rafts > Canoes > Paddles - Oars
Garden/Yard
Garden/Yard > Rakes
Garden/Yard > Rakes > Accessories
"""
PATHS = [line for line in PLAIN.splitlines() if not line.startswith("#")]
HEAD = "# Made Up Taxonomy - Categories: 2026-01\n# Format: {ID} : {Ancestor} > ... > {Category}\n\n"


def with_ids(between: str, prefix: str = "") -> str:
    return HEAD + "".join(f"{prefix}{number}{between}{path}\n" for number, path in enumerate(PATHS, 11))


FORMS = {
    "plain": PLAIN,
    "dash": with_ids(" - "),
    "colon": with_ids(" : ", "gid://made-up/Category/x-"),
    "columns": HEAD + "".join(f"gid://made-up/x-{n:<6}: {path}\n" for n, path in enumerate(PATHS, 11)),
    "colon without a blank": with_ids(": "),
    "tab": with_ids("\t"),
    "tab after blanks": with_ids(" \t ", "No. "),
    "blanks": PLAIN.replace(" > ", "  >\u00a0 ").replace(" & ", "  & "),
    "no blanks": PLAIN.replace(" > ", ">"),
    "windows": "\ufeff" + with_ids(" - ").replace("\n", "\r\n"),
    "a slash first": "\n".join(sorted(PATHS, reverse=True)),
    "a path twice": PLAIN + PATHS[2],
    "leaves only": "\n".join(path for path in PATHS if path.count(">") == 2),
    "tops last": HEAD + "\n".join(sorted(PATHS, key=lambda path: -path.count(">"))),
}


@pytest.fixture
def written(tmp_path):
    """Write a text to a file called ``t`` and return it."""

    def write(text: str):
        (tmp_path / "t").write_bytes(text.encode())
        return tmp_path / "t"

    return write


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_tree(written, form):
    tree = read_taxonomy(written(FORMS[form]))
    labels = tree.labels.to_pylist()
    above = {
        label: labels[parent] if parent >= 0 else None
        for label, parent in zip(labels, tree.parent.tolist(), strict=True)
    }
    expected = {path: path.rpartition(" > ")[0] or "all categories" for path in PATHS}
    assert above == {"all categories": None} | expected
    assert check_file(str(written(FORMS[form])))["form"] == "categories"


def test_one_category_at_the_top_is_the_root(written):
    tree = read_taxonomy(written("Shop\nShop > Boats\nShop > Rakes\n"))
    assert tree.labels.to_pylist() == ["Shop", "Shop > Boats", "Shop > Rakes"]


def test_a_root_is_called_as_no_category_is(written):
    tree = read_taxonomy(written("all categories > Boats\nRakes > Hoes\n"))
    assert tree.labels[0].as_py() == "all categories~"


def way_of(tree, item: str) -> list[str]:
    """Return the labels from an item's leaf up to the root."""
    tree = attach(Transactions.from_rows([[item]]), tree).taxonomy
    node, way = tree.leaf_nodes[tree.item_leaf[0]], []
    while node >= 0:
        way.append(tree.labels[int(node)].as_py())
        node = tree.parent[node]
    return way


CANOES = ["Boats & Rafts > Canoes", "Boats & Rafts", "all categories"]
RAKES = ["Garden/Yard > Rakes", "Garden/Yard", "all categories"]


@pytest.mark.parametrize(
    ("item", "way"),
    [
        ("12", ["12", *CANOES]),
        ("Boats & Rafts > Canoes", ["Boats & Rafts > Canoes", *CANOES]),
        ("Boats & Rafts>Canoes", ["Boats & Rafts>Canoes", *CANOES]),
        ("Canoes", ["Canoes", *CANOES]),
        ("canoes", ["canoes", *CANOES]),
        ("BOATS & RAFTS > CANOES", ["BOATS & RAFTS > CANOES", *CANOES]),
        ("14", ["14", "Boats & Rafts > Canoes > Paddles - Oars", *CANOES]),
        ("Garden/Yard > Rakes > Accessories", ["Garden/Yard > Rakes > Accessories", *RAKES]),
        ("17", ["17", "Garden/Yard > Rakes > Accessories", *RAKES]),
    ],
)
def test_an_item_is_found_by_id_by_path_or_by_name_and_stays_itself(written, item, way):
    assert way_of(read_taxonomy(written(FORMS["dash"])), item) == way


def test_ids_come_before_paths_and_paths_before_names(written):
    tree = read_taxonomy(written("1 - Boats\n2 - Boats > 1\n3 - Boats > Rafts\n4 - Rafts\n"))
    assert way_of(tree, "1")[:2] == ["1", "Boats"]
    assert way_of(tree, "Rafts")[:2] == ["Rafts", "all categories"]


def test_a_path_with_two_ids_is_one_node(written):
    tree = read_taxonomy(written("1 - Boats\n2 - Boats > Rafts\n3 - Boats > Rafts\n3 - Boats > Rafts\n"))
    assert len(tree) == 2
    assert way_of(tree, "2")[1:] == way_of(tree, "3")[1:] == ["Boats > Rafts", "Boats"]


def test_a_name_of_several_nodes_is_no_guess(written):
    tree = read_taxonomy(written(FORMS["dash"]))
    for item in ("Accessories", "accessories"):
        with pytest.raises(
            BadInputError, match=r"lacks 1 of the 1 items \(1 of them name several nodes: give ids "
        ):
            way_of(tree, item)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "1 - A\n2 - A > B\n2 - A > C\n",
            "line 3 (first on line 2): the id has another path already; rename it",
        ),
        ("1 - A\nA > B\n3 - A > C\n", "line 2: no id in front of the path, as most lines have; add it"),
        ("1 - A\n2 - A > > B\n", "line 2: a path with an empty step"),
        ("# x\nA > B\nA >\n", "line 3: a path with an empty step"),
        (
            "C - A\n2 - A > B\n3 - C > D\n",
            "line 1: the id is the path of another category; rename one of them",
        ),
    ],
)
def test_problems_name_their_lines(written, lines, says):
    with pytest.raises(BadInputError) as caught:
        read_taxonomy(written(lines))
    assert str(caught.value) == f"taxonomy t: {says}"


def test_twenty_thousand_categories_are_read_at_once(written):
    lines = [
        f"{top * 1000 + sub} - Top {top} > Middle {sub % 31} > Sub {sub}"
        for top in range(20)
        for sub in range(1000)
    ]
    path = written("\n".join(lines))
    before = time.process_time()
    tree = read_taxonomy(path)
    assert time.process_time() - before < 1
    assert tree.leaf_count == 20_000
