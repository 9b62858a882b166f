"""What the tests of whole gateways share: a PostgreSQL, a provider, and the table of the people in it."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from gateway.postgres import postgres
from gateway.upstream import Upstream

__all__ = ["postgres"]  # a fixture is found by its name here


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    """Return a directory with the table that the module calls LOANS, as people.parquet."""
    folder = tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2])
    pq.write_table(request.module.LOANS, folder / "people.parquet")
    return folder


@pytest.fixture(scope="module")
def running(request):
    """Yield a provider with the rows that the module calls ROWS."""
    with Upstream(request.module.ROWS) as server:
        yield server


@pytest.fixture
def upstream(running):
    """Return the provider as it was when it started, and leave it so."""
    running.steer()
    yield running
    running.steer()
