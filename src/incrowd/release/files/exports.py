"""A release's records as text: JSON lines, CSV, and baskets. A class never looks like a word that was typed."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from incrowd.core.kinds import kind_of
from incrowd.errors import check_choice
from incrowd.release.files.records import Label, Record, shown

__all__ = ["TEXT_FORMS", "check_forms", "csv_lines", "safe_cell", "text_of", "token"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def safe_cell(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet runs as a formula: those begin with an apostrophe."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def token(label: Label) -> str:
    """Return a label as one word of a basket: blanks become underscores, and a kind stands in front (``week:2006-W12``)."""
    kind = kind_of(label[0])
    return "_".join(shown(label).split()) if kind is None else f"{kind}:{'_'.join(shown(label).split())}"


def csv_lines(head: Sequence[str], blocks: Iterable[Sequence[Sequence[object]]]) -> Iterator[str]:
    """Give the head and blocks of rows as CSV, a block at a time."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    for rows in blocks:
        writer.writerows(rows)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _jsonl(rows: Iterable[Record]) -> Iterator[str]:
    """Give one JSON object per record."""
    for labels, counts in rows:
        items, exact = [text for text, _ in labels], [exact for _, exact in labels]
        yield json.dumps({"items": items, "exact": exact, "counts": counts}, ensure_ascii=False) + "\n"


def _csv(rows: Iterable[Record]) -> Iterator[str]:
    """Give one line per published item: record number (from 0), item, whether it is the very item, count."""
    lines = (
        [
            (number, safe_cell(shown(label)), str(label[1]).lower(), count)
            for label, count in zip(labels, counts, strict=True)
        ]
        for number, (labels, counts) in enumerate(rows)
    )
    return csv_lines(["record", "item", "exact", "count"], lines)


def _dat(rows: Iterable[Record]) -> Iterator[str]:
    """Give one line per record, items repeated as often as they count, blanks in labels as underscores."""
    for labels, counts in rows:
        words = [[token(label)] * count for label, count in zip(labels, counts, strict=True)]
        yield " ".join(" ".join(some) for some in words) + "\n"


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
