"""Strict mode: its choice against its definition, and against an adversary who knows the algorithm."""

from __future__ import annotations

import pickle
import random
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations, product
from types import MappingProxyType
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generalizer.naive import climb, height, make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import Policy, fixed_codes, generalize, parse_policies
from incrowd.generalizer.counters import Scan
from incrowd.generalizer.generalizer import fixed_state
from incrowd.generalizer.linked import linked_lattices, stored
from incrowd.generalizer.strict import StrictChoice

NAMES = ("a", "b", "c", "x", "y")
COARSER = {value: (value // 2, value // 4) for value in range(4)}
COARSER_ONCE = {value: (value // 2,) for value in range(4)}


def guessing(counts):
    """Return G of some counts."""
    falling = sorted(counts, reverse=True)
    return Fraction(sum(place * count for place, count in enumerate(falling, start=1)), sum(falling))


def naive_outcomes(rows, template, minima, ladders):
    """Return for each state the rows in private cells, and what it costs, by dictionaries of rows."""
    outcomes = {}
    for rungs in product(*(range(height(ladders, name) + 1) for name in template)):
        cells = defaultdict(list)
        for row in rows:
            person = dict(zip(NAMES, row, strict=True))
            cell = tuple(climb(ladders, n, person[n], r) for n, r in zip(template, rungs, strict=True))
            cells[cell].append(person)
        private = [
            people
            for people in cells.values()
            if all(guessing(Counter(p[n] for p in people).values()) >= low for n, low in minima.items())
        ]
        dropped = sum(rung == height(ladders, name) for name, rung in zip(template, rungs, strict=True))
        traffic = sum(len(people) ** 2 for people in cells.values())
        outcomes[rungs] = sum(map(len, private)), (traffic, dropped, sum(rungs), rungs)
    return outcomes


def naive_choice(outcomes, needed):
    """Choose as the documentation says."""
    enough = [cost for covered, cost in outcomes.values() if covered >= needed]
    if enough:
        return min(enough)[-1]
    covered, cost = min(outcomes.values(), key=lambda outcome: (-outcome[0], outcome[1]))
    return cost[-1] if covered else max(outcomes)  # the last state has the top rung everywhere


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1, max_size=40),
    template=st.sets(st.sampled_from(NAMES)),
    laddered=st.sets(st.sampled_from("bc")),
    minima=st.dictionaries(st.sampled_from("xy"), st.fractions(1, 2, max_denominator=8), min_size=1),
    coverage=st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
    widest=st.sampled_from([2**63, 64]),
)
def test_the_choice_is_its_definition(rows, template, laddered, minima, *, coverage, widest):
    """Also where keys or products are too wide for machine integers."""
    ladders = dict.fromkeys(laddered, COARSER_ONCE)
    if len(rows) % 2:
        minima = {name: minimum + Fraction(1, 10**40) for name, minimum in minima.items()}
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(4)), ladders=ladders)
    names = [name for name in NAMES if name in template and name not in minima]
    expected = naive_outcomes(rows, names, minima, ladders)
    choice = StrictChoice(table, [Policy(name, minimum) for name, minimum in minima.items()], coverage)
    with mock.patch("incrowd.generalizer.cells._WIDEST_INT64", widest):
        for rungs, outcome in expected.items():
            found = choice._outcome(names, rungs, max(expected))
            assert (found.covered, found.cost()) == outcome
        assert choice.rungs_for(sorted(template, reverse=True)) == naive_choice(
            expected, coverage * len(rows)
        )


def test_keys_wider_than_machine_integers():
    """Nine attributes of 256 values: the first one is worth 2 ** 64."""
    names = [f"q{number}" for number in range(9)]
    table = make_table(
        [*names, "x"],
        [(n % 2, *[0] * 8, n % 2) for n in range(8)],
        domains=dict.fromkeys(names, range(256)),
    )
    assert StrictChoice(table, parse_policies(["x:g=3/2"])).rungs_for(names) == (1, *[0] * 8)


