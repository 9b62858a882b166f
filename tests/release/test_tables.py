"""Tables of a release: equal to a naive recount, bounded by the truth, made from its files alone, written atomically."""

from __future__ import annotations

import csv
import json
import math
import random
import shutil
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from cli.helpers import call
from incrowd.core.kinds import kind_of, text_of, typed
from incrowd.core.rounding import about
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError
from incrowd.release.files.tiles import Tile
from incrowd.release.tables import pairs as pairs_module
from incrowd.release.tables.made import Tables, is_tables
from incrowd.release.tables.of_tiles import tables_of_tiles
from incrowd.release.tables.pairs import largest_products
from incrowd.release.tables.sets import Counting, TileSets

K = 2
LABELS = [
    *((word, True) for word in "abcdef"),
    ("vowel", False),
    *((typed("url", site), True) for site in ("x.org", "y.org", "z.org")),
    *((typed("week", week), True) for week in ("2006-W10", "2006-W11")),
]


@st.composite
def some_tiles(draw):
    """Distinct tiles in order, with any numbers, and how they were counted."""
    contents = draw(st.sets(st.frozensets(st.sampled_from(LABELS), min_size=1, max_size=4), max_size=12))
    cap = draw(st.integers(1, 4))
    one_each = draw(st.booleans())
    tiles = []
    for labels in sorted(tuple(sorted(content)) for content in contents):
        people = draw(st.integers(K, 30))
        units = people if one_each else draw(st.integers(people, cap * people))
        tiles.append(Tile(labels, people, units))
    unit = "user" if one_each else draw(st.sampled_from(["session:1800", "query", "week"]))
    total = sum(tile.units for tile in tiles) + draw(st.integers(20, 500))
    return (
        tiles,
        Counting(about(total), unit, K, cap, draw(st.booleans()), one_each),
        draw(st.integers(1, 12)),
    )


def with_all(tiles, *labels):
    return [tile for tile in tiles if set(labels) <= set(tile.labels)]


def units_of(tiles):
    return sum(tile.units for tile in tiles)


def slack(counting):
    return 4 if counting.is_rounded else 0


def certain_units(tile, counting):
    """At least and at most so many units hold a tile."""
    low = max(K, tile.units - slack(counting))
    nobody_at_cap = tile.units - tile.people < counting.cap - 1 and not counting.is_rounded
    known = counting.one_each or nobody_at_cap
    return low, tile.units + slack(counting) if known else counting.most_units


def naive_bounds(tiles, counting, *labels):
    """Lower and upper numbers of units and people that have all of one or two labels, and of the labels alone."""
    together = with_all(tiles, *labels)
    lowest = [max(K, tile.people - slack(counting)) for tile in together]
    upper = min(
        min(sum(certain_units(tile, counting)[1] for tile in with_all(tiles, label)), counting.most_units)
        for label in labels
    )
    people = min(
        min(sum(tile.people + slack(counting) for tile in with_all(tiles, label)), counting.most_units)
        for label in labels
    )
    low = sum(certain_units(tile, counting)[0] for tile in together)
    return low, upper, (sum if counting.one_each else max)(lowest or [0]), people


def naive_estimate(joint, one, other, among, step):
    number = max(among, 2, one, other)
    chance = Fraction(one * other, number)
    variance = chance * (number - one) * (number - other) / (number * (number - 1))
    variance += (chance / number) ** 2 * Fraction(step * step, 12)
    return float(joint + chance), math.sqrt(variance)


def naive_total(tiles, counting):
    of_label = [units_of(with_all(tiles, label)) for label in LABELS]
    return max(counting.units_about, *of_label, 2)


def check_row(row, tiles, counting, pair, estimate):
    joint = units_of(with_all(tiles, *pair))
    assert row["joint"] == joint
    assert (row["estimate"], row["error"]) == pytest.approx(estimate, abs=0.006)
    bounds = tuple(row[name] for name in ("lower", "upper", "people_low", "people_high"))
    assert bounds == naive_bounds(tiles, counting, *pair)


