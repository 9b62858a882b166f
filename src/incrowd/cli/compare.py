"""``incrowd compare``. Heavy imports are deferred until the command runs, so that help and usage errors are quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from incrowd.cli.neighbours import names_beside, warn_of_releases
from incrowd.cli.options import FILE, existing_input, input_options, json_option, print_json

__all__ = ["compare"]


@click.command(short_help="Compare methods and k: a table and a page.")
@click.argument("input", type=FILE)
@click.option(
    "--methods",
    required=True,
    help="Methods by comma; parameters after a colon, as partition:publish=bag (several with ';').",
)
@click.option(
    "--k", "ks", metavar="LIST", help="Numbers by comma, each at least 2, as 2,5,10; not for korolova alone."
)
@click.option("--out", type=FILE, required=True, help="Directory to create for the comparison.")
@input_options
@click.option("--force", is_flag=True, help="Replace an existing comparison (and nothing else).")
@json_option
def compare(
    input: Path,  # noqa: A002
    methods: str,
    ks: str | None,
    out: Path,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> None:
    """Run every method with every k on INPUT and show each one's promise and losses.

    INPUT is read once, as 'incrowd anonymize' reads it, and all methods work on the same items: where their defaults
    differ, choose --items. A method without k runs once. The directory --out gets compare.html (a self-contained
    page with charts), compare.csv and compare.json: counts and losses, no record. A method that cannot run with some k is
    listed with the reason, and the others still run. The measures are explained in docs/glossary.md.

    Exit code 0: at least one run succeeded; 1: a release did not keep its promise; 2: no run succeeded.

    \b
    Examples:
      incrowd compare baskets.dat --methods partition,partition:publish=bag --k 2,5,10 --out compared
      incrowd compare aol.tsv.gz --methods partition --k 5,10 --out compared --items terms
    """  # noqa: D301 - click needs this character
    from incrowd.cli.compare_table import show_comparison
    from incrowd.cli.progress import ProgressBars
    from incrowd.core.claims import LEAST_K
    from incrowd.jobs.compare import run_comparison
    from incrowd.jobs.spec import Options, parse_ks, parse_methods

    settings = parse_methods(methods)
    numbers = parse_ks(ks, settings)
    job = Options(existing_input(input), out, min(numbers, default=LEAST_K), **options)
    beside = names_beside(out, input)
    with ProgressBars() as progress:
        comparison = run_comparison(job, settings, numbers, progress)
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
