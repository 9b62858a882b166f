"""How an answer is read: where it ends, how much of it is taken, and what is made of one that is compressed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import random
import socket
import threading
import time
import zlib

import pytest

from gateway.providers.helpers import expect_failure, fetch, http, using
from gateway.providers.raw import Raw, answer
from gateway.providers.test_pool import loops, run, targets_of
from helpers import until_async
from incrowd.gateway.config.settings import Budget, CursorPages, HttpProvider
from incrowd.gateway.providers import ProviderError
from incrowd.gateway.providers.connection import Connection
from incrowd.gateway.providers.reader import MOST_OUTSIDE, AnswerReader
from incrowd.gateway.providers.unpack import unpack

__all__ = ["loops"]  # a fixture is found by its name here

BODY = b'{"items": [{"target": "a"}]}'
ROWS = [{"target": "a"}]


def head(*lines, status="HTTP/1.1 200 OK"):
    return "\r\n".join([status, *lines, "", ""]).encode("latin-1")


def chunked(body, size=5):
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def then_close(raw, *pieces):
    """Return a reply that ends with its connection."""

    def reply(_):
        yield from pieces
        raw[0].peers[-1].shutdown(2)

    return reply


def answered(*pieces, close=False, **settings):
    raws = []
    with Raw(then_close(raws, *pieces) if close else lambda _: list(pieces)) as raw:
        raws.append(raw)
        return fetch(http(raw, retries=0, timeout=5.0, **settings))


def refused(*pieces, words, close=False, **settings):
    raws = []
    with Raw(then_close(raws, *pieces) if close else lambda _: list(pieces)) as raw:
        raws.append(raw)
        expect_failure(http(raw, retries=0, timeout=5.0, **settings), "provider_error", 502, words)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_an_answer_in_chunks_is_read(size):
    assert answered(head("Transfer-Encoding: chunked") + chunked(BODY, size)).rows == ROWS


def test_an_answer_may_end_with_its_connection():
    assert answered(head() + BODY[:9], BODY[9:], close=True).rows == ROWS
    assert answered(head(status="HTTP/1.0 200 OK") + BODY, close=True).rows == ROWS


def test_an_answer_that_ends_too_early_is_no_answer():
    refused(head() + BODY[:-1], close=True, words="not JSON")
    refused(head(f"Content-Length: {len(BODY)}") + BODY[:-1], close=True, words="is incomplete")
    refused(head("Transfer-Encoding: chunked") + chunked(BODY)[:-2], close=True, words="is incomplete")
    refused(head()[:-2], close=True, words="is incomplete")
    refused(b"", close=True, words="is incomplete")


def test_a_connection_that_the_provider_ends_is_not_used_again():
    async def talk(provider):
        for name in "ab":
            assert await targets_of(provider, name) == [f"/rows?q={name}"]

    for last in ("Connection: close", "connection: Keep-Alive, close"):
        with Raw(lambda target, last=last: [answer(target, extra=[last])]) as raw:
            run(raw, talk)
            assert [number for number, _ in raw.received] == [1, 2]
    with Raw(lambda target: [answer(target, head="HTTP/1.0 200 OK")]) as raw:
        run(raw, talk)
        assert [number for number, _ in raw.received] == [1, 2]


@pytest.mark.parametrize("coding", ["gzip", "gzip, chunked", "identity"])
def test_a_transfer_in_another_coding_is_not_read(coding):
    refused(head(f"Transfer-Encoding: {coding}") + chunked(BODY), words="not valid HTTP")


def test_trailers_are_no_headers():
    ending = b"0\r\nContent-Encoding: gzip\r\n\r\n"
    whole = head("Transfer-Encoding: chunked") + chunked(BODY)[: -len(b"0\r\n\r\n")] + ending
    assert answered(whole).rows == ROWS


@pytest.mark.parametrize("where", ["head", "trailer", "chunk"])
def test_what_is_not_the_body_has_an_end(where):
    begin = {
        "head": b"HTTP/1.1 200 OK\r\nX: ",
        "trailer": head("Transfer-Encoding: chunked") + chunked(BODY)[:-2] + b"X: ",
        "chunk": head("Transfer-Encoding: chunked") + b"1;x=",
    }[where]

    sent = [0]

    def reply(_):
        yield begin
        for sent[0] in range(1, 401):
            yield b"y" * 100_000

    with Raw(reply) as raw:
        expect_failure(http(raw, retries=0, timeout=60.0), "provider_error", 502, "outside of its body")
    assert sent[0] < 400  # it was not read to its end
    assert MOST_OUTSIDE < 400 * 100_000


def pack(how, body=BODY):
    if how == "raw deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(body) + packer.flush()
    return gzip.compress(body) if "gzip" in how else zlib.compress(body)


@pytest.mark.parametrize("how", ["gzip", "x-gzip", "deflate", "raw deflate"])
def test_compressed_answers_are_unpacked(how):
    packed = pack(how)
    name = how.split()[-1].upper()
    lines = f"Content-Encoding: {name}", f"Content-Length: {len(packed)}"
    fetched = answered(head(*lines) + packed)
    assert (fetched.rows, fetched.nbytes) == (ROWS, len(BODY))
    assert answered(head(*lines) + packed, budget=Budget(bytes=len(BODY))).complete
    over = answered(head(*lines) + packed, budget=Budget(bytes=len(BODY) - 1))
    assert (over.rows, over.complete) == ([], False)


def test_large_compressed_answers_are_unpacked():
    noise = random.Random(1).randbytes(10_000).hex()
    body = b'{"items": [{"target": "%s"}]}' % noise.encode()
    packed = gzip.compress(body)
    fetched = answered(head("Content-Encoding: gzip", f"Content-Length: {len(packed)}") + packed)
    assert fetched.rows == [{"target": noise}]


@pytest.mark.parametrize("how", ["gzip", "deflate", "raw deflate"])
def test_what_cannot_be_unpacked_to_the_last_byte_is_no_answer(how):
    packed, encoding = pack(how), how.split()[-1]
    assert unpack(packed, encoding, 10**6) == BODY
    for wrong in (packed[:-1], packed + b"x", packed * 2, b"", BODY):
        with pytest.raises(ProviderError, match="cannot be decompressed"):
            unpack(wrong, encoding, 10**6)
    if how != "raw deflate":  # which has no checksum
        with pytest.raises(ProviderError, match="cannot be decompressed"):
            unpack(packed[:-5] + bytes([packed[-5] ^ 1]) + packed[-4:], encoding, 10**6)


@pytest.mark.parametrize("lines", [["br"], ["gzip, gzip"], ["gzip", "gzip"], [""]])
def test_a_compression_that_is_not_accepted_is_no_answer(lines):
    headers = [f"Content-Encoding: {line}" for line in lines]
    refused(head(*headers, f"Content-Length: {len(BODY)}") + BODY, words="does not accept")


def test_identity_is_no_compression():
    assert answered(head("Content-Encoding: identity", f"Content-Length: {len(BODY)}") + BODY).rows == ROWS


@pytest.mark.parametrize("give_up", [False, True])
def test_no_more_connections_than_allowed_and_every_request_gets_a_turn(monkeypatch, give_up):
    monkeypatch.setattr("incrowd.gateway.providers.http.MOST_CONNECTIONS", 3)

    async def talk(provider):
        tasks = [asyncio.ensure_future(targets_of(provider, f"{number}")) for number in range(20)]
        await until_async(lambda: len(raw.received) >= 3)
        for task in tasks[1::5] if give_up else ():  # one while it is answered, the others while they wait
            task.cancel()
        go.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for number, result in enumerate(results):
            if give_up and number % 5 == 1:
                assert isinstance(result, asyncio.CancelledError)
            else:
                assert result == [f"/rows?q={number}"]

    go = threading.Event()

    def reply(target):
        assert go.wait(60)
        return [answer(target)]

    with Raw(reply) as raw:
        run(raw, talk)
        assert give_up or len(raw.peers) == 3


def test_idle_connections_are_closed_in_the_end(monkeypatch):
    monkeypatch.setattr("incrowd.gateway.providers.pool.IDLE_SECONDS", 0.05)

    async def talk(provider):
        assert await targets_of(provider, "a") == ["/rows?q=a"]
        assert await asyncio.to_thread(raw.peers[0].recv, 1) == b""  # as soon as it is closed
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    with Raw() as raw:
        run(raw, talk)
        assert [number for number, _ in raw.received] == [1, 2]


def test_a_long_fetch_does_not_keep_others_waiting(monkeypatch, loops):
    monkeypatch.setattr("incrowd.gateway.providers.http.MOST_CONNECTIONS", 2)

    def reply(target):
        time.sleep(0.002)
        following = b"null" if "short" in target else b'"%d"' % len(raw.received)
        body = b'{"items": [{"a": 1}], "next": %b}' % following
        return [head(f"Content-Length: {len(body)}") + body]

    async def talk(provider):
        long = [asyncio.ensure_future(provider.fetch({"q": f"long{n}"}, {})) for n in range(2)]
        await asyncio.sleep(0.05)
        short = [asyncio.ensure_future(provider.fetch({"q": f"short{n}"}, {})) for n in range(4)]
        await asyncio.gather(*short)
        assert not any(task.done() for task in long)
        assert sorted(target[-1] for _, target in raw.received if "short" in target) == list("0123")
        for task in long:
            task.cancel()
        await asyncio.gather(*long, return_exceptions=True)

    with Raw(reply) as raw:
        run(raw, talk, loops, pages=CursorPages(next="/next", cursor="c"), timeout=30.0)


def test_nothing_of_an_answer_is_kept_with_an_idle_connection():
    async def talk(provider):
        assert await targets_of(provider, "a") == ["/rows?q=a"]
        (connection,) = provider._pool._idle
        assert connection._reader is None
        assert connection._waiting is None

    with Raw() as raw:
        run(raw, talk)


@pytest.mark.parametrize("status", [503, 500, 200])
def test_no_fetch_leaves_garbage_behind(status):
    async def talk(provider):
        gc.collect()
        gc.disable()
        try:
            for name in "abc":
                with contextlib.suppress(ProviderError):
                    await provider.fetch({"q": name}, {})
            await asyncio.sleep(0.01)
            assert not any(isinstance(each, AnswerReader) for each in gc.get_objects())
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            assert [each for each in gc.garbage if isinstance(each, Connection | ProviderError)] == []
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()

    with Raw(lambda target: [answer(target, head=f"HTTP/1.1 {status} X")]) as raw:
        run(raw, talk)


@pytest.mark.parametrize(
    "first", ["HTTP/1.1 099 X", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK", "HTTP/1.1 2000 OK"]
)
def test_a_head_of_another_kind_is_no_answer(first):
    refused(answer("a", head=first), words="the provider")


def test_many_tiny_chunks_are_no_answer():
    refused(head("Transfer-Encoding: chunked"), b"1\r\n \r\n" * 200_000, words="outside of its body")


def test_a_provider_that_closes_early_is_noticed_at_once(loops):
    async def talk(provider):
        with pytest.raises(ProviderError, match="is incomplete"):
            await provider.fetch({"q": "x" * 20_000_000}, {})

    class Closing(Raw):
        def _talk(self, peer):
            self.peers.append(peer)
            time.sleep(0.05)
            peer.shutdown(socket.SHUT_WR)

    with Closing() as raw:
        run(raw, talk, loops, send="json", timeout=20.0)


def test_after_closing_nothing_is_sent_again():
    async def talk(provider):
        task = asyncio.ensure_future(targets_of(provider, "a"))
        await asyncio.sleep(0.05)
        await provider.close()
        with pytest.raises(ProviderError):
            await task
        with pytest.raises(ProviderError, match="cannot be reached"):
            await targets_of(provider, "b")
        assert len(raw.received) == 1

    def reply(target):
        time.sleep(0.2)
        return [answer(target)]

    with Raw(reply) as raw:
        run(raw, talk, retries=3)


def test_a_host_that_cannot_be_looked_up_is_not_ready():
    assert not using(HttpProvider(url="http://" + "a" * 64 + ".example/", rows=""), lambda each: each.ready())


def test_closing_ends_all_connections():
    async def talk(provider):
        task = asyncio.ensure_future(targets_of(provider, "a"))
        await until_async(lambda: raw.received)
        await provider.close()
        with pytest.raises(ProviderError, match="is incomplete"):
            await task

    def reply(target):
        time.sleep(0.3)
        return [answer(target)]

    with Raw(reply) as raw:
        run(raw, talk)


def test_nothing_of_an_answer_is_in_a_repr():
    reader = AnswerReader(100)
    assert reader.feed(answer("a"))
    assert "target" not in repr(reader) + repr(reader.received())
