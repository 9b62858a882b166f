from __future__ import annotations

import asyncio
import gc
import logging
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import Clock
from incrowd.gateway.requests.cache import Cache, cache_key


class Source:
    """A provider that counts its fetches and answers when it is released."""

    def __init__(self, value="answer", size=10, error=None):
        self.value, self.size, self.error = value, size, error
        self.fetches = self.cancelled = 0
        self.gate = asyncio.Event()

    async def fetch(self):
        self.fetches += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return self.value, self.size


def made(value, size=10):
    async def fetch():
        return value, size

    return fetch


def small(clock=None, **limits):
    return Cache(**{"entries": 3, "nbytes": 1000, "time_to_live": 60, **limits}, clock=clock or Clock(0.0))


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_was_fetched_is_kept():
    async def run():
        cache = small()
        assert await cache.get_or_fetch("k", made("first")) == "first"
        assert await cache.get_or_fetch("k", made("second")) == "first"
        assert cache.get("k") == "first"
        assert cache.get("other") is None

    asyncio.run(run())


def test_answers_expire_counted_from_the_start_of_the_fetch():
    async def run():
        clock = Clock(0.0)
        cache = small(clock)

        async def slow():
            clock.now += 20
            return "old", 1

        await cache.get_or_fetch("k", slow)
        clock.now = 59.9
        assert cache.get("k") == "old"
        clock.now = 60
        assert await cache.get_or_fetch("k", made("new")) == "new"

    asyncio.run(run())


def test_expired_answers_leave_the_memory():
    async def run():
        clock = Clock(0.0)
        cache = small(clock)
        await cache.get_or_fetch("a", made("x"))
        await cache.get_or_fetch("b", made("x"))
        clock.now = 61
        await cache.get_or_fetch("c", made("x"))
        assert len(cache) == 1
        assert cache.nbytes == 11

    asyncio.run(run())


def test_the_least_recently_used_goes_first():
    async def run():
        cache = small()
        for key in "abc":
            await cache.get_or_fetch(key, made(key))
        cache.get("a")
        await cache.get_or_fetch("d", made("d"))
        assert [cache.get(key) for key in "abcd"] == ["a", None, "c", "d"]

    asyncio.run(run())


def test_bytes_are_limited_and_keys_count():
    async def run():
        cache = small(nbytes=100, entries=100)
        await cache.get_or_fetch("a", made("a", 49))
        await cache.get_or_fetch("b", made("b", 49))
        assert (len(cache), cache.nbytes) == (2, 100)
        await cache.get_or_fetch("c", made("c", 10))
        assert cache.get("a") is None
        assert cache.nbytes == 61

    asyncio.run(run())


@pytest.mark.parametrize("limits", [{"nbytes": 50}, {"entries": 0}, {"time_to_live": 0}])
def test_what_does_not_fit_is_returned_but_not_kept(limits):
    async def run():
        cache = small(**limits)
        assert await cache.get_or_fetch("k", made("large", 50)) == "large"
        assert (len(cache), cache.nbytes) == (0, 0)

    asyncio.run(run())


def test_a_large_answer_does_not_drive_the_others_out():
    async def run():
        cache = small(nbytes=50)
        await cache.get_or_fetch("a", made("a", 10))
        await cache.get_or_fetch("b", made("b", 60))
        assert cache.get("a") == "a"

    asyncio.run(run())


def test_those_who_ask_at_once_share_one_fetch():
    async def run():
        cache, source = small(), Source()
        askers = [asyncio.create_task(cache.get_or_fetch("k", source.fetch)) for _ in range(20)]
        await settle()
        source.gate.set()
        assert await asyncio.gather(*askers) == ["answer"] * 20
        assert source.fetches == 1

    asyncio.run(run())


def test_a_failure_reaches_all_who_wait_and_is_not_kept():
    async def run():
        cache, source = small(), Source(error=ValueError("down"))
        askers = [asyncio.create_task(cache.get_or_fetch("k", source.fetch)) for _ in range(3)]
        await settle()
        source.gate.set()
        results = await asyncio.gather(*askers, return_exceptions=True)
        assert [type(result) for result in results] == [ValueError] * 3
        assert await cache.get_or_fetch("k", made("again")) == "again"

    asyncio.run(run())


