"""Connections that send nothing, or very little, do not keep other clients from being answered."""

from __future__ import annotations

import contextlib
import fcntl
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest

from gateway.harness import KEY
from gateway.providers.test_tls import papers
from gateway.small_town import open_town
from helpers import free_port
from incrowd.gateway.config.config import load_config
from incrowd.gateway.config.settings import Listen
from incrowd.gateway.ops.health import is_alive
from incrowd.gateway.server.connections import (
    DESCRIPTORS,
    Connection,
    Limits,
    connections_to,
    limits_of,
    superfluous,
    too_few_descriptors,
    unread,
)

__all__ = ["papers"]  # a fixture is found by its name here

IDLE = 5_000
PROMPTLY = 5.0  # seconds: half of what silent connections have, so nobody waited for their end
HERE = "127.0.0.1"
HEAD = b"GET /healthz HTTP/1.1\r\nHost: here\r\n"
BODY = f"POST /loans HTTP/1.1\r\nHost: here\r\nX-Api-Key: {KEY}\r\nContent-Length: 20\r\n\r\n{{".encode()


@pytest.fixture(autouse=True, scope="module")
def _descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < IDLE + 1_000:
        pytest.skip("this process may not have enough descriptors; raise ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def crowd(port, count, says=b""):
    """Open connections and leave them alone."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(begun(port, says)) for _ in range(count)]


def begun(port, says=b""):
    connection = socket.socket()
    connection.setblocking(bool(says))
    with contextlib.suppress(BlockingIOError):
        connection.connect((HERE, port))
    if says:
        connection.sendall(says)
    return connection


def answered_promptly(gateway):
    started = time.monotonic()
    assert gateway.ask("/healthz", key=None).status == 200
    assert gateway.ask(county="Essex").status == 200
    assert time.monotonic() - started < PROMPTLY


def is_over(connection):
    """Tell whether the other side has ended a connection, in time."""
    connection.settimeout(PROMPTLY)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_thousands_of_idle_connections_do_not_keep_requests_from_being_answered(tmp_path):
    """Half of them say nothing, half do not end their head or their body; a request that takes long is none of them."""
    with open_town(tmp_path, metrics={"port": free_port()}) as (gateway, upstream):
        check_crowded(gateway, upstream)


def check_crowded(gateway, upstream):
    closed = 'incrowd_connections_closed_total{reason="address"}'
    before, replies = gateway.metrics()[closed], []
    upstream.steer("slow", seconds=2.5)
    slow = threading.Thread(target=lambda: replies.append(gateway.ask(county="Dukes")))
    slow.start()
    gateway.until(lambda: upstream.received, "a request is under way")
    upstream.steer()
    with (
        crowd(gateway.port, IDLE // 2) as idle,
        crowd(gateway.port, IDLE // 10, HEAD),
        crowd(gateway.port, IDLE * 4 // 10, BODY),
    ):
        answered_promptly(gateway)
        assert is_alive(load_config(gateway.file).listen)
        gateway.until(lambda: gateway.metrics()[closed] - before >= 0.75 * IDLE, "most are closed")
        answered_promptly(gateway)
        assert is_over(idle[0])
        slow.join()
    assert replies[0].status == 200  # it was silent as long as they were
    assert gateway.metrics()["incrowd_connections_open"] >= 1
    gateway.wait_for_event("connections_closed")


@pytest.fixture(scope="module")
def secure(tmp_path_factory, papers):
    certificate, key = map(str, papers["server"])
    listen = {
        "port": free_port(),
        "head_timeout": "500ms",
        "connections_per_address": IDLE,
        "tls": {"certificate": certificate, "key": key},
    }
    with open_town(tmp_path_factory.mktemp("secure"), listen=listen) as (gateway, _):
        yield gateway


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01\x02\x00\x01"])
def test_thousands_of_handshakes_that_do_not_end(secure, says):
    with crowd(secure.port, IDLE // 2, says):
        answered_promptly(secure)
        assert is_alive(load_config(secure.file).listen)


@pytest.mark.parametrize("says", [b"", HEAD, HEAD + b"\r\n"], ids=["nothing", "half a head", "one request"])
def test_a_connection_without_a_request_ends(secure, says):
    with _secured(secure) as connection:
        connection.sendall(says)
        if says.endswith(b"\r\n\r\n"):
            assert connection.recv(10_000).startswith(b"HTTP/1.1 200")
        assert is_over(connection)


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(secure):
    with _secured(secure) as connection:
        with contextlib.suppress(OSError):
            for byte in HEAD:
                connection.sendall(bytes([byte]))
                time.sleep(0.03)
        assert is_over(connection)


def test_http_2_is_not_spoken(secure):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    with context.wrap_socket(socket.create_connection((HERE, secure.port))) as connection:
        assert connection.selected_alpn_protocol() != "h2"


def _secured(gateway):
    return gateway.tls.wrap_socket(socket.create_connection((HERE, gateway.port)))


def test_looking_finds_connections_and_lets_no_lock_on_a_file_go(tmp_path):
    """A process that closes any descriptor of a file loses its locks on it: the ledger would be open to others."""
    attempt = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'ab'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    file = tmp_path / "ledger"
    with file.open("ab") as ours, socket.create_server((HERE, 0)) as server:
        fcntl.lockf(ours, fcntl.LOCK_EX)
        with socket.create_connection(server.getsockname()) as there, server.accept()[0]:
            before = len(list(DESCRIPTORS.iterdir()))
            (only,) = connections_to(server.getsockname()[1])
            assert only.peer == there.getsockname()
            assert len(list(DESCRIPTORS.iterdir())) == before
        other = subprocess.run([sys.executable, "-c", attempt, str(file)], capture_output=True, check=False)
    assert b"BlockingIOError" in other.stderr


def found(**silent):
    """Return connections by their addresses, each silent for so many seconds."""
    return [
        Connection(number, (address.replace("_", ":"), number), seconds)
        for address, all_seconds in silent.items()
        for number, seconds in enumerate(all_seconds)
    ]


def ports(those):
    return [(each.peer[0], each.peer[1]) for each in those]


def test_the_longest_silent_of_an_address_are_too_many_and_never_who_is_answered():
    those = found(a__1=[5, 9, 0.5, 7, 8], b__1=[99])
    chosen = superfluous(those, {("a::1", 1)}, Limits(1_000, 3))
    assert ports(chosen["address"]) == [("a::1", 4), ("a::1", 3)]
    assert chosen["total"] == []


def test_an_answer_that_is_not_read_is_noticed():
    with socket.create_server((HERE, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((HERE, port)) as there, server.accept()[0] as here:
            assert [each.waiting for each in connections_to(port)] == [0]
            here.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                while True:
                    here.send(b"x" * 1_000_000)
            (stuck,) = connections_to(port)
            assert stuck.waiting > 0
            assert there.recv(1) == b"x"
    assert unread([stuck]) == []  # it may still be read
    late = stuck._replace(silent=30.0)
    assert unread([late, late._replace(waiting=0)]) == [late]


def test_new_connections_stay_even_if_there_are_too_many():
    chosen = superfluous(found(a__1=[0.1] * 20), set(), Limits(10, 3))
    assert chosen == {"address": [], "total": []}


def test_a_network_of_64_bits_is_one_address():
    those = found(a__1=[5], a__2=[6], a_0_0_1__1=[7])
    assert ports(superfluous(those, set(), Limits(1_000, 1))["address"]) == [("a::2", 0)]


@pytest.mark.parametrize(("count", "closed"), [(90, 0), (95, 5), (100, 50)])
def test_in_all_a_tenth_is_kept_free_and_half_once_others_wait(count, closed):
    those = [Connection(number, (f"10.0.0.{number}", 1), 1 + number) for number in range(count)]
    chosen = superfluous(those, set(), Limits(100, 10))
    assert chosen["address"] == []
    assert chosen["total"] == those[::-1][:closed]


@pytest.mark.parametrize(
    ("workers", "descriptors", "expected"),
    [(1, 99_999, (1_000, 101)), (4, 99_999, (250, 26)), (1, 600, (88, 101))],
)
def test_workers_share_connections_within_the_limit_of_descriptors(workers, descriptors, expected):
    listen = Listen(workers=workers, connections=1_000, connections_per_address=101)
    limits = limits_of(listen, descriptors)
    assert limits == expected
    assert bool(too_few_descriptors(listen, limits)) is (descriptors == 600)
