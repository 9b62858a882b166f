"""The command ``incrowd budget``: what differentially private releases of the same people may cost together, and have cost."""

from __future__ import annotations

from pathlib import Path

import click

from incrowd.cli.options import FILE, json_option, print_json

__all__ = ["budget"]


@click.command(short_help="Make or show the budget of differentially private releases.")
@click.argument("file", type=FILE)
@click.option("--eps", type=float, help="Make it: the eps of all releases of these people together.")
@click.option("--delta", type=float, help="Make it: their delta together.")
@json_option
def budget(file: Path, eps: float | None, delta: float | None, as_json: bool) -> None:  # noqa: FBT001
    """Show what is left of the budget FILE; with --eps and --delta, make it.

    One budget is for one log, or for all logs of the same people. 'anonymize --budget FILE' records each release in it before the noise is
    drawn, and refuses one for which nothing is left. Keep it, and FILE.mark beside it: they are private, and without them no release is made.
    """
    from incrowd.errors import BadInputError
    from incrowd.release.budget import Budget, create_budget

    if (eps is None) != (delta is None):
        raise BadInputError(
            "a budget needs both --eps and --delta: give both to make it, or none to look at it"
        )
    if eps is not None and delta is not None:
        create_budget(file, eps=eps, delta=delta)
    state = Budget(file).state()
    if as_json:
        print_json({"file": str(file), **state.as_dict()})
        return
    click.echo(f"{file}: {state.in_words}")
    for one in state.releases:
        click.echo(f"  {one.name or '(in Python)'}: {one.method}, eps = {one.eps:g}, delta = {one.delta:g}")
