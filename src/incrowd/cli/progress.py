"""Progress on stderr: bars on a terminal, quiet otherwise. Programs that run this one get it in a file."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["ProgressBars"]

TITLES = {
    "synth": "Making up a log",
    "read": "Reading",
    "items": "Building records",
    "taxonomy": "Attaching items to the taxonomy",
    "compile": "Compiling kernels",
    "load": "Loading kernels",
    "anonymize": "Grouping records",
    "measure": "Measuring losses",
    "attack": "Running attacks",
    "write": "Writing the release",
    "audit": "Auditing the written files",
}
FIRST_RUN = "incrowd: compiling kernels for this machine; this happens once and takes up to a minute"


FILE_VARIABLE = "INCROWD_PROGRESS"
BETWEEN_LINES = 0.2  # seconds


class ProgressFile:
    """Appends the progress to the file that ``INCROWD_PROGRESS`` names, one JSON object a line; does nothing without it."""

    def __init__(self) -> None:
        name = os.environ.get(FILE_VARIABLE)
        self._path = Path(name) if name else None
        self._name = ""
        self._written = 0.0

    def step(self, name: str) -> None:
        """Say that a step begins."""
        self._name = name
        self._write()

    def reading(self, done: int, total: int) -> None:
        """Say how much of the step is done, a few times a second and at its end."""
        if done >= total or time.monotonic() - self._written >= BETWEEN_LINES:
            self._write(done=done, total=total)

    def _write(self, **more: Any) -> None:
        if self._path is None:
            return
        self._written = time.monotonic()
        line = {"step": self._name, "title": TITLES[self._name], "time": round(time.time(), 2), **more}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class ProgressBars:
    """A progress listener that shows each step of a job as it runs."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._file = ProgressFile()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def step(self, name: str) -> None:
        """Show that a step begins; the one before is done."""
        if self._task is not None:
            self._bars.update(self._task, total=1, completed=1)
        self._task = self._bars.add_task(TITLES[name], total=None)
        self._file.step(name)
        if name == "compile":
            self._console.print(FIRST_RUN, highlight=False, soft_wrap=True)

    def reading(self, done: int, total: int) -> None:
        """Show the progress of the step."""
        if self._task is not None:
            self._bars.update(self._task, total=total, completed=done)
            self._file.reading(done, total)
