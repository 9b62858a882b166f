"""``incrowd studio``: the whole job in a browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from incrowd.cli.extras import importing_extra
from incrowd.cli.options import FILE, json_option, print_json

if TYPE_CHECKING:
    from incrowd.studio.serve import Opened

__all__ = ["studio"]


@click.command(short_help="Do the whole job in a browser, on this machine alone.")
@click.argument("folder", type=FILE, default=Path("incrowd-studio"))
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default="any that is free",
    help="Where to listen, on 127.0.0.1 alone.",
)
@json_option
def studio(folder: Path, no_browser: bool, port: int, as_json: bool) -> None:  # noqa: FBT001
    """Serve pages for the whole job until stopped: data, choices, the run, the release; see docs/studio.md.

    FOLDER keeps everything as plain files and is made if it is not there [default: incrowd-studio]. Stopping the program
    loses nothing. The address that is printed can be used once, within an hour; for another one, run the command again: it finds the studio that is running. Jobs are
    runs of 'incrowd anonymize' and others, and the pages show each as a command and in Python. Needs the extra: pip install
    'incrowd[studio]'.

    \b
    Examples:
      incrowd studio
      incrowd studio work --no-browser --port 8123
    """  # noqa: D301 - click needs this character
    with importing_extra("studio"):
        from incrowd.studio.folder import Folder
        from incrowd.studio.serve import run_studio

    def say(opened: Opened) -> None:
        if as_json:
            print_json(opened._asdict())
            return
        state = (
            "The studio of this folder is running already." if opened.running else "The studio is running."
        )
        click.echo(f"{state} Open this address, which can be used once:\n  {opened.address}")
        if not opened.running:
            click.echo(f"Everything is kept in {opened.folder}. Stop with Ctrl-C.")

    with suppress(KeyboardInterrupt):  # that is how it is stopped
        run_studio(Folder(folder), port, say, browser=not no_browser)
