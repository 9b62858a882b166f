"""``incrowd gateway --demo``: a synthetic provider and a gateway in front of it, on this machine only.

The provider prints the queries that it receives, to show what is disclosed to it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pyarrow.parquet as pq
import yaml

from incrowd.core.temporary import private_directory
from incrowd.gateway.ops.ledgers import init_ledger
from incrowd.gateway.server.serve import run_gateway
from incrowd.generalizer.schema import text_of
from incrowd.generalizer.synthetic import synthetic_loans

__all__ = ["run_demo"]

ROWS = 66_270
KEY = "demo"
SECRET_VARIABLE = "INCROWD_DEMO_SECRET"  # noqa: S105 - a name
ATTRIBUTES = ("loan", "income", "reason", "county", "race", "gender")
PAGES = {"kind": "offset", "size": 500, "total": "/total"}
QUERY = "county=Essex&race=Black&gender=Female&loan=77200"


def run_demo(port: int, say: Callable[[str], None]) -> None:
    """Serve the demonstration until stopped.

    Parameters
    ----------
    port
        Where the gateway listens.
    say
        Prints a line.
    """
    table = synthetic_loans(ROWS)
    provider = Provider(table.to_pylist(), say)
    with private_directory() as folder:
        pq.write_table(table, folder / "people.parquet")
        config = folder / "gateway.yaml"
        # Never on disk, where it would stay if this process were killed.
        os.environ[SECRET_VARIABLE] = secrets.token_hex()
        config.write_text(yaml.safe_dump(_config(port, provider.start()), sort_keys=False), encoding="utf-8")
        init_ledger(config)
        say(f"{ROWS:,} synthetic people, and a provider that must not learn their incomes.")
        say(
            f"Open  http://127.0.0.1:{port}/  (the API key is '{KEY}'), or send a query from another terminal:"
        )
        say(f"  curl -H 'X-Api-Key: {KEY}' 'http://127.0.0.1:{port}/loans?{QUERY}'")
        say("The queries that the provider receives are printed here. Stop with Ctrl-C.")
        run_gateway(config)


def _config(port: int, url: str) -> dict[str, Any]:
    return {
        "listen": {"port": port},
        "log": "error",
        "table": {"file": "people.parquet"},
        "privacy": {"protect": ["income:l=5"], "secret": {"env": SECRET_VARIABLE}},
        "ledger": {"file": "ledger.sqlite"},
        "people": [{"name": "you", "key_sha256": hashlib.sha256(KEY.encode()).hexdigest()}],
        "providers": {"loans": {"kind": "http", "url": url, "rows": "/items", "pages": PAGES}},
        "routes": [
            {
                "path": "/loans",
                "provider": "loans",
                "parameters": dict.fromkeys(ATTRIBUTES, "quasi"),
                "sort": list(ATTRIBUTES),
            }
        ],
    }


class Provider:
    """A provider with a database of loan applications, on a port of the loopback interface."""

    def __init__(self, rows: list[dict[str, Any]], say: Callable[[str], None]) -> None:
        self._rows = rows
        self._say = say

    def start(self) -> str:
        """Start in a thread; return the address."""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept

            def do_GET(self) -> None:
                body = provider.answer(dict(parse_qsl(urlsplit(self.path).query)))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing: `answer` prints the query."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, name="provider", daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/loans"

    def answer(self, parameters: dict[str, str]) -> bytes:
        """Return a page of the rows that match a query, as JSON."""
        query = {name: value for name, value in parameters.items() if name in ATTRIBUTES}
        start, size = int(parameters["offset"]), int(parameters["limit"])
        if start == 0:
            shown = ", ".join(f"{name} = {value}" for name, value in query.items()) or "all rows"
            self._say(f"  the provider receives: {shown}")
        found = [row for row in self._rows if all(text_of(row[name]) == text for name, text in query.items())]
        return msgspec.json.encode({"items": found[start : start + size], "total": len(found)})
