"""Option types and helpers that several commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from incrowd.core.atomic import private_file
from incrowd.core.temporary import private_directory
from incrowd.errors import BadInputError

__all__ = [
    "COMMA_TEXT",
    "FILE",
    "INPUT",
    "CommaText",
    "TextOrFile",
    "comma_list",
    "existing_input",
    "form_options",
    "given_inputs",
    "input_options",
    "json_option",
    "look_options",
    "print_json",
    "read_settings",
]

FILE = click.Path(path_type=Path)


class TextOrFile(click.types.StringParamType):
    """A file, unless it is a text that stands for something else."""

    def __init__(self, is_file: Callable[[str], bool]) -> None:
        self.is_file = is_file


class CommaText(click.types.StringParamType):
    """A list of texts with commas in between."""


STANDARD_INPUT = "-"
INPUT = TextOrFile(lambda text: "://" not in text and text != STANDARD_INPUT)  # Spark reads addresses too
TAXONOMY = TextOrFile(lambda text: text != "wordnet" and text.partition(":")[0] != "balanced")
COMMA_TEXT = CommaText()
_SPOOL_BYTES = 1024 * 1024
Command = TypeVar("Command", bound=Callable[..., Any])


def read_settings(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read the method's parameters, each as NAME=VALUE; those of a configuration come first, so that others win."""
    settings = {}
    for value in (*(context.lookup_default(str(option.name)) or ()), *values):
        name, sign, text = value.partition("=")
        if not sign or not name.strip():
            raise BadInputError(f"--set takes NAME=VALUE, as in --set publish=bag (got '{value}')")
        settings[name.strip()] = text.strip()
    return settings


def comma_list(text: str | None) -> tuple[str, ...]:
    """Split a list at its commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def existing_input(path: Path) -> Path:
    """Refuse an input that is not a file."""
    if path.is_dir():
        raise BadInputError(f"input {path} is a directory; give a file")
    if not path.exists():
        raise BadInputError(f"input {path} does not exist")
    return path


@contextmanager
def given_inputs(paths: Sequence[str]) -> Iterator[list[str]]:
    """Give the paths of an input; ``-`` stands for standard input, which waits in a private file until the command ends."""
    if STANDARD_INPUT not in paths:
        yield list(paths)
        return
    if paths.count(STANDARD_INPUT) > 1:
        raise BadInputError("input - is given twice: standard input can be read once")
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInputError(
            "input - is standard input, and nothing is piped into it: give a file, or pipe one"
        )
    with private_directory() as directory:
        spooled = directory / "stdin"
        with private_file(spooled).open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, _SPOOL_BYTES)
        yield [str(spooled) if path == STANDARD_INPUT else path for path in paths]


def _machine_memory() -> str:
    from incrowd.core.memory import machine_memory

    return machine_memory()


# How an input is written; the names are those of incrowd.logs.InputForm.
FORM_OPTIONS = (
    click.option(
        "--columns",
        type=COMMA_TEXT,
        help="Column names, as user=..,query=..,time=..,url=..; also shown, rank, place, device, language; numbers from 1 where the file has no names.",
    ),
    click.option(
        "--encoding",
        help="Encoding of the text, as gbk, latin-1 or utf-16.  [default: utf-8; gb18030 for sogou]",
    ),
    click.option(
        "--delimiter",
        help="What separates fields: a character, or tab, comma, semicolon, pipe or space.",
    ),
    click.option(
        "--time-format",
        help="How times are written, as strptime has it ('%d/%m/%Y %H:%M'), where it is not recognised.",
    ),
    click.option("--day", metavar="YYYY-MM-DD", help="The date of times that are times of day alone."),
    click.option(
        "--segment",
        help="Language of queries without blanks between words: zh (Chinese; needs incrowd[zh]).",
    ),
)

# How an input is read and attached to a taxonomy; the names are those of incrowd.jobs.spec.Options.
INPUT_OPTIONS = (
    click.option(
        "--taxonomy",
        type=TAXONOMY,
        help="wordnet, balanced:F or a FILE.  [default: wordnet; balanced:5 for queries and raw]",
    ),
    click.option(
        "--items",
        help="nouns, terms, queries, concepts or raw.  [default: terms for mosaic, concepts for methods that need meaning, else nouns; raw for baskets]",
    ),
    click.option(
        "--kinds",
        type=COMMA_TEXT,
        help="Further kinds of items beside --items, for mosaic: url (clicked), shown, hour, day, week, month, place, device, language.",
    ),
    click.option(
        "--unit",
        help="What is protected as one: user, session:GAP, mini-session:QUERIES/TIME (as 5/10m: at most 5 queries, the last at most 10 minutes after the first), query, day or week (UTC).  [default: session:30m for mosaic where there are times, else user]",
    ),
    click.option(
        "--distinct",
        help="What k counts where a person has several records: people or records.  [default: people]",
    ),
    click.option(
        "--sets", is_flag=True, help="Count each item once per record instead of as often as it occurs."
    ),
    click.option(
        "--format",
        default="auto",
        show_default=True,
        help="auto, aol, excite, sogou, apache (access logs), csv (between , ; | or tabs), tsv, jsonl, json (an array), parquet or dat (baskets).",
    ),
    *FORM_OPTIONS,
    click.option(
        "--unlisted",
        help="Items that the taxonomy lacks: name (a parent that names their kind), keep (a branch of their own), drop or refuse.  [default: name for words on wordnet, keep for other items on wordnet, refuse for a file]",
    ),
    click.option(
        "--moves",
        type=FILE,
        help="Words to place below other classes than the taxonomy does: on each line a word, a tab and the class ('#' begins a comment).",
    ),
    click.option(
        "--seed",
        type=int,
        help="For methods that make random choices.  [default: 0; for mosaic a secret one, which the private map and --json contain; dp and korolova take none]",
    ),
    click.option(
        "--memory",
        default=_machine_memory,
        show_default="3/4 of the machine's",
        help="The most memory that the job may take: reading spills to disk, and a job that cannot fit is refused.",
    ),
)

LOOK_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing. INPUT is read."),
    click.option(
        "--lacking",
        type=click.IntRange(min=1),
        metavar="N",
        help="With --dry-run: also list the N words that the taxonomy lacks and most people have, and what each would be published below. It shows words of the data, for you alone.",
    ),
)


def look_options(command: Command) -> Command:
    """Add the options of a dry run."""
    for option in reversed(LOOK_OPTIONS):
        command = option(command)
    return command


def input_options(command: Command) -> Command:
    """Add the options for how an input is read."""
    for option in reversed(INPUT_OPTIONS):
        command = option(command)
    return command


def form_options(command: Command) -> Command:
    """Add the options for how an input is written, but for its format."""
    for option in reversed(FORM_OPTIONS):
        command = option(command)
    return command


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else."
    )(command)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
