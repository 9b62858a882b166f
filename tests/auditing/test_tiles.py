"""The audit of tiles: what was written is confirmed, and every forgery is found, also by one who derives all the rest around it."""

from __future__ import annotations

import csv
import json
import random
import shutil
from dataclasses import replace
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.auditing.tile_holders import TileOriginals
from incrowd.auditing.tiles import audit_tiles
from incrowd.core.activity import DAY, Activity
from incrowd.core.promises import read_settings
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, ClaimError
from incrowd.release.files.tile_page import tile_page
from incrowd.release.files.tiles import (
    Tile,
    TileCounts,
    TileManifest,
    tile_manifest,
    tiles_schema,
    write_tiles,
)
from incrowd.taxonomy import attach
from strategies import taxonomy_of

K = 3
CHILDREN = {
    "thing": ["drink", "animal", "place"],
    "drink": ["wine", "beer", "tea", "cocoa", "juice"],
    "animal": ["dog", "cat", "newt", "toad", "moth"],
    "place": ["rome", "oslo", "lima", "bonn", "graz"],
}
RARE = ["newt", "toad", "moth", "cocoa", "juice"]


def log(seed: int = 1, people: int = 60) -> Transactions:
    """People with one to four units; each rare item is one or two people's, and published as the class above it."""
    dice = random.Random(seed)
    common = [["wine", "rome"], ["beer", "bonn", "dog"], ["tea", "cat"], ["oslo", "dog", "lima"]]
    rows, person = [], []
    for one in range(people):
        for _ in range(dice.choice([1, 1, 2, 4])):
            items = {item for item in dice.choice(common) if dice.random() < 0.85} | {
                dice.choice(list(chain(*common)))
            }
            if one < 2 * len(RARE):
                items.add(RARE[one % len(RARE)])
            rows.append(sorted(items))
            person.append(f"p{one}")
    return Transactions.from_rows(rows, owners=person, people=person)


@pytest.fixture(scope="module")
def made():
    tree = {
        **CHILDREN,
        **{leaf: [] for leaves in CHILDREN.values() for leaf in leaves if leaf not in CHILDREN},
    }
    data, taxonomy, *_ = attach(log(), taxonomy_of(tree))
    return ic.anonymize(data, taxonomy, k=K, method="mosaic", coarsest=0.5, seed=7)


