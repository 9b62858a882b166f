from __future__ import annotations

import pytest

from incrowd.errors import BadInputError
from incrowd.gateway.config.pointers import MISSING, compile_pointer

# The document and the pointers of RFC 6901, section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
    "null": None,
    "deep": {"x": [{"y": 9}]},
    "~1": 10,
}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
        ("/null", None),
        ("/deep/x/0/y", 9),
        ("/~01", 10),
    ],
)
def test_a_pointer_finds_what_it_points_to(pointer, found):
    assert compile_pointer(pointer)(DOCUMENT) == found


@pytest.mark.parametrize(
    "pointer",
    [
        "/bar",
        "/foo/2",
        "/foo/-",
        "/foo/-1",
        "/foo/01",
        "/foo/x",
        "/foo/0/0",
        "/null/x",
        "/deep/z/0",
        "/foo/²",
    ],
)
def test_a_pointer_to_nothing_finds_nothing(pointer):
    assert compile_pointer(pointer)(DOCUMENT) is MISSING


@pytest.mark.parametrize("document", [None, 1, "text", True, [], MISSING])
def test_a_pointer_into_something_plain_finds_nothing(document):
    assert compile_pointer("/a")(document) is MISSING
    assert compile_pointer("/a/b")(document) is MISSING


def test_a_place_in_an_array_is_found_at_the_top():
    assert compile_pointer("/1")(["a", "b"]) == "b"
    assert compile_pointer("/2")(["a", "b"]) is MISSING


@pytest.mark.parametrize("pointer", ["items", "#/items", "/a~", "/a~2b", "~0"])
def test_what_is_no_pointer_is_refused(pointer):
    with pytest.raises(BadInputError, match="JSON pointer"):
        compile_pointer(pointer)


def test_missing_shows_itself():
    assert repr(MISSING) == "MISSING"
