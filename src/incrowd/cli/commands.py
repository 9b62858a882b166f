"""The commands. Heavy imports are deferred until a command runs, so that help and usage errors are quick."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from incrowd.cli.audit import audit
from incrowd.cli.budget import budget
from incrowd.cli.config import InputArgument, config_option, without_overruled
from incrowd.cli.neighbours import names_beside, warn_of_releases
from incrowd.cli.online import gateway, generalize
from incrowd.cli.options import (
    COMMA_TEXT,
    FILE,
    INPUT,
    comma_list,
    given_inputs,
    input_options,
    json_option,
    look_options,
    print_json,
    read_settings,
)
from incrowd.cli.overruled import fitted_settings, without_items_of_other_goals
from incrowd.cli.tables import tables
from incrowd.core.temporary import private_directory

if TYPE_CHECKING:
    from incrowd.cli.progress import ProgressBars
    from incrowd.jobs.run import Outcome
    from incrowd.jobs.spec import Options

__all__ = ["ALL", "TAXONOMY"]

DEMO_USERS = 2_000


@click.command(short_help="Make an audited release of a log or basket file.")
@click.argument("input", cls=InputArgument, type=INPUT, nargs=-1, required=True, metavar="INPUT...")
@click.option("--out", type=FILE, help="Directory to create for the release; only --dry-run needs none.")
@config_option
@look_options
@click.option(
    "--k",
    metavar="INTEGER",
    help="How many people must share whatever is published, at least 2; dp and korolova have none.  [default: 5]",
)
@click.option("--goal", help="What the release is for: words, queries or people.  [default: words]")
@click.option("--method", help="A method by name, see 'incrowd methods'.  [default: the goal's]")
@input_options
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    callback=read_settings,
    multiple=True,
    help="A parameter of the method, as --set publish=bag.",
)
@click.option("--write", "forms", type=COMMA_TEXT, help="Text forms beside Parquet: any of jsonl,csv,dat.")
@click.option("--title", help="What to call the data on the release's page. It is published.")
@click.option("--date", metavar="YYYY-MM-DD", help="A day to put on the release's page. It is published.")
@click.option(
    "--private-map",
    type=FILE,
    help="Write which record is whose to a file (mode 0600). Never publish that file.",
)
@click.option(
    "--previous",
    type=FILE,
    help="Private map of the last release of the same people: make a release that follows it, so that all of them together keep k-anonymity (flock and partition, by user).",
)
@click.option("--previous-release", type=FILE, help="That release, to check its map against it.")
@click.option(
    "--series",
    type=FILE,
    help="Private directory with a record of all releases of this source (made if missing, mode 0700): refuse a release that overlaps an earlier one. It holds a secret; publish only its index.json.",
)
@click.option(
    "--budget",
    type=FILE,
    help="Budget of these people, made by 'incrowd budget': record a differentially private release in it before its noise is drawn, and refuse it if nothing is left.",
)
@click.option(
    "--window",
    metavar="FROM..TO",
    help="Take only the events of this time (UTC): days, with TO, or times, without TO; either side may be open. 'new' or new..TO: what comes after the last release of --series.",
)
@click.option(
    "--private-report",
    type=FILE,
    help="Write a page of originals beside what is published of them (mode 0600). Never publish that file.",
)
@click.option(
    "--never",
    type=FILE,
    help="Words never to publish, one a line ('#' begins a comment): left out before anything is counted, with the queries and addresses that hold one.",
)
@click.option(
    "--certificate",
    is_flag=True,
    help="Write two pages beside the release once it is audited: OUT.certificate.html to print, and OUT.dictionary.html.",
)
@click.option(
    "--attack",
    is_flag=True,
    help="Attack the written release before it gets its final name, as 'incrowd risk' does; it takes about as long again as the method.",
)
@click.option(
    "--max-risk",
    metavar="QUESTION=SHARE,..",
    type=COMMA_TEXT,
    help="As --attack, and publish nothing if the risk is higher: singling_out, linkability, inference, as singling_out=0.01.",
)
@click.option("--force", is_flag=True, help="Replace an existing release (and nothing else).")
@click.option("--keep-rejected", is_flag=True, help="Keep the text of rejected lines in rejects.jsonl.")
@click.option(
    "--engine",
    default="local",
    show_default=True,
    help="Where to run: local, or spark (mosaic, flock, partition and dp).",
)
@click.option("--master", help="The Spark cluster's address, as spark://HOST:7077; local[2] to try it.")
@json_option
def anonymize(
    input: tuple[str, ...],  # noqa: A002
    k: str | None,
    lacking: int | None,
    settings: dict[str, str],
    forms: str | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> None:
    """Make an audited release of INPUT in the directory --out.

    Options that you do not give are chosen by what INPUT is, and the choice is printed: of a query log, the words of each session
    as tiles (method mosaic: small sets of words, each held by 5 people), of baskets their items. --goal queries does the same with
    whole queries; --goal people publishes every person as one record, generalized until k share it (method flock).

    INPUT is a query log (AOL, Excite, Sogou, access logs of Apache and nginx, CSV, TSV, JSON, Parquet) or a file of baskets
    (.dat), plain or compressed with gzip, zstd or zip. It may be several files, a folder, a quoted pattern or - for standard
    input: parts of one log, written in one way. Lines that cannot be read are counted and listed in rejects.jsonl next
    to the release.

    \b
    Examples:
      incrowd anonymize aol.tsv.gz --dry-run
      incrowd anonymize aol.tsv.gz --out release
      incrowd anonymize 'logs/*.tsv.gz' --out release
      incrowd anonymize baskets.dat --out release --k 10 --goal people
      incrowd anonymize log.csv --out release --k 5 --columns user=who,query=text,time=when
    """  # noqa: D301 - click needs this character
    from incrowd.cli.dry_run import look_ahead
    from incrowd.cli.progress import ProgressBars
    from incrowd.cli.terminal import show_outcome
    from incrowd.errors import BadInputError, check_choice
    from incrowd.jobs.run import run_job
    from incrowd.jobs.spec import Options

    if lacking is not None and not options["dry_run"]:
        raise BadInputError("--lacking lists words before a release is made: add --dry-run, or drop it")
    is_local = check_choice("engine", options["engine"], ("local", "spark")) == "local"
    context = click.get_current_context()
    options = without_items_of_other_goals(without_overruled(options, context), context)
    settings = fitted_settings(settings, options, k, context)
    options |= {"k": k, "parameters": settings, "text_forms": comma_list(forms)}
    with given_inputs(input) if is_local else nullcontext(input) as paths:
        if options["dry_run"]:
            look_ahead(paths, options, lacking=lacking, as_json=as_json)
            return
        job = Options(paths, **_with_out(options))
        beside = names_beside(job.out, input, job.series)
        with ProgressBars() as progress:
            outcome = run_job(job, progress) if is_local else _run_on_spark(job, progress)
    if as_json:
        print_json({**outcome.as_dict(), "beside": beside})
    else:
        show_outcome(outcome)
    if options["previous"] is None:  # else the claim says so
        warn_of_releases(beside, job.budget)


def _with_out(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse a job that does not say where to publish."""
    if options["out"] is None:
        raise click.UsageError(
            "Missing option '--out': name a directory for the release, or look first with --dry-run",
            click.get_current_context(),
        )
    return options


