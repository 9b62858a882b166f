"""One face over all that decides: it must say what its parts say, also in another process."""

from __future__ import annotations

import pickle

import pytest

from incrowd.online import decide, fixed_codes, generalize, parse_policies
from incrowd.online.counters import Scan
from incrowd.online.cube import open_cube
from incrowd.online.linked import linked_lattices, stored, told_nodes
from incrowd.online.made import made_loans
from incrowd.online.protection import Protection
from incrowd.online.schema import encode, schema_of

POLICIES = parse_policies(["income:l=5"])
QUERY = {"county": "Essex", "race": "Black", "gender": "Female", "reason": "Collateral"}
KEY = b"a key of sixteen or more bytes"


@pytest.fixture(scope="module")
def table():
    made = made_loans(3_000)
    return encode(made, schema_of(made))


@pytest.fixture(scope="module", params=["scan", "cube"])
def counter(request, table, tmp_path_factory):
    if request.param == "scan":
        return Scan(table)
    return open_cube(table, ["income"], tmp_path_factory.mktemp("cubes"))


@pytest.mark.parametrize("strategy", ["worst-fit", "random-fit", "least-rows"])
def test_it_decides_as_its_parts_do(counter, strategy):
    protection = Protection(counter, strategy=strategy, key=KEY)
    expected = generalize(QUERY, counter, POLICIES, strategy=strategy, key=KEY, user="ann")
    assert protection.decide(QUERY, POLICIES, user="ann") == expected
    assert expected.dropped, "else nothing was to be decided"


def test_the_past_counts(counter):
    protection = Protection(counter)
    first = protection.decide({"loan": 77200}, POLICIES)
    assert first.kept
    told = {name: frozenset({text}) for name, text in stored(first.sent_nodes, counter.schema).items()}
    decision = protection.decide(QUERY, POLICIES, disclosed=told)
    fixed = fixed_codes(QUERY, counter.schema, POLICIES)
    lattices = linked_lattices(counter, fixed, ["income"], told_nodes(told, counter.schema))
    assert decision == decide(QUERY, counter.schema, lattices, POLICIES)
    assert decision.kept != protection.decide(QUERY, POLICIES).kept


@pytest.mark.parametrize("strict", [False, True])
def test_it_travels_to_another_process(counter, table, strict):
    protection = Protection(counter, strict=table if strict else None)
    protection.warm_up([list(QUERY)], [POLICIES])
    copy = pickle.loads(pickle.dumps(protection))
    copy.compile(POLICIES)
    for names in (["county"], ["county", "race"], list(QUERY)):
        query = {name: QUERY[name] for name in names}
        assert copy.decide(query, POLICIES) == protection.decide(query, POLICIES)


def test_strict_mode_keeps_the_same_names_whatever_the_values(counter, table):
    protection = Protection(counter, strict=table)
    kept = set()
    for row in made_loans(200, 7).to_pylist():
        decision = protection.decide({name: row[name] for name in ("county", "race", "reason")}, POLICIES)
        if not decision.refused:
            kept.add(tuple(decision.kept))
    assert len(kept) == 1


def test_a_template_is_worked_out_beforehand(table, monkeypatch):
    protection = Protection(Scan(table), strict=table)
    protection.warm_up([["county", "race", "income"]], [POLICIES])
    monkeypatch.setattr(
        "incrowd.online.strict.StrictChoice._choose", None
    )  # it cannot be worked out any more
    for query in (
        {},
        {"county": "Essex"},
        {"race": "Black"},
        {"county": "Essex", "race": "Black", "income": 56500},
    ):
        protection.decide(query, POLICIES)
