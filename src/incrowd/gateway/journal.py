"""The gateway's log: one JSON object a line on standard error, never with a value of a query, a key or a row.

Our own events have the fields of `Fields` and no others, which the type checker sees to. Errors are told by
type and place, since their messages may quote anything. Libraries' records are not to be trusted either: of them
the log shows who spoke, how loud, and from where; their text only if it stands in their code word for word, that is,
as a template whose arguments are left out. A text that was put together at run time is not shown at all.

A slow reader of standard error must not stop the gateway: entries go through a bounded queue to a thread that
makes lines of them and writes those. When the queue is full, entries are lost, and the next that gets through is
followed by how many.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from queue import Empty, SimpleQueue
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any, NamedTuple, TypedDict, Unpack

import msgspec

__all__ = [
    "GRANIAN_LOGGING",
    "Entry",
    "Fields",
    "Journal",
    "LibraryHandler",
    "LineWriter",
    "describe_error",
    "install",
    "lines_of",
]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
MOST_WAITING = 10_000  # entries in the queue; some 6 MB
GATHERING = (
    0.1  # seconds in which lines gather to be written at once: a thread that wakes up costs requests time
)
LAST_WORDS = 2.0  # seconds for the rest of the queue at the end
MOST_CAUSES = 5

# Granian sets its own loggers up in every process: let it leave them to the root logger, where `install` has ours.
GRANIAN_LOGGING: dict[str, Any] = {
    "formatters": {},
    "handlers": {},
    "loggers": {
        name: {"handlers": [], "level": "INFO", "propagate": True} for name in ("_granian", "granian.access")
    },
}


class Fields(TypedDict, total=False):
    """What a line may tell besides its time, level and event. Names come from the configuration, never from a query."""

    request: str
    person: str
    route: str
    method: str
    status: int
    code: str
    ms: float
    outcome: str
    provider: str
    rows: int
    nbytes: int
    pages: int
    total: int
    answer: str
    cache: str
    dropped: list[str]
    attempt: int
    seconds: float
    host: str
    port: int
    workers: int
    process: int
    version: str
    file: str
    account: str
    reason: str
    count: int
    error: str
    causes: list[str]
    place: str


UNPLAIN = (TypeError, ValueError, OverflowError)
"""How the encoder says that something is not plain data."""
_encode_lines = msgspec.json.Encoder().encode_lines


@lru_cache(2)  # lines come in the order of their time, and many in one second
def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Entry(NamedTuple):
    """What becomes a line: when (seconds since 1970), how important, what happened, and the fields."""

    seconds: float
    level: str
    event: str
    fields: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        """Return the line's JSON object."""
        return {**self._begin(), **self.fields}

    def line(self) -> bytes:
        """Return the line; fields that are not plain data are left out, since a log must not fail."""
        try:
            return _encode_lines([self.shown()])
        except UNPLAIN:
            return _encode_lines([self._begin()])

    def _begin(self) -> dict[str, Any]:
        whole, milliseconds = divmod(int(self.seconds * 1e3), 1000)
        return {"time": f"{_moment(whole)}.{milliseconds:03}Z", "level": self.level, "event": self.event}


def lines_of(entries: Sequence[Entry]) -> bytes:
    """Return all lines, at once if that can be done."""
    try:
        return _encode_lines([entry.shown() for entry in entries])
    except UNPLAIN:
        return b"".join(entry.line() for entry in entries)