def _run_on_spark(job: Options, progress: ProgressBars) -> Outcome:
    from incrowd.core.left_out import let_in_again
    from incrowd.errors import BadInputError

    let_in_again()  # PySpark needs pandas
    try:
        from incrowd.spark.run import run_spark_job
    except ImportError:
        raise BadInputError("engine spark needs PySpark 4: pip install 'incrowd[spark]'") from None
    return run_spark_job(job, progress)


@click.command(short_help="Run the whole job on a made-up log.")
@click.option(
    "--out", type=FILE, default=Path("incrowd-demo"), show_default=True, help="Directory for the release."
)
@json_option
def demo(out: Path, as_json: bool) -> None:  # noqa: FBT001
    """Make up a small query log, anonymize it, audit the release and show the result."""
    from incrowd.cli.progress import ProgressBars
    from incrowd.cli.terminal import show_demo
    from incrowd.jobs.run import run_job
    from incrowd.jobs.spec import Options
    from incrowd.logs.synth.generate import write_log
    from incrowd.release.publication import is_release

    with private_directory() as scratch, ProgressBars() as progress:
        log = scratch / "sample.tsv"
        write_log(log, users=DEMO_USERS, seed=1, people="all")
        outcome = run_job(Options(log, out, force=is_release(out)), progress)
        whole = run_job(Options(log, scratch / "people", goal="people", items="terms"), progress)
    if as_json:
        print_json(outcome.as_dict())
    else:
        show_demo(outcome, whole.release.measures["loss"]["kept_exactly"])


