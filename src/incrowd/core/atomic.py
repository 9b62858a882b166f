"""Atomic writes: files and directories get their final names only when they are complete, several of them together.

A draft is written into a private directory beside its final name (see :mod:`incrowd.core.temporary`), which also keeps
what the draft replaces. The planned moves are recorded there before the first one. If the run is killed between moves,
the next run that writes into one of these directories rolls them back. The directories that hold the final names are
locked while moves are made or rolled back, so concurrent runs never mix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from incrowd.core.neighbours import holds_release
from incrowd.core.temporary import PrivateDirectory, delete, directories_locked, locked, private_directories
from incrowd.errors import BadInputError, option

__all__ = [
    "atomic_write",
    "atomic_writes",
    "check_free",
    "private_file",
    "removed_on_failure",
    "working_beside",
]

Replaces = Callable[[Path], bool]
_MOVES = "moves.json"


def check_free(path: Path, *, force: bool, ours: Replaces, what: str) -> None:
    """Refuse a final name that is taken (unless `force` and we wrote it), cannot be written, or lies inside a release."""
    _check_outside(path, what)
    _clean_beside(path.absolute())
    if path.exists() or path.is_symlink():
        if not force:
            raise BadInputError(
                f"{what} {path} exists; choose another name, or use {option('force', value=True)} to replace it"
            )
        if path.is_symlink() or not ours(path):
            raise BadInputError(
                f"{what} {path} exists and was not written by incrowd; {option('force', value=True)} does not replace it"
            )
    parent = path.absolute().parent
    if not parent.is_dir():
        raise BadInputError(f"{what} {path}: the directory above it does not exist; create it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise BadInputError(f"{what} {path}: the directory above it cannot be written")


def _check_outside(path: Path, what: str) -> None:
    """Refuse a place inside a release: private files could be published with it, and its audit would fail."""
    parent = Path(os.path.realpath(path.absolute().parent))
    for above in (parent, *parent.parents):
        if holds_release(above):
            raise BadInputError(
                f"{what} {path} would lie inside the release {above}; choose a place outside it"
            )


@contextmanager
def atomic_write(path: Path, *, replaces: Replaces | None = None) -> Iterator[Path]:
    """Give a draft's name beside `path` to write to; on success it moves to `path`, on failure it is removed.

    A file that was created at `path` meanwhile is replaced only if `replaces` allows it. Stale temporary files of
    killed runs are removed first. A full disk and similar failures become one clear error.
    """
    with atomic_writes([(path, replaces)]) as (draft,):
        yield draft


@contextmanager
def atomic_writes(finals: Sequence[tuple[Path, Replaces | None]]) -> Iterator[list[Path]]:
    """Give a draft's name for each final name; on success all move there, on failure none does.

    The last name is the main one, to which the others belong, as a private map belongs to its release. Its old version
    is moved away first and its new one moved in last, so it never lies beside files that do not belong to it.

    Parameters
    ----------
    finals
        Each final name, and a function that says what may be replaced there (see `atomic_write`).
    """
    paths = [path.absolute() for path, _ in finals]
    try:
        with ExitStack() as stack:
            moves = [_Move(stack.enter_context(working_beside(path)), path) for path in paths]
            yield [move.new for move in moves]
            for move in moves:
                _sync(move.new)
            _move_all(moves, [replaces for _, replaces in finals])
    except OSError as error:
        raise _unwritten(paths, error) from None


def _unwritten(paths: Sequence[Path], error: OSError) -> BadInputError:
    names = " and ".join(map(str, paths))
    reason = error.strerror or type(error).__name__
    there = any(map(os.path.lexists, paths))
    state = "what was there before is unchanged" if there else "nothing was left there"
    return BadInputError(f"{names} cannot be written: {reason}; {state}")


@contextmanager
def working_beside(path: Path) -> Iterator[Path]:
    """Give a private directory beside `path` and remove it in any case; remove those of killed runs first."""
    path = path.absolute()
    _clean_beside(path)
    directory = PrivateDirectory(path.parent, _before(path))
    try:
        yield directory.path
    finally:
        if (
            directory.path / _MOVES
        ).exists():  # the old version could not be restored: the next run tries again
            directory.abandon()
        else:
            directory.remove()


@contextmanager
def removed_on_failure(path: Path | None) -> Iterator[Path | None]:
    """Remove a file if the body fails; None stands for no file."""
    try:
        yield path
    except BaseException:
        if path is not None:
            path.unlink(missing_ok=True)
        raise


def private_file(path: Path) -> Path:
    """Make an empty file that only its owner may read (mode 0600), and return its name."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return path


