"""Runs jobs one at a time, each in a process group of its own, and ends them cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from incrowd.core.atomic import working_beside
from incrowd.core.temporary import private_directory
from incrowd.errors import IncrowdError
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import Job, State, all_jobs, read_job, state_of, write_state

__all__ = ["Runner"]

PATIENCE = 5.0
"""Seconds that a job has to end by itself once it is cancelled."""
RETRY = 2.0
"""Seconds until a state is written again where the disk is full."""


class Runner:
    """A thread that runs the jobs that wait in the folder, the oldest first.

    Parameters
    ----------
    folder
        The studio's folder.
    program
        How the command line is started; arguments follow.
    """

    def __init__(
        self, folder: Folder, program: tuple[str, ...] = (sys.executable, "-P", "-m", "incrowd")
    ) -> None:
        self._folder = folder
        self._program = program
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._stopping = False
        self._running: tuple[str, subprocess.Popen[bytes]] | None = None
        self._cancelled: set[str] = set()
        self._thread = threading.Thread(target=self._loop, name="jobs", daemon=True)

    def start(self) -> None:
        """Note what an earlier studio left unfinished, and begin with what waits."""
        for job in all_jobs(self._folder):
            if state_of(self._folder, job.id).status == "running":
                self._end(job, "interrupted", None)
        self._thread.start()

    def wake(self) -> None:
        """Say that a job was added."""
        self._wake.set()

    def cancel(self, identity: str) -> None:
        """Cancel a job that waits or runs; one that has ended stays as it is."""
        with self._lock:
            job = read_job(self._folder, identity)
            if job is None:
                return
            if self._running is not None and self._running[0] == identity:
                self._cancelled.add(identity)
                _terminate(self._running[1])
            elif state_of(self._folder, identity).status == "queued":
                self._end(job, "cancelled", None)

    def stop(self) -> None:
        """Stop the job that runs, and begin no other."""
        with self._lock:
            self._stopping = True
            running = self._running
        self._wake.set()
        if running is not None:
            _terminate(running[1])
        if self._thread.is_alive():
            self._thread.join(PATIENCE + 1)

    def _loop(self) -> None:
        while not self._stopping:
            try:
                job = self._next()
                if job is not None:
                    self._run(job)
            except (OSError, IncrowdError):  # a full disk: what waits goes on once there is space
                self._pause(RETRY)
            else:
                if job is None:
                    self._pause(None)

    def _next(self) -> Job | None:
        """Return the oldest job that waits."""
        waiting = (job for job in all_jobs(self._folder) if state_of(self._folder, job.id).status == "queued")
        return next(waiting, None)

    def _pause(self, seconds: float | None) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _run(self, job: Job) -> None:
        with self._lock:
            if self._stopping or state_of(self._folder, job.id).status != "queued":
                return
            try:
                process = self._begun(job)
            except (OSError, ValueError) as error:
                self._refuse(job, error)
                return
            self._running = (job.id, process)
            state = State(status="running", started=time.time(), process=process.pid)
            with suppress(OSError, IncrowdError):  # it runs all the same
                write_state(self._folder, job.id, state)
        code = process.wait()
        with self._lock:
            self._running = None
        while not self._ended(job, code) and not self._stopping:
            self._pause(RETRY)

    def _begun(self, job: Job) -> subprocess.Popen[bytes]:
        """Start the process of a job."""
        place = self._folder.jobs / job.id
        with _private(place / "result.json") as result, _private(place / "log.txt") as log:
            return subprocess.Popen(  # noqa: S603 - our own program
                [*self._program, *job.arguments, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=log,
                env={
                    **os.environ,
                    "INCROWD_PROGRESS": str(place / "progress.jsonl"),
                    "INCROWD_PARENT": str(os.getpid()),
                },
                start_new_session=True,
            )

    def _refuse(self, job: Job, error: OSError | ValueError) -> None:
        """Note that a job cannot be started, so that others have their turn."""
        reason = (
            error.strerror if isinstance(error, OSError) else None
        ) or "a character that no command holds"
        with suppress(OSError), _private(self._folder.jobs / job.id / "log.txt") as log:
            log.write(f"it could not be started ({reason}): change what was chosen, or free space\n".encode())
        self._end(job, "failed", None)

    def _ended(self, job: Job, code: int) -> bool:
        """Note how a job ended; False where that cannot be written now."""
        with self._lock:
            try:
                self._end(job, self._status(job, code), code)
            except (OSError, IncrowdError):
                return False
            return True

    def _status(self, job: Job, code: int) -> str:
        if code == 0:
            return "done"
        if job.id in self._cancelled:
            return "cancelled"
        return "interrupted" if self._stopping else "failed"

    def _end(self, job: Job, status: str, code: int | None) -> None:
        """Note how a job ended; remove what one that did not end well has left."""
        before = state_of(self._folder, job.id)
        if status in ("cancelled", "interrupted") or (code is not None and code < 0):
            _clean(job)
            if before.started is not None and _is_written(job):
                status = "done"  # everything had its final name before the job was stopped
        write_state(
            self._folder,
            job.id,
            State(status=status, started=before.started, ended=time.time(), exit_code=code),  # type: ignore[arg-type]
        )


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask a process group to end, and kill it if it does not."""
    _signal(process, signal.SIGTERM)
    timer = threading.Timer(PATIENCE, _signal, (process, signal.SIGKILL))
    timer.daemon = True
    timer.start()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _clean(job: Job) -> None:
    """Remove the temporary files of a job that was killed; its final names were never taken."""
    with suppress(IncrowdError, OSError), private_directory():
        pass
    for path in job.writes:
        with suppress(IncrowdError, OSError), working_beside(Path(path)):
            pass


def _is_written(job: Job) -> bool:
    """Tell whether what a job writes has its final name: the main one gets it last."""
    return bool(job.writes) and os.path.lexists(job.writes[0])


def _private(path: Path) -> BinaryIO:
    """Open a file that only its owner may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb")
