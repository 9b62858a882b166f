"""Words: the taxonomy. Where a word is in it, what it lacks, and which one is used."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from incrowd.core.own_files import is_file
from incrowd.errors import BadInputError, IncrowdError
from incrowd.studio.lacking import lacking_of
from incrowd.studio.moved import add_move, moved_words, takes_moves, undo_move, used_taxonomy
from incrowd.studio.pages import Form, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project, change_project
from incrowd.studio.screen import Screen
from incrowd.studio.uploads import receive
from incrowd.studio.views import current_look

if TYPE_CHECKING:
    from incrowd.taxonomy import Taxonomy

__all__ = ["SCREEN", "look"]

LARGEST = 32 * 10**6
"""The largest taxonomy file that is searched in the studio."""


class Typed(NamedTuple):
    """What was typed and refused, and why: it is shown again, with the error beside its field."""

    taxonomy: str | None = None
    taxonomy_error: str = ""
    below: str = ""
    below_error: str = ""
    undo_error: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether anything was."""
        return bool(self.taxonomy_error or self.below_error or self.undo_error)


def show(request: Request) -> Response:
    """Show a word in the taxonomy, and what that lacks."""
    project, asked = project_of(request), request.query_params
    return _page(request, project, _top(project) if asked.get("top") == "yes" else asked.get("find", ""))


def _top(project: Project) -> str:
    """Return the class above all others; "" where there is none to be looked up."""
    try:
        used = _searched(used_taxonomy(project))
        return "" if used.startswith("balanced") else str(_tree(used).labels[0])
    except IncrowdError:
        return ""


def _page(request: Request, project: Project, word: str = "", typed: Typed = Typed()) -> Response:  # noqa: B008 - it never changes
    word = " ".join(word.split())
    used = used_taxonomy(project)
    found, not_found = _looked_up(project, used, word)
    plan = current_look(studio_of(request).folder, project)
    return page(
        request,
        "words.html",
        status=422 if typed.is_refused else 200,
        screen=SCREEN,
        used=used,
        given=project.choices.get("taxonomy", "") if typed.taxonomy is None else typed.taxonomy,
        typed=typed,
        word=word,
        found=found,
        not_found=not_found,
        plan=plan,
        lacking=lacking_of(studio_of(request).folder, project),
        kinds=_kinds(plan.result if plan else {}),
        largest=LARGEST,
        **_moved(project),
    )


def _moved(project: Project) -> dict[str, Any]:
    """Return what is shown of the words that were moved."""
    words = moved_words(project)
    return {"project": project, "moved": words, "taken": takes_moves(project)}


def moved(request: Request) -> Response:
    """Show the words that are moved now."""
    return fragment("_moved.html", **_moved(project_of(request)))


def _looked_up(project: Project, used: str, word: str) -> tuple[dict[str, Any] | None, str]:
    """Return where a word is, or why that cannot be said."""
    if not word:
        return None, ""
    if used.startswith("balanced"):
        return (
            None,
            f"{used} is made from the items of the data, in their order: it says nothing of what words mean",
        )
    try:
        return look(_searched(used), word, project.moves), ""
    except IncrowdError as error:
        return None, str(error)


def _searched(used: str) -> str:
    """Return a taxonomy that is not too large to be searched here."""
    if used != "wordnet" and is_file(used) and Path(used).stat().st_size > LARGEST:
        raise BadInputError(
            f"it is too large to be searched here: use 'incrowd taxonomy show {used} --find WORD'"
        )
    return used


def look(taxonomy: str, word: str, moves: str = "") -> dict[str, Any]:
    """Return the nodes that a word names; raises `BadInputError` where there is none."""
    from incrowd.taxonomy.moves import read_moves
    from incrowd.text.look import look_up_typed

    return look_up_typed(_tree(taxonomy), word, read_moves(Path(moves)) if moves else None)


def _tree(taxonomy: str) -> Taxonomy:
    """Return a taxonomy, as its file is now."""
    changed = Path(taxonomy).stat().st_mtime_ns if taxonomy != "wordnet" and is_file(taxonomy) else 0
    return _opened(taxonomy, changed)


@lru_cache(maxsize=2)
def _opened(taxonomy: str, changed: int) -> Taxonomy:  # noqa: ARG001 - a change of the file is another call
    from incrowd.taxonomy.check import taxonomy_named

    return taxonomy_named(taxonomy)


