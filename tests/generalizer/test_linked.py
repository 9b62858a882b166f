"""Linked queries: after every query that is sent, every belief that the provider may hold is private."""

from __future__ import annotations

import random
from collections import Counter, deque
from fractions import Fraction
from itertools import chain, combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generalizer.naive import climb, height, make_table
from incrowd.errors import IncrowdError
from incrowd.generalizer import (
    STRATEGIES,
    Policy,
    decide,
    fixed_codes,
    fixed_state,
    is_private,
    parse_policies,
)
from incrowd.generalizer.counters import Scan, choose_counter
from incrowd.generalizer.linked import (
    PastDisclosuresError,
    TooManyDisclosuresError,
    linked_lattices,
    past_nodes,
    stored,
)
from incrowd.generalizer.protection import Protection

NAMES = ("a", "b", "c", "x")
COARSER = {value: (value // 2, value // 4) for value in range(6)}
KEY = b"a key of sixteen bytes or more"


class Model:
    """What a provider knows, as plainly as it can be written: a set of values for each disclosure."""

    def __init__(self, names, rows, ladders, minimum):
        self.people = [dict(zip(names, row, strict=True)) for row in rows]
        self.ladders = ladders
        self.minimum = minimum

    def values_under(self, name, value, rung, domain):
        wanted = climb(self.ladders, name, value, rung)
        return frozenset(other for other in domain if climb(self.ladders, name, other, rung) == wanted)

    def is_private(self, believed):
        """Count the people who agree with a set of values for each attribute."""
        found = Counter(
            person["x"]
            for person in self.people
            if all(person[name] in values for name, values in believed.items())
        )
        guesses = sum(place * count for place, (_, count) in enumerate(found.most_common(), start=1))
        return found.total() > 0 and Fraction(guesses, found.total()) >= self.minimum

    def every_part_is_private(self, past):
        """Try every combination of none or one of the sets of values that were ever disclosed of each attribute."""
        return all(
            self.is_private({name: values for name, values in zip(past, believed, strict=True) if values})
            for believed in product(*([None, *sets] for sets in past.values()))
            if any(believed)  # without any disclosure nothing is known
        )

    def stays_private(self, past):
        """Try every combination; `past` has for each attribute the sets of values that were ever disclosed."""
        smallest = {
            name: [values for values in sets if not any(other < values for other in sets)]
            for name, sets in past.items()
        }
        return all(
            self.is_private(dict(zip(smallest, believed, strict=True)))
            for believed in product(*smallest.values())
        )


def with_more(past, more):
    """Return past disclosures together with what is sent now."""
    return {name: {*past.get(name, ()), *more.get(name, ())} for name in {*past, *more}}


def made_case(seed):
    """Return a table, a query and a past that is private now and then: few values, many rows."""
    random_ = random.Random(seed)
    ladders = dict.fromkeys(random_.sample("abc", random_.randrange(3)), COARSER)
    values = {name: random_.randint(2, 6) for name in "abc"}
    rows = [
        (*(random_.randrange(values[name]) for name in "abc"), random_.randrange(3))
        for _ in range(random_.choice([20, 60, 200]))
    ]
    query = {name: random_.randrange(values[name]) for name in "abc" if random_.random() < 2 / 3}
    past = set()
    for _ in range(random_.randrange(5)):
        name = random_.choice("aab")
        rung = random_.randrange(height(ladders, name))
        past.add((name, random_.randrange(values[name]), rung))
    minimum = random_.choice([Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(5, 3)])
    return rows, ladders, query, past, minimum


def outcomes(rows, ladders, query, past, minimum, *, memory, parts):
    """Yield for each state of a query whether it is private, by the model and by the lattices."""
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(6)), ladders=ladders)
    model = Model(NAMES, rows, ladders, minimum)
    disclosed, sets = {}, {}
    for name, value, rung in past:
        disclosed.setdefault(name, set()).add(f"{rung}/{climb(ladders, name, value, rung)}")
        sets.setdefault(name, set()).add(model.values_under(name, value, rung, range(6)))
    counter = choose_counter(table, ["x"], memory=memory)
    lattices = linked_lattices(counter, query, ["x"], past_nodes(disclosed, table.schema), parts=parts)
    for state, rungs in enumerate(product(*(range(height(ladders, name) + 1) for name in query))):
        sent = {
            name: {model.values_under(name, value, rung, range(6))}
            for (name, value), rung in zip(query.items(), rungs, strict=True)
            if rung < height(ladders, name)
        }
        if parts:
            expected = model.stays_private(sent) and model.every_part_is_private(with_more(sets, sent))
        else:
            expected = model.stays_private(sent) and model.stays_private(with_more(sets, sent))
        found = all(
            is_private(int(lattice.guesses["x"][state]), int(lattice.totals[state]), minimum)
            for lattice in lattices
        )
        yield expected, found


