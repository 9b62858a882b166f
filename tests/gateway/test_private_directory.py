"""The gateway's temporary directory holds the configuration's secrets: the next start removes a dead one's, never a living one's."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pyarrow.parquet as pq
import pytest

from gateway.harness import RunningGateway, configuration
from incrowd.online.made import made_loans


@pytest.fixture
def start(tmp_path):
    """Return a function that makes a gateway whose temporary files are in a directory of the test's."""
    pq.write_table(made_loans(300, seed=5), tmp_path / "people.parquet")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    provider = {"kind": "http", "url": "http://127.0.0.1:9/loans", "rows": "/items"}

    def begin(name):
        (tmp_path / name).mkdir()
        config = configuration(tmp_path / "people.parquet", provider)
        return RunningGateway(tmp_path / name, config, environment={"TMPDIR": str(scratch)})

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
