"""Ladders: what lies above an item of a kind follows from its text alone, and is the same from every rung."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.kinds import KINDS, kind_of, text_of, typed
from incrowd.taxonomy.ladders import clean_items, count_misspelled, way_up, way_up_from_class

EXAMPLES = [
    ("url", "www.homedepot.com/floors?page=2", ("www.homedepot.com/floors", "homedepot.com")),
    ("url", "homedepot.com", ("homedepot.com",)),
    ("url", "www.bbc.co.uk/news", ("bbc.co.uk", ".co.uk")),
    ("url", "cs.stanford.edu", ("stanford.edu", ".edu")),
    ("url", "10.0.0.7:8080/x", ("10.0.0.7",)),
    ("url", "localhost/x", ("localhost",)),
    ("url", "[2001:db8::1]:80/x", ("[2001:db8::1]",)),
    ("shown", "nasa.gov/moon #3", ("nasa.gov/moon", "nasa.gov", ".gov")),
    ("shown", "nasa.gov #1", ("nasa.gov", ".gov")),
    ("hour", "14:00", ("12:00-18:00",)),
    ("day", "2006-01-01", ("2005-W52", "2005")),
    ("week", "2005-W52", ("2005",)),
    ("month", "2006-12", ("2006-Q4", "2006")),
    ("place", "US/TX/Austin", ("US/TX", "US")),
    ("device", "desktop", ()),
    ("language", "en-us", ("en",)),
]


@pytest.mark.parametrize(("kind", "text", "expected"), EXAMPLES)
def test_what_lies_above(kind, text, expected):
    assert way_up(kind, text) == expected


@pytest.mark.parametrize(("kind", "text", "_expected"), EXAMPLES)
def test_the_way_is_the_same_from_every_rung(kind, text, _expected):
    way = way_up(kind, text)
    for place, rung in enumerate(way):
        assert way_up_from_class(kind, rung) == way[place + 1 :]


HOSTS = st.from_regex(r"([a-z]{1,4}\.){0,3}(com|gov|uk|co\.uk|7)", fullmatch=True)
PATHS = st.from_regex(r"(/[a-z?=.#1]{0,4}){0,3}", fullmatch=True)


@given(st.builds("{}{}".format, HOSTS, PATHS), st.sampled_from(["url", "shown"]))
def test_any_address_has_one_way_up(address, kind):
    item = clean_items(kind, pa.array([address]))[0].as_py()
    if item is not None:
        way = way_up(kind, item)
        assert len(set(way)) == len(way) > 0
        for place, rung in enumerate(way):
            assert way_up_from_class(kind, rung) == way[place + 1 :]


@pytest.mark.parametrize(
    ("kind", "text", "item"),
    [
        ("url", "HTTP://WWW.Home.COM/Floors/#top", "www.home.com/Floors"),
        ("url", "https://someone:secret@home.com/", "home.com"),
        ("url", "home.com.", "home.com"),
        ("url", "http://", None),
        ("shown", "http://home.com/ #2", "home.com #2"),
        ("place", " US > TX > Austin ", "US/TX/Austin"),
        ("place", "US//Austin", "US/Austin"),
        ("place", "*", None),
        ("place", "US/New\u00a0 York", "US/New York"),
        ("url", "a.com/x  y", "a.com/x y"),
        ("url", "web.archive.org/web/2006/http://cnn.com", "web.archive.org/web/2006/http://cnn.com"),
        ("url", "x..gov/a", "x.gov/a"),
        ("url", "http://:80/x", None),
        ("language", "T\u0308x", "\u1e97x"),
        ("place", "US/*/x", None),
        ("language", "EN_us", "en-us"),
        ("device", "", None),
    ],
)
def test_what_means_the_same_is_written_in_one_way(kind, text, item):
    assert clean_items(kind, pa.array([text])).to_pylist() == [item]


@pytest.mark.parametrize(
    ("kind", "exact", "good", "bad"),
    [
        ("week", True, "2006-W10", ["John Smith", "2006-W77", "2006"]),
        ("week", False, "2006", ["2006-W10"]),
        ("day", True, "2006-02-28", ["2006-02-31", "2006-W10"]),
        ("day", False, "2006-W10", ["2006-W10x"]),
        ("hour", True, "23:00", ["24:00", "03:17"]),
        ("month", False, "2006-Q4", ["2006-Q5"]),
        ("url", True, "x.com/a", ["x.com/a#frag", "http://x.com"]),
        ("url", False, ".gov", [""]),
        ("place", True, "US/TX", ["*", "US//x", "a\tb"]),
    ],
)
def test_what_can_be_an_item_of_a_kind(kind, exact, good, bad):
    assert count_misspelled(kind, [good], exact=exact) == 0
    assert count_misspelled(kind, bad, exact=exact) == len(bad)


def test_an_item_names_its_kind():
    for kind in KINDS:
        assert (kind_of(typed(kind, "x")), text_of(typed(kind, "x"))) == (kind, "x")
    assert (kind_of("x"), text_of("x")) == (None, "x")
    assert typed("url", "a") > "\U0010fffd"