def check_pairs(rows, names, made, candidates):
    """Check a table of pairs: the numbers of each row, which rows there are, and their order."""
    tiles, counting, top = made
    total, estimates = naive_total(tiles, counting), {}
    for pair in candidates:
        joint = units_of(with_all(tiles, *pair))
        rest = [units_of(with_all(tiles, label)) - joint for label in pair]
        if all(with_all(tiles, label) for label in pair):
            estimates[pair] = naive_estimate(joint, *rest, total, counting.step)
    listed = {}
    for row in rows:
        first, second = ((row[text], row[exact]) for text, exact in names)
        listed[first, second] = row
    spelled = {tuple((text_of(text), exact) for text, exact in pair): pair for pair in estimates}
    assert listed.keys() <= spelled.keys()
    assert len(listed) == len(rows)
    for key, row in listed.items():
        check_row(row, tiles, counting, spelled[key], estimates[spelled[key]])
    joined = {pair for pair in estimates if with_all(tiles, *pair)}
    assert joined <= {spelled[key] for key in listed}
    exact = [pair for pair in estimates if all(is_exact for _, is_exact in pair)]
    largest = sorted((estimates[pair][0] for pair in exact), reverse=True)[:top]
    found = sorted((estimates[spelled[key]][0] for key in listed if spelled[key] in exact), reverse=True)
    assert found[:top] == pytest.approx(largest, abs=0.006)
    by_chance = [key for key in listed if spelled[key] not in joined]
    assert all(listed[key]["estimate"] >= largest[-1] - 0.006 for key in by_chance)
    assert [row["estimate"] for row in rows] == sorted((row["estimate"] for row in rows), reverse=True)


def check_items(rows, tiles, counting):
    assert len(rows) == len({label for tile in tiles for label in tile.labels})
    for row in rows:
        kind = None if row["kind"] == "item" else row["kind"]
        label = (typed(kind, row["item"]) if kind else row["item"], row["exact"])
        mine = with_all(tiles, label)
        assert (row["tiles"], row["units"]) == (len(mine), units_of(mine))
        bounds = tuple(row[name] for name in ("lower", "upper", "people_low", "people_high"))
        assert bounds == naive_bounds(tiles, counting, label)


def check_trends(rows, tiles, counting, top):
    """Check items by week: each row, that joint ones are there, and that frequent items have all weeks."""
    total = naive_total(tiles, counting)
    words = [label for label in LABELS if kind_of(label[0]) is None and with_all(tiles, label)]
    weeks = [label for label in LABELS if kind_of(label[0]) == "week" and with_all(tiles, label)]
    listed = {(row["item"], row["exact"], row["period"]): row for row in rows}
    for (text, exact, period), row in listed.items():
        label, week = (text, exact), (typed("week", period), True)
        joint = units_of(with_all(tiles, label, week))
        told = sum(
            tile.units
            for tile in with_all(tiles, label)
            if any(kind_of(one) == "week" for one, _ in tile.labels)
        )
        left = units_of(with_all(tiles, week)) - joint
        rest, among, step = units_of(with_all(tiles, label)) - joint, total, counting.step
        if counting.unit != "user":
            rest = units_of(with_all(tiles, label)) - told
            among = sum(
                units_of(with_all(tiles, one)) - units_of(with_all(tiles, one, label)) for one in weeks
            )
            step = 0
        check_row(row, tiles, counting, (label, week), naive_estimate(joint, rest, left, among, step))
        assert row["kind"] == "week"
    joined = {
        (*word, text_of(week[0])) for word, week in product(words, weeks) if with_all(tiles, word, week)
    }
    assert joined <= listed.keys()
    least = sorted((units_of(with_all(tiles, word)) for word in words), reverse=True)[:top][-1]
    for word in words:
        if units_of(with_all(tiles, word)) > least:
            assert all((*word, text_of(week[0])) in listed for week in weeks)


