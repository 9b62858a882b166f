"""What tests in several rooms use: a clock set by hand, ports, waiting for something, and a silent listener."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from incrowd.release.files.digest import Digest
from incrowd.release.files.records import Record

__all__ = [
    "Clock",
    "Quiet",
    "digest_of",
    "free_port",
    "has_ended",
    "strings",
    "until",
    "until_async",
    "visible",
]

PATIENCE = 60.0
BETWEEN = 0.05
FIRST_CLIENT_PORT = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
Found = TypeVar("Found")


class Clock:
    """A clock that stands still unless a test sets `now`."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Quiet:
    """A progress listener that does nothing."""

    def step(self, name: str) -> None:
        pass

    def reading(self, done: int, total: int) -> None:
        pass


def free_port() -> int:
    """Return a port that nobody listens on, out of those that the system never gives to the client of a connection."""
    while True:
        port = random.randrange(10_000, FIRST_CLIENT_PORT)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def visible(directory: Path) -> set[str]:
    """Return the names in a directory, hidden ones too."""
    return {path.name for path in directory.iterdir()}


def has_ended(process: int) -> bool:
    """Tell whether a process has ended; one that nobody waits for stays in the table."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def strings(*texts: str | None) -> pa.Array:
    """Return texts as Arrow has them."""
    return pa.array(texts, pa.string())


def until(look: Callable[[], Found], what: str = "", seconds: float = PATIENCE) -> Found:
    """Wait until a look finds something true, and return it; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what or look}"
        time.sleep(BETWEEN)
    return found


async def until_async(look: Callable[[], Found], what: str = "", seconds: float = PATIENCE) -> Found:
    """Wait as `until` does, and let the event loop run meanwhile."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what or look}"
        await asyncio.sleep(BETWEEN)
    return found


def digest_of(records: Iterable[tuple[Record, int]]) -> Digest:
    """Return the sums over distinct records, each with how many rows share it."""
    digest = Digest()
    for record, size in records:
        digest.add(record, size)
    return digest