def skewed_rows(seed, people=60):
    """Return rows whose last attribute follows the others now and then."""
    random_ = random.Random(seed)
    rows = []
    for _ in range(people):
        a, b, c = random_.choice([0, 0, 0, 1, 2]), random_.choice([0, 0, 1, 2, 3]), random_.randrange(3)
        rows.append((a, b, c, random_.choice([a, b, random_.randrange(4)]), random_.randrange(2)))
    return rows


def query_of(row, template):
    person = dict(zip(NAMES, row, strict=True))
    return {name: person[name] for name in template}


def strict(table, policies):
    """Return strict mode as a function from a query to a decision."""
    choice, counter = StrictChoice(table, policies), Scan(table)

    def decide(query, past=MappingProxyType({})):
        fixed = fixed_codes(query, table.schema, policies)
        lattices = linked_lattices(counter, fixed, [policy.attribute for policy in policies], past)
        return fixed_state(query, table.schema, lattices, policies, choice.rungs_for(list(query)))

    return decide


def least_entropy_left(rows, template, decide):
    """Return the least G of x, for each sent query over just those people who send it: the minimality attack."""
    senders = defaultdict(Counter)
    for row in rows:
        decision = decide(query_of(row, template))
        if not decision.refused:
            sent = tuple((name, rung, decision.kept[name]) for name, rung in decision.rungs.items())
            senders[sent][row[NAMES.index("x")]] += 1
    return min((guessing(counts.values()) for counts in senders.values()), default=None)


TEMPLATES = [template for size in (1, 2, 3) for template in combinations("abc", size)]
POLICIES = parse_policies(["x:g=3/2"])


def test_the_minimality_attack_succeeds_without_it_and_never_with_it():
    broken, sent = 0, 0
    for seed in range(12):
        rows = skewed_rows(seed)
        table = make_table(NAMES, rows, ladders={"b": COARSER})
        in_strict_mode = strict(table, POLICIES)
        for template in TEMPLATES:
            left = least_entropy_left(
                rows, template, lambda query, t=table: generalize(query, t, POLICIES, strategy="worst-fit")
            )
            broken += left is not None and left < Fraction(3, 2)
            left = least_entropy_left(rows, template, in_strict_mode)
            sent += left is not None
            assert left is None or left >= Fraction(3, 2)
    assert broken >= 10
    assert sent >= 60


def test_two_linked_queries_in_strict_mode_tell_no_more_than_their_cells():
    """All people who fit two sent queries have sent both: the first decides on the second by its cell alone."""
    sent = 0
    for seed in range(2):
        rows = skewed_rows(seed, people=100)
        table = make_table(NAMES, rows, ladders={"b": COARSER})
        decide = strict(table, POLICIES)
        for one, other in combinations(TEMPLATES, 2):
            senders = defaultdict(Counter)
            for row in rows:
                first = decide(query_of(row, one))
                past = {name: (node,) for name, node in first.sent_nodes.items()}
                second = decide(query_of(row, other), past)
                if not first.refused and not second.refused:
                    cell = frozenset(stored(first.sent_nodes, table.schema).items())
                    cells = cell, frozenset(stored(second.sent_nodes, table.schema).items())
                    senders[cells][row[NAMES.index("x")]] += 1
            sent += len(senders)
            assert all(guessing(counts.values()) >= Fraction(3, 2) for counts in senders.values())
    assert sent >= 100


def test_queries_of_one_template_keep_the_same_or_are_refused():
    refused = 0
    for seed in range(6):
        rows = skewed_rows(seed)
        table = make_table(NAMES, rows, ladders={"b": COARSER})
        decide = strict(table, POLICIES)
        for template in TEMPLATES:
            decisions = [decide(query_of(row, template)) for row in rows]
            refused += sum(decision.refused for decision in decisions)
            kept = {tuple(decision.rungs.items()) for decision in decisions if not decision.refused}
            assert len(kept) <= 1
    assert refused


