"""Option types and helpers that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from incrowd.claims import check_k
from incrowd.errors import BadInputError

__all__ = ["comma_list", "existing_input", "json_option", "print_json", "read_k", "read_settings"]

Command = TypeVar("Command", bound=Callable[..., Any])


def read_k(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Read k, or say what it must be."""
    return check_k(value)


def read_settings(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Read the method's parameters, each as NAME=VALUE."""
    settings = {}
    for value in values:
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


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else."
    )(command)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
