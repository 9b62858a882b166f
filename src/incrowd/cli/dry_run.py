"""The dry run on the terminal: what was recognised and counted, what would be chosen and why, what it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.cli.neighbours import names_beside, warn_of_releases
from incrowd.cli.options import print_json
from incrowd.cli.progress import ProgressBars
from incrowd.cli.terminal import other_goals
from incrowd.core.claims import plural_of
from incrowd.core.memory import format_memory
from incrowd.core.temporary import private_directory
from incrowd.errors import BadInputError
from incrowd.jobs.lacking import Lacking
from incrowd.jobs.plan import Estimate, Plan, Recognised, plan_job
from incrowd.jobs.spec import Options
from incrowd.report.console import plain_console
from incrowd.report.visible import visible

__all__ = ["in_words", "look_ahead"]

BECOMES = {
    "keep": "they would get a branch of their own",
    "name": "their kind is not known either, and they would get a branch of their own",
    "drop": "they would be removed",
}
UNKNOWN = "unlisted: its kind is not known"
MINUTE = 60
SECONDS_SHOWN = 90  # above, minutes are


def look_ahead(
    sources: Sequence[str], options: Mapping[str, Any], *, lacking: int | None, as_json: bool
) -> None:
    """Show what a job would do; exit with its code if it would be refused."""
    with private_directory() as scratch, ProgressBars() as progress:
        out = options["out"] or scratch / "release"
        beside = names_beside(out, sources, options["series"])
        plan = plan_job(Options(sources, **{**options, "out": out}), progress, lacking=lacking)
    refusal = {"error": plan.refused, "exit_code": BadInputError.exit_code} if plan.refused else {}
    if as_json:
        print_json({**plan.as_dict(), "beside": beside, **refusal})
    else:
        _show(plan, options["out"])
    warn_of_releases(beside, options["budget"])
    if plan.refused:
        click.echo(f"incrowd: {visible(plan.refused)}", err=True)
        raise click.exceptions.Exit(BadInputError.exit_code)


def in_words(recognised: Recognised) -> str:
    """Return how an input is written and which column has which role."""
    if recognised.is_baskets:
        return f"dat: baskets, one a line, in {recognised.encoding.upper()}"
    by_number = all(name.isdecimal() for name in recognised.columns.values())
    columns = ", ".join(f"{role}={visible(name)}" for role, name in recognised.columns.items())
    return (
        f"{recognised.format} in {recognised.encoding.upper()}{', with a header line' if recognised.header else ''}; "
        f"{'columns by number' if by_number else 'columns'} {columns}"
    )


def _show(plan: Plan, out: Path | None) -> None:
    console = plain_console()
    console.print("Dry run: the input was read to its end, and nothing was written.\n", style="bold")
    console.print(f"{visible(plan.recognised.name)} is read as {in_words(plan.recognised)}.", soft_wrap=True)
    console.print()
    console.print(_counts_table(plan))
    console.print()
    if plan.lacking is not None:
        _show_lacking(console, plan.lacking)
    _show_choices(console, plan)
    if plan.estimate is not None:
        _show_estimate(console, plan.job.method.name, plan.estimate)
    if plan.refused:
        console.print("The job would be refused:", style="bold red")
        return
    where = f"The release would be {out}/." if out else "It needs --out DIR for the release."
    console.print(
        f"\nThe job would run. {where} The method itself was not tried: it may still find that nothing is left to publish.",
        style="bold",
        soft_wrap=True,
    )


def _counts_table(plan: Plan) -> Table:
    """Return what was counted, from lines to items."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{plan.lines:,}", "lines")
    for one in plan.rejected:
        more = ", ..." if one.lines > len(one.first) else ""
        where = f"line{'s' if one.lines > 1 else ''} {', '.join(f'{line:,}' for line in one.first)}{more}"
        table.add_row(f"{one.lines:,}", Text(f"of them would be rejected: {visible(one.reason)} ({where})"))
    if not plan.rejected:
        table.add_row("0", "of them would be rejected")
    if plan.bad_bytes:
        table.add_row(f"{plan.bad_bytes:,}", "bad bytes would be replaced")
    if not plan.recognised.is_baskets:
        table.add_row(f"{plan.people:,}", "people")
    if plan.counts:
        _add_items(table, plan)
    return table


def _add_items(table: Table, plan: Plan) -> None:
    counts, units = plan.counts, plural_of(plan.unit)
    empty = f", {counts['empty']:,} of them with no item" if counts["empty"] else ""
    if plan.recognised.is_baskets:
        table.add_row(f"{counts['units']:,}", f"records, each counted as a person{empty}")
    elif plan.unit != "user" or empty:
        table.add_row(f"{counts['units']:,}", f"{units}{empty}")
    kind = "items" if plan.recognised.is_baskets else f"items (--items {plan.job.items})"
    table.add_row(f"{counts['items']:,}", f"distinct {kind}, {counts['occurrences']:,} in all")
    if unlisted := plan.found.get("unlisted"):
        becomes = BECOMES[plan.unlisted_are or "keep"]
        table.add_row(f"{unlisted:,}", f"distinct items that {visible(str(plan.taxonomy))} lacks: {becomes}")
    if "moved" in plan.found:
        table.add_row(f"{plan.found['moved']:,}", "distinct items hang where they were moved to (--moves)")


def _show_lacking(console: Console, lacking: Lacking) -> None:
    """Print the items that the taxonomy lacks."""
    if not lacking.items:
        console.print("The taxonomy lacks no item: every one has a place.\n")
        return
    of_all = f"{len(lacking.items):,} of {lacking.in_all:,} distinct items"
    console.print(
        f"The taxonomy lacks these, {of_all}. They are words of the data: for you alone.", soft_wrap=True
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("lacking item")
    table.add_column(lacking.counts, justify="right")
    if lacking.named:
        table.add_column("would be published below")
    for one in lacking.items:
        below = [Text(visible(one.below or UNKNOWN), style="" if one.below else "dim")]
        table.add_row(Text(visible(one.item)), f"{one.number:,}", *(below if lacking.named else []))
    console.print(table)
    console.print()


def _show_choices(console: Console, plan: Plan) -> None:
    job = plan.job
    if not plan.reasons:
        k = "" if job.k is None else f" with k = {job.k}"
        console.print(f"Method {job.method.name} would run{k}, as you say.\n")
        return
    console.print("Chosen, as nothing else was said:")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for option, why in plan.reasons.items():
        table.add_row(f"  {option}", Text(why))
    console.print(table)
    console.print(f"{other_goals(job.method.name, job.items)}\n")


def _show_estimate(console: Console, method: str, estimate: Estimate) -> None:
    console.print(
        f"Memory: about {format_memory(estimate.memory)}, of {format_memory(estimate.memory_allowed)} that it may take (--memory)."
    )
    if estimate.seconds is None:
        time = f"not estimated, as {method} compares records with each other; reading took {_time(estimate.seconds_read)} just now."
    else:
        low, high = map(_time, estimate.seconds)
        time = f"{low} to {high}, a rough estimate; {_time(estimate.seconds_read)} of it is reading, as just now."
    compiling = (
        " Before that, up to a minute for compiling, once on this machine." if estimate.compiles else ""
    )
    console.print(f"Time:   {time}{compiling}", soft_wrap=True)


def _time(seconds: float) -> str:
    if seconds <= SECONDS_SHOWN:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004
    return f"{seconds / MINUTE:.0f} min"
