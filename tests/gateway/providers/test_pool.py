"""An answer belongs to the request before it: data that arrives at any other time is not an answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time

import pytest
import uvloop

from gateway.providers.helpers import http
from gateway.providers.raw import Raw, answer, slowly
from gateway.providers.test_tls import papers
from helpers import until, until_async
from incrowd.gateway.config.settings import ClientTls
from incrowd.gateway.providers import ProviderError, open_provider
from incrowd.gateway.providers.pool import Pool

__all__ = ["papers"]  # a fixture is found by its name here

WRONG = answer("wrong")
STRAY = {
    "an answer": WRONG,
    "two answers": WRONG * 2,
    "half an answer": WRONG[:20],
    "an answer without its end": WRONG[:-5],
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n",
    "an empty line": b"\r\n",
    "one byte": b"H",
    "nonsense": b"\x00\xff nonsense",
}


@pytest.fixture(params=["asyncio", "uvloop"])
def loops(request):
    return uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop


@pytest.fixture(params=["plain", "tls"])
def line(request):
    """Return how a provider and the gateway are set up for plain connections and for TLS."""
    if request.param == "plain":
        return None, {}
    made = request.getfixturevalue("papers")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*made["server"])
    return context, {"tls": ClientTls(ca=made["ca"])}


def run(raw, talk, loops=None, **settings):
    """Run a talk with an opened provider that is never tried again."""

    async def opened():
        provider = await open_provider(http(raw, **({"retries": 0, "timeout": 5.0} | settings)))
        try:
            return await talk(provider)
        finally:
            await provider.close()

    with asyncio.Runner(loop_factory=loops) as runner:
        return runner.run(opened())


async def targets_of(provider, name):
    """Send a query for a name and return the targets in the answer's rows."""
    fetched = await provider.fetch({"q": name}, {})
    assert fetched.complete
    return [row["target"] for row in fetched.rows]


def test_a_clean_connection_is_used_again(loops, line):
    context, settings = line

    async def talk(provider):
        for name in "abc":
            assert await targets_of(provider, name) == [f"/rows?q={name}"]

    with Raw(tls=context) as raw:
        run(raw, talk, loops, **settings)
        assert [number for number, _ in raw.received] == [1, 1, 1]


@pytest.mark.parametrize("seen", ["by the loop", "in the kernel"])
@pytest.mark.parametrize("stray", STRAY)
@pytest.mark.parametrize("send", ["query", "json"])
def test_a_connection_on_which_anything_arrived_is_not_used_again(stray, seen, send):
    check_stray(STRAY[stray], seen, send=send)


@pytest.mark.parametrize("seen", ["by the loop", "in the kernel"])
@pytest.mark.parametrize("stray", ["an answer", "half an answer"])
def test_so_it_is_with_every_loop_and_with_tls(loops, line, stray, seen):
    check_stray(STRAY[stray], seen, loops, line)


def check_stray(stray, seen, loops=None, line=(None, {}), send="query"):
    context, settings = line
    go, sent = threading.Event(), threading.Event()

    def reply(target):
        yield answer(target)
        if len(raw.received) == 1:
            go.wait(5)
            yield stray
            sent.set()

    async def talk(provider):
        await targets_of(provider, "a")
        go.set()
        if seen == "by the loop":
            await until_async(sent.is_set)
            await asyncio.sleep(0.03)  # whatever it does about it, it may do
        else:
            assert sent.wait(60)  # the loop must not come to read it
        assert await targets_of(provider, "b") == (["/rows"] if send == "json" else ["/rows?q=b"])

    with Raw(reply, tls=context) as raw:
        run(raw, talk, loops, send=send, **settings)
        assert [number for number, _ in raw.received] == [1, 2]


