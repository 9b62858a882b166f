"""Progress and time: who is shown how a job goes on, what each step took, and the memory it took."""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

__all__ = ["Clock", "ProgressListener", "peak_megabytes"]

STEPS = ("read", "items", "taxonomy", "compile", "load", "anonymize", "measure", "attack", "audit", "write")


class ProgressListener(Protocol):
    """Receives the progress of a job."""

    def step(self, name: str) -> None:
        """Take note that a step begins."""

    def reading(self, done: int, total: int) -> None:
        """Take note of how many bytes of the input are read, or how many rows are done."""


class Clock:
    """Times the steps and passes them on to a listener."""

    def __init__(self, listener: ProgressListener) -> None:
        self.seconds = dict.fromkeys((*STEPS, "total"), 0.0)
        self.listener = listener
        self._name = "read"
        self._begun = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        self.listener.step(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the step that runs, and count what all took."""
        self._lap()
        self.seconds["total"] = self._last - self._begun

    def step(self, name: str) -> None:
        """End the step that runs and begin the next."""
        self._lap()
        self._name = name
        self.listener.step(name)

    def done(self) -> dict[str, float]:
        """Return the seconds of each step that has run so far."""
        return {name: seconds for name, seconds in self.seconds.items() if seconds}

    def _lap(self) -> None:
        now = time.perf_counter()
        self.seconds[self._name] += now - self._last
        self._last = now


def peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    # Linux counts for getrusage what the process had before it became this program: its parent's memory.
    with suppress(OSError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS, in KiB elsewhere
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
