"""The contract of every method and every variant of it, held against the written files and the naive reference."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linear_sum_assignment

import incrowd as ic
import reference
from incrowd.core.promises import promise_of
from incrowd.methods.registry import METHODS, method_named
from incrowd.release.files.names import LIST_TABLES
from incrowd.release.files.records import shown
from incrowd.taxonomy import attach
from strategies import variants_of, with_clicks

K = 4
FORMS = ("jsonl", "csv", "dat")
TEXT = "a text whose hash tells processes apart"
ROWS_ALIKE = 6
GROWN_FROM_SEEDS = {"clump", "ssc", "microaggregation", "navarro", "erola", "plain"}
SUPPRESSING = {"suppress", "ssc", "poblete", "microaggregation", "navarro", "erola", "plain"}
# With its defaults the noise drowns so few people; with these a query of some ten people passes.
LITTLE_NOISE = {"d": 3, "eps": 20.0, "delta": 0.009}
EVERY = [
    (name, {**variant, **(LITTLE_NOISE if method_named(name).is_noisy else {})})
    for name in ic.METHODS
    for variant in variants_of(METHODS[name])
]
VARIANTS = [
    pytest.param(name, variant, id="-".join([name, *map(str, variant.values())])) for name, variant in EVERY
]


def is_tiles(method):
    """Tell whether a method publishes tiles, which are no one's records."""
    return method_named(method).promise == "k-anonymous tiles"


OF_RECORDS = [case for case in VARIANTS if not is_tiles(case.values[0])]  # tiles: auditing/test_tiles.py


def transactions_of(release):
    """Return queries of one item each."""
    return ic.Transactions.from_rows(release.rows).with_events()


def needs_events(method, variant):
    """Tell whether a method reads every single query with such parameters."""
    return METHODS[method].reads_with(METHODS[method].read_parameters(variant)).events


def is_list(method):
    """Tell whether a method publishes a list of queries, and no one's records."""
    return method_named(method).is_noisy


# Uneven depths, a single child, and inner nodes ("fruit", "all things") that people have as items.
CHILDREN = {
    "all things": ["food", "sport", "odd"],
    "food": ["fruit", "bread", "drinks"],
    "fruit": ["apple", "pear", "berry"],
    "berry": ["red berry", "blue berry"],
    "drinks": ["beer", "wine", "milk", "tea"],
    "sport": ["ball"],
    "ball": ["football", "tennis", "golf"],
    "odd": [f"odd {n}" for n in range(70)],
}
INNER_ITEMS = ["fruit", "all things", "ball"]


def make_rows(count=90, seed=11):
    """Return bags with repeats, odd ones out, a few empty ones, and some that are alike."""
    chance = random.Random(seed)
    leaves = [child for family in CHILDREN.values() for child in family if child not in CHILDREN]
    usual = [leaf for leaf in leaves if not leaf.startswith("odd")]
    pool = usual * 4 + leaves + INNER_ITEMS * 3
    rows = [chance.choices(pool, k=chance.choice([1, 1, 2, 3, 5, 9])) for _ in range(count)]
    alike = [["beer"], ["beer", "beer", "apple"], ["football", "tea"]] * ROWS_ALIKE
    return [[] if n % 31 == 30 else row for n, row in enumerate(rows)] + alike


def taxonomy_text():
    return "".join(f"{child}\t{parent}\n" for parent, family in CHILDREN.items() for child in family)


def owners_of(rows, mark="owner"):
    return [f"{mark}-{n * 7919 % 1000:03}" for n in range(len(rows))]


class Made(NamedTuple):
    """A written release and what it was made from, in the reference's words."""

    directory: object
    rows: list
    owners: list
    tree: reference.Tree
    bags: list
    row_of: dict
    renamed: dict

    def records(self):
        """Return each row's labels, as (text, is a word), and their counts; of a list, one row of all queries."""
        if listed := [path for path in self.directory.glob("*.parquet") if path.name in LIST_TABLES]:
            table = pq.read_table(listed[0])
            texts = zip(*(table[name].to_pylist() for name in table.column_names[:-1]), strict=True)
            return [(tuple((text, True) for text in texts), tuple(table["count"].to_pylist()))]
        if (self.directory / "tiles.parquet").exists():
            rows = pq.read_table(self.directory / "tiles.parquet").to_pylist()
            return [
                (tuple(zip(row["items"], row["exact"], strict=True)), (row["people"], row["units"]))
                for row in rows
            ]
        table = pq.read_table(self.directory / "records.parquet").to_pydict()
        labels = (tuple(zip(*row, strict=True)) for row in zip(table["items"], table["exact"], strict=True))
        return list(zip(labels, map(tuple, table["counts"]), strict=True))

    def manifest(self):
        return json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))


