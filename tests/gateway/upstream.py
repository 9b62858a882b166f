"""A real HTTP provider in another process: it serves rows, records its requests, and can be made to misbehave.

`Upstream` starts and steers it; run as a script, this file is the server. It listens on two ports: one for the
gateway, and one to steer it by, which stays up when the other goes down.

What `steer` may say (everything else goes back to its default):

- ``fault``: one of `FAULTS`, or "down"; ``times``: only so many requests suffer it, the others do not.
- ``status``: for the fault "status"; ``seconds``: for "slow" and "drip"; ``field``: for "field-missing";
  ``location``: for "redirect" and "foreign-link"; ``nbytes``: for "huge" and "bomb".
- ``size``: the rows of a page where the request does not say; ``most``: the most rows of any page.
- ``gzip``: compress; ``links``: "body" (default), or "header" for a Link header alone.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import subprocess
import sys
import tempfile
import urllib.request
import zlib
from pathlib import Path

from aiohttp import web

FAULTS = (
    "slow",
    "drip",
    "status",
    "reset",
    "garbage",
    "deep",
    "cut",
    "cut-chunked",
    "endless",
    "same-cursor",
    "empty-more",
    "ignores-offset",
    "ignores-limit",
    "total-changes",
    "total-missing",
    "total-too-large",
    "total-too-small",
    "rows-object",
    "rows-numbers",
    "field-missing",
    "truncated",
    "huge",
    "bomb",
    "redirect",
    "foreign-link",
    "not-http",
    "rows-inserted",
    "rows-deleted",
    "rows-swapped",
)
DEFAULTS = {
    "fault": "",
    "times": -1,
    "status": 500,
    "seconds": 0.0,
    "field": "",
    "location": "",
    "nbytes": 0,
    "size": 1_000_000,
    "most": 1_000_000,
    "gzip": False,
    "links": "body",
}
COOKIE = "tracker=you-again"


class Upstream:
    """The server's process, from outside. Use it in a `with` block.

    Parameters
    ----------
    rows
        What it serves. A request gets those that equal its parameters, compared by their text.
    tls
        Paths of its certificate and its key and, if clients must show one too, of their authority.
    """

    def __init__(self, rows, tls=()):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(list(rows), file)
            file.flush()
            command = [sys.executable, "-P", __file__, file.name, *map(str, tls)]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            announced = self._process.stdout.readline()
        if not announced:
            self.close()
            raise RuntimeError("the upstream server did not start")
        self.port, self._control = json.loads(announced)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/rows"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._process.terminate()
        self._process.wait(10)
        self._process.stdout.close()

    def steer(self, fault="", **settings):
        """Change how it behaves and forget what it was sent."""
        self._call("steer", {"fault": fault, **settings})

    @property
    def received(self):
        """What it was sent: dicts with method, path, query and headers (lists of pairs) and body."""
        return self._call("received")

    @property
    def connections(self):
        """How many connections the gateway's side has made."""
        return self._call("connections")

    def _call(self, what, settings=None):
        body = None if settings is None else json.dumps(settings).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self._control}/{what}", body, timeout=10) as answer:
            return json.load(answer)


def text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def matching(rows, query):
    """Return the rows that have the query's values; a name that no row has is ignored."""
    known = {name: value for name, value in query.items() if any(name in row for row in rows)}
    return [row for row in rows if all(text(row.get(name)) == text(value) for name, value in known.items())]