def _kinds(plan: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Return the kinds of words that WordNet lacks, each with distinct words and occurrences, the most frequent first."""
    from incrowd.taxonomy.words import KINDS

    counts = plan.get("counts") or {}
    named = {title: re.sub(r"[ -]", "_", kind) for kind, title in KINDS.items()}
    found = [
        (title, counts[f"{name}_words"], counts.get(f"{name}_occurrences", 0))
        for title, name in named.items()
        if counts.get(f"{name}_words")
    ]
    return sorted(found, key=lambda one: -one[2])


def choose(request: Request, form: Form) -> Response:
    """Take another taxonomy."""
    project = project_of(request)
    given = form.get("taxonomy", "").strip()
    try:
        _checked(given)
    except IncrowdError as error:
        return _page(request, project, typed=Typed(taxonomy=given, taxonomy_error=str(error)))
    choices = {**project.choices, "taxonomy": given}
    change_project(studio_of(request).folder, project, choices={n: t for n, t in choices.items() if t})
    return see(f"/p/{project.id}/words")


def _checked(given: str) -> str:
    """Return a taxonomy; refuse one that a job would refuse."""
    from incrowd.taxonomy.check import check_file

    if given in ("", "wordnet") or re.fullmatch(r"balanced:\d+", given):
        return given
    problems = check_file(given)["problems"]
    if problems:
        raise BadInputError(
            f"the taxonomy cannot be used: {problems[0]['in_words']}; 'incrowd taxonomy check' lists all"
        )
    return given


def move(request: Request, form: Form) -> Response:
    """Move a word below a class."""
    project = project_of(request)
    word, below = (" ".join(form.get(name, "").split()) for name in ("word", "below"))
    try:
        _check_move(project, word, below)
        add_move(studio_of(request).folder, project, word, below)
    except IncrowdError as error:
        return _page(request, project, word, Typed(below=below, below_error=str(error)))
    return see(f"/p/{project.id}/words?{urlencode({'find': word})}#found")


def _check_move(project: Project, word: str, below: str) -> None:
    """Refuse a move that a job would refuse."""
    from incrowd.taxonomy.moves import MOST, check_move
    from incrowd.taxonomy.words import named_tree

    if not takes_moves(project):
        raise BadInputError("the method or the taxonomy that is chosen has no place for moved words")
    if len(moved_words(project)) >= MOST:
        raise BadInputError(f"{MOST:,} moved words are the most: use a taxonomy file of your own")
    used = _searched(used_taxonomy(project))
    named = used == "wordnet" and project.choices.get("unlisted", "") in ("", "name")
    check_move(named_tree() if named else _tree(used), word, below, named=named)


def undo(request: Request, form: Form) -> Response:
    """Take a move back."""
    project, line = project_of(request), form.get("line", "")
    try:
        undo_move(
            studio_of(request).folder, project, int(line) if line.isdecimal() else 0, form.get("word", "")
        )
    except IncrowdError as error:
        return _page(request, project, typed=Typed(undo_error=str(error)))
    return see(f"/p/{project.id}/words#moved")


async def dropped(request: Request) -> Response:
    """Take a taxonomy file that was dropped on the page."""
    project_of(request)  # nothing is copied for one that is none
    folder = studio_of(request).folder
    try:
        taxonomy = await receive(request, folder, LARGEST, _checked)
    except IncrowdError as error:
        return JSONResponse({"error": str(error)}, 422)
    project = project_of(request)  # as it is now: to copy takes its time, and another tab goes on
    change_project(folder, project, choices={**project.choices, "taxonomy": taxonomy})
    return JSONResponse({"see": f"/p/{project.id}/words"})


SCREEN = Screen(
    "words",
    "Words",
    "A word that too few people share is published as a class above it, or not at all. The taxonomy says what is above: look whether it says what your data mean.",
    (
        Route("/p/{project}/words", show),
        Route("/p/{project}/words", posted(choose), methods=["POST"]),
        Route("/p/{project}/words/moved", moved),
        Route("/p/{project}/words/move", posted(move), methods=["POST"]),
        Route("/p/{project}/words/undo", posted(undo), methods=["POST"]),
        Route("/p/{project}/words/dropped", dropped, methods=["PUT"]),
    ),
)
