"""The HTTP surface under everything that can be thrown at it: by its own description, and by raw bytes.

Whatever comes, the gateway goes on, has no error of its own, logs nothing but JSON, and none of it quotes a request.
"""

from __future__ import annotations

import json
import re
import socket
import urllib.parse
from collections import Counter

import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from gateway.harness import KEY
from gateway.small_town import REVEALING, open_town

PLANTED = "Zyxomma7731"
BEARER = f"Authorization: Bearer {KEY}\r\n".encode()
CLOSE = b"Host: gateway\r\nConnection: close\r\n"
ASK = b"GET /loans HTTP/1.1\r\n" + CLOSE
BRIEF = 0.03
BOUNDED = settings(max_examples=300, derandomize=True, database=None)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    with open_town(tmp_path_factory.mktemp("town")) as both:
        yield both


@pytest.fixture(scope="module")
def gateway(town):
    return town[0]


@pytest.fixture
def upstream(town):
    town[1].steer()
    return town[1]


@pytest.fixture(autouse=True)
def _log_says_nothing(gateway):
    """Look at what each test added to the log, once its last line is there."""
    before = len(gateway.log)
    yield
    last = gateway.request("GET", "/healthz", key=None).headers["incrowd-request"]
    gateway.until(lambda: last in gateway.log[before:], "the last line")
    added = gateway.log[before:]
    assert PLANTED not in added
    assert KEY not in added
    assert {json.loads(line)["level"] for line in added.splitlines()} == {"info"}


# By the description


def fuzzed(gateway, key):
    """Let schemathesis ask all it can think of; return what it holds against the answers, and the statuses by path."""
    config = SchemathesisConfig.from_dict(
        {
            "seed": 6,
            "continue-on-failure": True,
            "headers": {"Authorization": f"Bearer {key}"} if key else {},
            "generation": {"max-examples": 25, "deterministic": True, "database": "none"},
            # A query that is well-formed may have an unknown value: that is a 400, whatever its form.
            "checks": {"positive_data_acceptance": {"enabled": False}},
            "phases": {
                "stateful": {"enabled": False},
                "coverage": {"generate-duplicate-query-parameters": True},
            },
        }
    )
    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{gateway.port}/openapi.json", config=config)
    failures, statuses = [], {}
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
        if isinstance(event, events.ScenarioFinished):
            recorded = event.recorder
            failures += [
                (event.label, check.name, check.failure_info.failure.message, check.failure_info.code_sample)
                for checks in recorded.checks.values()
                for check in checks
                if check.failure_info
            ]
            counted = statuses.setdefault(event.label, Counter())
            counted.update(made.response.status_code for made in recorded.interactions.values())
    return failures, statuses


def test_every_answer_is_as_the_description_says(gateway):
    failures, statuses = fuzzed(gateway, KEY)
    assert failures == []
    for label in ("GET /loans", "POST /loans", "GET /preview/loans", "POST /preview/loans"):
        assert statuses[label].keys() >= {200, 400, 401}
        assert statuses[label].total() > 80
    assert {label.split()[1] for label in statuses} == {
        "/",
        "/healthz",
        "/readyz",
        "/loans",
        "/preview/loans",
    }


def test_without_a_key_every_answer_is_as_the_description_says_and_nothing_is_sent(gateway, upstream):
    failures, statuses = fuzzed(gateway, None)
    assert failures == []
    for label in ("GET /loans", "POST /loans", "GET /preview/loans", "POST /preview/loans"):
        assert statuses[label].keys() <= {401, 405}
    assert upstream.received == []


# By raw bytes


