"""Starting, serving over TLS, limits, the cache, what is counted and logged, and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest
import yaml
from click.testing import CliRunner

from gateway.harness import KEY, Reply, RunningGateway, configuration, hashed
from gateway.providers.test_tls import papers
from helpers import free_port, until
from incrowd.cli.app import cli
from incrowd.errors import BadInputError
from incrowd.gateway.config.check import check
from incrowd.gateway.config.config import load_config
from incrowd.gateway.ops.log import EventLog
from incrowd.gateway.ops.metrics import GatewayMetrics
from incrowd.gateway.server.app import COUNT_INTERVAL, Gateway
from incrowd.gateway.server.handover import Inbox
from incrowd.gateway.server.prepared import unprepared
from incrowd.gateway.server.serve import run_gateway
from incrowd.generalizer.synthetic import synthetic_loans

__all__ = ["papers"]  # a fixture is found by its name here

BOB = "bob's own key 0123456789"
CAREFUL = "the careful one's key 0123456789"
BUSY = "the busy one's key 0123456789"
RATE = 400
LARGEST_BODY = 2_000
LOANS = synthetic_loans(2_000, seed=5)
ROWS = [{"id": number, **row} for number, row in enumerate(LOANS.to_pylist())]
STOP_SECONDS = 20
PEOPLE = [
    {"name": "alice", "key_sha256": hashed(KEY)},
    {"name": "bob", "key_sha256": hashed(BOB)},
    {"name": "careful", "key_sha256": hashed(CAREFUL), "protect": ["income:g=40"]},
    {"name": "busy", "key_sha256": hashed(BUSY)},
]


def client_context(papers, name=None):
    context = ssl.create_default_context(cafile=papers["ca"])
    if name:
        context.load_cert_chain(*papers[name])
    return context


@pytest.fixture(scope="module")
def gateway(folder, running, papers):
    certificate, key = map(str, papers["server"])
    config = configuration(folder / "people.parquet", {"kind": "http", "url": running.url, "rows": "/items"})
    config["listen"] |= {
        "workers": 2,
        "tls": {"certificate": certificate, "key": key, "clients": str(papers["ca"])},
    }
    config |= {
        "people": PEOPLE,
        "metrics": {"port": free_port()},
        "cache": {"entries": 100, "bytes": "10MB", "time_to_live": "60s", "shared": True},
        "rate": {"requests": RATE, "per": "2h"},
        "body": f"{LARGEST_BODY // 1000}KB",
    }
    gateway = RunningGateway(folder, config)
    gateway.tls = client_context(papers, "client")
    with gateway:
        gateway.wait_for_event("worker_started", 2)
        yield gateway


class Line:
    """One connection that stays, so that one worker answers all of it."""

    def __init__(self, gateway):
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", gateway.port, timeout=30, context=gateway.tls
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def ask(self, target, key=KEY, method="GET", body=None):
        self._connection.request(method, target, body, {"Authorization": f"Bearer {key}"})
        answer = self._connection.getresponse()
        return Reply(answer.status, dict(answer.getheaders()), answer.read())


def first_answer(connection):
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")  # in TLS 1.3 a client hears of a refusal only when it reads
        return connection.getresponse().read()


@pytest.mark.parametrize("name", [None, "stranger"])
def test_who_shows_no_certificate_of_our_authority_is_not_served(gateway, papers, name):
    context = client_context(papers, name)
    connection = http.client.HTTPSConnection("127.0.0.1", gateway.port, timeout=10, context=context)
    with pytest.raises((OSError, http.client.HTTPException)):
        first_answer(connection)


def test_the_gateways_own_certificate_is_the_configured_one(gateway):
    reply = gateway.ask("/healthz", key=None)  # the client's context checks it
    assert (reply.status, reply.json) == (200, {"status": "alive"})


def test_head_is_answered_with_the_length_and_without_a_body(gateway):
    whole = gateway.ask("/openapi.json", key=None)
    head = gateway.request("HEAD", "/openapi.json", key=None)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(whole.body))


def test_plain_http_is_not_served_on_the_tls_port(gateway):
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    with pytest.raises((OSError, http.client.HTTPException)):
        first_answer(connection)


def test_two_workers_serve(gateway):
    assert len(gateway.workers) == 2
    assert gateway.count("worker_started") == 2


def test_a_generalized_query_that_was_answered_lately_does_not_reach_the_provider(gateway, upstream):
    """Bob asks something else, of which the same is sent; the careful one's policy sends something else."""
    incomes = sorted({row["income"] for row in ROWS if row["county"] == "Norfolk"})[:2]
    with Line(gateway) as line:
        first = line.ask(f"/loans?county=Norfolk&income={incomes[0]}&sort=id")
        second = line.ask(f"/loans?county=Norfolk&income={incomes[1]}&sort=id", BOB)
        other = line.ask("/loans?county=Norfolk", CAREFUL)
    for reply, income in ((first, incomes[0]), (second, incomes[1])):
        expected = [row for row in ROWS if (row["county"], row["income"]) == ("Norfolk", income)]
        assert reply.json["rows"] == expected
        assert reply.json["privacy"]["sent"] == {"county": "Norfolk"}
    assert other.json["privacy"]["sent"] == {}
    assert [dict(request["query"]) for request in upstream.received] == [{"county": "Norfolk"}, {}]