@pytest.fixture(scope="module")
def written(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "release"
    assert made.write(path).confirmed
    return path


@pytest.fixture
def copy(written, tmp_path) -> Path:
    shutil.copytree(written, tmp_path / "release")
    return tmp_path / "release"


def read(path: Path) -> list[Tile]:
    rows = pq.read_table(path / "tiles.parquet").to_pylist()
    return [
        Tile(
            tuple(zip(row["items"], row["exact"], strict=True)),
            row["people"],
            row["units"],
            tuple(row["order"]),
        )
        for row in rows
    ]


def derive(path: Path, tiles: list[Tile], **parameters) -> None:
    """Write tiles, and everything else as the product would around them."""
    said = msgspec.json.decode((path / "manifest.json").read_bytes(), type=TileManifest)
    settings = read_settings("mosaic", {**said.parameters, "seed": 0, **parameters})
    write_tiles(path / "tiles.parquet", tiles)
    manifest = tile_manifest(
        settings, said.claim.claim, TileCounts.of(tiles, said.counts.units_about), said.use
    )
    (path / "manifest.json").write_text(manifest.text(), encoding="utf-8")
    (path / "report.html").write_text(tile_page(manifest, tiles), encoding="utf-8")


def said_of(path: Path) -> dict:
    return json.loads((path / "manifest.json").read_text(encoding="utf-8"))


def say(path: Path, said: dict) -> None:
    (path / "manifest.json").write_text(
        json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def problems(path: Path, **known) -> str:
    return " | ".join(audit_tiles(path, **known).problems)


def test_what_was_written_is_confirmed(made, written):
    tiles = read(written)
    assert any(len(tile.labels) > 1 for tile in tiles)
    assert any(not exact for tile in tiles for _, exact in tile.labels)
    result = audit_tiles(written, originals=made.originals)
    assert (result.holds, result.confirmed, result.people_min) == (True, True, min(t.people for t in tiles))
    alone = audit_tiles(written)
    assert (alone.problems, alone.confirmed) == ([], False)
    assert "private map" in alone.unproven[0]
    ran = call("audit", written, "--json")
    assert (ran.code, ran.json["problems"]) == (0, [])
    assert "7" not in json.dumps(said_of(written)["parameters"])
    assert "seed" not in (written / "manifest.json").read_text()


def test_a_release_derived_again_is_the_same(copy, written):
    derive(copy, read(copy))
    assert all((copy / file.name).read_bytes() == file.read_bytes() for file in written.iterdir())
    assert not problems(copy)


def changed(tiles: list[Tile], place: int, **change) -> list[Tile]:
    return [tile._replace(**change) if i == place else tile for i, tile in enumerate(tiles)]


def test_a_tile_of_too_few_people(copy):
    tiles = read(copy)
    derive(copy, changed(tiles, 0, people=K - 1, units=K - 1))
    assert f"1 tiles are held by fewer than {K} people" in problems(copy)


@pytest.mark.parametrize("k", [2, 4])
def test_another_k(copy, k):
    said = said_of(copy)
    said["parameters"]["k"] = k
    say(copy, said)
    assert "claims something else" in problems(copy)


def test_units_that_cannot_be(copy):
    tiles = read(copy)
    for units in (tiles[0].people - 1, 3 * tiles[0].people + 1):
        derive(copy, changed(tiles, 0, units=units))
        assert "fewer units than people, or too many" in problems(copy)


def test_units_that_are_not_the_originals(copy, made):
    tiles = read(copy)
    place = next(i for i, tile in enumerate(tiles) if tile.units > tile.people)
    derive(copy, changed(tiles, place, units=tiles[place].people))
    assert not problems(copy)
    assert "other numbers than were counted" in problems(copy, originals=made.originals)


def say_units(path: Path, number: int) -> None:
    """Say another number of units, in all files that follow from it."""
    said = msgspec.json.decode((path / "manifest.json").read_bytes(), type=TileManifest)
    counts = msgspec.structs.replace(said.counts, units_about=number)
    manifest = msgspec.structs.replace(said, counts=counts)
    (path / "manifest.json").write_text(manifest.text(), encoding="utf-8")
    (path / "report.html").write_text(tile_page(manifest, read(path)), encoding="utf-8")


def test_the_number_of_units_is_rounded_and_no_other(copy, made):
    units, said = len(made.transactions), said_of(copy)["counts"]["units_about"]
    assert said == 10 * round(units / 10) != units  # two digits of three
    assert "about how many units" in " ".join(audit_tiles(copy).unchecked)
    assert not problems(copy, originals=made.originals)
    say_units(copy, said + 10)
    assert not problems(copy)
    assert "another number of units" in problems(copy, originals=made.originals)
    say_units(copy, units)  # exact: no release may say so
    assert "manifest.json is not the one of" in problems(copy)
    say_units(copy, 10)
    assert "of fewer units than tiles hold" in problems(copy)


def test_tiles_and_labels_out_of_order_or_twice(copy):
    tiles = read(copy)
    large = next(i for i, tile in enumerate(tiles) if len(tile.labels) > 1)
    backwards = changed(tiles, large, labels=tiles[large].labels[::-1])
    for forged in ([tiles[1], tiles[0], *tiles[2:]], [tiles[0], *tiles], backwards):
        derive(copy, forged)
        assert "out of order or twice" in problems(copy)


def test_a_tile_without_a_label(copy):
    derive(copy, [Tile((), 9, 9), *read(copy)])
    assert "a tile without a label" in problems(copy)


def test_another_column_or_notes_in_the_schema(copy):
    table = pq.read_table(copy / "tiles.parquet")
    pq.write_table(table.append_column("who", pa.array(["x"] * len(table))), copy / "tiles.parquet")
    assert "other columns" in problems(copy)
    pq.write_table(table.replace_schema_metadata({"note": "to whom it belongs"}), copy / "tiles.parquet")
    assert "other columns" in problems(copy)
    field = tiles_schema().field("people").with_metadata({"note": "x"})
    noted = table.cast(tiles_schema().set(2, field))
    pq.write_table(noted, copy / "tiles.parquet")
    assert problems(copy)
    pq.write_table(table.cast(tiles_schema()), copy / "tiles.parquet", row_group_size=1)
    assert "bytes that are no part" in problems(copy)


def test_missing_values(copy):
    rows = pq.read_table(copy / "tiles.parquet").to_pylist()
    for name, value in (("items", None), ("people", None), ("items", [None] * len(rows[0]["items"]))):
        forged = [{**rows[0], name: value}, *rows[1:]]
        pq.write_table(pa.Table.from_pylist(forged, tiles_schema()), copy / "tiles.parquet")
        assert problems(copy)


@pytest.mark.parametrize("name", ["tiles.parquet", "taxonomy.parquet", "manifest.json", "report.html"])
def test_bytes_at_the_end(copy, name):
    with (copy / name).open("ab") as file:
        file.write(b" ")
    assert problems(copy)


@pytest.mark.parametrize("name", ["tiles.parquet", "taxonomy.parquet"])
def test_bytes_within(copy, name):
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes(whole[:4] + b"hidden" + whole[4:])
    assert problems(copy)
    (copy / name).unlink()
    assert problems(copy)


def test_a_label_above_another(copy):
    tiles = read(copy)
    above, below = ("animal", False), ("dog", True)
    assert all(any(label in tile.labels for tile in tiles) for label in (above, below))
    derive(copy, sorted([*tiles, Tile((above, below), K, K)]))
    assert "1 tiles hold a label and one above it" in problems(copy)


def test_a_label_that_is_no_node(copy):
    derive(copy, sorted([*read(copy), Tile((("zebra", True),), 9, 9)]))
    assert problems(copy)


def test_a_sure_sign(copy):
    tiles = read(copy)
    single = next(tile for tile in tiles if tile.labels == (("wine", True),))
    pairs = [tile for tile in tiles if ("wine", True) in tile.labels and len(tile.labels) > 1]
    assert pairs
    derive(copy, sorted([*(tile for tile in tiles if tile not in pairs and tile != single), pairs[0]]))
    assert "too sure a sign" in problems(copy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kind", "k-anonymity"),
        ("k", 50),
        ("in_words", "Nobody can be found."),
        ("unit", "user"),
        ("not_promised", []),
    ],
)
def test_another_claim(copy, name, value):
    said = said_of(copy)
    said["claim"][name] = value
    say(copy, said)
    assert "claims something else" in problems(copy) or "manifest.json is not the one" in problems(copy)


@pytest.mark.parametrize("where", [(), ("versions",), ("claim",), ("counts",), ("use",)])
def test_another_key_in_the_manifest(copy, where):
    said = part = said_of(copy)
    for name in where:
        part = part[name]
    part["note"] = "p1 has newt"
    say(copy, said)
    with pytest.raises(ClaimError, match="damaged"):
        audit_tiles(copy)
    ran = call("audit", copy, "--json")
    assert ran.code == 1
    assert "newt" not in ran.out + ran.err


def test_a_seed_or_another_parameter_in_the_manifest(copy):
    for name in ("seed", "note", "items"):
        said = said_of(copy)
        said["parameters"][name] = 7
        say(copy, said)
        ran = call("audit", copy, "--json")
        assert ran.code == 1, name
        assert "internal" not in ran.err


@pytest.mark.parametrize("name", ["cap", "longest", "aged"])
def test_a_limit_that_no_number_reaches(copy, name):
    said = said_of(copy)
    said["parameters"][name] = 10**30
    say(copy, said)
    ran = call("audit", copy, "--json")
    assert (ran.code, "internal" in ran.err) == (1, False)
    assert f"parameters are not those of method mosaic ('{name}')" in ran.out + ran.err


def test_other_versions(copy):
    said = said_of(copy)
    said["versions"]["incrowd"] = "0.0.1"
    say(copy, said)
    ran = call("audit", copy, "--json")
    assert ran.code == 1
    assert "internal" not in ran.err


@pytest.mark.parametrize(
    ("name", "value"),
    [("counts", {"tiles": 1}), ("counts", {"held": 9}), ("counts", {"people_min": 9}), ("account", ["1. x"])],
)
def test_other_counts_in_the_manifest(copy, name, value):
    said = said_of(copy)
    said[name] = {**said[name], **value} if isinstance(value, dict) else value
    say(copy, said)
    assert "manifest.json is not the one" in problems(copy)


def test_other_measures_of_use(copy, made):
    said = msgspec.json.decode((copy / "manifest.json").read_bytes(), type=TileManifest)
    use = msgspec.structs.replace(said.use, links_kept=0.9999)
    forged = msgspec.structs.replace(said, use=use)
    (copy / "manifest.json").write_text(forged.text(), encoding="utf-8")
    (copy / "report.html").write_text(tile_page(forged, read(copy)), encoding="utf-8")
    assert "measures of use" in problems(copy, originals=made.originals, measure=lambda _: said.use)


def test_measures_of_use_with_more_digits_than_may_leave(copy):
    said = said_of(copy)
    said["use"].update(pairs_error=0.1234567)
    say(copy, said)
    assert "measures of use have more digits than may leave" in problems(copy)


def test_another_file_or_a_link(copy):
    (copy / "owners.csv").write_text("p1,newt")
    assert "entries that are no part" in problems(copy)
    (copy / "owners.csv").unlink()
    (copy / "report.html").rename(copy.parent / "page")
    (copy / "report.html").symlink_to(copy.parent / "page")
    assert "is a link" in problems(copy)


def test_an_edited_report(copy):
    page = (copy / "report.html").read_text(encoding="utf-8")
    (copy / "report.html").write_text(page.replace("</body>", "<p>p1</p></body>"), encoding="utf-8")
    assert "report.html is not the one" in problems(copy)


def test_a_hidden_character(copy):
    old, new = "wine", "wi\u200bne"
    tiles = [
        tile._replace(labels=tuple(sorted((text.replace(old, new), exact) for text, exact in tile.labels)))
        for tile in read(copy)
    ]
    table = pq.read_table(copy / "taxonomy.parquet")
    rows = [{**row, "label": row["label"].replace(old, new)} for row in table.to_pylist()]
    write_taxonomy(copy / "taxonomy.parquet", pa.Table.from_pylist(rows, table.schema))
    derive(copy, sorted(tiles))
    assert "cannot be seen" in problems(copy)


def given(originals: TileOriginals, row: int, tile: int) -> TileOriginals:
    """Give a row one more tile."""
    start, held = originals.start.copy(), np.insert(originals.held, originals.start[row + 1], tile)
    start[row + 1 :] += 1
    return originals._replace(start=start, held=held)


def row_with(data: Transactions, has: str, lacks: str = "") -> int:
    return next(row for row in range(len(data)) if has in data.row(row) and lacks not in data.row(row))


def test_a_tile_given_to_somebody_who_lacks_the_item(made, written):
    tiles = read(written)
    wine = next(i for i, tile in enumerate(tiles) if tile.labels == (("wine", True),))
    row = row_with(made.transactions, "dog", "wine")
    found = problems(written, originals=given(made.originals, row, wine))
    assert "1 units hold tiles that are not true of them" in found


def test_an_item_spoken_for_twice(made, written):
    tiles = read(written)
    originals = made.originals
    row = next(
        row for row in range(len(made.transactions)) if originals.start[row + 1] > originals.start[row]
    )
    own = int(originals.held[originals.start[row]])
    assert "1 units hold tiles that are not true" in problems(written, originals=given(originals, row, own))
    animal = next(i for i, tile in enumerate(tiles) if tile.labels == (("animal", False),))
    row = next(
        row
        for row in range(len(made.transactions))
        if made.transactions.row(row).keys() & {"dog", "cat"}
        and not made.transactions.row(row).keys() & set(RARE)
        and len(made.transactions.row(row).keys() & {"dog", "cat"}) == 1
    )
    assert "1 units hold tiles that are not true" in problems(
        written, originals=given(originals, row, animal)
    )


def test_a_tile_that_one_person_holds_in_all_units(made, written):
    data = made.transactions
    one = replace(data, people=pa.array(["p0"] * len(data), pa.string()))
    found = problems(written, originals=made.originals._replace(transactions=one))
    assert f"are held by fewer than {K} people" in found


@pytest.mark.parametrize("counts", ["exact", "rounded"])
@pytest.mark.parametrize("effort", ["fast", "best"])
def test_all_kinds_of_releases_are_confirmed(tmp_path, counts, effort):
    data = log(3, people=40)
    tree = ic.balanced(data, 3)
    for confidence in (1.0, 0.8):
        release = ic.anonymize(
            data, tree, k=K, method="mosaic", counts=counts, effort=effort, confidence=confidence
        )
        where = tmp_path / f"release{confidence}"
        assert release.write(where, private_map=tmp_path / f"map{confidence}").confirmed
        assert call("audit", where).code == 0


def test_numbers_that_were_rounded_otherwise_are_found(tmp_path):
    data = log(3, people=40)
    release = ic.anonymize(data, ic.balanced(data, 3), k=K, method="mosaic", counts="rounded", seed=5)
    where = tmp_path / "release"
    assert release.write(where).confirmed
    honest = read(where)
    derive(where, [honest[0]._replace(people=honest[0].people + 1), *honest[1:]])
    assert "1 tiles have numbers that were not rounded" in problems(where)
    derive(where, [honest[0]._replace(units=honest[0].units + 5), *honest[1:]])
    assert problems(where) == ""
    assert "1 tiles have other numbers than were counted" in problems(where, originals=release.originals)
    without_seed = audit_tiles(where, originals=release.originals._replace(seed=None))
    assert "secret seed" in without_seed.unchecked[0]


def test_without_a_seed_one_is_drawn_that_nobody_can_guess(tmp_path):
    data = log(3, people=40)
    made = [ic.anonymize(data, ic.balanced(data, 3), k=K, method="mosaic") for _ in range(3)]
    seeds = [release.parameters["seed"] for release in made]
    assert len(set(seeds)) == 3
    assert min(seeds) > 2**40
    assert ic.anonymize(data, ic.balanced(data, 3), k=K, method="partition").parameters["seed"] == 0
    made[0].write(tmp_path / "release")
    everything = b"".join(path.read_bytes() for path in (tmp_path / "release").iterdir())
    assert str(seeds[0]).encode() not in everything


def test_accounts_of_too_few_days_are_not_counted(tmp_path):
    data = log(3, people=60)
    young = {f"p{i}" for i in range(0, 60, 5)}
    days = np.array([1 if person in young else 2 for person in data.people.to_pylist()], np.int32)
    data = replace(data, activity=Activity(days, 0, 20 * DAY))
    release = ic.anonymize(data, ic.balanced(data, 3), k=K, method="mosaic", seed=5)
    where = tmp_path / "release"
    assert release.write(where, private_map=tmp_path / "map").confirmed
    said = said_of(where)
    assert (said["parameters"]["aged"], said["claim"]["aged"]) == (2, 2)
    assert "accounts that were active on at least 2 different days, and" in said["claim"]["in_words"]
    assert "other such accounts also hold" in said["claim"]["in_words"]
    assert "active on as many days" in audit_tiles(where).unproven[0]
    older = replace(data, activity=Activity(np.full(len(days), 2, np.int32), 0, 20 * DAY))
    assert "other numbers" in problems(where, originals=release.originals._replace(transactions=older))
    younger = replace(data, activity=Activity(np.full(len(days), 1, np.int32), 0, 20 * DAY))
    assert "fewer than" in problems(where, originals=release.originals._replace(transactions=younger))
    timeless = release.originals._replace(transactions=replace(data, activity=None))
    assert "have no times" in problems(where, originals=timeless)
    said["parameters"]["aged"] = 1
    say(where, said)
    assert "claims something else" in problems(where)


def test_nothing_to_publish_is_refused_in_words():
    data = Transactions.from_rows([[f"a{i}"] for i in range(40)])
    with pytest.raises(BadInputError, match="leaves nothing to publish"):
        ic.anonymize(data, ic.balanced(data, 3), k=K, method="mosaic")


@pytest.mark.parametrize(
    ("name", "value"), [("title", "two\nlines"), ("title", "a\u200bb"), ("date", "never")]
)
def test_a_heading_out_of_form(copy, name, value):
    said = {**said_of(copy), name: value}
    manifest = msgspec.convert(said, TileManifest)
    say(copy, said)
    (copy / "report.html").write_text(tile_page(manifest, read(copy)), encoding="utf-8")
    assert f"the manifest's {name} must be" in problems(copy)


@pytest.fixture(scope="module")
def with_forms(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("forms") / "release"
    assert made.write(path, text_forms=["jsonl", "csv", "dat", "csv"]).confirmed
    return path


def test_text_forms_say_what_the_tiles_say(with_forms, written):
    tiles = read(with_forms)
    assert (with_forms / "tiles.parquet").read_bytes() == (written / "tiles.parquet").read_bytes()
    said = [
        json.loads(line) for line in (with_forms / "tiles.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert said == pq.read_table(with_forms / "tiles.parquet").to_pylist()
    rows = list(csv.reader((with_forms / "tiles.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["tile", "item", "exact", "people", "units"]
    assert len(rows) - 1 == sum(len(tile.labels) for tile in tiles)
    assert [
        "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}animal\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "false",
    ] in [row[1:3] for row in rows]
    baskets = (with_forms / "tiles.dat").read_text(encoding="utf-8").splitlines()
    assert len(baskets) == sum(tile.units for tile in tiles)
    wine = sum("wine" in basket.split() for basket in baskets)
    assert wine == sum(tile.units for tile in tiles if ("wine", True) in tile.labels)
    assert said_of(with_forms)["files"] == sorted(path.name for path in with_forms.iterdir())


@pytest.mark.parametrize("form", ["jsonl", "csv", "dat"])
def test_a_text_form_that_says_something_else(with_forms, tmp_path, form):
    shutil.copytree(with_forms, tmp_path / "release")
    file = tmp_path / f"release/tiles.{form}"
    file.write_text(file.read_text(encoding="utf-8") + "p1 newt\n", encoding="utf-8")
    assert f"tiles.{form} does not say what tiles.parquet says" in problems(tmp_path / "release")
    file.unlink()
    assert problems(tmp_path / "release")


def test_a_text_form_that_is_not_listed(copy):
    (copy / "tiles.csv").write_text("p1,newt")
    assert "entries that are no part" in problems(copy)
    said = said_of(copy)
    say(copy, {**said, "files": [*said["files"], "tiles.xml"]})
    assert problems(copy)


def placed(data: Transactions, seed: int, shuffled: float) -> Transactions:
    """Give words places: those of the alphabet backwards, but for some."""
    dice = np.random.default_rng(seed)
    places = (200 - data.items).astype(np.uint8)
    some = dice.random(len(places)) < shuffled
    places[some] = dice.integers(0, 256, np.count_nonzero(some))
    return replace(data, places=places)


@pytest.fixture(scope="module")
def ordered(made, tmp_path_factory):
    """A release where some tiles have an order that all agree on, and some have not."""
    path = tmp_path_factory.mktemp("ordered") / "release"
    release = replace(made, transactions=placed(made.transactions, 1, 0.005))
    assert release.write(path).confirmed
    return release, path


def test_an_order_is_that_of_all_holders(ordered):
    release, path = ordered
    larger = [tile for tile in read(path) if len(tile.labels) > 1]
    words = [tile for tile in larger if all(exact for _, exact in tile.labels)]
    agreed = [tile for tile in larger if tile.order]
    assert agreed
    assert len(agreed) < len(words)
    for tile in agreed:
        assert tile.in_order == sorted(tile.labels, reverse=True)
        assert tile in words  # a class was typed by nobody
    assert problems(path, originals=release.originals) == ""


def test_every_random_order_is_confirmed(made, tmp_path):
    for seed in range(6):
        release = replace(made, transactions=placed(made.transactions, seed, 0.02 * seed))
        assert release.write(tmp_path / str(seed)).confirmed


def test_another_order(ordered, tmp_path):
    release, path = ordered
    shutil.copytree(path, tmp_path / "release")
    tiles = read(path)
    for place, tile in enumerate(tiles):
        if len(tile.labels) > 1:
            other = () if tile.order else tuple(range(len(tile.labels)))[::-1]
            derive(tmp_path / "release", changed(tiles, place, order=other))
            assert not problems(tmp_path / "release")
            found = problems(tmp_path / "release", originals=release.originals)
            assert "1 tiles are in an order that is not their holders'" in found


@pytest.mark.parametrize("order", [(0, 1), (0, 0), (1,), (1, 2), (1, 0, 2), (-1, 0)])
def test_an_order_that_is_none(copy, order):
    tiles = read(copy)
    place = next(i for i, tile in enumerate(tiles) if len(tile.labels) == 2)
    write_tiles(copy / "tiles.parquet", changed(tiles, place, order=order))
    assert "an order that is none" in problems(copy)
    assert call("show", copy, "--top", 1000).code == 0
