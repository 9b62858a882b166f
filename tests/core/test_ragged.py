from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.ragged import (
    count_by_group,
    count_distinct,
    filtered_starts,
    list_ids,
    list_sums,
    starts_of,
    take_lists,
)

lists = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)
entries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(1, 3)), max_size=12)


def flat(rows):
    return starts_of([len(row) for row in rows]), np.array(
        [value for row in rows for value in row], dtype=np.int32
    )


def apart(start, values):
    return [values[a:b].tolist() for a, b in pairwise(start)]


@given(lists)
def test_list_of_is_the_list_of_each_value(rows):
    start, _ = flat(rows)
    assert list_ids(start).tolist() == [number for number, row in enumerate(rows) for _ in row]


@given(lists)
def test_lists_are_added_up(rows):
    assert list_sums(*flat(rows)).tolist() == [sum(row) for row in rows]


@given(lists)
def test_kept_values_stay_in_their_lists(rows):
    start, values = flat(rows)
    keep = values % 2 == 0
    kept = apart(filtered_starts(start, keep), values[keep])
    assert kept == [[value for value in row if value % 2 == 0] for row in rows]


@given(lists.filter(bool), st.data())
def test_gathered_lists_are_the_chosen_ones_in_order(rows, data):
    start, values = flat(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5))
    offsets, positions = take_lists(start, np.array(chosen, dtype=np.int64))
    assert apart(offsets, values[positions]) == [rows[number] for number in chosen]


@given(entries)
def test_added_up_bags_are_what_the_groups_have(found):
    group, value, times = (
        (np.array(column, dtype=np.int32) for column in zip(*found, strict=True))
        if found
        else ([np.empty(0, dtype=np.int32)] * 3)
    )
    wanted = [Counter() for _ in range(5)]
    for one, item, many in found:
        wanted[one][item] += many
    bags = count_by_group(group, value, times, 5)
    assert apart(bags.start, bags.value) == [sorted(bag) for bag in wanted]
    assert apart(bags.start, bags.times) == [[bag[item] for item in sorted(bag)] for bag in wanted]


@given(entries)
def test_distinct_members_are_counted_once(found):
    group, member = (np.array([entry[place] for entry in found], dtype=np.int32) for place in (0, 1))
    assert count_distinct(group, member, 5).tolist() == [
        len({member for one, member, _ in found if one == number}) for number in range(5)
    ]
