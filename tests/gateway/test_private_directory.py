"""What a killed gateway leaves: no worker, no secret, and a directory that the next start removes, never a living one's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gateway.harness import RunningGateway, configuration
from helpers import free_port, until
from incrowd.generalizer.synthetic import synthetic_loans

SECRET = "a secret that stands in no file 0123456789"


@pytest.fixture
def start(tmp_path):
    """Return a function that makes a gateway whose temporary files are in a directory of the test's."""
    pq.write_table(synthetic_loans(300, seed=5), tmp_path / "people.parquet")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    provider = {"kind": "http", "url": "http://127.0.0.1:9/loans", "rows": "/items"}

    def begin(name):
        (tmp_path / name).mkdir()
        config = configuration(tmp_path / "people.parquet", provider)
        config["privacy"]["secret"] = {"env": "THE_SECRET"}
        environment = {"TMPDIR": str(scratch), "THE_SECRET": SECRET}
        return RunningGateway(tmp_path / name, config, environment=environment)

    return begin, scratch


def killed(gateway):
    """Kill a gateway and its workers, as a machine without memory would."""
    for process in (gateway.pid, *gateway.workers):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_the_next_gateway_removes_what_a_killed_one_left_and_nothing_of_a_living_one(start):
    begin, scratch = start
    with begin("first") as first:
        (directory,) = scratch.iterdir()
        assert directory.stat().st_mode & 0o777 == 0o700
        with begin("second"):
            assert directory.exists()
            assert len(list(scratch.iterdir())) == 2
        assert list(scratch.iterdir()) == [directory]
        killed(first)
    assert list(scratch.iterdir()) == [directory]
    with begin("third"):
        assert not directory.exists()
        assert len(list(scratch.iterdir())) == 1
    assert not list(scratch.iterdir())


def is_there(process):
    """Return whether a process runs; a zombie does not."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until_gone(processes):
    until(lambda: not any(map(is_there, processes)), "the workers go on without their parent")


def holding(secret, folder):
    """Return the files that have some bytes in them."""
    return [file for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()]


def wait_until_free(port):
    """Wait until somebody else can listen there; the system may take a moment to clear up after a killed process."""

    def is_free():
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return True
        return False

    until(is_free, "the port is still in use")


def test_workers_end_with_their_parent_and_no_secret_stays(start, tmp_path):
    begin, scratch = start
    with begin("only") as gateway:
        gateway.reload(gateway.config | {"cache": {"entries": 7}})  # now a state was handed over
        workers = gateway.workers
        assert holding(SECRET.encode(), tmp_path) == []
        os.kill(gateway.pid, signal.SIGKILL)
        wait_until_gone(workers)
        wait_until_free(gateway.port)
    assert list(scratch.iterdir())
    assert holding(SECRET.encode(), tmp_path) == []


def test_a_killed_demonstration_leaves_no_secret(tmp_path):
    port = free_port()
    command = [sys.executable, "-P", "-m", "incrowd", "gateway", "--demo", "--port", str(port)]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as demo:
        until(lambda: list(tmp_path.rglob("gateway.yaml")), "the demonstration does not start")
        demo.kill()
    assert holding(b"secret:\n    env: INCROWD_DEMO_SECRET", tmp_path)
