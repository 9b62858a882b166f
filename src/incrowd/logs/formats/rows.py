"""The rows of a log in any format: checked, and in one shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_ids, clean_texts
from incrowd.core.types import Bools, Ints64
from incrowd.logs.formats.columns import MORE_ROLES
from incrowd.text.chinese import segmented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from incrowd.logs.formats.times import Times
    from incrowd.logs.rejects import Rejects

__all__ = ["BLANK_LINE", "EVENT_COLUMNS", "Rows", "accept", "event_columns", "rows_from"]

EVENT_COLUMNS = ("user", "time", "query", "url")
BLANK_LINE = "blank line"
_NO_QUERY = "-"  # how AOL's log writes a removed query


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a file, unchanged.

    Parameters
    ----------
    lines
        Each row's line number.
    user, query, url
        The fields, as text without nulls; `url` is None where the log has none.
    time
        The times as they are written, or seconds since 1970 with nulls where the format has them; None where the log has none.
    text_of
        Returns the texts of some rows, for rejects that are kept.
    more
        Further fields, by their roles.
    """

    lines: Ints64
    user: pa.StringArray
    query: pa.StringArray
    time: pa.StringArray | pa.Int64Array | None
    url: pa.StringArray | None
    text_of: Callable[[Ints64], Sequence[str]]
    more: Mapping[str, pa.StringArray] = field(default_factory=dict)


def rows_from(
    lines: Ints64, columns: Mapping[str, pa.Array], text_of: Callable[[Ints64], Sequence[str]]
) -> Rows:
    """Return rows whose fields are given by their roles."""
    more = {role: columns[role] for role in MORE_ROLES if role in columns}
    return Rows(
        lines, columns["user"], columns["query"], columns.get("time"), columns.get("url"), text_of, more
    )


def event_columns(roles: Iterable[str]) -> list[str]:
    """Return the columns of events that are read from columns of these roles."""
    found = set(roles)
    return [*EVENT_COLUMNS, *(role for role in MORE_ROLES if role in found)]


def accept(rows: Rows, rejects: Rejects, times: Times, *, segment: str | None = None) -> pa.Table:
    """Return the good rows as a table of `event_columns`, in clean text and with seconds, and put the others among the rejects.

    A row without a query is good: its user is kept, without items. With `segment`, queries get blanks between their words.
    """
    user = clean_ids(rows.user)
    query = clean_texts(rows.query)
    query = pc.if_else(pc.equal(query, _NO_QUERY), "", query)
    query = segmented(query) if segment else query
    no_user = _mask(pc.equal(user, ""))
    time = times.read(rows.time) if isinstance(rows.time, pa.StringArray) else rows.time
    no_time = np.zeros(len(user), np.bool_) if time is None else _mask(pc.is_null(time))
    blank = no_user & _mask(pc.equal(query, "")) & (no_time | (time is None))
    _reject(rows, blank, BLANK_LINE, rejects)
    _reject(rows, no_user & ~blank, "no user", rejects)
    _reject(rows, no_time & ~no_user, "unparsable time", rejects)
    bad = no_user | no_time
    time = pa.nulls(len(user), pa.int64()) if time is None else time
    url = pa.nulls(len(user), pa.string()) if rows.url is None else clean_texts(rows.url)
    more = [clean_texts(rows.more[role]) for role in rows.more]
    table = pa.table([user, time, query, url, *more], names=[*EVENT_COLUMNS, *rows.more])
    return table.filter(pa.array(~bad)) if bad.any() else table


def _mask(values: pa.BooleanArray) -> Bools:
    return np.array(values, dtype=np.bool_)


def _reject(rows: Rows, which: Bools, reason: str, rejects: Rejects) -> None:
    chosen = np.flatnonzero(which)
    if len(chosen):
        texts = rows.text_of(chosen) if rejects.keep_text else None
        rejects.add_many(rows.lines[chosen], reason, texts)
