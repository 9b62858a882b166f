"""The Link header is read as RFC 8288 says, in linear time, and never guessed at."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.providers.helpers import expect_failure, http
from gateway.providers.raw import Raw, answer
from incrowd.gateway.config.settings import LinkPages
from incrowd.gateway.providers.base import ProviderError
from incrowd.gateway.providers.links import MOST_CHARACTERS, next_link

TOKEN = set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@pytest.mark.parametrize(
    ("headers", "target"),
    [
        (['</a>; rel="next"'], "/a"),
        (["</a>; rel=next"], "/a"),
        (["</a>;rel=NEXT;title=x"], "/a"),
        (["</a> ; rel = next ; "], "/a"),
        (["</a>;;rel=next;"], "/a"),
        ([" , </a>; rel=next,, "], "/a"),
        (['</p>; rel="prev", </n>; rel="next"'], "/n"),
        (['</p>; rel="prev"; title="rel=next, </x>; rel=next", </n>; rel="next"'], "/n"),
        (['</p>; rel="prev"', '</n>; title="n"; rel="last next"'], "/n"),
        (['</a>; title="a \\" quote"; rel="n\\ext"'], "/a"),
        (["</a,b;c>; rel=next"], "/a,b;c"),
        (["</a>; rel=next", "</a>; rel=next"], "/a"),
        (["</a>; rel=prev; rel=next"], None),  # the first counts
        (['</a>; rel="nextish"'], None),
        (['</a>; title="next"'], None),
        (["</a>; rev=next"], None),
        (["</a>; rel"], None),
        (["</a>"], None),
        ([""], None),
        ([], None),
    ],
)
def test_the_next_link_is_found_in_headers(headers, target):
    assert next_link(headers) == target


@pytest.mark.parametrize(
    "header",
    [
        "nonsense",
        "</a; rel=next",
        "/a; rel=next",
        "</a> rel=next",
        '</a>; rel="next',
        '</a>; title="\\"; rel=next',
        '</a>; title=a"b; rel=next',
        "</p>; rel=prev </n>; rel=next",
        "</a>; =next",
        "</a>; rel=next, </b>; rel=next",
        "</a>; rel=next; anchor=/elsewhere",
    ],
)
def test_what_may_be_a_next_link_is_not_the_end(header):
    with pytest.raises(ProviderError, match=r"provider's (Link headers|link to the next page)"):
        next_link([header])


class UnreadableError(Exception):
    pass


class Slow:
    """Reads a header's links as (target, parameters), one character at a time."""

    def __init__(self, text):
        self.text = list(text)

    def links(self):
        links = []
        while True:
            self.take(lambda sign: sign in " \t,")
            if not self.text:
                return links
            self.expect("<")
            target = self.take(lambda sign: sign != ">")
            self.expect(">")
            links.append((target, self.parameters()))

    def parameters(self):
        found = {}
        self.spaces()
        while self.text and self.text[0] != ",":
            self.expect(";")
            self.spaces()
            name = self.take(TOKEN.__contains__).lower()
            self.spaces()
            value = self.value() if name and self.text[:1] == ["="] else ""
            if name:
                found.setdefault(name, value)
            self.spaces()
        return found

    def value(self):
        self.expect("=")
        self.spaces()
        if self.text[:1] != ['"']:
            return self.take(lambda sign: sign not in ' \t;,"<>')
        self.expect('"')
        value = ""
        while self.text[:1] != ['"']:
            if self.text[:1] == ["\\"]:
                self.expect("\\")
            value += self.expect(*self.text[:1])
        self.expect('"')
        return value

    def spaces(self):
        self.take(lambda sign: sign in " \t")

    def take(self, wanted):
        taken = ""
        while self.text and wanted(self.text[0]):
            taken += self.text.pop(0)
        return taken

    def expect(self, sign=None):
        if not self.text or self.text[0] != sign:
            raise UnreadableError
        return self.text.pop(0)


def slow_next(headers):
    targets = set()
    for header in headers:
        try:
            links = Slow(header).links()
        except UnreadableError:
            return "error"
        for target, parameters in links:
            if "next" in parameters.get("rel", "").lower().split():
                if "anchor" in parameters:
                    return "error"
                targets.add(target)
    return "error" if len(targets) > 1 else next(iter(targets), None)


PIECES = [
    "<",
    ">",
    "</a>",
    "</b>",
    ";",
    ",",
    "=",
    '"',
    "\\",
    " ",
    "\t",
    "rel",
    "next",
    "REL=next",
    "anchor",
    "é",
    "/",
]


@given(
    st.lists(
        st.lists(st.sampled_from([*PIECES, '; rel="next"', "; title=x", '="a, b"'])).map("".join), max_size=3
    )
)
@example(['</a>; title="\\'])
@settings(max_examples=400)
def test_every_header_is_read_as_one_character_at_a_time_would(headers):
    expected = slow_next(headers)
    try:
        found = next_link(headers)
    except ProviderError:
        found = "error"
    assert found == expected


HOSTILE = [
    "<",
    "<>",
    "<>;",
    "<>; ",
    '<>;a="',
    '<>;a="\\',
    "<>;a=",
    "<>,",
    ", ",
    ";",
    " ",
    '<>;a="b"',
    "<>;a ",
    "\\",
    '"',
    "<a",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("start", ["", "<", '<>;a="', "<>;rel=next;"])
def test_no_header_takes_long(start, piece):
    """100 headers of 8 kB; with the limit on their length they would not even be read."""
    header = start + piece * (8_000 // len(piece))
    for text in (header, header + '"', header + ">"):
        begun = time.process_time()
        for _ in range(2):  # as many as the limit lets through
            with contextlib.suppress(ProviderError):
                next_link([text])
        # The processor's time, whatever else runs: some milliseconds, where all pairs of characters take seconds.
        assert time.process_time() - begun < 0.5
    with pytest.raises(ProviderError, match=f"more than {MOST_CHARACTERS} characters"):
        next_link([header] * 100)


@pytest.mark.parametrize(
    ("number", "words"), [(50, "Link headers have more than"), (100, "too many bytes outside of its body")]
)
def test_a_provider_s_hostile_headers_end_soon(number, words):
    headers = ["Link: " + "<" * 8_000] * number
    with Raw(lambda target: [answer(target, extra=headers)]) as raw:
        begun = time.process_time()
        config = http(raw, pages=LinkPages(next="header"))
        expect_failure(config, "provider_error", 502, words)
        assert time.process_time() - begun < 2.0  # the processor's time, as above


@pytest.mark.parametrize("extra", [["X: y"] * 200, ["X: " + "y" * 9_000]])
def test_headers_are_limited_in_number_and_size(extra):
    with Raw(lambda target: [answer(target, extra=extra)]) as raw:
        expect_failure(http(raw), "provider_error", 502, "")
        assert len(raw.received) == 1


def test_a_next_page_without_an_address_is_not_the_end():
    with pytest.raises(ProviderError, match="is empty"):
        next_link(["<>; rel=next"])
