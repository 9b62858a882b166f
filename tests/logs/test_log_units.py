from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import read_log


def read(text):
    with tempfile.NamedTemporaryFile(suffix=".tsv", delete=False) as file:
        file.write(text.encode())
    try:
        return read_log(file.name, format="tsv")
    finally:
        Path(file.name).unlink()


def with_times(rows):
    return read("user\ttime\tquery\n" + "".join(f"{user}\t{time}\t{query}\n" for user, time, query in rows))


def bags(made):
    return [(owner, made.row(i)) for i, owner in enumerate(made.owners.to_pylist())]


def test_clicks_of_one_query_count_once():
    with with_times([("a", 5, "dog"), ("a", 5, "dog"), ("a", 6, "dog"), ("b", 5, "dog")]) as log:
        made = log.transactions()
    assert bags(made) == [("a", {"dog": 2}), ("b", {"dog": 1})]
    assert log.summary["queries"] == 3


def test_without_times_every_row_counts():
    with read("user\tquery\na\tdog\na\tdog\n") as log:
        assert bags(log.transactions()) == [("a", {"dog": 2})]
        assert bags(log.transactions(bags=False)) == [("a", {"dog": 1})]
        with pytest.raises(BadInputError, match="unit session needs times"):
            log.transactions(unit="session:30m")


def test_a_gap_equal_to_the_limit_does_not_split_and_a_greater_one_does():
    with with_times([("a", 0, "x1"), ("a", 10, "x2"), ("a", 21, "x3"), ("b", 15, "x4")]) as log:
        made = log.transactions(unit="session:10", items="queries")
    assert bags(made) == [("a#1", {"x1": 1, "x2": 1}), ("a#2", {"x3": 1}), ("b#1", {"x4": 1})]
    assert made.unit == "session:10"


def test_sessions_are_ordered_by_number_not_by_text():
    with with_times([("a", 100 * i, f"q{i}") for i in range(11)]) as log:
        made = log.transactions(unit="session:1", items="queries")
    assert made.owners.to_pylist() == [f"a#{i}" for i in range(1, 12)]


def test_users_are_ordered_by_code_point():
    users = ["b", "B", "10", "9", "é", "\U0001f600", "\uffff"]
    with with_times([(user, 1, "dog") for user in users]) as log:
        assert log.transactions().owners.to_pylist() == sorted(users)


def test_who_asked_nothing_or_has_nothing_left_has_an_empty_row():
    with with_times(
        [("a", 1, ""), ("b", 1, "-"), ("c", 1, "the of"), ("d", 1, "dog"), ("e", 1, "  ")]
    ) as log:
        for items in ("nouns", "terms"):
            made = log.transactions(items=items)
            assert bags(made) == [("a", {}), ("b", {}), ("c", {}), ("d", {"dog": 1}), ("e", {})]
        made = log.transactions(items="queries")
        assert bags(made) == [("a", {}), ("b", {}), ("c", {"the of": 1}), ("d", {"dog": 1}), ("e", {})]
        assert log.summary["empty"] == 3


def test_queries_are_normalised():
    with with_times([("a", 1, " Red   DOG"), ("a", 2, "red dog")]) as log:
        assert bags(log.transactions(items="queries")) == [("a", {"red dog": 2})]


def test_nouns_are_lemmas_and_the_account_counts_the_words():
    with with_times([("a", 1, "the mice quickly zzyzx"), ("b", 1, "mouse mice")]) as log:
        made = log.transactions(items="nouns")
    assert bags(made) == [("a", {"mouse": 1, "zzyzx": 1}), ("b", {"mouse": 2})]
    assert made.account == (
        "Lines read as tsv: 3.",
        "Queries, where the clicks of one query count once: 2.",
        "Nouns of WordNet: 2 distinct, 3 in all.",
        "Words that WordNet does not list: 1 distinct, 1 in all.",
        "Words of other kinds (verbs, adjectives, adverbs), left out: 1 distinct, 1 in all.",
        "Stop words, left out: 1 distinct, 1 in all.",
        "Users: 2; 2 distinct items, 4 in all.",
    )
    counted = {
        name: log.summary[name]
        for name in ("listed_words", "listed_occurrences", "stop_words", "units", "items")
    }
    assert counted == {"listed_words": 2, "listed_occurrences": 3, "stop_words": 1, "units": 2, "items": 2}


def test_a_log_can_become_transactions_more_than_once():
    with with_times([("a", 0, "dog"), ("a", 99, "cat")]) as log:
        first = log.transactions()
        sessions = log.transactions(unit="session:5", items="terms")
        again = log.transactions()
    assert bags(first) == bags(again)
    assert len(sessions) == 2


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_sorting_in_parts_changes_nothing(monkeypatch, at_once):
    monkeypatch.setattr("incrowd.logs.items._OCCURRENCES_AT_ONCE", at_once)
    rows = [(user, time, query) for user in "abcd" for time, query in enumerate(["y x", "", "x", "z"])]
    with with_times([*rows, ("bb", 1, "")]) as log:
        made = log.transactions(items="terms")
    assert bags(made) == [
        *((u, {"x": 2, "y": 1, "z": 1}) for u in "ab"),
        ("bb", {}),
        *((u, {"x": 2, "y": 1, "z": 1}) for u in "cd"),
    ]


@pytest.mark.parametrize("items", ["raw", "noun", "nothing"])
def test_unknown_items(items):
    with (
        with_times([("a", 0, "dog")]) as log,
        pytest.raises(BadInputError, match="items must be one of nouns, terms, queries"),
    ):
        log.transactions(items=items)


def naive(rows, gap):
    """Sessions of distinct rows by a plain loop."""
    made = {}
    for user in sorted({user for user, *_ in rows}):
        number, last = 1, None
        for time, query in sorted({(time, query) for who, time, query in rows if who == user}):
            number += last is not None and gap is not None and time - last > gap
            last = time
            name = user if gap is None else f"{user}#{number}"
            made.setdefault(name, Counter()).update(query.split())
    return [(name, dict(sorted(bag.items()))) for name, bag in made.items()]


ROWS = st.tuples(
    st.sampled_from(["u1", "u10", "u2"]), st.integers(0, 30), st.sampled_from(["x", "y x", "x x", "", "ж"])
)


@given(st.lists(ROWS, min_size=1, max_size=30), st.sampled_from([None, 0, 3, 10]), st.randoms())
@settings(max_examples=25, deadline=None)
def test_any_order_of_the_lines_gives_the_plain_loops_rows(rows, gap, random):
    expected = naive(rows, gap)
    shuffled = random.sample(rows, len(rows))
    for order in (rows, shuffled):
        with with_times(order) as log:
            made = log.transactions(unit="user" if gap is None else f"session:{gap}", items="terms")
        assert bags(made) == expected
        assert made.vocabulary.to_pylist() == sorted({item for _, bag in expected for item in bag})
