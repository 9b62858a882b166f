"""What looking after the ledger counts and logs."""

from __future__ import annotations

import pytest

from generalizer.ledger_tools import DAY, make_ledger, open_ledger
from helpers import Clock
from incrowd.gateway.ops.ledgers import Upkeep, maintain, report_upkeep
from incrowd.gateway.ops.log import EventLog
from incrowd.gateway.ops.metrics import GatewayMetrics

NAMES = ("ledger_created_total", "ledger_expired_total", "ledger_clock_jumps_total")


@pytest.fixture
def noted():
    """Return a function that notes an upkeep, and returns the lines and the counts after it."""
    entries, meters = [], GatewayMetrics()
    event_log = EventLog("info", entries.append)

    def note(upkeep):
        entries.clear()
        report_upkeep(upkeep, meters, event_log)
        counts = tuple(meters.registry.get_sample_value(f"incrowd_{name}") for name in NAMES)
        return [(entry.event, entry.fields) for entry in entries], counts

    return note


def test_a_new_ledger_what_expired_and_a_clock_that_was_set_are_logged_and_counted(tmp_path, noted):
    path, wall, steady = tmp_path / "ledger.sqlite", Clock(), Clock()
    make_ledger(path, clock=wall)
    with open_ledger(path, clock=wall, steady=steady) as ledger:
        lines, counts = noted(maintain(ledger))
        assert [event for event, _ in lines] == ["ledger_created"]
        assert counts == (1, 0, 0)
        assert noted(maintain(ledger)) == ([], (1, 0, 0))
        ledger.disclose("ann", "bank", {"sex": "F", "state": "MA"})
        wall.now += 95 * DAY
        assert noted(maintain(ledger)) == ([("ledger_clock_jumped", {"seconds": 95 * DAY})], (1, 0, 1))
        wall.now += 2 * DAY
        steady.now += 2 * DAY
        assert noted(maintain(ledger)) == ([("ledger_expired", {"count": 2})], (1, 2, 1))
        assert noted(Upkeep(0, created=False, jump=0.0)) == ([], (1, 2, 1))
