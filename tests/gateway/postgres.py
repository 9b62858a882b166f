"""A real PostgreSQL of the tests' own, on loopback: started once, stopped by its exact process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from helpers import free_port, until

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
START_SECONDS = 60
USER = "postgres"


class Postgres:
    """A database server.

    Parameters
    ----------
    directory
        Where its files go: an empty directory that belongs to the user it runs as.
    """

    def __init__(self, directory):
        self._data = Path(directory) / "data"
        self._directory = Path(directory)
        self.port = free_port()
        self.dsn = f"host=127.0.0.1 port={self.port} user={USER} dbname=postgres"
        self._process = None
        initdb = [
            PROGRAMS / "initdb",
            "-D",
            self._data,
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=directory, **as_server())

    def start(self):
        """Start it, unless it runs, and wait until it answers."""
        if self._process is not None:
            return
        options = {
            "listen_addresses": "127.0.0.1",
            "fsync": "off",
            "unix_socket_directories": self._directory,
        }
        command = [PROGRAMS / "postgres", "-D", self._data, "-p", str(self.port)]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._directory, **as_server()
            )
        until(self._answers, "PostgreSQL does not start", START_SECONDS)

    def _answers(self):
        assert self._process.poll() is None, (self._directory / "log").read_text(encoding="utf-8")
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.dsn):
            return True
        return False

    def stop(self):
        """Stop it at once, with all its connections."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        self._process.wait(START_SECONDS)
        self._process = None

    def freeze(self):
        """Stop every process of it in its tracks; `thaw` lets them go on."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def execute(self, statement, values=None):
        """Run a statement as the owner of everything, and return its rows if it has any."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def _signal_all(self, number):
        parent = self._process.pid
        os.kill(parent, number)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(child, number)


def as_server():
    """Return how a process becomes the user that may run PostgreSQL: never root."""
    return {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}


@pytest.fixture(scope="session")
def postgres():
    """Yield a running PostgreSQL."""
    if not (PROGRAMS / "postgres").exists():
        pytest.skip(f"PostgreSQL 15 is not in {PROGRAMS} (Debian: postgresql-15)")
    directory = tempfile.mkdtemp(
        prefix="incrowd-postgres-"
    )  # short: the path of a socket has at most 107 bytes
    try:
        if os.getuid() == 0:
            shutil.chown(directory, USER)
        server = Postgres(directory)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory)