def test_the_first_asker_may_leave_and_the_others_get_their_answer():
    async def run():
        cache, source = small(), Source()
        first, *others = (asyncio.create_task(cache.get_or_fetch("k", source.fetch)) for _ in range(3))
        await settle()
        first.cancel()
        await settle()
        source.gate.set()
        assert await asyncio.gather(*others) == ["answer"] * 2
        assert first.cancelled()
        assert (source.fetches, source.cancelled) == (1, 0)

    asyncio.run(run())


def test_a_fetch_without_waiting_requests_is_cancelled_and_not_joined():
    async def run():
        cache, source = small(), Source()
        asker = asyncio.create_task(cache.get_or_fetch("k", source.fetch))
        await settle()
        asker.cancel()
        await asyncio.sleep(0)  # the asker has left, the fetch has not yet ended
        assert await cache.get_or_fetch("k", made("mine")) == "mine"
        await settle()
        assert source.cancelled == 1
        assert cache.get("k") == "mine"

    asyncio.run(run())


def test_a_cancelled_fetch_takes_no_later_one_off_the_board():
    async def run():
        cache, second, ended = small(), Source("second"), asyncio.Event()

        async def slow_to_end():
            try:
                await asyncio.sleep(60)
            finally:
                await ended.wait()

        def ask(fetch):
            return asyncio.create_task(cache.get_or_fetch("k", fetch))

        first = ask(slow_to_end)
        await settle()
        first.cancel()
        await settle()
        askers = [ask(second.fetch)]
        await settle()
        ended.set()
        await settle()
        askers.append(ask(second.fetch))
        await settle()
        second.gate.set()
        assert await asyncio.gather(*askers) == ["second"] * 2
        assert second.fetches == 1

    asyncio.run(run())


def test_an_error_after_all_requests_were_cancelled_is_not_reported(caplog):
    async def run():
        cache, going = small(), asyncio.Event()

        async def stubborn():
            going.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise ValueError from None

        asker = asyncio.create_task(cache.get_or_fetch("k", stubborn))
        await going.wait()
        asker.cancel()
        await settle()
        gc.collect()

    with caplog.at_level(logging.DEBUG, logger="asyncio"):
        asyncio.run(run())
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_the_order_of_names_does_not_matter_nor_the_case_of_headers():
    one = cache_key("p", {"a": 1, "b": {"x": 1, "y": 2}}, {"Accept-Language": "de", "b": "c"})
    two = cache_key("p", {"b": {"y": 2, "x": 1}, "a": 1}, {"B": "c", "accept-language": "de"})
    assert one == two


VALUES = [
    1,
    1.0,
    "1",
    True,
    "True",
    None,
    "None",
    [1],
    ["1"],
    "[1]",
    {"a": 1},
    {"a": "1"},
    "a",
    "a'",
    'a"',
    "a', 'b",
]
VALUES += [
    float("inf"),
    float("nan"),
    Decimal(1),
    date(2020, 1, 1),
    datetime(2020, 1, 1, tzinfo=UTC),
    "2020-01-01",
    0.0,
    -0.0,
]


def test_different_values_never_share_a_key():
    assert len({cache_key("p", {"a": value}, {}) for value in VALUES}) == len(VALUES)


def test_the_parts_of_a_request_are_distinguished():
    keys = {
        cache_key("p", {}, {}),
        cache_key("q", {}, {}),
        cache_key("p", {"a": "b"}, {}),
        cache_key("p", {}, {"a": "b"}),
        cache_key("p", {"a": None}, {}),
        cache_key("p", {"a": "b", "c": "d"}, {}),
        cache_key("p", {"a": "b', 'c': 'd"}, {}),
    }
    assert len(keys) == 7


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(-2, 2, width=16)
    | st.text("a1'\"\\,:", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("ab'", max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
SENT = st.dictionaries(st.text("ab'", max_size=2), PLAIN, max_size=3)


def typed(value):
    """Return what tells plain values apart, types and signs of zero too."""
    if isinstance(value, dict):
        return frozenset((name, typed(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(typed(part) for part in value)
    return type(value), str(value)


@given(SENT, SENT)
def test_keys_are_equal_exactly_if_the_requests_are(one, other):
    assert (cache_key("p", one, {}) == cache_key("p", other, {})) == (typed(one) == typed(other))


@given(SENT)
def test_a_shuffled_request_has_the_same_key(sent):
    assert cache_key("p", dict(reversed(sent.items())), {}) == cache_key("p", sent, {})
