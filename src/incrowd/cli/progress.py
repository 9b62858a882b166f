"""Progress on stderr: bars on a terminal, quiet otherwise."""

from __future__ import annotations

from types import TracebackType
from typing import Self

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
        if name == "compile":
            self._console.print(FIRST_RUN, highlight=False, soft_wrap=True)

    def reading(self, done: int, total: int) -> None:
        """Show the progress of the step."""
        if self._task is not None:
            self._bars.update(self._task, total=total, completed=done)
