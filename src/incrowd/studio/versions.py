"""What has changed in the folder: marks that two tabs compare, and the stream by which pages hear of a change."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from incrowd.studio.folder import Folder
from incrowd.studio.projects import FILE, MOVES

__all__ = ["ROUTES", "versions_of"]

LOOK_SECONDS = 0.4
BEAT_SECONDS = 15.0


def versions_of(folder: Folder, project: str | None) -> dict[str, str]:
    """Return marks of the jobs, the project and the releases; each differs once there is something new."""
    return {
        "jobs": _mark(_job_files(folder)),
        "project": _mark([folder.projects / project / name for name in (FILE, MOVES)]) if project else "",
        "releases": _mark([folder.releases]),
    }


def _job_files(folder: Folder) -> Iterator[Path]:
    yield folder.jobs
    with os.scandir(folder.jobs) as entries:
        for entry in entries:
            yield Path(entry.path, "state.json")
            yield Path(entry.path, "progress.jsonl")


def _mark(paths: Iterator[Path] | list[Path]) -> str:
    newest, count = 0, 0
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        newest, count = max(newest, status.st_mtime_ns), count + 1
    return f"{newest:x}.{count:x}"


async def events(request: Request) -> Response:
    """Stream the marks, at once and whenever one changes."""
    folder: Folder = request.app.state.studio.folder
    project = request.query_params.get("project")
    known = project if project and folder.named("projects", project) else None
    return StreamingResponse(_stream(request, folder, known), media_type="text/event-stream")


async def _stream(request: Request, folder: Folder, project: str | None) -> AsyncIterator[str]:
    last, waited = "", 0.0
    while not await request.is_disconnected():
        now = json.dumps(versions_of(folder, project))
        if now != last:
            last, waited = now, 0.0
            yield f"event: versions\ndata: {now}\n\n"
        elif waited >= BEAT_SECONDS:
            waited = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS


ROUTES = (Route("/events", events),)
