"""The ledger of a configuration: opened, created on request, checked before use, and maintained."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.config.config import load_config
from incrowd.gateway.config.settings import Config, LedgerSource
from incrowd.gateway.ops.log import EventLog
from incrowd.gateway.ops.metrics import GatewayMetrics
from incrowd.generalizer.ledger.ledger import Ledger
from incrowd.generalizer.ledger.store import create_ledger, trust_ledger

__all__ = [
    "Upkeep",
    "init_ledger",
    "ledger_problems",
    "maintain",
    "open_ledger",
    "report_upkeep",
    "trust_ledger_of",
]


class Upkeep(NamedTuple):
    """The result of maintaining a ledger.

    Parameters
    ----------
    expired
        How many expired entries were erased.
    created
        Whether the ledger was used for the first time.
    jump
        By how many seconds the wall clock jumped, which the ledger's time ignored; 0 if it did not.
    """

    expired: int
    created: bool
    jump: float


def open_ledger(source: LedgerSource, secret: bytes, timeout: float) -> Ledger:
    """Open the ledger that a configuration names; raise a `LedgerError` if it does not match its marker."""
    return Ledger(
        source.file,
        marker=marker_of(source),
        secret=secret,
        time_to_live=source.time_to_live,
        timeout=timeout,
    )


def maintain(ledger: Ledger, *others: Ledger, expire: bool = True) -> Upkeep:
    """Erase expired entries, and return what happened to the ledger since the last call; it waits for the disk.

    Parameters
    ----------
    ledger, others
        The connections of a process to one ledger.
    expire
        Whether to erase.
    """
    expired = ledger.expire() if expire else 0
    events = [each.take_events() for each in (ledger, *others)]
    return Upkeep(expired, any(each.created for each in events), sum(each.jump for each in events))


def report_upkeep(upkeep: Upkeep, meters: GatewayMetrics, event_log: EventLog) -> None:
    """Count and log the result of maintenance."""
    if upkeep.created:
        meters.ledger_created()
        event_log.warning(
            "ledger_created", reason="the ledger is used for the first time: it has no past disclosures"
        )
    if upkeep.expired:
        meters.ledger_expired(upkeep.expired)
        event_log.info("ledger_expired", count=upkeep.expired)
    if upkeep.jump:
        meters.ledger_clock_jumped()
        event_log.warning("ledger_clock_jumped", seconds=upkeep.jump)


def marker_of(source: LedgerSource) -> Path:
    """Return the path of the marker."""
    if source.marker is None:
        raise AssertionError  # a loaded configuration has one
    return source.marker


def ledger_problems(config: Config) -> list[str]:
    """Return why the ledger could not be used now, in one line; this creates nothing."""
    if config.ledger is None:
        return []
    try:
        open_ledger(config.ledger, config.privacy.secret, timeout=1.0).close()
    except IncrowdError as error:
        return [f"ledger: {error}"]
    return []


def init_ledger(file: Path) -> LedgerSource:
    """Create the ledger and the marker that a configuration names; return their paths."""
    config, source = _with_ledger(file)
    create_ledger(source.file, marker=marker_of(source), secret=config.privacy.secret)
    return source


def trust_ledger_of(file: Path) -> LedgerSource:
    """Create a marker for the existing ledger that a configuration names; return their paths."""
    config, source = _with_ledger(file)
    trust_ledger(source.file, marker=marker_of(source), secret=config.privacy.secret)
    return source


def _with_ledger(file: Path) -> tuple[Config, LedgerSource]:
    config = load_config(file)
    if config.ledger is None:
        raise BadInputError(f"{file.name}: ledger: there is none; add ledger: {{file: ledger.sqlite}}")
    return config, config.ledger
