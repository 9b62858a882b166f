"""A release that follows others of the same people: whoever is alike in all of them has at least k - 1 others beside."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from cli.helpers import call, only_line
from helpers import visible
from incrowd.core.history import Past, Step, next_step
from incrowd.errors import BadInputError, ClaimError
from incrowd.jobs import following as jobs_following
from incrowd.release.history import read_past

People = Mapping[str, list[str]]
BOTH = ("flock", "partition")
ITEMS = "abcdefgh"


def rows_of(people: People) -> ic.Transactions:
    rows = ic.Transactions.from_rows(list(people.values()), owners=list(people))
    return replace(rows, unit="user")


class Chain:
    """Releases one after another, in a directory, each of which follows the one before."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.number = 0
        self.classes: list[dict[str, Any]] = []
        self.ks: list[int] = []

    @property
    def release(self) -> Path:
        return self.where / f"release{self.number}"

    @property
    def map(self) -> Path:
        return self.where / f"map{self.number}"

    def publish(self, people: People, *, k: int = 2, method: str = "flock", **parameters: Any) -> ic.Release:
        before = {"previous": self.map} if self.number else {}
        made = ic.anonymize(rows_of(people), "balanced:2", k=k, method=method, **before, **parameters)
        assert isinstance(made, ic.Release)
        self.number += 1
        result = made.write(self.release, private_map=self.map)
        assert result.confirmed
        self.classes.append(classes_in(self.release, self.map))
        self.ks.append(k)
        return made


def classes_in(release: Path, private_map: Path) -> dict[str, Any]:
    """Return the record of each person, as it is written."""
    records = [json.dumps(row) for row in pq.read_table(release / "records.parquet").to_pylist()]
    lines = pq.read_table(private_map).to_pylist()
    assert sorted(line["row"] for line in lines) == list(range(len(records)))
    return {line["owner"]: records[line["row"]] for line in lines}


def smallest(classes: list[dict[str, Any]]) -> int:
    """Return how many people, at least, have and lack the same records in all releases."""
    everyone = {person for release in classes for person in release}
    return min(Counter(tuple(release.get(person) for release in classes) for person in everyone).values())


@pytest.fixture
def chain(tmp_path):
    return Chain(tmp_path)


def group(name: str, size: int, *items: str) -> dict[str, list[str]]:
    return {f"{name}{number}": list(items) for number in range(size)}


def without(people: People, *names: str) -> dict[str, list[str]]:
    return {name: items for name, items in people.items() if name not in names}


A, B, C = group("a", 5, "a", "b"), group("b", 4, "g", "h"), group("c", 3, "c")


# --- the promise ---


@st.composite
def chains(draw) -> tuple[list[tuple[dict[str, list[str]], int]], str]:
    """Draw who is there with which items in each of three releases, with k; people leave, come and return."""
    steps = []
    for _ in range(3):
        there = draw(st.sets(st.integers(0, 17), min_size=6))
        items = {f"p{one}": draw(st.lists(st.sampled_from(ITEMS), max_size=3)) for one in sorted(there)}
        steps.append((items, draw(st.integers(2, 3))))
    return steps, draw(st.sampled_from(BOTH))


@settings(max_examples=20)
@given(chains())
def test_three_releases_together_are_as_anonymous_as_each(drawn):
    steps, method = drawn
    with tempfile.TemporaryDirectory() as scratch:
        chain = Chain(Path(scratch))
        for people, k in steps:
            try:
                made = chain.publish(people, k=k, method=method)
            except BadInputError:  # too few people
                continue
            present = Counter(
                chain.classes[-1][name]
                for name, items in people.items()
                if items and name in chain.classes[-1]
            )
            assert set(present) == set(chain.classes[-1].values())
            assert min(present.values()) >= k
            assert made.counts.records_out == len(chain.classes[-1])
        for some in range(1, len(chain.classes) + 1):
            for chosen in combinations(range(len(chain.classes)), some):
                least = min(chain.ks[: chosen[-1] + 1])
                assert smallest([chain.classes[one] for one in chosen]) >= least


