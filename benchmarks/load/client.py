"""The load: asks over connections that stay open, and counts what comes back.

Run: python client.py '{"port": 1, "questions": "questions.json", "seconds": 10, "connections": 32, "rate": 0, "gateway": true}'
Prints a JSON object. With a rate of 0 each connection asks again as soon as it was answered (closed loop); else requests
start at random moments, so many a second, whatever becomes of those before (open loop), and their time counts from
that moment, waiting for a free connection included.
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
"""Of how many answers one is held against the right one; the others only by status and ``"answer": "exact"``."""
PATIENCE = 10.0
"""Seconds for the last answers."""
TICK = 0.001
LENGTH = b"content-length: "


@dataclass(frozen=True)
class Question:
    """What is asked, ready to be sent."""

    raw: bytes
    query: dict[str, str]


class Load:
    """All connections together."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        asked = json.loads(Path(settings["questions"]).read_text(encoding="utf-8"))
        self._questions = cycle([Question(each["raw"].encode(), each["query"]) for each in asked])
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
            connection.ask(next(self._questions), time.perf_counter())
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
            self._idle.popleft().ask(next(self._questions), self._waiting.popleft())

    async def _finish(self) -> None:
        """Wait for the last answers; who gets none by then has waited in vain."""
        end = time.perf_counter() + PATIENCE
        while time.perf_counter() < end and any(each.question for each in self._connections):  # noqa: ASYNC110
            await asyncio.sleep(TICK)
        self._problems["unanswered"] += sum(each.question is not None for each in self._connections)
        for connection in self._connections:
            connection.close()

    def answered(self, connection: Connection, question: Question, started: float, answer: bytes) -> None:
        now = time.perf_counter()
        self._times.append(now - started)
        self._judge(question, answer)
        if not self._going:
            return
        if not self._settings["rate"]:
            connection.ask(next(self._questions), now)
            return
        self._idle.append(connection)
        self._send_waiting()

    def lost(self) -> None:
        self._problems["lost"] += 1

    def _judge(self, question: Question, answer: bytes) -> None:
        status = answer[9:12].decode()
        if status != "200":
            self._problems[status] += 1
        elif self._gateway and b'"answer":"exact"' not in answer:
            self._problems["not exact"] += 1
        elif len(self._times) % CHECK_EVERY == 0:
            self._checked += 1
            self._problems["wrong"] += not self._is_right(question.query, answer.partition(b"\r\n\r\n")[2])

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
    """One connection; it has at most one question under way."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._answer = b""
        self._started = 0.0
        self.question: Question | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]

    def ask(self, question: Question, started: float) -> None:
        self.question, self._started = question, started
        self._transport.write(question.raw)

    def data_received(self, data: bytes) -> None:
        self._answer = answer = self._answer + data
        head = answer.find(b"\r\n\r\n")
        if head < 0:
            return
        place = answer.find(LENGTH) + len(LENGTH)
        length = int(answer[place : answer.index(b"\r", place)])
        question = self.question
        if len(answer) >= head + 4 + length and question:
            self._answer, self.question = b"", None
            self._load.answered(self, question, self._started, answer)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.question:
            self._load.lost()

    def close(self) -> None:
        self._transport.close()


if __name__ == "__main__":
    print(json.dumps(uvloop.run(Load(json.loads(sys.argv[1])).run())))
