"""What is sent in place of a query: the paper's example, and every strategy against its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from generalizer.naive import all_states, choice, entropy, height, make_table
from golden import GOLDEN
from incrowd.errors import BadInputError
from incrowd.generalizer import (
    STRATEGIES,
    Policy,
    Scan,
    decide,
    fixed_codes,
    fixed_state,
    generalize,
    open_cube,
    parse_policies,
)
from incrowd.generalizer.generalizer import _draws

PAPER = GOLDEN["generalizer"]
TABLE = make_table(PAPER["columns"], PAPER["rows"])
KEY = b"a key of sixteen bytes or more"
GMIN_2 = parse_policies(["Income:g=2"])
NAMES = ("a", "b", "c", "d", "e")
COARSER = {value: (value // 2,) for value in range(4)}


def counted(table, kind, protected):
    return {
        "table": lambda: table,
        "scan": lambda: Scan(table),
        "cube": lambda: open_cube(table, [*protected]),
    }[kind]()


def ask(query, policies=GMIN_2, table=TABLE, **parameters):
    return generalize(
        query, table, policies, **({"strategy": "worst-fit", "key": KEY, "user": "u"} | parameters)
    )


@pytest.mark.parametrize(("strategy", "kept"), PAPER["at_Gmin_2_derived"].items())
def test_the_papers_query_at_gmin_2(strategy, kept):
    decision = ask(PAPER["query"], strategy=strategy)
    assert not decision.refused
    assert decision.kept == {name: PAPER["query"][name] for name in kept}
    assert decision.dropped == tuple(name for name in PAPER["query"] if name not in kept)
    assert decision.entropy_before == {"Income": Fraction(4, 3)}
    assert decision.entropy_after == {"Income": Fraction(PAPER["lattice_derived"][",".join(kept)])}
    assert (decision.rows_before, decision.rows_after) == (3, 6 if kept else 12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_protected_attributes_are_never_sent(strategy):
    with_income = ask(PAPER["query"] | {"Income": "$40k"}, strategy=strategy)
    assert "Income" not in with_income.kept
    assert "Income" in with_income.dropped
    assert with_income.kept == ask(PAPER["query"], strategy=strategy).kept


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_protected_attributes_are_not_sent_even_if_one_guess_is_enough(strategy):
    """A query that fixes the income costs one guess: enough for this policy, and still no reason to send it."""
    decision = ask({"Loan": "$20k", "Income": "$40k"}, [Policy("Income", Fraction(1))], strategy=strategy)
    assert decision.kept == {"Loan": "$20k"}
    assert decision.dropped == ("Income",)
    assert decision.rows_after == 6


def test_a_private_query_is_sent_unchanged():
    decision = ask({"Loan": "$20k", "Race": None})
    assert decision.kept == {"Loan": "$20k"}
    assert decision.dropped == ()
    assert decision.reason.startswith("Sent unchanged")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_boundary_is_exact(strategy):
    everything = Fraction(11, 4)
    assert ask({}, [Policy("Income", everything)], strategy=strategy).refused is False
    above = ask(PAPER["query"], [Policy("Income", everything + Fraction(1, 10**15))], strategy=strategy)
    assert above.refused
    assert above.kept == above.entropy_after == {}
    assert set(above.dropped) == set(PAPER["query"])
    assert above.reason.startswith("Refused")


def test_a_query_for_everything_is_not_a_refusal():
    decision = ask(PAPER["query"], [Policy("Income", Fraction(11, 4))])
    assert (decision.refused, decision.kept, decision.rows_after) == (False, {}, 12)


def test_brute_force_keeps_the_most_attributes_of_equals():
    """Loan with Race, and Race alone, both cost 7/4 guesses."""
    decision = ask(PAPER["query"], [Policy("Income", Fraction(7, 4))], strategy="brute-force")
    assert list(decision.kept) == ["Loan", "Race"]


@pytest.mark.parametrize("strategy", ["brute-force", "best-fit", "worst-fit"])
def test_of_equals_the_first_in_the_schema_is_kept(strategy):
    rows = [(1, 1, 0), (1, 0, 1), (0, 1, 1), (0, 0, 2)]
    for names in (("a", "b", "x"), ("b", "a", "x")):
        table = make_table(names, rows)
        decision = ask({"a": 1, "b": 1}, [Policy("x", Fraction(3, 2))], table, strategy=strategy)
        assert list(decision.kept) == [names[0]]


def test_of_equals_the_one_with_the_fewest_steps_is_sent():
    """One rung up for a, or two for b: both leave two values."""
    rows = [(0, 0, 0), (1, 0, 1), (0, 2, 1)]
    coarser = {value: (value // 2, value // 4) for value in range(4)}
    values = {"a": range(4), "b": range(4)}
    table = make_table(("a", "b", "x"), rows, domains=values, ladders={"a": coarser, "b": coarser})
    decision = ask({"a": 0, "b": 0}, [Policy("x", Fraction(3, 2))], table, strategy="brute-force")
    assert decision.rungs == {"a": 1, "b": 0}


def test_a_greedy_strategy_that_runs_out_tries_brute_force():
    """Everything together is skewed; the only private query is the one that worst-fit and best-fit pass by."""
    rows = [(1, 1, 1, 0)] + [(1, 0, 1, 1), (1, 0, 0, 2)] + [(0, 1, 1, 0)] * 3 + [(0, 0, 0, 0)] * 30
    table = make_table(("a", "b", "c", "x"), rows)
    states = all_states(("a", "b", "c", "x"), rows, {"a": 1, "b": 1, "c": 1}, "x")
    assert [rungs for rungs, (found, _) in states.items() if found >= 2] == [(0, 1, 1)]
    policies = [Policy("x", Fraction(2))]
    decisions = [
        ask({"a": 1, "b": 1, "c": 1}, policies, table, strategy="random-fit", user=str(user))
        for user in range(40)
    ]
    assert all(list(decision.kept) == ["a"] for decision in decisions)
    assert len({"brute force" in decision.reason for decision in decisions}) == 2


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1, max_size=25),
    query=st.fixed_dictionaries({}, optional=dict.fromkeys("abc", st.integers(0, 3))),
    laddered=st.sets(st.sampled_from("abc")),
    minima=st.dictionaries(
        st.sampled_from("de"), st.fractions(1, 3, max_denominator=10), min_size=1, max_size=2
    ),
    strategy=st.sampled_from(["brute-force", "best-fit", "worst-fit", "least-rows"]),
    kind=st.sampled_from(["table", "scan", "cube"]),
)
def test_every_strategy_is_its_definition(*, rows, query, laddered, minima, strategy, kind):
    if len(rows) % 2:  # numbers that doubles cannot hold
        minima = {name: minimum + Fraction(1, 10**14) for name, minimum in minima.items()}
    ladders = dict.fromkeys(laddered, COARSER)
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(4)), ladders=ladders)
    query = {name: query[name] for name in NAMES if name in query}
    found = {name: all_states(NAMES, rows, query, name, ladders) for name in minima}
    states = next(iter(found.values()))
    shape = [height(ladders, name) + 1 for name in query]

    def score(rungs):
        return min(found[name][rungs][0] / minimum for name, minimum in minima.items())

    expected, ran_out = choice(strategy, shape, score, total=lambda rungs: states[rungs][1])
    policies = [Policy(name, minimum) for name, minimum in minima.items()]
    decision = ask(query, policies, counted(table, kind, minima), strategy=strategy)
    assert decision.refused == (expected is None)
    if expected is not None:
        sizes = zip(query, expected, shape, strict=True)
        assert decision.rungs == {name: rung for name, rung, size in sizes if rung < size - 1}
        assert ("brute force" in decision.reason) == (ran_out and any(expected))
        assert decision.entropy_after == {name: found[name][expected][0] for name in minima}
        assert decision.rows_after == states[expected][1]


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2)] * 5), min_size=1, max_size=20),
    query=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2)),
    strategy=st.sampled_from(STRATEGIES),
)
def test_what_is_sent_holds_for_all_protected_attributes(rows, query, strategy):
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(3)))
    policies = parse_policies(["d:g=3/2", "e:l=2"])
    decision = ask(query, policies, table, strategy=strategy)
    assume(not decision.refused)
    sent = {name: (value, 0) for name, value in decision.kept.items()}
    assert sent.items() <= {name: (value, 0) for name, value in query.items()}.items()
    for policy in policies:
        found, total = entropy(NAMES, rows, sent, policy.attribute)
        assert total > 0
        assert found >= policy.minimum
        assert found == decision.entropy_after[policy.attribute]


def test_a_second_protected_attribute_asks_for_more():
    """Loan alone hides the income; for the county to cost three and a half guesses more must go."""
    one = ask(PAPER["query"])
    both = ask(PAPER["query"], parse_policies(["Income:g=2", "County:g=7/2"]))
    assert list(one.kept) == ["Loan"]
    assert both.kept == {}
    assert both.entropy_after["County"] == Fraction(43, 12)


def test_ladders_are_climbed_one_rung_at_a_time():
    rows = [("Essex", 0), ("Essex", 0), ("Dukes", 1), ("Kent", 2)]
    ladders = {"county": {"Essex": ["MA"], "Dukes": ["MA"], "Kent": ["RI"]}}
    table = make_table(("county", "x"), rows, ladders=ladders)
    for minimum, kept, rungs in ((1, "Essex", 0), (Fraction(4, 3), "MA", 1)):
        decision = ask({"county": "Essex"}, [Policy("x", Fraction(minimum))], table)
        assert decision.kept == {"county": kept}
        assert decision.rungs == {"county": rungs}
        assert decision.dropped == ()
    assert "county made coarser" in decision.reason
    assert ask({"county": "Essex"}, [Policy("x", Fraction(3, 2))], table).dropped == ("county",)


def test_a_repeated_query_to_random_fit_discloses_nothing_new():
    first = ask(PAPER["query"], strategy="random-fit")
    turned = dict(reversed(PAPER["query"].items()))
    assert all(ask(turned, strategy="random-fit") == first for _ in range(5))


def test_random_fit_depends_on_the_key_and_the_user():
    low = [Policy("Income", Fraction(3, 2))]

    def kept(**parameters):
        return tuple(ask(PAPER["query"], low, strategy="random-fit", **parameters).kept)

    by_key = {kept(key=bytes([number]) * 16) for number in range(60)}
    by_user = {kept(user=str(number)) for number in range(60)}
    assert by_key == by_user == {("Loan", "Race"), ("Loan", "Gender"), ("Race",), ("Gender",)}


def test_random_fit_depends_on_the_query():
    """Thirty queries of one shape by one person: each draws for itself."""
    rows = [row for n in range(1, 31) for row in ((n, n, 0), (n, 0, 1), (0, n, 1))]
    table = make_table(("a", "b", "x"), rows)
    policies = [Policy("x", Fraction(3, 2))]
    kept = [list(ask({"a": n, "b": n}, policies, table, strategy="random-fit").kept) for n in range(1, 31)]
    assert {len(names) for names in kept} == {1}
    assert 5 <= kept.count(["a"]) <= 25


def test_a_stricter_policy_goes_further_along_the_same_way():
    for user in map(str, range(30)):
        sent = [
            ask(PAPER["query"], [Policy("Income", Fraction(minimum))], strategy="random-fit", user=user).kept
            for minimum in ("4/3", "3/2", "7/4", "11/4")
        ]
        assert all(after.items() <= before.items() for before, after in pairwise(sent))


def test_random_fit_takes_many_steps():
    """Twelve attributes take more draws than one digest has; every order of dropping them occurs."""
    names = [f"q{place:02}" for place in range(12)]
    table = make_table([*names, "x"], [(*(int(n == place) for place in range(12)), n % 2) for n in range(13)])
    query, last = dict.fromkeys(names, 1), set()
    for user in map(str, range(60)):
        decision = ask(query, [Policy("x", Fraction(1))], table, strategy="random-fit", user=user)
        assert decision == ask(query, [Policy("x", Fraction(1))], table, strategy="random-fit", user=user)
        assert len(decision.kept) == 1
        last |= decision.kept.keys()
    assert len(last) == 12


def test_random_fit_never_draws_the_same_numbers_again():
    draws = _draws(KEY, "u", {}, TABLE.schema, (20, 20))
    assert len(draws) >= 40
    assert len(set(draws.tolist())) == len(draws)


@pytest.mark.parametrize("kind", ["scan", "cube"])
def test_random_fit_is_the_same_whoever_counts(kind):
    for user in map(str, range(20)):
        alike = [
            ask(PAPER["query"], GMIN_2, counter, strategy="random-fit", user=user)
            for counter in (TABLE, counted(TABLE, kind, ["Income"]))
        ]
        assert alike[0] == alike[1]


def test_random_fit_needs_a_key():
    for key in (b"", b"short"):
        with pytest.raises(BadInputError, match="key must have at least 16 bytes"):
            ask(PAPER["query"], strategy="random-fit", key=key)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_matching_row_is_not_private(strategy):
    query = {"Loan": "$100k", "Race": "Black"}
    decision = ask(query, [Policy("Income", Fraction(1))], strategy=strategy)
    assert decision.rows_before == 0
    assert decision.entropy_before == {"Income": 0}
    assert decision.dropped
    assert decision.rows_after > 0


def test_values_stay_out_of_reprs_and_reasons():
    query = PAPER["query"] | {"Income": "$40k"}
    for minimum in (1, 2, 3):
        decision = ask(query, [Policy("Income", Fraction(minimum))])
        shown = repr(decision) + str(decision) + decision.reason
        assert not any(value in shown for value in query.values())


@pytest.mark.parametrize(
    ("query", "protect", "message"),
    [
        ({"Lone": "$20k"}, ["Income:g=2"], "no attribute 'Lone'; .*did you mean 'Loan'"),
        ({"Loan": "secret"}, ["Income:g=2"], "attribute 'Loan' has no such value"),
        ({"Income": "secret"}, ["Income:g=2"], "attribute 'Income' has no such value"),
        ({"Loan": "$20k"}, ["Incom:g=2"], "no attribute 'Incom'"),
        ({"Loan": "$20k"}, [], "at least one attribute"),
    ],
)
def test_mistakes_are_one_line_that_names_no_value(query, protect, message):
    with pytest.raises(BadInputError, match=message) as error:
        ask(query, parse_policies(protect))
    assert "\n" not in str(error.value)
    assert not any(value in str(error.value) for value in query.values())


def test_unknown_strategies_and_doubled_policies():
    with pytest.raises(BadInputError, match="did you mean 'worst-fit'"):
        ask(PAPER["query"], strategy="worst-fitt")
    with pytest.raises(BadInputError, match="each only once"):
        ask(PAPER["query"], [*GMIN_2, *GMIN_2])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("minimum", [Fraction(1) + Fraction(1, 10**40), Fraction(5, 2) + Fraction(1, 10**18)])
def test_numbers_too_long_to_compare_exactly_are_refused(strategy, minimum):
    with pytest.raises(BadInputError, match=r"protect Income: .*fewer digits") as error:
        ask(PAPER["query"], [Policy("Race", Fraction(1)), Policy("Income", minimum)], strategy=strategy)
    assert "\n" not in str(error.value)
    with pytest.raises(BadInputError, match=r"protect Income: .*fewer digits"):
        fixed_state({}, TABLE.schema, [Scan(TABLE).lattice({}, ["Income"])], [Policy("Income", minimum)], ())


# Several lattices: the query by itself, and together with past disclosures.


def lattices_of(query, past, table=TABLE, protected=("Income",), kind="scan"):
    policies = [Policy(name, Fraction(1)) for name in protected]
    fixed = fixed_codes(query, table.schema, policies)
    counter = counted(table, kind, protected)
    nodes = {name: (table.schema[name].code(value), 0) for name, value in past.items()}
    return [counter.lattice(fixed, protected), counter.lattice(fixed, protected, nodes)]


@pytest.mark.parametrize("kind", ["scan", "cube"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_query_must_be_private_in_every_lattice(strategy, kind):
    query = {"Loan": "$20k"}
    assert ask(query, strategy=strategy).kept == query
    lattices = lattices_of(query, {"Race": "Black", "Gender": "Female"}, kind=kind)
    decision = decide(query, TABLE.schema, lattices, GMIN_2, strategy=strategy, key=KEY)
    rows = [row for row in PAPER["rows"] if {"Black", "Female"} <= set(row)]
    found, total = entropy(PAPER["columns"], rows, {}, "Income")
    assert 0 < total < len(PAPER["rows"])
    assert decision.refused == (found < 2)
    assert decision.entropy_before["Income"] == min(
        entropy(PAPER["columns"], some, {"Loan": ("$20k", 0)}, "Income")[0] for some in (rows, PAPER["rows"])
    )
    assert decision.rows_before == 6  # of the query by itself


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2)] * 5), min_size=1, max_size=25),
    query=st.fixed_dictionaries({}, optional=dict.fromkeys("abc", st.integers(0, 2))),
    past=st.fixed_dictionaries({}, optional=dict.fromkeys("abc", st.integers(0, 2))),
    minimum=st.fractions(1, 2, max_denominator=6),
    strategy=st.sampled_from(["brute-force", "best-fit", "worst-fit", "least-rows"]),
    kind=st.sampled_from(["scan", "cube"]),
)
def test_several_lattices_score_as_the_least_of_them(*, rows, query, past, minimum, strategy, kind):
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(3)))
    query = {name: query[name] for name in NAMES if name in query}
    agree = [row for row in rows if all(row[NAMES.index(name)] == value for name, value in past.items())]
    found = [all_states(NAMES, some, query, name) for some in (rows, agree) for name in "de"]

    def score(rungs):
        return min(states[rungs][0] / minimum for states in found)

    expected, _ = choice(strategy, [2] * len(query), score, total=lambda rungs: found[0][rungs][1])
    policies = [Policy("d", minimum), Policy("e", minimum)]
    lattices = lattices_of(query, past, table, ("d", "e"), kind)
    decision = decide(query, table.schema, lattices, policies, strategy=strategy)
    turned = decide(query, table.schema, lattices, policies[::-1], strategy=strategy)
    kept = (
        None if expected is None else [name for name, rung in zip(query, expected, strict=True) if not rung]
    )
    assert (None if decision.refused else list(decision.kept)) == kept
    assert (None if turned.refused else list(turned.kept)) == kept


# A state fixed in advance.


def test_a_state_fixed_in_advance_is_sent_or_refused():
    query = PAPER["query"] | {"Income": "$40k"}
    lattice = Scan(TABLE).lattice(fixed_codes(query, TABLE.schema, GMIN_2), ["Income"])
    sent = fixed_state(query, TABLE.schema, [lattice], GMIN_2, (0, 1, 1))
    assert (sent.refused, sent.kept, sent.strategy) == (False, {"Loan": "$20k"}, "strict")
    assert sent.sent_nodes == {"Loan": (TABLE.schema["Loan"].code("$20k"), 0)}
    assert "Income" in sent.dropped
    refused = fixed_state(query, TABLE.schema, [lattice], GMIN_2, (0, 0, 0))
    assert (refused.refused, refused.kept, refused.sent_nodes, refused.rows_after) == (True, {}, {}, 0)
    assert refused.reason.startswith("Refused: from what strategy strict would send of this query")
    both = lattices_of(PAPER["query"], {"Race": "Black", "Gender": "Female"})
    assert fixed_state(PAPER["query"], TABLE.schema, both, GMIN_2, (0, 1, 1)).refused


@pytest.mark.parametrize("rungs", [(), (0, 0), (0, 0, 0, 0), (0, 0, 2), (0, -1, 0)])
def test_a_state_must_be_one_of_the_querys(rungs):
    lattice = Scan(TABLE).lattice(fixed_codes(PAPER["query"], TABLE.schema, GMIN_2), ["Income"])
    with pytest.raises(BadInputError, match="a rung for each of the 3 attributes"):
        fixed_state(PAPER["query"], TABLE.schema, [lattice], GMIN_2, rungs)


# Decisions.


def test_what_is_sent_is_also_available_as_nodes():
    rows = [("Essex", 0), ("Essex", 0), ("Dukes", 1), ("Kent", 2)]
    ladders = {"county": {"Essex": ["MA"], "Dukes": ["MA"], "Kent": ["RI"]}}
    table = make_table(("county", "x"), rows, ladders=ladders)
    decision = ask({"county": "Essex"}, [Policy("x", Fraction(4, 3))], table)
    assert decision.sent_nodes == {"county": (table.schema["county"].code("Essex"), 1)}


def test_a_decision_stands():
    query = dict(PAPER["query"])
    decision = ask(query)
    for name in ("kept", "refused", "strategy", "reason", "entropy_after"):
        with pytest.raises(AttributeError):
            setattr(decision, name, None)
    query.clear()  # what happens to the query afterwards is of no account
    assert decision == ask(PAPER["query"])
    assert decision.dropped == ("Race", "Gender")
    assert decision != ask(PAPER["query"], strategy="best-fit")
    assert decision != "a decision"


def test_values_are_known_by_their_text():
    table = make_table(("a", "x"), [(39, 0), (39, 1), (1, 0)], domains={"a": [1, 39]})
    policies = [Policy("x", Fraction(1))]
    assert all(ask({"a": value}, policies, table).kept == {"a": 39} for value in (39, "39", 39.0))
    flags = make_table(("a", "x"), [(True, 0), (False, 1)])
    assert all(ask({"a": value}, policies, flags).kept == {"a": True} for value in (True, "true"))
    with pytest.raises(BadInputError, match="no such value"):
        ask({"a": 1}, policies, flags)
    words = make_table(("a", "x"), [("True", 0), ("1.0", 1)])
    for value in (True, 1.0):
        with pytest.raises(BadInputError, match="no such value"):
            ask({"a": value}, policies, words)
    numbers = make_table(("a", "x"), [(1, 0), (0, 1)])
    assert numbers.schema == flags.schema  # as True == 1, and yet their texts differ
    assert ask({"a": "1"}, policies, numbers).kept == {"a": 1}
    with pytest.raises(BadInputError, match="no such value"):
        ask({"a": "true"}, policies, numbers)


def test_policies_that_change_hands_are_not_mixed_up():
    """Plans are remembered by identity: others at the same address must not inherit them."""
    for number in range(600):
        policies = [Policy("Income", 1 + Fraction(number % 3, 2))]
        assert (
            list(ask(PAPER["query"], policies).kept)
            == [["Loan", "Race", "Gender"], ["Loan", "Race"], ["Loan"]][number % 3]
        )