class _Move(NamedTuple):
    """A draft and its final name; the draft's inode is known once it is complete."""

    directory: Path
    path: Path
    inode: int | None = None

    @property
    def new(self) -> Path:
        return self.directory / "new"

    @property
    def old(self) -> Path:
        """Where the replaced version is kept."""
        return self.directory / "old"

    @property
    def is_done(self) -> bool:
        """Whether the draft is at its final name."""
        return not self.new.exists() and self.inode is not None and self.inode == _inode(self.path)


def _move_all(moves: Sequence[_Move], replaces: Sequence[Replaces | None]) -> None:
    """Move all drafts into place, or roll all moves back; other runs are locked out meanwhile."""
    moves = [move._replace(inode=_inode(move.new)) for move in moves]
    for move in moves:
        _clean_beside(move.path)
    with directories_locked(move.path.parent for move in moves):
        try:
            _record_moves(moves)
            for move, may_go in reversed(list(zip(moves, replaces, strict=True))):
                _move_aside(move, may_go)
            for move in moves:
                move.new.rename(move.path)
        except BaseException:
            _roll_back(moves)
            raise
        with suppress(OSError):  # all is in place; the next run cleans up
            _clear_record(moves)


def _move_aside(move: _Move, replaces: Replaces | None) -> None:
    if not os.path.lexists(move.path):
        return
    if replaces is None or move.path.is_symlink() or not replaces(move.path):
        raise BadInputError(f"{move.path} has appeared meanwhile; nothing was replaced, choose another name")
    move.path.rename(move.old)


def _roll_back(moves: Sequence[_Move], *, unless_taken: bool = False) -> None:
    """Undo all moves, in an order that never shows new files beside old ones; a second call does nothing.

    With `unless_taken`, a replaced version is not restored if its name has been taken since: it is superseded.
    """
    for move in reversed(moves):
        if move.is_done:
            move.path.rename(move.new)
    for move in moves:
        superseded = unless_taken and os.path.lexists(move.path)
        if os.path.lexists(move.old) and not superseded:
            _restore(move)
    _clear_record(moves)


def _restore(move: _Move) -> None:
    kept = (
        f"{move.path} could not be put back; what was there before is kept as {move.old} until the next run"
    )
    if os.path.lexists(move.path):
        raise BadInputError(kept)
    try:
        move.old.rename(move.path)
    except OSError:
        raise BadInputError(kept) from None


def _record_moves(moves: Sequence[_Move]) -> None:
    """Record all moves in each of the private directories, by paths that are valid on every machine that mounts them."""
    for at in moves:
        base = at.path.parent
        said = [
            [os.path.relpath(move.directory, base), os.path.relpath(move.path, base), move.inode]
            for move in moves
        ]
        file = private_file(at.directory / _MOVES)
        file.write_text(json.dumps(said), encoding="utf-8")
        _sync(file)


def _clear_record(moves: Sequence[_Move]) -> None:
    for move in moves:
        (move.directory / _MOVES).unlink(missing_ok=True)


def _read_moves(directory: Path) -> list[_Move]:
    """Return the recorded moves; an empty list if none was made yet."""
    try:
        said = json.loads((directory / _MOVES).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return []
    base = directory.parent
    return [
        _Move(Path(os.path.normpath(base / where)), Path(os.path.normpath(base / path)), inode)
        for where, path, inode in said
    ]


def _recover(directory: Path) -> bool:
    """Roll back the moves of a killed run, unless it had made all; return whether its directory may be removed.

    Drafts and superseded versions in its directories are removed with them.
    """
    moves = _read_moves(directory)
    others = [move.directory for move in moves if move.directory.name != directory.name]
    with ExitStack() as stack:
        for other in others:
            if not other.parent.is_dir():
                return False
            if other.exists() and not stack.enter_context(locked(other)):
                return False
        try:
            if moves and moves[-1].new.exists():
                _roll_back(moves, unless_taken=True)
            _clear_record(moves)
        except (OSError, BadInputError):
            return False
        for other in others:
            delete(other)
    return True


def _clean_beside(path: Path) -> None:
    """Remove the stale temporary files of killed runs beside a final name, after rolling their moves back."""
    for directory in private_directories(path.parent, beside=True):
        with suppress(OSError):
            _clean(directory)


def _clean(directory: Path) -> None:
    places = _places(directory)
    with directories_locked(places), locked(directory) as dead:
        if dead and _places(directory) <= places and _recover(directory):
            delete(directory)


def _places(directory: Path) -> set[Path]:
    """Return the directories whose entries a run has moved or is about to move."""
    return {directory.parent, *(move.path.parent for move in _read_moves(directory))}


def _before(path: Path) -> str:
    return f".{path.name}."


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None


def _sync(path: Path) -> None:
    """Flush a file to the disk before it gets its final name."""
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
