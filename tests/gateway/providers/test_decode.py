from __future__ import annotations

import asyncio
import contextlib
import json
import time

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.json_values import json_values
from incrowd.gateway.config.pointers import compile_pointer
from incrowd.gateway.config.settings import Budget
from incrowd.gateway.providers import decode as decoding
from incrowd.gateway.providers import structure
from incrowd.gateway.providers.base import ProviderError
from incrowd.gateway.providers.decode import Decoder, Room

SECRET = "Essex-and-nobody-else"
POINTERS = ["", "/items", "/data/items", "/data/1/items", "/a~1b", "/~0", "/"]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ['"', "\\", "\\\\", '\\"', "{", "}]", ",", ":", "\u2028", "é", "\U0001f600", "items", "\x7f"]
)
VALUES = json_values(TEXTS, max_leaves=8)
ROWS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=12) | VALUES
WAYS = [{"separators": (",", ":")}, {}, {"indent": 2}, {"indent": "\t\r\n "}, {"ensure_ascii": False}]


@st.composite
def documents(draw):
    """Draw a JSON text and a pointer that mostly leads to rows in it."""
    pointer = draw(st.sampled_from(POINTERS))
    document = draw(ROWS)
    for step in reversed(pointer.split("/")[1:]):
        beside = draw(st.dictionaries(TEXTS, VALUES, max_size=2))
        name = step.replace("~1", "/").replace("~0", "~")
        document = [beside, document] if step == "1" else {**beside, name: document}
        if isinstance(document, dict) and draw(st.booleans()):
            document |= {"after " + key: value for key, value in beside.items()}
    text = json.dumps(document, **draw(st.sampled_from(WAYS))).encode()
    return draw(st.sampled_from([b"", b" \n"])) + text + draw(st.sampled_from([b"", b"\t"])), pointer


def expected(text, pointer):
    """Return the document and its rows as plain decoding has them; None if they must be refused."""
    try:
        document = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None
    rows = compile_pointer(pointer)(document)
    return (document, rows) if type(rows) is list and all(type(row) is dict for row in rows) else None


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def decoded(text, pointer, room=None):
    return asyncio.run(decode_either(Decoder(pointer), text, room or Room(Budget())))


async def decode_either(decoder, text, room):
    return decoder.decode_small(text, room) or await decoder.decode_large(text, room)


def outcome(text, pointer):
    """Return the document and its rows, or None after an error."""
    try:
        found = decoded(text, pointer)
    except ProviderError:
        return None
    if pointer:
        assert compile_pointer(pointer)(found.document) is found.rows
    return found.document, found.rows


