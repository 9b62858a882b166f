"""Words: the taxonomy. Where a word is in it, what it lacks, and which one is used."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from incrowd.errors import BadInputError, IncrowdError
from incrowd.studio.inputs import is_baskets
from incrowd.studio.pages import Form, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project, change_project
from incrowd.studio.screen import Screen
from incrowd.studio.uploads import receive
from incrowd.studio.views import current_look

__all__ = ["SCREEN", "look"]

LARGEST = 32 * 10**6
"""The largest taxonomy file that is searched in the studio."""


def show(request: Request) -> Response:
    """Show a word in the taxonomy, and what that lacks."""
    return _page(request, project_of(request))


def _page(request: Request, project: Project, given: str | None = None, error: str = "") -> Response:
    word = " ".join(request.query_params.get("find", "").split())
    used = _used(project)
    found, not_found = _looked_up(used, word)
    plan = current_look(studio_of(request).folder, project)
    return page(
        request,
        "words.html",
        status=422 if error else 200,
        project=project,
        screen=SCREEN,
        used=used,
        given=project.choices.get("taxonomy", "") if given is None else given,
        error=error,
        word=word,
        found=found,
        not_found=not_found,
        plan=plan,
        kinds=_kinds(plan.result if plan else {}),
        largest=LARGEST,
    )


def _used(project: Project) -> str:
    """Return the taxonomy that a job would take."""
    choices = project.choices
    whole = choices.get("items") in ("queries", "raw") or (
        choices.get("goal") == "queries" and not choices.get("items")
    )
    return choices.get("taxonomy") or ("balanced:5" if whole or is_baskets(project) else "wordnet")


def _looked_up(used: str, word: str) -> tuple[dict[str, Any] | None, str]:
    """Return where a word is, or why that cannot be said."""
    if not word:
        return None, ""
    if used.startswith("balanced"):
        return (
            None,
            f"{used} is made from the items of the data, in their order: it tells nothing of what words mean",
        )
    try:
        if used != "wordnet" and Path(used).is_file() and Path(used).stat().st_size > LARGEST:
            raise BadInputError(
                f"it is too large to be searched here: use 'incrowd taxonomy show {used} --find WORD'"
            )
        return look(used, word), ""
    except IncrowdError as error:
        return None, str(error)


def look(taxonomy: str, word: str) -> dict[str, Any]:
    """Return the nodes that a word names; raises `BadInputError` where there is none."""
    from incrowd.taxonomy.look import look_up

    changed = (
        0 if taxonomy == "wordnet" or not Path(taxonomy).is_file() else Path(taxonomy).stat().st_mtime_ns
    )
    return look_up(_opened(taxonomy, changed), word)


@lru_cache(maxsize=2)
def _opened(taxonomy: str, changed: int) -> Any:  # noqa: ARG001 - a change of the file is another call
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
        _check(given)
    except IncrowdError as error:
        return _page(request, project, given, str(error))
    choices = {**project.choices, "taxonomy": given}
    change_project(studio_of(request).folder, project, choices={n: t for n, t in choices.items() if t})
    return see(f"/p/{project.id}/words")


def _check(given: str) -> None:
    """Refuse a taxonomy that a job would refuse."""
    from incrowd.taxonomy.check import check_file

    if given in ("", "wordnet") or re.fullmatch(r"balanced:\d+", given):
        return
    problems = check_file(given)["problems"]
    if problems:
        raise BadInputError(
            f"the taxonomy cannot be used: {problems[0]['in_words']}; 'incrowd taxonomy check' lists all"
        )


async def dropped(request: Request) -> Response:
    """Take a taxonomy file that was dropped on the page."""
    folder, project = studio_of(request).folder, project_of(request)
    try:
        path = await receive(request, folder, LARGEST)
        await run_in_threadpool(_check_or_remove, path)
    except IncrowdError as error:
        return JSONResponse({"error": str(error)}, 422)
    change_project(folder, project, choices={**project.choices, "taxonomy": str(path)})
    return JSONResponse({"see": f"/p/{project.id}/words"})


def _check_or_remove(path: Path) -> None:
    try:
        _check(str(path))
    except IncrowdError:
        path.unlink()
        path.parent.rmdir()
        raise


SCREEN = Screen(
    "words",
    "Words",
    "A word that too few people share is published as a class above it, or not at all. The taxonomy says what is above: look whether it says what your data mean.",
    (
        Route("/p/{project}/words", show),
        Route("/p/{project}/words", posted(choose), methods=["POST"]),
        Route("/p/{project}/words/dropped", dropped, methods=["PUT"]),
    ),
)
