"""The gateway's log: one JSON object per line on standard error, never with a value of a query, a key or a row.

The gateway's own events have only the fields of `Fields`, which the type checker enforces. Errors are logged by type
and place, since their messages may quote values. The same goes for records of libraries: the log has their logger, level
and place, and their text only if it is a constant in the library's code, that is, a template without its arguments. Text
that was formatted at run time is not logged.

A slow reader of standard error must not block the gateway: entries go through a bounded queue to a thread that
formats and writes them. When the queue is full, entries are dropped, and the next line says how many.
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
    "EventLog",
    "Fields",
    "LibraryHandler",
    "LineWriter",
    "describe_error",
    "install",
    "lines_of",
]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
MOST_WAITING = 10_000  # entries in the queue; some 6 MB
BATCH_SECONDS = (
    0.1  # seconds in which lines are collected to be written at once: waking a thread slows requests down
)
CLOSE_SECONDS = 2.0  # seconds for the rest of the queue at the end
MOST_CAUSES = 5

# Granian configures its loggers in every process: let them propagate to the root logger, where `install` puts ours.
GRANIAN_LOGGING: dict[str, Any] = {
    "formatters": {},
    "handlers": {},
    "loggers": {
        name: {"handlers": [], "level": "INFO", "propagate": True} for name in ("_granian", "granian.access")
    },
}


class Fields(TypedDict, total=False):
    """The fields of a line besides its time, level and event. Names come from the configuration, never from a query."""

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
"""What the encoder raises for data that is not plain."""
_encode_lines = msgspec.json.Encoder().encode_lines


@lru_cache(2)  # lines are in the order of time, and many are of the same second
def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Entry(NamedTuple):
    """A line to write: time (seconds since 1970), level, event and fields."""

    seconds: float
    level: str
    event: str
    fields: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        """Return the line's JSON object."""
        return {**self._begin(), **self.fields}

    def line(self) -> bytes:
        """Return the line; fields that are not plain data are left out, since logging must not fail."""
        try:
            return _encode_lines([self.shown()])
        except UNPLAIN:
            return _encode_lines([self._begin()])

    def _begin(self) -> dict[str, Any]:
        whole, milliseconds = divmod(int(self.seconds * 1e3), 1000)
        return {"time": f"{_moment(whole)}.{milliseconds:03}Z", "level": self.level, "event": self.event}


def lines_of(entries: Sequence[Entry]) -> bytes:
    """Return all lines, encoded together if possible."""
    try:
        return _encode_lines([entry.shown() for entry in entries])
    except UNPLAIN:
        return b"".join(entry.line() for entry in entries)


class LineWriter:
    """Writes lines to a file descriptor from its own thread, which starts with the first entry.

    Parameters
    ----------
    descriptor
        The file descriptor; 2 is standard error.
    most_waiting
        How many entries may wait for a slow reader; more are dropped and counted.
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
        """Queue entries, or drop them; never waits."""
        if self._process != os.getpid():
            self._start()
        room = max(0, self._most_waiting - self._queue.qsize())
        for entry in entries[:room]:
            self._queue.put(entry)
        self._lost += max(0, len(entries) - room)

    def close(self) -> None:
        """Write the queued entries, but do not wait long for a reader that has stopped.

        It runs automatically when the interpreter ends; a forked worker, where it does not, has to call it.
        """
        thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(CLOSE_SECONDS)

    def _start(self) -> None:
        """Start the thread; a forked process has none, and must not write its parent's lines again."""
        with self._starting:
            if self._process != os.getpid():
                self._process = os.getpid()
                self._queue = SimpleQueue()
                self._thread = threading.Thread(target=self._run, name="event_log", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        going = True
        while going:
            entries = [self._queue.get()]
            if entries[0] is not None:
                time.sleep(BATCH_SECONDS)
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
        with suppress(OSError):  # standard error was closed: the gateway continues without a log
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class EventLog:
    """The log that the gateway writes events to.

    Parameters
    ----------
    level
        The lowest level that is written: debug, info, warning or error.
    write
        Takes the entries; `LineWriter.write` in production.
    clock
        Seconds since 1970.
    """

    def __init__(
        self, level: str, write: Callable[..., None], clock: Callable[[], float] = time.time
    ) -> None:
        self.threshold = LEVELS[level]
        self._write = write
        self._clock = clock

    def info(self, event: str, **fields: Unpack[Fields]) -> None:
        """Log a normal event."""
        self._add("info", event, fields)

    def requests(self, answered: Iterable[tuple[float, Fields]]) -> None:
        """Log requests that were answered before, each with its time and fields."""
        if LEVELS["info"] >= self.threshold:
            self._write(*(Entry(ended, "info", "request", fields) for ended, fields in answered))

    def warning(self, event: str, **fields: Unpack[Fields]) -> None:
        """Log an event that the operator should look at."""
        self._add("warning", event, fields)

    def error(self, event: str, **fields: Unpack[Fields]) -> None:
        """Log an error."""
        self._add("error", event, fields)

    def failure(self, event: str, cause: BaseException, /, **fields: Unpack[Fields]) -> None:
        """Log an exception by its type and place, without its message."""
        self._add("error", event, {**fields, **describe_error(cause)})

    def library(self, record: logging.LogRecord) -> None:
        """Log the parts of a library's record that cannot contain a value."""
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

    def _add(self, level: str, event: str, fields: Any, moment: float | None = None) -> None:
        if LEVELS[level] >= self.threshold:
            self._write(Entry(self._clock() if moment is None else moment, level, event, fields))


class LibraryHandler(logging.Handler):
    """Passes the records of the `logging` module to the event log."""

    def __init__(self, event_log: EventLog) -> None:
        super().__init__()
        self._event_log = event_log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record without its arguments."""
        self._event_log.library(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Drop the record: the default would print it with its arguments."""


def install(event_log: EventLog) -> Callable[[], None]:
    """Redirect everything that would be printed to the event log; return a function that undoes it.

    These are the records of all loggers (also of those with their own handlers, if they propagate), warnings, and
    uncaught errors in the main thread, in other threads and in destructors.
    """
    root = logging.getLogger()
    before = root.handlers[:], root.level
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    root.handlers[:] = [LibraryHandler(event_log)]
    root.setLevel(event_log.threshold)
    logging.captureWarnings(capture=True)
    sys.excepthook = lambda _type, error, _trace: event_log.failure("uncaught", error)
    threading.excepthook = lambda hook: _log_uncaught(event_log, hook.exc_value)
    sys.unraisablehook = lambda hook: _log_uncaught(event_log, hook.exc_value)

    def undo() -> None:
        root.handlers[:], level = before
        root.setLevel(level)
        logging.captureWarnings(capture=False)
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks

    return undo


def describe_error(error: BaseException) -> Fields:
    """Return an error's type, the types of its causes, and the innermost place it comes from."""
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


def _log_uncaught(event_log: EventLog, error: BaseException | None) -> None:
    if error is not None:
        event_log.failure("uncaught", error)


def _is_literal(record: logging.LogRecord) -> bool:
    """Return whether a record's text is a constant of the function that logs it.

    That function is still running, some frames up, unless the record comes from elsewhere; then the result is False.
    """
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way to the caller's code
    while frame is not None:
        if frame.f_lineno == record.lineno and frame.f_code.co_filename == record.pathname:
            return isinstance(record.msg, str) and record.msg in frame.f_code.co_consts
        frame = frame.f_back
    return False


def _level_name(number: int) -> str:
    return next((name for name, least in reversed(LEVELS.items()) if number >= least), "debug")
