"""The parent process: it prepares the state, starts the workers, serves their metrics, and reloads.

Only the parent reads the configuration. When the file, the auxiliary table or a ladder changes, or SIGHUP arrives, it
prepares a new state; if that fails the old one stays in use and the log says why. If it succeeds, the workers take it over
between two requests, and no connection is lost. A table that is being written is read only after it has settled.
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

from incrowd.core.left_out import leave_out_unused
from incrowd.core.parent import end_with_parent
from incrowd.core.temporary import private_directory
from incrowd.errors import IncrowdError
from incrowd.gateway.config.settings import Config
from incrowd.gateway.config.usable import check_address, check_server_tls, load_usable
from incrowd.gateway.ops.log import GRANIAN_LOGGING, EventLog, LineWriter, install
from incrowd.gateway.ops.metrics import GatewayMetrics, start_metrics
from incrowd.gateway.server.app import Gateway
from incrowd.gateway.server.connections import (
    Connections,
    Limits,
    limits_of,
    most_descriptors,
    too_few_descriptors,
)
from incrowd.gateway.server.handover import Inbox, Outbox
from incrowd.gateway.server.prepared import Prepared, prepare, source_files, unprepared
from incrowd.gateway.server.processes import log_ended_workers
from incrowd.gateway.server.stamps import Stamp, UnsettledError, is_settled, stamps_of, wait_until_settled

__all__ = ["run_gateway"]

Stamps: TypeAlias = list[Stamp | None]

LOOK_INTERVAL = 1.0
STOP_TIMEOUT = 30
BACKLOG = 4096


def run_gateway(file: Path) -> None:
    """Serve until stopped."""
    config = load_usable(file)
    check_address(config.listen, "listen")
    check_server_tls(config.listen)
    # Workers are spawned, not forked: a fork would copy locks that threads hold.
    multiprocessing.set_start_method("spawn", force=True)
    event_log = EventLog(config.log, LineWriter().write)
    undo = install(event_log)
    try:
        with private_directory() as directory:
            Parent(config, event_log, directory).serve()
    finally:
        undo()


OLD_STATE = UnsettledError("the auxiliary table was just replaced; the new state follows in a moment")


@dataclass
class WorkerFactory:
    """Creates the application of a worker process. It is pickled with the state it has at that time.

    Parameters
    ----------
    prepared
        The newest valid state.
    inbox
        Where the worker finds newer states.
    metrics
        Where the worker writes its counts; None without metrics.
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
        """Pickle the state separately, so that it can fail to load without failing the factory."""
        empty = unprepared(self.prepared.config, OLD_STATE)
        return vars(self) | {"prepared": empty, "pickled": pickle.dumps(self.prepared)}

    def unpickle_state(self) -> Self:
        """Load the state. If its cubes were just replaced, nothing is sent until the parent hands over a new state."""
        pickled: bytes | None = vars(self).pop("pickled", None)
        if pickled is not None:
            try:
                self.prepared = pickle.loads(pickled)  # noqa: S301 - from our parent
            except IncrowdError:
                self.inbox.seen = None
        return self

    def __call__(self) -> Gateway:
        """Create the application, in a process of its own."""
        end_with_parent(self.parent)
        leave_out_unused()
        self.unpickle_state()
        config = self.prepared.config
        event_log = EventLog(config.log, LineWriter().write)
        install(event_log)
        try:
            if self.prepared.protection:
                self.prepared.protection.compile(config.people[0].protect)
            meters = GatewayMetrics(self.metrics)
            gateway = Gateway(self.prepared, self.inbox, meters, event_log)
            Connections(gateway.answering, config.listen.port, self.limits, meters, event_log).start()
            return gateway  # noqa: TRY300 - any of this may fail
        except Exception as error:  # noqa: BLE001 - else the traceback would be printed, with its message
            event_log.failure("worker_failed", error)
            sys.exit(1)


