"""The words that the taxonomy lacks, as the newest count of the data has them, without those that were moved since."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from incrowd.studio.commands import look_command
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import jobs_of, result_of, state_of
from incrowd.studio.moved import moved_at, moved_words
from incrowd.studio.projects import Project, moves_file

__all__ = ["Lacking", "lacking_of"]

FINISHED = ("done", "failed")  # a job that would be refused may have counted too


class _Word(msgspec.Struct, frozen=True):
    item: str
    number: int
    below: str | None


class _Counted(msgspec.Struct, frozen=True):
    """What the job printed of its taxonomy."""

    lacking: list[_Word]
    lacking_in_all: int
    lacking_counts: str
    unlisted_are: str | None


class Lacking(NamedTuple):
    """Words with how many people have each and what it would be published below; what is counted, and how many words are lacking in all.

    `named` is whether words are placed by their kinds, and `is_old` whether words were moved since they were counted.
    """

    words: list[_Word]
    counts: str
    in_all: int
    named: bool
    is_old: bool


def lacking_of(folder: Folder, project: Project) -> Lacking | None:
    """Return the words that a project's taxonomy lacks, whatever was moved since they were counted; None if they were not."""
    moves = ("", str(moves_file(folder, project.id)))
    commands = [look_command(replace(project, moves=path)) for path in moves]
    for job in jobs_of(folder, project.id, "look"):
        if job.arguments not in commands or state_of(folder, job.id).status not in FINISHED:
            continue
        try:
            counted = msgspec.convert(result_of(folder, job.id).get("taxonomy"), _Counted)
        except msgspec.ValidationError:  # it was refused before, or is damaged
            continue
        is_old = job.created < moved_at(project) or job.arguments != look_command(project)
        return _without_moved(counted, project, is_old=is_old)
    return None


def _without_moved(counted: _Counted, project: Project, *, is_old: bool) -> Lacking:
    moved = {move.word.lower() for move in moved_words(project)}
    words = [one for one in counted.lacking if one.item.lower() not in moved]
    in_all = counted.lacking_in_all - (len(counted.lacking) - len(words))
    return Lacking(words, counted.lacking_counts, in_all, counted.unlisted_are == "name", is_old)
