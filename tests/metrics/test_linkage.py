"""Record linkage against its definition: every published log compared with every original."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from incrowd.core.classes import WITHHELD
from incrowd.errors import BadInputError
from incrowd.metrics.linkage import QueryRows, count_queries, record_linkage


def rows_of(logs):
    """Return logs, each a list of query numbers, as the product's arrays."""
    start = np.cumsum([0, *map(len, logs)])
    return count_queries(start, np.array(list(chain.from_iterable(logs)), dtype=np.int32))


def linkage(original, published, record_of_user):
    of_user = np.array(record_of_user, dtype=np.int32)
    return record_linkage(rows_of(original), rows_of(published), of_user)


def in_common(one, other):
    return (Counter(one) & Counter(other)).total()


def chance_by_definition(user, original, log):
    """Return the chance that an attacker who takes the log's nearest originals picks the user's."""
    most = max(in_common(log, other) for other in original)
    nearest = [other for other in range(len(original)) if in_common(log, original[other]) == most]
    return Fraction(user in nearest, len(nearest)) if most else Fraction()


def linkage_by_definition(original, published, record_of_user):
    chances = (
        chance_by_definition(user, original, published[record])
        for user, record in enumerate(record_of_user)
        if record != WITHHELD
    )
    return float(100 * sum(chances, Fraction()) / len(original))


logs = st.lists(st.integers(0, 6), max_size=8)


@st.composite
def releases(draw, least=WITHHELD):
    original = draw(st.lists(logs, min_size=1, max_size=8))
    published = draw(st.lists(st.lists(st.integers(0, 8), max_size=8), min_size=1, max_size=4))
    records = st.integers(least, len(published) - 1)
    return original, published, draw(st.lists(records, min_size=len(original), max_size=len(original)))


@given(releases())
@example(([[0], [0], [0]], [[0]], [0, 0, 0]))
@example(([[]], [[]], [0]))
def test_it_is_what_the_definition_says(release):
    assert linkage(*release) == linkage_by_definition(*release)


def test_a_worked_example():
    original = [[1, 2, 3], [1, 2, 4], [5], [6]]
    published = [[1, 2], [5, 7], [8]]
    # Users 0 and 1 share the log {1, 2}, and two queries of it each: 1/2 and 1/2. User 2 alone asked 5. User 3's
    # log is not known to anybody.
    assert linkage(original, published, [0, 0, 1, 2]) == 50.0
    # With {5, 7} for user 3, the attacker takes user 2 in place of them.
    assert linkage(original, published, [0, 0, 2, 1]) == 25.0


def test_copies_of_a_query_count():
    assert linkage([[1, 1, 1], [1, 2, 3]], [[1, 1]], [0, 0]) == 50.0
    assert linkage([[1, 1, 1], [1, 2, 3]], [[1, 1]], [WITHHELD, 0]) == 0.0
    # Two copies are two in common and no more, however often the original has them.
    assert linkage([[1] * 9, [1, 1, 2]], [[1, 1, 2]], [WITHHELD, 0]) == 50.0


def test_those_with_nothing_in_common_are_never_linked():
    assert linkage([[1], [2]], [[3]], [0, 0]) == 0.0
    assert linkage([[1], [2]], [[]], [0, 0]) == 0.0
    assert linkage([[], []], [[]], [0, 0]) == 0.0
    assert linkage([], [], []) == 0.0


def test_who_is_withheld_counts_among_the_users_and_the_candidates():
    assert linkage([[1], [1], [2]], [[1]], [0, WITHHELD, WITHHELD]) == pytest.approx(100 / 6)


@given(st.lists(logs, min_size=1, max_size=8))
def test_logs_published_as_they_are_link_with_those_that_contain_them(original):
    expected = [
        Fraction(1, sum(Counter(log) <= Counter(other) for other in original)) for log in original if log
    ]
    found = linkage(original, original, range(len(original)))
    assert found == float(100 * sum(expected, Fraction()) / len(original))


def test_logs_published_as_they_are_all_link_if_none_contains_another():
    original = [[1, 2], [2, 3], [1, 3], [1, 1], [4]]
    assert linkage(original, original, range(5)) == 100.0
    assert linkage([[1], [1, 2]], [[1], [1, 2]], range(2)) == 75.0  # all different is not enough


@given(releases(least=0))
def test_a_shared_log_links_one_of_its_users_at_most(release):
    original, _, record_of_user = release
    classes = len(set(record_of_user))
    assert linkage(*release) <= float(Fraction(100 * classes, len(original)))


def test_a_class_of_k_reaches_the_bound():
    assert linkage([[1], [1], [2], [2]], [[1], [2]], [0, 0, 1, 1]) == 50.0


@given(releases(), st.randoms(use_true_random=False))
def test_neither_the_users_order_nor_the_records_matter(release, random):
    original, published, record_of_user = release
    users = random.sample(range(len(original)), len(original))
    records = random.sample(range(len(published)), len(published))
    place = {record: i for i, record in enumerate(records)} | {WITHHELD: WITHHELD}
    again = linkage(
        [original[user] for user in users],
        [published[record] for record in records],
        [place[record_of_user[user]] for user in users],
    )
    assert again == linkage(*release)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3), max_size=6), max_size=5))
def test_queries_are_counted(logs):
    found = rows_of(logs)
    bags = [
        dict(zip(found.query[low:high].tolist(), found.times[low:high].tolist(), strict=True))
        for low, high in zip(found.start[:-1], found.start[1:], strict=True)
    ]
    assert bags == [Counter(log) for log in logs]


def test_sums_are_rounded_once():
    # 1/3 three times and 1/1 seven times: floats would leave 79.99999999999999.
    original = [[0]] * 3 + [[query] for query in range(1, 8)]
    assert linkage(original, [[query] for query in range(8)], [0, 0, 0, *range(1, 8)]) == 80.0


def test_every_user_needs_a_record():
    rows = QueryRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([1, 1]))
    with pytest.raises(BadInputError, match=r"^record_of_user must have the 2 users \(got 1\)$"):
        record_linkage(rows, rows, np.array([0]))
