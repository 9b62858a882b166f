"""Small files that the owner of the data writes: words that are never published, words that are moved, options."""

from __future__ import annotations

import os
from pathlib import Path

from incrowd.errors import BadInputError

__all__ = ["is_file", "read_own"]


def is_file(name: str | os.PathLike[str]) -> bool:
    """Tell whether a text is the name of a file; one that no file can have, as it is too long, is none."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def read_own(path: Path, *, name: str, kind: str, remedy: str, largest: int) -> bytes:
    """Read a file that an option names.

    Parameters
    ----------
    path
        The file.
    name, kind
        The option, and what its file is, as errors say it.
    remedy
        What to give instead of what is no file.
    largest
        How many bytes it may have: who confuses it with the input is told so, before that is read.

    Raises
    ------
    BadInputError
        It is no file, cannot be read, or is too large.
    """
    try:
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "does not exist"
            raise BadInputError(f"{name} {path} {what}: {remedy}")
        if path.stat().st_size > largest:
            raise BadInputError(f"{name} {path} is too large for {kind}: is it the input?")
        return path.read_bytes()
    except OSError as error:
        raise BadInputError(f"{name} {path} cannot be read ({error.strerror}): {remedy}") from None