@settings(max_examples=150, deadline=None)
@given(some_tiles())
def test_tables_are_what_a_naive_recount_finds(made):
    tiles, counting, top = made
    found = tables_of_tiles(TileSets.of(tiles, counting), top)
    rows = {name: table.to_pylist() for name, table in found.items()}
    kinds = {kind_of(text) for tile in tiles for text, _ in tile.labels}
    others = {name for name, kind in (("item_url", "url"), ("trends", "week")) if kind in kinds}
    assert rows.keys() == {"items", "pairs"} | others
    check_items(rows["items"], tiles, counting)
    words = sorted(label for label in LABELS if kind_of(label[0]) is None)
    names = (("item_a", "exact_a"), ("item_b", "exact_b"))
    check_pairs(rows["pairs"], names, made, list(combinations(words, 2)))
    if "url" in kinds:
        sites = [label for label in LABELS if kind_of(label[0]) == "url"]
        names = (("item", "exact"), ("url", "url_exact"))
        check_pairs(rows["item_url"], names, made, list(product(words, sites)))
    if "trends" in rows and kinds > {"week"} and None in kinds:
        check_trends(rows["trends"], tiles, counting, top)


@settings(max_examples=100, deadline=None)
@given(some_tiles(), st.integers(1, 3))
def test_pairs_without_a_common_tile_are_found_behind_any_number_of_those_with_one(made, most):
    tiles, counting, _ = made
    sets = TileSets.of(tiles, counting)
    units = {label: units_of(with_all(tiles, label)) for label in sets.labels}
    for kind in ("item", "url"):
        ends = sets.of_kind("item"), sets.of_kind(kind)
        first, second = pairs_module.without_joined(sets, *ends, pairs_module.joined_pairs(sets), most)
        found = [(sets.labels[a], sets.labels[b]) for a, b in zip(first, second, strict=True)]
        words, others = ([sets.labels[place] for place in np.flatnonzero(end)] for end in ends)
        every = combinations(words, 2) if kind == "item" else product(words, others)
        apart = [pair for pair in every if not with_all(tiles, *pair)]
        assert {frozenset(pair) for pair in found} <= {frozenset(pair) for pair in apart}
        largest = sorted((units[a] * units[b] for a, b in apart), reverse=True)[:most]
        assert [units[a] * units[b] for a, b in found] == largest


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.lists(st.integers(1, 9), min_size=1, max_size=9),
    st.integers(1, 90),
    st.booleans(),
)
def test_the_largest_products(one, other, most, same):
    one, other = sorted(one, reverse=True), sorted(one if same else other, reverse=True)
    places = [(i, j) for i in range(len(one)) for j in range(len(other)) if i < j or not same]
    found = list(
        zip(
            *(side.tolist() for side in largest_products(np.array(one), np.array(other), most, same=same)),
            strict=True,
        )
    )
    assert set(found) <= set(places)
    assert len(set(found)) == len(found) == min(most, len(places))
    best = sorted((one[i] * other[j] for i, j in places), reverse=True)[:most]
    assert sorted((one[i] * other[j] for i, j in found), reverse=True) == best


def test_the_estimates_of_all_weeks_make_up_an_item():
    """Sessions are of one week: what a tile says is kept, and the rest is spread as the weeks are."""
    weeks = [(typed("week", f"2006-W{week}"), True) for week in (10, 11, 12)]
    tiles = [Tile((week,), 50 * n, 100 * n) for n, week in enumerate(weeks, 1)]
    tiles += [Tile((("wine", True),), 40, 60), Tile((weeks[0], ("wine", True)), 20, 30)]
    sets = TileSets.of(
        sorted(Tile(tuple(sorted(tile.labels)), *tile[1:]) for tile in tiles),
        Counting(5_000, "session:1800", 5, 3, is_rounded=False, one_each=False),
    )
    rows = tables_of_tiles(sets, 10)["trends"].to_pylist()
    assert [(row["period"], row["joint"], row["estimate"]) for row in rows] == [
        ("2006-W10", 30, 40),
        ("2006-W11", 0, 20),
        ("2006-W12", 0, 30),
    ]


