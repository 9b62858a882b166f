"""What the workers are given: a configuration that was checked, and the auxiliary table ready to be asked.

The parent process prepares it once; each worker gets it by pickle. A cube travels as the name of its file, so that
all workers look at the same pages of memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from incrowd.auxiliary import load_auxiliary
from incrowd.errors import IncrowdError
from incrowd.gateway.config import Config, check_against, policies_in_use
from incrowd.gateway.rowcount import check_rows, remember_rows
from incrowd.online.counters import choose_counter, describe
from incrowd.online.protection import Protection
from incrowd.online.schema import AuxiliaryTable

__all__ = [
    "Prepared",
    "checked_table",
    "prepare",
    "protected_names",
    "templates",
    "unprepared",
    "watched_files",
]


@dataclass(frozen=True)
class Prepared:
    """A configuration with the auxiliary table it needs.

    Parameters
    ----------
    config
        The checked configuration.
    protection
        What decides; None if the auxiliary table cannot be used: then nothing may be sent.
    account
        One line for the log: how entropies are counted, or why they cannot be.
    """

    config: Config = field(repr=False)
    protection: Protection | None = field(repr=False)
    account: str


def prepare(config: Config) -> Prepared:
    """Load the auxiliary table, hold the configuration against it, and build what is fast to ask."""
    source, table = config.table, checked_table(config)
    counter = choose_counter(
        table, protected_names(config), memory=source.memory, directory=source.cache, sample=source.sample
    )
    protection = Protection(
        counter,
        strategy=config.privacy.strategy,
        key=config.privacy.secret,
        parts=config.ledger is None or config.ledger.parts,
    )
    protection.warm_up(templates(config), {person.protect for person in config.people})
    remember_rows(source, table.rows)
    return Prepared(config, protection, describe(counter))


def checked_table(config: Config) -> AuxiliaryTable:
    """Load the auxiliary table, and refuse one that may be half written or that the configuration does not fit."""
    source = config.table
    table = load_auxiliary(
        source.file,
        names=source.attributes,
        columns=source.columns,
        domains=source.domains,
        ladders=source.ladders,
    )
    check_rows(source, table.rows)
    check_against(config, table.schema)
    return table


def unprepared(config: Config, error: IncrowdError) -> Prepared:
    """Return a state in which nothing can be decided, so that nothing is sent."""
    return Prepared(config, None, str(error))


def protected_names(config: Config) -> tuple[str, ...]:
    """Return every attribute that somebody protects."""
    return tuple(dict.fromkeys(policy.attribute for _, _, policy in policies_in_use(config)))


def watched_files(config: Config) -> list[Path]:
    """Return the files whose change makes the state anew."""
    return [config.table.file, *config.table.ladders.values()]


def templates(config: Config) -> list[list[str]]:
    """Return for each route the attributes that its queries may fix."""
    return [
        [parameter.attribute for parameter in route.parameters.values() if parameter.use == "quasi"]
        for route in config.routes
    ]
