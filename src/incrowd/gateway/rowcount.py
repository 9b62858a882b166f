"""How many rows the auxiliary table had before: one that has lost more than half of them may be half written.

The number is remembered beside the cubes, so that it is known after a restart too. Where nothing can be written it is
not, and then the first table is believed.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from pathlib import Path

from incrowd.errors import BadInputError
from incrowd.gateway.settings import TableSource

__all__ = ["check_rows", "remember_rows"]

NAME = "rows.json"


def check_rows(source: TableSource, rows: int) -> None:
    """Refuse a table with less than half the rows that the same file had before, unless the configuration allows it."""
    before = _remembered(source.cache / NAME).get(str(source.file), 0)
    if 2 * rows < before and not source.may_shrink:
        raise BadInputError(
            f"table.file: has {rows:,} rows, and had {before:,} before: it may be half written; write it whole under "
            "another name and rename it, or say table.may_shrink: true"
        )


def remember_rows(source: TableSource, rows: int) -> None:
    """Remember the rows of a table that is in use from now on."""
    file = source.cache / NAME
    known = _remembered(file)
    if known.get(str(source.file)) == rows:
        return
    with suppress(OSError):
        source.cache.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{NAME}.{secrets.token_hex(8)}")
        draft.write_text(json.dumps({**known, str(source.file): rows}), encoding="utf-8")
        draft.replace(file)


def _remembered(file: Path) -> dict[str, int]:
    """Return the rows by the table's file; what cannot be read is nothing."""
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict):
        return {}
    return {name: rows for name, rows in known.items() if isinstance(rows, int)}
