"""The parameters of requests, read."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.gateway.requests.parameters import MOST_PARAMETERS, parameters_of_body, parameters_of_query
from incrowd.gateway.requests.problems import Problem

PLANTED = "Zyxomma7731"


def refusal(call, *arguments):
    """Return the message for a bad request; no value is in it."""
    with pytest.raises(Problem) as caught:
        call(*arguments)
    assert caught.value.code == "bad_request"
    assert PLANTED not in caught.value.message
    return caught.value.message


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
    assert "not JSON in UTF-8" in refusal(parameters_of_body, body)


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", f'"{PLANTED}"'.encode()])
def test_a_body_that_is_no_object(body):
    assert "it is not a JSON object" in refusal(parameters_of_body, body)


@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 2}', b'{"a": 1, "\\u0061": 1}', b'{"a": 1, "b": 2, "a": null}']
)
def test_a_parameter_given_twice_in_a_body(body):
    assert "the same name twice" in refusal(parameters_of_body, body)


@pytest.mark.parametrize("value", [[PLANTED], {"x": PLANTED}, [], {}])
def test_a_value_that_is_not_plain(value):
    assert "plain values" in refusal(parameters_of_body, json.dumps({"a": value}).encode())


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    for read_bytes in (parameters_of_body, parameters_of_query):
        with contextlib.suppress(Problem):
            found = read_bytes(data)
            assert all(isinstance(name, str) for name in found)
            assert not any(isinstance(value, list | dict) for value in found.values())
