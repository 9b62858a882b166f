"""Limits on clients' connections, in total and per address, and which ones are closed when there are too many.

The server itself closes a connection when the head of a request does not arrive in time. That limits how long a silent
connection stays, not how many there are. So a thread of each worker checks them: of the connections without a request
in flight, those to which nothing was sent for the longest time are closed first. Clients that get answers are thereby
preferred to silent ones, and to those that send a byte now and then. A client that does not read its answer for long is
disconnected in any case, since the answer would stay in memory.

The thread works on duplicates of the process's descriptors: a descriptor that was closed and reused meanwhile has another
peer, and is not touched.
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

from incrowd.gateway.config.settings import Listen
from incrowd.gateway.ops.log import EventLog
from incrowd.gateway.ops.metrics import GatewayMetrics
from incrowd.gateway.requests.exchange import Client

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
"""Descriptors that a worker reserves for files, providers and itself."""
LOOK_INTERVAL = 1.0
BUSY_INTERVAL = 0.25
SELDOM = 10  # checks: few connections are only counted, and not every time
NEW = 1.0  # seconds for which a new connection may be silent
UNREAD = 30.0  # seconds within which a client must read some of its answer
FREE_SHARE = 10  # a tenth is kept free for new connections
LOG_INTERVAL = 60.0
_WAITING = struct.Struct("=i")
_LAST_DATA_SENT = struct.Struct("=44xI")  # of the kernel's tcp_info, in milliseconds


class Limits(NamedTuple):
    """The most connections of one worker: in total, and per address."""

    in_all: int
    of_one: int


class Connection(NamedTuple):
    """A connection: its descriptor, its peer, the seconds since data was last sent (or since it was opened).

    `waiting` are the bytes that were sent and that the peer has not acknowledged.
    """

    descriptor: int
    peer: Peer
    silent: float
    waiting: int = 0


def most_descriptors() -> int:
    """Raise the limit of descriptors of this process and its children as far as possible; return the limit."""
    if sys.platform == "win32":
        return 8192
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # where the system's limit is lower than it reports
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def limits_of(listen: Listen, descriptors: int) -> Limits:
    """Return a worker's share of the connections, as far as it has descriptors for them."""
    share = max(1, listen.connections // listen.workers)
    of_one = -(-listen.connections_per_address // listen.workers)
    return Limits(max(1, min(share, descriptors - RESERVED)), of_one)


def too_few_descriptors(listen: Listen, limits: Limits) -> str:
    """Return a warning if a process may not have as many descriptors as its connections need; else ""."""
    if limits.in_all >= listen.connections // listen.workers:
        return ""
    return (
        f"listen.connections: a process may not have enough descriptors for {listen.connections:,} in {listen.workers} "
        f"worker(s), so each takes {limits.in_all:,}; raise the limit (ulimit -n, LimitNOFILE)"
    )


def superfluous(
    found: Sequence[Connection], answering: Collection[Peer], limits: Limits
) -> dict[str, list[Connection]]:
    """Choose the connections to close, by reason: too many of one address, or too many in total.

    Parameters
    ----------
    found
        All connections.
    answering
        The peers with a request in flight; their connections stay.
    limits
        The limits. The target for the total is a tenth less, so that there is room for new connections; once the limit is
        reached, it is half.
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
    """Choose the connections whose clients have not read any of their answer for long."""
    return [each for each in found if each.waiting and each.silent >= UNREAD]


class Connections:
    """Closes clients' connections when there are too many.

    Parameters
    ----------
    answering
        The clients with a request in flight, as the server names them.
    port, limits
        The port that clients connect to, and the limits.
    meters, event_log
        The metrics and the log.
    """

    def __init__(
        self,
        answering: Collection[Client],
        port: int,
        limits: Limits,
        meters: GatewayMetrics,
        event_log: EventLog,
    ) -> None:
        self._clients = answering
        self._port = port
        self._limits = limits
        self._meters = meters
        self._event_log = event_log
        self._logged = 0.0

    @property
    def _answering(self) -> set[Peer]:
        """The peers with a request in flight now."""
        # An atomic copy; the server gives ports as text.
        return {(host, int(port)) for host, port in tuple(self._clients)}

    def start(self) -> None:
        """Start the thread; on systems without /proc/self/fd there is none."""
        if DESCRIPTORS.is_dir():
            threading.Thread(target=self._run, name="connections", daemon=True).start()

    def _run(self) -> None:
        few = min(self._limits.in_all, self._limits.of_one) // 2
        looks, closed = 0, 0
        while True:
            time.sleep(BUSY_INTERVAL if closed else LOOK_INTERVAL)
            looks += 1
            try:
                many = len(os.listdir(DESCRIPTORS)) > few  # noqa: PTH208 - it makes no objects
                closed = self._close_superfluous() if many or looks % SELDOM == 0 else 0
            except Exception as error:  # noqa: BLE001 - else the thread would end
                self._event_log.failure("connections_failed", error)

    def _close_superfluous(self) -> int:
        """Close connections that are too many or unread; return how many."""
        found = list(connections_to(self._port))
        stuck = unread(found)
        others = list(set(found).difference(stuck))
        chosen = {"unread": stuck, **superfluous(others, self._answering, self._limits)}
        closed = {reason: sum(map(self._close, those)) for reason, those in chosen.items()}
        count = sum(closed.values())
        self._meters.connections(len(found) - count, closed)
        if count and time.monotonic() > self._logged + LOG_INTERVAL:
            self._logged = time.monotonic()
            self._event_log.warning(
                "connections_closed",
                count=count,
                reason="too many, see listen.connections and listen.connections_per_address, or an answer was not read",
            )
        return count

    def _close(self, connection: Connection) -> bool:
        """Close a connection, unless the descriptor was reused or a request is in flight."""
        with suppress(OSError), _duplicate(connection.descriptor) as its:
            if its.getpeername()[:2] == connection.peer and connection.peer not in self._answering:
                its.shutdown(socket.SHUT_RDWR)
                return True
        return False


def connections_to(port: int) -> Iterator[Connection]:
    """Find this process's connections to one of its own ports."""
    for name in os.listdir(DESCRIPTORS):  # noqa: PTH208 - it makes no objects
        # Descriptors that are not connections, or no longer, raise an error.
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
    """Duplicate a socket's descriptor, so that closing or reusing the original does not matter.

    A file must not be opened and closed this way: when a process closes any descriptor of a file, it loses all its locks
    on that file, which the ledger depends on. So the type is checked first; and if the descriptor has become a file in
    that very moment, the duplicate stays open.
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
    """Return what counts as one address: in IPv6 the /64 network, which usually belongs to one machine."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
