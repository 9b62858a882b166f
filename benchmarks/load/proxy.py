"""What the gateway is measured against: a proxy of the same parts (Granian, uvloop, aiohttp) that passes all through.

Run: python proxy.py PORT URL SECONDS
With 0 seconds it waits for the provider as long as that takes, which saves it a timer for each request.
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


@dataclass
class Proxy:
    """The ASGI application. It travels to the worker by pickle, and opens its session there."""

    url: str
    seconds: float

    def __call__(self) -> Any:
        """Return the application: this object as a target loader, as the gateway's `Maker` is."""
        return self.serve

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await self._pass_on(scope, send)
            return
        await receive()
        # The gateway's session, see `incrowd.gateway.providers.http`.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=100),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": "proxy"},
            timeout=aiohttp.ClientTimeout(total=self.seconds or None, connect=self.seconds / 2 or None),
        )
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._session.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _pass_on(self, scope: Any, send: Any) -> None:
        url = URL(f"{self.url}?{scope['query_string'].decode()}", encoded=True)
        async with self._session.get(url, allow_redirects=False) as response:
            body = await response.read()
            headers = [
                (b"content-type", response.headers["content-type"].encode()),
                (b"content-length", str(len(body)).encode()),
            ]
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            await send({"type": "http.response.body", "body": body})


def main(port: int, url: str, seconds: float) -> None:
    multiprocessing.set_start_method("spawn", force=True)
    # The settings of `incrowd.gateway.serve`.
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
    server.serve(target_loader=Proxy(url, seconds), wrap_loader=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
