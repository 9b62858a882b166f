"""What comes in and what goes out, over ASGI."""

from __future__ import annotations

import asyncio

import pytest

from incrowd.gateway.requests.exchange import Reply, Request, key_in, respond
from incrowd.gateway.requests.parameters import parameters_of_body, parameters_of_query
from incrowd.gateway.requests.problems import Problem


def request(*parts, method="POST", headers=(), query=b"", largest_body=100):
    """Return a request whose body comes in parts; after the last, any further wait is an error."""
    scope = {"type": "http", "path": "/loans", "method": method, "headers": headers, "query_string": query}
    messages = iter(parts)

    async def receive():
        return next(messages)

    return Request(scope, receive, largest_body)


def part(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def parameters(*parts, **scope):
    incoming = request(*parts, **scope)
    read = parameters_of_query if incoming.method == "GET" else parameters_of_body
    return read(incoming.query if incoming.method == "GET" else asyncio.run(incoming.text()))


def code(*parts, **scope):
    with pytest.raises(Problem) as caught:
        parameters(*parts, **scope)
    return caught.value.code


def test_the_body_of_a_post_comes_in_parts():
    assert parameters(part(b'{"a"', more=True), part(b"", more=True), part(b": 1}")) == {"a": 1}
    assert parameters(part(b"{}"), query=b"a=1") == {}


def test_a_get_reads_the_query_and_no_body():
    assert parameters(method="GET", query=b"a=1") == {"a": "1"}


def test_a_body_is_read_no_further_than_it_may_be_long():
    fits, longer = b'{"a":"%s"}' % (b"x" * 92), b'{"a":"%s"}' % (b"x" * 93)
    assert len(fits) == 100
    assert parameters(part(fits)) == {"a": "x" * 92}
    assert code(part(longer)) == "too_large"
    assert code(part(longer[:60], more=True), part(longer[60:], more=True)) == "too_large"


@pytest.mark.parametrize("parts", [(), (part(b"{}", more=True),)])
def test_half_a_body_is_no_body(parts):
    assert code(*parts, {"type": "http.disconnect"}) == "bad_request"


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([(b"authorization", b"Bearer abc def")], b"abc def"),
        ([(b"authorization", b"bearer  abc\t")], b"abc"),
        ([(b"x-api-key", b"abc")], b"abc"),
        ([(b"authorization", b"Basic abc"), (b"x-api-key", b"def")], b"def"),
        ([(b"authorization", b"Bearer abc"), (b"x-api-key", b"def")], b"abc"),
        # In UTF-8 the last byte of à is what Latin-1 calls a blank: it belongs to the key.
        ([(b"authorization", "Bearer à".encode())], "à".encode()),
        ([], b""),
        ([(b"authorization", b"Bearer")], b""),
        ([(b"authorization", b"Bearer ")], b""),
        ([(b"cookie", b"abc")], b""),
    ],
)
def test_the_key(headers, key):
    assert key_in(*request(headers=headers).credentials) == key


def test_every_request_has_its_own_id():
    assert len({request().id for _ in range(100)}) == 100


def test_a_reply():
    sent = []

    async def send(message):
        sent.append(message)

    incoming = request()
    asyncio.run(respond(send, Reply(b'{"a": 1}', 429, headers={"retry-after": "7"}), incoming))
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 429
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"retry-after"] == b"7"
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"incrowd-request"] == incoming.id.encode()
    assert body["body"] == b'{"a": 1}'
    assert not body.get("more_body")


def test_no_repr_shows_a_body():
    assert "secret" not in repr(Reply(b"secret"))


def test_a_body_that_never_comes(monkeypatch):
    monkeypatch.setattr("incrowd.gateway.requests.exchange.BODY_SECONDS", 0.05)

    async def receive():
        await asyncio.sleep(60)

    incoming = Request({"path": "/", "method": "POST", "headers": [], "query_string": b""}, receive, 100)
    with pytest.raises(Problem, match="did not arrive within") as caught:
        asyncio.run(incoming.text())
    assert caught.value.code == "bad_request"
