"""Reads data of any kind into a log: frames of other libraries, rows, lists of items, and files."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_ids, clean_texts
from incrowd.core.frames import Frame, frame_of, list_frame, list_of, rows_in
from incrowd.core.kinds import parse_kinds
from incrowd.core.ragged import starts_of
from incrowd.core.types import Bools, Ints64, Progress
from incrowd.errors import BadInputError, check_choice, nearest, option
from incrowd.logs.form import InputForm, read_form
from incrowd.logs.formats.columns import MORE_ROLES, ROLES, find_columns
from incrowd.logs.formats.parquet import as_text, rows_of
from incrowd.logs.formats.rows import Rows, accept
from incrowd.logs.formats.time_styles import (
    check_times_said,
    check_written,
    choose_times,
    undecided,
    which_comes_first,
)
from incrowd.logs.formats.times import Times
from incrowd.logs.input import BASKETS, TABLE
from incrowd.logs.kinds import roles_of
from incrowd.logs.log import Log
from incrowd.logs.read import read_parts
from incrowd.logs.rejects import Rejects
from incrowd.logs.store import Store, make_events
from incrowd.logs.tokens import TokenTable, one_word_each, without_empty_words

__all__ = ["read"]

NAME = "data"
NO_USER, NO_ITEMS = "no user", "no items"
_UNITS = """
    CREATE TABLE units AS
    SELECT (row_number() OVER (ORDER BY owner) - 1)::INTEGER AS unit, owner FROM (SELECT DISTINCT owner FROM baskets)
"""
_ITEMS_BY_UNIT = "SELECT unit, item FROM baskets JOIN units USING (owner) WHERE item <> ''"
Path = str | os.PathLike[str]


def read(
    data: object,
    *,
    user: str | None = None,
    query: str | None = None,
    time: str | None = None,
    url: str | None = None,
    kinds: str | Sequence[str] | None = None,
    items: str | None = None,
    names: Sequence[str] | None = None,
    format: str = "auto",  # noqa: A002 (the name that people expect)
    encoding: str | None = None,
    delimiter: str | None = None,
    time_format: str | None = None,
    day: str | None = None,
    segment: str | None = None,
    by_first_lines: bool = False,
    memory: str | int = "4GB",
    keep_rejected: bool = False,
    progress: Progress | None = None,
    **more: str,
) -> Log:
    """Read a query log, or baskets, from a table, from rows or from files.

    Parameters
    ----------
    data
        A pandas or Polars DataFrame, an Arrow table or anything else that offers Arrow's PyCapsule interface; a mapping of columns;
        rows as mappings, or as tuples with `names`; lists of items, each a basket; a path, or several.
    user, query, time, url
        The columns' names, where they are not the usual ones. Times are datetimes, dates, seconds since 1970 or texts as in files;
        without a zone they are UTC.
    kinds
        Kinds of items that the log will be asked for, as ``"url,week,place"``: their columns are looked for by their usual names.
    items
        For baskets in a table: the column of items, lists or single ones. With `user`, all items of a user are one record, be it a
        person's or a basket's; without it each list is one.
    names
        The names of the columns of rows that are tuples.
    format, encoding, delimiter, time_format, day, segment, by_first_lines, memory, keep_rejected, progress
        See :func:`incrowd.read_log`; the first three are for files. Progress counts rows.
    **more
        Columns for further kinds: `shown` (addresses with blanks between, lists, or one with its `rank`), `place`, `device`, `language`.

    Returns
    -------
    Log
        As :func:`incrowd.read_log` returns it. Rows without a user or a readable time are rejected, and named by their number from 1.
    """
    chosen, form = _said(locals())  # parameters have the names of roles, and those that `read_form` takes
    data = data if _is_path(data) or hasattr(data, "__arrow_c_stream__") else _rows_of(data)
    paths = _paths(data)
    how: dict[str, Any] = {"memory": memory, "keep_rejected": keep_rejected, "progress": progress}
    if paths is not None:
        _check_for_tables(items=items, names=names)
        return read_parts(paths, form, **how)
    if (frame := frame_of(data, names)) is None:
        return _read_frame(_lists(data), "items", chosen, form, **how)
    return _read_frame(frame, items, chosen, form, **how)


def _said(given: Mapping[str, Any]) -> tuple[dict[str, str], InputForm]:
    """Return the columns that were chosen, and how the data are written."""
    for name in given["more"]:
        check_choice("column", name, MORE_ROLES)
    columns = {**given, **given["more"]}
    chosen = {role: str(columns[role]) for role in (*ROLES, *given["more"]) if columns[role] is not None}
    form = read_form({**given, "columns": chosen or None})
    return chosen, replace(form, wanted=roles_of(parse_kinds(given["kinds"])))


def _read_frame(
    frame: Frame,
    items: str | None,
    chosen: Mapping[str, str],
    form: InputForm,
    *,
    memory: str | int,
    keep_rejected: bool,
    progress: Progress | None,
) -> Log:
    _check_for_files(form)
    store = Store(memory)
    try:
        reader = _FrameReader(frame, store, Rejects(store, keep_text=keep_rejected), progress or _ignore)
        if items is None:
            return reader.read_events(chosen, form)
        check_times_said(NAME, form, has_times=False)
        return reader.read_baskets(items, chosen)
    except BaseException:
        store.close()
        raise


def _ignore(*_: int) -> None:
    """Drop what progress tells."""


def _is_path(data: object) -> bool:
    return isinstance(data, (str, os.PathLike))


def _is_there(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path, or a pattern, leads to a file."""
    text = os.fspath(path)
    return glob.has_magic(text) or os.path.lexists(text)


