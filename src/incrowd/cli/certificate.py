"""``incrowd certificate``: the pages beside a release, made again from its files and an audit of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from incrowd.cli.audit import OF_AUDIT, audit
from incrowd.cli.options import FILE, given_inputs, json_option, print_json

__all__ = ["certificate"]


@click.command(short_help="Audit a release, and write its certificate.")
@click.argument("directory", type=FILE)
@click.option("--force", is_flag=True, help="Replace pages that are there (and nothing else).")
@json_option
def certificate(
    directory: Path,
    original: tuple[str, ...],
    force: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """Audit the release in DIRECTORY, as 'incrowd audit' does, and write two pages beside it.

    DIRECTORY.certificate.html says on one page what is promised, what the audit checked and what it could not, and the hash of
    every file; DIRECTORY.dictionary.html explains every column and parameter. Both follow from the release and the audit alone.

    Exit code 0: the pages are written; 1: a check failed, and nothing is.
    """
    from incrowd.cli.progress import ProgressBars
    from incrowd.cli.terminal import show_audit
    from incrowd.jobs.audit import audit_release
    from incrowd.release.certificate import check_pages, write_pages

    check_pages(directory, force=force)
    how = {name: given.pop(name) for name in OF_AUDIT}
    with given_inputs(original) as paths, ProgressBars() as progress:
        result = audit_release(directory, original=paths or None, written=given, listener=progress, **how)
    if not as_json:
        show_audit(result)
    pages = write_pages(directory, result, force=force)
    if as_json:
        print_json({**result.as_dict(), **{name: str(path) for name, path in pages._asdict().items()}})
    else:
        click.echo(f"Wrote {pages.certificate} and {pages.dictionary}.")


certificate.params[1:1] = [
    parameter for parameter in audit.params if parameter.name not in ("directory", "series", "as_json")
]
