"""The tables of a release: made from its directory, held in memory, written atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from incrowd.core.atomic import atomic_write, check_free
from incrowd.core.shown import html_table
from incrowd.core.tabular import Tabular
from incrowd.errors import BadInputError, check_choice, check_least
from incrowd.release.files.exports import safe_cell
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.noisy_list import ListManifest
from incrowd.release.files.records import shown, write_parquet
from incrowd.release.files.tiles import TileManifest, open_tiles
from incrowd.release.tables.dictionary import (
    TITLE,
    about_lists,
    about_records,
    about_tiles,
    column_note,
    readme,
    table_note,
)
from incrowd.release.tables.of_records import tables_of_list, tables_of_records
from incrowd.release.tables.of_tiles import tables_of_tiles
from incrowd.release.tables.sets import Counting, TileSets

__all__ = ["FORMS", "TOP", "ReleaseTable", "Tables", "is_tables", "tables"]

TOP = 1_000
FORMS = ("parquet", "csv")
README = "README.md"
_SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False)
class ReleaseTable(Tabular):
    """One of the tables of a release.

    Parameters
    ----------
    name
        What it is called.
    rows
        Its rows.
    notes
        What each column is.
    """

    name: str
    rows: pa.Table
    notes: Mapping[str, str]

    def table(self) -> pa.Table:
        """Return it as an Arrow table."""
        return self.rows

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        return f"ReleaseTable({self.name}: {len(self):,} rows of {', '.join(self.rows.column_names)})"

    def _repr_html_(self) -> str:
        first = [list(row.values()) for row in self.rows.slice(0, _SHOWN).to_pylist()]
        return html_table(f"{table_note(self.name)} {len(self):,} rows.", first, self.rows.column_names)


class Tables(Mapping[str, ReleaseTable]):
    """The tables of a release by name: ``tables["pairs"].to_pandas()``.

    Parameters
    ----------
    found
        The tables.
    words, about
        What is promised of the release, and how its numbers are to be read.
    of_records
        Whether the release is one of records.
    """

    def __init__(
        self, found: Mapping[str, pa.Table], words: str, about: Sequence[str], *, of_records: bool = False
    ) -> None:
        self.words, self.about, self._of_records = words, tuple(about), of_records
        self._found = {
            name: ReleaseTable(
                name, rows, {one: column_note(name, one, of_records=of_records) for one in rows.column_names}
            )
            for name, rows in found.items()
        }

    def __getitem__(self, name: str) -> ReleaseTable:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Tables({', '.join(f'{name}: {len(table):,} rows' for name, table in self.items())})"

    @property
    def readme(self) -> str:
        """The data dictionary."""
        rows = {name: (len(table), table.rows.column_names) for name, table in self.items()}
        return readme(self.words, self.about, rows, of_records=self._of_records)

    def write(
        self, path: str | os.PathLike[str], *, forms: Sequence[str] = FORMS, force: bool = False
    ) -> dict[str, list[Path]]:
        """Write all tables and the data dictionary to a directory, which appears only when it is whole.

        Parameters
        ----------
        path
            The directory to make.
        forms
            Any of ``parquet`` and ``csv``.
        force
            Replace tables that are there already (and nothing else).

        Returns
        -------
        dict
            The files of each table.
        """
        path = Path(path)
        forms = _checked(forms)
        check_free(path, force=force, ours=is_tables, what="output directory")
        with atomic_write(path, replaces=is_tables if force else None) as draft:
            draft.mkdir()
            for name, table in self.items():
                for form in forms:
                    _WRITERS[form](draft / f"{name}.{form}", table.rows)
            (draft / README).write_text(self.readme, encoding="utf-8")
        return {name: [path / f"{name}.{form}" for form in forms] for name in self}


def tables(directory: str | os.PathLike[str], *, top: int = TOP) -> Tables:
    """Return what analysts want out of a release, as tables made from its files alone.

    Of tiles: ``items`` (units and people of each label), ``pairs`` (in how many units two items are together: certain, estimated
    and within which bounds), and where there are other kinds of labels ``item_url`` and the like, and ``trends`` over days, weeks or
    months. Of records: ``items`` and ``pairs``. Of a noisy list: ``items``. The release is not audited: ``incrowd.audit`` does that.

    Parameters
    ----------
    directory
        The release.
    top
        How many pairs are listed for their estimates alone, besides all that have a common tile; and for how many items trends have all
        periods. Of records, how many pairs are listed.

    Returns
    -------
    Tables
        A mapping of names to tables, with ``write``; each has ``to_pandas``, ``to_polars`` and ``table`` (Arrow).
    """
    directory = Path(directory)
    check_least("top", top)
    form = format_of(directory)
    if form == TILES_FORMAT:
        return _of_tiles(directory, top)
    if form == LIST_FORMAT:
        listed: ListManifest = read_manifest(directory, ListManifest)
        found = tables_of_list(directory, listed.parameters.form)
        return Tables(found, listed.claim.in_words, about_lists(listed.parameters))
    claim = read_manifest(directory, Manifest).claim
    about = about_records(is_class=claim.speaks_of == "class")
    return Tables(tables_of_records(directory, top), claim.in_words, about, of_records=True)


def _of_tiles(directory: Path, top: int) -> Tables:
    """Return the tables of a release of tiles."""
    manifest: TileManifest = read_manifest(directory, TileManifest)
    tiles = open_tiles(directory)
    counting = Counting.of(manifest, tiles)
    found = tables_of_tiles(TileSets.of(tiles, counting), top)
    return Tables(found, manifest.claim.in_words, about_tiles(counting))


def is_tables(path: Path) -> bool:
    """Tell whether a directory holds tables and nothing else."""
    try:
        names = {file.name for file in path.iterdir() if file.is_file()}
        known = all(name == README or Path(name).suffix.removeprefix(".") in FORMS for name in names)
        whole = known and len(names) == len(list(path.iterdir()))
        return whole and (path / README).read_text(encoding="utf-8").startswith(TITLE + "\n")
    except (OSError, UnicodeDecodeError):
        return False


def _checked(forms: Sequence[str]) -> list[str]:
    """Return the forms, each once, or refuse one that does not exist."""
    if not forms:
        raise BadInputError(f"write must be one or both of {', '.join(FORMS)}")
    return [check_choice("write", form, FORMS) for form in dict.fromkeys(forms)]


def _write_parquet(path: Path, rows: pa.Table) -> None:
    write_parquet(path, rows.combine_chunks().to_batches(), rows.schema)


def _write_csv(path: Path, rows: pa.Table) -> None:
    """Write CSV in which a class never looks like a word, and no cell runs as a formula."""
    for place, name in enumerate(rows.column_names):
        if rows.schema.field(name).type == pa.string():
            cells = _cells(_whole(rows[name]), _exact_of(rows, place))
            rows = rows.set_column(place, name, cells)
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    pyarrow.csv.write_csv(rows, path, options)


def _exact_of(rows: pa.Table, place: int) -> pa.Array:
    """Return the column that says which texts of another are the very items: it stands behind it; all are where there is none."""
    behind = rows.schema.field(place + 1) if place + 1 < rows.num_columns else None
    if behind is None or behind.type != pa.bool_():
        return pa.array(np.ones(rows.num_rows, np.bool_))
    return _whole(rows[behind.name])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _cells(texts: pa.Array, exact: pa.Array) -> pa.Array:
    """Return labels as cells; each distinct one is made once."""
    coded = texts.dictionary_encode()
    words = coded.dictionary.to_pylist()
    forms = [
        pa.array([safe_cell(shown((text, is_exact))) for text in words], pa.string()).take(coded.indices)
        for is_exact in (True, False)
    ]
    return pc.if_else(exact, *forms)


_WRITERS = {"parquet": _write_parquet, "csv": _write_csv}
