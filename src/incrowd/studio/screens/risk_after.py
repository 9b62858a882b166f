"""Risk after: a release is attacked as the data were, with a control group."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.studio.attacked import attack_rows, questions
from incrowd.studio.commands import Places, attack_command, shell_line
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import add_job, jobs_of
from incrowd.studio.pages import Form, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project
from incrowd.studio.releases import Release, made_with, own_release, places_of
from incrowd.studio.screen import Screen
from incrowd.studio.views import view_of

__all__ = ["SCREEN"]


def show(request: Request) -> Response:
    """Show what attackers get from a release."""
    folder, project = studio_of(request).folder, project_of(request)
    release, releases = own_release(folder, project.id, request.query_params.get("release"))
    return page(
        request, "risk-after.html", screen=SCREEN, releases=releases, **_shown(folder, project, release)
    )


def found(request: Request) -> Response:
    """Show how far it is."""
    folder, project = studio_of(request).folder, project_of(request)
    release, _ = own_release(folder, project.id, request.path_params["release"])
    return fragment("_risk_after.html", **_shown(folder, project, release))


def _shown(folder: Folder, project: Project, release: Release | None) -> dict[str, Any]:
    if release is None:
        return {"project": project, "release": None}
    places = places_of(folder, release.name)
    jobs = jobs_of(folder, project.id, "risk")
    job = next((job for job in jobs if job.release == release.name), None)
    view = None if job is None else view_of(folder, job)
    result = view.result if view is not None and view.state.status == "done" else {}
    return {
        "project": project,
        "release": release,
        "chosen": made_with(project.name, release),
        "view": view,
        "result": result,
        "questions": questions(result) if result else [],
        "rows": attack_rows(result) if result else [],
        "possible": _is_possible(release, places),
        "command": shell_line(attack_command(project, places)),
    }


def _is_possible(release: Release, places: Places) -> bool:
    """Tell whether a release can be attacked: a list with noise has no map, others need theirs."""
    return places.map.exists() or release.manifest["format"].startswith("incrowd-list")


def attack(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Attack a release."""
    studio, project = studio_of(request), project_of(request)
    release, _ = own_release(studio.folder, project.id, request.path_params["release"])
    assert release is not None  # noqa: S101 - a name that is none has been refused
    places = places_of(studio.folder, release.name)
    add_job(studio.folder, project.id, "risk", attack_command(project, places), release=release.name)
    studio.runner.wake()
    return see(f"/p/{project.id}/risk-after?release={release.name}")


SCREEN = Screen(
    "risk-after",
    "Risk after",
    "The release is attacked as the data were, by an attacker who knows things about people in it. What the same attack gets about people who are not in it is no risk of the release, and is taken off.",
    (
        Route("/p/{project}/risk-after", show),
        Route("/p/{project}/risk-after/{release}/found", found),
        Route("/p/{project}/risk-after/{release}", posted(attack), methods=["POST"]),
    ),
)
