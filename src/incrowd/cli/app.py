"""The ``incrowd`` program: its commands and its error handling."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from types import FrameType
from typing import Any

import click
from click.shell_completion import shell_complete

from incrowd.cli import commands
from incrowd.cli.certificate import certificate
from incrowd.cli.init import init
from incrowd.cli.risk import risk
from incrowd.cli.studio import studio
from incrowd.core.left_out import leave_out_unused
from incrowd.core.parent import end_with_parent
from incrowd.errors import IncrowdError, nearest, options_as_flags, place_of

__all__ = ["cli", "main"]

BAD_USAGE = 2
INTERNAL = 3
BY_SIGNAL = 128  # and the signal's number
GATEWAY = "gateway"  # handles signals itself
PARENT_VARIABLE = "INCROWD_PARENT"
STOPPED = "stopped; nothing was published"
_OTHER_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Commands(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or raise an error that suggests the nearest."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            known = ", ".join(self.commands)
            raise click.UsageError(
                f"there is no command '{args[0]}'{nearest(args[0], self.commands)}; there are: {known}"
            )
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="incrowd", message="incrowd %(version)s")
def cli() -> None:
    """Publish query logs and other set-valued data without revealing which record is whose.

    \b
    incrowd demo                                     see it work on a made-up log
    incrowd anonymize log.tsv --out release --k 5    make an audited release
    incrowd audit release                            recount it from its files
    """  # noqa: D301 - click needs this character


for command in (*commands.ALL, risk, certificate, init, studio):
    cli.add_command(command)
taxonomy = Commands("taxonomy", help="Look at a taxonomy: its shape and its problems.")
for command in commands.TAXONOMY:
    taxonomy.add_command(command)
cli.add_command(taxonomy)


def main(arguments: list[str] | None = None) -> None:
    """Run the program and exit with its code: 0 done, 1 the claim does not hold, 2 bad usage or input."""
    arguments = _own_arguments() if arguments is None else arguments
    if "_INCROWD_COMPLETE" in os.environ:
        sys.exit(shell_complete(cli, {}, "incrowd", "_INCROWD_COMPLETE", os.environ["_INCROWD_COMPLETE"]))
    stopped = _note_signals(arguments)
    try:
        sys.exit(_run(arguments))
    except IncrowdError as error:
        code = _fail(str(error), error.exit_code, arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 0
    except click.ClickException as error:
        code = _fail(_usage(error), BAD_USAGE, arguments)
    except (click.Abort, KeyboardInterrupt):
        code = _fail(STOPPED, _code_of(stopped), arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = _fail(f"{error.strerror or type(error).__name__}{_where(error)}", BAD_USAGE, arguments)
    except MemoryError:
        code = _fail("not enough memory; use a smaller --memory or a larger machine", BAD_USAGE, arguments)
    except Exception as error:  # noqa: BLE001 - a traceback could show records, so only the place is shown
        # A library may turn the interrupt into an error of its own.
        code = (
            _fail(STOPPED, _code_of(stopped), arguments)
            if stopped
            else _fail(_internal(error), INTERNAL, arguments)
        )
    sys.exit(code)


def _own_arguments() -> list[str]:
    """Return the arguments of a process that is the program's own, and import only what the program uses."""
    leave_out_unused()
    if parent := os.environ.get(PARENT_VARIABLE):
        end_with_parent(int(parent))
    return sys.argv[1:]


def _run(arguments: list[str]) -> int:
    """Run a command; return its exit code."""
    try:
        with options_as_flags(), cli.make_context("incrowd", list(arguments)) as context:
            cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0


def _note_signals(arguments: list[str]) -> list[int]:
    """Let Ctrl-C, SIGTERM and SIGHUP interrupt the program cleanly; return the list of signals received."""
    notes: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        notes.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)
        for number in () if arguments[:1] == [GATEWAY] else _OTHER_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                signal.signal(number, interrupt)
    return notes


def _code_of(notes: list[int]) -> int:
    """Return the exit code that a shell expects after the first of the signals."""
    return BY_SIGNAL + (notes[0] if notes else signal.SIGINT)


def _fail(line: str, code: int, arguments: list[str]) -> int:
    """Print one line, made safe for the terminal, and with ``--json`` one JSON object."""
    from incrowd.report.visible import visible  # imported here, so that the program starts quickly

    with suppress(OSError):  # the terminal may be gone
        print(f"incrowd: {visible(line)}", file=sys.stderr)  # noqa: T201
    if "--json" in arguments:
        print(json.dumps({"error": line, "exit_code": code}))  # noqa: T201
    return code


def _usage(error: click.ClickException) -> str:
    """Return click's message as one line that points to the help."""
    text = " ".join(error.format_message().split())
    context: Any = getattr(error, "ctx", None)
    return f"{text} (see {context.command_path} --help)" if context else text


def _where(error: OSError) -> str:
    return f": {error.filename}" if isinstance(error.filename, str) else ""


def _internal(error: Exception) -> str:
    """Return the type and place of an unexpected error, never its message, which could quote a record."""
    if os.environ.get("INCROWD_DEBUG"):
        traceback.print_exc()
    return f"internal error, {place_of(error)}. Please report this line"