class HalfRecords(Raw):
    """A provider that sends half of a TLS record with a wrong answer, and the rest of it after the next request."""

    def __init__(self, context, *, apart):
        self._context, self._apart = context, apart
        self.answered, self.halves_sent = threading.Semaphore(0), 0
        super().__init__()
        self.url = self.url.replace("http:", "https:")

    def _talk(self, peer):
        with contextlib.suppress(OSError, ssl.SSLError):
            self.peers.append(peer)
            number, rest = len(self.peers), b""
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = self._context.wrap_bio(incoming, outgoing, server_side=True)
            self._wait(peer, incoming, outgoing, tls.do_handshake)
            while True:
                target = self._wait(peer, incoming, outgoing, tls.read).split()[1].decode()
                self.received.append((number, target))
                if rest:
                    peer.sendall(rest)
                tls.write(answer(target))
                own = outgoing.read()
                tls.write(WRONG)
                wrong = outgoing.read()
                half, rest = wrong[: len(wrong) // 2], wrong[len(wrong) // 2 :]
                if self._apart:
                    peer.sendall(own)
                    self.answered.acquire(timeout=60)  # the answer has been read by itself
                    peer.sendall(half)
                else:
                    peer.sendall(own + half)
                self.halves_sent += 1

    @staticmethod
    def _wait(peer, incoming, outgoing, step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                peer.sendall(outgoing.read())
                incoming.write(peer.recv(65_536))
            finally:
                peer.sendall(outgoing.read())


@pytest.mark.parametrize("apart", [True, False], ids=["by itself", "behind the answer"])
def test_half_a_record_of_tls_spoils_a_connection(loops, papers, apart):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*papers["server"])

    async def talk(provider):
        for number, name in enumerate("abc", start=1):
            assert await targets_of(provider, name) == [f"/rows?q={name}"]
            raw.answered.release()
            await until_async(lambda number=number: raw.halves_sent == number)

    with HalfRecords(context, apart=apart) as raw:
        run(raw, talk, loops, tls=ClientTls(ca=papers["ca"]))
        assert [number for number, _ in raw.received] == [1, 2, 3]


def test_all_spoilt_connections_are_passed_over_at_once():
    async def talk(provider):
        await asyncio.gather(*(targets_of(provider, "slow") for _ in range(8)))
        for peer in raw.peers:
            peer.sendall(WRONG)
        time.sleep(0.03)  # noqa: ASYNC251
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    def reply(target):
        time.sleep(0.1 * target.endswith("slow"))
        return [answer(target)]

    with Raw(reply) as raw:
        run(raw, talk)
        assert raw.received[-1] == (9, "/rows?q=b")


@pytest.mark.parametrize(
    "pieces",
    [
        lambda own: [own + WRONG],
        lambda own: [own[:30], own[30:] + WRONG],
        lambda own: [own[:-1], own[-1:] + WRONG],
        lambda own: [own[:-1], own[-1:] + WRONG[:-1]],
        lambda own: [own, WRONG],
        lambda own: [own + WRONG[:20], WRONG[20:]],
        lambda own: [own[:-1], own[-1:] + WRONG[:20], WRONG[20:]],
    ],
)
def test_what_follows_an_answer_is_not_the_next_one(loops, pieces):
    all_sent = threading.Event()

    def reply(target):
        if target.endswith("a"):
            yield from slowly(pieces(answer(target)))
            all_sent.set()
        else:
            yield answer(target)

    async def talk(provider):
        assert await targets_of(provider, "a") == ["/rows?q=a"]
        await asyncio.to_thread(all_sent.wait, 5)
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    with Raw(reply) as raw:
        run(raw, talk, loops)
        assert [number for number, _ in raw.received] == [1, 2]


def test_the_rest_of_a_stray_answer_is_not_the_next_one():
    async def talk(provider):
        assert await targets_of(provider, "a") == ["/rows?q=a"]
        with pytest.raises(ProviderError, match="not valid HTTP"):
            await targets_of(provider, "b")

    with Raw(
        lambda target: (
            [answer(target) + WRONG[:20]] if target.endswith("a") else [WRONG[20:] + answer(target)]
        )
    ) as raw:
        run(raw, talk)


def test_what_follows_a_refusal_is_not_the_next_answer():
    async def talk(provider):
        with pytest.raises(ProviderError, match="status 204"):
            await targets_of(provider, "a")
        await asyncio.sleep(0.03)
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    none = b"HTTP/1.1 204 No Content\r\n\r\n"
    with Raw(lambda target: slowly([none, WRONG]) if target.endswith("a") else [answer(target)]) as raw:
        run(raw, talk)
        assert [number for number, _ in raw.received] == [1, 2]


@pytest.mark.parametrize("end", ["timeout", "cancelled"])
@pytest.mark.parametrize("late", ["head", "body"])
def test_an_answer_that_comes_too_late_is_not_the_next_one(end, late):
    async def talk(provider):
        task = asyncio.ensure_future(targets_of(provider, "late"))
        if end == "cancelled":
            await asyncio.sleep(0.05)
            task.cancel()
        with pytest.raises(asyncio.CancelledError if end == "cancelled" else ProviderError):
            await task
        for name in "abc":
            assert await targets_of(provider, name) == [f"/rows?q={name}"]
            await asyncio.sleep(0.1)

    def reply(target):
        own = answer(target)
        if target.endswith("late"):
            yield own[: 0 if late == "head" else 60]
            time.sleep(0.25)
            yield own[60 * (late == "body") :]
        else:
            yield own

    with Raw(reply) as raw:
        run(raw, talk, timeout=0.15)
        assert {number for number, target in raw.received if "late" not in target} == {2}


def test_interim_answers_are_no_answers():
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"

    async def talk(provider):
        for name in "ab":
            assert await targets_of(provider, name) == [f"/rows?q={name}"]

    with Raw(lambda target: slowly([interim * 3, interim + answer(target)])) as raw:
        run(raw, talk)
        assert [number for number, _ in raw.received] == [1, 1]


@pytest.mark.parametrize("first", [b"", b"H"], ids=["whole", "split"])
@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"HTTP/1.1 100 Continue", "not valid HTTP"),
        (b"HTTP/1.0 100 Continue", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0", "not JSON"),  # the first one is the answer
    ],
)
def test_there_is_an_end_of_answers(head, words, first):
    flood = (head + b"\r\n\r\n") * 2_000

    async def talk(provider):
        with pytest.raises(ProviderError, match=words):
            await targets_of(provider, "a")
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    def reply(target):
        return (
            slowly([first, flood[len(first) :], answer(target)]) if target.endswith("a") else [answer(target)]
        )

    with Raw(reply) as raw:
        run(raw, talk, retries=0)
        assert [number for number, _ in raw.received] == [1, 2]


