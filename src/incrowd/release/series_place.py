"""The private directory of a series: it is made with mode 0700, holds the ledger, and is worked on by one run at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.core.atomic import check_free
from incrowd.core.ledger_file import PRIVATE, lock, opened
from incrowd.errors import BadInputError, option

__all__ = ["LEDGER_NAME", "alone", "check_series", "ledger_opened", "make_place"]

LEDGER_NAME, LOCK_NAME = "ledger", "lock"
LONGEST_WAIT = 60.0  # seconds; a line takes a few thousandths


def check_series(path: Path, out: Path) -> None:
    """Refuse a series that would be published, or that cannot be made."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"series {path} must not lie inside the release: it holds the secret seed")
    if not os.path.lexists(path):
        check_free(path, force=False, ours=lambda _: False, what="series")
        return
    _check_place(path)
    if not os.path.lexists(path / LEDGER_NAME) and _others(path):
        raise BadInputError(
            f"series {path} holds other files and no {LEDGER_NAME}: name a new directory, or put the {LEDGER_NAME} back that was there"
        )


def make_place(path: Path) -> None:
    """Make the directory if it is not there."""
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    except OSError as error:
        raise BadInputError(f"series {path} cannot be made: {error.strerror}") from None
    _check_place(path)


def _check_place(path: Path) -> None:
    """Refuse what is no directory, and one that others may look into."""
    found = path.lstat()
    if stat.S_ISREG(found.st_mode):
        raise BadInputError(
            f"{option('series')} takes a directory, and {path} is a file: if it is a ledger, nothing is lost by "
            f"mkdir -m 700 DIR && mv {path} DIR/{LEDGER_NAME}, and {option('series', 'DIR')}"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise BadInputError(f"series {path} is no directory: give a directory, or the name of a new one")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & PRIVATE:
        raise BadInputError(f"series {path} can be read by others and holds a secret: chmod 700 {path}")


def _others(path: Path) -> list[str]:
    """Return what lies in a directory without a ledger, but for what a run leaves that was killed as it began."""
    return [file.name for file in path.iterdir() if file.name != LOCK_NAME and not file.name.startswith(".")]


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the only run that chooses and publishes a window of the series; refuse if another does."""
    with opened(path / LOCK_NAME, f"series {LOCK_NAME}") as handle:
        lock(handle, f"series {path}", wait=0)
        yield


@contextmanager
def ledger_opened(path: Path, *, read_only: bool) -> Iterator[int]:
    """Open the ledger in a series, and lock it: others do so only for a moment."""
    with opened(path / LEDGER_NAME, f"series {LEDGER_NAME}", read_only=read_only) as handle:
        lock(handle, f"series {path}", wait=LONGEST_WAIT)
        yield handle
