"""The mechanism of method dp: what a person adds, what thresholds let through, and what is found and counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from incrowd.core.gaussian import SIGMA, gaussian_delta
from incrowd.core.spending import PROPORTIONS, spend
from incrowd.methods.dp import pairs as of_pairs
from incrowd.methods.dp import sets as of_sets
from incrowd.methods.dp.mechanism import find_items, noisy_people
from incrowd.methods.dp.pairs import LOOKED_AT, Rows, sets_of_pairs
from incrowd.methods.dp.sets import Sets, added_up, among, sets_of

FALSE_ALARM = 1e-6
CLEAR = {"eps": 20.0, "delta": 0.009}  # little noise


def have(rows: list[list[int]]) -> Sets:
    """Return what people have."""
    person = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    item = np.array([item for row in rows for item in row], dtype=np.int64)
    return sets_of(person, item, int(item.max(initial=-1)) + 1)


def spent(**changed: float):
    return spend(**({"d": 5, "eps": 1.0, "delta": 1e-6, "rounds": 3, "counts": 0.25} | changed))


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(("eps", "delta", "d"), [(0.01, 1e-12, 7), (1.0, 1e-6, 40), (20.0, 0.009, 3)])
def test_no_person_adds_more_than_the_budget_has(rounds, eps, delta, d):
    """The lengths that a person can add, over rounds and counts, are within the mu that keeps eps and half of delta."""
    spending = spent(rounds=rounds, eps=eps, delta=delta, d=d)
    for one in spending.rounds:
        assert all(items * one.weight(items) ** 2 <= one.length**2 for items in range(1, d + 1))
        assert one.weight(1) == one.length
    squares = sum(one.length**2 for one in spending.rounds) + d * spending.unit**2
    mu = math.sqrt(squares) / SIGMA
    assert gaussian_delta(eps, mu) <= delta / 2
    assert gaussian_delta(eps, mu * 1.001) > delta / 2  # hardly anything is left over
    assert math.isclose(spending.rho, mu**2 / 2, rel_tol=1e-9)
    shares = [one.length**2 for one in spending.rounds]
    assert np.allclose(np.array(shares) / shares[-1], PROPORTIONS[-rounds:], rtol=1e-3)
    assert math.isclose(d * spending.unit**2 / squares, 0.25, rel_tol=1e-3)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("d", [1, 2, 9, 50])
def test_items_of_one_person_pass_with_half_of_delta_at_most(rounds, d):
    delta = 1e-5
    spending = spent(rounds=rounds, d=d, delta=delta)
    worst = []
    for one in spending.rounds:
        passes = [
            -math.expm1(n * stats.norm.logcdf((one.threshold - one.weight(n) - 1) / SIGMA))
            for n in range(1, d + 1)
        ]
        worst.append(max(passes))
    assert sum(worst) <= delta / 2
    assert sum(worst) > delta / 2 * 0.999
    assert spending.missed == delta / 2


def test_a_person_keeps_d_items_of_their_own_evenly_chosen():
    people, d = 20_000, 2
    sets = have([[0, 1, 2, 3, 4], [5], [0, 5]] + [[0, 1, 2, 3, 4]] * people)
    for wanted, left in ((sets.item >= 0, 5), (sets.item != 0, 4)):
        kept = sets.some(d, wanted)
        assert np.diff(kept.start).tolist() == [2, 1, 1 + (left == 5)] + [2] * people
        seen = np.bincount(kept.item[kept.start[3] :], minlength=5)[5 - left :]
        assert stats.chisquare(seen).pvalue > FALSE_ALARM


def test_the_order_is_chance_alone_and_short_sets_keep_theirs():
    sets = sets_of(np.repeat([0, 1], [6, 3]), np.array([0, 1, 2, 3, 4, 5, 0, 1, 2]), 6, d=3)
    assert sorted(sets.item[:6].tolist()) == [0, 1, 2, 3, 4, 5]
    assert sets.item[6:].tolist() == [0, 1, 2]
    drawn = {tuple(sets_of(np.zeros(4, int), np.arange(4), 4).item.tolist()) for _ in range(400)}
    assert len(drawn) == 24


def test_people_begin_at_another_place_in_each_step():
    sets = have([list(range(40))] * 50)
    chosen = [sets.some(3, sets.item >= 0).item.tolist() for _ in range(2)]
    assert chosen[0] != chosen[1]


def test_repeats_count_once():
    sets = sets_of(np.array([1, 0, 1, 1]), np.array([2, 0, 2, 1]), 3, d=2)
    assert sets.start.tolist() == [0, 1, 3]
    assert sets.item.tolist() == [0, 1, 2]


@pytest.mark.parametrize("largest", [2**62, 40])
def test_some_people_at_a_time_are_all_people(monkeypatch, largest):
    """Whatever fits at once, by entries or by the numbers that products have, sets and sums are the same."""
    dice = np.random.default_rng(3)
    person, item = dice.integers(0, 30, 500), dice.integers(0, 20, 500)
    whole = sets_of(person, item, 20, d=20, people=33)
    monkeypatch.setattr(of_sets, "AT_ONCE", 7)
    monkeypatch.setattr(of_sets, "LARGEST", largest)
    parts = sets_of(person, item, 20, d=20, people=33)
    assert parts.start.tolist() == whole.start.tolist()
    assert parts.item.tolist() == whole.item.tolist()
    one, found = spent(d=20).rounds[0], np.array([2, 5])
    summed = parts.weights(found, one, 20)
    monkeypatch.undo()
    assert [one.tolist() for one in summed] == [one.tolist() for one in whole.weights(found, one, 20)]
    expected = {
        number: len({p for p, i in zip(person.tolist(), item.tolist(), strict=True) if i == number})
        for number in (2, 5)
    }
    assert dict(zip(*(each.tolist() for each in parts.people(found, 20)), strict=True)) == expected


@pytest.mark.parametrize("small", [1 << 26, 0])
def test_what_is_among_what_was_found(monkeypatch, small):
    monkeypatch.setattr(of_sets, "_SMALL", small)
    assert among(np.array([2, 5]), np.array([5, 0, 2, 9])).tolist() == [True, False, True, False]
    assert among(np.array([], np.int64), np.array([5])).tolist() == [False]


def test_sums_are_by_item():
    assert [each.tolist() for each in added_up(np.array([3, 1, 3]), np.array([5, 1, 2]))] == [[1, 3], [1, 7]]


def test_the_last_pair_of_a_long_row_is_in_it():
    """Of a row of 300,000 items the last pair is number 44,999,849,999: what the words say is where it is."""
    rows = Rows(np.array([0, 300_000]), np.arange(300_000, dtype=np.int32), np.array([0]), 1)
    for word, pair in ((2**64 - 1, (299_998, 299_999)), (0, (0, 1))):
        sets = sets_of_pairs(rows, 300_000, 1, lambda count, word=word: np.full(count, word, np.uint64))
        first, second = divmod(int(sets.item[0]), 300_000)
        assert second == pair[1]
        assert abs(first - pair[0]) <= 1


def rows_of(people: list[list[list[int]]]) -> Rows:
    """Return rows of people, given their items."""
    person = np.repeat(np.arange(len(people)), [len(rows) for rows in people])
    start = np.cumsum([0, *(len(row) for rows in people for row in rows)])
    item = np.array([item for rows in people for row in rows for item in row], dtype=np.int32)
    return Rows(start, item, person, len(people))


@pytest.mark.parametrize("at_once", [1 << 21, 3])
def test_pairs_are_of_one_row_and_each_person_has_each_once(monkeypatch, at_once):
    monkeypatch.setattr(of_pairs, "AT_ONCE", at_once)
    rows = rows_of([[[0, 1], [1, 2], [0, 1]], [], [[3]], [[0, 2, 9]]])
    sets = sets_of_pairs(rows, 10, d=9)
    assert sets.start.tolist() == [0, 2, 2, 2, 5]
    assert sets.item.tolist() == [1, 12, 2, 9, 29]


def test_of_a_person_with_many_pairs_some_are_drawn_evenly():
    """300 people have 1 + 45 + 190 pairs each, of which 20 are drawn for d = 5: all of them come up equally often."""
    row, long = list(range(10)), list(range(20, 40))
    rows = rows_of([[[50, 51], row, long], [[0, 1]]] * 300)
    drawn = LOOKED_AT * 5
    sets = sets_of_pairs(rows, 60, d=5)
    sizes = np.diff(sets.start)
    assert set(sizes[1::2].tolist()) == {1}
    assert sizes.max() <= drawn
    assert sizes[::2].mean() > 0.9 * drawn
    mine = sets.item[np.repeat(np.arange(600) % 2 == 0, sizes)]
    known = [
        a * 60 + b
        for some in ([50, 51], row, long)
        for place, a in enumerate(some)
        for b in some[place + 1 :]
    ]
    seen = np.bincount(np.searchsorted(np.sort(known), mine), minlength=len(known))
    assert len(seen) == len(known) == 236
    assert set(mine.tolist()) <= set(known)
    assert stats.chisquare(seen).pvalue > FALSE_ALARM


@pytest.mark.parametrize("rounds", [1, 3])
def test_what_many_have_is_found_and_counted_and_what_one_has_is_not(rounds):
    rows = [[0, 1], [0], [0, 2]] * 300 + [[3]]
    sets = have(rows)
    spending = spent(rounds=rounds, **CLEAR)
    found = find_items(sets, spending)
    assert found.tolist() == [0, 1, 2]
    people = noisy_people(sets, found, spending)
    assert np.all(np.abs(people - [900, 300, 300]) <= 6 * spending.error)
    assert spending.error_bar == math.ceil(1.96 * SIGMA / spending.unit)


def test_found_items_make_room_for_others_in_the_next_round():
    """Everybody has forty popular items; with d = 1 the rare one is crowded out until those are found."""
    popular = list(range(40))
    rows = [popular] * 8_000 + [[*popular, 40]] * 15
    found = [len(find_items(have(rows), spent(d=1, eps=5.0, rounds=rounds))) for rounds in (1, 3)]
    assert found == [40, 41]


def test_counts_are_right_on_average_and_as_far_off_as_they_say():
    items, people = 3_000, 40
    sets = have([[item] for item in range(items) for _ in range(people)])
    spending = spent(d=1, eps=2.0, counts=0.5)
    off = noisy_people(sets, np.arange(items), spending) - people
    assert abs(off.mean()) < 5 * spending.error / math.sqrt(items)
    assert 0.9 < off.std() / spending.error < 1.1
    assert np.mean(np.abs(off) <= spending.error_bar) > 0.93


def test_of_a_person_with_more_than_d_found_items_d_count():
    sets = have([[0, 1, 2]] * 3_000)
    spending = spent(d=2, **CLEAR)
    people = noisy_people(sets, np.array([0, 1, 2]), spending)
    assert np.all(np.abs(people - 2_000) < 200)


def test_a_count_is_at_least_one():
    sets = have([[item] for item in range(2_000)])
    people = noisy_people(sets, np.arange(2_000), spent(eps=0.1))
    assert people.min() == 1


@pytest.mark.parametrize("rows", [[], [[]], [[], []]])
def test_nothing_is_no_mistake(rows):
    sets = have(rows)
    found = find_items(sets, spent())
    assert found.tolist() == []
    assert noisy_people(sets, found, spent()).tolist() == []