def test_a_connection_that_changes_its_protocol_is_not_used():
    switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"

    async def talk(provider):
        with pytest.raises(ProviderError, match="status 101"):
            await targets_of(provider, "a")
        assert await targets_of(provider, "b") == ["/rows?q=b"]

    with Raw(lambda target: [switch + WRONG] if target.endswith("a") else [answer(target)]) as raw:
        run(raw, talk)
        assert [number for number, _ in raw.received] == [1, 2]


def test_an_answer_with_two_lengths_is_no_answer():
    both = answer("/rows?q=a", extra=["Transfer-Encoding: chunked"])
    two = answer("/rows?q=a", extra=["Content-Length: 3"])

    async def talk(provider):
        for _ in range(2):
            with pytest.raises(ProviderError, match=r"not valid HTTP|is incomplete"):
                await targets_of(provider, "a")

    for wrong in (both, two):
        with Raw(lambda _, wrong=wrong: [wrong]) as raw:
            run(raw, talk)


def test_an_answer_before_any_question_is_an_error(loops, line, monkeypatch):
    context, settings = line
    look = Pool._begins_clean

    async def after_the_greeting(pool, connection):
        """Keep the loop from its first look at a new connection until the greeting is there; with TLS other bytes are, too."""
        until(lambda: raw.greeted.is_set() and not connection.is_clean(), "the greeting does not arrive")
        return await look(pool, connection)

    async def talk(provider):
        with pytest.raises(ProviderError, match=r"before the request|is incomplete"):
            await targets_of(provider, "a")

    monkeypatch.setattr(Pool, "_begins_clean", after_the_greeting)
    with Raw(greeting=WRONG, tls=context) as raw:
        run(raw, talk, loops, timeout=60.0, **settings)
        assert raw.received == []


def test_a_provider_that_closes_idle_connections_gets_a_new_one(loops, line):
    context, settings = line

    async def talk(provider):
        for name in "abc":
            assert await targets_of(provider, name) == [f"/rows?q={name}"]
            raw.peers[-1].shutdown(socket.SHUT_RDWR)
            time.sleep(0.02)  # noqa: ASYNC251 - its end waits in the kernel

    with Raw(tls=context) as raw:
        run(raw, talk, loops, send="query", **settings)
        assert [number for number, _ in raw.received] == [1, 2, 3]
