"""The rows of a log, whatever it was written in: checked, and in one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.text.clean import clean_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from incrowd.logs.rejects import Rejects

__all__ = ["BLANK_LINE", "EVENT_COLUMNS", "Rows", "accept"]

EVENT_COLUMNS = ("user", "time", "query", "url")
BLANK_LINE = "blank line"
_NO_QUERY = "-"  # how AOL's log writes a query that was taken out


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows as they stand in the file.

    Parameters
    ----------
    lines
        Each row's line number.
    user, query, url
        The fields, as text without nulls; `url` is None where the log has none.
    time
        Seconds since 1970, null where the field could not be read; None where the log has no times.
    text_of
        Returns the texts of some rows, for rejects that are kept.
    """

    lines: npt.NDArray[np.int64]
    user: pa.StringArray
    query: pa.StringArray
    time: pa.Int64Array | None
    url: pa.StringArray | None
    text_of: Callable[[npt.NDArray[np.int64]], Sequence[str]]


def accept(rows: Rows, rejects: Rejects) -> pa.Table:
    """Return the good rows as a table of `EVENT_COLUMNS`, in clean text, and put the others among the rejects.

    A row without a query is good: its user stays known, with nothing asked.
    """
    user = pc.utf8_trim_whitespace(clean_texts(rows.user))
    query = clean_texts(rows.query)
    query = pc.if_else(pc.equal(query, _NO_QUERY), "", query)
    nobody = _mask(pc.equal(user, ""))
    no_time = np.zeros(len(user), np.bool_) if rows.time is None else _mask(pc.is_null(rows.time))
    blank = nobody & _mask(pc.equal(query, "")) & (no_time | (rows.time is None))
    _reject(rows, blank, BLANK_LINE, rejects)
    _reject(rows, nobody & ~blank, "no user", rejects)
    _reject(rows, no_time & ~nobody, "unparsable time", rejects)
    bad = nobody | no_time
    time = pa.nulls(len(user), pa.int64()) if rows.time is None else rows.time
    url = pa.nulls(len(user), pa.string()) if rows.url is None else clean_texts(rows.url)
    table = pa.table([user, time, query, url], names=list(EVENT_COLUMNS))
    return table.filter(pa.array(~bad)) if bad.any() else table


def _mask(values: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    return np.array(values, dtype=np.bool_)


def _reject(rows: Rows, which: npt.NDArray[np.bool_], reason: str, rejects: Rejects) -> None:
    chosen = np.flatnonzero(which)
    if len(chosen):
        texts = rows.text_of(chosen) if rejects.keep_text else None
        rejects.add_many(rows.lines[chosen], reason, texts)
