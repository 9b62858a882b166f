from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager

import aiohttp
import pytest
from granian.log import LogLevels, configure_logging

from incrowd.gateway.ops.log import (
    GRANIAN_LOGGING,
    Entry,
    EventLog,
    LineWriter,
    describe_error,
    install,
    lines_of,
)

SECRET = "Essex-4711"
URL = f"https://provider.example/loans?county={SECRET}"


@pytest.fixture
def lines():
    return []


@pytest.fixture
def event_log(lines):
    return EventLog("info", lines.append, clock=lambda: 1_700_000_000.1234)


@contextmanager
def listening():
    """Put the event log in the place of pytest's own handlers, which would print everything."""
    lines = []
    undo = install(EventLog("info", lines.append))
    try:
        yield lines
    finally:
        undo()


def logged(lines):
    """Return the lines as objects; each is one line of JSON and holds no secret."""
    written = [entry.line() for entry in lines]
    for line in written:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert SECRET.encode() not in line
    assert lines_of(lines) == b"".join(written)
    return [json.loads(line) for line in written]


def numbered(number, **fields):
    return Entry(1_700_000_000.0, "info", "numbered", {"count": number, **fields})


def fail():
    raise ValueError(SECRET)


def failure():
    try:
        fail()
    except ValueError as error:
        return error


def test_a_line_is_an_object_with_time_level_event_and_fields(event_log, lines):
    event_log.info("request", request="r-1", route="/loans", status=200, ms=1.25)
    assert logged(lines) == [
        {
            "time": "2023-11-14T22:13:20.123Z",
            "level": "info",
            "event": "request",
            "request": "r-1",
            "route": "/loans",
            "status": 200,
            "ms": 1.25,
        }
    ]


def test_less_important_levels_are_left_out(lines):
    event_log = EventLog("warning", lines.append)
    for tell in (event_log.info, event_log.warning, event_log.error):
        tell("something")
    event_log.failure("something", failure())
    assert [line["level"] for line in logged(lines)] == ["warning", "error", "error"]


def test_a_failure_is_logged_by_type_and_place(event_log, lines):
    event_log.failure("crash", failure(), request="r-1")
    [line] = logged(lines)
    assert line["error"] == "ValueError"
    assert line["place"] == f"{__name__}.fail:{fail.__code__.co_firstlineno + 1}"
    assert line["request"] == "r-1"


def test_causes_are_logged_by_type_and_are_bounded():
    error: Exception = aiohttp.ClientError(SECRET)
    error.__cause__ = OSError(SECRET)
    error.__cause__.__context__ = KeyError(SECRET)
    assert describe_error(error) == {
        "error": "aiohttp.client_exceptions.ClientError",
        "causes": ["OSError", "KeyError"],
    }
    error.__cause__.__context__.__context__ = error  # a ring
    assert len(describe_error(error)["causes"]) == 5


def test_what_is_not_plain_does_not_stop_the_gateway(event_log, lines):
    event_log.info("request", route=object())
    event_log.info("request", route="\ud800")
    assert [line["event"] for line in logged(lines)] == ["request", "request"]


def test_of_a_librarys_record_the_template_is_shown_without_arguments():
    with listening() as lines:
        logging.getLogger("aiohttp.client").warning("cannot reach %s", URL, extra={"url": URL})
    [line] = logged(lines)
    assert line["template"] == "cannot reach %s"
    assert (line["event"], line["logger"], line["level"]) == ("library", "aiohttp.client", "warning")
    assert line["place"].startswith("test_log.test_of_a_librarys_record")


@pytest.mark.parametrize(
    "log",
    [
        lambda logger: logger.error(f"cannot reach {URL}"),  # noqa: G004 - libraries do all this
        lambda logger: logger.error("cannot reach " + URL),  # noqa: G003
        lambda logger: logger.error(f"{URL} %s", "again"),  # noqa: G004
        lambda logger: logger.error(failure()),
        lambda logger: logger.error({"url": URL}),
        lambda logger: logger.error("%(url)s", {"url": URL}),
        lambda logger: logger.error("wrong number of arguments", URL, stack_info=True),  # noqa: PLE1205
        lambda logger: logger.critical("failed", exc_info=failure()),
        lambda logger: logger.log(35, "%s", URL),
    ],
)
def test_no_record_shows_a_value(log, capfd):
    with listening() as lines:
        log(logging.getLogger("asyncio"))
    [line] = logged(lines)
    assert line["logger"] == "asyncio"
    assert line["level"] in {"warning", "error"}
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_record_is_logged_by_type_and_place():
    with listening() as lines:
        logging.getLogger("psycopg").error("failed", exc_info=failure())
    [line] = logged(lines)
    assert line["template"] == "failed"
    assert line["error"] == "ValueError"
    assert ".fail:" in line["place"]


