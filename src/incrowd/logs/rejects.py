"""The lines that could not be read: counted by reason, and kept for a rejects file."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from incrowd.folder import appearing, private_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from incrowd.logs.store import Store

__all__ = ["Rejects"]

_FLUSH_AT = 50_000


class Rejects:
    """Lines left out of a log, with the reason for each.

    Parameters
    ----------
    store
        Where they wait; memory holds only the latest.
    keep_text
        Whether to keep the lines' text too. It is private: by default only numbers and reasons are kept.

    Attributes
    ----------
    counts
        How many lines were left out for each reason.
    """

    def __init__(self, store: Store, *, keep_text: bool = False) -> None:
        self.counts: Counter[str] = Counter()
        self.keep_text = keep_text
        self._store = store
        self._waiting: list[tuple[int, str, str | None]] = []
        store.run("CREATE TABLE rejects (line BIGINT, reason VARCHAR, text VARCHAR)")

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

    def add_many(self, lines: npt.NDArray[np.int64], reason: str, texts: Sequence[str] | None = None) -> None:
        """Leave several lines out for one reason."""
        for index, line in enumerate(lines.tolist()):
            self.add(line, reason, texts[index] if texts else None)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON object a line, ordered by line: number and reason, and the text if it was kept (mode 0600)."""
        self._flush()
        with appearing(Path(path)) as draft, private_file(draft).open("w", encoding="utf-8") as file:
            for batch in self._store.batches("SELECT * FROM rejects ORDER BY line, reason"):
                for row in batch.to_pylist():
                    kept = row if row["text"] is not None else {"line": row["line"], "reason": row["reason"]}
                    file.write(json.dumps(kept, ensure_ascii=False) + "\n")

    def _flush(self) -> None:
        if self._waiting:
            lines, reasons, texts = zip(*self._waiting, strict=True)
            types = (pa.int64(), pa.string(), pa.string())
            columns = [
                pa.array(values, type_) for values, type_ in zip((lines, reasons, texts), types, strict=True)
            ]
            self._store.insert("rejects", pa.table(columns, names=["line", "reason", "text"]))
            self._waiting.clear()
