"""The command that makes tables out of a release. Heavy imports are deferred until it runs."""

from __future__ import annotations

from pathlib import Path

import click

from incrowd.cli.options import COMMA_TEXT, FILE, comma_list, json_option, print_json

__all__ = ["tables"]


@click.command(short_help="Make tables for analysts out of a release.")
@click.argument("directory", type=FILE)
@click.option("--out", type=FILE, required=True, help="Directory to create for the tables.")
@click.option(
    "--write",
    "forms",
    type=COMMA_TEXT,
    default="parquet,csv",
    show_default=True,
    help="How tables are written: parquet, csv or both.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="How many pairs to list for their estimates alone, and for how many items to list all periods.",
)
@click.option("--force", is_flag=True, help="Replace existing tables (and nothing else).")
@json_option
def tables(directory: Path, out: Path, forms: str, top: int, force: bool, as_json: bool) -> None:  # noqa: FBT001
    """Make tables out of the release in DIRECTORY: items, pairs of items, and what else its labels allow.

    Nothing but the files of the release is read, so the tables disclose nothing new. They are not audited ('incrowd audit' checks the
    release). README.md in --out explains every column; docs/tables.md says how to read them, and what their errors are.

    \b
    Examples:
      incrowd tables release --out tables
      incrowd tables release --out tables --write csv --top 5000
    """  # noqa: D301 - click needs this character
    from incrowd.cli.tables_view import show_tables
    from incrowd.release.tables.made import tables as make_tables

    made = make_tables(directory, top=top)
    files = made.write(out, forms=comma_list(forms), force=force)
    if as_json:
        rows = {
            name: {"rows": len(made[name]), "files": [str(path) for path in paths]}
            for name, paths in files.items()
        }
        print_json({"release": str(directory), "out": str(out), "tables": rows})
    else:
        show_tables(made, out)
