from __future__ import annotations

import pytest

from gateway.upstream import Upstream

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
