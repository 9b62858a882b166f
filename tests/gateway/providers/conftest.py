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
    """Yield one provider for all modules here."""
    with Upstream(ROWS) as server:
        yield server
