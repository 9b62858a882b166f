"""The load generator: sends requests over persistent connections, and counts the answers.

Run: python client.py '{"port": 1, "queries": "queries.json", "seconds": 10, "connections": 32, "rate": 0, "gateway": true}'
Prints a JSON object. With a rate of 0 each connection sends the next request as soon as it has an answer (closed loop); else
requests start at random times, with that rate per second, independently of earlier ones (open loop), and their time includes
waiting for a free connection.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import uvloop
from provider import rows_for

CHECK_EVERY = 50
"""One answer in so many is compared to the expected rows; the others only by status and ``"answer": "exact"``."""
PATIENCE = 10.0
"""Seconds for the last answers."""
TICK = 0.001
LENGTH = b"content-length: "


@dataclass(frozen=True)
class PreparedQuery:
    """A query and the bytes of its request."""

    raw: bytes
    query: dict[str, str]


class Load:
    """All connections together."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        queries = json.loads(Path(settings["queries"]).read_text(encoding="utf-8"))
        self._queries = cycle([PreparedQuery(each["raw"].encode(), each["query"]) for each in queries])
        self._gateway = settings["gateway"]
        self._times: list[float] = []
        self._problems: Counter[str] = Counter()
        self._idle: deque[Connection] = deque()
        self._waiting: deque[float] = deque()
        self._connections: list[Connection] = []
        self._checked = 0
        self._going = True

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        for _ in range(self._settings["connections"]):
            _, connection = await loop.create_connection(
                lambda: Connection(self), "127.0.0.1", self._settings["port"]
            )
            self._connections.append(connection)
        started = time.perf_counter()
        await (
            self._at_rate(self._settings["rate"]) if self._settings["rate"] else self._as_fast_as_possible()
        )
        self._going = False
        seconds = time.perf_counter() - started
        answered = len(self._times)
        await self._finish()
        return self._report(answered / seconds)

    async def _as_fast_as_possible(self) -> None:
        for connection in self._connections:
            connection.ask(next(self._queries), time.perf_counter())
        await asyncio.sleep(self._settings["seconds"])

    async def _at_rate(self, rate: float) -> None:
        self._idle.extend(self._connections)
        chance = random.Random(0)
        now = due = time.perf_counter()
        end = now + self._settings["seconds"]
        while now < end:
            while due <= now:
                self._waiting.append(now)
                due += chance.expovariate(rate)
            self._send_waiting()
            await asyncio.sleep(TICK)
            now = time.perf_counter()

    def _send_waiting(self) -> None:
        while self._waiting and self._idle:
            self._idle.popleft().ask(next(self._queries), self._waiting.popleft())

    async def _finish(self) -> None:
        """Wait for the last answers; requests without one are counted as unanswered."""
        end = time.perf_counter() + PATIENCE
        while time.perf_counter() < end and any(each.prepared for each in self._connections):  # noqa: ASYNC110
            await asyncio.sleep(TICK)
        self._problems["unanswered"] += sum(each.prepared is not None for each in self._connections)
        for connection in self._connections:
            connection.close()

    def answered(
        self, connection: Connection, prepared: PreparedQuery, started: float, answer: bytes
    ) -> None:
        now = time.perf_counter()
        self._times.append(now - started)
        self._judge(prepared, answer)
        if not self._going:
            return
        if not self._settings["rate"]:
            connection.ask(next(self._queries), now)
            return
        self._idle.append(connection)
        self._send_waiting()

    def lost(self) -> None:
        self._problems["lost"] += 1

    def _judge(self, prepared: PreparedQuery, answer: bytes) -> None:
        status = answer[9:12].decode()
        if status != "200":
            self._problems[status] += 1
        elif self._gateway and b'"answer":"exact"' not in answer:
            self._problems["not exact"] += 1
        elif len(self._times) % CHECK_EVERY == 0:
            self._checked += 1
            self._problems["wrong"] += not self._is_right(prepared.query, answer.partition(b"\r\n\r\n")[2])

    def _is_right(self, query: dict[str, str], body: bytes) -> bool:
        answer = json.loads(body)
        if not self._gateway:
            return bool(answer["items"] == rows_for(query))
        found = rows_for(answer["privacy"]["sent"])
        right = [row for row in found if all(row.get(name, value) == value for name, value in query.items())]
        return bool(answer["rows"] == right and answer["total"] == len(right))

    def _report(self, rate: float) -> dict[str, Any]:
        times = sorted(self._times)
        return {
            "requests": len(times),
            "rate": rate,
            "problems": {name: count for name, count in self._problems.items() if count},
            "checked": self._checked,
            **{f"p{share}": 1e3 * times[len(times) * share // 100] for share in (50, 99) if times},
        }


class Connection(asyncio.Protocol):
    """One connection, with at most one request in flight."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._answer = b""
        self._started = 0.0
        self.prepared: PreparedQuery | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]

    def ask(self, prepared: PreparedQuery, started: float) -> None:
        self.prepared, self._started = prepared, started
        self._transport.write(prepared.raw)

    def data_received(self, data: bytes) -> None:
        self._answer = answer = self._answer + data
        head = answer.find(b"\r\n\r\n")
        if head < 0:
            return
        place = answer.find(LENGTH) + len(LENGTH)
        length = int(answer[place : answer.index(b"\r", place)])
        prepared = self.prepared
        if len(answer) >= head + 4 + length and prepared:
            self._answer, self.prepared = b"", None
            self._load.answered(self, prepared, self._started, answer)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.prepared:
            self._load.lost()

    def close(self) -> None:
        self._transport.close()


if __name__ == "__main__":
    print(json.dumps(uvloop.run(Load(json.loads(sys.argv[1])).run())))
