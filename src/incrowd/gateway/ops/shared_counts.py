"""Counters, histograms and gauges of several processes, as plain numbers, and their sum for Prometheus.

A process counts in memory and writes its counts to its own file, which is consistent at any time. One process adds the
files up. When a process has ended, its counts are added to one file for all ended processes: counters never decrease, and
the directory does not grow with every restart. Gauges of ended processes are 0.
"""

from __future__ import annotations

import mmap
import os
import secrets
import struct
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import msgspec
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

__all__ = ["Counts", "CountsFile", "Kind", "SumOfProcesses"]

PREFIX = "incrowd_"
ENDED_FILE = "dead.json"
Labels = tuple[str, ...]
_HEAD = struct.Struct("<QQ")  # how often the counts were written, and how long they are
LEAST_ROOM = 64 * 1024
ATTEMPTS = 100
_Spelled = dict[str, list[tuple[Labels, list[float]]]]


class Kind(NamedTuple):
    """A metric: a counter, a histogram of seconds if it has upper bounds, or a gauge."""

    name: str
    what: str
    labels: Labels = ()
    bounds: tuple[float, ...] = ()
    gauge: bool = False

    @property
    def width(self) -> int:
        """How many numbers a series has: 1 for a counter, one per bucket and the sum for a histogram."""
        return len(self.bounds) + 2 if self.bounds else 1


class Counts(Collector):
    """The counts of one process, or of several together.

    Parameters
    ----------
    kinds
        All metrics that may be counted.

    Attributes
    ----------
    changes
        The number of changes: as long as it is the same, all counts are the same.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.changes = 0
        self._kinds = {kind.name: kind for kind in kinds}
        self._series: dict[str, dict[Labels, list[float]]] = {name: {} for name in self._kinds}
        for kind in kinds:
            if not kind.labels:
                self.begin(kind.name)

    def begin(self, name: str, *labels: str) -> list[float]:
        """Create a series at 0 if there is none, and return its numbers."""
        series = self._series[name]
        if labels not in series:
            series[labels] = [0.0] * self._kinds[name].width
            self.changes += 1
        return series[labels]

    def add(self, name: str, *labels: str, amount: float = 1) -> None:
        """Increase a counter."""
        self.begin(name, *labels)[0] += amount
        self.changes += 1

    def put(self, name: str, *labels: str, amount: float) -> None:
        """Set a gauge."""
        self.begin(name, *labels)[0] = amount
        self.changes += 1

    def clear_gauges(self) -> None:
        """Set all gauges to 0."""
        for name, kind in self._kinds.items():
            for labels in self._series[name] if kind.gauge else ():
                self.put(name, *labels, amount=0)

    def observe(self, name: str, *labels: str, seconds: Sequence[float]) -> None:
        """Count observations of a histogram."""
        numbers, bounds = self.begin(name, *labels), self._kinds[name].bounds
        for each in seconds:
            numbers[bisect_left(bounds, each)] += 1
        numbers[-1] += sum(seconds)
        self.changes += bool(seconds)

    def encode(self) -> bytes:
        """Return all numbers as they are written to files."""
        return msgspec.json.encode({name: list(series.items()) for name, series in self._series.items()})

    def merge(self, encoded: bytes) -> None:
        """Add the numbers of a file; nothing if it is incomplete."""
        with suppress(msgspec.MsgspecError):
            for name, series in msgspec.json.decode(encoded, type=_Spelled).items():
                for labels, numbers in series:
                    mine = self.begin(name, *labels)
                    mine[:] = map(sum, zip(mine, numbers, strict=True))

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics in the library's form."""
        for name, kind in self._kinds.items():
            if kind.bounds:
                yield self._histogram(kind)
                continue
            family = GaugeMetricFamily if kind.gauge else CounterMetricFamily
            counter = family(f"{PREFIX}{name}", f"{kind.what}.", labels=kind.labels)
            for labels, (count,) in self._series[name].items():
                counter.add_metric(labels, count)
            yield counter

    def _histogram(self, kind: Kind) -> Metric:
        title, what = f"{PREFIX}{kind.name}_seconds", f"{kind.what}, in seconds."
        histogram = HistogramMetricFamily(title, what, labels=kind.labels)
        names = [*map(str, kind.bounds), "+Inf"]
        for labels, (*counts, total) in self._series[kind.name].items():
            histogram.add_metric(labels, list(zip(names, accumulate(counts), strict=True)), total)
        return histogram


