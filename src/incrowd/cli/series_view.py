"""The audit of a series on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from incrowd.cli.options import print_json
from incrowd.errors import BadInputError
from incrowd.jobs.series_audit import audit_series
from incrowd.report.console import plain_console
from incrowd.report.visible import visible

if TYPE_CHECKING:
    from incrowd.auditing.series import Neighbours, SeriesAudit

__all__ = ["look_at_series", "show_series_audit"]

HOLDS = {True: "holds", False: "DOES NOT HOLD", None: "not shown"}


def look_at_series(series: Path, places: Sequence[Path], *, as_json: bool, with_originals: bool) -> None:
    """Audit a series and show what was found; exit with 1 if it does not hold."""
    if with_originals:
        raise BadInputError(
            "--original and --private-map are of one release: audit it without --series, and the series without them"
        )
    result = audit_series(series, places)
    if as_json:
        print_json(result.as_dict())
    else:
        show_series_audit(result)
    if not result.holds:
        raise click.exceptions.Exit(1)


def show_series_audit(result: SeriesAudit) -> None:
    """Show the releases of a series, what neighbours tell together, and what was found."""
    console = plain_console()
    verdict = "Nothing is wrong with the series" if result.holds else "The series DOES NOT HOLD"
    number = f"{len(result.releases):,} releases"
    console.print(f"{verdict}: {number}.\n", style="bold" if result.holds else "bold red")
    table = Table(box=None, pad_edge=False)
    for name in ("release", "window (UTC)", "audit"):
        table.add_column(name)
    for one in result.releases:
        state = HOLDS[one.holds] if one.state == "published" else "begun, may be out"
        table.add_row(Text(visible(one.name)), Text(visible(one.window or "none")), state)
    console.print(table)
    if result.neighbours:
        console.print()
        console.print(_neighbours_table(result.neighbours))
    console.print()
    for check in result.checks:
        console.print(f"  checked: {visible(check)}", soft_wrap=True)
    for note in result.notes:
        console.print(f"  note: {visible(note)}", soft_wrap=True)
    for unchecked in result.unchecked:
        console.print(f"  not checked: {visible(unchecked)}", style="yellow", soft_wrap=True)
    for problem in result.problems:
        console.print(f"  problem: {visible(problem)}", style="red", soft_wrap=True)


def _neighbours_table(neighbours: Sequence[Neighbours]) -> Table:
    """Return what is in one of two neighbours and not in the other."""
    table = Table(
        box=None,
        pad_edge=False,
        title="What two consecutive releases disclose together (last column: labels that say something about fewer than k people, without naming them)",
        title_justify="left",
    )
    table.add_column("releases")
    for name in ("tiles in both", "in one", "labels in both", "in one", "of them few"):
        table.add_column(name, justify="right")
    for two in neighbours:
        table.add_row(
            Text(visible(f"{two.first}, {two.second}")),
            f"{two.tiles_both:,}",
            f"{two.tiles_first + two.tiles_second:,}",
            f"{two.labels_both:,}",
            f"{two.labels_first + two.labels_second:,}",
            f"{two.items_of_few:,}",
        )
    return table
