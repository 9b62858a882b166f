"""Results on the terminal, as sentences and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from rich.text import Text

from incrowd.cli.tile_search import table_of
from incrowd.core.claims import PARTS, plural_of
from incrowd.errors import BadInputError
from incrowd.methods.registry import GOALS
from incrowd.release.budget import Budget
from incrowd.release.files.noisy_list import read_list
from incrowd.release.files.records import Label, class_name, shown
from incrowd.release.files.telling import special_first, telling_tiles
from incrowd.release.files.tiles import TileManifest, open_tiles
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.report.bound import bound_line
from incrowd.report.console import plain_console
from incrowd.report.html import share
from incrowd.report.visible import visible

if TYPE_CHECKING:
    from incrowd.auditing.result import Audit
    from incrowd.jobs.run import Outcome
    from incrowd.jobs.spec import Taken
    from incrowd.logs.input import Input
    from incrowd.release.files.manifest import Manifest
    from incrowd.release.files.noisy_list import ListManifest

__all__ = [
    "other_goals",
    "show_audit",
    "show_demo",
    "show_list",
    "show_methods",
    "show_outcome",
    "show_release",
    "show_tiles",
]

LOSSES = {
    "ncp": "item uncertainty (NCP)",
    "ggd_norm": "generalization loss (GGD)",
    "ic_norm": "logarithmic loss (IC)",
    "kept_exactly": "items kept exactly",
}
USE = {
    "kept_exactly": "of all items are published as themselves",
    "items_error": "off, on average: counts of the 1,000 most frequent items",
    "pairs_recall": "of the 1,000 most frequent pairs are found",
    "pairs_error": "off, on average: counts of these pairs",
    "links_kept": "of all pairs of items that a unit has are in one tile",
    "trend_error": "off, on average: weekly counts of the 100 most frequent items",
    "clicks_recall": "of the 1,000 most frequent pairs of an item and a clicked address are found",
}
MEANS = {
    "avg_length": "items in a published record, on average",
    "avg_level": "level of a published item, on average (root = 1)",
}
UNLISTED = {
    "name": "placed by their kind: site, place, name, number ...",
    "keep": "kept in a branch of their own",
    "drop": "removed",
}
EXAMPLES = 5
LISTED = 10
EMPTY = (
    "Nothing reached the threshold: it takes data of more people, or a larger eps; or use --method mosaic."
)
NO_BUDGET = "What this release costs was not recorded: --budget FILE does, so that all releases together keep a promise."
NO_SERIES = "Overlaps with earlier releases were not looked for: --series DIR does."
EXAMPLE_ITEMS = 8
METHOD_WIDTH = 16


def show_outcome(outcome: Outcome) -> None:
    """Show the outcome of a job: the promise and what it does not cover, the numbers, the files."""
    console = plain_console()
    release, result = outcome.release, outcome.audit
    if outcome.made.chosen:
        console.print(
            f"Chosen for {_sort_of(outcome.made.read)}, as nothing else was said: {' '.join(outcome.made.chosen)} "
            f"(--dry-run says why). {other_goals(release.method, release.parameters.get('items'))}\n"
        )
    _show_claim(console, result)
    console.print()
    if isinstance(release, Release) and release.is_list:
        _show_listed(console, outcome, release)
        return
    console.print(_numbers_table(outcome))
    console.print()
    console.print(_measures_table(release.measures))
    console.print()
    seconds = ", ".join(
        f"{name} {value:.2f}" for name, value in outcome.seconds.items() if value and name != "total"
    )
    console.print(f"Took {outcome.seconds['total']:.2f} s ({seconds}).", style="dim")
    _show_files(console, outcome)
    if outcome.made.taken is not None:
        _show_window(console, outcome.made.taken)
    if release.claim.follows is not None:
        for note in release.notes:
            console.print(note)
    elif outcome.series is None:
        console.print(NO_SERIES, style="dim")


def _show_listed(console: Console, outcome: Outcome, release: Release) -> None:
    """Show what came of a list with noise: nothing that the promise does not cover, no number of lines, people or seconds."""
    noisy = release.noisy_list
    console.print(f"{len(noisy):,} {noisy.form.several} published, with {noisy.form.noisy}.", style="bold")
    if not len(noisy):
        console.print(EMPTY)
    console.print(
        "Nothing else is said of the data here: 'incrowd compare' measures what such a list is of use for.",
        style="dim",
    )
    _show_files(console, outcome)
    if outcome.budget is None:
        console.print(NO_BUDGET, style="dim")
    else:
        console.print(f"Budget:  {outcome.budget}: {Budget(outcome.budget).state().in_words}", soft_wrap=True)


def _show_window(console: Console, taken: Taken) -> None:
    """Show which time the release is of, and what was left out for it."""
    console.print(f"Took {taken.inside:,} events {taken.window.in_words}.", soft_wrap=True)
    if taken.before:
        console.print(f"{taken.before:,} events before the window were left out.", soft_wrap=True)
    if taken.late:
        console.print(
            f"{taken.late:,} of them came late: their window had been released without them.", style="yellow"
        )
    if taken.unreleased:
        console.print(f"{taken.unreleased:,} of them are in no release of the series.", style="yellow")
    if taken.after:
        console.print(f"{taken.after:,} events after the window were left out: they can still be released.")


def _sort_of(read: Input) -> str:
    """Say what the file is, as far as the choice of a method's input depends on it."""
    if read.is_baskets:
        return "baskets"
    return f"a query log {'with' if read.has_times else 'without'} times"