class CountsFile:
    """The file where this process writes its counts: mapped into memory, with its space allocated from the start.

    It has two buffers. The counts are written to the one that is not read, and then a sequence number makes it the
    one to read. So the counts are consistent at any time, also on a full disk and if the process is killed.

    Parameters
    ----------
    directory
        Where all processes write their files.
    """

    def __init__(self, directory: Path) -> None:
        # The process id shows whether this process is alive; the suffix distinguishes processes with a reused id.
        self._file = directory / f"{os.getpid()}-{secrets.token_hex(4)}.counts"
        self._written = -1
        self._turn = 0
        self._memory: mmap.mmap | None = None

    def write(self, counts: Counts) -> None:
        """Write the counts if they have changed; without disk space, at a later call."""
        if counts.changes != self._written:
            with suppress(OSError):
                self._put(counts.encode())
                self._written = counts.changes

    def _put(self, encoded: bytes) -> None:
        if self._memory is not None and len(encoded) <= _room(self._memory):
            self._fill(self._memory, encoded)
            return
        unfinished = self._file.with_suffix(".new")
        unfinished.write_bytes(bytes(_HEAD.size + 2 * (2 * len(encoded) + LEAST_ROOM)))
        with unfinished.open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        self._fill(memory, encoded)
        unfinished.replace(self._file)
        self._memory = memory

    def _fill(self, memory: mmap.mmap, encoded: bytes) -> None:
        self._turn += 1
        place = _HEAD.size + self._turn % 2 * _room(memory)
        memory[place : place + len(encoded)] = encoded
        memory[: _HEAD.size] = _HEAD.pack(self._turn, len(encoded))


def _room(memory: mmap.mmap | bytes) -> int:
    """Return how long the encoded counts in a file may be."""
    return (len(memory) - _HEAD.size) // 2


def _read_counts(file: Path) -> bytes:
    """Return the encoded counts of a process's file; empty if they change faster than they can be read."""
    for _ in range(ATTEMPTS):
        content = file.read_bytes()
        turn, length = _HEAD.unpack_from(content)
        place = _HEAD.size + turn % 2 * _room(content)
        # Two writes later the same buffer is overwritten, and what was read may be of both.
        with file.open("rb") as again:
            if _HEAD.unpack(again.read(_HEAD.size))[0] - turn <= 1:
                return content[place : place + length]
    return b""


class SumOfProcesses(Collector):
    """The sum of the counts of all processes, including ended ones.

    Parameters
    ----------
    directory
        Where their files are.
    kinds
        All that may be counted.
    """

    def __init__(self, directory: Path, kinds: Sequence[Kind]) -> None:
        self._directory = directory
        self._kinds = kinds
        self._turn = threading.Lock()  # two scrapes at once must not add the same file twice

    def collect(self) -> Iterator[Metric]:
        """Yield the sums."""
        with self._turn:
            self._merge_ended()
            return self._sum([*self._directory.glob("*.counts"), self._directory / ENDED_FILE]).collect()

    def _sum(self, files: Sequence[Path]) -> Counts:
        counts = Counts(self._kinds)
        for file in files:
            with suppress(FileNotFoundError):
                counts.merge(file.read_bytes() if file.name == ENDED_FILE else _read_counts(file))
        return counts

    def _merge_ended(self) -> None:
        """Add the files of ended processes to the one for all of them."""
        total = self._directory / ENDED_FILE
        dead = [file for file in self._directory.glob("*.counts") if not _is_alive(file)]
        if dead:
            counts = self._sum([*dead, total])
            counts.clear_gauges()
            _write(total, counts.encode())
        for file in dead:
            file.unlink()


def _is_alive(file: Path) -> bool:
    """Return whether the process that a file is named after is running; it is a worker of this process."""
    try:
        os.kill(int(file.stem.partition("-")[0]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write(file: Path, encoded: bytes) -> None:
    """Write a file atomically."""
    unfinished = file.with_suffix(".new")
    unfinished.write_bytes(encoded)
    unfinished.replace(file)
