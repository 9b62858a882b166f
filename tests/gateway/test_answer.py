from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.gateway.config.pointers import compile_pointer
from incrowd.gateway.requests.answer import Filter, SortField, field_getter, narrow, parse_sort, parse_window
from incrowd.gateway.requests.problems import Problem
from incrowd.generalizer.schema import Attribute, text_of


@dataclass(frozen=True)
class Page:
    size: int = 50
    most: int = 500


def wanted(pointer, value):
    return Filter(pointer, field_getter(pointer), text_of(value))


def everything(rows, *filters, sort=()):
    return narrow(rows, filters, sort=sort, offset=0, limit=10**6).rows


def problem_of(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


LOANS = [
    {"id": 1, "county": "Essex", "amount": 30},
    {"id": 2, "county": "Suffolk", "amount": 10},
    {"id": 3, "county": "Essex", "amount": 20},
    {"id": 4, "county": "Essex", "amount": 20},
]


def ids(rows):
    return [row["id"] for row in rows]


def test_only_the_rows_of_the_original_query_are_left():
    assert ids(everything(LOANS, wanted("/county", "Essex"))) == [1, 3, 4]
    assert ids(everything(LOANS, wanted("/county", "Essex"), wanted("/amount", "20"))) == [3, 4]
    assert ids(everything(LOANS)) == [1, 2, 3, 4]


def test_the_page_is_cut_after_sorting_and_the_total_is_of_all():
    answer = narrow(
        LOANS, [wanted("/county", "Essex")], sort=(SortField("amount", descending=True),), offset=1, limit=1
    )
    assert (ids(answer.rows), answer.total, answer.offset, answer.limit) == ([3], 3, 1, 1)
    beyond = narrow(LOANS, [], offset=9, limit=5)
    assert (beyond.rows, beyond.total) == ([], 4)


def test_the_providers_rows_are_not_touched():
    rows = [dict(row) for row in LOANS]
    answer = narrow(rows, [], sort=(SortField("amount"),), offset=0, limit=9)
    answer.rows.clear()
    assert rows == LOANS


@pytest.mark.parametrize("value", [39, 39.0, "39"])
@pytest.mark.parametrize("sought", [39, 39.0, "39"])
def test_one_value_has_one_text(value, sought):
    assert everything([{"age": value}], wanted("/age", sought))


@pytest.mark.parametrize(
    ("value", "sought"), [(True, 1), (1, True), (True, "True"), (None, "None"), (None, "null"), ("39 ", "39")]
)
def test_what_reads_differently_is_different(value, sought):
    assert not everything([{"x": value}], wanted("/x", sought))


PLAIN = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, 1.5, -1.0]),
    st.sampled_from(["", "0", "1", "1.0", "1.5", "true", "True", "none"]),
)


@given(PLAIN, PLAIN)
def test_a_row_matches_exactly_if_the_attribute_takes_both_for_one_value(value, sought):
    matches = bool(everything([{"x": value}], wanted("/x", sought)))
    assert matches == (Attribute("x", (value,))._codes.get(text_of(sought)) == 0)


@pytest.mark.parametrize(
    "row", [{}, {"x": ["Essex"]}, {"x": {"name": "Essex"}}, {"x": b"Essex"}, {"x": object()}]
)
def test_what_cannot_be_compared_is_a_problem_that_names_the_field_only(row):
    problem = problem_of(everything, [{"x": "Essex"}, row], wanted("/x", "Essex"))
    assert (problem.status, problem.code) == (502, "field_missing")
    assert "'/x'" in problem.message
    assert "Essex" not in problem.message
    assert "Essex" not in repr(wanted("/x", "Essex"))


@pytest.mark.parametrize("pointer", ["/x", "/a~1b", "/~0", "/a/b", "/"])
@pytest.mark.parametrize("getter", [field_getter, compile_pointer])
def test_both_ways_to_find_a_field_agree(getter, pointer):
    row = {"x": "1", "a/b": "1", "~": "1", "a": {"b": "1"}, "": "1"}
    assert everything([row], Filter(pointer, getter(pointer), "1")) == [row]
    problem = problem_of(everything, [row, {"other": 1}], Filter(pointer, getter(pointer), "1"))
    assert (problem.code, f"'{pointer}'" in problem.message) == ("field_missing", True)


def test_a_missing_field_is_found_whatever_the_other_filters_say():
    rows = [{"x": "no"}]
    for filters in ([wanted("/x", "a"), wanted("/y", "b")], [wanted("/y", "b"), wanted("/x", "a")]):
        assert problem_of(everything, rows, *filters).code == "field_missing"


def test_fields_may_be_deep():
    rows = [{"id": 1, "where": {"county": "Essex"}}, {"id": 2, "where": {"county": "Kent"}}]
    assert ids(everything(rows, wanted("/where/county", "Kent"))) == [2]
    assert ids(everything(rows, sort=(SortField("where/county", descending=True),))) == [2, 1]


