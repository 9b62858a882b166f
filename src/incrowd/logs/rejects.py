"""The lines that could not be read: counted by reason, and kept for a rejects file."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incrowd.core.atomic import atomic_write, private_file
from incrowd.core.types import Ints64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from incrowd.logs.store import Store

__all__ = ["Rejects", "write_rejects"]

_SCHEMA = pa.schema([("line", pa.int64()), ("reason", pa.string()), ("text", pa.string())])
_FLUSH_AT = 50_000
_FIRST_OF_EACH = "QUALIFY row_number() OVER (PARTITION BY reason ORDER BY line) <= {first}"


class Rejects:
    """Lines left out of a log, with the reason for each.

    Parameters
    ----------
    store
        Where they wait; memory holds only the latest. Without it they wait in memory until they are taken.
    keep_text
        Whether to keep the lines' text too. It is private: by default only numbers and reasons are kept.

    Attributes
    ----------
    counts
        How many lines were left out for each reason.
    part
        The name of the file that is being read, where there are several; see `begin_part`.
    """

    def __init__(self, store: Store | None = None, *, keep_text: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.part: str | None = None
        self.keep_text = keep_text
        self._store = store
        self._waiting: list[tuple[int, str, str | None]] = []
        if store is not None:
            store.run("CREATE TABLE rejects (file VARCHAR, line BIGINT, reason VARCHAR, text VARCHAR)")

    def __len__(self) -> int:
        return self.counts.total()

    def __repr__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.counts.items()))
        return f"Rejects({len(self):,} lines{': ' if reasons else ''}{reasons})"

    def add(self, line: int, reason: str, text: str | None = None) -> None:
        """Leave one line out."""
        self.counts[reason] += 1
        self._waiting.append((line, reason, text if self.keep_text else None))
        if len(self._waiting) >= _FLUSH_AT:
            self._flush()

    def add_many(self, lines: Ints64, reason: str, texts: Sequence[str] | None = None) -> None:
        """Leave several lines out for one reason."""
        for index, line in enumerate(lines.tolist()):
            self.add(line, reason, texts[index] if texts else None)

    def begin_part(self, name: str) -> None:
        """Let the lines that follow be of another file."""
        self._flush()
        self.part = name

    def _flush(self) -> None:
        if self._store is not None and self._waiting:
            taken = self.take()
            names = pa.array([self.part] * len(taken), pa.string())
            self._store.insert("rejects", taken.add_column(0, "file", names))

    def take(self) -> pa.Table:
        """Return the lines that wait in memory, which then holds none."""
        waiting, self._waiting = self._waiting, []
        columns = zip(*waiting, strict=True) if waiting else ([], [], [])
        arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
        return pa.table(arrays, schema=_SCHEMA)

    def rows(self, *, first: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the lines that wait in the store, ordered by file and line; with `first`, at most so many for each reason."""
        if self._store is not None:
            self._flush()
            some = "" if first is None else _FIRST_OF_EACH.format(first=int(first))
            for batch in self._store.batches(f"SELECT * FROM rejects {some} ORDER BY file, line, reason"):  # noqa: S608 (a number)
                yield from batch.to_pylist()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the lines to a file (mode 0600), ordered by line; see :func:`write_rejects`."""
        write_rejects(path, self.rows())


def write_rejects(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line (mode 0600): the number, the reason, and the file and the text where they are known."""
    with atomic_write(Path(path)) as draft, private_file(draft).open("w", encoding="utf-8") as file:
        for row in rows:
            known = {name: value for name, value in row.items() if value is not None}
            file.write(json.dumps(known, ensure_ascii=False) + "\n")
