"""A release's records as text: JSON lines, CSV, and baskets. A class never looks like a word that was typed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from incrowd.errors import check_choice
from incrowd.release.files.records import Record, shown

__all__ = ["TEXT_FORMS", "check_forms", "safe_cell", "text_of"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def safe_cell(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet runs as a formula: those begin with an apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _jsonl(rows: Iterable[Record]) -> Iterator[str]:
    """Give one JSON object per record."""
    for labels, counts in rows:
        items, exact = [text for text, _ in labels], [exact for _, exact in labels]
        yield json.dumps({"items": items, "exact": exact, "counts": counts}, ensure_ascii=False) + "\n"


def _csv(rows: Iterable[Record]) -> Iterator[str]:
    """Give one line per published item: record number (from 0), item, whether it is the very item, count."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["record", "item", "exact", "count"])
    for number, (labels, counts) in enumerate(rows):
        for label, count in zip(labels, counts, strict=True):
            writer.writerow((number, safe_cell(shown(label)), str(label[1]).lower(), count))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _dat(rows: Iterable[Record]) -> Iterator[str]:
    """Give one line per record, items repeated as often as they count, blanks in labels as underscores."""
    for labels, counts in rows:
        tokens = ("_".join(shown(label).split()) for label in labels)
        yield " ".join(" ".join([token] * count) for token, count in zip(tokens, counts, strict=True)) + "\n"


TEXT_FORMS: Mapping[str, Callable[[Iterable[Record]], Iterator[str]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "dat": _dat,
}


def check_forms(forms: Iterable[str]) -> None:
    """Refuse a text form that does not exist."""
    for form in forms:
        check_choice("write", form, TEXT_FORMS)


def text_of(form: str, rows: Iterable[Record]) -> Iterator[str]:
    """Give the records in a text form, piece by piece."""
    return TEXT_FORMS[form](rows)