def _rows_of(data: Any) -> Any:
    """Return rows that can be looked at twice, where data is an iterator."""
    return list(data) if isinstance(data, Iterator) else data


def _paths(data: Any) -> Any:
    """Return the path or paths that data is; None if it is none."""
    if _is_path(data):
        return data
    if isinstance(data, (list, tuple)) and data and all(map(_is_path, data)):
        if len(data) > 1 and not any(
            map(_is_there, data)
        ):  # then they may be queries, which no message quotes
            raise BadInputError(
                f"none of the {len(data):,} texts of data is a file: give paths, rows with names, or lists of items"
            )
        return data[0] if len(data) == 1 else list(data)
    return None


def _check_for_tables(*, items: str | None, names: Sequence[str] | None) -> None:
    """Refuse what is said of a table where data is files."""
    if items is not None:
        raise BadInputError(
            f"{option('items')} is for tables and rows: baskets in a file have {option('format', 'dat')}, or read the file as a table first"
        )
    if names is not None:
        raise BadInputError(
            f"{option('names')} is for rows of tuples: choose the columns of a file by name or number (user=1, query=2)"
        )


def _check_for_files(form: InputForm) -> None:
    """Refuse what is said of files where data is a table: it would have no effect."""
    for name in ("format", "encoding", "delimiter"):
        if getattr(form, name) != getattr(InputForm, name):
            raise BadInputError(f"{option(name)} is for files, and data is none: drop it")


def _lists(data: object) -> Frame:
    """Return lists of items as a frame; refuse what is no data at all, and tuples, which may be rows."""
    rows = rows_in(data)
    if rows is None:
        raise BadInputError(
            f"data must be a table, rows or a path (got {type(data).__name__}): give a DataFrame, an Arrow table, or a list of rows"
        )
    if any(isinstance(row, tuple) for row in rows):
        raise BadInputError(
            f"rows of tuples need the names of their columns: give {option('names', ['user', 'query'])}; baskets are lists of items"
        )
    bad = next((number for number, row in enumerate(rows, 1) if list_of(row) is None), None)
    if bad is not None:
        raise BadInputError(
            f"row {bad:,} of data is no list of items: give mappings, lists, or tuples with {option('names')}"
        )
    return list_frame(rows)


