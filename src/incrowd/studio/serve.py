"""Serves the studio of a folder on this machine until it is stopped."""

from __future__ import annotations

import fcntl
import importlib
import os
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import NamedTuple

import uvicorn

from incrowd.core.atomic import atomic_write, private_file
from incrowd.errors import BadInputError
from incrowd.studio.app import make_app
from incrowd.studio.door import Door
from incrowd.studio.folder import Folder
from incrowd.studio.guard import ENTRANCE
from incrowd.studio.pages import Studio
from incrowd.studio.runner import Runner

__all__ = ["Opened", "run_studio"]

HOST = "127.0.0.1"
GRACE = 1
WARM_UP_AFTER = 0.5
START_SECONDS = 10.0
LOOK_SECONDS = 0.05
HEAVY = "incrowd.jobs.plan"


class Opened(NamedTuple):
    """Where a studio is: an address that can be used once, its folder, and whether it was running already."""

    address: str
    folder: str
    running: bool


def run_studio(folder: Folder, port: int, say: Callable[[Opened], None], *, browser: bool) -> None:
    """Serve until stopped. If the folder's studio runs already, say a new address of it and return.

    Parameters
    ----------
    folder
        The studio's folder.
    port
        Where to listen; 0: any that is free.
    say
        Told the address, once it is answered.
    browser
        Whether to open it in the owner's browser.
    """
    door, address, page = Door(folder), folder.door / "address", folder.door / "open.html"

    def announce(host: str, *, running: bool) -> None:
        opened = Opened(f"http://{host}{ENTRANCE}?token={door.new_token()}", str(folder.path), running)
        say(opened)
        if browser:
            webbrowser.open(_page_to(opened.address, page))

    with _only_one(folder) as alone:
        if not alone:
            announce(_host_in(address), running=True)
            return
        for stale in (address, page):
            stale.unlink(missing_ok=True)
        with _listening(port) as listener:
            host = f"{HOST}:{listener.getsockname()[1]}"
            _write_privately(address, host)
            runner = Runner(folder)
            server = _Server(make_app(Studio(folder, runner), door, host), runner)
            server.started_then(lambda: announce(host, running=False))
            try:
                server.serve(listener)
            finally:
                page.unlink(missing_ok=True)


class _Server:
    """The server around the application, and the runner that lives as long."""

    def __init__(self, app: object, runner: Runner) -> None:
        self._runner = runner
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                log_level="critical",  # a traceback could quote a record
                server_header=False,
                timeout_graceful_shutdown=GRACE,
            )
        )

    def started_then(self, then: Callable[[], None]) -> None:
        """Call something from a thread once requests are answered."""

        def wait() -> None:
            pause = threading.Event()
            while not self._server.started:
                pause.wait(0.01)
            then()
            pause.wait(WARM_UP_AFTER)
            with suppress(ImportError):  # whoever needs it says what is missing
                importlib.import_module(HEAVY)

        threading.Thread(target=wait, name="started", daemon=True).start()

    def serve(self, listener: socket.socket) -> None:
        """Serve until stopped; a job that runs then is stopped, too."""
        self._runner.start()
        try:
            self._server.run(sockets=[listener])
        finally:
            self._runner.stop()


def _page_to(address: str, page: Path) -> str:
    """Write a page that leads to an address, and return where it is: a browser's command line can be read by every user of the machine."""
    _write_privately(
        page,
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={escape(address)}"><title>incrowd studio</title>',
    )
    return page.as_uri()


def _write_privately(path: Path, text: str) -> None:
    with atomic_write(path, replaces=lambda _: True) as draft:
        private_file(draft).write_text(text, encoding="utf-8")


def _host_in(address: Path) -> str:
    """Return where the studio that runs listens; one that has just been started says so in a moment."""
    end = time.monotonic() + START_SECONDS
    while True:
        with suppress(OSError):
            return address.read_text(encoding="ascii")
        if time.monotonic() > end:
            raise BadInputError("FOLDER: its studio is being started or stopped: try again in a moment")
        time.sleep(LOOK_SECONDS)


@contextmanager
def _only_one(folder: Folder) -> Iterator[bool]:
    """Tell whether no other studio of this folder runs, and keep others out meanwhile."""
    handle = os.open(folder.door / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise BadInputError(
            f"--port {port} cannot be used ({error.strerror}): choose another, or leave it out for any that is free"
        ) from None
    with listener:
        yield listener
