"""The state of the workers: a checked configuration, and a protection with the auxiliary table.

The parent process prepares it once; each worker gets it by pickle. A cube is pickled as the name of its file, so that
all workers share the same pages of memory.

The number of rows of the auxiliary table is stored in the cubes' directory: a table that has lost more than half of its
rows may be incomplete, also after a restart. If the number cannot be stored, the first table is accepted.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from incrowd.errors import BadInputError, IncrowdError
from incrowd.gateway.config.config import check_against
from incrowd.gateway.config.rules import policies_in_use
from incrowd.gateway.config.settings import Config, TableSource
from incrowd.generalizer.counters import choose_counter, describe
from incrowd.generalizer.protection import Protection
from incrowd.generalizer.schema import AuxiliaryTable
from incrowd.generalizer.tables import load_auxiliary

__all__ = [
    "Prepared",
    "checked_table",
    "prepare",
    "protected_names",
    "source_files",
    "templates",
    "unprepared",
]

ROWS_FILE = "rows.json"


@dataclass(frozen=True)
class Prepared:
    """A configuration with the auxiliary table it needs.

    Parameters
    ----------
    config
        The checked configuration.
    protection
        The protection; None if the auxiliary table cannot be used: then nothing may be sent.
    account
        One line for the log: how rows are counted, or why they cannot be.
    """

    config: Config = field(repr=False)
    protection: Protection | None = field(repr=False)
    account: str


def prepare(config: Config) -> Prepared:
    """Load the auxiliary table, check the configuration against it, and build the counter."""
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
    _remember_rows(source, table.rows)
    return Prepared(config, protection, describe(counter))


def checked_table(config: Config) -> AuxiliaryTable:
    """Load the auxiliary table, and refuse one that may be incomplete or does not fit the configuration."""
    source = config.table
    table = load_auxiliary(
        source.file,
        names=source.attributes,
        columns=source.columns,
        domains=source.domains,
        ladders=source.ladders,
    )
    _check_rows(source, table.rows)
    check_against(config, table.schema)
    return table


def unprepared(config: Config, error: IncrowdError) -> Prepared:
    """Return a state without a protection, in which nothing is sent."""
    return Prepared(config, None, str(error))


def protected_names(config: Config) -> tuple[str, ...]:
    """Return every attribute that some policy protects."""
    return tuple(dict.fromkeys(policy.attribute for _, _, policy in policies_in_use(config)))


def source_files(config: Config) -> list[Path]:
    """Return the files whose change requires a reload."""
    return [config.table.file, *config.table.ladders.values()]


def templates(config: Config) -> list[list[str]]:
    """Return for each route the attributes that its queries may fix."""
    return [
        [parameter.attribute for parameter in route.parameters.values() if parameter.use == "quasi"]
        for route in config.routes
    ]


def _check_rows(source: TableSource, rows: int) -> None:
    """Refuse a table with less than half the rows that the same file had before, unless the configuration allows it."""
    before = _remembered_rows(source.cache / ROWS_FILE).get(str(source.file), 0)
    if 2 * rows < before and not source.may_shrink:
        raise BadInputError(
            f"table.file: has {rows:,} rows, and had {before:,} before: it may be incomplete; write it under "
            "another name and rename it, or set table.may_shrink: true"
        )


def _remember_rows(source: TableSource, rows: int) -> None:
    """Store the number of rows of a table that is used from now on."""
    file = source.cache / ROWS_FILE
    known = _remembered_rows(file)
    if known.get(str(source.file)) == rows:
        return
    with suppress(OSError):
        source.cache.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{ROWS_FILE}.{secrets.token_hex(8)}")
        draft.write_text(json.dumps({**known, str(source.file): rows}), encoding="utf-8")
        draft.replace(file)


def _remembered_rows(file: Path) -> dict[str, int]:
    """Return the number of rows by the table's file; empty if it cannot be read."""
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {name: rows for name, rows in known.items() if isinstance(rows, int)}
