"""What people have, and what is drawn of it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd as ic
from incrowd.attacks.people import People, draw_known

ITEM = st.sampled_from("abcdefgh")


def people_of(rows, person):
    data = ic.Transactions.from_rows([*rows, list("abcdefgh")], people=[*map(str, person), "all"])
    data = replace(data, unit="session:1800")
    return People.of(data, ic.balanced(data, 2))


@st.composite
def sessions(draw):
    rows = draw(st.lists(st.lists(ITEM, max_size=5), max_size=12))
    return rows, [draw(st.integers(0, 3)) for _ in rows]


@given(sessions())
def test_items_are_those_of_all_rows_and_the_latest_come_first(case):
    rows, person = case
    people = people_of(rows, person)
    rows, person = [*rows, list("abcdefgh")], [*person, "all"]
    assert len(people) == len(set(person))
    for number, one in enumerate(dict.fromkeys(person)):
        last = {item: row for row, own in enumerate(rows) if person[row] == one for item in own}
        part = slice(people.start[number], people.start[number + 1])
        assert people.leaf[part].tolist() == sorted("abcdefgh".index(item) for item in last)
        newest = ["abcdefgh"[leaf] for leaf in people.newest[part].tolist()]
        assert newest == sorted(last, key=lambda item: (-last[item], item))


def test_baskets_do_not_say_when():
    data = ic.Transactions.from_rows([["a"], ["b"]])
    assert People.of(data, ic.balanced(data, 2)).newest is None


def test_what_few_people_have_is_a_secret():
    data = ic.Transactions.from_rows([["a", "b"]] * 10 + [["b", "c"]] * 90 + [[]] * 900)
    people = People.of(data, ic.balanced(data, 2))
    assert people.counts.tolist() == [10, 100, 90]
    assert people.secrets(0.10).tolist() == [True, False, False]
    assert people.secrets(0.05).tolist() == [False, False, False]


@given(sessions(), st.integers(1, 4), st.sampled_from(["random", "rarest", "recent"]), st.integers(0, 2))
def test_known_items_are_of_the_person_and_as_they_should_be(case, p, how, beside):
    people = people_of(*case)
    among = np.arange(len(people)) % 2 == 0
    drawn = draw_known(people, p, 1_000, np.random.default_rng(1), how=how, beside=beside, among=among)
    fitting = [one for one in range(len(people)) if people.sizes[one] >= p + beside and among[one]]
    assert drawn.person.tolist() == fitting
    for one, known in zip(drawn.person.tolist(), drawn.known.tolist(), strict=True):
        part = slice(people.start[one], people.start[one + 1])
        own = people.leaf[part].tolist()
        assert len(set(known)) == p
        assert set(known) <= set(own)
        if how == "rarest":
            counts = sorted(people.counts[own].tolist())
            assert sorted(people.counts[known].tolist()) == counts[:p]
        if how == "recent":
            assert known == people.newest[part].tolist()[:p]


def test_people_are_drawn_evenly_and_by_the_seed():
    dice = random.Random(1)
    data = ic.Transactions.from_rows([dice.sample("abcdefgh", 5) for _ in range(400)])
    people = People.of(data, ic.balanced(data, 2))
    first, again, other = (draw_known(people, 2, 100, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.person.tolist() == again.person.tolist()
    assert first.known.tolist() == again.known.tolist()
    assert first.person.tolist() != other.person.tolist()
    assert len(set(first.person.tolist())) == 100
    assert first.person.mean() == pytest.approx(200, abs=40)