class Parent:
    """The server, and a thread that reloads it when its files change.

    Parameters
    ----------
    config
        The first configuration.
    event_log
        The parent's log.
    directory
        A private directory, where workers write their counts and find new states.
    """

    def __init__(self, config: Config, event_log: EventLog, directory: Path) -> None:
        listen, limits = config.listen, limits_of(config.listen, most_descriptors())
        self._server = Granian(
            "incrowd gateway",
            address=listen.host,
            port=listen.port,
            interface=Interfaces.ASGI,
            workers=listen.workers,
            loop=Loops.uvloop,
            # With HTTP/2 the server could not close silent connections.
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
        self._server.on_startup(self._listen_for_signals)  # after it has set its own handlers
        self._event_log = event_log
        self._reload_now, self._stopping = threading.Event(), threading.Event()
        self._outbox = Outbox(directory / "state")
        metrics = directory / "metrics" if config.metrics else None
        self._config, self._stamps = config, _stamps(config)
        self._may_be_half_read = not is_settled(self._stamps[1:], config.table.settle)
        self._factory = WorkerFactory(self._first_state(config), Inbox(directory / "state"), metrics, limits)
        if shortage := too_few_descriptors(listen, limits):
            event_log.warning("few_descriptors", reason=shortage)

    def serve(self) -> None:
        """Serve until stopped."""
        config, metrics = self._factory.prepared.config, self._factory.metrics
        if config.metrics and metrics:
            start_metrics(config.metrics.host, config.metrics.port, metrics)
        self._meters = GatewayMetrics(metrics)
        threading.Thread(target=self._poll_files, name="reload", daemon=True).start()
        log_ended_workers(self._event_log, self._stopping)
        self._event_log.info("starting", host=config.listen.host, port=config.listen.port)
        self._server.serve(target_loader=self._factory, wrap_loader=False)
        self._event_log.info("stopped")

    def _listen_for_signals(self) -> None:
        """Reload on SIGHUP, on which the server itself would replace its workers; record that the gateway stops."""
        signal.signal(signal.SIGHUP, lambda *_: self._reload_now.set())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop_handler(signal.getsignal(number)))

    def _stop_handler(self, handler: Any) -> Callable[[int, FrameType | None], None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self._stopping.set()
            if callable(handler):
                handler(number, frame)

        return stop

    def _first_state(self, config: Config) -> Prepared:
        """Prepare the state, or start without the auxiliary table: requests get an error, and nothing is sent."""
        try:
            return prepare(config)
        except IncrowdError as error:
            self._event_log.error("not_ready", reason=str(error))
            return unprepared(config, error)

    def _poll_files(self) -> None:
        while True:
            requested = self._reload_now.wait(LOOK_INTERVAL)
            self._reload_now.clear()
            stamps = _stamps(self._config)
            if requested or stamps != self._stamps:
                self._reload_state(stamps)
            elif self._may_be_half_read:
                self._may_be_half_read = not is_settled(stamps[1:], self._config.table.settle)

    def _current_state(self, stamps: Stamps) -> Prepared:
        """Return the current state, or an empty one if a table that was new at the start is still being written."""
        present = self._factory.prepared
        same_files = _files_of(stamps) == _files_of(self._stamps)
        if self._may_be_half_read and same_files and stamps[1:] != self._stamps[1:] and present.protection:
            error = UnsettledError(
                "table: a file was written to while the gateway started; waiting until it has settled"
            )
            self._factory.prepared = present = unprepared(present.config, error)
            self._outbox.put(present)
            self._event_log.error("not_ready", reason=str(error))
        return present

    def _reload_state(self, stamps: Stamps) -> None:
        """Prepare a state from the files, and hand it to the workers if it is valid; never raises."""
        before, prepared = self._factory.prepared, None
        try:
            before = self._current_state(stamps)
            self._stamps = stamps
            prepared = self._prepare_again(before.config.file)
            # First for workers that start from now on: one that starts in between gets the state twice rather than never.
            self._factory.prepared = prepared
            self._outbox.put(prepared)
        except Exception as error:  # noqa: BLE001 - if this thread ended, nothing would be reloaded again
            if self._factory.prepared is prepared:
                self._factory.prepared = before
            self._meters.reloaded(good=False)
            if isinstance(error, IncrowdError):
                self._event_log.error("reload_failed", reason=str(error))
            else:
                self._event_log.failure("reload_failed", error)
            return
        self._may_be_half_read = False
        self._meters.reloaded(good=True)
        self._event_log.info("reloaded", account=prepared.account)
        for name in ("listen", "metrics", "log"):
            if getattr(prepared.config, name) != getattr(before.config, name):
                self._event_log.warning("restart_needed", reason=f"a change of '{name}' needs a restart")

    def _apply_people(self, config: Config) -> None:
        """Apply changes of people and rates without waiting for the table: a revoked key must stop working at once."""
        present = self._factory.prepared
        if present.protection and config != present.config and _decides_alike(config, present.config):
            self._factory.prepared = Prepared(config, present.protection, present.account)
            self._outbox.put(self._factory.prepared)

    def _prepare_again(self, file: Path) -> Prepared:
        """Prepare a state once the files have settled; if they change meanwhile, it fails and is repeated."""
        config = self._config = load_usable(file)
        if not is_settled(stamps_of(source_files(config)), config.table.settle):
            self._apply_people(config)
        try:
            self._stamps[1:] = wait_until_settled(source_files(config), config.table.settle)
        except UnsettledError:
            self._stamps = []
            raise
        prepared = prepare(config)
        if _stamps(config)[1:] != self._stamps[1:]:
            raise UnsettledError(
                "table: a file changed while it was read; it is read again once it has settled"
            )
        return prepared


def _decides_alike(config: Config, other: Config) -> bool:
    """Return whether two configurations send the same for the same queries, regardless of the people."""
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
    """Return the stamps of the configuration file and of the files of its table, in this order."""
    return stamps_of([config.file, *source_files(config)])


def _files_of(stamps: Stamps) -> list[int | None]:
    """Return the inodes of the table and the ladders: a replaced file has another one."""
    return [stamp.inode if stamp else None for stamp in stamps[1:]]