def test_answers_that_failed_are_not_kept(gateway, upstream):
    with Line(gateway) as line:
        upstream.steer("status", status=500)
        assert line.ask("/loans?county=Plymouth").status == 502
        upstream.steer()
        assert line.ask("/loans?county=Plymouth").status == 200
        assert line.ask("/loans?county=Plymouth").status == 200
    assert len(upstream.received) == 1


def test_too_many_requests_get_a_time_to_try_again(gateway, upstream):
    with Line(gateway) as line:
        replies = [line.ask("/preview/loans?county=Essex", BUSY) for _ in range(RATE // 2 + 5)]
        assert [reply.status for reply in replies] == [200] * (RATE // 2) + [429] * 5
        assert replies[-1].code == "too_many_requests"
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 7_200
        assert line.ask("/loans?county=Essex&race=White", BUSY).status == 429
        assert upstream.received == []
        assert line.ask("/loans?county=Essex&race=White", BOB).status == 200


def test_a_body_that_is_too_large_is_not_read(gateway, upstream):
    large = json.dumps({"county": "Essex", "q": "x" * LARGEST_BODY}).encode()
    reply = gateway.post(large)
    assert (reply.status, reply.code) == (413, "too_large")
    assert upstream.received == []
    fitting = json.dumps({"county": "Essex", "q": "x"}).encode().ljust(LARGEST_BODY)
    assert gateway.post(fitting).status == 200
    assert gateway.post(fitting + b" ").status == 413


def settled_metrics(gateway):
    """Return the metrics once they stay the same: what other tests asked is counted a moment later."""
    found = [gateway.metrics()]

    def is_settled():
        time.sleep(2 * COUNT_INTERVAL)  # counts are written this often
        found.append(gateway.metrics())
        return found[-1] == found[-2]

    until(is_settled, "the metrics settle")
    return found[-1]


def test_metrics_are_counted_on_a_port_of_their_own(gateway, upstream):  # noqa: ARG001
    assert gateway.ask("/metrics").status == 404
    before = settled_metrics(gateway)
    for _ in range(6):  # new connections, at whichever worker
        assert gateway.ask(county="Essex", race="Black").status == 200
    assert gateway.ask("/nowhere").status == 404
    more = {
        'incrowd_requests_total{route="/loans",status="200"}': 6,
        'incrowd_requests_total{route="other",status="404"}': 1,
        "incrowd_decisions_total": 6,
        "incrowd_cache_requests_total": 6,
    }
    gateway.until(  # a request is counted once it was answered
        lambda: {name: gateway.metrics()[name] - before[name] for name in more} == more, "all are counted"
    )


def test_the_log_is_json_without_values(gateway, upstream):  # noqa: ARG001
    reply = gateway.ask(county="Suffolk", email="somebody@example.com")
    gateway.until(lambda: reply.headers["incrowd-request"] in gateway.log, "the request is logged")
    (line,) = [event for event in gateway.events if event.get("request") == reply.headers["incrowd-request"]]
    assert set(line) == {"time", "level", "event", "request", "route", "status", "code", "ms"}
    assert (line["event"], line["route"], line["status"]) == ("request", "/loans", 200)
    for secret in ("Suffolk", "Norfolk", "Essex", "somebody", KEY, BOB, BUSY, hashed(KEY)):
        assert secret not in gateway.log


def incrowd(*words):
    return subprocess.run(
        [sys.executable, "-P", "-m", "incrowd", "gateway", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_check_says_what_can_be_protected(gateway, tmp_path):
    good = incrowd("--config", gateway.file, "--check")
    assert good.returncode == 0, good.stderr
    assert "income" in good.stdout
    bad = tmp_path / "bad.yaml"
    demanding = gateway.config["privacy"] | {"protect": ["income:l=900"]}
    bad.write_text(yaml.safe_dump(gateway.config | {"privacy": demanding}), "utf-8")
    result = CliRunner().invoke(cli, ["gateway", "--config", str(bad), "--check"])
    assert result.exit_code == 2
    assert "income" in result.output


def test_health_is_a_server_that_asks_for_a_certificate_and_not_a_free_port(gateway, tmp_path):
    """With TLS alone and without, it is seen in `test_connections.py`."""
    assert CliRunner().invoke(cli, ["gateway", "--config", str(gateway.file), "--health"]).exit_code == 0
    for number, listen in enumerate(
        ({**gateway.config["listen"], "port": free_port()}, {"port": free_port()})
    ):
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(gateway.config | {"listen": listen}), encoding="utf-8")
        stopped = CliRunner().invoke(cli, ["gateway", "--config", str(file), "--health", "--json"])
        assert (stopped.exit_code, json.loads(stopped.stdout)) == (1, {"alive": False})


def test_a_length_beside_chunks_cannot_hide_a_second_request(gateway, upstream):
    """It is refused, and the connection closed (RFC 9112, 6.1)."""
    head = b"POST /loans HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n"
    both = b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n12\r\n{"county": "Essex"}\r\n0\r\n\r\n'
    hidden = b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n"
    with gateway.tls.wrap_socket(
        socket.create_connection(("127.0.0.1", gateway.port)), server_hostname="127.0.0.1"
    ) as connection:
        connection.sendall(head + both + hidden)
        got = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert got.startswith(b"HTTP/1.1 400 ")
    assert got.count(b"HTTP/1.1 ") == 1
    assert b"alive" not in got
    assert upstream.received == []


@pytest.mark.parametrize("what", ["listen", "metrics"])
def test_a_port_in_use_is_said_in_one_line(folder, running, tmp_path, what):
    config = configuration(folder / "people.parquet", {"kind": "http", "url": running.url})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config[what] = {"port": taken.getsockname()[1]}
        file = tmp_path / "gateway.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        reply = incrowd("--config", file)
        checked = CliRunner().invoke(cli, ["gateway", "--config", str(file), "--check", "--json"])
    (line,) = [line for line in reply.stderr.splitlines() if not line.startswith("{")]
    assert "port" in line
    assert "Traceback" not in reply.stderr
    assert (reply.returncode, checked.exit_code) == (2, 2)
    assert [error.partition(":")[0] for error in json.loads(checked.stdout)["errors"]] == [what]


@pytest.fixture
def garbage(tmp_path):
    file = tmp_path / "garbage.pem"
    file.write_text("garbage", encoding="ascii")
    file.chmod(0o600)
    return str(file)


def written(folder, provider, **listen):
    config = configuration(folder / "people.parquet", provider)
    config["listen"] |= listen
    file = folder / "unusable.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file


def test_certificates_that_cannot_be_used_are_said_before_anything_starts(folder, garbage):
    plain = {"kind": "http", "url": "https://localhost/"}
    file = written(folder, plain, tls={"certificate": garbage, "key": garbage})
    with pytest.raises(BadInputError, match=r"^listen\.tls: "):
        run_gateway(file)
    (said,) = check(load_config(file), machine=True).errors
    assert said.startswith("listen.tls: ")
    with pytest.raises(BadInputError, match=r"providers\.loans: the provider's 'tls'"):
        run_gateway(written(folder, plain | {"tls": {"ca": garbage}}))


def test_a_worker_that_cannot_open_its_providers_does_not_serve(folder, garbage):
    """The server would run without it; so the worker is made to end, and another one is started."""
    config = load_config(
        written(folder, {"kind": "http", "url": "https://localhost/", "tls": {"ca": garbage}})
    )
    lines, sent = [], []

    async def start():
        state = unprepared(config, BadInputError("no table"))
        gateway = Gateway(state, Inbox(folder / "none"), GatewayMetrics(), EventLog("info", lines.append))

        async def receive():
            return {"type": "lifespan.startup"}

        async def send(message):
            sent.append(message["type"])

        await gateway({"type": "lifespan"}, receive, send)

    asyncio.run(start())
    assert sent == ["lifespan.startup.failed"]
    assert lines[-1].event == "worker_failed"


def test_a_missing_configuration_is_said_in_one_line(tmp_path):
    reply = incrowd("--config", tmp_path / "absent.yaml")
    assert reply.returncode == 2
    assert len(reply.stderr.splitlines()) == 1
    assert "absent.yaml" in reply.stderr


def test_the_demonstration_starts_answers_and_stops(tmp_path):
    port = free_port()
    command = [sys.executable, "-P", "-m", "incrowd", "gateway", "--demo", "--port", str(port)]
    with (tmp_path / "said").open("wb") as said, subprocess.Popen(command, stdout=said, stderr=said) as demo:
        try:
            reply = demo_answer(demo, port)
            demo.send_signal(signal.SIGINT)
            assert demo.wait(STOP_SECONDS) == 0
        finally:
            demo.kill()
    assert reply["answer"] == "exact"
    assert {row["county"] for row in reply["rows"]} == {"Essex"}
    words = (tmp_path / "said").read_text(encoding="utf-8")
    assert "the provider receives: " in words
    assert "Traceback" not in words


def demo_answer(demo, port):
    def look():
        assert demo.poll() is None, "the demonstration has ended"
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request(
                "GET", "/loans?county=Essex&race=Black&gender=Female", headers={"X-Api-Key": "demo"}
            )
            return json.load(connection.getresponse())
        return None

    return until(look, "the demonstration does not answer")


def test_a_signal_to_stop_lets_the_last_request_be_answered(gateway, upstream):
    """The last test of this gateway. An open connection without a request does not delay it."""
    upstream.steer("slow", seconds=2.0)
    replies = []
    sending = threading.Thread(target=lambda: replies.append(gateway.ask(county="Dukes")))
    with Line(gateway) as idle:
        assert idle.ask("/healthz").status == 200
        sending.start()
        gateway.until(lambda: upstream.received, "the request is under way")
        assert gateway.stop(seconds=STOP_SECONDS) == 0
    sending.join()
    assert replies[0].status == 200
    assert gateway.events[-1]["event"] == "stopped"
    assert not [line for line in gateway.events if line["event"] in {"failed", "uncaught"}]
