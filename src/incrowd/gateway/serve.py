"""The parent process: it prepares what workers serve, starts them, counts for them, and reloads.

Only the parent reads the configuration. When the file, the auxiliary table or a ladder changes, or a hang-up signal
comes, it prepares the new state first; if that fails the old one stays and the log says why. If it succeeds,
the workers take it over between two requests, and no connection is lost. A table that is being written to is not
taken before it is still.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Self, TypeAlias

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels

from incrowd.errors import IncrowdError
from incrowd.gateway.app import Gateway
from incrowd.gateway.config import Config
from incrowd.gateway.connections import Connections, Limits, limits_of, most_descriptors, too_few_descriptors
from incrowd.gateway.handover import Inbox, Outbox
from incrowd.gateway.journal import GRANIAN_LOGGING, Journal, LineWriter, install
from incrowd.gateway.prepared import Prepared, prepare, unprepared, watched_files
from incrowd.gateway.processes import end_with_parent, watch_workers
from incrowd.gateway.stamps import Stamp, UnsettledError, is_settled, stamps_of, wait_until_settled
from incrowd.gateway.usable import check_address, check_server_tls, load_usable
from incrowd.gateway.watch import Watch, start_metrics
from incrowd.temporary import private_directory

__all__ = ["run_gateway"]

Stamps: TypeAlias = list[Stamp | None]

LOOK_INTERVAL = 1.0
STOP_TIMEOUT = 30
BACKLOG = 4096


def run_gateway(file: Path) -> None:
    """Serve until told to stop."""
    config = load_usable(file)
    check_address(config.listen, "listen")
    check_server_tls(config.listen)
    # Workers start from nothing instead of by fork: a fork would copy locks that threads hold.
    multiprocessing.set_start_method("spawn", force=True)
    journal = Journal(config.log, LineWriter().write)
    undo = install(journal)
    try:
        with private_directory() as directory:
            Parent(config, journal, directory).serve()
    finally:
        undo()


OLD_STATE = UnsettledError("the auxiliary table was just replaced; its new state comes in a moment")


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
    limits
        How many connections the worker may have.
    parent
        The parent's process id.
    """

    prepared: Prepared
    inbox: Inbox
    metrics: Path | None
    limits: Limits
    parent: int = field(default_factory=os.getpid)

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the state in a letter of its own: whether it can be opened there, is seen there."""
        sealed = unprepared(self.prepared.config, OLD_STATE)
        return vars(self) | {"prepared": sealed, "letter": pickle.dumps(self.prepared)}

    def opened(self) -> Self:
        """Open the letter. If its cubes were just replaced, nothing is sent until the parent gives the new state."""
        letter: bytes | None = vars(self).pop("letter", None)
        if letter is not None:
            try:
                self.prepared = pickle.loads(letter)  # noqa: S301 - from our parent
            except IncrowdError:
                self.inbox.seen = None
        return self

    def __call__(self) -> Gateway:
        """Make it."""
        end_with_parent(self.parent)
        self.opened()
        config = self.prepared.config
        journal = Journal(config.log, LineWriter().write)
        install(journal)
        try:
            if self.prepared.protection:
                self.prepared.protection.compile(config.people[0].protect)
            watch = Watch(self.metrics)
            gateway = Gateway(self.prepared, self.inbox, watch, journal)
            Connections(gateway.answering, config.listen.port, self.limits, watch, journal).guard()
            return gateway  # noqa: TRY300 - whatever of this fails
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
        listen, limits = config.listen, limits_of(config.listen, most_descriptors())
        self._server = Granian(
            "incrowd gateway",
            address=listen.host,
            port=listen.port,
            interface=Interfaces.ASGI,
            workers=listen.workers,
            loop=Loops.uvloop,
            # Of HTTP/2 the server cannot close connections that are silent.
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=int(1000 * listen.head_timeout)),
            websockets=False,
            backlog=BACKLOG,
            backpressure=limits.in_all,
            log_level=LogLevels(config.log),
            log_dictconfig=GRANIAN_LOGGING,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_TIMEOUT,
            **_tls(config),
        )
        self._server.on_startup(self._listen_for_signals)  # it has set its own handlers by then
        self._journal = journal
        self._look_now, self._stopping = threading.Event(), threading.Event()
        self._outbox = Outbox(directory / "state")
        metrics = directory / "metrics" if config.metrics else None
        self._watched, self._stamps = config, _stamps(config)
        self._in_doubt = not is_settled(self._stamps[1:], config.table.settle)
        self._maker = Maker(self._first_state(config), Inbox(directory / "state"), metrics, limits)
        if shortage := too_few_descriptors(listen, limits):
            journal.warning("few_descriptors", reason=shortage)

    def serve(self) -> None:
        """Serve until told to stop."""
        config, metrics = self._maker.prepared.config, self._maker.metrics
        if config.metrics and metrics:
            start_metrics(config.metrics.host, config.metrics.port, metrics)
        self._watch = Watch(metrics)
        threading.Thread(target=self._look_for_changes, name="reload", daemon=True).start()
        watch_workers(self._journal, self._stopping)
        self._journal.info("starting", host=config.listen.host, port=config.listen.port)
        self._server.serve(target_loader=self._maker, wrap_loader=False)
        self._journal.info("stopped")

    def _listen_for_signals(self) -> None:
        """Look at the files when SIGHUP comes, where the server by itself would replace its workers; note an end."""
        signal.signal(signal.SIGHUP, lambda *_: self._look_now.set())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._noting_the_end(signal.getsignal(number)))

    def _noting_the_end(self, handler: Any) -> Callable[[int, FrameType | None], None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self._stopping.set()
            if callable(handler):
                handler(number, frame)

        return stop

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
                self._reload_state(stamps)
            elif self._in_doubt:
                self._in_doubt = not is_settled(stamps[1:], self._watched.table.settle)

    def _doubted(self, stamps: Stamps) -> Prepared:
        """Return the present state, or none if a table that was new at the start is written on: it may have been half read."""
        present = self._maker.prepared
        same_files = _files_of(stamps) == _files_of(self._stamps)
        if self._in_doubt and same_files and stamps[1:] != self._stamps[1:] and present.protection:
            error = UnsettledError(
                "table: a file was written to while the gateway started; waiting until it is still"
            )
            self._maker.prepared = present = unprepared(present.config, error)
            self._outbox.put(present)
            self._journal.error("not_ready", reason=str(error))
        return present

    def _reload_state(self, stamps: Stamps) -> None:
        """Prepare what the files say now, and hand it to the workers if it is good; whatever happens, go on."""
        before, prepared = self._maker.prepared, None
        try:
            before = self._doubted(stamps)
            self._stamps = stamps
            prepared = self._prepare_anew(before.config.file)
            # First for the workers that start from now on: one that starts in between takes it twice, not never.
            self._maker.prepared = prepared
            self._outbox.put(prepared)
        except Exception as error:  # noqa: BLE001 - without this thread nothing would ever be reloaded again
            if self._maker.prepared is prepared:
                self._maker.prepared = before
            self._watch.reloaded(good=False)
            if isinstance(error, IncrowdError):
                self._journal.error("reload_failed", reason=str(error))
            else:
                self._journal.failure("reload_failed", error)
            return
        self._in_doubt = False
        self._watch.reloaded(good=True)
        self._journal.info("reloaded", account=prepared.account)
        for name in ("listen", "metrics", "log"):
            if getattr(prepared.config, name) != getattr(before.config, name):
                self._journal.warning("restart_needed", reason=f"a change of '{name}' needs a restart")

    def _take_without_table(self, config: Config) -> None:
        """Let who may ask, and how often, change all the same: a key that was taken back must not wait for a table."""
        present = self._maker.prepared
        if present.protection and config != present.config and _decides_alike(config, present.config):
            self._maker.prepared = Prepared(config, present.protection, present.account)
            self._outbox.put(self._maker.prepared)

    def _prepare_anew(self, file: Path) -> Prepared:
        """Prepare what the files say once they are still; if they change meanwhile, they are looked at again."""
        config = self._watched = load_usable(file)
        if not is_settled(stamps_of(watched_files(config)), config.table.settle):
            self._take_without_table(config)
        try:
            self._stamps[1:] = wait_until_settled(watched_files(config), config.table.settle)
        except UnsettledError:
            self._stamps = []
            raise
        prepared = prepare(config)
        if _stamps(config)[1:] != self._stamps[1:]:
            raise UnsettledError("table: a file changed while it was read; it is read again once it is still")
        return prepared


def _decides_alike(config: Config, other: Config) -> bool:
    """Tell whether the same queries are sent under two configurations, whoever may ask them."""
    parts = ("table", "privacy", "ledger", "providers", "routes")
    same = all(getattr(config, name) == getattr(other, name) for name in parts)
    return same and {each.protect for each in config.people} <= {each.protect for each in other.people}


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


def _stamps(config: Config) -> Stamps:
    """Return the stamps of the configuration and of what it is made ready from, in this order."""
    return stamps_of([config.file, *watched_files(config)])


def _files_of(stamps: Stamps) -> list[int | None]:
    """Return which files the auxiliary table and the ladders are: one that was replaced is another."""
    return [stamp.inode if stamp else None for stamp in stamps[1:]]
