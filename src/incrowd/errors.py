"""Errors, which the command line turns into one line and an exit code.

No message may quote a record: it names the parameter or the line number, and the remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["BadInputError", "ClaimError", "IncrowdError", "check_choice", "check_least", "nearest"]


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


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the known word most like `word`, or an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""