@contextlib.contextmanager
def in_pieces(size):
    """Take every answer for a large one, and look at so many bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "SMALL", -1)
        for module in (decoding, structure):
            patch.setattr(module, "PIECE", size)
        patch.setattr(structure, "FIRST_PIECE", 2)
        patch.setattr(structure, "GROWTH", 2)
        yield


SIZES = st.sampled_from([2, 3, 16, 200])


@given(case=documents(), size=SIZES)
@settings(max_examples=60)
def test_a_large_answer_is_decoded_as_a_small_one(case, size):
    with in_pieces(size):
        assert repr(outcome(*case)) == repr(expected(*case))


@given(case=documents(), size=SIZES, data=st.data())
@settings(max_examples=60)
@example(case=(b"[{},]", ""), size=3, data=None)
@example(case=(b"[{} {}]", ""), size=3, data=None)
@example(case=(b"[{}}", ""), size=3, data=None)
@example(case=(b"[,{}]", ""), size=3, data=None)
@example(case=(b'[{"a":1}', ""), size=3, data=None)
@example(case=(b"[{}]]", ""), size=3, data=None)
@example(case=(b"[{}]x", ""), size=3, data=None)
@example(case=(b"[{},1]", ""), size=3, data=None)
@example(case=(b"[{}, []]", ""), size=3, data=None)
@example(case=(b'[{"a":NaN}]', ""), size=3, data=None)
@example(case=(b'[{"a":1e999}]', ""), size=3, data=None)
@example(case=(b'[{"a":"\\ud800"}]', ""), size=3, data=None)
@example(case=(b'[{"a":"\xff"}]', ""), size=3, data=None)
@example(case=(b'[{"a":"\x01"}]', ""), size=3, data=None)
@example(case=(b'[{"a":"\\', ""), size=3, data=None)
@example(case=(b"\xef\xbb\xbf[{}]", ""), size=3, data=None)
@example(case=(b'{"items":[{"a":1}],"items":[{"a":2}]}', "/items"), size=3, data=None)
@example(case=(b'{"items":[{"a":1,"a":2}]}', "/items"), size=3, data=None)
@example(case=(b'{"x":[{"a":1,"a":2}],"items":[]}', "/items"), size=3, data=None)
@example(case=(b'{"items":[{}]},', "/items"), size=3, data=None)
@example(case=(b'{"items":[{}]', "/items"), size=3, data=None)
@example(case=(b"{items:[{}]}", "/items"), size=3, data=None)
@example(case=(b'{1:0,"items":[{}]}', "/items"), size=3, data=None)
@example(case=(b"", ""), size=3, data=None)
def test_what_one_way_refuses_the_other_does(case, size, data):
    text, pointer = case
    if data:
        place = data.draw(st.integers(0, len(text)))
        put = data.draw(
            st.sampled_from([b"", b"{", b"}", b"[", b"]", b",", b'"', b"\\", b" ", b"1", b"\xff", b":"])
        )
        text = text[:place] + put + text[place + data.draw(st.integers(0, 2)) :]
    with in_pieces(size):
        assert repr(outcome(text, pointer)) == repr(expected(text, pointer))


@given(case=documents(), size=SIZES, most=st.integers(1, 5))
@settings(max_examples=30)
def test_no_more_rows_are_decoded_than_one_over_the_budget(case, size, most):
    whole = expected(*case)
    if whole is None:
        return
    with in_pieces(size):
        found = decoded(*case, Room(Budget(rows=most)))
    assert found.rows == whole[1][: most + 1]
    if type(whole[0]) is dict:
        assert found.document.keys() == whole[0].keys()


ROW = json.dumps({"id": 1, "county": "Essex", "at": "12:30", "tags": ["a", {"b": "]}"}]}).encode()


def large(row=ROW, count=10_000, after=b', "total": 7}'):
    return b'{"items": [' + b", ".join([row] * count) + b"]" + after


def test_a_really_large_answer_is_decoded_as_a_small_one():
    assert len(large()) > 5 * structure.PIECE
    assert len(large()) > decoding.SMALL
    assert outcome(large(), "/items") == expected(large(), "/items")


def test_decoding_stops_when_the_budget_in_rows_is_passed():
    room = Room(Budget(rows=5_000))
    found = decoded(large(), "/items", room)
    assert (len(found.rows), found.document["total"], room.is_full) == (5_001, 7, True)
    # What comes after is passed over, not decoded, so its faults do not show.
    spoilt = large(count=5_001, after=b"").removesuffix(b"]") + b', {"a" 1}], "total": 7}'
    assert len(decoded(spoilt, "/items", Room(Budget(rows=5_000))).rows) == 5_001
    with pytest.raises(ProviderError):
        decoded(spoilt, "/items", Room(Budget(rows=5_001)))


def test_the_room_is_that_of_all_pages_together():
    room = Room(Budget(rows=15_000))
    assert len(decoded(large(), "/items", room).rows) == 10_000
    assert not room.is_full
    assert len(decoded(large(), "/items", room).rows) == 5_001


@pytest.mark.parametrize("size", [1_000, 24_000], ids=["small pages", "large pages"])
def test_memory_is_counted_while_decoding(size):
    text = b'{"items": [{"a": [' + b"[]," * size + b"[]]}]}"
    assert (len(text) > decoding.SMALL) == (size == 24_000)
    room = Room(Budget(bytes=1_000_000))
    pages = 0
    while not room.over and pages < 2_000:
        decoded(text, "/items", room)
        pages += 1
    assert room.over.startswith("the answer has more than 64000000 bytes")
    assert 20_000_000 < pages * size * 64 < 80_000_000


def test_decoding_stops_when_the_memory_is_used_up():
    text = b'{"items": [' + b",".join([b'{"a": [' + b"[]," * 2_000 + b"[]]}"] * 700) + b"]}"
    room = Room(Budget(bytes=10**6))
    found = decoded(text, "/items", room)
    assert 100 < len(found.rows) < 600
    assert room.over


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"items": [{"a": "' + b"x" * 2_000_000 + b'"}]}', "a row of the provider's answer is too large"),
        (b'{"items": [{"a": [' + b"1," * 50_000 + b"1]}]}", "a row of the provider's answer is too large"),
        (
            b'{"items": [], "a": "' + b"x" * 2_000_000 + b'"}',
            "the part without rows of the provider's answer",
        ),
        (b'{"a": [' + b"1," * 50_000 + b'1], "items": []}', "the part without rows of the provider's answer"),
        (b"{" + b'"a":1,' * 60_000 + b'"items":[]}', "'rows' points to"),
        (b'{"items": ' + b"[" * 1_000_000, "'rows' points to"),
        (b'{"items": [{"a": ' + b"[" * 1_000_000, "not JSON"),
        (b'{"items": [{"a": ' + b"[" * 40_000 + b"]" * 40_000 + b"}]}", "not JSON"),
        (b'{"items": [' + b"1," * 1_000_000 + b"1]}", "'rows' points to"),
        (
            b'{"items": [' + b'{"' + SECRET.encode() + b'":0,"a":1,"a":2},' * 9_000 + b"{}]}",
            "same name twice",
        ),
        (b'{"items": [{"a":"' + b'\\"' * 500_000, "not JSON"),
    ],
)
def test_a_large_answer_that_cannot_be_read_is_an_error_soon(text, words):
    begun = time.process_time()
    with pytest.raises(ProviderError, match=words) as caught:
        decoded(text, "/items")
    assert time.process_time() - begun < 10  # less than one; what grows with the square takes minutes
    assert (caught.value.code, caught.value.status) == ("provider_error", 502)
    assert SECRET not in str(caught.value)


def test_decoding_ends_with_the_fetch():
    text = b'{"items": [' + b",".join([b'{"a": "\\u003a"}'] * 1_000_000) + b"]}"

    room = Room(Budget(rows=10**7))

    async def give_up():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await decode_either(Decoder("/items"), text, room)
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(give_up())
    assert room.rows > 10**7 - 1_000_000  # not all of it was decoded
