"""Microaggregation as a method: what is published is real, common, and the same for a group."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line, call, only_line, refused

TOPICS = {
    "wine": ["red wine", "cheap red wine", "white wine", "wine"],
    "dog": ["dog food", "dogs", "my dog", "poodle"],
    "car": ["cars", "used car", "fast sports car", "automobile"],
}
SECRET = "zyxwv vwxyz"
K = 3


def write_log(path, users=24, seed=5):
    chance = random.Random(seed)
    lines = []
    for user in range(users):
        topic = TOPICS[sorted(TOPICS)[user % len(TOPICS)]]
        lines += [aol_line(user, query) for query in chance.choices(topic, k=6)]
    lines.append(aol_line(0, f"dog called {SECRET}"))
    lines.append(aol_line(1, SECRET))
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("in") / "log.tsv")


@pytest.fixture(scope="module")
def data(log):
    with ic.read_log(log) as read:
        return read.transactions(items="concepts", events=True)


def made(data, **settings):
    return ic.anonymize(data, ic.wordnet(data), k=K, method="microaggregation", **settings)


def typists(data):
    people = defaultdict(set)
    for row in range(len(data)):
        for query in data.events.query[data.events.start[row] : data.events.start[row + 1]].tolist():
            people[data.events.texts[query].as_py()].add(row)
    return {text: len(some) for text, some in people.items()}


def test_queries_are_published_that_enough_people_typed(data, tmp_path):
    release = made(data)
    result = release.write(tmp_path / "release")
    assert result.holds
    assert any("were each typed by at least 3 people" in check for check in result.checks)
    known = typists(data)
    names = set(release.taxonomy.names.to_pylist())
    published = {item for row in release.table()["items"].to_pylist() for item in row}
    assert published & known.keys()
    for label in published - names:
        assert known[label] >= K
    assert not any(SECRET in label for label in published)


def test_users_of_one_group_publish_the_same_log(data):
    release = made(data)
    assert min(Counter(release.classes.of_row.tolist()).values()) >= K
    assert "Every query in it was typed by at least 3 different people" in release.claim.in_words
    assert release.claim.in_words.endswith("every name of a concept stands for items of as many.")
    assert release.claim.speaks_of == "class"
    assert "may have typed nothing of it" in release.claim.not_promised[0]


def test_groups_are_of_like_interests(data):
    """Three topics, eight users each: no group mixes more topics than it must."""
    release = made(data)
    topics = defaultdict(set)
    for user, group in zip(data.owners.to_pylist(), release.classes.of_row.tolist(), strict=True):
        topics[group].add(int(user) % len(TOPICS))
    assert sum(len(found) == 1 for found in topics.values()) >= len(topics) - 2


def test_verbatim_publishes_what_one_person_typed_and_says_so(data):
    release = made(data, verbatim=True)
    known = typists(data)
    published = {item for row in release.table()["items"].to_pylist() for item in row}
    assert min(known[label] for label in published & known.keys()) < K
    assert (release.claim.kind, release.claim.typed_by) == ("none", 1)
    assert any("single person typed" in line for line in release.claim.not_promised)


def test_one_person_s_illness_is_not_everybody_s_record(tmp_path):
    """One asks twice for leprosy, four for google: five records of "leprosy" were published."""
    queries = [("alice", "leprosy"), ("alice", "leprosy")]
    queries += [(name, "google") for name in ("bob", "carol", "dan", "erin")]
    lines = [aol_line(user, query, f"2006-03-01 10:00:0{n}") for n, (user, query) in enumerate(queries)]
    (tmp_path / "log.tsv").write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    with ic.read_log(tmp_path / "log.tsv") as log:
        data = log.transactions(items="concepts", events=True)
    release = ic.anonymize(data, ic.wordnet(data), k=5, method="microaggregation")
    assert release.counts.records_out == 5
    published = {item for row in release.table()["items"].to_pylist() for item in row}
    assert published
    assert not published & {"leprosy", "google"}
    release.write(tmp_path / "release")
    for path in (tmp_path / "release").iterdir():
        assert b"leprosy" not in path.read_bytes()
    shown = ic.anonymize(data, ic.wordnet(data), k=5, method="microaggregation", verbatim=True)
    assert {item for row in shown.table()["items"].to_pylist() for item in row} <= {"leprosy", "google"}
    assert shown.claim.kind == "none"


def test_the_audit_catches_a_rare_query(data, tmp_path):
    release = made(data, verbatim=True)
    claim = ic.Claim("k-anonymity", K, "user", speaks_of="class", typed_by=K)
    boasting = replace(release, claim=claim, parameters={**release.parameters, "verbatim": False})
    with pytest.raises(ic.ClaimError, match="typed by fewer than 3 people"):
        boasting.write(tmp_path / "release")


def test_published_queries_stand_below_their_concept(data, tmp_path):
    made(data, verbatim=True).write(tmp_path / "release")
    parent = {
        row["label"]: row["parent"]
        for row in pq.read_table(tmp_path / "release/taxonomy.parquet").to_pylist()
    }
    assert parent["cheap red wine"] == "red wine"
    assert len(parent) == len(set(parent))


def test_a_query_of_two_concepts_stands_below_one_and_the_other_is_not_published(tmp_path):
    """Half of the people type more about wine, each in words of their own, and half about poodles."""
    lines = [
        aol_line(f"{topic}{user}", query)
        for topic in ("poodle", "wine")
        for user in range(K)
        for query in ("poodle and wine", f"{topic} zyxwv{user}", f"{topic} vwxyz{user}")
    ]
    (tmp_path / "log.tsv").write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    with ic.read_log(tmp_path / "log.tsv") as log:
        data = log.transactions(items="concepts", events=True)
    release = made(data)
    assert {release.taxonomy.labels[node].as_py() for node in release.classes.nodes} == {"poodle", "wine"}
    assert release.write(tmp_path / "release").holds
    assert release.table()["items"].to_pylist() == [["poodle and wine"]] * 2 * K
    rows = pq.read_table(tmp_path / "release/taxonomy.parquet").to_pylist()
    (query,) = (row for row in rows if row["exact"])
    assert (query["label"], query["leaves"]) == ("poodle and wine", 1)
    assert {row["label"] for row in rows} & {"poodle", "wine"} == {query["parent"]}


def test_the_seed_chooses_among_queries_of_one_meaning(data):
    tables = [made(data, verbatim=True, seed=seed).table() for seed in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_blocks_keep_groups_large_enough(data):
    release = made(data, block_size=8)
    assert min(Counter(release.classes.of_row.tolist()).values()) >= K


def test_what_it_needs(data):
    rows = ic.Transactions.from_rows([["a"], ["a"]])
    with pytest.raises(ic.BadInputError, match="needs the queries themselves: use items='concepts'"):
        ic.anonymize(rows, ic.balanced(rows, 2), k=2, method="microaggregation")
    with pytest.raises(ic.BadInputError, match="says nothing about meaning"):
        ic.anonymize(rows.with_events(), ic.balanced(rows, 2), k=2, method="microaggregation")
    with pytest.raises(ic.BadInputError, match="block_size must be at least 1"):
        made(data, block_size=0)
    with pytest.raises(ic.BadInputError, match="verbatim must be one of true, false"):
        made(data, verbatim="perhaps")


def run(log, *more, k=K):
    out = log.parent / "release"
    return call("anonymize", log, "--out", out, "--method", "microaggregation", "--k", k, *more)


def test_the_command_line(log, tmp_path):
    options = ["--out", tmp_path / "release", "--private-map", tmp_path / "map"]
    ran = run(log, "--json", *options)
    assert ran.code == 0, ran.err
    assert ran.json["parameters"]["items"] == "concepts"
    again = call("audit", tmp_path / "release", "--original", log, "--private-map", tmp_path / "map")
    assert again.code == 0
    assert "typed by at least 3 people" in again.out
    assert ran.json["claim"]["typed_by"] == K
    said = json.loads((tmp_path / "release/manifest.json").read_text())
    assert SECRET not in str(said)
    for path in (tmp_path / "release").iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_the_command_line_says_what_is_missing(log, tmp_path):
    out = tmp_path / "release"
    assert "needs concepts: drop --items nouns" in refused(run(log, "--items", "nouns", "--out", out), out)
    ran = run(log, "--items", "concepts", "--taxonomy", "balanced:5", "--out", out)
    assert "needs a knowledge base" in only_line(ran.err)


def test_a_log_with_no_concept_empty_and_endless_queries(tmp_path):
    path = tmp_path / "log.tsv"
    words = ["qwx zzv", "", "жизнь", "w " * 500, "vbnm"]
    lines = [aol_line(user, words[(user + i) % len(words)]) for user in range(8) for i in range(3)]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    ran = run(path, "--items", "concepts", "--json", k=2)
    assert ran.code == 0, ran.err
    assert ran.json["items"]["listed"] == 0
    assert ran.json["items"]["unlisted"] > 0
    assert ran.json["records_in"] == 8


def test_the_audit_says_what_it_cannot_see_without_the_originals(data, tmp_path):
    made(data).write(tmp_path / "release")
    assert ic.audit(tmp_path / "release").unproven == [
        "how many people typed each published query: only the originals show it"
    ]


def test_a_category_file_and_the_open_directory_are_knowledge_bases(log, tmp_path):
    paths = ["Top/Food/Red_Wine", "Top/Food/White_Wine", "Top/Animals/Dogs", "Top/Vehicles/Cars"]
    (tmp_path / "paths.tsv").write_text("".join(f"{path}\n" for path in paths))
    topics = "".join(f'<Topic r:id="{path}"><catid>1</catid></Topic>\n' for path in ["Top", *paths])
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<RDF xmlns:r="http://www.w3.org/TR/RDF/">\n'
    (tmp_path / "structure.rdf.u8").write_text(f"{head}{topics}</RDF>\n")
    found = []
    for name in ("paths.tsv", "structure.rdf.u8"):
        out = tmp_path / f"release-{name}"
        ran = run(log, "--taxonomy", tmp_path / name, "--out", out, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["items"]["listed"] >= 3
        found.append(pq.read_table(out / "records.parquet").to_pydict())
    assert found[0] == found[1]


def test_a_broken_category_file_names_the_line(log, tmp_path):
    (tmp_path / "paths.tsv").write_text("Top/Food/Red_Wine\nTop//Dogs\n")
    ran = run(log, "--taxonomy", tmp_path / "paths.tsv", "--out", tmp_path / "release")
    assert "line 2" in only_line(ran.err)