def other_goals(method: str, items: str | None) -> str:
    """Return the goals that lead elsewhere than to a method with such items; baskets hold no queries to ask about."""
    special = {goal.items for goal in GOALS.values()} - {None}
    asked = items if items in special else None
    others = [
        f"--goal {name}"
        for name, goal in GOALS.items()
        if (goal.method, goal.items) != (method, asked) and not (goal.items and items == "raw")
    ]
    return f"Other questions: {', '.join(others)}."


def _show_claim(console: Console, result: Audit) -> None:
    """Show the verdict, and every caveat as plainly as the promise."""
    console.print(_verdict(result))
    console.print(_bullets(result.claim.not_promised))


def show_demo(outcome: Outcome, of_whole_people: float) -> None:
    """Show the outcome of the demo, some of its tiles, what whole people would have kept, and what to do next."""
    show_outcome(outcome)
    console = plain_console()
    console.print()
    console.print(_tiles_table(outcome.out))
    kept = outcome.release.measures["use"]["kept_exactly"]
    console.print(
        f"\nThese tiles keep {share(kept)} of the words as they were typed. "
        f"Whole people, each as one record (--goal people), would have kept {share(of_whole_people)}.",
        soft_wrap=True,
    )
    console.print("\nNext: open the report in a browser, search the tiles, or try it on your own log:")
    console.print(f"  incrowd show {outcome.out} --with school", style="bold", soft_wrap=True)
    console.print("  incrowd anonymize YOUR_LOG --out release", style="bold")


def show_audit(result: Audit) -> None:
    """Show the verdict, the checks, and the problems found."""
    console = plain_console()
    _show_claim(console, result)
    for check in result.checks:
        console.print(f"  checked: {visible(check)}")
    for unchecked in result.unproven:
        console.print(f"  NOT PROVEN: {visible(unchecked)}", style="yellow")
    for unchecked in result.unchecked:
        console.print(f"  not checked: {visible(unchecked)}", style="yellow")
    for problem in result.problems:
        console.print(f"  problem: {visible(problem)}", style="red")


def show_release(directory: Path, manifest: Manifest) -> None:
    """Show what a release's manifest states, and some of its records."""
    console, examples = plain_console(), _examples_table(directory)
    _show_said(console, manifest.claim.in_words, manifest.claim.not_promised)
    counts = manifest.counts
    people = f" of {counts.people_min} people or more" if manifest.claim.unit in PARTS else ""
    console.print(
        f"\n{counts.records_out:,} records, {counts.groups:,} distinct, the smallest class {counts.k_min:,}{people}; "
        f"{counts.withheld} withheld; method {visible(manifest.method)}.\n",
    )
    if manifest.losses is not None:
        figures = (msgspec.to_builtins(one) for one in (manifest.losses, manifest.utility, manifest.bound))
        console.print(_losses_table(*figures))
        console.print()
    console.print(examples)
    _show_account(console, manifest.account)


def show_tiles(directory: Path, manifest: TileManifest, top: int = LISTED) -> None:
    """Show what a manifest of tiles states, and the most telling tiles."""
    console, tiles = plain_console(), _tiles_table(directory, top)
    _show_said(console, manifest.claim.in_words, manifest.claim.not_promised)
    console.print()
    console.print(_use_table(msgspec.to_builtins(manifest.use)))
    console.print()
    console.print(tiles)
    _show_account(console, manifest.account)


def _tiles_table(directory: Path, top: int = LISTED) -> Table:
    """Return the most telling tiles; where none has several labels, those that most people hold."""
    tiles = open_tiles(directory)
    about, shown_first = (
        "the most telling: large, held by many, most of what their labels are held for",
        [one.tile for one in telling_tiles(tiles, top)],
    )
    if not shown_first:
        about = "those that most people hold"
        shown_first = sorted(tiles, key=lambda tile: (-tile.people, tile.labels))[:top]
    return table_of(f"Of {len(tiles):,} tiles, {about}", shown_first)


