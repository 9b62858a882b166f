"""``incrowd audit``: a release, or a whole series of them, recounted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from incrowd.cli.options import FILE, form_options, given_inputs, json_option, print_json

__all__ = ["OF_AUDIT", "audit"]

OF_AUDIT = ("private_map", "previous", "previous_release", "taxonomy", "never", "moves", "memory")
"""The options of an audit that do not say how originals are written."""


@click.command(short_help="Recount a release from its files.")
@click.argument("directory", type=FILE, nargs=-1)
@click.option(
    "--series",
    type=FILE,
    help="Audit a whole series: its directory, or a copy of its index.json. DIRECTORY says where releases are that are not beside it.",
)
@click.option(
    "--original",
    multiple=True,
    help="The log that the release was made from; once for each INPUT that it had.",
)
@click.option("--private-map", type=FILE, help="The map that --private-map wrote.")
@click.option("--previous", type=FILE, help="The private map of the release that it follows.")
@click.option("--previous-release", type=FILE, help="The release that it follows.")
@click.option("--taxonomy", help="The taxonomy file, if it has moved since.")
@click.option("--never", type=FILE, help="The list of words that are never published, if it has moved since.")
@click.option("--moves", type=FILE, help="The file of moved words, if it has moved since.")
@form_options
@click.option("--memory", default="4GB", show_default=True, help="Memory for reading the original.")
@json_option
def audit(
    directory: tuple[Path, ...],
    series: Path | None,
    original: tuple[str, ...],
    as_json: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """Recount the release in DIRECTORY from its files.

    With --original and --private-map, each published record is compared with its owner's, people are counted, and the
    figures are measured again. With --private-map alone, people are counted as the map names them, which proves nothing.
    The private map says how the original is written; --columns and the like confirm or correct it. Of a release that follows
    another, --previous counts who is alike in both, and --previous-release confirms that map.

    With --series, every release that the series' index.json names is looked for and audited, windows must not overlap, and what
    two consecutive releases disclose together is counted.

    Exit code 0: no check failed; 1: a check failed, or nothing is promised, or the claim is differential privacy, which
    no file can prove.
    """
    from incrowd.cli.progress import ProgressBars
    from incrowd.cli.series_view import look_at_series
    from incrowd.cli.terminal import show_audit
    from incrowd.jobs.audit import audit_release

    how = {name: given.pop(name) for name in OF_AUDIT}
    if series is not None:
        look_at_series(
            series, directory, as_json=as_json, with_originals=bool(original or how["private_map"])
        )
        return
    if len(directory) != 1:
        raise click.UsageError(
            "Missing argument 'DIRECTORY'."
            if not directory
            else "Give one DIRECTORY, or --series for several releases of one.",
            click.get_current_context(),
        )
    with given_inputs(original) as paths, ProgressBars() as progress:
        result = audit_release(
            directory[0],
            original=paths or None,
            written=given,
            listener=progress,
            **how,
        )
    if as_json:
        print_json(result.as_dict())
    else:
        show_audit(result)
    if result.holds is not True:
        raise click.exceptions.Exit(1)
