"""``incrowd risk``: what attackers get from data, and from a release of it. Heavy imports are deferred until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from incrowd.cli.options import FILE, INPUT, given_inputs, input_options, json_option, print_json

__all__ = ["risk"]


@click.command(short_help="Attack a log or a release of it, and say what attackers get.")
@click.argument("input", type=INPUT, nargs=-1, required=True, metavar="INPUT...")
@click.option("--release", type=FILE, help="A release of INPUT, to attack it too.")
@click.option(
    "--series",
    type=FILE,
    metavar="DIR",
    help="A series of releases of INPUT (anonymize --series), to attack all of them together.",
)
@click.option(
    "--private-map",
    type=FILE,
    multiple=True,
    help="The map that was written with a release (anonymize --private-map). Of a series, one for each release.",
)
@click.option(
    "--second-release", type=FILE, help="Another release of the same people, to attack both together."
)
@click.option("--second-map", type=FILE, help="The map that was written with that one.")
@click.option(
    "--k",
    metavar="INTEGER",
    help="Fewer candidates than this single a person out.  [default: the release's, else 5]",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="How many people to attack for each figure: more of them give narrower intervals.",
)
@click.option(
    "--sensitive",
    metavar="FILE|NAMES",
    help="Which items are sensitive: a file of words, one a line, or classes of the taxonomy, as disease,religion,sex.",
)
@click.option(
    "--population",
    type=click.IntRange(min=1),
    help="Of how many people those in INPUT are a sample, for the journalist risk.",
)
@click.option(
    "--planted", is_flag=True, help="Also run the method again with planted accounts, which takes longer."
)
@click.option(
    "--exposing",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also name the N items that expose most people: with one more item, they lead to one person.",
)
@click.option(
    "--limits",
    metavar="GREEN,AMBER",
    help="Shares of people up to which a light is green, and amber.  [default: 0.05,0.2]",
)
@click.option(
    "--out", type=FILE, help="Write the page to this file (mode 0600). It is for you, not for publishing."
)
@click.option("--force", is_flag=True, help="Replace an existing page (and nothing else).")
@input_options
@json_option
def risk(
    input: tuple[str, ...],  # noqa: A002
    draws: int,
    limits: str | None,
    out: Path | None,
    force: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    seed: int | None,
    **options: Any,
) -> None:
    """Run attacks on INPUT as it is and, with --release and --private-map, on a release of it; or with --series on all releases of a series.

    They answer three questions of data-protection authorities: can a person be singled out, can what is known of a person be linked,
    can something be inferred? Each figure has a 95 % interval and, where it means anything, a control group of people who are not in
    the data; the risk is what is left when the control's share is taken off. A low figure is a lower bound: another attacker may know more.

    INPUT is read as for the release; without one, as 'incrowd anonymize' would read it. docs/risk.md explains every attack.

    \b
    Examples:
      incrowd risk aol.tsv.gz
      incrowd risk aol.tsv.gz --release release --private-map private.map --out risk.html
      incrowd risk aol.tsv.gz --release release --private-map private.map --sensitive disease,religion
      incrowd risk aol.tsv.gz --series series --private-map week-1.map --private-map week-2.map
    """  # noqa: D301 - click needs this character
    from incrowd.cli.progress import ProgressBars
    from incrowd.cli.risk_view import show_risk
    from incrowd.jobs.risk import check_page, run_risk, write_page
    from incrowd.jobs.risk_options import RiskOptions, parse_limits

    if out is not None:
        check_page(out, options["release"], force=force)
    own = {name: options.pop(name) for name in OWN}
    own["private_maps"] = options.pop("private_map")
    with given_inputs(input) as paths, ProgressBars() as progress:
        asked = RiskOptions(
            paths, **own, most=draws, seed=seed or 0, limits=parse_limits(limits), reading=options
        )
        found = run_risk(asked, progress)
    if out is not None:
        write_page(out, found)
    if as_json:
        print_json({**found.as_dict(), "out": None if out is None else str(out)})
    else:
        show_risk(found, out)


OWN = (
    "release",
    "series",
    "second_release",
    "second_map",
    "k",
    "sensitive",
    "population",
    "exposing",
    "planted",
)
