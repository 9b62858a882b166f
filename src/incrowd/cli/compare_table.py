"""A comparison on the terminal: one table, the runs of each kind of promise together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from incrowd.report.bound import bounds_note
from incrowd.report.compare_choice import in_words
from incrowd.report.compare_measures import cell, flat
from incrowd.report.compare_page import PRIVATE, input_in_words
from incrowd.report.console import plain_console

if TYPE_CHECKING:
    from incrowd.jobs.compare import Comparison

__all__ = ["show_comparison"]

# The columns that fit into a terminal of 80 characters; the files have the rest.
SHOWN = {
    "use_items_error": "item\ncounts\noff",
    "use_pairs_recall": "pairs\nfound",
    "use_kept_exactly": "items\nkept",
    "ggd_norm": "loss\n(GGD)",
    "groups": "groups",
    "k_min": "k_min",
    "seconds": "s",
}
VERDICTS = {True: ("holds", "green"), False: ("BROKEN", "bold red")}
TITLES = {"none": "Nothing is promised", "differential privacy": "differential privacy (private numbers)"}


def show_comparison(comparison: Comparison, out: Path) -> None:
    """Show the runs, which of them may be compared, which failed and why, and where the files are."""
    console = plain_console()
    runs = [flat(msgspec.to_builtins(run)) for run in comparison.runs]
    console.print(f"One input for all: {input_in_words(comparison.how)}.", soft_wrap=True)
    console.print()
    console.print(_table(runs))
    if len({run["kind"] for run in runs}) > 1:
        console.print()
        console.print(
            "Different promises: do not rank losses of one block against those of another.", style="yellow"
        )
    if any(run["private"] for run in runs):
        console.print(PRIVATE, style="yellow")
    for run in comparison.runs:
        if run.error:
            console.print(f"{run.title}: {run.error}", style="red", soft_wrap=True)
    console.print()
    if best := in_words(runs):
        console.print(best, style="bold")
    if note := bounds_note(runs):
        console.print(note)
    console.print(
        "Item counts off: counts of the 1,000 most frequent items, from the release alone. Pairs found: of the 1,000 most frequent. "
        f"Items kept: as themselves. Took {comparison.seconds['total']:.2f} s.",
        style="dim",
    )
    console.print(f"Charts and all numbers: {out / 'compare.html'}", soft_wrap=True)
    if comparison.rejects_file:
        console.print(f"Rejected lines: {comparison.rejects_file}", soft_wrap=True)


def _table(runs: list[dict[str, Any]]) -> Table:
    """Return the table; each kind of promise has a title of its own."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", overflow="fold")
    table.add_column("k", justify="right")
    table.add_column("audit")
    for title in SHOWN.values():
        table.add_column(title, justify="right")
    for kind, same in groupby(runs, key=lambda run: run["kind"]):
        if table.row_count:
            table.add_row()
        table.add_row(Text(TITLES.get(kind, kind), style="bold"))
        for run in same:
            table.add_row(*_row(run))
    return table


def _row(run: Mapping[str, Any]) -> list[Text]:
    numbers = [Text(cell(run, name)) for name in SHOWN]
    k = "-" if run["k"] is None else str(run["k"])
    return [Text(f"  {run['label']}"), Text(k), Text(*_said(run)), *numbers]


def _said(run: Mapping[str, Any]) -> tuple[str, str]:
    """Return the audit's result and its colour; a claim that cannot be recounted is not green."""
    if run["promise"] is None:
        return "failed", "red"
    if run["holds"] is None or (run["kind"] == "none" and run["holds"]):
        return "-", "yellow"
    return VERDICTS[run["holds"]]
