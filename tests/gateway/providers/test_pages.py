from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.providers.conftest import ROWS
from gateway.providers.helpers import expect_failure, fetch, http
from gateway.upstream import Upstream
from incrowd.gateway.config.settings import Budget, CursorPages, HttpProvider, LinkPages, OffsetPages
from incrowd.gateway.providers.base import ProviderError
from incrowd.gateway.providers.pages import Page, plan_walk

KINDS = {
    "offset with total": OffsetPages(size=7, total="/total"),
    "cursor": CursorPages(next="/next"),
    "cursor with limit": CursorPages(next="/next", limit="limit", size=7),
    "link": LinkPages(next="/links/next"),
    "header": LinkPages(next="header"),
}
ONWARD = ["cursor", "link", "header"]


def steer(upstream, kind, fault="", **how):
    upstream.steer(fault, size=7, links="header" if kind == "header" else "body", **how)


@pytest.mark.parametrize("send", ["query", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_pages_are_read(upstream, kind, send):
    steer(upstream, kind)
    fetched = fetch(http(upstream, send=send, pages=KINDS[kind]), {"race": "White"})
    assert fetched.rows == [row for row in ROWS if row["race"] == "White"]
    assert (fetched.complete, fetched.missing, fetched.pages) == (True, "", 2)
    assert len(upstream.received) == 2
    for request in upstream.received:
        sent = json.loads(request["body"]) if send == "json" else dict(request["query"])
        assert sent["race"] == "White"


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=8)
def test_pages_of_any_size_hold_what_one_page_holds(crowd, kind, data):
    size = data.draw(st.integers(1, 60), label="size")
    sent = data.draw(
        st.fixed_dictionaries({}, optional={"a": st.integers(0, 3), "b": st.sampled_from("xyz")})
    )
    pages = {
        "offset with total": OffsetPages(size=size, total="/total"),
        "cursor with limit": CursorPages(next="/next", limit="limit", size=size),
    }.get(kind, KINDS[kind])
    crowd.steer(size=size, links="header" if kind == "header" else "body")
    in_pages = fetch(http(crowd, pages=pages), sent)
    crowd.steer()
    direct = fetch(http(crowd), sent)
    assert in_pages.complete
    assert in_pages.rows == direct.rows == [row for row in CROWD if sent.items() <= row.items()]


CROWD = [{"id": number, "a": number * 7 % 4, "b": "xyz"[number * 5 % 3]} for number in range(40)]


@pytest.fixture(scope="module")
def crowd():
    with Upstream(CROWD) as server:
        yield server


def test_a_full_last_page_costs_a_request_only_without_a_total(upstream):
    assert fetch(http(upstream, pages=OffsetPages(size=5))).rows == ROWS
    assert len(upstream.received) == 6  # without a total, an empty page is the only end
    upstream.steer()
    assert fetch(http(upstream, pages=OffsetPages(size=5, total="/total"))).rows == ROWS
    assert len(upstream.received) == 5


def test_pagination_has_the_names_it_is_given(upstream):
    fetch(http(upstream, pages=OffsetPages(offset="skip", limit="take", size=50)), {"race": "White"})
    request, *_ = upstream.received
    assert dict(request["query"]) == {"race": "White", "skip": "0", "take": "50"}


def test_smaller_pages_than_requested_are_read_to_the_total(upstream):
    upstream.steer(most=4)
    fetched = fetch(http(upstream, pages=OffsetPages(size=10, total="/total")))
    assert (fetched.rows, fetched.complete) == (ROWS, True)


@pytest.mark.parametrize(
    ("fault", "total", "words", "rows"),
    [
        ("ignores-limit", None, "more rows than a page", ROWS),
        ("ignores-offset", None, "same page again", ROWS[:10]),
        ("ignores-offset", "/total", "same page again", ROWS[:10]),
        ("total-changes", "/total", "changed while", ROWS[:20]),
        ("total-too-large", "/total", "fewer rows than its total", ROWS),
    ],
)
def test_offsets_that_do_not_add_up_are_not_a_complete_answer(upstream, fault, total, words, rows):
    upstream.steer(fault)
    fetched = fetch(http(upstream, pages=OffsetPages(size=10, total=total)))
    assert not fetched.complete
    assert words in fetched.missing
    assert fetched.rows == rows


def test_more_rows_than_the_provider_counts_are_not_a_complete_answer(upstream):
    upstream.steer("total-too-small")
    fetched = fetch(http(upstream, pages=OffsetPages(size=50, total="/total")))
    assert (fetched.complete, fetched.missing) == (False, "the provider sent more rows than its total")


def test_a_provider_that_ignores_the_limit_and_counts_is_complete(upstream):
    upstream.steer("ignores-limit")
    assert fetch(http(upstream, pages=OffsetPages(size=10, total="/total"))).complete


def test_an_endless_answer_by_offset_ends_with_the_budget(upstream):
    upstream.steer("endless")
    fetched = fetch(http(upstream, pages=OffsetPages(size=1), budget=Budget(rows=5)))
    assert not fetched.complete
    assert len(upstream.received) <= 6


def test_a_total_that_is_not_there_is_an_error(upstream):
    upstream.steer("total-missing")
    expect_failure(
        http(upstream, pages=OffsetPages(size=10, total="/total")), "provider_error", 502, "'total'"
    )


@pytest.mark.parametrize("kind", ONWARD)
def test_pages_without_an_end_stop_at_the_budget(upstream, kind):
    steer(upstream, kind, "endless")
    fetched = fetch(http(upstream, pages=KINDS[kind], budget=Budget(rows=30)))
    assert (len(fetched.rows), fetched.complete) == (30, False)
    assert len(upstream.received) == 31


@pytest.mark.parametrize("kind", ONWARD)
def test_pages_in_a_circle_are_an_error(upstream, kind):
    steer(upstream, kind, "same-cursor")
    expect_failure(http(upstream, pages=KINDS[kind]), "provider_error", 502, "is repeated")
    assert len(upstream.received) == 2


@pytest.mark.parametrize("kind", ONWARD)
def test_empty_pages_without_an_end_are_an_error(upstream, kind):
    steer(upstream, kind, "empty-more")
    expect_failure(http(upstream, pages=KINDS[kind]), "provider_error", 502, "no end")
    assert len(upstream.received) <= 101


def test_a_cursor_of_another_type_is_an_error(upstream):
    upstream.steer(size=7)
    expect_failure(http(upstream, pages=CursorPages(next="/links")), "provider_error", 502, "'next'")
    expect_failure(http(upstream, pages=CursorPages(next="/truncated")), "provider_error", 502, "'next'")
    expect_failure(http(upstream, pages=LinkPages(next="/next")), "provider_error", 502, "'next'")


@pytest.mark.parametrize("kind", ["link", "header"])
@pytest.mark.parametrize(
    "location",
    [
        "http://elsewhere.example/rows",
        "//elsewhere.example/rows",
        "http://127.0.0.1/rows",
        "https://127.0.0.1:{port}/rows",
        "http://localhost:{port}/rows",
        "http://you:me@127.0.0.1:{port}/rows",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://127.0.0.1:nonsense/rows",
    ],
)
def test_a_link_to_another_host_is_not_followed(upstream, kind, location):
    steer(upstream, kind, "foreign-link", location=location.format(port=upstream.port))
    expect_failure(http(upstream, pages=KINDS[kind]), "provider_error", 502, "link to the next page")
    assert len(upstream.received) == 1


@pytest.mark.parametrize("kind", ["link", "header"])
def test_a_link_back_to_the_beginning_is_not_followed(upstream, kind):
    steer(upstream, kind, "foreign-link", location="/rows?race=White#again")
    expect_failure(http(upstream, pages=KINDS[kind]), "provider_error", 502, "is repeated", {"race": "White"})
    assert len(upstream.received) == 1


def test_a_link_may_be_absolute_or_relative(upstream):
    for location in (f"http://127.0.0.1:{upstream.port}/rows?id=3", "/rows?id=3", "?id=3", "rows?id=3#part"):
        upstream.steer("foreign-link", times=1, location=location)
        fetched = fetch(http(upstream, pages=LinkPages(next="/links/next")))
        assert fetched.rows == [*ROWS, ROWS[3]]


def test_each_page_is_retried_by_itself(upstream):
    upstream.steer("status", status=503, times=1, size=7)
    assert fetch(http(upstream, retries=1, pages=KINDS["cursor"])).rows == ROWS
    first, again, *others = (request["query"] for request in upstream.received)
    assert first == again
    assert len(others) == 3


def test_a_provider_that_sends_smaller_pages_than_requested_is_read_to_the_end(upstream):
    upstream.steer(most=3)
    fetched = fetch(http(upstream, pages=OffsetPages(size=50), key="/id"))
    assert (fetched.rows, fetched.complete) == (ROWS, True)


@pytest.mark.parametrize(
    "settings",
    [
        {"pages": CursorPages(next="/nxt")},
        {"pages": LinkPages(next="/links/nxt")},
        {"pages": LinkPages(next="/link/next")},
    ],
)
def test_a_page_that_does_not_say_whether_another_one_follows_is_an_error(upstream, settings):
    upstream.steer(size=7)
    expect_failure(http(upstream, **settings), "provider_error", 502, "'next'")
    assert len(upstream.received) == 1


@pytest.mark.parametrize("pages", [CursorPages(next="/next"), LinkPages(next="/next")])
@pytest.mark.parametrize(("last", "ends"), [({"next": None}, True), ({"next": ""}, True), ({}, False)])
def test_the_last_page_must_say_that_it_is_the_last(pages, last, ends):
    walk = begin(pages=pages)
    assert walk.advance(Page([{"id": 1}], {"next": "/rows?page=2"}))
    if ends:
        assert not walk.advance(Page([{"id": 2}], last))
        assert not walk.missing
    else:
        with pytest.raises(ProviderError, match="'next'"):
            walk.advance(Page([{"id": 2}], last))


@pytest.mark.parametrize("flag", [0, 1, "", "false", [], {}, 0.0])
def test_truncated_must_be_a_flag_in_every_page(flag):
    walk = begin(pages=CursorPages(next="/next"), truncated="/cut")
    for document in ({"next": "a", "cut": False}, {"next": "b", "cut": None}):
        assert walk.advance(Page([], document))
    for document in ({"next": None, "cut": flag}, {"next": None}, {"next": None, "Cut": False}):
        with pytest.raises(ProviderError, match="'truncated'"):
            walk.advance(Page([], document))


def begin(**settings):
    first = "http://127.0.0.1/rows"
    return plan_walk(HttpProvider(url=first, **settings))({})


def test_offsets_without_total_and_key_prove_nothing_over_several_pages(upstream):
    fetched = fetch(http(upstream, pages=OffsetPages(size=10)))
    assert (fetched.rows, fetched.complete) == (ROWS, False)
    assert "'total' and 'key'" in fetched.missing
    for size in (25, 50):  # all rows in one answer, and an empty one after it
        upstream.steer()
        fetched = fetch(http(upstream, pages=OffsetPages(size=size)))
        assert (fetched.rows, fetched.complete, fetched.pages) == (ROWS, True, 2)


@pytest.mark.parametrize("total", [None, "/total"])
@pytest.mark.parametrize("fault", ["rows-inserted", "rows-deleted", "rows-swapped"])
def test_rows_that_shift_between_pages_are_noticed_by_their_keys(upstream, fault, total):
    upstream.steer(fault)
    fetched = fetch(http(upstream, pages=OffsetPages(size=10, total=total), key="/id"))
    assert (fetched.complete, fetched.missing) == (False, "the provider's rows changed while they were read")
    assert len({row["id"] for row in fetched.rows}) == len(fetched.rows)


@pytest.mark.parametrize("fault", ["rows-inserted", "rows-deleted"])
def test_rows_that_shift_between_pages_are_noticed_by_their_total(upstream, fault):
    upstream.steer(fault)
    fetched = fetch(http(upstream, pages=OffsetPages(size=10, total="/total")))
    assert (fetched.complete, fetched.missing) == (False, "the provider's rows changed while they were read")


def test_pages_by_cursor_that_repeat_a_row_are_noticed(upstream):
    upstream.steer("rows-inserted", size=10)
    assert not fetch(http(upstream, pages=CursorPages(next="/next"), key="/id")).complete
    upstream.steer(size=10)
    assert fetch(http(upstream, pages=CursorPages(next="/next"), key="/id")).rows == ROWS


def test_a_key_that_is_not_unique_is_noticed_in_one_page_too(upstream):
    fetched = fetch(http(upstream, key="/race"))
    assert (fetched.complete, len(fetched.rows)) == (False, 2)


@pytest.mark.parametrize("key", ["/nobody", "/even"])
@pytest.mark.parametrize("pages", [None, OffsetPages(size=10, total="/total")])
def test_a_row_without_a_key_is_an_error(upstream, key, pages):
    expect_failure(http(upstream, key=key, pages=pages), "provider_error", 502, "'key'")


@pytest.mark.parametrize("most", [1, 2, 3, 1_000])
@pytest.mark.parametrize("size", [2, 5, 24, 25, 26])
@pytest.mark.parametrize("total", [None, "/total"])
def test_pages_that_overlap_hold_what_one_page_holds(upstream, most, size, total):
    upstream.steer(most=most)
    fetched = fetch(http(upstream, pages=OffsetPages(size=size, total=total), key="/id"))
    if most == 1:  # nothing new would ever come with the row that must come again
        assert not fetched.complete
    else:
        assert (fetched.rows, fetched.complete, fetched.missing) == (ROWS, True, "")


@given(
    rows=st.lists(st.integers(0, 30), unique=True, max_size=20),
    size=st.integers(2, 6),
    total=st.booleans(),
    changes=st.lists(st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=3), max_size=6),
)
@settings(max_examples=500)
def test_whatever_changes_no_row_is_passed_over_or_counted_twice(rows, size, total, changes):
    """Rows are in order; before each page but the first, some are inserted or deleted."""
    now, stayed = sorted(rows), set(rows)
    walk = begin(pages=OffsetPages(size=size, total="/total" if total else None), key="/id")
    read, more, changes = [], True, iter([[], *changes])
    while more:
        for inserts, row in next(changes, []):
            now = sorted({*now, row} if inserts else {*now} - {row})
            stayed &= set(now)
        start = walk.parameters["offset"]
        page = Page([{"id": row} for row in now[start : start + size]], {"total": len(now)})
        more = walk.advance(page)
        read += [row["id"] for row in page.rows]
    assert len(set(read)) == len(read)
    if not walk.missing:
        assert stayed <= set(read)


def test_keys_that_are_chosen_to_have_one_hash_take_no_longer():
    same_hash = 2**61 - 1  # hash(n * same_hash) is 0 for every n
    rows = [{"id": number} for number in (1, -1, 2**64 - 1, 0.5, "1", 1e300)]
    walk = plan_walk(HttpProvider(url="http://h/", rows="", key="/id"))({})
    assert not walk.advance(Page(rows, rows))
    assert walk.missing == ""
    with pytest.raises(ProviderError, match="'key'"):
        walk.advance(Page([{"id": number * same_hash} for number in range(1, 50)], None))


@pytest.mark.parametrize("kind", ["cursor", "link"])
def test_a_long_cursor_or_link_is_an_error_at_once(kind):
    walk = plan_walk(HttpProvider(url="http://h/", rows="", pages=KINDS[kind]))({})
    place = "/.." * 1_000_000  # seconds of work for who makes an address of it
    with pytest.raises(ProviderError, match="more than 8190 characters"):
        walk.advance(Page([{}], {"next": place, "links": {"next": place}}))
