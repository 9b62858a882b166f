"""Write docs/cli.md from the commands' own help.

Run: python scripts/make_cli_reference.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from incrowd.cli.app import cli

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
WIDTH = 100
INTRODUCTION = """# The command line

This page is made from `--help` by `make docs`; a test fails when it is out of date.

Every command takes `--json`: one JSON object on stdout and nothing else there. Progress goes to stderr: bars on a
terminal, silence otherwise. Exit codes: 0 done; 1 the claim does not hold; 2 bad usage or bad input, with one line
that says what and how to fix it; 130 stopped by Ctrl-C (143 by SIGTERM, 129 by SIGHUP). There is never a traceback: an unforeseen error is exit code
3 and one line with its place.

Environment: `INCROWD_CACHE_DIR` is where compiled kernels are kept (default: the user's cache directory; they are compiled
once, on the first run). `TMPDIR` is where reading spills what does not fit into `--memory`; what a killed run left there is
removed by the next one. For programs that run this one: `INCROWD_PROGRESS=FILE` appends the progress to a file, one JSON object a line, and `INCROWD_PARENT=PID`
ends the program when that process ends. `INCROWD_DEBUG=1` shows the traceback of an unforeseen error: it may quote records, so keep it private.
"""


def helps(
    command: click.Command, path: str, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the help of a command and of those below it."""
    context = click.Context(
        command,
        info_name=path.rpartition(" ")[2],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from helps(child, f"{path} {name}", context)


def page() -> str:
    """Return the page."""
    sections = [f"## {path}\n\n```\n{text.rstrip()}\n```\n" for path, text in helps(cli, "incrowd")]
    return "\n".join([INTRODUCTION, *sections])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text(encoding="utf-8") == page() else "docs/cli.md is out of date; run make docs"
        )
    PAGE.write_text(page(), encoding="utf-8")
