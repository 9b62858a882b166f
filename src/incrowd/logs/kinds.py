"""Items of other kinds than words: what was clicked and shown, when, where, and with what, for each unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.activity import DAY
from incrowd.core.kinds import KINDS, are_typed, plain_texts, typed, typed_texts
from incrowd.core.ragged import list_ids
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError, option
from incrowd.logs.tokens import one_word_each
from incrowd.logs.units import EVENTS_BY_USER, VISITS_BY_UNIT
from incrowd.taxonomy.ladders import clean_items
from incrowd.text.words import TYPED

if TYPE_CHECKING:
    from incrowd.logs.items import Lookup
    from incrowd.logs.store import Store
    from incrowd.logs.tokens import TokenTable
    from incrowd.logs.units import Unit

__all__ = ["add_kinds", "check_kinds", "items_of", "lookup_with_kinds", "moment_seconds", "roles_of"]

# A query's clicks have its person and time, and one person may send two queries in one second.
_BY_PART = f"""
    (SELECT * FROM events JOIN people USING ("user")) AS events
    JOIN {VISITS_BY_UNIT} AS visits USING (person, time, query)
"""  # noqa: S608 (a constant)
_DISTINCT = "SELECT DISTINCT unit, {columns} FROM {units} WHERE {role} <> ''"
_MOMENTS = (
    "SELECT DISTINCT unit, floor(time / {seconds})::BIGINT AS moment FROM {units} WHERE time IS NOT NULL"
)
_STYLES = {"hour": "%H:00", "day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # calendars have years from 1 to 9999


def roles_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the roles of the columns that kinds take."""
    return tuple(dict.fromkeys(KINDS[kind].role for kind in kinds))


def check_kinds(kinds: Sequence[str], unit: Unit, roles: Sequence[str], *, has_times: bool) -> None:
    """Refuse kinds that the input has no column for, or whose items cannot be told from those of a person's other units."""
    for kind in kinds:
        role = KINDS[kind].role
        if role not in roles:
            raise BadInputError(
                f"kinds {kind} needs a column for the {role}: choose one ({option('columns', {role: 'NAME'})}), or drop {kind}"
            )
    if kinds and unit.is_part and not has_times:
        raise BadInputError(
            f"{option('kinds')} needs times to separate one {unit.kind} from the next: choose a time column ({option('columns', {'time': 'NAME'})}) or {option('unit', 'user')}"
        )


def add_kinds(
    store: Store, tokens: TokenTable, unit: Unit, kinds: Sequence[str], columns: Sequence[str]
) -> None:
    """Write the items of other kinds of every unit, each once; the tables `units` and `events` exist."""
    for kind in kinds:
        for units, items in _items(store, unit, kind, columns):
            tokens.add(units, one_word_each(typed_texts(kind, items)))


def _items(store: Store, unit: Unit, kind: str, columns: Sequence[str]) -> Iterator[tuple[Ints32, pa.Array]]:
    """Yield units and items of a kind, as they stand in the log."""
    role = KINDS[kind].role
    if role == "time":
        rows = VISITS_BY_UNIT if unit.is_part else EVENTS_BY_USER
        sql = _MOMENTS.format(seconds=moment_seconds(kind), units=rows)
    else:
        wanted = [role, *(("rank",) if kind == "shown" and "rank" in columns else ())]
        sql = _DISTINCT.format(
            columns=", ".join(wanted), units=_BY_PART if unit.is_part else EVENTS_BY_USER, role=role
        )
    for batch in store.batches(sql):
        units = np.array(batch.column("unit"), np.int32)
        row, items = items_of(kind, batch.columns[1:])
        yield units[row], items


def items_of(kind: str, columns: Sequence[pa.Array]) -> tuple[Ints64, pa.Array]:
    """Return the items of a kind that rows have, and the row of each.

    Parameters
    ----------
    kind
        The kind.
    columns
        What was read for it: texts, of shown addresses with their ranks where these have a column; or moments, numbers of
        :func:`moment_seconds` since 1970.
    """
    if kind in _STYLES:
        return np.arange(len(columns[0])), _moments(kind, columns[0])
    texts = [column.cast(pa.string()) for column in columns]
    return _shown_items(*texts) if kind == "shown" else (np.arange(len(texts[0])), texts[0])


def moment_seconds(kind: str) -> int:
    """Return to how many seconds times are rounded before they become items of a kind."""
    return 3600 if kind == "hour" else DAY


def _moments(kind: str, numbers: pa.Array) -> pa.Array:
    """Return what a calendar calls moments, in UTC; nothing for those that none has."""
    coded = numbers.dictionary_encode()  # there are few
    seconds = np.array(coded.dictionary, np.int64) * moment_seconds(kind)
    known = np.clip(seconds, _FIRST, _LAST)
    names = pc.strftime(pa.array(known, pa.timestamp("s")), format=_STYLES[kind])
    return pc.if_else(pa.array(known == seconds), names, "").take(coded.indices)


def _shown_items(shown: pa.Array, rank: pa.Array | None = None) -> tuple[Ints64, pa.Array]:
    """Return addresses with their ranks, and the row of each: given in a column, or the place among several with blanks between."""
    if rank is not None:
        behind = pc.binary_join_element_wise(shown, rank, " #")
        return np.arange(len(shown)), pc.if_else(pc.match_substring_regex(rank, r"^\d{1,4}$"), behind, shown)
    lists = pc.utf8_split_whitespace(shown)
    offsets = np.array(lists.offsets, dtype=np.int64)
    row = list_ids(offsets - offsets[0])
    place = np.arange(len(row)) - (offsets - offsets[0])[row]
    return row, pc.binary_join_element_wise(lists.flatten(), pc.cast(pa.array(place + 1), pa.string()), " #")


def lookup_with_kinds(lookup: Lookup) -> Lookup:
    """Return a function that maps texts to items as `lookup` does, and items of other kinds to how they are written in one way."""
    return partial(_look_up, lookup=lookup)


def _look_up(texts: pa.StringArray, *, lookup: Lookup) -> pa.Table:
    others = are_typed(texts)
    words = texts.filter(pa.array(~others))
    found = lookup(words)
    tables = [found] if len(words) else []
    rest = texts.filter(pa.array(others))
    for kind in KINDS:
        own = rest.filter(pc.starts_with(rest, typed(kind, "")))
        if len(own):
            tables.append(_cleaned(kind, own))
    return pa.concat_tables([table.cast(_SCHEMA) for table in tables])


def _cleaned(kind: str, texts: pa.StringArray) -> pa.Table:
    items = clean_items(kind, plain_texts(texts))
    return pa.table(
        {"text": texts, "name": typed_texts(kind, items), "kind": np.full(len(texts), TYPED, np.int8)}
    )


_SCHEMA = pa.schema([("text", pa.string()), ("name", pa.string()), ("kind", pa.int8())])
