"""One face over all that decides: it must say what its parts say, also in another process."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generalizer.naive import make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import decide, fixed_codes, generalize, parse_policies
from incrowd.generalizer.counters import Scan
from incrowd.generalizer.cube.cube import open_cube
from incrowd.generalizer.generalizer import decide_rungs, fixed_state
from incrowd.generalizer.linked import (
    PastDisclosuresError,
    TooManyDisclosuresError,
    linked_lattices,
    past_nodes,
    stored,
)
from incrowd.generalizer.plan import plan_of
from incrowd.generalizer.protection import Protection
from incrowd.generalizer.schema import encode, schema_of
from incrowd.generalizer.strict import StrictChoice
from incrowd.generalizer.synthetic import synthetic_loans

POLICIES = parse_policies(["income:l=5"])
QUERY = {"county": "Essex", "race": "Black", "gender": "Female", "reason": "Collateral"}
KEY = b"a key of sixteen or more bytes"


@pytest.fixture(scope="module")
def table():
    made = synthetic_loans(3_000)
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
    protection = Protection(counter, strategy="worst-fit")
    first = protection.decide({"loan": 77200}, POLICIES)
    assert first.kept
    past = {name: frozenset({text}) for name, text in stored(first.sent_nodes, counter.schema).items()}
    decision = protection.decide(QUERY, POLICIES, disclosed=past)
    fixed = fixed_codes(QUERY, counter.schema, POLICIES)
    lattices = linked_lattices(counter, fixed, ["income"], past_nodes(past, counter.schema))
    assert decision == decide(QUERY, counter.schema, lattices, POLICIES, strategy="worst-fit")
    assert decision.kept != protection.decide(QUERY, POLICIES).kept


@pytest.mark.parametrize("strategy", ["worst-fit", "strict"])
def test_it_travels_to_another_process(counter, strategy):
    protection = Protection(counter, strategy=strategy)
    protection.warm_up([list(QUERY)], [POLICIES])
    copy = pickle.loads(pickle.dumps(protection))
    copy.compile(POLICIES)
    for names in (["county"], ["county", "race"], list(QUERY)):
        query = {name: QUERY[name] for name in names}
        assert copy.decide(query, POLICIES) == protection.decide(query, POLICIES)


def test_strict_mode_keeps_the_same_names_whatever_the_values(counter):
    protection = Protection(counter)
    kept = set()
    for row in synthetic_loans(200, 7).to_pylist():
        decision = protection.decide({name: row[name] for name in ("county", "race", "reason")}, POLICIES)
        if not decision.refused:
            kept.add(tuple(decision.kept))
    assert len(kept) == 1


def test_a_template_is_worked_out_beforehand(table, monkeypatch):
    protection = Protection(Scan(table))
    protection.warm_up([["county", "race", "income"]], [POLICIES])
    monkeypatch.setattr(
        "incrowd.generalizer.strict.StrictChoice._choose", None
    )  # it cannot be worked out any more
    for query in (
        {},
        {"county": "Essex"},
        {"race": "Black"},
        {"county": "Essex", "race": "Black", "income": 56500},
    ):
        protection.decide(query, POLICIES)


COLUMNS = ("a", "b", "c", "x", "y")
LADDERS = {"b": {value: (value // 2,) for value in range(4)}}
NODES = {"a": ["0/0", "0/1"], "b": ["0/0", "0/1", "0/2", "1/0", "1/1"], "c": ["0/2", "0/3"]}


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=4, max_size=30),
    query=st.dictionaries(st.sampled_from("abcx"), st.integers(0, 3)),
    past=st.none()
    | st.fixed_dictionaries({}, optional={n: st.sets(st.sampled_from(NODES[n])) for n in NODES}),
    protect=st.sampled_from([["x:g=1.4"], ["x:g=1.2", "y:g=1.3"], ["x:g=1.1"]]),
    climbed=st.fixed_dictionaries({"a": st.integers(0, 1), "b": st.integers(0, 2), "c": st.integers(0, 1)}),
)
def test_strict_looks_at_the_cells_that_count_and_decides_as_over_all_states(
    rows, query, past, *, protect, climbed
):
    table = make_table(COLUMNS, rows, domains=dict.fromkeys(COLUMNS, range(4)), ladders=LADDERS)
    policies = parse_policies(protect)
    disclosed = None if past is None else {name: frozenset(texts) for name, texts in past.items()}
    rungs = StrictChoice(table, policies).rungs_for(list(query))
    protected = [policy.attribute for policy in policies]
    fixed = fixed_codes(query, table.schema, policies)
    for counter in (Scan(table), open_cube(table, protected)):
        lattices = [counter.lattice(fixed, protected)]
        if disclosed is not None:
            lattices = linked_lattices(counter, fixed, protected, past_nodes(disclosed, table.schema))
        expected = fixed_state(query, table.schema, lattices, policies, rungs)
        found = Protection(counter).decide(query, policies, disclosed=disclosed)
        assert found == expected
        assert found.sent_nodes == expected.sent_nodes
        # Whatever the rungs: strict itself seldom chooses a coarser one in such small tables.
        some, plan = tuple(climbed[name] for name in fixed), plan_of(table.schema, policies)
        assert decide_rungs(plan, plan.codes(query), counter, some) == fixed_state(
            query, table.schema, [counter.lattice(fixed, protected)], policies, some
        )


def test_every_part_of_the_past_counts_unless_it_need_not():
    """All together hide x, and so does the query alone; a alone with the query does not."""
    rows = [(n % 2, n // 2 % 2, 0, n % 3, 0) for n in range(12)] + [(0, 0, 0, 0, 0)] * 8
    counter = Scan(make_table(COLUMNS, rows))
    disclosed = {"a": frozenset({"0/0"}), "b": frozenset({"0/1"})}
    for parts, refused in ((False, False), (True, True)):
        protection = Protection(counter, parts=parts)
        assert (
            protection.decide({"c": 0}, parse_policies(["x:g=1.6"]), disclosed=disclosed).refused is refused
        )


def test_strict_refuses_what_past_disclosures_make_too_easy_to_guess(counter):
    protection = Protection(counter)
    many = {
        name: frozenset(f"0/{value}" for value in counter.schema[name].domain[:5])
        for name in ("county", "race")
    }
    with pytest.raises(TooManyDisclosuresError, match="more than 64 ways"):
        protection.decide(
            {},
            POLICIES,
            disclosed=many | {"reason": frozenset({"0/Other", "0/Collateral", "0/Insurance denied"})},
        )
    with pytest.raises(PastDisclosuresError, match="'income' is protected now but was disclosed"):
        protection.decide(
            {}, POLICIES, disclosed={"income": frozenset({f"0/{counter.schema['income'].domain[0]}"})}
        )


def test_strict_needs_the_table(counter):
    alone = pickle.loads(pickle.dumps(open_cube(counter.table, ["income"])))
    with pytest.raises(BadInputError, match="strategy strict needs the auxiliary table"):
        generalize(QUERY, alone, POLICIES)
    assert generalize(QUERY, alone, POLICIES, strategy="worst-fit").kept
    with pytest.raises(BadInputError, match="strategy must be one of strict, brute-force"):
        Protection(counter, strategy="best")
    with pytest.raises(BadInputError, match="strategy must be one of brute-force"):
        decide(QUERY, counter.schema, [], POLICIES, strategy="strict")
