"""The minimality attack: the posterior against plain loops, and what each strategy leaves to such a provider."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generalizer.naive import choice, climb, entropy, height, make_table
from incrowd.errors import BadInputError
from incrowd.generalizer import STRATEGIES, Policy, generalize, parse_policies
from incrowd.generalizer.minimality import posterior, usual_templates
from incrowd.generalizer.schema import AuxiliaryTable, encode, schema_of
from incrowd.generalizer.synthetic import synthetic_loans

NAMES = ("a", "b", "c", "x", "y")
LADDERS = {"b": {value: (value // 2,) for value in range(4)}}
ALL = ("strict", *STRATEGIES)


def guessing(counts):
    """Return G of some weights."""
    falling = sorted(counts, reverse=True)
    return sum(place * each for place, each in enumerate(falling, start=1)) / sum(falling)


def sent_by(row, template, table, policies, strategy):
    """Return what a person sends with a template, as names, rungs and values; None is a refusal."""
    person = dict(zip(NAMES, row, strict=True))
    decision = generalize({name: person[name] for name in template}, table, policies, strategy=strategy)
    if decision.refused:
        return None
    return tuple((name, rung, decision.kept[name]) for name, rung in decision.rungs.items())


def random_ways(row, rows, template, minima):
    """Return what random-fit sends for a person, and how likely, by walking all ways."""
    names = [name for name in template if name not in minima]
    person = dict(zip(NAMES, row, strict=True))
    shape = [height(LADDERS, name) + 1 for name in names]

    def score(rungs):
        sent = {name: (person[name], rung) for name, rung in zip(names, rungs, strict=True)}
        return min(entropy(NAMES, rows, sent, each, LADDERS)[0] / low for each, low in minima.items())

    def walk(rungs, chance):
        if score(rungs) >= 1:
            yield rungs, chance
            return
        ups = [
            tuple(rung + (place == which) for place, rung in enumerate(rungs))
            for which, size in enumerate(shape)
            if rungs[which] + 1 < size
        ]
        for up in ups:
            yield from walk(up, chance / len(ups))
        if not ups:
            best, _ = choice("brute-force", shape, score)
            yield best, chance

    for rungs, chance in walk((0,) * len(names), Fraction(1)):
        if rungs is not None:
            kept = zip(names, rungs, shape, strict=True)
            yield (
                tuple((n, r, climb(LADDERS, n, person[n], r)) for n, r, size in kept if r < size - 1),
                chance,
            )


def naive(rows, templates, minima, strategy):
    """Return the shares (known, unknown, refused, fetched) by dictionaries of people."""
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(4)), ladders=LADDERS)
    policies = [Policy(name, low) for name, low in minima.items()]
    senders = defaultdict(list)  # template, sent -> person, weight
    issued = fetched = 0
    for template, weight in templates.items():
        for row in rows:
            issued += weight
            ways = (
                random_ways(row, rows, template, minima)
                if strategy == "random-fit"
                else [(sent_by(row, template, table, policies, strategy), 1)]
            )
            for sent, chance in ways:
                if sent is not None:
                    senders[template, sent].append((row, weight * chance))
                    fits = {name: (row[NAMES.index(name)], rung) for name, rung, _ in sent}
                    fetched += weight * chance * entropy(NAMES, rows, fits, "x", LADDERS)[1]
    together = defaultdict(list)
    for (_, sent), people in senders.items():
        together[sent] += people
    total = sum(weight for people in senders.values() for _, weight in people)
    if not total:
        return 0, 0, 1, 0
    return (
        weight_below(senders, minima) / total,
        weight_below(together, minima) / total,
        1 - total / Fraction(issued),
        fetched / total / len(rows),
    )


def weight_below(senders, minima):
    below = 0
    for people in senders.values():
        for name, low in minima.items():
            counts = Counter()
            for row, weight in people:
                counts[row[NAMES.index(name)]] += Fraction(weight)
            if guessing(counts.values()) < low:
                below += sum(weight for _, weight in people)
                break
    return Fraction(below)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1, max_size=14),
    names=st.sets(st.sampled_from(NAMES[:4]), max_size=3),
    minima=st.dictionaries(st.sampled_from("xy"), st.fractions(1, 2, max_denominator=6), min_size=1),
    strategy=st.sampled_from(ALL),
)
def test_the_posterior_is_that_of_plain_loops(rows, names, minima, strategy):
    templates = usual_templates(sorted(names))
    table = make_table(NAMES, rows, domains=dict.fromkeys(NAMES, range(4)), ladders=LADDERS)
    found = posterior(table, [Policy(name, low) for name, low in minima.items()], strategy, templates)
    expected = naive(rows, templates, minima, strategy)
    shown = (found.known, found.unknown, found.refused, found.fetched)
    assert shown == pytest.approx(tuple(map(float, expected)), abs=1e-9)
    if strategy == "strict":
        assert expected[:2] == (0, 0)


def test_a_printed_case():
    """What is sent fits twelve people of two incomes; the four of them who would send it earn the same.

    In town 0 and in town 1 alone income is hard enough to guess for all but the baker of town 0, and for women of
    town 1. So who sends "town 0" is a baker.
    """
    rows = [("town 0", "clerk", income) for income in "ab" * 4] + [("town 0", "baker", "a")] * 4
    rows += [("town 1", "clerk", income) for income in "ab" * 4]
    table = make_table(("town", "trade", "income"), rows)
    policies = parse_policies(["income:g=1.3"])
    senders, fits = Counter(), {}
    for town, trade, income in rows:
        decision = generalize({"town": town, "trade": trade}, table, policies, strategy="worst-fit")
        senders[tuple(decision.kept.items()), income] += 1
        fits[tuple(decision.kept.items())] = decision.rows_after
    assert fits[("town", "town 0"),] == 12
    assert {key: many for key, many in senders.items() if key[0] == (("town", "town 0"),)} == {
        ((("town", "town 0"),), "a"): 4
    }
    template = {("town", "trade"): 1}
    assert posterior(table, policies, "worst-fit", template).known == 4 / 20
    strict = posterior(table, policies, "strict", template)
    assert (strict.known, strict.refused) == (0, 0)


@pytest.fixture(scope="module")
def loans():
    made = synthetic_loans(4_000, 3)
    return encode(made, schema_of(made))


@pytest.mark.parametrize("protect", ["reason:g=2.2", "race:g=1.5", "income:l=9"])
def test_strict_leaves_nothing_below_and_the_others_do(loans, protect):
    policies = parse_policies([protect])
    templates = usual_templates([name for name in loans.schema.names if not protect.startswith(name)])
    strict = posterior(loans, policies, "strict", templates)
    assert (strict.known, strict.unknown) == (0, 0)
    assert strict.refused <= 0.1
    assert 0 < strict.fetched <= 1
    for strategy in STRATEGIES:
        found = posterior(loans, policies, strategy, templates)
        assert found.known > 0.01, strategy
        assert found.refused == pytest.approx(0, abs=1e-9)


def test_a_known_template_is_one_template(loans):
    for strategy in ALL:
        found = posterior(loans, parse_policies(["race:g=1.4"]), strategy, {("county", "reason", "race"): 1})
        assert found.known == pytest.approx(found.unknown)


def test_templates_are_weighed_as_attributes_are_fixed_with_two_thirds():
    weights = usual_templates(("a", "b"))
    assert weights == {("a", "b"): 4, ("a",): 2, ("b",): 2, (): 1}
    assert all(len(usual_templates(NAMES[:n])) == 2**n for n in range(5))
    assert sum(usual_templates(NAMES).values()) == 3**5


def test_where_all_is_refused_nothing_is_below():
    table = make_table(("a", "x"), [(n % 2, 0) for n in range(8)])
    for strategy in ALL:
        found = posterior(table, parse_policies(["x:l=2"]), strategy, usual_templates(["a"]))
        assert (found.known, found.unknown, found.refused, found.fetched) == (0, 0, 1, 0)


def test_mistakes_are_one_line(loans):
    policies = parse_policies(["race:g=1.4"])
    with pytest.raises(BadInputError, match="did you mean 'strict'"):
        posterior(loans, policies, "strikt", {})
    with pytest.raises(BadInputError, match="no attribute 'town'"):
        posterior(loans, policies, "strict", {("town",): 1})
    empty = AuxiliaryTable(loans.schema, 0, {name: column[:0] for name, column in loans.columns.items()})
    with pytest.raises(BadInputError, match="table must have rows"):
        posterior(empty, policies, "strict", {})
    digits = [Policy("race", 1 + Fraction(1, 10**17))]
    with pytest.raises(BadInputError, match="fewer digits"):
        posterior(loans, digits, "worst-fit", {})


def test_what_is_pending_may_be_added_up_in_between(loans, monkeypatch):
    policies, templates = parse_policies(["race:g=1.4"]), usual_templates(("county", "reason", "gender"))
    whole = {strategy: posterior(loans, policies, strategy, templates) for strategy in ALL}
    monkeypatch.setattr("incrowd.generalizer.minimality._PENDING", 50)
    monkeypatch.setattr("incrowd.generalizer.minimality._BLOCK", 64)
    for strategy, expected in whole.items():
        found = posterior(loans, policies, strategy, templates)
        assert vars(found) == pytest.approx(vars(expected))