def test_without_it_two_releases_single_people_out(tmp_path):
    people = {**A, **B}
    later = without(people, "a0") | group("new", 1, "a", "b")
    classes = []
    for number, rows in enumerate((people, later)):
        made = ic.anonymize(rows_of(rows), "balanced:2", k=4, method="flock")
        made.write(tmp_path / f"r{number}", private_map=tmp_path / f"m{number}")
        classes.append(classes_in(tmp_path / f"r{number}", tmp_path / f"m{number}"))
    assert smallest(classes) == 1


@pytest.mark.parametrize("method", BOTH)
def test_nothing_changes_if_nobody_comes_or_goes(chain, method):
    chain.publish({**A, **B}, method=method)
    chain.publish({**A, **B}, method=method)
    assert chain.classes[0] == chain.classes[1]


def test_people_of_a_class_stay_together_whatever_they_have_now(chain):
    chain.publish({**A, **B})
    made = chain.publish({**A, **B, "a1": ["a", "h"], "a2": ["a", "c"]})
    assert len({chain.classes[1][name] for name in A}) == 1
    assert made.claim.follows == 2
    assert "at least 2 users have and lack the same" in made.claim.in_words
    assert "Other releases of the same people than those" in made.claim.not_promised[-1]


def test_the_smallest_k_of_the_chain_is_promised(chain):
    chain.publish({**A, **B}, k=4)
    assert chain.publish({**A, **B}, k=3).claim.follows == 3
    made = chain.publish({**A, **B}, k=5)
    assert (made.claim.k, made.claim.follows) == (5, 3)
    assert Counter(chain.classes[-1].values()).most_common()[-1][1] >= 5


# --- who leaves and returns ---


def test_leavers_are_counted_until_k_of_them_have_left(chain):
    chain.publish({**A, **B}, k=2)
    made = chain.publish({**without(A, "a0"), **B}, k=2)
    assert "a0" in chain.classes[1]
    assert made.counts.records_out == 9
    assert made.counts.records_in == 8
    assert sum(one.records for one in made.lengths) == 9
    assert made.manifest().bound is None  # which would tell that there are 8
    assert made.losses.ggd == 0  # nothing is lost of who is there
    chain.publish({**without(A, "a0", "a1"), **B}, k=2)
    assert {"a0", "a1"}.isdisjoint(chain.classes[2])


def test_leavers_are_counted_as_long_as_fewer_than_k_would_stay(chain):
    chain.publish({**A, **B}, k=3)
    chain.publish({**without(A, "a0", "a1", "a2"), **B}, k=3)
    assert set(chain.classes[1]) == {*A, *B}
    assert len(set(chain.classes[1].values())) == 1  # two of them make no record alone
    chain.publish(B, k=3)
    assert set(chain.classes[2]) == {*B}


def test_an_empty_record_is_none(chain):
    chain.publish({**A, **B})
    made = chain.publish({**A, **B, "a0": []})
    assert "a0" in chain.classes[1]
    assert made.counts.withheld == 1


def test_who_returns_waits_for_k_others_who_left_at_the_same_time(chain):
    chain.publish({**A, **B}, k=2)
    chain.publish({**without(A, "a0", "a1", "a2"), **B}, k=2)
    gone = {"a0", "a1", "a2"}
    made = chain.publish({**without(A, "a0", "a1"), **B}, k=2)  # a2 alone is back
    assert gone.isdisjoint(chain.classes[2])
    assert any("1 people who have returned are withheld" in note for note in made.notes)
    chain.publish({**without(A, "a0"), **B}, k=2)  # a0 alone would be missing
    assert gone.isdisjoint(chain.classes[3])
    chain.publish({**A, **B}, k=2)
    assert gone < set(chain.classes[4])
    assert smallest(chain.classes) >= 2


def test_newcomers_come_in_k_or_not_at_all(chain):
    chain.publish({**A, **B}, k=3)
    made = chain.publish({**A, **B, **without(C, "c0")}, k=3)
    assert set(chain.classes[1]) == {*A, *B}
    assert made.counts.withheld == 2
    assert any("Withheld 2 newcomers" in note for note in made.notes)
    assert made.manifest().counts.withheld == "fewer than 3"
    chain.publish({**A, **B, **C}, k=3)
    assert set(C) < set(chain.classes[2])