def in_file_tree(rows):
    """Return the rows over the taxonomy of the file, as the reference has them."""
    tree = reference.Tree(reference.attach(CHILDREN, {item for row in rows for item in row}))
    leaf = {item: reference.itself(item) if item in CHILDREN else item for row in rows for item in row}
    return tree, [reference.bag_of(leaf[item] for item in row) for row in rows]


def in_balanced_tree(rows, fan_out):
    """Return the rows over a balanced tree, its made nodes called as the product calls them."""
    children = reference.balanced(sorted({item for row in rows for item in row}), fan_out)
    root = list(children)[-1]

    def name(node):
        if node == root:
            return "anything"
        level, _, index = node.removeprefix("made ").partition(".")
        return f"group {level}.{int(index) + 1}" if node in children else node

    named = {name(node): [name(child) for child in family] for node, family in children.items()}
    return reference.Tree(named), [reference.bag_of(row) for row in rows]


def product_tree(kind, transactions, directory):
    if kind == "balanced":
        return ic.balanced(transactions, 4)
    path = directory / "taxonomy.tsv"
    path.write_text(taxonomy_text(), encoding="utf-8")
    return ic.read_taxonomy(path)


def write(directory, rows, owners, *, method, variant, kind):
    """Anonymize and write; return the release's directory and the private map as {owner: row}."""
    directory.mkdir()
    transactions = ic.Transactions.from_rows(rows, owners=owners)
    if needs_events(
        method, variant
    ):  # it wants queries, here of one item each, and a tree that means something
        transactions, kind = with_clicks(transactions.with_events()), "file"
    tree = product_tree(kind, transactions, directory)
    release = ic.anonymize(transactions, tree, method=method, k=K, seed=5, **variant)
    if is_list(method) or is_tiles(method):
        release.write(directory / "release")
        return directory / "release", {}
    release.write(directory / "release", text_forms=FORMS, private_map=directory / "map")
    table = pq.read_table(directory / "map").to_pydict()
    return directory / "release", dict(zip(table["owner"], table["row"], strict=True))


def write_every(place):
    """Write what every variant of every method makes of the same rows, each into a directory of its own."""
    rows = make_rows()
    for number, (method, variant) in enumerate(EVERY):
        write(
            place / f"{method}-{number}", rows, owners_of(rows), method=method, variant=variant, kind="file"
        )


