"""Publish: what is promised and was checked, the pages to go with it, the archive, and how to do it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from incrowd.errors import BadInputError
from incrowd.report.use import purposes
from incrowd.studio.commands import audit_command, shell_line
from incrowd.studio.folder import Folder
from incrowd.studio.jobs import add_job, all_jobs, jobs_of, result_of
from incrowd.studio.pages import Form, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project, all_projects
from incrowd.studio.releases import (
    Release,
    all_releases,
    made_with,
    own_release,
    places_of,
    read_release,
    zipped,
)
from incrowd.studio.screen import Screen
from incrowd.studio.series import series_of
from incrowd.studio.views import view_of

__all__ = ["SCREEN"]

# A release's page is a document of its own: in a sandbox it has no part in the studio's session.
PAGE_POLICY = "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'"


def show(request: Request) -> Response:
    """Show a release: the one that is named, or the newest of the project."""
    folder, project = studio_of(request).folder, project_of(request)
    release, own = own_release(folder, project.id, request.query_params.get("release"))
    shown = {"project": project, "release": None} if release is None else _shown(folder, project, release)
    return page(request, "publish.html", screen=SCREEN, releases=own, **shown)


def _shown(folder: Folder, project: Project, release: Release) -> dict[str, Any]:
    manifest = release.manifest
    places = places_of(folder, release.name)
    result = result_of(folder, release.job.id) if release.job else {}
    series = _series_with(folder, project, release)
    is_people = manifest["format"].startswith("incrowd-release")
    return {
        "chosen": made_with(project.name, release),
        "claim": manifest["claim"],
        "purposes": purposes(
            manifest.get("use") or {},
            "Every person is one record, made coarser."
            if is_people
            else "No: nothing says which parts are one person's.",
            people_are_served=is_people,
            kinds=str(manifest["parameters"].get("kinds") or "").split(","),
        ),
        "series": bool(series),
        "beside": sorted({*result.get("beside", []), *_siblings(folder, project)} - series - {release.name}),
        "rejected": result.get("rejected", {}).get("by_reason", {}),
        "command": shell_line(release.job.arguments) if release.job else "",
        "python": release.job.python if release.job else "",
        "map": places.map if places.map.exists() else None,
        **_audit(folder, project, release),
    }


def _series_with(folder: Folder, project: Project, release: Release) -> set[str]:
    """Return the releases of the series that a release is of: no two of them have an event in common."""
    found = series_of(folder, project)
    return found.names if found and release.name in found.names else set()


def _siblings(folder: Folder, project: Project) -> list[str]:
    """Return the releases of the same input, of whichever project, those that came later too."""
    source = Path(project.source).resolve()
    same = {one.id for one in all_projects(folder) if Path(one.source).resolve() == source}
    return [one.name for one in all_releases(folder) if one.project in same]


def _audit(folder: Folder, project: Project, release: Release) -> dict[str, Any]:
    job = next((job for job in jobs_of(folder, project.id, "audit") if job.release == release.name), None)
    return {
        "release": release,
        "audit": None if job is None else view_of(folder, job),
        "fails": _fails(folder, release),
        "audit_line": shell_line(audit_command(project, places_of(folder, release.name))),
        "project": project,
    }


def _fails(folder: Folder, release: Release) -> bool:
    """Tell whether the last recount of a release found that it does not hold: its files were changed."""
    audits = (job for job in reversed(all_jobs(folder)) if (job.kind, job.release) == ("audit", release.name))
    results = (result_of(folder, job.id) for job in audits)
    return next((bool(found.get("problems")) for found in results if "holds" in found), False)


def audited(request: Request) -> Response:
    """Show how the audit goes on."""
    folder, project = studio_of(request).folder, project_of(request)
    return fragment("_audit.html", **_audit(folder, project, _own_release(request)))


def audit(request: Request, form: Form) -> Response:  # noqa: ARG001 - it has no fields
    """Recount a release once more."""
    studio, project, release = studio_of(request), project_of(request), _own_release(request)
    command = audit_command(project, places_of(studio.folder, release.name))
    add_job(studio.folder, project.id, "audit", command, release=release.name)
    studio.runner.wake()
    return see(f"/p/{project.id}/publish?release={release.name}#audit")


def document(request: Request) -> Response:
    """Show a release's page, its certificate or its dictionary."""
    kind = request.path_params["kind"]
    file = _release(request).page(kind)
    if file is None:
        raise HTTPException(404)
    return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": PAGE_POLICY})


def archive(request: Request) -> Response:
    """Send a release as an archive, unless it is known not to hold."""
    release = _release(request)
    if _fails(studio_of(request).folder, release):
        raise BadInputError(
            f"{release.name} does not hold what it promises: make it again, or recount it once it is whole"
        )
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(release.name)}.zip"}
    return StreamingResponse(zipped(release), media_type="application/zip", headers=headers)


def _release(request: Request) -> Release:
    release = read_release(studio_of(request).folder, request.path_params["release"])
    if release is None:
        raise HTTPException(404)
    return release


def _own_release(request: Request) -> Release:
    release = _release(request)
    if release.project != project_of(request).id:
        raise HTTPException(404)
    return release


SCREEN = Screen(
    "publish",
    "Publish",
    "Publish the release together with what it promises and what it does not, so that others can check it. Never publish two releases of the same people unless they were made to go together.",
    (
        Route("/p/{project}/publish", show),
        Route("/p/{project}/publish/{release}/audit", audited),
        Route("/p/{project}/publish/{release}/audit", posted(audit), methods=["POST"]),
        Route("/releases/{release}/archive.zip", archive),
        Route("/releases/{release}/{kind}.html", document),
    ),
)
