"""Run: the release is made, audited and given its name; progress, cancelling, and what went wrong."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.errors import BadInputError
from incrowd.studio.commands import anonymize_command, check_choices, python_lines
from incrowd.studio.folder import Folder, slug_of
from incrowd.studio.jobs import Job, add_job, jobs_of
from incrowd.studio.moved import keep_moves
from incrowd.studio.pages import Form, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project
from incrowd.studio.releases import new_places, trial_places
from incrowd.studio.screen import Screen
from incrowd.studio.views import current_look, view_of

__all__ = ["SCREEN"]

SHOWN = 10


def show(request: Request) -> Response:
    """Show the runs."""
    return _page(request)


def _page(request: Request, error: str = "") -> Response:
    folder, project = studio_of(request).folder, project_of(request)
    return page(
        request,
        "run.html",
        status=422 if error else 200,
        screen=SCREEN,
        error=error,
        look=current_look(folder, project),
        **_runs(folder, project),
    )


def runs(request: Request) -> Response:
    """Show the runs as they are now."""
    return fragment("_runs.html", **_runs(studio_of(request).folder, project_of(request)))


def _runs(folder: Folder, project: Project) -> dict[str, Any]:
    """Return the newest run of each release: one that was run again is shown once."""
    newest: dict[str | None, Job] = {}
    for job in jobs_of(folder, project.id, "release"):
        newest.setdefault(job.release, job)
    views = [view_of(folder, job) for job in list(newest.values())[:SHOWN]]
    kept = {place.name for place in folder.releases.iterdir()}
    return {
        "project": project,
        "runs": views,
        "busy": any(not view.ended for view in views),
        "kept": kept,
        "made": next((release for release in newest if release in kept), None),
    }


def start(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Ask for a release."""
    studio, project = studio_of(request), project_of(request)
    try:
        check_choices(project, trial_places(studio.folder))
    except BadInputError as error:
        return _page(request, str(error))
    places = new_places(studio.folder, slug_of(project.name.partition(".")[0]))
    keep_moves(project, places.moves)
    add_job(
        studio.folder,
        project.id,
        "release",
        anonymize_command(project, places),
        release=places.out.name,
        writes=[places.out, places.map, places.report],
        python=python_lines(project, places),
    )
    studio.runner.wake()
    return see(f"/p/{project.id}/run")


SCREEN = Screen(
    "run",
    "Run",
    "The release is written beside its final name, recounted by an independent audit, and only then named. If the promise does not hold, or you cancel, nothing is left.",
    (
        Route("/p/{project}/run", show),
        Route("/p/{project}/run", posted(start), methods=["POST"]),
        Route("/p/{project}/run/runs", runs),
    ),
)