def test_a_protected_attribute_is_no_part_of_a_template():
    rows = skewed_rows(0)
    choice = StrictChoice(make_table(NAMES, rows), POLICIES)
    assert choice.rungs_for(["a", "x", "b"]) == choice.rungs_for(["b", "a"])
    assert choice.rungs_for(["x"]) == choice.rungs_for([]) == ()


def test_little_traffic_first_and_then_the_order_of_the_schema():
    """a and b are the same, and either alone hides x: both together do too, with no more rows."""
    rows = [(n // 6, n // 6, n // 6 % 2, n % 3, 0) for n in range(24)]
    assert StrictChoice(make_table(NAMES, rows), parse_policies(["x:l=3"])).rungs_for("abc") == (0, 0, 0)
    apart = [(n // 6, n % 6, 0, n // 6, n % 6) for n in range(36)]  # a gives x away, b gives y away
    choice = StrictChoice(make_table(NAMES, apart), parse_policies(["x:l=3"]))
    assert choice.rungs_for("ab") == (1, 0)


def test_where_no_state_covers_enough_most_are_served():
    """Half of the people are in a group of their own, where x is plain."""
    rows = [(0, 0, 0, 0, 0)] * 50 + [(1, 0, 0, n % 2, 0) for n in range(40)]
    choice = StrictChoice(make_table(NAMES, rows), parse_policies(["x:g=3/2"]))
    assert choice.rungs_for("a") == (0,)


def test_where_nothing_is_private_nothing_is_kept_and_all_is_refused():
    rows = [(n % 2, n % 3, 0, 0, 0) for n in range(12)]
    table = make_table(NAMES, rows)
    policies = parse_policies(["x:l=2"])
    assert StrictChoice(table, policies).rungs_for("ab") == (1, 1)
    assert strict(table, policies)({"a": 1, "b": 2}).refused


def test_a_template_is_worked_out_once_and_threads_may_share_it():
    choice = StrictChoice(make_table(NAMES, skewed_rows(1)), POLICIES)
    with mock.patch.object(choice, "_choose", wraps=choice._choose) as worked, ThreadPoolExecutor(8) as pool:
        found = set(pool.map(choice.rungs_for, [("a", "b")] * 40))
    assert len(found) == 1
    assert worked.call_count == 1


def test_an_empty_table_refuses_everything():
    table = make_table(NAMES, skewed_rows(1))
    empty = type(table)(table.schema, 0, {name: column[:0] for name, column in table.columns.items()})
    assert StrictChoice(empty, POLICIES).rungs_for("ab") == (1, 1)


def test_mistakes_are_one_line():
    names = [f"q{number}" for number in range(13)]
    wide = make_table([*names, "x"], [(0,) * 14, (1,) * 14])
    with pytest.raises(BadInputError, match=r"fixes 13 attributes with 8192 generalizations.*fix fewer"):
        StrictChoice(wide, POLICIES).rungs_for(names)
    assert len(StrictChoice(wide, POLICIES).rungs_for(names[:12])) == 12
    with pytest.raises(BadInputError, match="no attribute 'q99'"):
        StrictChoice(wide, POLICIES).rungs_for(["q99"])
    with pytest.raises(BadInputError, match="at least one attribute"):
        StrictChoice(wide, [])
    for coverage in (Fraction(0), Fraction(11, 10)):
        with pytest.raises(BadInputError, match="coverage must be"):
            StrictChoice(wide, POLICIES, coverage)


def test_what_was_worked_out_travels_to_another_process():
    table = make_table(("a", "b", "x"), [(i % 2, i % 3, i % 4) for i in range(48)])
    choice = StrictChoice(table, parse_policies(["x:l=2"]))
    rungs = choice.rungs_for(["a", "b"])
    copy = pickle.loads(pickle.dumps(choice))
    assert copy.rungs_for(["a", "b"]) == rungs
    assert copy.rungs_for(["b"]) == choice.rungs_for(["b"])