def test_a_step_parts_a_group_only_if_k_are_on_either_side():
    past = Past([["a", "b", "c", "d"], ["e", "f"], ["g", "h"]], published=2, k=2)
    step = next_step(past, {"a", "b", "e", "g"}, 2)
    assert step == Step([("a", 0), ("b", 0), ("e", 1)], [("f", 1)], ["g"], [["c", "d"], ["g", "h"]])
    assert next_step(past, {"a", "b", "e", "g"}, 3).gone == [["g", "h"]]
    assert next_step(past, set(), 2).gone == past.groups


# --- the files ---


def write_log(path: Path, people: People, *, backwards: bool = False) -> Path:
    lines = [f"{name},{item}" for name, items in people.items() for item in items]
    path.write_text(
        "\n".join(["user,query", *(lines[::-1] if backwards else lines)]) + "\n", encoding="utf-8"
    )
    return path


MADE = ("--items", "queries", "--taxonomy", "balanced:2", "--k", 3, "--method")
LATER = {**without(A, "a0"), **B, **C, **group("été \U0001f600 #", 3, "a", "c")}


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    """Two releases of logs with ids of any kind, the second of which follows the first."""
    where = tmp_path_factory.mktemp("two")
    first = {**A, **B, **group("été \U0001f600 #", 3, "a", "c"), **group("d", 3, "d")}
    write_log(where / "log1.csv", first)
    write_log(where / "log2.csv", LATER)
    one = call(
        "anonymize", where / "log1.csv", "--out", where / "r1", "--private-map", where / "m1", *MADE, "flock"
    )
    assert one.code == 0, one.err
    other = follow(where, "log2.csv", "2")
    assert other.code == 0, other.err
    assert "there is a release beside" not in other.err
    return where


def follow(where: Path, log: str, name: str, *options: object, how: tuple[object, ...] = (*MADE, "flock")):
    out = ("--out", where / f"r{name}", "--private-map", where / f"m{name}")
    return call("anonymize", where / log, *out, *how, "--previous", where / "m1", *options)


def audit(where: Path, *options: object, name: str = "2"):
    owned = ("--original", where / "log2.csv", "--private-map", where / f"m{name}")
    return call("audit", where / f"r{name}", *owned, *options, "--json")


def test_the_audit_counts_who_is_alike_in_both(two):
    ran = audit(two, "--previous", two / "m1", "--previous-release", two / "r1")
    assert ran.code == 0
    assert ran.json["confirmed"]
    assert any("alike in all releases of the chain, each of at least 3" in one for one in ran.json["checks"])
    assert any("made from at least 3 people who have one now" in one for one in ran.json["checks"])
    unconfirmed = audit(two, "--previous", two / "m1").json
    assert not unconfirmed["confirmed"]
    assert any("--previous-release DIR" in one for one in unconfirmed["unchecked"])
    alone = audit(two).json
    assert alone["holds"] is True
    assert not alone["confirmed"]
    by_maps = call("audit", two / "r2", "--private-map", two / "m2", "--previous", two / "m1", "--json").json
    assert by_maps["holds"] is True
    assert not by_maps["confirmed"]
    assert call("audit", two / "r2", "--json").json["confirmed"] is False


def test_the_manifest_says_that_it_follows_and_not_whom(two):
    said = json.loads((two / "r2" / "manifest.json").read_text(encoding="utf-8"))
    assert said["parameters"]["follows"] == said["claim"]["follows"] == 3
    assert (
        "follows" not in json.loads((two / "r1" / "manifest.json").read_text(encoding="utf-8"))["parameters"]
    )


def test_the_order_of_the_input_does_not_matter(two):
    write_log(two / "backwards.csv", LATER, backwards=True)
    for method in BOTH:
        for name, log in (("x", "log2.csv"), ("y", "backwards.csv")):
            assert follow(two, log, name + method, how=(*MADE, method)).code == 0
        for file in ("records.parquet", "manifest.json", "taxonomy.parquet"):
            assert (two / f"rx{method}" / file).read_bytes() == (two / f"ry{method}" / file).read_bytes()
        assert classes_in(two / f"rx{method}", two / f"mx{method}") == classes_in(
            two / f"ry{method}", two / f"my{method}"
        )


def problems(ran) -> str:
    assert ran.code == 1
    return " ".join(ran.json["problems"])


