"""The first page: your projects, and three ways to begin one."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from incrowd.errors import BadInputError, IncrowdError
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import Job, all_jobs, state_of
from incrowd.studio.pages import Form, page, posted, see, studio_of
from incrowd.studio.projects import Project, all_projects, make_project
from incrowd.studio.uploads import receive

__all__ = ["ROUTES"]

LARGEST_DROP = 256 * 10**6
SAMPLE_USERS = 2_000  # as 'incrowd demo' has
SAMPLE = "sample.tsv"


def show(request: Request) -> Response:
    """Show the first page."""
    return _page(request)


def _page(request: Request, path: str = "", error: str = "") -> Response:
    folder = studio_of(request).folder
    runs = {job.project: job for job in all_jobs(folder) if job.kind == "release"}
    projects = [(project, _where(folder, project, runs.get(project.id))) for project in all_projects(folder)]
    return page(
        request,
        "start.html",
        status=422 if error else 200,
        projects=projects,
        path=path,
        error=error,
        largest=LARGEST_DROP,
    )


def _where(folder: Folder, project: Project, run: Job | None) -> str:
    """Return how far a project has come, in words."""
    if run is None:
        return "choices saved, not run yet" if project.decided else "not run yet"
    last = state_of(folder, run.id).status
    return {"done": "released", "failed": "the last run failed"}.get(last, f"the last run is {last}")


def by_path(request: Request, form: Form) -> Response:
    """Begin a project with a file that stays where it is."""
    given = form.get("path", "").strip()
    try:
        source, name = _checked(given)
    except IncrowdError as error:
        return _page(request, given, str(error))
    return _begun(request, source, name, "path")


def _checked(given: str) -> tuple[str, str]:
    """Return an input as an absolute path, and its name; refuse one that is not there."""
    from incrowd.logs.files import find_parts, name_of

    if not given:
        raise BadInputError("give the path of a file, a folder, or a pattern such as /logs/*.gz")
    if "://" in given:
        find_parts(given)  # says how to get it
    source = os.path.abspath(os.path.expanduser(given))  # noqa: PTH100, PTH111 - a pattern is no path
    try:
        parts = find_parts(source)
    except OSError as error:
        raise BadInputError(
            f"the path cannot be opened ({error.strerror}): check how it is written"
        ) from None
    if odd := next((part.path for part in parts if not part.path.is_file()), None):
        raise BadInputError(f"{odd} is no file: give the path of a file, a folder or a pattern")
    if not any(part.path.stat().st_size for part in parts):
        raise BadInputError(f"{source} is empty: give a file with at least one line")
    return source, name_of(source, parts)


def sample(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Begin a project with a made-up log."""
    from incrowd.logs.synth.generate import write_log

    place = studio_of(request).folder.inputs / SAMPLE
    if not place.exists():
        write_log(place, users=SAMPLE_USERS, seed=1, people="all")
    return _begun(request, str(place), SAMPLE, "sample")


def _begun(request: Request, source: str, name: str, origin: str) -> Response:
    project = make_project(studio_of(request).folder, source, name=name, origin=origin)
    return see(f"/p/{project.id}/data")


async def dropped(request: Request) -> Response:
    """Begin a project with a file that was dropped on the page: it is written to the folder as it comes."""
    folder = studio_of(request).folder
    try:
        source, shown = await receive(request, folder, LARGEST_DROP, _checked)
    except IncrowdError as error:
        return JSONResponse({"error": str(error)}, 422)
    project = make_project(folder, source, name=shown, origin="dropped")
    return JSONResponse({"see": f"/p/{project.id}/data"})


ROUTES = (
    Route("/", show),
    Route("/projects", posted(by_path), methods=["POST"]),
    Route("/projects/sample", posted(sample), methods=["POST"]),
    Route("/projects/dropped", dropped, methods=["PUT"]),
)
