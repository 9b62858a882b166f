"""A comparison on the terminal: its table, what may be compared, what failed, and where the files are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from incrowd.report.bound import bounds_note
from incrowd.report.compare_choice import in_words
from incrowd.report.compare_measures import flat
from incrowd.report.compare_page import PRIVATE, input_in_words
from incrowd.report.compare_risk import risk_note
from incrowd.report.compare_table import runs_table
from incrowd.report.console import plain_console

if TYPE_CHECKING:
    from incrowd.jobs.compare import Comparison

__all__ = ["show_comparison"]


def show_comparison(comparison: Comparison, out: Path) -> None:
    """Show the runs, which of them may be compared, which failed and why, and where the files are."""
    console = plain_console()
    runs = [flat(msgspec.to_builtins(run)) for run in comparison.runs]
    console.print(f"One input for all: {input_in_words(comparison.how)}.", soft_wrap=True)
    console.print()
    console.print(runs_table(runs))
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
    if "risk" in comparison.how:
        console.print(risk_note(comparison.how["risk"]), style="yellow")
    console.print(
        "Item counts off: counts of the 1,000 most frequent items, from the release alone. Pairs found: of the 1,000 most frequent. "
        f"Items kept: as themselves. Took {comparison.seconds['total']:.2f} s.",
        style="dim",
    )
    console.print(f"Charts and all numbers: {out / 'compare.html'}", soft_wrap=True)
    if comparison.rejects_file:
        console.print(f"Rejected lines: {comparison.rejects_file}", soft_wrap=True)