def show_list(directory: Path, manifest: ListManifest) -> None:
    """Show what a noisy list's manifest states, and what is most frequent in it."""
    console, form = plain_console(), manifest.parameters.form
    rows = read_list(directory, form)
    _show_said(console, manifest.claim.in_words, manifest.claim.not_promised)
    table = Table(
        box=None,
        pad_edge=False,
        title=f"Most frequent of {len(rows):,} {form.several}",
        title_justify="left",
    )
    table.add_column("noisy count", justify="right", style="bold")
    for name in form.columns:
        table.add_column(name.replace("_", " "))
    for row in rows.slice(0, LISTED).to_pylist():
        table.add_row(f"{row['count']:,}", *(Text(visible(row[name])) for name in form.columns))
    console.print()
    console.print(table)
    _show_account(console, manifest.account)


def _show_said(console: Console, words: str, caveats: Sequence[str]) -> None:
    console.print(Text(visible(words), style="bold"))
    console.print(_bullets(caveats))


def _bullets(lines: Sequence[str]) -> Table:
    """Return lines as a bulleted list, each wrapped beside its dash."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for line in lines:
        table.add_row("  -", Text(visible(line)))
    return table


def _show_account(console: Console, account: Sequence[str]) -> None:
    console.print("\nWhat was done:")
    for step in account:
        console.print(f"  {visible(step)}")


def show_methods(described: Sequence[Mapping[str, Any]]) -> None:
    """List the methods, by the question that they answer; those that are only there to be compared with come last."""
    console = plain_console()
    for name, goal in GOALS.items():
        items = f" --items {goal.items}" if goal.items else ""
        console.print(f"--goal {name}: {goal.question}", style="bold")
        console.print(f"It chooses {goal.method}{items}.\n")
        console.print(
            _methods_table([one for one in described if (one["goal"], one["use"]) == (name, "publishing")])
        )
    console.print("Only to compare with:", style="bold")
    console.print(_methods_table([one for one in described if one["use"] == "comparison"]))


def _methods_table(described: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("method", no_wrap=True, width=METHOD_WIDTH)
    for title, ratio in (("promise", 3), ("what it is for, and how", 5), ("parameters (--set)", 5)):
        table.add_column(title, overflow="fold", ratio=ratio)
    for method in described:
        words = f"{method['purpose']} {method['summary']}"
        table.add_row(
            method["name"], method["promise"], words, "\n".join(method["parameters"]), end_section=True
        )
        table.add_row()
    return table


def _verdict(result: Audit) -> Text:
    """Return the audit's verdict; only a claim that is promised and proven is green."""
    words = visible(result.claim.in_words)
    if result.problems:
        return Text.assemble(("The claim does NOT hold: ", "bold red"), (words, "bold"))
    if result.claim.kind == "none":
        return Text(words, style="bold yellow")
    if result.claim.kind == "differential privacy":
        return Text.assemble(
            ("Claimed, and not confirmed (noise cannot be recounted): ", "bold yellow"), (words, "bold")
        )
    if result.unproven:
        return Text.assemble(
            ("Nothing speaks against, but not all is proven: ", "bold yellow"), (words, "bold")
        )
    if not result.confirmed:
        return Text.assemble(("Recounted, by records and not by people: ", "bold yellow"), (words, "bold"))
    return Text.assemble(("The audit confirms: ", "bold green"), (words, "bold"))


def _numbers_table(outcome: Outcome) -> Table:
    """Return the counts from lines to records, with what was left out and why."""
    made, release = outcome.made, outcome.release
    summary, counts = made.summary, release.counts
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    rejected = ", ".join(f"{n:,} {reason}" for reason, n in sorted(made.read.rejected.items()))
    table.add_row(f"{summary['lines']:,}", f"lines read as {made.read.format}")
    if rejected:
        table.add_row(f"{summary['rejected']:,}", f"lines rejected ({rejected})")
    if summary["bad_bytes"]:
        table.add_row(f"{summary['bad_bytes']:,}", "bad bytes replaced")
    units = plural_of(release.claim.unit)
    table.add_row(f"{counts.records_in:,}", f"{units} found")
    _add_items(table, outcome)
    if isinstance(release, TileRelease):
        table.add_row(f"{release.tiles.withheld:,}", f"items of {units} withheld: too few people have them")
        table.add_row(f"{counts.groups:,}", f"distinct tiles published, over {counts.labels:,} labels")
        table.add_row(f"{counts.people_min:,}", "different people hold the rarest tile")
        return table
    table.add_row(
        f"{counts.withheld:,}",
        f"{units} withheld" + (": no item was left to publish" if counts.withheld else ""),
    )
    table.add_row(f"{counts.records_out:,}", f"records published, {counts.groups:,} distinct")
    table.add_row(f"{counts.k_min:,}", f"{units} share the rarest record")
    if release.claim.unit in PARTS:
        table.add_row(f"{counts.people_min:,}", "different people at least share a record")
    return table


