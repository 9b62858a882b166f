"""Data: what the input is, how it is read, and what would be left out."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.errors import BadInputError
from incrowd.studio.commands import look_command
from incrowd.studio.dials import COLUMNS, FORM
from incrowd.studio.folder import Folder
from incrowd.studio.inputs import first_rows_of, recognise_input, size_of
from incrowd.studio.jobs import add_job
from incrowd.studio.pages import Form, error_by_field, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project, change_project
from incrowd.studio.screen import Screen
from incrowd.studio.views import current_look

__all__ = ["SCREEN"]

FIELDS = [dial.name for dial in (*COLUMNS, *FORM)]
ROLES = {dial.name: dial.label for dial in COLUMNS}


def show(request: Request) -> Response:
    """Show what was recognised."""
    return _page(request, project_of(request))


def _page(request: Request, project: Project, errors: dict[str, str] | None = None) -> Response:
    folder = studio_of(request).folder
    recognised, found = _recognised(project)
    return page(
        request,
        "data.html",
        status=422 if errors else 200,
        project=project,
        screen=SCREEN,
        recognised=recognised,
        errors=errors or found,
        columns=COLUMNS,
        form=FORM,
        roles=ROLES,
        rows=first_rows_of(project),
        revealed=False,
        look=current_look(folder, project),
        size=size_of(project),
    )


def _recognised(project: Project) -> tuple[Any, dict[str, str]]:
    """Return what the first bytes say, or the error beside its field."""
    try:
        return recognise_input(project), {}
    except BadInputError as error:
        return None, error_by_field(error, FIELDS)


def rows(request: Request) -> Response:
    """Show the first records, or hide them again."""
    project = project_of(request)
    revealed = request.query_params.get("show") == "yes"
    return fragment(
        "_rows.html",
        project=project,
        rows=first_rows_of(project, revealed=revealed),
        revealed=revealed,
        roles=ROLES,
    )


def save(request: Request, form: Form) -> Response:
    """Save how the input is written, if it can be read so."""
    project = project_of(request)
    reading = {name: form[name].strip() for name in FIELDS if form.get(name, "").strip()}

    wanted = replace(project, reading=reading)
    _, errors = _recognised(wanted)
    if errors:
        return _page(request, wanted, errors)
    change_project(studio_of(request).folder, project, reading=reading)
    return see(f"/p/{project.id}/data")


def count(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Read the input to its end, and count."""
    studio, project = studio_of(request), project_of(request)
    look = current_look(studio.folder, project)
    if look is None or look.state.status not in ("queued", "running"):
        add_job(studio.folder, project.id, "look", look_command(project))
        studio.runner.wake()
    return see(f"/p/{project.id}/data#counts")


def counts(request: Request) -> Response:
    """Show what was counted."""
    return fragment("_counts.html", **_counts(studio_of(request).folder, project_of(request)))


def _counts(folder: Folder, project: Project) -> dict[str, Any]:
    return {"project": project, "look": current_look(folder, project), "size": size_of(project)}


SCREEN = Screen(
    "data",
    "Data",
    "Everything that follows depends on how the file is read: who a person is, and what a query is. Look here first, as a wrong column would protect the wrong thing.",
    (
        Route("/p/{project}/data", show),
        Route("/p/{project}/data", posted(save), methods=["POST"]),
        Route("/p/{project}/data/rows", rows),
        Route("/p/{project}/data/count", posted(count), methods=["POST"]),
        Route("/p/{project}/data/counts", counts),
    ),
)
