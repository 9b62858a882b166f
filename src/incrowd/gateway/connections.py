"""Connections of people: how many there may be, in all and of one address, and which end when there are too many.

The server ends a connection by itself when the head of a request does not come in time. That bounds how long a silent
connection stays, not how many there are. So a thread of each worker looks at them: of those that are not being
answered, the ones that we sent something to the longest time ago are closed first. A client that gets
answers is thereby preferred to one that is silent, and to one that sends a byte now and then. A client that does not
read its answer for long loses its connection in any case: the answer would stay in memory.

What is looked at are duplicates of the process's descriptors: one that was closed and used again meanwhile has
another peer, and is left alone.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
import struct
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from incrowd.gateway.exchange import Client
from incrowd.gateway.journal import Journal
from incrowd.gateway.settings import Listen
from incrowd.gateway.watch import Watch

if sys.platform != "win32":
    import fcntl
    import resource
    import termios

__all__ = [
    "Connection",
    "Connections",
    "Limits",
    "limits_of",
    "most_descriptors",
    "superfluous",
    "too_few_descriptors",
    "unread",
]

Peer = tuple[str, int]

DESCRIPTORS = Path("/proc/self/fd")
RESERVED = 512
"""Descriptors that a worker keeps for files, providers and itself."""
LOOK_INTERVAL = 1.0
BUSY_INTERVAL = 0.25
SELDOM = 10  # looks: with few connections they are only counted, and not every time
NEW = 1.0  # seconds in which a connection may well be silent
UNREAD = 30.0  # seconds in which a client must read something of its answer
FREE_SHARE = 10  # a tenth is kept free for who comes next
LOG_INTERVAL = 60.0
_WAITING = struct.Struct("=i")
_LAST_DATA_SENT = struct.Struct("=44xI")  # of the kernel's tcp_info, in milliseconds


class Limits(NamedTuple):
    """The most connections of one worker: in all, and of one address."""

    in_all: int
    of_one: int


class Connection(NamedTuple):
    """A connection: its descriptor, its other end, the seconds since something was last sent there (or it began).

    `waiting` are the bytes that were sent and that the other end has not taken.
    """

    descriptor: int
    peer: Peer
    silent: float
    waiting: int = 0


def most_descriptors() -> int:
    """Let this process and those it starts have as many descriptors as it may; return how many."""
    if sys.platform == "win32":
        return 8192
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # where the system has a lower limit than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def limits_of(listen: Listen, descriptors: int) -> Limits:
    """Return a worker's share of the connections, as far as it has descriptors for them."""
    share = max(1, listen.connections // listen.workers)
    of_one = -(-listen.connections_per_address // listen.workers)
    return Limits(max(1, min(share, descriptors - RESERVED)), of_one)


def too_few_descriptors(listen: Listen, limits: Limits) -> str:
    """Say that a process may not have as many descriptors as its connections need; nothing if it may."""
    if limits.in_all >= listen.connections // listen.workers:
        return ""
    return (
        f"listen.connections: a process may not have enough descriptors for {listen.connections:,} in {listen.workers} "
        f"worker(s), so each takes {limits.in_all:,}; raise the limit (ulimit -n, LimitNOFILE)"
    )


def superfluous(
    found: Sequence[Connection], answering: Collection[Peer], limits: Limits
) -> dict[str, list[Connection]]:
    """Choose the connections to close, by the reason: too many of one address, or too many in all.

    Parameters
    ----------
    found
        All connections.
    answering
        The other ends of those whose request is being answered; they stay.
    limits
        How many there may be. In all, a tenth less is aimed at, so that there is room for who comes next; once there
        are so many that others are kept waiting, half.
    """
    idle = [each for each in found if each.peer not in answering and each.silent >= NEW]
    idle.sort(key=lambda each: each.silent, reverse=True)
    surplus: defaultdict[str, int] = defaultdict(lambda: -limits.of_one)
    for each in found:
        surplus[_origin(each.peer[0])] += 1
    crowded: list[Connection] = []
    others: list[Connection] = []
    for each in idle:
        origin = _origin(each.peer[0])
        (crowded if surplus[origin] > 0 else others).append(each)
        surplus[origin] -= 1
    aim = limits.in_all // 2 if len(found) >= limits.in_all else limits.in_all - limits.in_all // FREE_SHARE
    return {"address": crowded, "total": others[: max(0, len(found) - len(crowded) - aim)]}


def unread(found: Sequence[Connection]) -> list[Connection]:
    """Choose the connections whose clients have not read on in their answer for long."""
    return [each for each in found if each.waiting and each.silent >= UNREAD]


class Connections:
    """Closes connections of people when there are too many.

    Parameters
    ----------
    answering
        The other ends of the connections whose requests are being answered, as the server names them.
    port, limits
        Where people connect, and how many connections there may be.
    watch, journal
        Where what was closed is counted and logged.
    """

    def __init__(
        self, answering: Collection[Client], port: int, limits: Limits, watch: Watch, journal: Journal
    ) -> None:
        self._clients = answering
        self._port = port
        self._limits = limits
        self._watch = watch
        self._journal = journal
        self._logged = 0.0

    @property
    def _answering(self) -> set[Peer]:
        """The other ends of the connections whose requests are being answered now."""
        # A copy at one go; the server writes ports as text.
        return {(host, int(port)) for host, port in tuple(self._clients)}

    def guard(self) -> None:
        """Start the thread that looks; where the system does not show a process its descriptors, there is none."""
        if DESCRIPTORS.is_dir():
            threading.Thread(target=self._look_on, name="connections", daemon=True).start()

    def _look_on(self) -> None:
        few = min(self._limits.in_all, self._limits.of_one) // 2
        looks, closed = 0, 0
        while True:
            time.sleep(BUSY_INTERVAL if closed else LOOK_INTERVAL)
            looks += 1
            try:
                many = len(os.listdir(DESCRIPTORS)) > few  # noqa: PTH208 - it makes no objects
                closed = self._look() if many or looks % SELDOM == 0 else 0
            except Exception as error:  # noqa: BLE001 - else nobody would look any more
                self._journal.failure("connections_failed", error)

    def _look(self) -> int:
        """Close what is too much; return how many that were."""
        found = list(connections_to(self._port))
        stuck = unread(found)
        others = list(set(found).difference(stuck))
        chosen = {"unread": stuck, **superfluous(others, self._answering, self._limits)}
        closed = {reason: sum(map(self._close, those)) for reason, those in chosen.items()}
        count = sum(closed.values())
        self._watch.connections(len(found) - count, closed)
        if count and time.monotonic() > self._logged + LOG_INTERVAL:
            self._logged = time.monotonic()
            self._journal.warning(
                "connections_closed",
                count=count,
                reason="too many, see listen.connections and listen.connections_per_address, or an answer is not read",
            )
        return count

    def _close(self, connection: Connection) -> bool:
        """Close a connection, unless it is another one by now or is being answered."""
        with suppress(OSError), _duplicate(connection.descriptor) as its:
            if its.getpeername()[:2] == connection.peer and connection.peer not in self._answering:
                its.shutdown(socket.SHUT_RDWR)
                return True
        return False


def connections_to(port: int) -> Iterator[Connection]:
    """Find this process's connections to a port of its own."""
    for name in os.listdir(DESCRIPTORS):  # noqa: PTH208 - it makes no objects
        # Whatever is no connection, or not any more, says so by an error.
        with suppress(OSError), _duplicate(int(name)) as its:
            here = its.getsockname()
            if isinstance(here, tuple) and here[1] == port:
                peer = its.getpeername()[:2]
                silent = _LAST_DATA_SENT.unpack(
                    its.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_SENT.size)
                )[0]
                waiting = _WAITING.unpack(fcntl.ioctl(its, termios.TIOCOUTQ, bytes(_WAITING.size)))[0]
                yield Connection(int(name), peer, silent / 1000, waiting)


@contextmanager
def _duplicate(descriptor: int) -> Iterator[socket.socket]:
    """Open a socket's descriptor once more; what happens to the first one meanwhile does not matter then.

    A file must not be opened and closed this way: with any descriptor that a process closes, it gives up all its
    locks on that file, and the ledger lives by them. So it is looked at first; and if it has become a file in that
    very moment, the duplicate stays open.
    """
    if not os.readlink(f"{DESCRIPTORS}/{descriptor}").startswith("socket:"):  # noqa: PTH115 - as above
        raise OSError(errno.ENOTSOCK, "not a socket")
    duplicate = os.dup(descriptor)
    if not stat.S_ISSOCK(os.fstat(duplicate).st_mode):
        raise OSError(errno.ENOTSOCK, "not a socket any more")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=duplicate) as its:
        yield its


@lru_cache(10_000)
def _origin(host: str) -> str:
    """Return what counts as one address: in IPv6 the network of 64 bits, which one machine usually has whole."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
