"""The ledger of a configuration: opened, made on purpose, checked before anybody asks, and looked after."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.config import Config, LedgerSource, load_config
from incrowd.gateway.journal import Journal
from incrowd.gateway.watch import Watch
from incrowd.online.ledger import Ledger
from incrowd.online.ledgermaking import create_ledger, trust_ledger

__all__ = [
    "Upkeep",
    "init_ledger",
    "keep_up",
    "ledger_problems",
    "note_upkeep",
    "open_ledger",
    "trust_ledger_of",
]


class Upkeep(NamedTuple):
    """What looking after a ledger did.

    Parameters
    ----------
    expired
        How many entries were erased after their time.
    created
        Whether the ledger was used for the first time.
    jump
        By how many seconds the clock was set, which was not counted; 0 if it was not.
    """

    expired: int
    created: bool
    jump: float


def open_ledger(source: LedgerSource, secret: bytes, timeout: float) -> Ledger:
    """Open the ledger that a configuration names; raise a `LedgerError` if it is not as it was left."""
    return Ledger(
        source.file,
        marker=marker_of(source),
        secret=secret,
        time_to_live=source.time_to_live,
        timeout=timeout,
    )


def keep_up(ledger: Ledger, *others: Ledger, expire: bool = True) -> Upkeep:
    """Erase what has expired, and return what has happened to the ledger since the last time; it waits for the disk.

    Parameters
    ----------
    ledger, others
        The connections of a process to one ledger.
    expire
        Whether to erase.
    """
    expired = ledger.expire() if expire else 0
    news = [each.news() for each in (ledger, *others)]
    return Upkeep(expired, any(each.created for each in news), sum(each.jump for each in news))


def note_upkeep(upkeep: Upkeep, watch: Watch, journal: Journal) -> None:
    """Count and log what looking after the ledger did."""
    if upkeep.created:
        watch.ledger_created()
        journal.warning(
            "ledger_created", reason="the ledger is used for the first time: everybody counts as new"
        )
    if upkeep.expired:
        watch.ledger_expired(upkeep.expired)
        journal.info("ledger_expired", count=upkeep.expired)
    if upkeep.jump:
        watch.ledger_clock_jumped()
        journal.warning("ledger_clock_jumped", seconds=upkeep.jump)


def marker_of(source: LedgerSource) -> Path:
    """Return where the marker is."""
    if source.marker is None:
        raise AssertionError  # a loaded configuration has one
    return source.marker


def ledger_problems(config: Config) -> list[str]:
    """Return why the ledger could not be used now, in a line; nothing is made by this."""
    if config.ledger is None:
        return []
    try:
        open_ledger(config.ledger, config.privacy.secret, timeout=1.0).close()
    except IncrowdError as error:
        return [f"ledger: {error}"]
    return []


def init_ledger(file: Path) -> LedgerSource:
    """Make the ledger and the marker that a configuration names; return where they are."""
    config, source = _with_ledger(file)
    create_ledger(source.file, marker=marker_of(source), secret=config.privacy.secret)
    return source


def trust_ledger_of(file: Path) -> LedgerSource:
    """Make a marker for the ledger that a configuration names, as it is; return where they are."""
    config, source = _with_ledger(file)
    trust_ledger(source.file, marker=marker_of(source), secret=config.privacy.secret)
    return source


def _with_ledger(file: Path) -> tuple[Config, LedgerSource]:
    config = load_config(file)
    if config.ledger is None:
        raise BadInputError(f"{file.name}: ledger: there is none; add ledger: {{file: ledger.sqlite}}")
    return config, config.ledger
