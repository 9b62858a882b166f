"""A provider with almost no cost: every query gets eight rows, 1 KB of JSON, built once and cached.

Run: python provider.py PORT
The rows have the values of the query, and fixed values for other attributes. `rows_for` returns the rows, so that the load
generator can check the gateway's answers.
"""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import parse_qsl

import uvloop

ROWS = 8
VALUES = {
    "reason": ("Collateral", "Credit history", "Debt-to-income ratio", "Insufficient cash"),
    "county": ("Bristol", "Essex", "Hampden", "Middlesex", "Norfolk", "Plymouth", "Suffolk", "Worcester"),
    "race": ("Asian", "Black", "White", "Not provided"),
    "gender": ("Female", "Male"),
}


def rows_for(query: dict[str, str]) -> list[dict[str, object]]:
    """Return the rows for a query: attribute -> value."""
    return [
        {
            "id": place,
            "loan": 100_000 + 700 * place,
            "income": 40_000 + 900 * place,
            **{name: query.get(name, values[place % len(values)]) for name, values in VALUES.items()},
        }
        for place in range(ROWS)
    ]


def response(target: bytes) -> bytes:
    query = dict(parse_qsl(target.partition(b"?")[2].decode()))
    body = json.dumps({"items": rows_for(query)}, separators=(",", ":")).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Provider(asyncio.Protocol):
    """One connection, kept alive. Requests have no bodies."""

    kept: dict[bytes, bytes] = {}  # noqa: RUF012 - shared by all connections on purpose

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]
        self._waiting = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._waiting = (self._waiting + data).split(b"\r\n\r\n")
        for request in requests:
            target = request.split(b" ", 2)[1]
            answer = self.kept.get(target)
            if answer is None:
                answer = self.kept[target] = response(target)
            self._transport.write(answer)


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
