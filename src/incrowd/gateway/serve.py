"""The parent process: it prepares what workers serve, starts them, counts for them, and reloads.

Only the parent reads the configuration. When the file, the auxiliary table or a ladder changes, or a hang-up signal
comes, it prepares the new state first; if that fails the old one stays and the log says why. If it succeeds,
the workers take it over between two requests, and no connection is lost.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import socket
import ssl
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import Interfaces, Loops, SSLProtocols
from granian.log import LogLevels

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.app import Gateway
from incrowd.gateway.config import Config, Listen, load_config
from incrowd.gateway.handover import Inbox, hand_over
from incrowd.gateway.journal import GRANIAN_LOGGING, Journal, LineWriter, install
from incrowd.gateway.prepared import Prepared, prepare, unprepared, watched_files
from incrowd.gateway.providers import open_provider
from incrowd.gateway.watch import Watch, start_metrics
from incrowd.temporary import private_directory

__all__ = ["run_gateway"]

LOOK_INTERVAL = 1.0
STOP_TIMEOUT = 30


def run_gateway(file: Path) -> None:
    """Serve until told to stop."""
    config = _load(file)
    _check_address(config.listen)
    _check_tls(config.listen)
    # Workers start from nothing instead of by fork: a fork would copy locks that threads hold.
    multiprocessing.set_start_method("spawn", force=True)
    journal = Journal(config.log, LineWriter().write)
    undo = install(journal)
    try:
        with private_directory() as directory:
            Parent(config, journal, directory).serve()
    finally:
        undo()


def _load(file: Path) -> Config:
    """Load a configuration whose providers can be opened, so that no worker fails at it; none is connected to."""

    async def try_providers() -> None:
        for name, provider in config.providers.items():
            try:
                opened = await open_provider(provider)
            except BadInputError as error:
                raise BadInputError(f"{file.name}: providers.{name}: {error}") from None
            await opened.close()

    config = load_config(file)
    asyncio.run(try_providers())
    return config


def _check_tls(listen: Listen) -> None:
    """Say which setting it is if people could not be served with these certificates."""
    if listen.tls is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(listen.tls.certificate, listen.tls.key)
        if listen.tls.clients:
            context.load_verify_locations(listen.tls.clients)
    except OSError:
        raise BadInputError(
            "listen.tls: a file cannot be used; give PEM files, and the key that fits the certificate"
        ) from None


def _check_address(listen: Listen) -> None:
    """Say at once if nobody can listen there, before the table is read."""
    try:
        found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        socket.create_server(address, family=family).close()
    except OSError as error:
        raise BadInputError(
            f"listen: cannot listen on {listen.host}, port {listen.port} ({error.strerror}); "
            "choose another host or port"
        ) from None


@dataclass
class Maker:
    """Makes the application of a worker process. It travels there by pickle, with the state it has at that time.

    Parameters
    ----------
    prepared
        The newest good state.
    inbox
        Where the worker finds newer ones.
    metrics
        Where the worker leaves its counts; None if nobody asks for them.
    """

    prepared: Prepared
    inbox: Inbox
    metrics: Path | None

    def __call__(self) -> Gateway:
        """Make it."""
        config = self.prepared.config
        journal = Journal(config.log, LineWriter().write)
        install(journal)
        try:
            if self.prepared.protection:
                self.prepared.protection.compile(config.people[0].protect)
            return Gateway(self.prepared, self.inbox, Watch(self.metrics), journal)
        except Exception as error:  # noqa: BLE001 - else the traceback would be printed, with what its message holds
            journal.failure("worker_failed", error)
            sys.exit(1)


class Parent:
    """The server, with a watch on the files it was made from.

    Parameters
    ----------
    config
        The configuration to begin with.
    journal
        Where the parent logs.
    directory
        A private directory, where workers leave their counts and find new states.
    """

    def __init__(self, config: Config, journal: Journal, directory: Path) -> None:
        listen = config.listen
        self._server = Granian(
            "incrowd gateway",
            address=listen.host,
            port=listen.port,
            interface=Interfaces.ASGI,
            workers=listen.workers,
            loop=Loops.uvloop,
            websockets=False,
            log_level=LogLevels(config.log),
            log_dictconfig=GRANIAN_LOGGING,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_TIMEOUT,
            **_tls(config),
        )
        self._server.on_startup(self._listen_for_hang_up)  # it has set its own handlers by then
        self._journal = journal
        self._look_now = threading.Event()
        self._watched, self._stamps = config, _stamps(config)
        metrics = directory / "metrics" if config.metrics else None
        self._maker = Maker(self._first_state(config), Inbox(directory / "state"), metrics)

    def serve(self) -> None:
        """Serve until told to stop."""
        config, metrics = self._maker.prepared.config, self._maker.metrics
        if config.metrics and metrics:
            start_metrics(config.metrics.host, config.metrics.port, metrics)
        self._watch = Watch(metrics)
        threading.Thread(target=self._look_for_changes, name="reload", daemon=True).start()
        self._journal.info("starting", host=config.listen.host, port=config.listen.port)
        self._server.serve(target_loader=self._maker, wrap_loader=False)
        self._journal.info("stopped")

    def _listen_for_hang_up(self) -> None:
        """Look at the files when SIGHUP comes, where the server by itself would replace its workers."""
        signal.signal(signal.SIGHUP, lambda *_: self._look_now.set())

    def _first_state(self, config: Config) -> Prepared:
        """Prepare, or start without the auxiliary table: everybody is told so, and nothing is sent."""
        try:
            return prepare(config)
        except IncrowdError as error:
            self._journal.error("not_ready", reason=str(error))
            return unprepared(config, error)

    def _look_for_changes(self) -> None:
        while True:
            asked = self._look_now.wait(LOOK_INTERVAL)
            self._look_now.clear()
            stamps = _stamps(self._watched)
            if asked or stamps != self._stamps:
                self._stamps = stamps
                self._reload_state()

    def _reload_state(self) -> None:
        """Prepare what the files say now, and hand it to the workers if it is good; whatever happens, go on."""
        before = self._maker.prepared
        try:
            config = self._watched = _load(before.config.file)
            # As they were before they are read: what changes meanwhile, or is not there yet, is looked at again.
            self._stamps[1:] = _stamps(config)[1:]
            # First for the workers that start from now on: one that starts in between takes it twice, not never.
            self._maker.prepared = prepared = prepare(config)
            hand_over(prepared, self._maker.inbox.file)
        except Exception as error:  # noqa: BLE001 - without this thread nothing would ever be reloaded again
            self._maker.prepared = before
            self._watch.reloaded(good=False)
            if isinstance(error, IncrowdError):
                self._journal.error("reload_failed", reason=str(error))
            else:
                self._journal.failure("reload_failed", error)
            return
        self._watch.reloaded(good=True)
        self._journal.info("reloaded", account=prepared.account)
        for name in ("listen", "metrics", "log"):
            if getattr(prepared.config, name) != getattr(before.config, name):
                self._journal.warning("restart_needed", reason=f"a change of '{name}' needs a restart")


def _tls(config: Config) -> dict[str, Any]:
    tls = config.listen.tls
    if tls is None:
        return {}
    return {
        "ssl_cert": tls.certificate,
        "ssl_key": tls.key,
        "ssl_ca": tls.clients,
        "ssl_client_verify": tls.clients is not None,
        "ssl_protocol_min": SSLProtocols.tls12,
    }


def _stamps(config: Config) -> list[tuple[int, int, int] | None]:
    """Return what tells that a file was changed: which one it is, when it was written, how long it is."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in (config.file, *watched_files(config)):
        try:
            status = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_ino, status.st_mtime_ns, status.st_size))
    return stamps
