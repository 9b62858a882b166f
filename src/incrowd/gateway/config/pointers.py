"""JSON pointers (RFC 6901): where in an answer something is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from incrowd.errors import BadInputError

__all__ = ["MISSING", "Missing", "compile_pointer"]


class Missing:
    """The type of `MISSING`, which differs from a JSON null that is present."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
_PLACE = re.compile(r"0|[1-9][0-9]{0,17}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


def compile_pointer(text: str) -> Callable[[Any], Any]:
    """Return a function that returns the value at a pointer, or `MISSING`.

    Parameters
    ----------
    text
        ``""`` is the document itself, ``"/items/0/name"`` goes down into it; ``~1`` stands for a slash in a
        name and ``~0`` for a tilde.
    """
    if not text:
        return _itself
    if not text.startswith("/"):
        raise BadInputError(f"a JSON pointer must be empty or begin with a slash (got '{text}')")
    if _BAD_ESCAPE.search(text):
        raise BadInputError(f"a tilde in a JSON pointer must be followed by 0 or 1 (got '{text}')")
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))
    return _name(steps[0]) if len(steps) == 1 else _path(steps)


def _itself(document: Any) -> Any:
    return document


def _name(name: str) -> Callable[[Any], Any]:
    """Return the function for a single name, which is the common case and runs once per row."""

    def find(document: Any) -> Any:
        return document.get(name, MISSING) if type(document) is dict else _step(document, name)

    return find


def _path(steps: tuple[str, ...]) -> Callable[[Any], Any]:
    def find(document: Any) -> Any:
        for step in steps:
            document = _step(document, step)
        return document

    return find


def _step(document: Any, step: str) -> Any:
    """Go one step down: by name into an object, by place into an array."""
    if isinstance(document, dict):
        return document.get(step, MISSING)
    if isinstance(document, list) and _PLACE.fullmatch(step) and int(step) < len(document):
        return document[int(step)]
    return MISSING