def rank(value):
    """A naive order of kinds: truth, numbers, not a number, texts."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, str):
        return 3
    return 2 if value != value else 1  # noqa: PLR0124 - only NaN differs from itself


def compare(order, one, other):
    """Compare two rows as the documentation says, field by field."""
    for by in order:
        a, b = one[by.name], other[by.name]
        if a is None or b is None:
            result = (a is None) - (b is None)
        else:
            sign = -1 if by.descending else 1
            before, after = (rank(a), a), (rank(b), b)
            if rank(a) == rank(b) == 2:
                before = after
            result = sign * ((before > after) - (before < after))
        if result:
            return result
    return 0


VALUES = st.one_of(st.none(), PLAIN, st.just(float("nan")), st.text("aZé\U0001d4b3 ", max_size=2))
ROWS = st.lists(
    st.fixed_dictionaries({"a": VALUES, "b": VALUES, "c": st.sampled_from(["1", 1, 2, None])}), max_size=9
)
ORDERS = st.lists(
    st.builds(SortField, st.sampled_from("abc"), descending=st.booleans()),
    max_size=3,
    unique_by=lambda by: by.name,
)


@given(ROWS, ORDERS, st.booleans(), st.integers(0, 9), st.integers(1, 9))
def test_answers_equal_the_naive_ones(rows, order, narrowed, offset, limit):
    matching = [
        row for row in rows if not narrowed or (row["c"] is not None and text_of(row["c"]) == text_of(1))
    ]
    expected = sorted(matching, key=functools.cmp_to_key(lambda one, other: compare(order, one, other)))
    filters = [wanted("/c", 1)] if narrowed else []
    answer = narrow(rows, filters, sort=tuple(order), offset=offset, limit=limit)
    assert answer.total == len(expected)
    assert list(map(id, answer.rows)) == list(map(id, expected[offset : offset + limit]))


def test_the_first_field_matters_most():
    fields = ["amount", "county"]
    assert ids(everything(LOANS, sort=parse_sort("-county,-amount", fields))) == [2, 1, 3, 4]
    assert ids(everything(LOANS, sort=parse_sort("-amount,-county", fields))) == [1, 3, 4, 2]


def test_what_is_not_a_number_comes_after_the_numbers():
    nan = float("nan")
    rows = [
        {"id": 1, "x": 2.0},
        {"id": 2, "x": nan},
        {"id": 3, "x": 1.0},
        {"id": 4, "x": nan},
        {"id": 5, "x": 0.5},
    ]
    assert ids(everything(rows, sort=(SortField("x"),))) == [5, 3, 1, 2, 4]
    assert ids(everything(rows, sort=(SortField("x", descending=True),))) == [2, 4, 1, 3, 5]


def test_other_plain_types_sort_too():
    early, late = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    rows = [{"x": late}, {"x": Decimal("1.5")}, {"x": early}, {"x": 1}, {"x": None}, {"x": "text"}]
    by_x = [row["x"] for row in everything(rows, sort=(SortField("x"),))]
    assert by_x == [1, Decimal("1.5"), "text", early, late, None]


@pytest.mark.parametrize("bad", [{}, {"x": [1]}, {"x": {}}])
def test_rows_that_cannot_be_sorted_are_a_problem(bad):
    problem = problem_of(everything, [{"x": 1}, bad], sort=(SortField("x"),))
    assert problem.code == "field_missing"
    assert "'/x'" in problem.message


def test_times_with_and_without_a_zone_cannot_be_sorted():
    rows = [{"x": datetime(2020, 1, 1, tzinfo=UTC)}, {"x": datetime(2020, 1, 1)}]  # noqa: DTZ001 - the point
    assert problem_of(everything, rows, sort=(SortField("x"),)).code == "field_missing"


def test_rows_that_are_filtered_out_need_no_sort_field():
    assert ids(
        everything(
            [{"id": 1, "x": "a", "s": 1}, {"id": 2, "x": "b"}], wanted("/x", "a"), sort=(SortField("s"),)
        )
    ) == [1]


def test_sort_is_read():
    assert parse_sort("-amount,county", ["amount", "county"]) == (
        SortField("amount", descending=True),
        SortField("county"),
    )
    assert parse_sort(None, ["amount"]) == parse_sort("", []) == ()


@pytest.mark.parametrize(
    "text", ["secret", "amount,", "--amount", "amount,-amount", " amount", 7, True, ["amount"]]
)
def test_a_bad_sort_says_what_is_possible_and_does_not_repeat_it(text):
    problem = problem_of(parse_sort, text, ["amount", "county"])
    assert problem.status == 400
    assert problem.message.startswith("sort must be names out of amount, county")
    assert "secret" not in problem.message


def test_a_route_without_sorting_says_so():
    assert problem_of(parse_sort, "amount", []).message == "sort is not possible here: leave it out"


@pytest.mark.parametrize(
    ("offset", "limit", "window"),
    [(None, None, (0, 50)), ("", "", (0, 50)), ("7", "500", (7, 500)), (7, 1, (7, 1)), (7.0, 2.0, (7, 2))],
)
def test_a_window_is_read(offset, limit, window):
    assert parse_window(offset, limit, Page()) == window


@pytest.mark.parametrize(
    "bad", ["-1", "x", "1.5", 1.5, True, "٣", "9" * 5000, " 1", "1_0", "+1", [], "9" * 16]
)
@pytest.mark.parametrize("name", ["offset", "limit"])
def test_a_bad_window_names_the_parameter_and_its_range(name, bad):
    given_ = {"offset": None, "limit": None, name: bad}
    problem = problem_of(parse_window, given_["offset"], given_["limit"], Page())
    assert problem.status == 400
    assert problem.message.startswith(f"{name} must be a whole number from ")


def test_a_page_has_at_least_one_and_at_most_the_routes_rows():
    assert problem_of(parse_window, None, 0, Page()).message == "limit must be a whole number from 1 to 500"
    assert problem_of(parse_window, None, 501, Page()).message == "limit must be a whole number from 1 to 500"