def rewritten(
    source: Path, target: Path, *, notes: Mapping[str, str] | None = None, **columns: list[Any]
) -> Path:
    """Write a private map again, with other notes or columns."""
    table = pq.read_table(source)
    kept = {key.decode(): value.decode() for key, value in table.schema.metadata.items()} | dict(notes or {})
    told = {name: columns.get(name, table[name].to_pylist()) for name in table.schema.names}
    schema = table.schema.remove_metadata().with_metadata(
        {key: value for key, value in kept.items() if value}
    )
    pq.write_table(pa.table(told, schema=schema), target)
    return target


def test_the_audit_finds_people_who_changed_places(two, tmp_path):
    """The map before says that two people were in each other's classes: then the release divides both classes."""
    table = pq.read_table(two / "m1").to_pylist()
    owner = [line["owner"] for line in table]
    first, second = owner.index("a1"), owner.index("b1")
    owner[first], owner[second] = owner[second], owner[first]
    forged = rewritten(two / "m1", tmp_path / "forged", owner=owner)
    found = problems(audit(two, "--previous", forged))
    assert "have the same record here and were alike in all releases before have fewer than 3" in found


def test_the_audit_finds_a_map_that_misleads_the_next_release(two, tmp_path):
    notes = {key.decode(): value.decode() for key, value in pq.read_schema(two / "m2").metadata.items()}
    sizes = [int(size) for size in notes["groups"].split()]
    wrong = " ".join(map(str, [sizes[0] + sizes[1], *sizes[2:]]))
    forged = rewritten(two / "m2", tmp_path / "m", notes={"groups": wrong})
    ran = call("audit", two / "r2", "--private-map", forged, "--previous", two / "m1", "--json")
    assert "does not say who is alike" in problems(ran)


def test_the_audit_finds_strangers_who_were_never_there(two, tmp_path):
    owner = ["nobody" if name == "a0" else name for name in pq.read_table(two / "m2")["owner"].to_pylist()]
    forged = rewritten(two / "m2", tmp_path / "m", owner=owner)
    ran = call(
        "audit",
        two / "r2",
        "--original",
        two / "log2.csv",
        "--private-map",
        forged,
        "--previous",
        two / "m1",
        "--json",
    )
    assert "the private map names 1 owners that the originals do not have" in problems(ran)


def test_what_the_audit_needs(two):
    line = only_line(audit(two, "--previous-release", two / "r1").err)
    assert "--previous-release needs --previous" in line
    assert "--previous needs --private-map" in only_line(
        call("audit", two / "r2", "--previous", two / "m1").err
    )
    ran = call("audit", two / "r1", "--private-map", two / "m1", "--previous", two / "m1")
    assert "does not say that it follows another: drop --previous" in only_line(ran.err)


def test_a_release_that_divides_a_class_is_never_published(chain, monkeypatch):
    chain.publish({**A, **B}, k=2)

    def parting(past: Past, present: set[str], k: int) -> Step:
        step = next_step(past, present, k)
        return step._replace(stay=[one for one in step.stay if one.person != "a1"])  # who is then a newcomer

    monkeypatch.setattr(jobs_following, "next_step", parting)
    with pytest.raises(ClaimError, match="nothing was published: 1 groups of"):
        chain.publish({**A, **B, **C}, k=2)
    assert visible(chain.where) == {"release1", "map1"}


# --- what is refused ---


def refused(ran, where: Path, name: str = "x") -> str:
    assert ran.code == 2, ran.err
    assert not (where / f"r{name}").exists()
    assert not (where / f"m{name}").exists()
    return only_line(ran.err)


@pytest.mark.parametrize(
    ("how", "line"),
    [
        (("--k", 3), "method mosaic cannot follow another: use --method flock or partition"),
        (("--k", 3, "--method", "clump"), "method clump cannot follow another"),
        (("--k", 3, "--goal", "people", "--unit", "session:30m"), "use --unit user"),
        (("--k", 3, "--goal", "people", "--series", "ledger"), "drop either"),
    ],
)
def test_jobs_that_cannot_follow(two, how, line):
    assert line in refused(follow(two, "log2.csv", "x", how=how), two)