@pytest.mark.parametrize("parts", [False, True], ids=["all", "parts"])
@pytest.mark.parametrize("memory", [0, 10**9], ids=["scan", "cube"])
def test_a_state_is_private_exactly_if_every_belief_is(memory, parts):
    seen = Counter()
    for seed in range(300):
        for expected, found in outcomes(*made_case(seed), memory=memory, parts=parts):
            assert expected == found, f"seed {seed}"
            seen[expected] += 1
    assert min(seen.values()) > 500  # of either kind


TINY = {
    "disagreeing": [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 2, 0), (0, 2, 1), (1, 2, 0), (0, 0, 1)],
    "skewed": [(0, 0, 0)] * 3 + [(0, 1, 1), (0, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 2), (0, 2, 2)],
    "plain": [(a, b, x) for a in range(2) for b in range(4) for x in range(2)],
}


@pytest.mark.parametrize("parts", [False, True], ids=["all", "parts"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rows", TINY.values(), ids=TINY)
def test_every_sequence_of_queries_stays_private(rows, strategy, parts):
    """All disclosures that up to four queries can make."""
    names, minimum = ("a", "b", "x"), Fraction(3, 2)
    ladders = {"b": {value: (value // 2,) for value in range(4)}}
    table = make_table(names, rows, domains={"b": range(4)}, ladders=ladders)
    counter, policies = Scan(table), [Policy("x", minimum)]
    model = Model(names, rows, ladders, minimum)
    queries = [
        {name: value for name, value in (("a", a), ("b", b)) if value is not None}
        for a, b in product([None, 0, 1], [None, 0, 1, 2, 3])
    ]
    start = frozenset()
    waiting, seen, sent = deque([(start, 0)]), {start}, 0
    while waiting:
        past, length = waiting.popleft()
        disclosed = {name: {text for other, text in past if other == name} for name, _ in past}
        nodes = past_nodes(disclosed, table.schema)
        for query in queries:
            fixed = fixed_codes(query, table.schema, policies)
            lattices = linked_lattices(counter, fixed, ["x"], nodes, parts=parts)
            decision = decide(query, table.schema, lattices, policies, strategy=strategy, key=KEY)
            if decision.refused:
                continue
            sent += 1
            now = past | frozenset(stored(decision.sent_nodes, table.schema).items())
            if now not in seen and length < 3:
                seen.add(now)
                waiting.append((now, length + 1))
            known = {}
            for name, text in now:
                rung, value = text.split("/")
                group = {other for other in range(4) if str(climb(ladders, name, other, int(rung))) == value}
                known.setdefault(name, set()).add(frozenset(group))
            assert model.every_part_is_private(known) if parts else model.stays_private(known)
    assert sent > len(queries)


def choose_rows(values):
    """Return rows of a, b, c and x out of few values."""
    row = st.tuples(*(st.integers(0, most) for most in values))
    return st.lists(row, min_size=6, max_size=40)


@given(
    rows=choose_rows((1, 3, 1, 2)),
    queries=st.lists(
        st.fixed_dictionaries(
            {}, optional={"a": st.integers(0, 1), "b": st.integers(0, 3), "c": st.integers(0, 1)}
        ),
        min_size=2,
        max_size=5,
    ),
    minimum=st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(3, 2)]),
    strategy=st.sampled_from(STRATEGIES),
)
@settings(max_examples=150, deadline=None)
def test_no_subset_of_the_queries_sent_is_below_the_minimum(rows, queries, minimum, strategy):
    """For any queries, also contradicting ones; what was sent may be sent again."""
    ladders = {"b": {value: (value // 2,) for value in range(4)}}
    domains = {"a": range(2), "b": range(4), "c": range(2)}
    table = make_table(NAMES, rows, domains=domains, ladders=ladders)
    model, policies = Model(NAMES, rows, ladders, minimum), [Policy("x", minimum)]
    protection = Protection(Scan(table), strategy=strategy, key=KEY)
    disclosed, sent, decisions = {}, [], []
    for query in queries:
        decision = protection.decide(query, tuple(policies), disclosed=disclosed)
        if not decision.refused:
            for name, text in stored(decision.sent_nodes, table.schema).items():
                disclosed[name] = disclosed.get(name, frozenset()) | {text}
            sent.append(
                {
                    name: {model.values_under(name, domains[name][code], rung, domains[name])}
                    for name, (code, rung) in decision.sent_nodes.items()
                }
            )
            decisions.append((query, decision))
    for some in chain.from_iterable(combinations(sent, size) for size in range(1, len(sent) + 1)):
        known = {}
        for each in some:
            known = with_more(known, each)
        assert model.stays_private(known)
    for query, decision in decisions:
        fixed = fixed_codes(query, table.schema, policies)
        lattices = linked_lattices(Scan(table), fixed, ["x"], past_nodes(disclosed, table.schema))
        rungs = [decision.rungs.get(name, table.schema[name].top) for name in fixed]
        assert not fixed_state(query, table.schema, lattices, policies, tuple(rungs)).refused


# All who have a are as often 0 as 1, all who have b too, all who have c too; but of a and b together, nine of ten are 0.
PAIR = [
    *[(1, 1, 1, 0), (1, 1, 1, 1)],
    *[(1, 1, 0, 0)] * 8,
    *[(1, 0, 0, 1)] * 8,
    *[(0, 1, 0, 1)] * 8,
    *[(0, 0, 0, 0)] * 8,
]


@pytest.mark.parametrize("parts", [False, True], ids=["all", "parts"])
def test_a_pair_out_of_a_longer_past(parts):
    """a, c and b one by one, and all three together, are private; a and b are not."""
    table, policies = make_table(NAMES, PAIR), tuple(parse_policies(["x:g=3/2"]))
    model = Model(NAMES, PAIR, {}, Fraction(3, 2))
    assert not model.is_private({"a": {1}, "b": {1}})
    protection = Protection(Scan(table), strategy="worst-fit", parts=parts)
    disclosed, sent = {}, []
    for name in "acb":
        decision = protection.decide({name: 1}, policies, disclosed=disclosed)
        assert not decision.refused
        sent.append(dict(decision.kept))
        disclosed |= {
            name: frozenset({text}) for name, text in stored(decision.sent_nodes, table.schema).items()
        }
    assert sent == [{"a": 1}, {"c": 1}, {} if parts else {"b": 1}]


def test_a_part_of_the_first_query_counts_where_there_is_a_ledger():
    """Of a and b not, but of a, b and c together 0 and 1 are as frequent."""
    table, policies = make_table(NAMES, PAIR), tuple(parse_policies(["x:g=3/2"]))
    query = {"a": 1, "b": 1, "c": 1}
    for parts, disclosed, kept in ((True, None, 3), (False, {}, 3), (True, {}, 2)):
        decision = Protection(Scan(table), strategy="worst-fit", parts=parts).decide(
            query, policies, disclosed=disclosed
        )
        assert len(decision.kept) == kept


TABLE = make_table(
    ("county", "race", "income"),
    [
        (county, race, income)
        for county in ("Essex", "Dukes", "Kent")
        for race in (1, 2)
        for income in ("low", "middle", "high")
    ],
    ladders={"county": {"Essex": ["MA"], "Dukes": ["MA"], "Kent": ["RI"]}},
)
SCHEMA = TABLE.schema
DUKES, ESSEX, KENT = range(3)


def test_what_is_stored_is_read_back():
    nodes = {"county": (ESSEX, 1), "race": (1, 0)}
    texts = stored(nodes, SCHEMA)
    assert texts == {"county": "1/MA", "race": "0/2"}
    disclosed = {name: frozenset({text}) for name, text in texts.items()}
    assert past_nodes(disclosed, SCHEMA) == {"county": ((DUKES, 1),), "race": ((1, 0),)}


def test_values_with_a_slash_are_read_back():
    table = make_table(("a", "x"), [("1/2", 0), ("/", 0), ("", 1)])
    for code in range(3):
        texts = {name: {text} for name, text in stored({"a": (code, 0)}, table.schema).items()}
        assert past_nodes(texts, table.schema) == {"a": ((code, 0),)}


def test_the_finer_absorbs_the_coarser_where_all_is_believed():
    past = past_nodes({"county": {"1/MA", "0/Essex", "1/RI", "0/Dukes"}}, SCHEMA)
    assert past == {"county": ((DUKES, 0), (DUKES, 1), (ESSEX, 0), (KENT, 1))}
    _, dukes, essex, kent = linked_lattices(Scan(TABLE), {}, ["income"], past, parts=False)
    assert [each.totals.tolist() for each in (dukes, essex, kent)] == [[6], [6], [6]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("county", "0/Secretshire"),
        ("county", "1/Essex"),
        ("county", "0/MA"),
        ("county", "2/MA"),
        ("county", "-1/MA"),
        ("county", "Essex"),
        ("county", "²/MA"),
        ("county", ""),
        ("race", "1/1"),
        ("town", "0/Salem"),
    ],
)
def test_what_the_table_no_longer_knows_stops_everything(name, text):
    with pytest.raises(PastDisclosuresError, match=f"attribute '{name}' had a value.*or wait") as error:
        past_nodes({"race": {"0/1"}, name: {text}}, SCHEMA)
    assert isinstance(error.value, IncrowdError)
    assert "\n" not in str(error.value)
    assert not any(word in str(error.value) for word in ("Secretshire", "Essex", "MA", "Salem"))


def test_coarser_values_with_the_same_text_cannot_be_distinguished():
    table = make_table(("a", "x"), [(1, 0), (2, 0)], ladders={"a": {1: [7], 2: ["7"]}})
    with pytest.raises(PastDisclosuresError, match="attribute 'a'"):
        past_nodes({"a": {"1/7"}}, table.schema)


def test_without_a_past_there_is_the_query_alone():
    for past in ({}, {"race": ()}):
        [alone] = linked_lattices(Scan(TABLE), {"county": ESSEX}, ["income"], past, parts=False)
        assert alone.totals.tolist() == [6, 12, 18]


def test_all_lattices_have_the_shape_of_the_query():
    past = past_nodes({"race": {"0/1"}, "county": {"0/Kent"}}, SCHEMA)
    alone, essex, kent = linked_lattices(Scan(TABLE), {"county": ESSEX}, ["income"], past, parts=False)
    assert alone.shape == kent.shape == essex.shape == (3,)
    assert kent.totals.tolist() == [3, 3, 3]
    assert essex.totals.tolist() == [3, 6, 18]  # where the county is not sent, it is the query alone


def test_a_protected_attribute_that_was_disclosed_is_known_already():
    past = past_nodes({"race": {"0/1"}}, SCHEMA)
    with pytest.raises(PastDisclosuresError, match="'race' is protected now but was disclosed") as error:
        linked_lattices(Scan(TABLE), {"county": ESSEX}, ["income", "race"], past)
    assert "\n" not in str(error.value)


def test_too_many_ways_to_believe_are_refused():
    names = [f"q{number}" for number in range(7)]
    table = make_table([*names, "x"], [(0,) * 8, (1,) * 8])
    both = {name: {"0/0", "0/1"} for name in names}
    past = past_nodes({name: both[name] for name in names[:6]}, table.schema)
    assert len(linked_lattices(Scan(table), {}, ["x"], past)) == 1 + 64
    with pytest.raises(TooManyDisclosuresError, match=r"more than 64 ways.*wait"):
        linked_lattices(Scan(table), {}, ["x"], past_nodes(both, table.schema))


def test_too_many_attributes_are_refused():
    names = [f"q{number:02}" for number in range(22)]
    table = make_table([*names, "x"], [(0,) * 23, (1,) * 23])
    past = past_nodes({name: {"0/0"} for name in names}, table.schema)
    with pytest.raises(TooManyDisclosuresError, match=r"have 22 attributes, too many.*wait"):
        linked_lattices(Scan(table), {}, ["x"], past)
    assert len(linked_lattices(Scan(table), {}, ["x"], past, parts=False)) == 2


def test_a_query_out_of_order_is_refused():
    with pytest.raises(IncrowdError, match="schema's order"):
        linked_lattices(Scan(TABLE), {"race": 0, "county": 0}, ["income"], {})


@pytest.mark.parametrize("parts", [False, True], ids=["all", "parts"])
def test_a_stricter_policy_finds_the_past_too_telling(parts):
    """Disclosures cannot be undone: nothing more is sent, not even a query for all rows."""
    rows = [(0, 0), (0, 1), (1, 2), (1, 3)]
    table = make_table(("a", "x"), rows)
    past = past_nodes({"a": {"0/0"}}, table.schema)
    for protect, refused in (("x:l=2", False), ("x:l=3", True)):
        policies = parse_policies([protect])
        lattices = linked_lattices(Scan(table), {}, ["x"], past, parts=parts)
        assert decide({}, table.schema, lattices, policies, strategy="worst-fit").refused is refused


def test_a_domain_that_grew_still_knows_the_past():
    grown = make_table(("county", "x"), [("Essex", 0)], domains={"county": ["Salem", "Essex", "Dukes"]})
    assert past_nodes({"county": {"0/Essex"}}, grown.schema) == {"county": ((1, 0),)}
