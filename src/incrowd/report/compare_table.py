"""The table of a comparison: the runs of each kind of promise together, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.report.compare_measures import cell

__all__ = ["as_text", "runs_table", "shown_columns"]

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
# Where releases were attacked, what an attacker gets stands in the place of these.
LEFT_OUT = ("ggd_norm", "groups", "k_min")
ATTACKED = {
    "risk_singling_out": "risk:\nsingled\nout",
    "risk_linkability": "risk:\nlinked",
    "risk_inference": "risk:\nin-\nferred",
}
VERDICTS = {True: ("holds", "green"), False: ("BROKEN", "bold red")}
TITLES = {"none": "Nothing is promised", "differential privacy": "differential privacy (private numbers)"}


def shown_columns(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the columns that are shown, with the risks where any was measured."""
    if all(run[name] is None for run in runs for name in ATTACKED):
        return SHOWN
    shown = {name: title for name, title in SHOWN.items() if name not in (*LEFT_OUT, "seconds")}
    return {**shown, **ATTACKED, "seconds": SHOWN["seconds"]}


def runs_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table; each kind of promise has a title of its own."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", overflow="fold")
    table.add_column("k", justify="right")
    table.add_column("audit")
    shown = shown_columns(runs)
    for title in shown.values():
        table.add_column(title, justify="right")
    for kind, same in groupby(runs, key=lambda run: run["kind"]):
        if table.row_count:
            table.add_row()
        table.add_row(Text(TITLES.get(kind, kind), style="bold"))
        for run in same:
            table.add_row(*_row(run, shown))
    return table


def _row(run: Mapping[str, Any], shown: Iterable[str]) -> list[Text]:
    numbers = [Text(cell(run, name)) for name in shown]
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