class LineWriter:
    """Writes lines to a file descriptor from a thread of its own, which starts with the first entry.

    Parameters
    ----------
    descriptor
        Where to; 2 is standard error.
    most_waiting
        How many entries may wait for a slow reader; more are lost and counted.
    """

    def __init__(self, descriptor: int = 2, most_waiting: int = MOST_WAITING) -> None:
        self._descriptor = descriptor
        self._most_waiting = most_waiting
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process = 0
        self._starting = threading.Lock()
        self._lost = 0
        atexit.register(self.close)

    def write(self, *entries: Entry) -> None:
        """Queue entries, or lose them; never waits."""
        if self._process != os.getpid():
            self._start()
        room = max(0, self._most_waiting - self._queue.qsize())
        for entry in entries[:room]:
            self._queue.put(entry)
        self._lost += max(0, len(entries) - room)

    def close(self) -> None:
        """Write what is waiting, but do not wait long for a reader who has gone.

        Happens by itself when the interpreter ends; a forked worker, where that is left out, has to call it.
        """
        thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(LAST_WORDS)

    def _start(self) -> None:
        """Start the thread; a forked process has none, and must not write its parent's lines again."""
        with self._starting:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._queue = SimpleQueue()
                self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        going = True
        while going:
            entries = [self._queue.get()]
            if entries[0] is not None:
                time.sleep(GATHERING)
            with suppress(Empty):
                while entries[-1] is not None:
                    entries.append(self._queue.get_nowait())
            going = entries[-1] is not None
            self._put(lines_of([entry for entry in entries if entry is not None]) + self._losses())

    def _losses(self) -> bytes:
        if not self._lost:
            return b""
        lost, self._lost = self._lost, 0
        return Entry(time.time(), "warning", "log_lines_lost", {"count": lost}).line()

    def _put(self, data: bytes) -> None:
        rest = memoryview(data)
        with suppress(OSError):  # nobody reads any more: the gateway goes on without a log
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class Journal:
    """Where the gateway writes what happens.

    Parameters
    ----------
    level
        The least important level that is written: debug, info, warning or error.
    write
        Takes what is to be written; `LineWriter.write` in production.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, level: str, write: Callable[..., None], clock: Callable[[], float] = time.time
    ) -> None:
        self.threshold = LEVELS[level]
        self._write = write
        self._clock = clock

    def debug(self, event: str, **fields: Unpack[Fields]) -> None:
        """Tell what only helps to find a fault."""
        self._tell("debug", event, fields)

    def info(self, event: str, **fields: Unpack[Fields]) -> None:
        """Tell what happens every day."""
        self._tell("info", event, fields)

    def requests(self, answered: Iterable[tuple[float, Fields]]) -> None:
        """Tell of requests that were answered some time ago: when, and what is to be said of each."""
        if LEVELS["info"] >= self.threshold:
            self._write(*(Entry(ended, "info", "request", fields) for ended, fields in answered))

    def warning(self, event: str, **fields: Unpack[Fields]) -> None:
        """Tell what somebody should look at."""
        self._tell("warning", event, fields)

    def error(self, event: str, **fields: Unpack[Fields]) -> None:
        """Tell what went wrong."""
        self._tell("error", event, fields)

    def failure(self, event: str, cause: BaseException, /, **fields: Unpack[Fields]) -> None:
        """Tell of an error by its type and place; its message stays out."""
        self._tell("error", event, {**fields, **describe_error(cause)})

    def library(self, record: logging.LogRecord) -> None:
        """Tell of a library's log record what cannot hold a value."""
        if record.levelno < self.threshold:
            return
        fields: dict[str, Any] = {
            "logger": record.name,
            "place": f"{record.module}.{record.funcName}:{record.lineno}",
        }
        if _is_literal(record):
            fields["template"] = record.msg
        if record.exc_info and record.exc_info[1] is not None:
            fields |= describe_error(record.exc_info[1])
        self._write(Entry(record.created, _level_name(record.levelno), "library", fields))

    def _tell(self, level: str, event: str, fields: Any, moment: float | None = None) -> None:
        if LEVELS[level] >= self.threshold:
            self._write(Entry(self._clock() if moment is None else moment, level, event, fields))


class LibraryHandler(logging.Handler):
    """Brings the records of the `logging` module into the journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record without its arguments."""
        self._journal.library(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Lose the record: the default prints it with its arguments."""


def install(journal: Journal) -> Callable[[], None]:
    """Let everything that would be printed go to the journal; return what undoes it.

    That is: the records of all loggers (those with handlers of their own too, if they propagate), warnings, and
    errors that nobody caught, in the main thread, in others and in destructors.
    """
    root = logging.getLogger()
    before = root.handlers[:], root.level
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    root.handlers[:] = [LibraryHandler(journal)]
    root.setLevel(journal.threshold)
    logging.captureWarnings(capture=True)
    sys.excepthook = lambda _type, error, _trace: journal.failure("uncaught", error)
    threading.excepthook = lambda hook: _tell_uncaught(journal, hook.exc_value)
    sys.unraisablehook = lambda hook: _tell_uncaught(journal, hook.exc_value)

    def undo() -> None:
        root.handlers[:], level = before
        root.setLevel(level)
        logging.captureWarnings(capture=False)
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks

    return undo


def describe_error(error: BaseException) -> Fields:
    """Return an error's type, its causes' types, and the innermost place it comes from."""
    fields: Fields = {"error": _type_name(error)}
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < MOST_CAUSES:
        causes.append(_type_name(cause))
        cause = cause.__cause__ or cause.__context__
    if causes:
        fields["causes"] = causes
    if error.__traceback__ is not None:
        fields["place"] = _place(error.__traceback__)
    return fields


def _type_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")


def _place(trace: TracebackType) -> str:
    *_, (frame, line) = walk_tb(trace)
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}:{line}"


def _tell_uncaught(journal: Journal, error: BaseException | None) -> None:
    if error is not None:
        journal.failure("uncaught", error)


def _is_literal(record: logging.LogRecord) -> bool:
    """Tell whether a record's text is a constant of the function that logs it.

    That function is still running, some frames up, unless the record comes from elsewhere; then the answer is no.
    """
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way to the caller's code
    while frame is not None:
        if frame.f_lineno == record.lineno and frame.f_code.co_filename == record.pathname:
            return isinstance(record.msg, str) and record.msg in frame.f_code.co_consts
        frame = frame.f_back
    return False


def _level_name(number: int) -> str:
    return next((name for name, least in reversed(LEVELS.items()) if number >= least), "debug")
