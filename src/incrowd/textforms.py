"""A release's records as text: JSON lines, CSV, and baskets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from incrowd.errors import check_choice

__all__ = ["TEXT_FORMS", "check_forms", "text_of"]

Row = tuple[Sequence[str], Sequence[int]]


def _jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """Give one JSON object per record."""
    for items, counts in rows:
        yield json.dumps({"items": items, "counts": counts}, ensure_ascii=False) + "\n"


def _csv(rows: Iterable[Row]) -> Iterator[str]:
    """Give one line per published item: record number (from 0), item, count."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["record", "item", "count"])
    for number, (items, counts) in enumerate(rows):
        writer.writerows((number, item, count) for item, count in zip(items, counts, strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _dat(rows: Iterable[Row]) -> Iterator[str]:
    """Give one line per record, items repeated as often as they count, blanks in labels as underscores."""
    for items, counts in rows:
        tokens = ("_".join(item.split()) for item in items)
        yield " ".join(" ".join([token] * count) for token, count in zip(tokens, counts, strict=True)) + "\n"


TEXT_FORMS: Mapping[str, Callable[[Iterable[Row]], Iterator[str]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "dat": _dat,
}


def check_forms(forms: Iterable[str]) -> None:
    """Refuse a text form that does not exist."""
    for form in forms:
        check_choice("write", form, TEXT_FORMS)


def text_of(form: str, rows: Iterable[Row]) -> Iterator[str]:
    """Give the records in a text form, piece by piece."""
    return TEXT_FORMS[form](rows)
