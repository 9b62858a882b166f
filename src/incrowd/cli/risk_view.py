"""What attackers get, on the terminal: the lights of the three questions, and every attack with its control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from incrowd.attacks.result import QUESTIONS, each_figure, title_of
from incrowd.attacks.shown import (
    LOWER_BOUND,
    NAMES,
    PRIVATE,
    Answer,
    AttackRow,
    answer_of,
    interval_in_words,
    limits_in_words,
    parts_of,
    people_in_words,
    released_in_words,
    skipped_of,
)
from incrowd.report.console import plain_console
from incrowd.report.html import share
from incrowd.report.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from incrowd.attacks.exposing import Exposure
    from incrowd.attacks.rates import Figure
    from incrowd.attacks.result import Risk

__all__ = ["show_risk"]

STYLES = {"green": "bold green", "amber": "bold yellow", "red": "bold red", None: "dim"}
KNOWN = 10
KNOWN_OF_EACH = {"series_intersected": 3, "series_guessed": 3}
"""The number of known items that an attack is shown with, where it is another one."""
SHORT = {
    "unicity": "singled out by {} random items",
    "unicity_rarest": "singled out by {} rarest items",
    "unicity_recent": "singled out by {} latest items",
    "reidentified": "found by a guess with {} items",
    "at_risk": "share it with fewer than k",
    "marketer": "found if all are linked",
    "named": "named by a map in the release",
    "halves": "two halves are linked",
    "found_again": "found by another time",
    "two_releases": "below k in two releases",
    "series_intersected": "left in all, {} items of each",
    "series_followed": "found in the next release",
    "series_shared": "below k in all releases",
    "one_more_item": "one more guessed with {} items",
    "sensitive_item": "sensitive guessed with {} items",
    "series_guessed": "guessed, {} items of each",
    "proven_items": "unprinted item is proven",
    "few_leaves": "class hides too few items",
    "alone": "alone with planted accounts",
    "read_off": "item read off by planted",
}
"""The attacks in words that leave room for their figures on 80 columns; the page has the full ones."""


def show_risk(risk: Risk, out: Path | None = None) -> None:
    """Show the light of each question, every attack before and after, what was not run, and where the page is."""
    console = plain_console()
    released = released_in_words(risk)
    console.print(
        f"{visible(risk.name)}: {people_in_words(risk.people)}, {visible(released)}, k = {risk.k}.",
        soft_wrap=True,
    )
    console.print()
    console.print(_lights_table(risk))
    console.print(f"{limits_in_words(risk.limits)} --limits changes that.", style="dim")
    console.print()
    if any(side.found.get("unicity") for side in risk.sides.values()):
        console.print(_curve_table(risk))
        console.print()
    console.print(_attacks_table(risk))
    if risk.exposing is not None:
        console.print(_exposing_table(risk.exposing))
    for name, sides, why in skipped_of(risk):
        console.print(f"Not run ({sides}): {title_of(name)}: {visible(why)}", style="dim")
    console.print(f"{LOWER_BOUND} {PRIVATE}", style="yellow")
    if out is not None:
        console.print(f"Page: {out}", soft_wrap=True)


def _lights_table(risk: Risk) -> Table:
    """Return the light of each question, a column a side."""
    table = Table(box=None, pad_edge=False)
    table.add_column("question")
    for name in risk.sides:
        table.add_column(name)
    for group in QUESTIONS:
        answers = (answer_of(risk, side, group) for side in risk.sides.values())
        table.add_row(NAMES[group], *map(_light, answers))
    return table


def _exposing_table(exposing: Exposure) -> Table:
    """Return the items that expose most people."""
    table = Table(
        box=None,
        pad_edge=False,
        title=f"{exposing.items_of_one:,} items are of one person each; {exposing.people_with_one:,} people have such an item",
        title_justify="left",
    )
    table.add_column("exposing item")
    table.add_column("people", justify="right")
    table.add_column("singled out by it and one more", justify="right")
    for one in exposing.items:
        table.add_row(visible(one.item), f"{one.people:,}", f"{one.singled_out:,} of {one.tried:,}")
    return table


def _light(answer: Answer) -> Text:
    if answer.light is None:
        return Text(answer.risk, style="dim")
    doubt = "?" if answer.doubt else ""
    return Text.assemble(
        (f"{answer.light}{doubt}", STYLES[answer.light]), f" {answer.risk} ({answer.interval})"
    )


def _curve_table(risk: Risk) -> Table:
    """Return how many people are singled out by known items, drawn at random, by their number."""
    curves = {name: each_figure(side.found.get("unicity", {})) for name, side in risk.sides.items()}
    known = sorted({p for curve in curves.values() for p in curve})
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("known items")
    for p in known:
        table.add_column(f"{p}", justify="right", no_wrap=True)
    for name, curve in curves.items():
        table.add_row(name, *(_found(curve.get(p)) for p in known))
    return table


def _attacks_table(risk: Risk) -> Table:
    """Return every attack; control and risk are those of the release, where there is one."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("share of people", overflow="fold")
    last = list(risk.sides)[-1]
    for title in (*risk.sides, "control", f"risk {last}"):
        table.add_column(title, justify="right", no_wrap=True)
    for part in parts_of(risk, (KNOWN, *KNOWN_OF_EACH.values())):
        table.add_row(Text(NAMES[part.group], style="bold"))
        for row in part.rows:
            wanted = KNOWN_OF_EACH.get(row.attack.name, KNOWN)
            if row.known in (0, wanted) or last in row.makes_light:
                table.add_row(*_cells(row, last))
    return table


def _cells(row: AttackRow, last: str) -> Iterator[Text]:
    words = SHORT[row.attack.name].format(row.known)
    yield Text(f" {words.removesuffix('s') if row.known == 1 else words}")
    for figure in row.sides.values():
        yield Text(_found(figure))
    figure = row.sides[last]
    if figure is None or not figure.attack.tries:
        yield from (Text("-"), Text("-"))
        return
    yield Text("-" if figure.control is None else share(figure.control.value))
    risk = f"{share(figure.risk)} ({interval_in_words(figure.risk_interval)})"
    yield Text(risk, style="bold" if last in row.makes_light else "")


def _found(figure: Figure | None) -> str:
    return "-" if figure is None or not figure.attack.tries else share(figure.value)