class Server:
    """The server, inside its process."""

    def __init__(self, rows, tls):
        self._rows = rows
        self._tls = tls
        self._state = dict(DEFAULTS)
        self._received = []
        self._peers = set()
        self._site = None
        self._data = runner(web.route("*", "/{path:.*}", self.answer))
        tell = [web.get("/received", self.tell), web.get("/connections", self.tell)]
        self._control = runner(web.post("/steer", self.steer), *tell)

    async def run(self):
        await self._data.setup()
        await self._control.setup()
        await self._listen(0)
        self._port = self._data.addresses[0][1]
        await web.TCPSite(self._control, "127.0.0.1", 0).start()
        sys.stdout.write(json.dumps([self._port, self._control.addresses[0][1]]) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

    async def _listen(self, port):
        self._site = web.TCPSite(self._data, "127.0.0.1", port, ssl_context=self._tls, reuse_address=True)
        await self._site.start()

    async def steer(self, request):
        self._received.clear()
        self._peers.clear()
        self._state = DEFAULTS | await request.json()
        if self._state["fault"] == "down" and self._site is not None:
            await self._site.stop()
            for connection in list(self._data.server.connections):
                connection.force_close()
            self._site = None
        elif self._state["fault"] != "down" and self._site is None:
            await self._listen(self._port)
        return web.json_response(None)

    async def tell(self, request):
        what = {"/received": self._received, "/connections": len(self._peers)}
        return web.json_response(what[request.path])

    async def answer(self, request):
        body = await request.read()
        self._peers.add(request.transport.get_extra_info("peername"))
        self._received.append(
            {
                "method": request.method,
                "path": request.path,
                "query": list(request.query.items()),
                "headers": [(name.lower(), value) for name, value in request.headers.items()],
                "body": body.decode("utf-8", "replace"),
            }
        )
        fault = self._state["fault"] if self._state["times"] else ""
        self._state["times"] -= self._state["times"] > 0
        query = json.loads(body) if body else dict(request.query)
        return await self._respond(fault, request, self._document(fault, request, query))

    def _document(self, fault, request, query):
        found = self._shifted(fault, matching(self._rows, query))
        start = int(query.get("offset") or request.query.get("cursor") or query.get("cursor") or 0)
        page, after = self._page(fault, found, start, query)
        link = None if after is None else str(request.rel_url.update_query(cursor=str(after)))
        link = self._state["location"] if fault == "foreign-link" else link
        document = {
            "items": page,
            "total": len(found),
            "truncated": False,
            "next": after,
            "links": {"next": link},
        }
        return document | self._misshapen(fault, document)

    def _shifted(self, fault, found):
        """Return rows as they are after each request has changed them: a new first one, the first one removed, or both."""
        requests = len(self._received) - 1
        if fault == "rows-inserted":
            return [{"id": -number} for number in range(requests, 0, -1)] + found
        if fault == "rows-deleted":
            return found[requests:]
        if fault == "rows-swapped":
            return found[requests:] + [{"id": 1_000 + number} for number in range(requests)]
        return found

    def _page(self, fault, found, start, query):
        """Return the rows of a page, and where the next one begins (None after the last)."""
        wrong = {
            "endless": (found[:1], start + 1),
            "same-cursor": (found[:1], 1),
            "empty-more": ([], start + 1),
        }
        if fault in wrong:
            return wrong[fault]
        size = min(int(query.get("limit") or self._state["size"]), self._state["most"])
        start = 0 if fault == "ignores-offset" else start
        after = start + (len(found) if fault == "ignores-limit" else size)
        return found[start:after], after if after < len(found) else None

    def _misshapen(self, fault, document):
        """Return what is wrong with an answer in place of what would be right."""
        rows, total, field = document["items"], document["total"], self._state["field"]
        wrong = {
            "total-changes": {"total": total + len(self._received)},
            "total-missing": {"total": None},
            "total-too-large": {"total": total + 5},
            "total-too-small": {"total": max(0, total - 5)},
            "rows-object": {"items": {"0": rows}},
            "rows-numbers": {"items": [1, 2, 3]},
            "field-missing": {"items": [{k: v for k, v in row.items() if k != field} for row in rows]},
            "truncated": {"truncated": True},
            "huge": {"items": [{"id": 1, "text": "x" * self._state["nbytes"]}]},
        }
        return wrong.get(fault, {})

    async def _respond(self, fault, request, document):
        headers = {"Set-Cookie": COOKIE, "Content-Type": "application/json"}
        link = document["links"]["next"]
        if self._state["links"] == "header":
            document = {name: document[name] for name in ("items", "truncated")}
            if link:
                headers["Link"] = f'</rows>; rel="first"; title="a, b", <{link}>; rel="prefetch next"'
        if fault == "slow":
            await asyncio.sleep(self._state["seconds"])
        wrong = {
            "status": lambda: web.Response(status=self._state["status"], text="words of the provider"),
            "redirect": lambda: web.Response(status=302, headers={"Location": self._state["location"]}),
            "garbage": lambda: web.Response(text='{"items": [{"secret'),
            "deep": lambda: web.Response(text="[" * 1_000_000),
        }
        if fault in wrong:
            return wrong[fault]()
        payload = json.dumps(document).encode()
        if fault in {"reset", "not-http", "cut", "cut-chunked", "drip", "bomb"}:
            return await self._deliver(fault, request, payload, headers)
        if self._state["gzip"]:
            payload, headers["Content-Encoding"] = gzip.compress(payload), "gzip"
        return web.Response(body=payload, headers=headers)

    async def _deliver(self, fault, request, payload, headers):
        """Answer by hand, so that it can go wrong on the wire."""
        if fault in {"reset", "not-http"}:
            request.transport.write(b"" if fault == "reset" else b"I do not speak HTTP\r\n\r\n")
            request.transport.close()
            return web.Response()
        response = web.StreamResponse(headers=headers)
        if fault == "cut":
            response.content_length = len(payload) + 100
        elif fault == "bomb":
            response.headers["Content-Encoding"] = "gzip"
        else:
            response.enable_chunked_encoding()
        await response.prepare(request)
        if fault == "bomb":
            await self._explode(response, payload)
        elif fault == "drip":
            await self._drip(response, payload)
        else:
            await response.write(payload if fault == "cut" else payload[: len(payload) // 2])
            request.transport.close()
        return response

    async def _drip(self, response, payload):
        for place in range(len(payload)):
            await response.write(payload[place : place + 1])
            await asyncio.sleep(self._state["seconds"])

    async def _explode(self, response, payload):
        """Send a JSON text of many blanks, a thousandth of that on the wire."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        blanks = b" " * 1_000_000
        for _ in range(self._state["nbytes"] // len(blanks)):
            await response.write(packer.compress(blanks))
        await response.write(packer.compress(payload) + packer.flush())


def runner(*routes):
    app = web.Application(client_max_size=10**9)
    app.add_routes(routes)
    return web.AppRunner(app, access_log=None, shutdown_timeout=0)


def tls_context(certificate, key, clients=None):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def main(file, *tls):
    rows = json.loads(Path(file).read_text(encoding="utf-8"))
    asyncio.run(Server(rows, tls_context(*tls) if tls else None).run())


if __name__ == "__main__":
    main(*sys.argv[1:])
