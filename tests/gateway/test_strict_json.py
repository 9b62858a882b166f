from __future__ import annotations

import json
from sys import getsizeof

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.json_values import json_scalars, json_values
from incrowd.gateway.config.pointers import compile_pointer
from incrowd.gateway.requests.strict_json import JsonError, decode, decode_object, decode_with_rows, memory_of

NAMES = st.sampled_from(["a", "b", ":", "a:b", "", "é", "\U0001f600", "\\", '"', "{", ","])
VALUES = json_values(NAMES, max_leaves=12)


class Pairs(list):
    """An object whose names may come twice."""


# As VALUES, with objects that may have a name twice.
TWICE = st.recursive(
    json_scalars(NAMES),
    lambda parts: st.lists(parts, max_size=3) | st.lists(st.tuples(NAMES, parts), max_size=3).map(Pairs),
    max_leaves=12,
)


def spell(text, escape):
    """Write a string, with a colon as it is or escaped."""
    return json.dumps(text).replace(":", escape)


def write(value, escapes, blank):
    """Write a value as JSON; each string takes the next way of writing a colon."""
    if isinstance(value, str):
        return spell(value, next(escapes))
    if isinstance(value, Pairs):
        parts = [
            f"{write(name, escapes, blank)}{blank}:{blank}{write(part, escapes, blank)}"
            for name, part in value
        ]
        return "{" + f"{blank},".join(parts) + "}"
    if isinstance(value, list):
        return "[" + f",{blank}".join(write(part, escapes, blank) for part in value) + "]"
    return json.dumps(value)


def has_twice(value):
    if isinstance(value, Pairs):
        names = [name for name, _ in value]
        return len(set(names)) < len(names) or any(has_twice(part) for _, part in value)
    return isinstance(value, list) and any(map(has_twice, value))


@given(value=TWICE, blank=st.sampled_from(["", " ", "\n\t"]), data=st.data())
def test_names_that_come_twice_are_refused_and_nothing_else(value, blank, data):
    ways = st.sampled_from([":", r"\u003a", r"\u003A"])
    escapes = iter(lambda: data.draw(ways), None)
    text = write(value, escapes, blank).encode()
    if has_twice(value):
        with pytest.raises(JsonError, match="same name twice"):
            decode(text)
        with pytest.raises(JsonError, match="same name twice"):
            decode_with_rows(text, compile_pointer("/a"))
    else:
        assert decode(text) == msgspec.json.decode(text)
        assert decode_with_rows(text, compile_pointer("/a"))[0] == msgspec.json.decode(text)


@pytest.mark.parametrize(
    "text",
    [
        rb'{"a":1,"a":2,"b":"\u003a"}',  # an escaped colon would make up for the lost one
        rb'{"a":"\u003a","a":"\u003a\u003a"}',
        rb'{"a:":1,"a\u003a":2}',
        rb'{"a":1,"\u0061":2}',
        rb'[{"x":{"a":1,"a":1}}]',
        rb'{"a":{"b":1},"a":{"b":1}}',
    ],
)
def test_a_lost_name_cannot_be_hidden(text):
    with pytest.raises(JsonError, match="same name twice"):
        decode(text)


def test_the_rows_are_in_the_document():
    text = b'{"items": [{"a": 1}, {"a": 2}], "links": {"next": "http://x/?a:b"}}'
    document, rows = decode_with_rows(text, compile_pointer("/items"))
    assert document == json.loads(text)
    assert rows is document["items"]
    assert decode_with_rows(text, compile_pointer("/links"))[1] is None
    assert decode_with_rows(b"[1, {}]", compile_pointer(""))[1] is None


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nan", b"\xff", b'"\xff"', b"[" * 100_000, b'{"a":1}x', rb'{"a":"\ud800"}', b"[1,]"]
)
def test_what_is_not_json_is_refused_without_quoting_it(text):
    with pytest.raises(JsonError, match=r"^it is not JSON in UTF-8$") as caught:
        decode(text)
    assert caught.value.__suppress_context__


def test_only_an_object_is_accepted():
    assert decode_object(b'{"a": 1}') == {"a": 1}
    with pytest.raises(JsonError, match="not a JSON object"):
        decode_object(b"[]")
    with pytest.raises(JsonError, match="twice"):
        decode_object(b'{"a": 1, "a": 1}')


def walked(value):
    """Return the bytes that a value takes, each object in it counted once."""
    seen, memory, waiting = set(), 0, [value]
    while waiting:
        part = waiting.pop()
        if (
            id(part) in seen
            or part is None
            or isinstance(part, bool)
            or (type(part) is int and -6 < part < 257)
        ):
            continue
        seen.add(id(part))
        memory += getsizeof(part)
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part
    return memory


@given(rows=st.lists(st.dictionaries(NAMES | st.text(max_size=40), VALUES, max_size=30), max_size=20))
@settings(max_examples=25)
def test_the_memory_of_rows_is_not_underestimated(rows):
    rows = msgspec.json.decode(msgspec.json.encode(rows))
    assert memory_of(rows) >= 0.7 * walked(rows)


ROW = {"id": 123456, "county": "Essex", "race": "Black", "income": 1000, "amount": 12.5, "note": "some words"}
SHAPES = {
    "ordinary": ([dict(ROW, id=number) for number in range(1000)], 2.0),
    "empty": ([{} for _ in range(1000)], 2.0),
    "long texts": ([{"text": "word " * 500} for _ in range(100)], 1.1),
    "one emoji makes a text wide": ([{"text": "word " * 500 + "\U0001f600"} for _ in range(100)], 1.3),
    "umlauts": ([{"name": "Jürgen", "place": "Köln"} for _ in range(1000)], 2.0),
    "many names": ([{f"name {name}": number for name in range(100)} for number in range(300, 400)], 2.5),
    "lists": ([{"a": [[] for _ in range(100)]} for _ in range(100)], 3.0),
    "objects": ([{"a": [{} for _ in range(100)]} for _ in range(100)], 3.0),
    "deep": ([{"a": {"b": {"c": {"d": {}}}}} for _ in range(1000)], 3.0),
    "names of their own": ([{f"a name as long as can be, and {number}": "x"} for number in range(1000)], 2.0),
    "one differs": ([{}] * 999 + [{"a": ["text"] * 10_000}], 3.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_memory_of_rows_is_about_what_they_take(shape):
    rows, most = SHAPES[shape]
    rows = msgspec.json.decode(msgspec.json.encode(rows))
    assert 0.7 * walked(rows) <= memory_of(rows) <= most * walked(rows)