class _FrameReader:
    """One reading of one frame."""

    def __init__(self, frame: Frame, store: Store, rejects: Rejects, progress: Progress) -> None:
        self._frame = frame
        self._store = store
        self._rejects = rejects
        self._progress = progress
        self._done = 0

    def read_events(self, chosen: Mapping[str, str], form: InputForm) -> Log:
        """Fill the table `events`, as a file's rows would; the first rows say how texts of times are written."""
        positions = find_columns(self._frame.names, chosen, file=NAME, has_lines=False, wanted=form.wanted)
        make_events(self._store, positions)
        names = {role: self._frame.names[place] for role, place in positions.items()}
        check_times_said(NAME, form, has_times="time" in positions)
        kept = 0
        times: Times | None = None
        waiting: list[Rows] = []  # until a row tells whether the month or the day comes first
        for lines, batch in self._batches(list(positions.values())):
            waiting.append(rows_of(batch, names, lines))
            times = times or _times_of(waiting, form)
            while times and waiting:
                table = accept(waiting.pop(0), self._rejects, times, segment=form.segment)
                self._store.insert("events", table)
                kept += len(table)
        if waiting:
            raise undecided(NAME)
        return self._log(TABLE, kept, roles=tuple(positions))

    def read_baskets(self, items: str, chosen: Mapping[str, str]) -> Log:
        """Fill the tables `units`, `tokens` and `words`, as a file of baskets would; a unit is a row, or a user's rows."""
        others = [role for role in chosen if role != "user"]
        if others:
            raise BadInputError(
                f"baskets have no {others[0]}: give {option('items')} or {option(others[0])}, and not both"
            )
        wanted = [self._place(items, "items")]
        if "user" not in chosen:
            return self._log(BASKETS, self._fill_rows(wanted))
        return self._log(BASKETS, self._fill_users([*wanted, self._place(chosen["user"], "user")]))

    def _fill_rows(self, wanted: Sequence[int]) -> int:
        """Let each row be a unit, called by its number; return how many there are."""
        self._store.run("CREATE TABLE units (unit INTEGER, owner VARCHAR)")
        tokens, kept = TokenTable(self._store), 0
        for lines, batch in self._batches(wanted):
            good = self._reject(lines, pc.is_null(batch.column(0)), NO_ITEMS)
            lists = _item_lists(batch.column(0), batch.schema.names[0]).filter(pa.array(good))
            units = np.arange(kept, kept + len(lists), dtype=np.int32)
            owners = pc.cast(pa.array(lines[good]), pa.string())
            self._store.insert("units", pa.table({"unit": units, "owner": owners}))
            tokens.add(units, lists)
            kept += len(lists)
        return kept

    def _fill_users(self, wanted: Sequence[int]) -> int:
        """Let all rows of a user be a unit; return how many there are."""
        self._store.run("CREATE TABLE baskets (owner VARCHAR, item VARCHAR)")
        for lines, batch in self._batches(wanted):
            user = clean_ids(as_text(batch.column(1), batch.schema.names[1]))
            known = self._reject(lines, pc.equal(user, ""), NO_USER)
            filled = self._reject(lines[known], pc.is_null(batch.column(0)).filter(pa.array(known)), NO_ITEMS)
            good = pa.array(np.flatnonzero(known)[filled])
            user, lists = user.take(good), _item_lists(batch.column(0), batch.schema.names[0]).take(good)
            # An empty item stands for the user alone: a user whose lists are all empty is a unit with nothing.
            owners = pa.concat_arrays([user, user.take(pc.list_parent_indices(lists))])
            texts = pa.concat_arrays([pa.array([""] * len(user), pa.string()), lists.flatten()])
            self._store.insert("baskets", pa.table({"owner": owners, "item": texts}))
        self._store.run(_UNITS)
        tokens = TokenTable(self._store)
        for batch in self._store.batches(_ITEMS_BY_UNIT):
            items = one_word_each(batch.column("item").cast(pa.string()))
            tokens.add(np.array(batch.column("unit"), np.int32), items)
        return int(self._store.row("SELECT count(*) FROM units")[0])

    def _reject(self, lines: Ints64, bad: pa.BooleanArray, reason: str) -> Bools:
        """Reject bad rows; return which are good."""
        good: Bools = ~np.array(bad, dtype=np.bool_)
        self._rejects.add_many(lines[~good], reason)
        return good

    def _place(self, name: str, role: str) -> int:
        """Return where the column of a name is."""
        found = [place for place, other in enumerate(self._frame.names) if other == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInputError(f"{NAME} has {len(found)} columns '{name}': rename all but one")
        hint = nearest(name, self._frame.names)
        raise BadInputError(f"{NAME} has no column '{name}'{hint}: name another ({option(role, 'NAME')})")

    def _batches(self, positions: Sequence[int]) -> Iterator[tuple[Ints64, pa.RecordBatch]]:
        """Yield some columns in plain types, with the rows' numbers."""
        for batch in self._frame.batches(positions):
            lines = np.arange(self._done + 1, self._done + len(batch) + 1)
            yield (
                lines,
                pa.record_batch([_plain(column) for column in batch.columns], names=batch.schema.names),
            )
            self._done += len(batch)
            self._progress(self._done, max(self._done, self._frame.rows or 0))

    def _log(self, form: str, kept: int, *, roles: tuple[str, ...] = ()) -> Log:
        if not self._done:
            raise BadInputError(f"{NAME} has no rows: give some")
        return Log(
            name=NAME,
            format=form,
            store=self._store,
            rejects=self._rejects,
            rejected=self._rejects.counts,
            lines=self._done,
            bad_bytes=0,
            has_times="time" in roles,
            rows=kept,
            roles=roles,
        )


def _times_of(waiting: Sequence[Rows], form: InputForm) -> Times | None:
    """Tell how the times are written, where they are texts, by the first rows; None if these and the last leave it open."""
    first, last = waiting[0].time, waiting[-1].time
    if not isinstance(first, pa.StringArray):
        check_written(NAME, form)
        return Times()
    times = choose_times({NAME: first}, form) if len(waiting) == 1 else None
    style = None if times or form.by_first_lines else which_comes_first([last])
    return times if style is None else Times(style)


def _plain(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary and without views, of which Arrow cannot take values."""
    if pa.types.is_dictionary(column.type):
        return _plain(column.dictionary).take(column.indices)
    return column.cast(pa.string()) if pa.types.is_string_view(column.type) else column


def _item_lists(values: pa.Array, name: str) -> pa.ListArray:
    """Return the items of each row, which has a list of them, or one; nothing where it has none."""
    kind = values.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return one_word_each(_clean(values, name))
    texts = _clean(_plain(values.flatten()), name)
    lengths = np.array(pc.fill_null(pc.list_value_length(values), 0), dtype=np.int64)
    return without_empty_words(pa.ListArray.from_arrays(pa.array(starts_of(lengths), pa.int32()), texts))


def _clean(column: pa.Array, name: str) -> pa.StringArray:
    return pc.utf8_trim_whitespace(clean_texts(as_text(column, name)))
