"""A provider that answers with as much as a fetch may bring must neither fill the memory nor hold other people up."""

from __future__ import annotations

import contextlib
import http.client
import json
import socketserver
import threading
import time
from pathlib import Path

import pytest

from gateway.harness import RunningGateway, configuration
from gateway.small_town import people, provider, write_table

SIZE = 48_000_000
ROWS = {"empty": b"{}", "ordinary": json.dumps({**people()[0], "note": "some words of a note"}).encode()}
LONGEST_PAUSE = 0.4  # seconds, on a busy machine; decoding all at once takes 0.7 to 4
MOST_MEMORY = 200_000_000  # beside what the gateway takes anyway: the answer twice and its first 100,000 rows


class Provider(socketserver.ThreadingTCPServer):
    """Answers every request with the same body, over a connection that is then closed."""

    daemon_threads = True
    body = b""

    class RequestHandlerClass(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(self.server.body)}\r\n\r\n"
            with contextlib.suppress(OSError):
                self.wfile.write(head.encode())
                self.wfile.write(self.server.body)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """Yield a provider and a gateway before it."""
    folder = tmp_path_factory.mktemp("town")
    with Provider(("127.0.0.1", 0), Provider.RequestHandlerClass) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        with RunningGateway(
            folder, configuration(write_table(folder), provider(url, timeout="30s"))
        ) as gateway:
            yield server, gateway
        server.shutdown()


@pytest.mark.parametrize("kind", ROWS)
def test_a_large_answer_neither_fills_the_memory_nor_holds_others_up(town, kind):
    server, gateway = town
    row = ROWS[kind] + b","
    server.body = b'{"items":[' + row * (SIZE // len(row)) + ROWS[kind] + b"]}"
    before = peak_memory(gateway)
    with pauses(gateway) as seconds:
        reply = gateway.ask(county="Essex")
    assert reply.status == 502
    assert max(seconds) < LONGEST_PAUSE
    assert peak_memory(gateway) - before < MOST_MEMORY


@pytest.mark.parametrize("count", [1, 10_000])
def test_two_values_under_one_name_are_no_answer(town, count):
    server, gateway = town
    row = ROWS["ordinary"].replace(b'"note"', b'"county": "Dukes", "note"')
    server.body = b'{"items":[' + b",".join([row] * count) + b"]}"
    reply = gateway.ask(county="Essex")
    assert (reply.status, reply.code) == (502, "provider_error")
    assert "same name twice" in reply.json["error"]["message"]
    assert "Dukes" not in reply.body.decode()


@contextlib.contextmanager
def pauses(gateway):
    """Yield a list that fills with the times that /healthz takes, requested repeatedly meanwhile."""
    seconds, done = [], threading.Event()

    def look():
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
        with contextlib.closing(connection):
            while not done.is_set():
                begun = time.monotonic()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                seconds.append(time.monotonic() - begun)
                time.sleep(0.002)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seconds
    finally:
        done.set()
        thread.join()


def peak_memory(gateway):
    """Return the most memory that the worker has taken since the last call, in bytes."""
    (worker,) = gateway.workers
    status = Path(f"/proc/{worker}/status").read_text(encoding="utf-8")
    Path(f"/proc/{worker}/clear_refs").write_text("5", encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