def _add_items(table: Table, outcome: Outcome) -> None:
    """Add how many distinct items the taxonomy lacks or has in another case, if it does."""
    found, release = outcome.made.found, outcome.release
    if found["unlisted"] or found["other_case"]:
        table.add_row(f"{found['listed']:,}", f"distinct items listed in {release.taxonomy.name}")
    if found["other_case"]:
        table.add_row(f"{found['other_case']:,}", "of them in another case of letters only")
    if found["unlisted"]:
        what = UNLISTED.get(str(release.parameters.get("unlisted")), UNLISTED["keep"])
        table.add_row(f"{found['unlisted']:,}", f"distinct items not listed ({what})")
    if "moved" in found:
        table.add_row(f"{found['moved']:,}", "distinct items hang where they were moved to")


def _measures_table(measures: Mapping[str, Any]) -> Table:
    """Return what was measured: losses and utility of records, or of what use tiles are."""
    if "loss" not in measures:
        return _use_table(measures["use"])
    return _losses_table(measures["loss"], measures["utility"], measures["bound"])


def _use_table(use: Mapping[str, float]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    for name, meaning in USE.items():
        if use.get(name) is not None:
            none_found = name == "clicks_recall" and not use[name]
            table.add_row(
                share(use[name]),
                meaning + (" (tiles have addresses with --kinds url only)" if none_found else ""),
            )
    return table


def _losses_table(
    losses: Mapping[str, float], utility: Mapping[str, float] | None, bound: Mapping[str, float] | None
) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    for name, meaning in LOSSES.items():
        table.add_row(share(losses[name]), meaning)
        if name == "ggd_norm" and bound is not None:
            table.add_row(share(bound["ggd_norm"]), bound_line(bound))
    if utility:  # a cluster does not measure it
        table.add_row(
            share(utility["recall"]),
            "pattern recall: items of frequent patterns that are still found (Recall)",
        )
        table.add_row(
            f"{utility['sdist']:.2f}", "pattern distance: taxonomy steps to what is found instead (sDist)"
        )
        table.add_row(
            share(utility["information_loss"] / 100),
            "change of user groups, before and after (L)",
        )
        table.add_row(
            share(utility["linkage"] / 100),
            "record linkage: re-linked by an attacker who has the originals (RL)",
        )
    for name, meaning in MEANS.items():
        if name in losses:
            table.add_row(f"{losses[name]:.2f}", meaning)
    return table


def _examples_table(directory: Path) -> Table:
    """Return some published records, evenly spaced through the file, each by what is special in it, with how many share it."""
    try:
        rows = pq.read_table(directory / "records.parquet", columns=["items", "exact", "counts"]).to_pydict()
    except (OSError, KeyError, pa.ArrowException):
        raise BadInputError(
            f"{directory}: records.parquet is missing or damaged; see 'incrowd audit'"
        ) from None
    same = groupby(zip(rows["items"], rows["exact"], rows["counts"], strict=True))
    groups = [(len(list(copies)), list(zip(*said, strict=True))) for said, copies in same]
    rows_with: Counter[Label] = Counter()
    for shared, record in groups:
        rows_with.update({(text, exact): shared for text, exact, _ in record})
    table = Table(
        box=None,
        pad_edge=False,
        title=f"Some published records (a word, a {class_name('class')}), what the fewest records have first",
        title_justify="left",
    )
    table.add_column("shared by", justify="right", style="bold")
    table.add_column("record")
    for i in range(min(EXAMPLES, len(groups))):
        shared, record = groups[i * len(groups) // min(EXAMPLES, len(groups))]
        special = special_first(
            [(text, exact) for text, exact, _ in record], [one[2] for one in record], rows_with
        )
        more = f" and {len(record) - EXAMPLE_ITEMS} more" if len(record) > EXAMPLE_ITEMS else ""
        names = " · ".join(visible(shown(label)) for label, _ in special[:EXAMPLE_ITEMS])
        table.add_row(f"{shared:,}", Text(names + more))
    return table


def _show_files(console: Console, outcome: Outcome) -> None:
    out = outcome.out
    console.print(f"Release: {out}/", soft_wrap=True)
    console.print(f"Report:  {out / 'report.html'}", soft_wrap=True)
    if outcome.pages is not None:
        console.print(f"Pages:   {', '.join(map(str, outcome.pages))}", soft_wrap=True)
    if outcome.rejects_file and not outcome.release.is_list:
        console.print(f"Rejects: {outcome.rejects_file}", soft_wrap=True)
