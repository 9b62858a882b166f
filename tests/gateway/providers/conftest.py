from __future__ import annotations

import pytest

from gateway.postgres import postgres
from gateway.upstream import Upstream

__all__ = ["postgres"]  # a fixture is found by its name here

ROWS = [
    {
        "id": number,
        "county": f"county {number % 3}",
        "race": "Black" if number % 2 else "White",
        "even": not number % 2,
    }
    for number in range(25)
]


@pytest.fixture(scope="session")
def running():
    with Upstream(ROWS) as server:
        yield server


@pytest.fixture
def upstream(running):
    running.steer()
    return running
