"""The baseline for the gateway: a pass-through proxy, with Granian and uvloop like the gateway.

Run: python proxy.py PORT URL aiohttp|own
It sends requests to the provider with aiohttp, in the usual way, or over the gateway's own connections.
"""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import dataclass
from typing import Any

import aiohttp
from granian.constants import Interfaces, Loops
from granian.log import LogLevels
from granian.server import MPServer
from yarl import URL

from incrowd.gateway.providers.pool import Pool

SECONDS = 10.0


@dataclass
class Proxy:
    """The ASGI application. It is pickled to the worker, and opens its connections there."""

    url: str

    def __call__(self) -> Any:
        """Return the application: this object as a target loader, as the gateway's `WorkerFactory` is."""
        return self.serve

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            body = await self._ask(scope["query_string"].decode())
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await receive()
        self._open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._close()
        await send({"type": "lifespan.shutdown.complete"})

    def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=100),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "proxy"},
            timeout=aiohttp.ClientTimeout(total=SECONDS, connect=SECONDS / 2),
        )

    async def _close(self) -> None:
        await self._session.close()

    async def _ask(self, query: str) -> bytes:
        url = URL(f"{self.url}?{query}", encoded=True)
        async with self._session.get(url, allow_redirects=False) as response:
            response.raise_for_status()
            return await response.read()


class LeanProxy(Proxy):
    """The same over the gateway's connections."""

    def _open(self) -> None:
        url = URL(self.url)
        self._pool = Pool(url.raw_host or "", url.port or 0, None, limit=100, connect_seconds=SECONDS / 2)
        self._path, self._host = url.raw_path, url.host_port_subcomponent

    async def _close(self) -> None:
        await self._pool.close()

    async def _ask(self, query: str) -> bytes:
        request = f"GET {self._path}?{query} HTTP/1.1\r\nhost: {self._host}\r\n\r\n"
        received = await self._pool.ask(request.encode(), 10**8)
        if received is None:
            raise ValueError("too large")
        return received.body


def main(port: int, proxy: Proxy) -> None:
    multiprocessing.set_start_method("spawn", force=True)
    # The settings of `incrowd.gateway.server.serve`.
    server = MPServer(
        "proxy",
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGI,
        workers=1,
        loop=Loops.uvloop,
        websockets=False,
        log_level=LogLevels.warning,
    )
    server.serve(target_loader=proxy, wrap_loader=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), {"aiohttp": Proxy, "own": LeanProxy}[sys.argv[3]](sys.argv[2]))