def test_pairs_are_counted_in_parts(monkeypatch):
    dice = random.Random(3)
    words = [(f"w{i}", True) for i in range(12)]
    tiles = [
        Tile(tuple(sorted(dice.sample(words, dice.randint(1, 6)))), 9, dice.randint(9, 27)) for _ in range(60)
    ]
    sets = TileSets.of(tiles, Counting(5_000, "session:1800", 5, 3, is_rounded=False, one_each=False))
    whole = pairs_module.joined_pairs(sets)
    for at_once in (1, 7, 50):
        monkeypatch.setattr(pairs_module, "PAIRS_AT_ONCE", at_once)
        for column, other in zip(whole, pairs_module.joined_pairs(sets), strict=True):
            assert column.tolist() == other.tolist()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release of sessions of people who repeat themselves, and its directory."""
    dice = random.Random(5)
    sets = [["wine", "rome"], ["beer", "bonn", "dog"], ["tea", "cat"], ["oslo", "dog", "lima"]]
    rows, people = [], []
    for person in range(60):
        for _ in range(dice.choice([1, 1, 2, 9])):
            rows.append(sorted({*dice.choice(sets), dice.choice(dice.choice(sets))}))
            people.append(f"p{person}")
    data = Transactions.from_rows(rows, owners=people, people=people)
    release = ic.anonymize(data, "balanced:5", k=3, method="mosaic", seed=7)
    path = tmp_path_factory.mktemp("made") / "release"
    release.write(path)
    return release, path, list(zip(rows, people, strict=True))


def test_bounds_hold_although_a_person_counts_a_few_times(made):
    release, path, rows = made
    assert any(release.tiles.units < np.bincount(release.tiles.held))  # the cap does bite
    units, people = Counter(), {}
    for items, person in rows:
        for wanted in [*((item, item) for item in items), *combinations(items, 2)]:
            units[wanted] += 1
            people.setdefault(wanted, set()).add(person)
    found = ic.tables(path)
    checked = 0
    for table, names in (("items", ("item", "item")), ("pairs", ("item_a", "item_b"))):
        for row in found[table].table().to_pylist():
            wanted = tuple(row[name] for name in names)
            if units[wanted]:
                assert row["lower"] <= units[wanted] <= row["upper"]
                assert row["people_low"] <= len(people[wanted]) <= row["people_high"]
                checked += 1
    assert checked > 20
    assert (
        found["items"].table()["upper"].to_pylist()[0] == about(len(rows)) + 5
    )  # nobody says how many at most


def test_the_pairs_that_measures_of_use_take_are_there(made):
    """Measures of use find frequent pairs in their own way, with the same estimate, but with all digits of N."""
    release, path, rows = made
    data = release.transactions
    from incrowd.metrics.published import PublishedSets, exact_sets  # noqa: PLC0415
    from incrowd.metrics.together import FromPieces, estimated_units  # noqa: PLC0415
    from incrowd.metrics.top_pairs import top_pairs  # noqa: PLC0415

    tiles, tree = release.tiles, release.taxonomy
    published = PublishedSets.of(tiles.start, tiles.nodes, tiles.units)
    read = FromPieces(exact_sets(published, tree), estimated_units(published, tree), about(len(rows)))
    found = top_pairs(read, 20)
    words = np.array(tree.labels_of(tree.leaf_nodes).to_pylist())
    listed = {
        (row["item_a"], row["item_b"]): row["estimate"]
        for row in ic.tables(path, top=20)["pairs"].table().to_pylist()
    }
    assert len(data) == len(rows)
    for first, second, units in zip(*found, strict=True):
        assert listed[tuple(sorted((words[first], words[second])))] == pytest.approx(units, abs=0.006)


def test_tables_depend_on_the_files_of_the_release_alone(made, tmp_path):
    _, path, _ = made
    alone = tmp_path / "elsewhere" / "another name"
    shutil.copytree(path, alone)
    ic.tables(path).write(tmp_path / "one")
    ran = call("tables", alone, "--out", tmp_path / "two")
    assert ran.code == 0, ran.err
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two")
    )
    assert one == two
    assert one.keys() == {"README.md", "items.csv", "items.parquet", "pairs.csv", "pairs.parquet"}


def test_the_command_line_shows_writes_and_refuses(made, tmp_path):
    _, path, _ = made
    out = tmp_path / "tables"
    ran = call("tables", path, "--out", out, "--write", "parquet", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["tables"]["items"]["files"] == [str(out / "items.parquet")]
    assert ran.json["tables"]["pairs"]["rows"] == pq.read_table(out / "pairs.parquet").num_rows
    again = call("tables", path, "--out", out)
    assert (again.code, "exists" in again.err) == (2, True)
    shown = call("tables", path, "--out", out, "--force")
    assert shown.code == 0, shown.err
    assert "items: Every published label" in shown.out
    assert "A person counts at most 3 times" in shown.out
    for wrong, word in (
        (("--write", "xlsx"), "parquet, csv"),
        (("--top", 0), "--top"),
        (("--write", ","), "write must"),
    ):
        refused = call("tables", path, "--out", tmp_path / "no", *wrong)
        assert (refused.code, word in refused.err, len(refused.err.splitlines())) == (2, True, 1)
    inside = call("tables", path, "--out", path / "tables")
    assert (inside.code, "inside the release" in inside.err) == (2, True)
    assert not (tmp_path / "no").exists()


def test_force_replaces_tables_and_nothing_else(made, tmp_path):
    _, path, _ = made
    found = ic.tables(path)
    found.write(tmp_path / "tables")
    assert is_tables(tmp_path / "tables")
    found.write(tmp_path / "tables", force=True)
    for stranger in (tmp_path / "tables/mine.csv", tmp_path / "tables/mine"):
        stranger.mkdir()
        assert not is_tables(tmp_path / "tables")
        stranger.rmdir()
    (tmp_path / "tables/notes.txt").write_text("mine")
    with pytest.raises(BadInputError, match="was not written by incrowd"):
        found.write(tmp_path / "tables", force=True)
    assert (tmp_path / "tables/notes.txt").read_text() == "mine"


def test_every_column_is_explained(made):
    _, path, _ = made
    found = ic.tables(path)
    for name, table in found.items():
        assert f"## {name}" in found.readme
        for column, note in table.notes.items():
            assert note.endswith(".")
            assert f"| `{column}` | {note} |" in found.readme
    assert repr(found) == f"Tables(items: {len(found['items'])} rows, pairs: {len(found['pairs'])} rows)"
    assert "dog" not in repr(found) + repr(found["pairs"])


def test_a_class_never_looks_like_a_word_in_csv_and_no_cell_runs(tmp_path):
    tiles = [Tile((("=1+1", True), ("dog", False)), 5, 5), Tile((("dog", True),), 5, 5)]
    sets = TileSets.of(tiles, Counting(100, "user", 5, 3, is_rounded=False, one_each=True))
    Tables(tables_of_tiles(sets, 10), "", []).write(tmp_path / "out")
    with (tmp_path / "out/items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["item"], row["exact"]) for row in rows} == {
        ("'=1+1", "true"),
        (
            "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}dog\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
            "false",
        ),
        ("dog", "true"),
    }
    assert set(pq.read_table(tmp_path / "out/items.parquet")["item"].to_pylist()) == {"=1+1", "dog"}


@pytest.mark.parametrize("damage", ["missing", "garbled", "columns", "nulls", "numbers", "empty"])
def test_what_is_no_release_is_refused_in_a_line(made, tmp_path, damage):
    _, path, _ = made
    shutil.copytree(path, tmp_path / "release")
    file = tmp_path / "release/tiles.parquet"
    table = pq.read_table(file)
    if damage == "missing":
        file.unlink()
    elif damage == "garbled":
        file.write_bytes(b"no parquet")
    else:
        wrong = {
            "columns": table.drop_columns(["exact"]),
            "nulls": table.set_column(2, "people", pa.array([None] * len(table), pa.int64())),
            "numbers": table.set_column(3, "units", pa.array([-1] * len(table), pa.int64())),
            "empty": table.set_column(0, "items", pa.array([[]] * len(table), pa.list_(pa.string()))),
        }[damage]
        pq.write_table(wrong, file)
    ran = call("tables", tmp_path / "release", "--out", tmp_path / "out")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "tiles.parquet is missing or damaged" in ran.err
    assert not (tmp_path / "out").exists()


def test_other_directories_are_refused(tmp_path):
    ran = call("tables", tmp_path, "--out", tmp_path / "out")
    assert (ran.code, "is not a release" in ran.err) == (2, True)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "incrowd-tiles/2"}))
    with pytest.raises(BadInputError, match="older format"):
        ic.tables(tmp_path)
    with pytest.raises(BadInputError, match="top must be at least 1"):
        ic.tables(tmp_path, top=0)


def test_records_are_counted_as_they_are_published(tmp_path):
    dice = random.Random(2)
    rows = [dice.choices("abcdefgh", k=dice.randint(1, 5)) for _ in range(80)]
    release = ic.anonymize(Transactions.from_rows(rows), "balanced:3", k=4, method="flock")
    release.write(tmp_path / "release")
    units, times, joint = Counter(), Counter(), Counter()
    for row in release.table().to_pylist():
        labels = list(zip(row["items"], row["exact"], strict=True))
        units.update(labels)
        times.update(dict(zip(labels, row["counts"], strict=True)))
        joint.update(combinations(labels, 2))
    found = ic.tables(tmp_path / "release")
    items = found["items"].table().to_pylist()
    assert {(row["item"], row["exact"]): (row["units"], row["occurrences"]) for row in items} == {
        label: (units[label], times[label]) for label in units
    }
    pairs = found["pairs"].table().to_pylist()
    assert {
        ((row["item_a"], row["exact_a"]), (row["item_b"], row["exact_b"])): row["joint"] for row in pairs
    } == joint
    assert [row["joint"] for row in ic.tables(tmp_path / "release", top=2)["pairs"].table().to_pylist()] == [
        number for _, number in joint.most_common(2)
    ]
    assert "published records say both" in found.readme
    (tmp_path / "release/records.parquet").write_bytes(b"")
    with pytest.raises(BadInputError, match=r"records\.parquet is missing or damaged"):
        ic.tables(tmp_path / "release")


def test_a_noisy_list_has_items_alone(tmp_path):
    log = tmp_path / "log.csv"
    lines = [f"p{person},{query}" for person in range(300) for query in ("wine", "rome")]
    log.write_text("\n".join(["user,query", *lines]) + "\n")
    options = (
        "--method",
        "korolova",
        "--unit",
        "user",
        "--set",
        "d=2",
        "--set",
        "eps=10",
        "--set",
        "delta=0.001",
    )
    ran = call("anonymize", log, "--out", tmp_path / "release", *options)
    assert ran.code == 0, ran.err
    found = ic.tables(tmp_path / "release")
    assert list(found) == ["items"]
    rows = pq.read_table(tmp_path / "release/queries.parquet").to_pylist()
    assert {row["item"]: row["noisy_count"] for row in found["items"].table().to_pylist()} == {
        row["query"]: row["count"] for row in rows
    }
    (tmp_path / "release/queries.parquet").unlink()
    with pytest.raises(BadInputError, match=r"queries\.parquet is missing or damaged"):
        ic.tables(tmp_path / "release")
