"""Option types and helpers that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from incrowd.errors import BadInputError

__all__ = [
    "COMMA_TEXT",
    "FILE",
    "INPUT",
    "CommaText",
    "TextOrFile",
    "comma_list",
    "existing_input",
    "input_options",
    "json_option",
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


INPUT = TextOrFile(lambda text: "://" not in text)  # Spark reads addresses too
TAXONOMY = TextOrFile(lambda text: text != "wordnet" and text.partition(":")[0] != "balanced")
COMMA_TEXT = CommaText()
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


def _machine_memory() -> str:
    from incrowd.core.memory import machine_memory

    return machine_memory()


# How an input is read and attached to a taxonomy; the names are those of incrowd.jobs.data.Job.
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
        "--unit",
        help="What is protected as one: user, session:GAP, query, day or week (UTC).  [default: session:30m for mosaic where there are times, else user]",
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
        help="auto, aol, excite, csv (between , ; | or tabs), tsv, jsonl, parquet or dat (baskets).",
    ),
    click.option("--columns", type=COMMA_TEXT, help="Column names, as user=..,query=..,time=..,url=.."),
    click.option(
        "--encoding",
        default="utf-8",
        show_default=True,
        help="Encoding of the text, as gbk, latin-1 or utf-16.",
    ),
    click.option(
        "--unlisted",
        help="Items that the taxonomy lacks: keep (a branch of their own), drop or refuse.  [default: keep for wordnet, refuse for a file]",
    ),
    click.option(
        "--seed",
        type=int,
        help="For methods that make random choices.  [default: 0; for mosaic a secret one, which the private map and --json tell]",
    ),
    click.option(
        "--memory",
        default=_machine_memory,
        show_default="3/4 of the machine's",
        help="The most memory that the job may take: reading spills to disk, and a job that cannot fit is refused.",
    ),
)


def input_options(command: Command) -> Command:
    """Add the options for how an input is read."""
    for option in reversed(INPUT_OPTIONS):
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
