"""The ledger's own time: setting the clock expires nothing."""

from __future__ import annotations

import pytest

from generalizer.ledger_tools import DAY, make_ledger, open_ledger
from helpers import Clock
from incrowd.generalizer.ledger.store import LedgerEvents

TTL = 90 * DAY


@pytest.fixture
def wall():
    return Clock()


@pytest.fixture
def path(tmp_path, wall):
    """Where a ledger is in which ann has disclosed her sex to the bank."""
    path = tmp_path / "ledger.sqlite"
    make_ledger(path, clock=wall)
    with open_at(path, wall) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        ledger.take_events()
    return path


def open_at(path, wall, steady=None, **options):
    return open_ledger(path, time_to_live=TTL, clock=wall, steady=steady or Clock(), **options)


def knows(ledger):
    return ledger.disclosed("ann", "bank") == {"sex": frozenset({"F"})}


@pytest.mark.parametrize("days", [95, 3650, 9.1, -1, -3650])
def test_a_start_with_a_wrong_clock_expires_nothing(path, wall, days):
    right = wall.now
    wall.now += days * DAY
    with open_at(path, wall) as ledger:
        assert knows(ledger)
        assert ledger.expire() == 0
        assert knows(ledger)
        assert ledger.take_events() == LedgerEvents(created=False, jump=days * DAY)
        assert ledger.take_events().jump == 0
    wall.now = right + 60
    with open_at(path, wall) as ledger:  # set right again: the other way round
        assert ledger.expire() == 0
        assert knows(ledger)
        back = 60 - days * DAY
        assert ledger.take_events().jump == pytest.approx(0 if 0 < back < TTL / 10 else back)


@pytest.mark.parametrize("days", [95, -95, 5])
def test_a_clock_that_is_set_while_it_runs_counts_for_nothing(path, wall, days):
    steady = Clock()
    with open_at(path, wall, steady) as ledger:
        for _ in range(40):  # again and again
            wall.now += days * DAY
            assert ledger.expire() == 0
            assert ledger.take_events().jump == pytest.approx(days * DAY)
        assert knows(ledger)
        steady.now += 89 * DAY
        assert knows(ledger)
        steady.now += 2 * DAY
        assert ledger.disclosed("ann", "bank") == {}
        assert ledger.expire() == 1


def test_time_away_counts_up_to_a_tenth_of_the_time_to_live(path, wall):
    for _ in range(11):
        wall.now += 8.2 * DAY
        with open_at(path, wall) as ledger:
            assert knows(ledger)
            assert ledger.expire() == 0
            assert ledger.take_events().jump == 0
    wall.now += 8.2 * DAY
    with open_at(path, wall) as ledger:
        assert ledger.expire() == 1


def test_a_long_way_off_makes_entries_live_longer(path, wall):
    wall.now += 30 * DAY  # the gateway was off, which cannot be distinguished from a wrong clock
    steady = Clock()
    with open_at(path, wall, steady) as ledger:
        steady.now += 89 * DAY
        assert knows(ledger)
        steady.now += 2 * DAY
        assert not knows(ledger)


def test_what_is_disclosed_after_a_jump_lives_as_long_as_any(path, wall):
    wall.now -= 1000 * DAY
    steady = Clock()
    with open_at(path, wall, steady) as ledger:
        ledger.disclose("bob", "bank", {"sex": "M"})
        steady.now += 89 * DAY
        assert ledger.expire() == 0
        assert ledger.disclosed("bob", "bank") == {"sex": frozenset({"M"})}
        steady.now += 2 * DAY
        assert ledger.expire() == 2


def test_processes_share_one_time(path, wall):
    first, second = Clock(), Clock()
    with open_at(path, wall, first) as ledger:
        wall.now += 500 * DAY
        with open_at(path, wall, second) as other:
            for clock in (wall, first, second):
                clock.now += 50 * DAY
            assert ledger.expire() == other.expire() == 0
            ledger.disclose("bob", "bank", {"sex": "M"})
            assert other.past("bob", "bank").covers({"sex": "M"})
            for clock in (wall, first, second):
                clock.now += 41 * DAY
            assert not knows(ledger)
            assert not knows(other)
            assert other.disclosed("bob", "bank") == ledger.disclosed("bob", "bank") != {}
