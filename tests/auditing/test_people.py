"""Where one person may have several records: k different people per class, from the method to the audit."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd as ic
from cli.helpers import AOL_HEADER, aol_line, call, only_line, refused
from incrowd.auditing.itemsets import rare_among_people
from incrowd.core.classes import WITHHELD
from incrowd.methods.people import with_people
from incrowd.methods.registry import METHODS
from strategies import cases, taxonomy_of, variants_of

K = 3
RULED = [
    pytest.param(name, variant, id="-".join([name, *map(str, variant.values())]))
    for name in ic.METHODS
    for variant in variants_of(METHODS[name])
    if METHODS[name].promise in {"k-anonymity", "k^m-anonymity"}
]


def sessions(people=9, each=7):
    """Return rows in which one person's are more alike than different people's, and whose each is."""
    rows, whose = [], []
    for person in range(people):
        for session in range(each if person % 4 else 3 * each):
            own = [f"p{person}", f"p{person}", f"q{session % 3}"]
            rows.append(own if session % 2 else [*own, f"r{person % 3}"])
            whose.append(f"person {person}")
    return rows, whose


def made(method, variant, *, distinct=None, k=K):
    rows, people = sessions()
    data = ic.Transactions.from_rows(rows, people=people)
    tree = ic.balanced(data, 3)
    if METHODS[method].needs_events:
        leaves = data.vocabulary.to_pylist()
        data, tree = data.with_events(), taxonomy_of({"all": leaves, **{leaf: [] for leaf in leaves}})
    return ic.anonymize(data, tree, k=k, method=method, distinct=distinct, **variant)


def sharing(directory, private_map, person_of):
    """Return the different people behind each distinct record, counted from the files and who owns what."""
    table = pq.read_table(directory / "records.parquet").to_pydict()
    contents = list(zip(map(tuple, table["items"]), map(tuple, table["counts"]), strict=True))
    people = defaultdict(set)
    for row in pq.read_table(private_map).to_pylist():
        people[contents[row["row"]]].add(person_of(row["owner"]))
    return people


def user_of(owner):
    return owner.rpartition("#")[0]


@pytest.mark.parametrize(("method", "variant"), RULED)
def test_every_method_counts_people(method, variant, tmp_path):
    release = made(method, variant)
    assert release.claim.distinct == "people"
    result = release.write(tmp_path / "release", private_map=tmp_path / "map")
    whose = dict(zip(release.transactions.owners.to_pylist(), sessions()[1], strict=True))
    people = sharing(tmp_path / "release", tmp_path / "map", whose.__getitem__)
    assert result.people_min == release.counts.people_min == min(map(len, people.values()))
    if METHODS[method].promise == "k-anonymity":
        assert release.counts.people_min >= K
        return
    support = defaultdict(set)
    for (items, _), some in people.items():
        for pair in [*combinations(items, 1), *combinations(items, 2)]:
            support[pair] |= some
    assert min(map(len, support.values())) >= K


def test_counting_records_is_not_counting_people():
    """Otherwise the tests here could not fail."""
    release = made("partition", {}, distinct="records")
    assert release.claim.distinct == "records"
    assert release.counts.k_min >= K > release.counts.people_min
    assert "several records of a class may be one person's" in str(
        ic.Claim("k-anonymity", 3, "session").not_promised
    )


def test_the_words_speak_of_people():
    claim = ic.Claim("k-anonymity", 3, "session", distinct="people")
    assert claim.in_words == (
        "Every published record is shared by at least 3 different people (and so by at least 3 sessions)."
    )
    assert "one person's" not in str(claim.not_promised)


@settings(max_examples=200)
@given(cases(), st.randoms(use_true_random=False))
def test_merged_classes_have_enough_people_and_generalize(case, chance):
    people = [str(chance.randrange(1 + len(case.rows) // 2)) for _ in case.rows]
    filled = {person for person, row in zip(people, case.rows, strict=True) if row}
    if len(filled) < case.k:
        return
    data = ic.Transactions.from_rows(case.rows, people=people)
    tree = case.attached().taxonomy
    for variant in variants_of(METHODS["partition"]):
        alone = ic.METHODS["partition"](data, tree, k=case.k, **variant)
        merged = with_people(alone, tree, data.person, case.k)
        assert merged.people(data.person).min() >= case.k
        assert (merged.of_row == WITHHELD).tolist() == (alone.of_row == WITHHELD).tolist()
        for number in range(len(alone)):  # classes are joined, never split
            assert len(set(merged.of_row[alone.of_row == number].tolist())) == 1
        if variant["publish"] == "set":
            assert set(merged.counts.tolist()) == {1}


def test_classes_of_enough_people_stay_as_they_are():
    data = ic.Transactions.from_rows([["a"], ["a"], ["b"], ["b"]], people=["1", "2", "1", "2"])
    tree = ic.balanced(data, 2)
    classes = ic.METHODS["partition"](data, tree, k=2)
    assert with_people(classes, tree, data.person, 2) is classes


def test_the_cheapest_neighbour_is_taken():
    rows = [["a1"], ["a1"], ["a2"], ["a2"], ["b1"], ["b1"], ["b2"], ["b2"]]
    data = ic.Transactions.from_rows(rows, people=["1", "1", "2", "3", "4", "5", "6", "7"])
    release = ic.anonymize(data, ic.balanced(data, 2), k=2, method="flock")
    assert Counter(map(tuple, release.table()["items"].to_pylist())) == {
        ("group 1.1",): 4,
        ("b1",): 2,
        ("b2",): 2,
    }


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcdef"), max_size=5), st.integers(0, 4)), max_size=15),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_rare_among_people_is_what_it_says(records, k, m):
    support = defaultdict(set)
    for labels, person in records:
        for size in range(1, m + 1):
            for some in combinations(sorted(set(labels)), size):
                support[some].add(person)
    assert rare_among_people(records, k, m) == sum(len(people) < k for people in support.values())


def test_more_people_than_there_are_is_refused():
    with pytest.raises(ic.BadInputError, match="k must be at most 9, the number of people"):
        made("partition", {}, k=10)


def test_each_row_is_somebody_where_nothing_else_is_said():
    data = ic.Transactions.from_rows([["a"], ["a"]])
    assert data.person.tolist() == [0, 1]
    assert ic.anonymize(data, ic.balanced(data, 2), k=2, method="flock").claim.distinct == "records"


@pytest.fixture
def log(tmp_path):
    """Six people with four visits each; each person asks the same in every visit, pairs of them alike."""
    lines = [
        aol_line(person, f"thing{person // 2}", f"2006-03-0{day} 10:00:00")
        for person in range(6)
        for day in range(1, 5)
    ]
    path = tmp_path / "log.tsv"
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


def anonymized(log, *more):
    options = ["--out", log.parent / "release", "--unit", "session:30m", "--items", "queries"]
    return call(
        "anonymize",
        log,
        "--method=flock",
        *options,
        "--k",
        4,
        "--private-map",
        log.parent / "map",
        "--json",
        *more,
    )


def test_sessions_count_people_unless_told_otherwise(log):
    ran = anonymized(log)
    assert ran.code == 0, ran.err
    assert ran.json["claim"]["distinct"] == "people"
    assert ran.json["people_min"] >= 4
    assert ran.json["k_min"] >= 16
    assert min(map(len, sharing(log.parent / "release", log.parent / "map", user_of).values())) >= 4


def test_records_can_be_counted_instead(log):
    ran = anonymized(log, "--distinct", "records")
    assert ran.code == 0, ran.err
    assert ran.json["claim"]["distinct"] == "records"
    assert ran.json["people_min"] == 2


def test_the_audit_counts_people_from_the_log_and_believes_no_map(log):
    assert anonymized(log).code == 0
    alone = call("audit", log.parent / "release")
    assert alone.code == 0
    assert "Nothing speaks against" in alone.out
    assert "NOT PROVEN: how many different people" in alone.out
    believed = call("audit", log.parent / "release", "--private-map", log.parent / "map", "--json")
    assert believed.code == 0
    assert believed.json["people_min"] >= 4
    assert not believed.json["confirmed"]
    originals = ("--original", log, "--private-map", log.parent / "map")
    known = call("audit", log.parent / "release", *originals, "--json")
    assert known.code == 0, known.json["problems"]
    assert known.json["people_min"] >= 4
    assert known.json["unchecked"] == []
    assert "The audit confirms" in call("audit", log.parent / "release", *originals).out


def test_the_audit_sees_when_they_are_fewer_by_the_map(log):
    assert anonymized(log).code == 0
    table = pq.read_table(log.parent / "map")
    owners = [
        f"0#{n}" if int(user_of(owner)) < 4 else owner for n, owner in enumerate(table["owner"].to_pylist())
    ]
    changed = table.set_column(0, "owner", [owners]).cast(table.schema)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), log.parent / "map")
    ran = call("audit", log.parent / "release", "--private-map", log.parent / "map", "--json")
    assert ran.code == 1
    assert any("fewer than 4 different people" in problem for problem in ran.json["problems"])


def test_what_distinct_may_be(log, tmp_path):
    line = refused(anonymized(log, "--distinct", "persons"), tmp_path / "release")
    assert "distinct must be one of records, people" in line
    baskets = tmp_path / "baskets.dat"
    baskets.write_text("a b\n" * 4)
    ran = call(
        "anonymize",
        "--method=flock",
        baskets,
        "--out",
        tmp_path / "release",
        "--k",
        2,
        "--distinct",
        "people",
    )
    assert ran.code == 2
    assert "whose each record is" in only_line(ran.err)


def test_numbers_of_people_are_any_codes():
    data = ic.Transactions.from_rows([["a"]] * 4, people=["z", "b", "z", "b"])
    classes = ic.METHODS["partition"](data, ic.balanced(data, 2), k=2)
    assert classes.people(data.person).tolist() == [2]
    assert classes.people(np.array([7, 7, 7, 7], dtype=np.int32)).tolist() == [1]
