from __future__ import annotations

import asyncio
import json
import os
import time

import pytest

from gateway.providers.conftest import ROWS
from gateway.providers.helpers import expect_failure, failure, fetch, http, using
from gateway.upstream import FAULTS
from helpers import until_async
from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import Budget, ClientTls, Hidden, OffsetPages
from incrowd.gateway.providers.base import Fetched, ProviderError

SECRET = "Essex-and-nobody-else"
OURS = {"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "incrowd"}
PERSONAL = {
    "Cookie": "session=1",
    "Authorization": "Bearer key-of-alice",
    "Referer": "https://clinic.example",
    "X-Forwarded-For": "203.0.113.9",
    "User-Agent": "Mozilla",
    "X-Api-Key": "key-of-alice",
    "Accept-Language": "de",
    "accept": "text/html",
}


def headers_of(upstream):
    (request,) = upstream.received
    names = [name for name, _ in request["headers"]]
    assert len(set(names)) == len(names)
    return dict(request["headers"])


def test_a_query_is_sent_as_parameters_and_answered(upstream):
    fetched = fetch(http(upstream), {"county": "county 1", "even": True, "id": 4.0})
    (request,) = upstream.received
    assert (request["method"], request["path"], request["body"]) == ("GET", "/rows", "")
    assert request["query"] == [["county", "county 1"], ["even", "true"], ["id", "4"]]
    assert fetched.rows == [ROWS[4]]
    assert (fetched.complete, fetched.missing, fetched.pages) == (True, "", 1)
    assert fetched.nbytes > len(json.dumps(ROWS[4]))


def test_a_query_is_sent_as_json_and_answered(upstream):
    fetched = fetch(http(upstream, send="json"), {"county": "county 1", "even": True, "id": 4.0})
    (request,) = upstream.received
    assert (request["method"], request["query"]) == ("POST", [])
    assert json.loads(request["body"]) == {"county": "county 1", "even": True, "id": 4.0}
    assert fetched.rows == [ROWS[4]]


def test_nothing_sent_asks_for_all_rows(upstream):
    assert fetch(http(upstream)).rows == ROWS


@pytest.mark.parametrize("value", ["a b&c=d#e?f/g%20+", "ä€😀", "\r\nHost: x", "", "'; DROP TABLE rows; --"])
@pytest.mark.parametrize("send", ["query", "json"])
def test_every_text_arrives_as_it_is(upstream, send, value):
    fetch(http(upstream, send=send), {"q": value})
    (request,) = upstream.received
    assert (json.loads(request["body"]) if send == "json" else dict(request["query"])) == {"q": value}


@pytest.mark.parametrize("value", [None, ["a", SECRET], {"a": SECRET}])
def test_what_has_no_text_is_not_sent_in_a_query_string(upstream, value):
    error = failure(http(upstream), {"q": value})
    assert (error.code, error.status) == ("bad_request", 400)
    assert "'q'" in str(error)
    assert SECRET not in str(error)
    assert upstream.received == []


def test_what_json_cannot_hold_is_not_sent(upstream):
    assert failure(http(upstream, send="json"), {"q": "\ud800"}).status == 400
    assert upstream.received == []


def test_only_our_own_headers_are_sent(upstream):
    fetch(http(upstream), headers=PERSONAL)
    assert headers_of(upstream) == OURS | {"host": f"127.0.0.1:{upstream.port}"}


def test_only_our_own_headers_are_sent_with_a_body(upstream):
    fetch(http(upstream, send="json"), headers=PERSONAL)
    length = {"content-length": "2", "content-type": "application/json"}
    assert headers_of(upstream) == OURS | length | {"host": f"127.0.0.1:{upstream.port}"}


def test_listed_headers_pass_and_the_gateways_own_win(upstream):
    config = http(
        upstream, forward=("accept-language", "X-Trace"), headers={"Authorization": Hidden("Bearer ours")}
    )
    fetch(config, headers=PERSONAL | {"x-trace": "7"})
    got = headers_of(upstream)
    assert got["authorization"] == "Bearer ours"
    assert (got["accept-language"], got["x-trace"]) == ("de", "7")
    assert set(got) == {*OURS, "host", "authorization", "accept-language", "x-trace"}


def test_a_header_that_is_ours_is_not_replaced_even_if_listed(upstream):
    config = http(
        upstream, forward=("user-agent", "authorization"), headers={"Authorization": Hidden("Bearer ours")}
    )
    fetch(config, headers=PERSONAL)
    got = headers_of(upstream)
    assert (got["user-agent"], got["authorization"]) == ("incrowd", "Bearer ours")


def test_a_header_that_would_break_the_request_is_an_error(upstream):
    error = failure(
        http(upstream, forward=("accept-language",)), headers={"accept-language": "de\r\nCookie: x"}
    )
    assert "header" in str(error)
    assert upstream.received == []


def test_cookies_are_not_kept_and_connections_are(upstream):
    async def thrice(provider):
        for _ in range(3):
            await provider.fetch({}, {})

    # By name, because cookie jars leave hosts that are numbers alone anyway.
    using(http(upstream, url=upstream.url.replace("127.0.0.1", "localhost")), thrice)
    assert len(upstream.received) == 3
    assert not any(name == "cookie" for request in upstream.received for name, _ in request["headers"])
    assert upstream.connections == 1


def test_a_proxy_in_the_environment_is_not_used(upstream, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert fetch(http(upstream)).rows == ROWS


def test_compressed_answers_are_read(upstream):
    upstream.steer(gzip=True)
    fetched = fetch(http(upstream))
    assert fetched.rows == ROWS
    assert fetched.nbytes > len(json.dumps(ROWS))


@pytest.mark.parametrize(
    ("fault", "settings", "words"),
    [
        ("status", {"status": 500}, "status 500"),
        ("status", {"status": 404}, "status 404"),
        ("status", {"status": 204}, "status 204"),
        ("status", {"status": 206}, "status 206"),
        ("redirect", {"location": "/rows"}, "redirects"),
        ("garbage", {}, "not JSON"),
        ("deep", {}, "not JSON"),
        ("not-http", {}, "not valid HTTP"),
        ("rows-object", {}, "'rows'"),
        ("rows-numbers", {}, "'rows'"),
    ],
)
def test_a_useless_answer_is_an_error_at_once(upstream, fault, settings, words):
    upstream.steer(fault, **settings)
    expect_failure(http(upstream, retries=3), "provider_error", 502, words, {"county": SECRET})
    assert len(upstream.received) == 1


def test_rows_that_are_not_where_they_should_be_are_an_error(upstream):
    expect_failure(http(upstream, rows="/data/rows"), "provider_error", 502, "'rows'")


@pytest.mark.parametrize(
    ("fault", "settings", "words"),
    [
        ("status", {"status": 502}, "status 502"),
        ("status", {"status": 503}, "status 503"),
        ("status", {"status": 504}, "status 504"),
        ("reset", {}, "is incomplete"),
        ("cut", {}, "is incomplete"),
        ("cut-chunked", {}, "is incomplete"),
    ],
)
@pytest.mark.parametrize("send", ["query", "json"])
def test_a_passing_fault_is_survived_by_the_identical_request(upstream, send, fault, settings, words):
    upstream.steer(fault, times=2, **settings)
    config = http(upstream, send=send, retries=2, forward=("accept-language",))
    sent = {"county": "county 1", "race": "Black"}
    assert fetch(config, sent, PERSONAL).rows == [row for row in ROWS if row["id"] in (1, 7, 13, 19)]
    first, *others = upstream.received
    assert len(others) == 2
    assert all(request == first for request in others)

    upstream.steer(fault, **settings)
    expect_failure(config, "provider_error", 502, words, {"county": SECRET})
    assert len(upstream.received) == 3


def test_a_provider_that_is_down_cannot_be_reached_and_comes_back(upstream):
    async def down_and_up(provider):
        await provider.fetch({}, {})
        assert await provider.ready()
        upstream.steer("down")
        assert not await provider.ready()
        with pytest.raises(ProviderError, match="cannot be reached") as caught:
            await provider.fetch({"county": SECRET}, {})
        assert (caught.value.code, caught.value.status) == ("provider_error", 502)
        upstream.steer()
        assert await provider.ready()
        return await provider.fetch({}, {})

    assert using(http(upstream, retries=1), down_and_up).rows == ROWS


def test_a_host_without_an_address_cannot_be_reached(upstream):
    config = http(upstream, url="http://nobody.invalid/rows", retries=0)
    expect_failure(config, "provider_error", 502, "cannot be reached")
    assert not using(config, lambda provider: provider.ready())


@pytest.mark.parametrize(("fault", "seconds"), [("slow", 120.0), ("drip", 0.1)])
def test_a_slow_provider_is_given_up_in_time(upstream, fault, seconds):
    upstream.steer(fault, seconds=seconds)
    begun = time.monotonic()
    expect_failure(
        http(upstream, timeout=0.4, retries=5), "provider_timeout", 504, "0.4 seconds", {"county": SECRET}
    )
    assert time.monotonic() - begun < 30  # the provider takes minutes


def test_retries_do_not_outlast_the_timeout(upstream):
    upstream.steer("status", status=503)
    expect_failure(http(upstream, timeout=0.3, retries=10), "provider_timeout", 504, "0.3 seconds")
    assert len(upstream.received) > 1


def test_a_fetch_that_is_cancelled_stops(upstream):
    upstream.steer("slow", seconds=5.0)

    async def cancel(provider):
        task = asyncio.create_task(provider.fetch({}, {}))
        await until_async(lambda: upstream.received)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    using(http(upstream), cancel)


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_repeats_what_was_sent_or_answered(upstream, fault):
    upstream.steer(fault, seconds=1.0, location=f"http://{SECRET}.example/", nbytes=2_000_000)
    config = http(upstream, retries=0, timeout=0.5, budget=Budget(bytes=1_000_000))
    try:
        said = fetch(config, {"county": SECRET}).missing
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not tell
        said = f"{error!r} {error} {error.__cause__!r}"
    assert "Essex" not in said
    assert "secret" not in said
    assert "words of the provider" not in said
    assert "127.0.0.1" not in said


def test_fetched_rows_are_not_in_its_repr():
    assert SECRET not in repr(Fetched([{"county": SECRET}], complete=True, missing="", nbytes=1, pages=1))


def test_a_truncated_answer_is_not_complete(upstream):
    upstream.steer("truncated")
    fetched = fetch(http(upstream, truncated="/truncated"))
    assert (fetched.complete, fetched.missing) == (False, "the provider says that it has more rows")
    upstream.steer()
    assert fetch(http(upstream, truncated="/truncated")).complete
    for nowhere in ("/elsewhere", "/total", "/items"):
        expect_failure(http(upstream, truncated=nowhere), "provider_error", 502, "'truncated'")


@pytest.mark.parametrize("rows", [1, 24, 25, 26])
def test_the_budget_in_rows_ends_the_fetch(upstream, rows):
    fetched = fetch(http(upstream, budget=Budget(rows=rows)))
    assert fetched.rows == ROWS[:rows]
    assert fetched.complete == (rows >= 25)
    assert ("more than" in fetched.missing) == (rows < 25)


def test_the_budget_in_bytes_ends_the_fetch(upstream):
    size = fetch(http(upstream)).nbytes
    assert fetch(http(upstream, budget=Budget(bytes=size))).complete
    fetched = fetch(http(upstream, budget=Budget(bytes=size - 1)))
    assert (fetched.rows, fetched.complete) == ([], False)
    assert f"{size - 1} bytes" in fetched.missing


def test_the_budget_in_bytes_counts_all_pages(upstream):
    config = http(upstream, pages=OffsetPages(size=5), budget=Budget(bytes=1000))
    fetched = fetch(config)
    assert (fetched.pages, fetched.complete) == (2, False)
    assert fetched.rows == ROWS[:10]
    assert len(upstream.received) == 3


@pytest.mark.parametrize("fault", ["bomb", "huge"])
def test_what_unpacks_to_far_too_much_does_not_fill_the_memory(upstream, fault):
    upstream.steer(fault, nbytes=100_000_000)
    before = memory()
    fetched = fetch(http(upstream, budget=Budget(bytes=1_000_000)))
    assert (fetched.rows, fetched.complete) == ([], False)
    assert memory() - before < 50_000_000


def memory():
    """Return the most memory that this process has ever used, in bytes, counted anew after each call."""
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    with open("/proc/self/clear_refs", "w", encoding="ascii") as reset:  # noqa: PTH123
        reset.write("5")
    return peak * 1024


def test_tls_files_that_cannot_be_read_are_named(upstream, tmp_path):
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    with pytest.raises(BadInputError, match="'tls'"):
        fetch(http(upstream, tls=ClientTls(ca=tmp_path / "ca.pem")))
    with pytest.raises(BadInputError, match="'tls'"):
        fetch(http(upstream, tls=ClientTls(ca=tmp_path / "absent.pem")))


def test_connections_are_let_go(upstream):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        fetch(http(upstream))
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208


def test_addresses_that_are_kept_are_those_of_the_same_values(upstream):
    values = [1, True, 1.5, "1", "true", 0, False, "", "x" * 3_000, 1.0]

    async def twice(provider):
        for value in [*values, *values]:
            await provider.fetch({"q": value}, {})
            await provider.fetch({"r": value}, {})

    using(http(upstream), twice)
    texts = ["1", "true", "1.5", "1", "true", "0", "false", "", "x" * 3_000, "1"]
    expected = [[[name, text]] for text in [*texts, *texts] for name in "qr"]
    assert [request["query"] for request in upstream.received] == expected


def test_what_cannot_be_kept_is_sent_or_refused_all_the_same(upstream):
    class Text(str):
        __slots__ = ()
        __hash__ = None

    assert fetch(http(upstream), {"county": Text("county 1")}).rows == [ROWS[n] for n in range(1, 25, 3)]
    assert failure(http(upstream), {"q": ["a"]}).status == 400
