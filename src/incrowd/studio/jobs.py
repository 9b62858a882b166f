"""Jobs as they are kept: a directory each, with the command, its state, its progress and its result."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from incrowd.studio.folder import Folder, read_struct, write_struct

__all__ = [
    "ENDED",
    "Job",
    "Progress",
    "State",
    "Step",
    "add_job",
    "all_jobs",
    "jobs_of",
    "progress_of",
    "read_job",
    "result_of",
    "state_of",
    "write_state",
]

Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ENDED = ("done", "failed", "cancelled", "interrupted")
LONGEST_LOG = 64 * 1024
DIGITS = 6


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the command line.

    Parameters
    ----------
    id, project, kind, created
        Its number, whose it is, what it is for (``look``, ``release``, ``audit``, ...) and since when it waits.
    arguments
        The command, without the program's name and ``--json``, which is added.
    release
        The release that it makes or is about.
    writes
        The final names that it writes to, the main one first: what a killed run leaves beside them is removed.
    python
        The same in Python.
    """

    id: str
    project: str
    kind: str
    arguments: list[str]
    created: float
    release: str | None = None
    writes: list[str] = []
    python: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How far a job has come; times are seconds since 1970, and `process` is its number while it runs."""

    status: Status = "queued"
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    process: int | None = None


class Step(NamedTuple):
    """A step of a job: what it is called, seconds so far, the share that is done (None: not known) and whether it is over."""

    title: str
    seconds: float
    share: float | None
    over: bool


class Progress(NamedTuple):
    """The steps of a job, the seconds since it began, and those that are left of the step (None: not known)."""

    steps: Sequence[Step] = ()
    seconds: float = 0.0
    left: float | None = None

    @property
    def now(self) -> Step | None:
        """The step that runs."""
        return next((step for step in self.steps if not step.over), None)


class _Line(msgspec.Struct):
    """A line of a progress file."""

    step: str
    title: str
    time: float
    done: int = 0
    total: int = 0


def add_job(
    folder: Folder,
    project: str,
    kind: str,
    arguments: Sequence[str],
    *,
    release: str | None = None,
    writes: Sequence[Path] = (),
    python: str = "",
) -> Job:
    """Write a job that waits for its turn."""
    number = 1 + max((int(place.name) for place in _places(folder)), default=0)
    while True:
        identity = f"{number:0{DIGITS}d}"
        try:
            (folder.jobs / identity).mkdir(mode=0o700)
        except FileExistsError:
            number += 1
        else:
            break
    job = Job(
        id=identity,
        project=project,
        kind=kind,
        arguments=list(arguments),
        created=time.time(),
        release=release,
        writes=[str(path) for path in writes],
        python=python,
    )
    write_struct(folder.jobs / identity / "job.json", job)
    write_state(folder, identity, State())
    return job


def read_job(folder: Folder, identity: str) -> Job | None:
    """Return a job by its number; None if there is none."""
    place = folder.named("jobs", identity)
    return None if place is None else _job_in(place)


def all_jobs(folder: Folder) -> list[Job]:
    """Return all jobs in the order in which they were asked for."""
    found = [_job_in(place) for place in _places(folder)]
    return [job for job in found if job is not None]


def _job_in(place: Path) -> Job | None:
    """Return the job in a directory; one that names another was put there by others, and is none."""
    job = read_struct(place / "job.json", Job)
    return job if job is not None and job.id == place.name else None


def jobs_of(folder: Folder, project: str, *kinds: str) -> list[Job]:
    """Return the jobs of a project, the newest first; of some kinds, or of all."""
    return [
        job
        for job in reversed(all_jobs(folder))
        if job.project == project and (not kinds or job.kind in kinds)
    ]


def state_of(folder: Folder, identity: str) -> State:
    """Return how far a job has come."""
    return read_struct(folder.jobs / identity / "state.json", State) or State(status="interrupted")


def write_state(folder: Folder, identity: str, state: State) -> None:
    """Note how far a job has come."""
    write_struct(folder.jobs / identity / "state.json", state)


def result_of(folder: Folder, identity: str) -> dict[str, Any]:
    """Return what the command printed as JSON; where it printed none, the last line that it said is the error."""
    place = folder.jobs / identity
    try:
        found = json.loads((place / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return found if isinstance(found, dict) else {"error": _last_line(place / "log.txt")}


def progress_of(folder: Folder, identity: str) -> Progress:
    """Return the progress of a job."""
    state = state_of(folder, identity)
    lines = _lines(folder.jobs / identity / "progress.jsonl")
    end = state.ended or time.time()
    begun = {line.step: line for line in reversed(lines)}
    last = {line.step: line for line in lines}
    order = sorted(begun.values(), key=lambda line: line.time)
    ends = [*(line.time for line in order[1:]), end][: len(order)]
    steps = [
        Step(
            line.title,
            max(until - line.time, 0.0),
            _share(last[line.step]),
            over=state.status in ENDED or line is not order[-1],
        )
        for line, until in zip(order, ends, strict=True)
    ]
    seconds = max(end - state.started, 0.0) if state.started else 0.0
    return Progress(steps, seconds, _left(steps[-1]) if steps else None)


def _share(line: _Line) -> float | None:
    return min(line.done / line.total, 1.0) if line.total else None


def _left(step: Step) -> float | None:
    """Return the seconds that a step has left if it goes on as it did; None if that cannot be told yet."""
    if step.over or not step.share or step.seconds < 1:
        return None
    return step.seconds * (1 - step.share) / step.share


def _lines(path: Path) -> list[_Line]:
    """Read a progress file; a last line that is being written is left out, and so is what was damaged."""
    try:
        text = path.read_bytes()
    except OSError:
        return []
    whole = text[: text.rfind(b"\n") + 1].splitlines()
    return [line for line in map(_line_of, whole) if line is not None]


def _line_of(text: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace")[-LONGEST_LOG:].splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("incrowd: ") if lines else ""


def _places(folder: Folder) -> list[Path]:
    return sorted(place for place in folder.jobs.iterdir() if place.name.isdecimal())
