"""Requests' parameters, read and sorted out."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.gateway.answer import SortField, narrow
from incrowd.gateway.asking import MOST_PARAMETERS, Reader, parameters_of_body, parameters_of_query
from incrowd.gateway.problems import Problem
from incrowd.gateway.settings import Page, Parameter, Route

ROUTE = Route(
    path="/loans",
    provider="loans",
    parameters={
        "county": Parameter(use="quasi", attribute="place", field="/where/county", send=("county", "state")),
        "race": Parameter(use="quasi", attribute="race", field="/race", send=("race",)),
        "words": Parameter(use="passthrough", send=("q",)),
        "name": Parameter(use="block", field="/name"),
        "email": Parameter(use="block"),
    },
    sort=("amount", "county"),
    page=Page(size=20, most=100),
)
PLANTED = "Zyxomma7731"


@pytest.fixture(scope="module")
def read():
    return Reader(ROUTE).read


def refusal(call, *arguments):
    """Return what a bad request is told; no value is in it."""
    with pytest.raises(Problem) as caught:
        call(*arguments)
    assert caught.value.code == "bad_request"
    assert PLANTED not in caught.value.message
    return caught.value.message


# Reading


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        (b"", {}),
        (b"a=1&b=", {"a": "1", "b": ""}),
        (b"a", {"a": ""}),
        (b"&&a=b=c&", {"a": "b=c"}),
        (b"a=x+y%20z%2B&%C3%A9=%E2%82%AC", {"a": "x y z+", "é": "€"}),
        (b"a=%zz%4", {"a": "%zz%4"}),
        (b"a=1;b=2", {"a": "1;b=2"}),
        (b"a=%00%0d%0a", {"a": "\0\r\n"}),
    ],
)
def test_a_query_string(query, parameters):
    assert parameters_of_query(query) == parameters


@given(st.text(alphabet="ab=&%+;26cé", max_size=30))
def test_query_strings_are_read_as_the_standard_library_reads_them(query):
    try:
        expected = parse_qsl(query.encode().decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        assert "the query string cannot be read" in refusal(parameters_of_query, query.encode())
        return
    if len(dict(expected)) < len(expected):
        assert "more than once" in refusal(parameters_of_query, query.encode())
    else:
        assert list(parameters_of_query(query.encode()).items()) == expected


@pytest.mark.parametrize(
    "query", [f"a={PLANTED}é".encode(), f"a=%ff{PLANTED}".encode(), b"%ed%a0%80=1", b"a=1&" * 101]
)
def test_a_query_string_that_cannot_be_read(query):
    assert "the query string cannot be read" in refusal(parameters_of_query, query)


@pytest.mark.parametrize("query", [b"a=1&a=2", b"a=1&%61=1", b"a=&a", b"=1&=2"])
def test_a_parameter_given_twice(query):
    assert "more than once" in refusal(parameters_of_query, query)


def test_as_many_parameters_as_there_may_be():
    names = [f"p{number}" for number in range(MOST_PARAMETERS + 1)]
    assert len(parameters_of_query("&".join(f"{name}=1" for name in names[1:]).encode())) == MOST_PARAMETERS
    assert len(parameters_of_body(json.dumps(dict.fromkeys(names[1:], 1)).encode())) == MOST_PARAMETERS
    assert "at most 100" in refusal(parameters_of_query, "&".join(f"{name}=1" for name in names).encode())
    assert "at most 100" in refusal(parameters_of_body, json.dumps(dict.fromkeys(names, 1)).encode())


def test_a_body():
    body = ' {"a": "x", "b": 1, "c": 2.5, "d": true, "e": null, "é": "\\u20ac"}\n'.encode()
    assert parameters_of_body(body) == {"a": "x", "b": 1, "c": 2.5, "d": True, "e": None, "é": "€"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1,}',
        b"{'a': 1}",
        b'{"a": 1} x',
        b'{"a": "\xff"}',
        b'{"\xff": 1}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        "{}".encode("utf-16"),
        PLANTED.encode(),
    ],
)
def test_a_body_that_is_no_json(body):
    assert "cannot be read" in refusal(parameters_of_body, body)


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", f'"{PLANTED}"'.encode()])
def test_a_body_that_is_no_object(body):
    assert "must be a JSON object" in refusal(parameters_of_body, body)


@pytest.mark.parametrize("value", [[PLANTED], {"x": PLANTED}, [], {}])
def test_a_value_that_is_not_plain(value):
    assert "plain values" in refusal(parameters_of_body, json.dumps({"a": value}).encode())


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    for read_bytes in (parameters_of_body, parameters_of_query):
        with contextlib.suppress(Problem):
            assert isinstance(read_bytes(data), dict)


# Sorting out


def test_each_parameter_goes_where_it_belongs(read):
    asking = read({"county": "Essex", "race": "Black", "words": "x", "name": "Ada", "email": "e", "new": 1})
    assert asking.query == {"place": "Essex", "race": "Black"}
    assert asking.passed == {"q": "x"}
    assert [(wanted.field, wanted.text) for wanted in asking.filters] == [
        ("/where/county", "Essex"),
        ("/race", "Black"),
        ("/name", "Ada"),
    ]
    assert asking.blocked == ("name", "email")
    assert asking.unknown == ("new",)
    assert (asking.order, asking.offset, asking.limit) == ((), 0, 20)


def test_the_filters_find_their_fields(read):
    asking = read({"county": 7, "name": True})
    rows = [{"where": {"county": county}, "name": name} for county in ("7", 8) for name in ("true", "false")]
    assert narrow(rows, asking.filters, offset=0, limit=9).rows == rows[:1]


@pytest.mark.parametrize("nothing", [None, ""])
def test_what_is_left_blank_was_not_asked(read, nothing):
    asking = read(dict.fromkeys((*ROUTE.parameters, "new", "sort", "offset", "limit"), nothing))
    assert asking == read({})
    assert (asking.query, asking.passed, asking.filters) == ({}, {}, ())
    assert (asking.blocked, asking.unknown) == ((), ())


@pytest.mark.parametrize("value", [0, False, 0.0])
def test_zero_and_false_are_not_blank(read, value):
    asking = read({"race": value, "new": value})
    assert asking.query == {"race": value}
    assert len(asking.filters) == 1
    assert asking.unknown == ("new",)


def test_order_and_page(read):
    asking = read({"sort": "-amount,county", "offset": "40", "limit": 100.0})
    assert asking.order == (SortField("amount", descending=True), SortField("county"))
    assert (asking.offset, asking.limit) == (40, 100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 101},
        {"limit": 0},
        {"limit": True},
        {"offset": -1},
        {"offset": 1.5},
        {"offset": PLANTED},
        {"sort": PLANTED},
        {"sort": 5},
    ],
)
def test_an_order_or_a_page_that_cannot_be(read, wrong):
    assert next(iter(wrong)) in refusal(read, wrong)


def test_no_value_is_in_a_repr(read):
    given_ = dict.fromkeys((*ROUTE.parameters, "new"), PLANTED)
    assert PLANTED not in repr(read(given_))