def test_a_release_that_follows_needs_a_map_of_its_own(two):
    ran = call("anonymize", two / "log2.csv", "--out", two / "rx", *MADE, "flock", "--previous", two / "m1")
    assert "needs --private-map: without its map the next one cannot follow it" in refused(ran, two)
    made = ic.anonymize(rows_of(LATER), "balanced:2", k=3, method="flock", previous=two / "m1")
    with pytest.raises(BadInputError, match="needs private_map"):
        made.write(two / "rx")
    ran = call("anonymize", two / "log2.csv", *MADE, "flock", "--previous-release", two / "r1", "--dry-run")
    assert "--previous-release needs --previous" in only_line(ran.err)


def test_baskets_name_nobody(two):
    (two / "baskets.dat").write_text("1 2\n" * 6, encoding="ascii")
    ran = follow(two, "baskets.dat", "x", how=("--k", 3, "--method", "flock"))
    assert "use --unit user and a log that names users" in refused(ran, two)


def test_a_map_of_other_people(two):
    write_log(two / "others.csv", group("x", 9, "a"))
    assert "nobody of the release before is in the input" in refused(follow(two, "others.csv", "x"), two)
    dry = call(
        "anonymize", two / "others.csv", *MADE, "flock", "--previous", two / "m1", "--dry-run", "--json"
    )
    assert "nobody of the release before" in dry.json["refused"]


def test_too_few_people_are_left(two):
    write_log(two / "few.csv", {"a1": ["a"], "b1": ["b"], **group("x", 2, "a")})
    assert "wait until there are more people" in refused(follow(two, "few.csv", "x"), two)


def test_a_map_of_another_release(two):
    wrong = follow(two, "log2.csv", "x", "--previous-release", two / "r2")
    assert "is not of the release in" in refused(wrong, two)


def test_a_map_that_names_no_users(tmp_path):
    (tmp_path / "baskets.dat").write_text("1 2\n" * 6, encoding="ascii")
    made = call(
        "anonymize",
        tmp_path / "baskets.dat",
        "--out",
        tmp_path / "r",
        "--private-map",
        tmp_path / "m",
        "--k",
        2,
        "--method",
        "flock",
    )
    assert made.code == 0
    with pytest.raises(
        BadInputError, match="cannot be followed: give the map of a k-anonymous release of users"
    ):
        read_past(tmp_path / "m")


def tampered(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield maps that contradict themselves."""
    table = pq.read_table(source)
    notes = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    owner, row = table["owner"].to_pylist(), table["row"].to_pylist()
    first, *others = notes["groups"].split()
    yield "an owner twice", {"owner": [owner[1], *owner[1:]]}
    yield "a row twice", {"row": [row[1], *row[1:]]}
    yield "a row below 0", {"row": [-1, *row[1:]]}
    yield "a group less", {"notes": {"groups": " ".join(others)}}
    yield "a group of one", {"notes": {"groups": " ".join(["1", str(int(first) - 1), *others])}}
    yield "no numbers", {"notes": {"groups": f"{first},5"}}
    yield "a larger k", {"notes": {"k": "9"}}
    yield "no k", {"notes": {"k": "0"}}
    yield "somebody who is gone and not", {"notes": {"gone": json.dumps([[owner[0], "x", "y"]])}}
    yield "a gone group of one", {"notes": {"gone": '[["x"]]'}}
    yield "an empty gone group", {"notes": {"gone": "[[]]"}}
    yield "gone in another form", {"notes": {"gone": '{"x": 1}'}}


def test_a_map_that_was_tampered_with(two, tmp_path):
    for what, changes in tampered(two / "m1"):
        forged = rewritten(two / "m1", tmp_path / "forged", **changes)
        with pytest.raises(BadInputError, match="contradicts itself") as error:
            read_past(forged)
        assert "a1" not in str(error.value), what
    merged = {
        "notes": {"groups": str(len(pq.read_table(two / "m1")))}
    }  # nothing in the map speaks against it
    with pytest.raises(BadInputError, match="is not of the release in"):
        read_past(rewritten(two / "m1", tmp_path / "forged", **merged), two / "r1")


def test_a_person_with_two_rows(two):
    rows = replace(ic.Transactions.from_rows([["a"]] * 4, owners=["a1", "a1", "a2", "a3"]), unit="user")
    with pytest.raises(BadInputError, match="a person has several records"):
        ic.anonymize(rows, "balanced:2", k=3, method="flock", previous=two / "m1")
