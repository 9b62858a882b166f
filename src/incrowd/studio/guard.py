"""The guard in front of all pages: only this machine's browser, only with a session, only from the studio's own pages."""

from __future__ import annotations

from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from incrowd.studio.door import SESSION_SECONDS, Door

__all__ = ["ENTRANCE", "POLICY", "Guard"]

ENTRANCE = "/enter"
SAFE = ("GET", "HEAD")
OWN_SITES = ("same-origin", "none")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # 'no-referrer' would hide the origin of our own forms, too
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
AGAIN = "Run <code>incrowd studio</code> again with the same folder: it prints a new address, and nothing is lost."


class Guard:
    """Middleware that refuses requests that are not the owner's.

    Parameters
    ----------
    app
        The application behind it.
    door
        Who may come in.
    host
        The only host by which the studio is addressed, as ``127.0.0.1:8000``.
    """

    def __init__(self, app: ASGIApp, door: Door, host: str) -> None:
        self._app = app
        self._door = door
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; every answer carries the rules for the page."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope) or self._entered(scope)
        if answer is not None:
            await answer(scope, receive, send_with_rules)
            return
        with suppress(
            Exception
        ):  # the application has answered with its place; its message could quote a record
            await self._app(scope, receive, send_with_rules)

    def _refusal(self, scope: Scope) -> Response | None:
        """Refuse other hosts (whose names may lead here), other sites, and requests that do not say where they come from."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        if headers.getlist("host") != [self._host]:
            return _plain(403, "Wrong address", f"Open <code>http://{self._host}/</code> on this machine.")
        origin = headers.get("origin")
        foreign = origin is not None and origin != f"http://{self._host}"
        if foreign or (origin is None and method not in SAFE):
            return _plain(403, "Not from here", "The studio takes requests from its own pages alone.")
        if headers.get("sec-fetch-site", "none") not in OWN_SITES and path != ENTRANCE:
            return _plain(
                403, "Not from here", f"Type <code>http://{self._host}/</code> into the address bar instead."
            )
        return None

    def _entered(self, scope: Scope) -> Response | None:
        """Answer at the entrance, and whoever has no session."""
        if scope["path"] == ENTRANCE and scope["method"] == "GET":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            session = self._door.enter(given)
            if session is None:
                return _plain(403, "This address was used already, or is wrong", AGAIN)
            return self._welcome(session)
        if not self._door.knows(self._session(scope)):
            return _plain(403, "You are not signed in here", AGAIN)
        return None

    def _session(self, scope: Scope) -> str:
        try:
            cookies = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        return cookies[self._door.cookie].value if self._door.cookie in cookies else ""

    def _welcome(self, session: str) -> Response:
        """Set the cookie on a page that goes on by itself: a redirect after a link elsewhere would not carry the cookie."""
        answer = _plain(
            200,
            "Opening the studio",
            '<a href="/">Go on</a>',
            head='<meta http-equiv="refresh" content="0;url=/">',
        )
        answer.set_cookie(
            self._door.cookie, session, max_age=SESSION_SECONDS, httponly=True, samesite="strict", path="/"
        )
        return answer


def _plain(status: int, title: str, text: str, head: str = "") -> HTMLResponse:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">{head}<title>incrowd studio: {title}</title></head>'
        f"<body><main><h1>{title}</h1><p>{text}</p></main></body></html>",
        status,
    )