def exchange(gateway, data, patience=0.5):
    """Send bytes; return what comes back until the line is closed. After some silence there are no more bytes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=patience) as line:
        try:
            line.sendall(data)
            while piece := received(line):
                answer += piece
        except ConnectionError:  # it was refused before it was read to its end
            pass
    return answer


def received(line):
    try:
        return line.recv(65_536)
    except TimeoutError:
        line.shutdown(socket.SHUT_WR)
        line.settimeout(10)
        return line.recv(65_536)


def status_and_code(answer):
    """Return the status and the code of an answer; None where there is none."""
    first = re.match(rb"HTTP/1\.[01] ([0-9]{3}) ", answer)
    if first is None:
        return None, None
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"content-type: application/json" not in head or body[:1] != b"{":  # HEAD has no body
        return int(first[1]), None
    said, _ = json.JSONDecoder().raw_decode(body.decode())  # another answer may follow on the same line
    return int(first[1]), said.get("error", {}).get("code")


def check_unharmed(gateway, answer):
    status, code = status_and_code(answer)
    assert status is None or status < 500 or code == "provider_error"
    if status is not None and status >= 400:
        assert PLANTED.encode() not in answer
    assert gateway.request("GET", "/healthz", key=None).json == {"status": "alive"}


def posted(body, *headers, length=None):
    announced = b"Content-Length: %d\r\n" % (len(body) if length is None else length)
    return (
        b"POST /loans HTTP/1.1\r\n" + CLOSE + BEARER + b"".join(headers) + announced + b"\r\n" + bytes(body)
    )


def chunked(body):
    return b"POST /loans HTTP/1.1\r\n" + CLOSE + BEARER + b"Transfer-Encoding: chunked\r\n\r\n" + body


def queried(query, *headers):
    return b"GET /loans?" + query + b" HTTP/1.1\r\n" + CLOSE + BEARER + b"".join(headers) + b"\r\n"


MARK = PLANTED.encode()
MANY = b"{" + b",".join(b'"%s%d":1' % (MARK, number) for number in range(3_000)) + b"}"
TOO_MANY = b"{" + b",".join(b'"%s%d":1' % (MARK, number) for number in range(100_000)) + b"}"
HOSTILE = {
    "garbage": (b"\x00\xff\x13" + MARK + b"\r\n\r\n", 400, None),
    "a TLS greeting": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, None),
    "no method": (b"/" + MARK + b"\r\n\r\n", 400, None),
    "a method of its own": (b"BREW /loans HTTP/1.1\r\n" + CLOSE + b"\r\n", 405, "method_not_allowed"),
    "no such path": (b"GET /" + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n", 404, "not_found"),
    "a path out of the tree": (b"GET /../" + MARK + b" HTTP/1.1\r\n" + CLOSE + b"\r\n", 404, "not_found"),
    "a path of bad bytes": (b"GET /%ff%zz%00 HTTP/1.1\r\n" + CLOSE + b"\r\n", 404, "not_found"),
    "a star": (b"OPTIONS * HTTP/1.1\r\n" + CLOSE + b"\r\n", 404, "not_found"),
    "a tunnel": (b"CONNECT evil.example:443 HTTP/1.1\r\n" + CLOSE + b"\r\n", 404, "not_found"),
    "another host's URL": (
        b"GET http://evil.example/loans HTTP/1.1\r\n" + CLOSE + b"\r\n",
        401,
        "unauthorized",
    ),
    "bad percent-encoding": (queried(b"county=%zz%4" + MARK), 400, "bad_request"),
    "percent-encoded bytes that are no UTF-8": (queried(b"q=%ff" + MARK), 400, "bad_request"),
    "bytes that are no ASCII": (queried("q=é".encode() + MARK), 400, "bad_request"),
    "NUL in the URL": (queried(b"q=\x00" + MARK), 400, None),
    "encoded NUL": (queried(b"county=%00" + MARK), 400, "bad_request"),
    "a parameter twice": (queried(b"q=1&q=" + MARK), 400, "bad_request"),
    "too many parameters": (
        queried(b"&".join(b"%s%d=1" % (MARK, n) for n in range(101))),
        400,
        "bad_request",
    ),
    "a very long URL": (queried(b"q=" + MARK * 100_000), 431, None),
    "very many headers": (queried(b"", *(b"X-%d: y\r\n" % n for n in range(1_000))), 431, None),
    "a bare CR in the key": (ASK + b"X-Api-Key: a\r" + MARK + b"\r\n\r\n", 400, None),
    "NUL in the key": (ASK + b"X-Api-Key: \x00" + MARK + b"\r\n\r\n", 400, None),
    "a key of high bytes": (ASK + b"X-Api-Key: \xff\xfe" + MARK + b"\r\n\r\n", 401, "unauthorized"),
    "a key and no more": (ASK + b"Authorization: Bearer \r\n\r\n", 401, "unauthorized"),
    "another scheme": (ASK + b"Authorization: Basic " + MARK + b"\r\n\r\n", 401, "unauthorized"),
    "a folded header": (ASK + b"X-Api-Key: a\r\n " + MARK + b"\r\n\r\n", 400, None),
    "a length below zero": (posted(b"{}", length=-1), 400, None),
    "two lengths": (posted(b"{}", b"Content-Length: 3\r\n"), 400, None),
    "a length that is a word": (posted(b"{}", b"Content-Length: " + MARK + b"\r\n"), 400, None),
    "less body than announced": (posted(b'{"county":"Essex"}', length=100), 400, "bad_request"),
    "more body than announced": (posted(b'{"county":"Essex"}', length=3), 400, "bad_request"),
    "a last chunk that never comes": (chunked(b"2\r\n{}\r\n"), 400, "bad_request"),
    "chunks": (chunked(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), 400, "bad_request"),
    "a chunk of no length": (chunked(b"zz\r\n{}\r\n0\r\n\r\n"), 400, "bad_request"),
    "an empty body": (posted(b""), 400, "bad_request"),
    "blanks": (posted(b" \n"), 400, "bad_request"),
    "a list": (posted(b'["%s"]' % MARK), 400, "bad_request"),
    "text": (posted(b'"%s"' % MARK), 400, "bad_request"),
    "not JSON": (posted(MARK), 400, "bad_request"),
    "NaN": (posted(b'{"q":NaN}'), 400, "bad_request"),
    "a number too large to be one": (posted(b'{"q":1e400}'), 400, "bad_request"),
    "too many digits": (posted(b'{"q":%s}' % (b"9" * 5_000)), 400, "bad_request"),
    "a lone surrogate": (posted(b'{"q":"\\ud800%s"}' % MARK), 400, "bad_request"),
    "a surrogate's bytes": (posted(b'{"q":"\xed\xa0\x80%s"}' % MARK), 400, "bad_request"),
    "a name of bytes that are no UTF-8": (posted(b'{"\xff%s":1}' % MARK), 400, "bad_request"),
    "a list as a value": (posted(b'{"q":["%s"]}' % MARK), 400, "bad_request"),
    "deep lists": (posted(b"[" * 60_000), 400, "bad_request"),
    "deep objects": (posted(b'{"q":' * 10_000), 400, "bad_request"),
    "very many names": (posted(MANY), 400, "bad_request"),
    "a hundred thousand names": (posted(TOO_MANY), 413, "too_large"),
    "a huge offset": (posted(b'{"offset":%s}' % (b"9" * 40)), 400, "bad_request"),
    "a huge float offset": (posted(b'{"offset":1e308}'), 400, "bad_request"),
    "half an offset": (posted(b'{"offset":0.5}'), 400, "bad_request"),
    "no limit": (posted(b'{"limit":0}'), 400, "bad_request"),
    "a limit below zero": (posted(b'{"limit":-1}'), 400, "bad_request"),
    "a limit that is true": (posted(b'{"limit":true}'), 400, "bad_request"),
    "an order that is no name": (posted(b'{"sort":"%s"}' % MARK), 400, "bad_request"),
    "an unknown value": (posted(b'{"county":"%s"}' % MARK), 400, "bad_request"),
}


@pytest.mark.parametrize(("data", "status", "code"), HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_requests_are_refused_and_nothing_is_sent(gateway, upstream, data, status, code):
    answer = exchange(gateway, data)
    check_unharmed(gateway, answer)
    assert status_and_code(answer) == (status, code)
    assert upstream.received == []


ODD = {
    "HTTP/1.0": b"GET /loans?q=x HTTP/1.0\r\n" + BEARER + b"\r\n",
    "no Host": b"GET /loans HTTP/1.1\r\nConnection: close\r\n" + BEARER + b"\r\n",
    "an encoded path": b"GET /lo%61ns HTTP/1.1\r\n" + CLOSE + BEARER + b"\r\n",
    "blanks between": queried(b"&&q=&="),
    "Expect: 100-continue": posted(b"{}", b"Expect: 100-continue\r\n"),
    "a body of another kind": posted(b"{}", b"Content-Type: text/plain\r\n"),
    "a body to be ignored": b"GET /loans HTTP/1.1\r\n" + CLOSE + BEARER + b"Content-Length: 3\r\n\r\nabc",
    "a name of control characters": posted(b'{"a\\r\\nX-Evil: 1\\u0000":"b"}'),
}


@pytest.mark.parametrize("data", ODD.values(), ids=list(ODD))
def test_odd_requests_are_answered(gateway, data):
    answer = exchange(gateway, data).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    check_unharmed(gateway, answer)
    assert status_and_code(answer) == (200, None)
    assert b"x-evil" not in answer.partition(b"\r\n\r\n")[0].lower()


def test_a_name_given_twice_in_json_is_refused_and_goes_nowhere(gateway, upstream):
    answer = exchange(gateway, posted(b'{"q":"%s","q":"later"}' % MARK))
    assert status_and_code(answer) == (400, "bad_request")
    assert upstream.received == []


@pytest.mark.parametrize(
    "text", ["a\r\nX-Evil: 1\r\n\r\nGET /evil HTTP/1.1", "a&county=Essex#x", "\x00", "a b+c%20"]
)
def test_what_is_passed_on_stays_one_value(gateway, upstream, text):
    assert gateway.post({"q": text}).status == 200
    assert gateway.ask(q=text).status == 200
    first, second = upstream.received
    assert first["query"] == second["query"] == [["q", text]]
    assert {name for name, _ in first["headers"]} <= {"host", "accept", "accept-encoding", "user-agent"}


def test_one_connection_serves_good_requests_between_bad_ones(gateway):
    lines = [
        b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        posted(b"[]").replace(b"Connection: close\r\n", b""),
        b"GET /healthz HTTP/1.1\r\n" + CLOSE + b"\r\n",
    ]
    answer = exchange(gateway, b"".join(lines))
    assert re.findall(rb"HTTP/1.1 ([0-9]{3})", answer) == [b"404", b"200", b"400", b"200"]


# By chance

TEXT = st.text(max_size=20).map(lambda text: PLANTED + text)
VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**15, max_value=10**40),
    st.floats(allow_nan=True, allow_infinity=True),
    TEXT,
    st.sampled_from(["", "Essex", "Black", "Female", "0", "-1", "id", "-id", "1e9", "\u0661"]),
)
NAME = st.one_of(
    st.sampled_from([*REVEALING, "income", "q", "email", "sort", "offset", "limit", ""]), st.text(max_size=5)
)
ANYTHING = st.recursive(
    VALUE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=3)
)
ASCII = st.text(st.characters(max_codepoint=127), max_size=30).map(str.encode)
WIRE = st.binary(max_size=30) | ASCII
HEADER = st.sampled_from(
    [
        BEARER,
        b"Host: gateway\r\n",
        b"Host: \r\n",
        b"Content-Length: 2\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Content-Encoding: gzip\r\n",
        b"Upgrade: h2c\r\nConnection: upgrade\r\n",
        b"Upgrade: websocket\r\nConnection: upgrade\r\n",
        b"Expect: 100-continue\r\n",
        b"Accept-Language: \xff\r\n",
        b"Connection: close\r\n",
        b"no colon\r\n",
        b": no name\r\n",
    ]
) | st.builds(b"X-Api-Key: %s\r\n".__mod__, WIRE)


@BOUNDED
@given(
    data=WIRE,
    head=st.sampled_from([b"", b"GET ", b"POST /loans", ASK, ASK + BEARER, b"PRI * HTTP/2.0\r\n\r\n"]),
)
def test_random_bytes(gateway, data, head):
    check_unharmed(gateway, exchange(gateway, head + data + MARK + b"\r\n\r\n", BRIEF))


@BOUNDED
@given(
    method=st.sampled_from([b"GET", b"POST", b"HEAD", b"PUT", b"TRACE", b"get"]) | WIRE,
    target=st.sampled_from([b"/loans", b"/preview/loans", b"/", b"/healthz", b"//loans", b"*", b""]),
    query=WIRE,
    version=st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b""]),
    headers=st.lists(HEADER, max_size=5),
    body=WIRE,
)
def test_requests_of_random_parts(gateway, *, method, target, query, version, headers, body):
    first = b"%s %s?q=%s%s %s\r\n" % (method, target, MARK, query, version)
    check_unharmed(gateway, exchange(gateway, first + b"".join(headers) + b"\r\n" + body, BRIEF))


@BOUNDED
@given(given_=st.dictionaries(NAME, VALUE, max_size=8) | ANYTHING, preview=st.booleans())
def test_random_json(gateway, given_, preview):
    """Python's writer also makes NaN, Infinity and lone surrogates, which JSON does not have."""
    path = "/preview/loans" if preview else "/loans"
    reply = gateway.post(json.dumps(given_).encode(), path=path)
    assert reply.status in {200, 400}
    if reply.status == 400:
        assert reply.code == "bad_request"
        assert PLANTED not in reply.json["error"]["message"]


@BOUNDED
@given(pairs=st.lists(st.tuples(NAME, VALUE.map(str)), max_size=8, unique_by=lambda pair: pair[0]))
def test_random_queries(gateway, pairs):
    """A question is answered alike, whether it is in the URL or in the body."""
    parameters = dict(pairs)
    by_url = gateway.request("GET", f"/loans?{urllib.parse.urlencode(parameters)}")
    by_body = gateway.post(parameters)
    assert by_url.status == by_body.status
    if by_url.status == 200:
        assert by_url.json == by_body.json
    else:
        assert (by_url.status, by_url.code) == (400, "bad_request")
