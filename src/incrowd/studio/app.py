"""The application: the screens, the files of the pages, the stream of changes, and the guard in front."""

from __future__ import annotations

import errno
import os
import traceback

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from incrowd.errors import IncrowdError, place_of
from incrowd.studio.curves import ROUTES as CURVES
from incrowd.studio.door import Door
from incrowd.studio.guard import Guard
from incrowd.studio.pages import ASSETS, Studio, asset, page
from incrowd.studio.screens import SCREENS
from incrowd.studio.screens.start import ROUTES as START
from incrowd.studio.versions import ROUTES as VERSIONS
from incrowd.studio.views import ROUTES as JOBS

__all__ = ["make_app"]

REMEDIES = {
    404: ("There is nothing here", "It may have been moved or removed. Begin with your projects."),
    405: ("That is not possible here", "Go back, and use the buttons of the page."),
    413: ("That is too long", "Give the path of the file instead: it is read where it is, and never copied."),
}


FULL = (errno.ENOSPC, errno.EDQUOT)


def make_app(studio: Studio, door: Door, host: str) -> ASGIApp:
    """Return the application for a host, as ``127.0.0.1:8000``."""
    routes = [*START, *(route for screen in SCREENS for route in screen.routes), *JOBS, *VERSIONS, *CURVES]
    app = Starlette(
        routes=[*routes, Route("/static/{name}", static)],
        exception_handlers={HTTPException: _refused, IncrowdError: _wrong, Exception: _broken},
    )
    app.state.studio = studio
    return Guard(app, door, host)


async def static(request: Request) -> Response:
    """Return a file of the pages; its address changes with its content."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise HTTPException(404)
    data, kind, _ = asset(name)
    return Response(data, media_type=kind, headers={"Cache-Control": "private, max-age=86400"})


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    title, text = REMEDIES.get(status, ("That is not possible", "Go back and try again."))
    return page(request, "error.html", status=status, title=title, text=text)


async def _wrong(request: Request, error: Exception) -> Response:
    return page(request, "error.html", status=422, title="That does not work", text=str(error))


async def _broken(request: Request, error: Exception) -> Response:
    """Tell the type and place of an unforeseen error, never its message, which could quote a record."""
    if os.environ.get("INCROWD_DEBUG"):
        traceback.print_exception(error)
    text = f"Internal error, {place_of(error)}. Nothing is lost. Please report this line."
    if isinstance(error, OSError) and error.errno in FULL:
        text = "The disk is full. Nothing is lost: free space, and try again."
    return page(request, "error.html", status=500, title="Something went wrong", text=text)
