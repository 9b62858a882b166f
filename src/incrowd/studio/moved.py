"""Words that were moved in a project: lines of ``projects/ID/moves.tsv``, as ``--moves`` takes them.

To move a word adds a line, and to undo a move takes it out: what it replaced, an earlier move of the word or the taxonomy's own place, counts again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from incrowd.core.atomic import atomic_write
from incrowd.errors import BadInputError
from incrowd.studio.dials import method_of, takes_whole_queries
from incrowd.studio.folder import Folder
from incrowd.studio.inputs import is_baskets
from incrowd.studio.projects import Project, moves_file

__all__ = [
    "MovedWord",
    "add_move",
    "keep_moves",
    "moved_at",
    "moved_words",
    "takes_moves",
    "undo_move",
    "used_taxonomy",
]

CHANGED_ELSEWHERE = "the moved words have changed in another tab or in their file: look at them again"
_writing = Lock()


class MovedWord(NamedTuple):
    """A move: the number of its line, the word, and the class below which it hangs."""

    line: int
    word: str
    below: str


def moved_words(project: Project) -> list[MovedWord]:
    """Return the words that were moved, each with the move that counts, the newest first."""
    last = {move.word: move for move in _moves_in(_lines_of(Path(project.moves)) if project.moves else [])}
    return sorted(last.values(), reverse=True)


def add_move(folder: Folder, project: Project, word: str, below: str) -> None:
    """Move a word, which was checked."""
    path = moves_file(folder, project.id)
    with _writing:
        _write(path, [*_lines_of(path), f"{word}\t{below}"])


def undo_move(folder: Folder, project: Project, line: int, word: str) -> None:
    """Take a move out again; raises `BadInputError` if it is not there any more."""
    path = moves_file(folder, project.id)
    with _writing:
        lines = _lines_of(path)
        if not any((move.line, move.word) == (line, word) for move in _moves_in(lines)):
            raise BadInputError(CHANGED_ELSEWHERE)
        del lines[line - 1]
        _write(path, lines)


def moved_at(project: Project) -> float:
    """Return when words were moved last (seconds since 1970); 0 if none are."""
    try:
        return Path(project.moves).stat().st_mtime if project.moves else 0.0
    except FileNotFoundError:
        return 0.0


def keep_moves(project: Project, path: Path) -> None:
    """Copy the moved words as they are now, for a release: they can be moved on while it is made, and later."""
    if project.moves and takes_moves(project):
        shutil.copyfile(project.moves, path)


def takes_moves(project: Project) -> bool:
    """Tell whether the job has a place for moved words: a taxonomy with classes, and a method that publishes words."""
    from incrowd.core import promises
    from incrowd.methods.registry import METHODS

    method = METHODS.get(method_of(project.choices))
    fits = method is not None and promises.takes_moves(method.name, method.read_parameters({}))
    return fits and not used_taxonomy(project).startswith("balanced")


def used_taxonomy(project: Project) -> str:
    """Return the taxonomy that a job would take."""
    choices = project.choices
    whole = choices.get("items") in ("queries", "raw") or takes_whole_queries(choices)
    return choices.get("taxonomy") or ("balanced:5" if whole or is_baskets(project) else "wordnet")


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except FileNotFoundError:
        return []


def _moves_in(lines: Sequence[str]) -> list[MovedWord]:
    """Return the moves among some lines; of others, a job says what is wrong with them."""
    pairs = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if not line.startswith("#")]
    return [
        MovedWord(number, *map(str.strip, pair))
        for number, pair in pairs
        if len(pair) == len(MovedWord._fields) - 1
    ]


def _write(path: Path, lines: list[str]) -> None:
    """Write the lines, or remove the file if no move is left."""
    if not _moves_in(lines):
        path.unlink(missing_ok=True)
        return
    with atomic_write(path, replaces=lambda _: True) as draft:
        draft.write_text("\n".join(line for line in lines if line) + "\n", encoding="utf-8")
