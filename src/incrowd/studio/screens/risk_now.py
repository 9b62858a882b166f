"""Risk now: who is singled out in the data as they are, and by what."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.studio.attacked import curve_rows, curve_spec
from incrowd.studio.commands import risk_command, shell_line
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import add_job, jobs_of
from incrowd.studio.pages import Form, chart, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project
from incrowd.studio.screen import Screen
from incrowd.studio.views import JobView, view_of

__all__ = ["SCREEN"]


def show(request: Request) -> Response:
    """Show what attackers would get from the data."""
    folder, project = studio_of(request).folder, project_of(request)
    return page(request, "risk-now.html", screen=SCREEN, charts=True, **_shown(folder, project))


def found(request: Request) -> Response:
    """Show how far it is."""
    return fragment("_risk_now.html", **_shown(studio_of(request).folder, project_of(request)))


def _view(folder: Folder, project: Project) -> JobView | None:
    """Return the newest run for the data as they are read now."""
    command = risk_command(project)
    jobs = jobs_of(folder, project.id, "risk-now")
    job = next((job for job in jobs if job.arguments == command), None)
    return None if job is None else view_of(folder, job)


def _shown(folder: Folder, project: Project) -> dict[str, Any]:
    view = _view(folder, project)
    result = view.result if view is not None and view.state.status == "done" else {}
    return {
        "project": project,
        "view": view,
        "result": result,
        "rows": curve_rows(result.get("before", {})),
        "command": shell_line(risk_command(project)),
    }


def measure(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Attack the data."""
    studio, project = studio_of(request), project_of(request)
    view = _view(studio.folder, project)
    if view is None or view.ended:
        add_job(studio.folder, project.id, "risk-now", risk_command(project))
        studio.runner.wake()
    return see(f"/p/{project.id}/risk-now")


def curve(request: Request) -> Response:
    """Answer with the chart."""
    view = _view(studio_of(request).folder, project_of(request))
    return chart(curve_spec(curve_rows({} if view is None else view.result.get("before", {}))))


SCREEN = Screen(
    "risk-now",
    "Risk now",
    "A few things that others know of a person often lead to one record, even without a name. Measure how many people that concerns before you choose how to protect them.",
    (
        Route("/p/{project}/risk-now", show),
        Route("/p/{project}/risk-now", posted(measure), methods=["POST"]),
        Route("/p/{project}/risk-now/found", found),
        Route("/p/{project}/risk-now/curve.json", curve),
    ),
)
