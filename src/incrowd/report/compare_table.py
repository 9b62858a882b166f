"""The table of a comparison: the runs of each kind of promise together, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.report.compare_measures import cell

__all__ = ["SHOWN", "as_text", "runs_table"]

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


def runs_table(runs: Sequence[Mapping[str, Any]]) -> Table:
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


def as_text(runs: Sequence[Mapping[str, Any]], width: int = 100) -> str:
    """Return the table as plain lines."""
    out = StringIO()
    Console(file=out, width=width, markup=False, highlight=False).print(runs_table(runs))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