@pytest.fixture(scope="module", params=["file", "balanced"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def made(tmp_path_factory, kind):
    """Return a function that gives the release of a method, written once."""
    written = {}

    def get(method, variant):
        key = (method, *variant.items())
        if key not in written:
            rows = make_rows()
            owners = owners_of(rows)
            directory = tmp_path_factory.mktemp("contract") / "one"
            release, row_of = write(directory, rows, owners, method=method, variant=variant, kind=kind)
            balanced = kind == "balanced" and not needs_events(method, variant)
            tree, bags = in_balanced_tree(rows, 4) if balanced else in_file_tree(rows)
            written[key] = Made(release, rows, owners, tree, bags, row_of, renamed_in(directory / "map"))
        return written[key]

    return get


def renamed_in(path):
    """Return what made nodes are called in the owner's tree."""
    return json.loads(pq.read_schema(path).metadata[b"renamed"]) if path.exists() else {}


def files(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


@pytest.mark.parametrize(("method", "variant"), VARIANTS)
def test_the_claim_holds_on_the_written_file(made, method, variant):
    release = made(method, variant)
    claim = release.manifest()["claim"]
    assert claim["kind"] == promise_of(method, method_named(method).read_parameters(variant))
    result = ic.audit(release.directory)
    assert result.problems == []
    if is_list(method):
        assert result.holds is None  # noise cannot be recounted
        assert "k" not in claim
        return
    assert claim["k"] == K
    if claim["kind"] == "k-anonymity":
        assert min(Counter(release.records()).values()) >= K
    if claim["kind"] == "k^m-anonymity":
        assert rare_itemsets(release.records(), K, claim["m"]) == 0
    assert result.holds is (None if claim["kind"] == "none" else True)
    assert result.confirmed is (claim["kind"] != "none" and not result.unproven)
    assert result.unproven or not is_tiles(method)  # who holds a tile is said by the private map alone


def rare_itemsets(records, k, most):
    """Count the sets of at most so many labels that fewer than k records have, by looking at all of them."""
    shared = Counter(
        chosen for items, _ in records for size in range(1, most + 1) for chosen in combinations(items, size)
    )
    return sum(times < k for times in shared.values())


@pytest.mark.parametrize(("method", "variant"), OF_RECORDS)
def test_each_row_generalizes_its_owners_or_stands_for_it(made, method, variant):
    release = made(method, variant)
    records, claim = release.records(), release.manifest()["claim"]
    typed = Counter(item for row in release.rows for item in set(row))
    if is_list(method):
        sites = set(with_clicks(transactions_of(release)).events.sites.to_pylist())
        assert all(
            typed[text] or text in sites for items, _ in records for texts, _ in items for text in texts
        )
        return
    node_of, bags = nodes_of_labels(release), dict(zip(release.owners, release.bags, strict=True))
    within = claim["within"]
    assert (within is not None) is (variant.get("typical") == "medoid")
    assert sorted(release.row_of.values()) == list(range(len(records)))
    if claim["speaks_of"] == "class":
        for text, exact in {label for items, _ in records for label in items}:
            below = {leaf for leaf, path in release.tree.path.items() if text in path}
            holders = sum(any(item in below for item in row) for row in release.rows)
            assert (typed[text] if exact else holders) >= claim["typed_by"]
        return
    for owner, row in release.row_of.items():
        published = Counter()
        for label, count in zip(*records[row], strict=True):
            published[node_of[label]] += count
        if within is None:
            assert reference.generalizes(release.tree, published, bags[owner])
        else:
            assert stands_for(release.tree, published, bags[owner], within)


def nodes_of_labels(release):
    """Return the reference's node of each label; a bag of alternatives is below the node that it is published under.

    Made nodes are numbered by what is published: which one is meant is seen by what lies below them, in order.
    """
    rows = pq.read_table(release.directory / "taxonomy.parquet").to_pylist()
    renamed = release.renamed
    node_of = {}
    for row in rows:
        text = renamed.get(row["label"], row["label"]) if not row["exact"] else row["label"]
        if text.startswith("{"):
            text = renamed.get(row["parent"], row["parent"])
        elif row["exact"] and reference.itself(text) in release.tree.path:
            text = reference.itself(text)
        node_of[row["label"], row["exact"]] = text
    return node_of


def stands_for(tree, published, own, within):
    """Tell whether every published copy can have an item of the owner's of its own that is near enough."""
    events, given = list(Counter(published).elements()), list(Counter(own).elements())
    far = np.array([[steps(tree, one, other) > within for other in given] for one in events])
    if not events or len(events) > len(given):
        return not events
    return not far[linear_sum_assignment(far)].any()


def steps(tree, one, other):
    """Count the edges between two nodes of the file's tree: a concept's own leaf is the concept."""
    ways = [[node for node in tree.path[end] if not node.endswith(" itself")] for end in (one, other)]
    return len(set(ways[0]) ^ set(ways[1]))


@pytest.mark.parametrize(("method", "variant"), OF_RECORDS)
def test_who_has_something_is_published_and_who_has_nothing_is_not(made, method, variant):
    release = made(method, variant)
    filled = {owner for owner, row in zip(release.owners, release.rows, strict=True) if row}
    if is_list(method):
        assert release.row_of == {}
        assert "counts" not in release.manifest()
        return
    counts = release.manifest()["counts"]
    if method in SUPPRESSING:  # it may leave nothing of somebody
        assert set(release.row_of) <= filled
    else:
        assert set(release.row_of) == filled
    withheld = len(release.rows) - len(release.row_of)
    assert withheld > 0
    assert counts["withheld"] == (withheld if withheld >= K else f"fewer than {K}")
    assert counts["records_out"] == len(release.row_of)


# The maximum model calls strangers near, so it has little to say.
@pytest.mark.parametrize(
    ("method", "variant"), [case for case in VARIANTS if case.values[1].get("model") != "maximum"]
)
def test_the_release_says_something(made, method, variant):
    """A method that publishes the root for everybody keeps every promise but its purpose."""
    release = made(method, variant)
    published = {item for items, _ in release.records() for item in items}
    # Few have the same two, and noise decides which 2 to 17 of them are published.
    if variant.get("of") in {"pairs", "clicks"}:
        assert len(published) > 1
        return
    if METHODS[method].promise == "k^m-anonymity":  # one cut for all: a rare item takes its whole family up
        assert len(published) > 3
        return
    assert len(published) > 5
    assert any(exact for _, exact in published)


@pytest.mark.parametrize(("method", "variant"), VARIANTS)
def test_the_input_is_not_changed(tmp_path, method, variant):
    rows = make_rows()
    transactions = ic.Transactions.from_rows(rows, owners=owners_of(rows))
    tree = ic.balanced(transactions, 4)
    if needs_events(method, variant):
        transactions = with_clicks(transactions.with_events())
        tree = product_tree("file", transactions, tmp_path)
        tree = attach(transactions, tree).taxonomy
    arrays = ("indptr", "items", "counts", "vocabulary", "owners")
    before = [np.array(getattr(transactions, name)) for name in arrays]
    tree_before = [np.array(part) for part in (tree.parent, tree.end, tree.labels, tree.item_leaf)]
    release = ic.anonymize(transactions, tree, method=method, k=K, **variant)
    _ = release.measures, release.table()
    assert all(map(np.array_equal, before, [np.array(getattr(transactions, name)) for name in arrays]))
    tree_after = [np.array(part) for part in (tree.parent, tree.end, tree.labels, tree.item_leaf)]
    assert all(map(np.array_equal, tree_before, tree_after))


@pytest.mark.parametrize(("method", "variant"), OF_RECORDS)
def test_the_same_seed_gives_the_same_bytes_whoever_the_owners_are(made, kind, tmp_path, method, variant):
    release = made(method, variant)
    others = owners_of(release.rows, mark="somebody")
    again, _ = write(tmp_path / "again", release.rows, others, method=method, variant=variant, kind=kind)
    assert but_for_noise(files(again)) == but_for_noise(files(release.directory))


def but_for_noise(contents):
    return {name: content for name, content in contents.items() if name not in LIST_TABLES}


@pytest.mark.parametrize(("method", "variant"), OF_RECORDS)
def test_the_text_forms_say_what_the_records_say(made, method, variant):
    release = made(method, variant)
    if is_list(method):
        assert len(set(files(release.directory)) & set(LIST_TABLES)) == 1
        assert len(files(release.directory)) == 3
        return
    records = release.records()
    assert from_jsonl(release.directory / "records.jsonl") == records
    assert from_csv(release.directory / "records.csv") == records
    lines = (release.directory / "records.dat").read_text(encoding="utf-8").splitlines()
    assert [Counter(line.split()) for line in lines] == [
        Counter({shown(label).replace(" ", "_"): count for label, count in zip(*record, strict=True)})
        for record in records
    ]


def from_jsonl(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(tuple(zip(row["items"], row["exact"], strict=True)), tuple(row["counts"])) for row in rows]


def from_csv(path):
    records = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if int(row["record"]) == len(records):
                records.append(([], []))
            exact = row["exact"] == "true"
            records[int(row["record"])][0].append((row["item"] if exact else row["item"][1:-1], exact))
            records[int(row["record"])][1].append(int(row["count"]))
    return [(tuple(items), tuple(counts)) for items, counts in records]


@pytest.mark.parametrize(("method", "variant"), VARIANTS)
def test_no_owner_is_in_any_file(made, method, variant):
    release = made(method, variant)
    tables = [pq.read_table(path) for path in release.directory.glob("*.parquet")]
    decoded = "".join(f"{table.to_pydict()}{table.schema.metadata}" for table in tables).encode()
    for content in (decoded, *files(release.directory).values()):
        assert b"owner-" not in content
    if is_list(method):
        (table,) = tables
        assert set(table.column_names) <= {"query", "address", "item", "item_a", "item_b", "count"}
    else:
        assert {table.column_names[0] for table in tables} == {"items", "label"}


@pytest.mark.parametrize(("method", "variant"), VARIANTS)
def test_rows_are_sorted_by_content(made, method, variant):
    records = made(method, variant).records()
    assert all(first <= second for first, second in pairwise(records))
    assert all(list(items) == sorted(set(items)) for items, _ in records)


# Clusters begin at seeds, and which of equals are left for the next depends on the order there.
@pytest.mark.parametrize(
    ("method", "variant"),
    [case for case in VARIANTS if case.values[0] not in GROWN_FROM_SEEDS],
)
def test_the_order_of_the_input_leaves_no_trace(tmp_path, kind, method, variant):
    """Where everybody has enough company already, any order of the same people gives the same bytes."""
    rows = [row for row in make_rows(12)[:12] if row for _ in range(ROWS_ALIKE)]
    mixed = random.Random(1).sample(rows, len(rows))
    assert mixed != rows
    first, _ = write(tmp_path / "first", rows, owners_of(rows), method=method, variant=variant, kind=kind)
    second, _ = write(tmp_path / "second", mixed, owners_of(mixed), method=method, variant=variant, kind=kind)
    assert but_for_noise(files(first)) == but_for_noise(files(second))


def test_nothing_depends_on_the_order_of_hashes(tmp_path):
    """Two processes that hash differently, this one and another, write the same bytes, by every method."""
    script = f"""
import sys
from pathlib import Path
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_contract as contract
contract.write_every(Path(sys.argv[1]))
print(hash(contract.TEXT))
"""  # noqa: PTH120
    # Which seed this process has is not known: should the one be it, the other is not.
    for seed in ("1", "2"):
        place = tmp_path / seed
        place.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", script, place],
            check=True,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        if int(done.stdout) != hash(TEXT):
            break
    (tmp_path / "here").mkdir()
    write_every(tmp_path / "here")
    written = []
    for directory in (tmp_path / "here", place):
        releases = sorted(directory.glob("*/release"))
        written.append([(release.parent.name, but_for_noise(files(release))) for release in releases])
    assert len(written[0]) == len(VARIANTS)
    assert written[0] == written[1]
