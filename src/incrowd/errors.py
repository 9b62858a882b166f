"""Errors, which the command line turns into one line and an exit code.

No message may quote a record: it names the parameter or the line number, and the remedy. Options are named by `option`, so that
each caller reads them as they are typed there.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = [
    "LARGEST_NUMBER",
    "BadInputError",
    "ClaimError",
    "IncrowdError",
    "check_choice",
    "check_count",
    "check_least",
    "nearest",
    "option",
    "options_as_flags",
    "place_of",
]

LARGEST_NUMBER = 2**31 - 1
"""The largest limit that a method counts up to: as much as none."""
_PYTHON_NAMES = {
    "write": "text_forms",
    "with": "with_columns",
}  # of options that are called otherwise on the command line
_spelling = {"flags": False}


class IncrowdError(Exception):
    """Base of the errors that incrowd raises deliberately."""

    exit_code = 2


class BadInputError(IncrowdError, ValueError):
    """A parameter, a file or a line is not what it must be (exit code 2)."""


class ClaimError(IncrowdError):
    """A release does not keep its promise, so nothing is published (exit code 1)."""

    exit_code = 1


def check_choice(name: str, value: str, known: Iterable[str]) -> str:
    """Return `value` if it is known; else raise an error that lists the choices and suggests the nearest."""
    choices = list(known)
    if value not in choices:
        raise BadInputError(
            f"{name} must be one of {', '.join(choices)} (got '{value}'){nearest(value, choices)}"
        )
    return value


def check_least(name: str, value: float | Fraction, least: int = 1) -> None:
    """Refuse a number that is too small."""
    if value < least:
        raise BadInputError(f"{name} must be at least {least} (got {value})")


def check_count(name: str, value: int, least: int = 1) -> None:
    """Refuse a whole number that is too small, or larger than what methods count up to."""
    check_least(name, value, least)
    if value > LARGEST_NUMBER:
        raise BadInputError(f"{name} must be at most {LARGEST_NUMBER} (got {value})")


def place_of(error: Exception) -> str:
    """Return the type and place of an unforeseen error, never its message, which could quote a record."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    return f"{type(error).__name__} at {Path(frame.f_code.co_filename).name}:{line}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the known word most like `word`, or an empty string."""
    close = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


@contextmanager
def options_as_flags() -> Iterator[None]:
    """Let messages spell options as the command line does, while it runs; else they are Python's arguments."""
    before = _spelling["flags"]
    _spelling["flags"] = True
    try:
        yield
    finally:
        _spelling["flags"] = before


def option(name: str, value: object = None) -> str:
    """Return an option as the caller types it.

    Parameters
    ----------
    name
        What it is called, as ``private_map``.
    value
        What to give it, if anything: True for a switch, several values in a sequence, columns by role in a mapping. A word in
        capital letters stands for the caller's own.

    Examples
    --------
    >>> option("unit", "user"), option("force", True), option("columns", {"time": "NAME"})
    ("unit='user'", 'force=True', 'time=NAME')
    >>> with options_as_flags():
    ...     option("unit", "user"), option("force", True), option("columns", {"time": "NAME"})
    ('--unit user', '--force', '--columns time=NAME')
    """
    return _as_flag(name, value) if _spelling["flags"] else _as_argument(name, value)


def _as_flag(name: str, value: object) -> str:
    flag = "--" + name.replace("_", "-")
    if value is None or value is True:
        return flag
    if isinstance(value, Mapping):
        value = [f"{key}={each}" for key, each in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ",".join(map(str, value))
    return f"{flag} {value}"


def _as_argument(name: str, value: object) -> str:
    name = _PYTHON_NAMES.get(name, name)
    if value is None:
        return name
    if isinstance(value, Mapping):
        return ", ".join(_as_argument(key, each) for key, each in value.items())
    is_own = isinstance(value, str) and value.isalpha() and value.isupper()
    return f"{name}={value if is_own else repr(value)}"
