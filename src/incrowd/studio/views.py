"""Jobs as pages show them, and the buttons that every screen with a job has."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.studio.commands import look_command
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import (
    ENDED,
    Job,
    Progress,
    State,
    add_job,
    all_jobs,
    jobs_of,
    progress_of,
    read_job,
    result_of,
    state_of,
)
from incrowd.studio.moved import moved_at
from incrowd.studio.pages import Form, posted, project_of, see, studio_of
from incrowd.studio.projects import Project

__all__ = ["ROUTES", "JobView", "current_look", "view_of"]


class JobView(NamedTuple):
    """A job with all that is known of it. `ahead` is how many jobs run or wait before it."""

    job: Job
    state: State
    progress: Progress
    result: dict[str, Any]
    ahead: int

    @property
    def ended(self) -> bool:
        """Whether it will not go on."""
        return self.state.status in ENDED

    @property
    def error(self) -> str:
        """Why it did not end well; empty if it did, or runs."""
        return str(self.result.get("error") or "") if self.state.status == "failed" else ""


def view_of(folder: Folder, job: Job) -> JobView:
    """Return a job with all that is known of it."""
    state = state_of(folder, job.id)
    result = result_of(folder, job.id) if state.status in ("done", "failed") else {}
    ahead = 0
    if state.status == "queued":
        before = [other for other in all_jobs(folder) if other.id < job.id]
        ahead = sum(state_of(folder, other.id).status not in ENDED for other in before)
    return JobView(job, state, progress_of(folder, job.id), result, ahead)


def current_look(folder: Folder, project: Project) -> JobView | None:
    """Return the newest dry run of a project as it is now; None if there is none, or the choices or moved words have changed since."""
    command, since = look_command(project), moved_at(project)
    jobs = (job for job in jobs_of(folder, project.id, "look") if job.created >= since)
    job = next((job for job in jobs if job.arguments == command), None)
    return None if job is None else view_of(folder, job)


def cancel(request: Request, form: Form) -> Response:
    """Cancel a job."""
    studio_of(request).runner.cancel(_job(request).id)
    return see(_back(request, form))


def again(request: Request, form: Form) -> Response:
    """Run a job again that did not end well, as it was, unless that was done already."""
    studio, job = studio_of(request), _job(request)
    newest = next(
        one for one in jobs_of(studio.folder, job.project, job.kind) if one.arguments == job.arguments
    )
    if newest.id == job.id and state_of(studio.folder, job.id).status in ENDED[1:]:
        add_job(
            studio.folder,
            job.project,
            job.kind,
            job.arguments,
            release=job.release,
            writes=[studio.folder.path / path for path in job.writes],
            python=job.python,
        )
        studio.runner.wake()
    return see(_back(request, form))


def _job(request: Request) -> Job:
    job = read_job(studio_of(request).folder, request.path_params["job"])
    if job is None or job.project != project_of(request).id:
        raise HTTPException(404)
    return job


def _back(request: Request, form: Form) -> str:
    """Return the page that the button is on: one of this project's."""
    home = f"/p/{project_of(request).id}/"
    back = form.get("back", "")
    return back if back.startswith(home) and "\n" not in back else f"{home}run"


ROUTES = (
    Route("/p/{project}/jobs/{job}/cancel", posted(cancel), methods=["POST"]),
    Route("/p/{project}/jobs/{job}/again", posted(again), methods=["POST"]),
)