@click.command(short_help="Compare methods and k: a table and a page.")
@click.argument("input", nargs=-1, required=True)
@click.option(
    "--methods",
    required=True,
    help="Methods by comma; parameters after a colon, as partition:publish=bag (several with ';').",
)
@click.option(
    "--k",
    "ks",
    metavar="LIST",
    help="Numbers by comma, each at least 2, as 2,5,10; not for dp and korolova alone.",
)
@click.option(
    "--eps",
    metavar="LIST",
    help="Numbers by comma, as 0.5,1,3,10: dp and korolova run with each, and charts show use by eps.",
)
@click.option("--out", type=FILE, required=True, help="Directory to create for the comparison.")
@click.option(
    "--risk",
    is_flag=True,
    help="Attack every release too, and draw use against risk: what the page begins with. It takes longer.",
)
@input_options
@click.option("--force", is_flag=True, help="Replace an existing comparison (and nothing else).")
@json_option
def compare(
    input: tuple[str, ...],  # noqa: A002
    methods: str,
    ks: str | None,
    eps: str | None,
    out: Path,
    risk: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> None:
    """Run every method with every k on INPUT and show each one's promise, use and losses.

    INPUT is read once, as 'incrowd anonymize' reads it, and all methods work on the same items: where their defaults
    differ, choose --items; beside korolova, which lists queries, all work on queries. A method without k runs once, or once
    for each --eps. The directory --out gets compare.html (a self-contained
    page that says which method is best for which question, with charts), compare.csv and compare.json: counts and measures, no
    record. A method that cannot run with some k is listed with the reason, and the others still run. The measures are
    explained in docs/glossary.md.

    Exit code 0: at least one run succeeded; 1: a release did not keep its promise; 2: no run succeeded.

    \b
    Examples:
      incrowd compare baskets.dat --methods mosaic,flock,partition:publish=bag --k 2,5,10 --out compared
      incrowd compare aol.tsv.gz --methods partition --k 5,10 --out compared --items terms
      incrowd compare aol.tsv.gz --methods mosaic,dp,korolova --k 5 --eps 0.5,1,3,10 --out compared
    """  # noqa: D301 - click needs this character
    from incrowd.cli.compare_table import show_comparison
    from incrowd.cli.progress import ProgressBars
    from incrowd.core.claims import LEAST_K
    from incrowd.jobs.compare import run_comparison
    from incrowd.jobs.settings import parse_ks, parse_methods
    from incrowd.jobs.spec import Options

    settings = parse_methods(methods, eps)
    numbers = parse_ks(ks, settings)
    beside = names_beside(out, input)
    with given_inputs(input) as paths, ProgressBars() as progress:
        job = Options(paths, out, min(numbers, default=LEAST_K), **options)
        comparison = run_comparison(job, settings, numbers, progress, risk=risk)
    if as_json:
        rejects = comparison.rejects_file
        print_json(
            {
                **comparison.as_dict(),
                "rejects_file": str(rejects) if rejects else None,
                "out": str(out),
                "beside": beside,
            }
        )
    else:
        show_comparison(comparison, out)
    warn_of_releases(beside)
    if comparison.broken:
        raise click.exceptions.Exit(1)


@click.command(short_help="Show a release: its claim, its losses, some records.")
@click.argument("directory", type=FILE)
@click.option(
    "--with",
    "wanted",
    metavar="ITEM",
    multiple=True,
    help="Of a release of tiles, show those with this item; given several times, those with all of them.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many tiles to show."
)
@json_option
def show(directory: Path, wanted: tuple[str, ...], top: int, as_json: bool) -> None:  # noqa: FBT001
    """Show the release in DIRECTORY as its manifest describes it (use 'incrowd audit' to check it)."""
    import msgspec

    from incrowd.cli.terminal import show_list, show_release, show_tiles
    from incrowd.cli.tile_search import found_as_json, show_found
    from incrowd.errors import BadInputError
    from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
    from incrowd.release.files.noisy_list import ListManifest
    from incrowd.release.files.tiles import TileManifest

    form = format_of(directory)
    is_tiles = form == TILES_FORMAT
    kind = TileManifest if is_tiles else ListManifest if form == LIST_FORMAT else Manifest
    manifest = read_manifest(directory, kind)
    if wanted and not is_tiles:
        raise BadInputError(f"--with searches tiles, and {directory} is no release of tiles: drop --with")
    if as_json:
        found = found_as_json(directory, wanted, top) if wanted else {}
        print_json(msgspec.to_builtins(manifest) | found)
    elif wanted:
        show_found(directory, wanted, top)
    elif form == LIST_FORMAT:
        show_list(directory, manifest)
    elif is_tiles:
        show_tiles(directory, manifest, top)
    else:
        show_release(directory, manifest)


@click.command(short_help="List the methods, their promises and parameters.")
@json_option
def methods(as_json: bool) -> None:  # noqa: FBT001
    """List the methods by the goal that they serve, with their promises and the parameters that --set takes."""
    from incrowd.cli.terminal import show_methods
    from incrowd.methods.registry import METHODS

    described = [method.describe() for method in METHODS.values()]
    if as_json:
        print_json({"methods": described})
    else:
        show_methods(described)


@click.command(short_help="Make up a query log of any size, or a table of people.")
@click.option("--users", type=int, help="A log of how many users.")
@click.option("--lines", type=int, help="A log of how many lines, instead of --users.")
@click.option("--loans", type=int, help="A table of how many loan applicants, instead of a log.")
@click.option(
    "--people",
    type=click.Choice(["heavy", "all"]),
    default="heavy",
    show_default=True,
    help="Users with about 318 lines each, or all users of a log: 55 on average, most of them with few.",
)
@click.option(
    "--with",
    "with_columns",
    help="Columns beside AOL's, separated by commas: any of place, device, language and shown.",
)
@click.option("--out", type=FILE, required=True, help="File to write; .gz and .zst are compressed.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@json_option
def synth(
    users: int | None,
    lines: int | None,
    loans: int | None,
    people: str,
    with_columns: str | None,
    out: Path,
    seed: int,
    force: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Write a made-up log in AOL's format, in which no person is real.

    With --with it has further columns: where people are, their devices and languages, and the addresses that were shown.

    With --loans instead, a made-up table of people for 'incrowd generalize' and 'incrowd gateway': .csv or .parquet.
    """
    from incrowd.cli.progress import ProgressBars
    from incrowd.errors import BadInputError
    from incrowd.logs.synth.generate import write_log

    if loans is not None:
        if with_columns is not None:
            raise BadInputError("--with is for logs, not for a table of people: drop it, or --loans")
        _write_loans(loans, users or lines, out, seed, force=force, as_json=as_json)
        return
    with ProgressBars() as progress:
        progress.step("synth")
        made = write_log(
            out,
            users=users,
            lines=lines,
            seed=seed,
            people=people,
            with_columns=() if with_columns is None else with_columns,
            overwrite=force,
            progress=progress.reading,
        )
    if as_json:
        print_json({"users": made.users, "lines": made.lines, "bytes": made.bytes, "out": str(out)})
    else:
        click.echo(
            f"{out}: {made.lines:,} lines of {made.users:,} made-up users, {made.bytes / 1e6:,.1f} MB of text"
        )


def _write_loans(rows: int, others: int | None, out: Path, seed: int, *, force: bool, as_json: bool) -> None:
    from incrowd.errors import BadInputError
    from incrowd.generalizer.tables import write_synthetic_table

    if others is not None:
        raise BadInputError("give one of --users, --lines and --loans, and not more")
    write_synthetic_table(out, rows=rows, seed=seed, overwrite=force)
    if as_json:
        print_json({"rows": rows, "bytes": out.stat().st_size, "out": str(out)})
    else:
        click.echo(f"{out}: {rows:,} made-up loan applicants")


@click.command("show", short_help="Print a taxonomy's shape, or where a word is in it.")
@click.argument("file")
@click.option(
    "--find",
    "word",
    metavar="WORD",
    help="Print the nodes called WORD (or with this id) and those around them; in wordnet also why a word that it lacks is where it is.",
)
@click.option(
    "--moves", type=FILE, help="Words that hang below other classes, as 'incrowd anonymize' takes them."
)
@json_option
def taxonomy_show(file: str, word: str | None, moves: Path | None, as_json: bool) -> None:  # noqa: FBT001
    """Print the shape of a taxonomy FILE (or 'wordnet'): nodes, leaves, height, widest node."""
    from incrowd.cli.tree_view import show_places, show_shape
    from incrowd.taxonomy.check import shape_of, taxonomy_named
    from incrowd.taxonomy.moves import read_moves
    from incrowd.text.look import look_up_typed

    tree, moved = taxonomy_named(file), None if moves is None else read_moves(moves)
    found = shape_of(tree, moved) if word is None else look_up_typed(tree, word, moved)
    if as_json:
        print_json(found)
    elif word is None:
        show_shape(found)
    else:
        show_places(found)


@click.command("check", short_help="Check a taxonomy file for problems.")
@click.argument("file")
@json_option
def taxonomy_check(file: str, as_json: bool) -> None:  # noqa: FBT001
    """List the problems of a taxonomy FILE by kind, with the first lines of each. Exit code 0: none; 2: some."""
    from incrowd.cli.tree_view import show_problems
    from incrowd.taxonomy.check import check_file

    found = check_file(file)
    if as_json:
        print_json(found)
    else:
        show_problems(found)
    if found["problems"]:
        raise click.exceptions.Exit(2)


ALL = (demo, anonymize, audit, compare, show, tables, methods, budget, generalize, gateway, synth)
TAXONOMY = (taxonomy_show, taxonomy_check)
