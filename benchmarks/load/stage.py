"""The servers of a measurement, each in its own process, on the loopback interface only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as pq
import yaml
from provider import VALUES

from incrowd.gateway.ops.ledgers import init_ledger
from incrowd.generalizer.synthetic import synthetic_loans

HERE = Path(__file__).parent
TABLE_ROWS = 66_270
PATIENCE = 60.0
PEOPLE = 50


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def key_of(person: int) -> str:
    return f"the key of person {person}"


@dataclass
class Stage:
    """The environment of a measurement.

    Parameters
    ----------
    folder
        A directory for the auxiliary table, configurations and logs.
    """

    folder: Path
    provider_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        pq.write_table(synthetic_loans(TABLE_ROWS), self.folder / "people.parquet")

    @contextlib.contextmanager
    def provider(self) -> Iterator[None]:
        command = [sys.executable, str(HERE / "provider.py"), str(self.provider_port)]
        with _running(command, self.folder / "provider.log", self.provider_port):
            yield

    @contextlib.contextmanager
    def proxy(self, client: str = "aiohttp") -> Iterator[Server]:
        """Start a proxy that uses aiohttp, or the gateway's own connections."""
        port = free_port()
        command = [sys.executable, str(HERE / "proxy.py"), str(port), self._url, client]
        with _running(command, self.folder / "proxy.log", port) as process:
            yield Server(port, process, gateway=False)

    @contextlib.contextmanager
    def gateway(self, *, people: int = PEOPLE, **changes: Any) -> Iterator[Server]:
        """Start a gateway with default settings: log at info, metrics on. `changes` are parts of its configuration."""
        port = free_port()
        file = self.folder / f"gateway-{port}.yaml"
        file.write_text(yaml.safe_dump(self._config(port, people) | changes), encoding="utf-8")
        if "ledger" in changes and not (self.folder / changes["ledger"]["file"]).exists():
            init_ledger(file)
        command = [sys.executable, "-P", "-m", "incrowd", "gateway", "--config", str(file)]
        with _running(command, self.folder / "gateway.log", port) as process:
            _wait_until_ready(port)
            yield Server(port, process, gateway=True)

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self.provider_port}/loans"

    def _config(self, port: int, people: int) -> dict[str, Any]:
        return {
            "listen": {"port": port},
            "metrics": {"port": free_port()},
            "log": "info",
            "table": {"file": "people.parquet"},
            "privacy": {"protect": ["income:l=5"], "secret": "a secret for measurements"},
            "people": [
                {"name": f"person {each}", "key_sha256": hashlib.sha256(key_of(each).encode()).hexdigest()}
                for each in range(people)
            ],
            "providers": {"loans": {"kind": "http", "url": self._url, "rows": "/items"}},
            "routes": [
                {
                    "path": "/loans",
                    "provider": "loans",
                    "parameters": dict.fromkeys(("income", *VALUES), "quasi") | {"q": "passthrough"},
                    "sort": ["loan"],
                }
            ],
        }

    def queries(self, count: int, *, people: int = PEOPLE, wide: bool = False, own: bool = False) -> Path:
        """Write queries of one to three attributes, by all people in turn; return the file.

        Parameters
        ----------
        count
            How many; they are sent in order, and then repeated.
        people
            The number of people.
        wide
            Add a passthrough number that differs each time, so that no query is repeated.
        own
            Queries are about the person: an attribute always has the same value.
        """
        chance = random.Random(0)
        queries = []
        for place in range(count):
            names = chance.sample(list(VALUES), chance.randint(1, 3))
            whose = random.Random(place % people) if own else chance
            values = {name: whose.choice(VALUES[name]) for name in (VALUES if own else names)}
            query = {name: values[name] for name in names}
            if wide:
                query["q"] = str(place)
            head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {key_of(place % people)}"
            raw = f"GET /loans?{urlencode(query)} HTTP/1.1\r\n{head}\r\n\r\n"
            queries.append({"raw": raw, "query": query})
        file = self.folder / f"queries-{count}-{people}-{own}.json"
        file.write_text(json.dumps(queries), encoding="utf-8")
        return file


@dataclass(frozen=True)
class Server:
    """A server and its processes."""

    port: int
    process: subprocess.Popen[bytes]
    gateway: bool

    def load(
        self, queries: Path, seconds: float, *, rate: float = 0, connections: int = 32
    ) -> dict[str, Any]:
        """Send requests for some seconds; return the load generator's counts, and the server's CPU time per request."""
        before = self.cpu_seconds()
        with self.start_load(queries, seconds, rate=rate, connections=connections) as client:
            output, _ = client.communicate(timeout=seconds + PATIENCE)
        result = self.read(output)
        return result | {"cpu_us": 1e6 * (self.cpu_seconds() - before) / max(result["requests"], 1)}

    def start_load(
        self, queries: Path, seconds: float, *, rate: float = 0, connections: int = 32
    ) -> subprocess.Popen[bytes]:
        settings = {
            "port": self.port,
            "queries": str(queries),
            "seconds": seconds,
            "connections": connections,
            "rate": rate,
            "gateway": self.gateway,
        }
        command = [sys.executable, str(HERE / "client.py"), json.dumps(settings)]
        return subprocess.Popen(command, stdout=subprocess.PIPE)

    @staticmethod
    def read(output: bytes) -> dict[str, Any]:
        """Read what the load generator printed."""
        result: dict[str, Any] = json.loads(output)
        return result

    @property
    def pids(self) -> list[int]:
        """The parent and its children; the worker is the largest of them."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(
            encoding="ascii"
        )
        return [self.process.pid, *map(int, listed.split())]

    @property
    def worker(self) -> int:
        return max(self.pids[1:], key=resident_bytes)

    def cpu_seconds(self) -> float:
        return sum(_cpu_seconds(pid) for pid in self.pids)


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _running(command: Sequence[str], log: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_for_port(port, process, log)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{log.stem} did not start:\n{log.read_text(encoding='utf-8')}")


def _wait_until_ready(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
        answer.read()