def test_a_record_from_elsewhere_shows_no_text():
    record = logging.LogRecord("_granian", logging.INFO, "src/workers.rs", 12, f"GET {URL}", None, None)
    with listening() as lines:
        logging.getLogger("_granian").handle(record)
    [line] = logged(lines)
    assert "template" not in line
    assert line["logger"] == "_granian"


def test_the_event_loops_complaints_hide_their_contexts():
    async def run():
        task = asyncio.create_task(forgotten(), name=SECRET)
        await asyncio.sleep(0)
        del task
        gc.collect()
        asyncio.get_running_loop().call_soon(fail)
        await asyncio.sleep(0.01)

    async def forgotten():
        fail()

    with listening() as lines:
        asyncio.run(run())
    found = logged(lines)
    assert [line["error"] for line in found] == ["ValueError", "ValueError"]
    assert {line["logger"] for line in found} == {"asyncio"}


def test_warnings_go_to_the_event_log_without_their_text():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with listening() as lines:
            warnings.warn(SECRET, stacklevel=1)
    assert [line["logger"] for line in logged(lines)] == ["py.warnings"]


def test_uncaught_errors_are_logged():
    class Fragile:
        def __del__(self):
            fail()

    with listening() as lines:
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        sys.excepthook(ValueError, failure(), None)
        Fragile()
        gc.collect()
    assert [(line["event"], line["error"]) for line in logged(lines)] == [("uncaught", "ValueError")] * 3


def test_installing_can_be_undone(event_log):
    before = logging.getLogger().handlers[:], sys.excepthook, threading.excepthook, sys.unraisablehook
    install(event_log)()
    assert (logging.getLogger().handlers, sys.excepthook, threading.excepthook, sys.unraisablehook) == before


def test_granians_loggers_come_to_the_event_log(capfd):
    loggers = [logging.getLogger(name) for name in ("_granian", "granian.access")]
    with listening() as lines:
        try:
            configure_logging(LogLevels.info, GRANIAN_LOGGING)
            loggers[0].info("Shutting down")
            loggers[1].info(f"GET {URL}")
        finally:
            for logger in loggers:
                logger.setLevel(logging.NOTSET)
    first, second = logged(lines)
    assert first["template"] == "Shutting down"
    assert "template" not in second
    assert capfd.readouterr() == ("", "")


def test_lines_are_written_in_order():
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    for number in range(500):
        writer.write(numbered(number))
    writer.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as end:
        assert [json.loads(line)["count"] for line in end] == list(range(500))


def test_a_slow_reader_costs_lines_but_no_time():
    reading, writing = os.pipe()
    writer = LineWriter(writing, most_waiting=100)
    entry = numbered(1, reason="x" * 9_999)
    # Nobody reads yet: a writer that waited for a reader would never come to an end.
    writing_all = threading.Thread(target=lambda: [writer.write(entry) for _ in range(2_000)], daemon=True)
    writing_all.start()
    writing_all.join(60)
    assert not writing_all.is_alive()
    with os.fdopen(reading, "rb") as end:
        reader = threading.Thread(target=lambda: written.extend(end.readlines()))
        written: list[bytes] = []
        reader.start()
        time.sleep(0.3)
        writer.write(entry)
        writer.close()
        os.close(writing)
        reader.join(10)
    logged = [json.loads(line) for line in written]
    assert "log_lines_lost" in {line["event"] for line in logged}
    assert sum(line["count"] for line in logged) == 2_001


def test_a_closed_reader_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    writer = LineWriter(writing)
    writer.write(numbered(1))
    writer.close()
    os.close(writing)


def test_a_forked_process_writes_its_own_lines_only():
    program = """
import os
from incrowd.gateway.ops.log import Entry, LineWriter
writer = LineWriter()
writer.write(Entry(0.0, "info", "parent", {}))
if os.fork() == 0:
    writer.write(Entry(0.0, "info", "child", {}))
    writer.close()
    os._exit(0)
os.wait()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    assert sorted(json.loads(line)["event"] for line in done.stderr.splitlines()) == ["child", "parent"]


def test_the_last_words_of_a_crash_are_written_without_its_message():
    program = f"""
from incrowd.gateway.ops.log import EventLog, LineWriter, install
install(EventLog("info", LineWriter().write))
raise ValueError({SECRET!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    [line] = map(json.loads, done.stderr.splitlines())
    assert SECRET.encode() not in done.stderr
    assert (line["event"], line["error"], line["place"]) == ("uncaught", "ValueError", "__main__.<module>:4")
