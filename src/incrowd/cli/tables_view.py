"""The tables of a release on the terminal: the first rows of each, and where they are."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from incrowd.release.files.records import shown
from incrowd.release.tables.dictionary import table_note
from incrowd.release.tables.made import ReleaseTable, Tables
from incrowd.report.console import plain_console
from incrowd.report.visible import visible

__all__ = ["show_tables"]

ROWS = 5


def show_tables(tables: Tables, out: Path) -> None:
    """Show the first rows of each table, how numbers are to be read, and where the files are."""
    console = plain_console()
    for table in tables.values():
        console.print(_first_rows(table))
        console.print()
    for line in tables.about:
        console.print(visible(line.replace("`", "")))
    console.print(f"Tables: {visible(str(out))}; README.md there explains every column.", soft_wrap=True)


def _first_rows(table: ReleaseTable) -> Table:
    """Return the first rows; classes are shown in brackets, so that no column has to say which are."""
    schema = table.rows.schema
    columns = [name for name in schema.names if schema.field(name).type != "bool"]
    title = f"{table.name}: {table_note(table.name).replace('`', '')} {len(table):,} rows"
    view = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in columns:
        is_text = schema.field(name).type == "string"
        view.add_column(name.replace("_", " "), justify="left" if is_text else "right", overflow="fold")
    for row in table.rows.slice(0, ROWS).to_pylist():
        view.add_row(*(Text(_cell(row, schema.names, name)) for name in columns))
    return view


def _cell(row: dict[str, object], names: list[str], name: str) -> str:
    """Return a cell as people see it; the column behind a text says whether it is the very item."""
    value = row[name]
    if not isinstance(value, str):
        return f"{value:,}"
    behind = names[names.index(name) + 1]
    return visible(shown((value, row[behind] is not False)))
