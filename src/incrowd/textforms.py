"""A release's records as text: JSON lines, CSV, and baskets."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TextIO

from incrowd.errors import BadInputError, nearest

__all__ = ["TEXT_FORMS", "check_forms", "write_text_form"]

Row = tuple[list[str], list[int]]


def _write_jsonl(rows: Iterable[Row], out: TextIO) -> None:
    lines = (json.dumps({"items": items, "counts": counts}, ensure_ascii=False) for items, counts in rows)
    out.writelines(line + "\n" for line in lines)


def _write_csv(rows: Iterable[Row], out: TextIO) -> None:
    """Write one line per published item: record number (from 0), item, count."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["record", "item", "count"])
    for number, (items, counts) in enumerate(rows):
        writer.writerows((number, item, count) for item, count in zip(items, counts, strict=True))


def _write_dat(rows: Iterable[Row], out: TextIO) -> None:
    """Write one record per line, items repeated as often as they count, blanks in labels as underscores."""
    for items, counts in rows:
        tokens = ("_".join(item.split()) for item in items)
        out.write(
            " ".join(" ".join([token] * count) for token, count in zip(tokens, counts, strict=True)) + "\n"
        )


TEXT_FORMS: Mapping[str, Callable[[Iterable[Row], TextIO], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "dat": _write_dat,
}


def check_forms(forms: Iterable[str]) -> None:
    """Refuse a text form that does not exist."""
    for form in forms:
        if form not in TEXT_FORMS:
            raise BadInputError(
                f"write: '{form}' is unknown; choose from {', '.join(TEXT_FORMS)}{nearest(form, TEXT_FORMS)}"
            )


def write_text_form(directory: Path, form: str, rows: Iterable[Row]) -> None:
    """Write ``records.FORM`` into a release."""
    with (directory / f"records.{form}").open("w", encoding="utf-8", newline="") as out:
        TEXT_FORMS[form](rows, out)
