from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import sqlite3
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from generalizer.ledger_tools import (
    DAY,
    NOBODY,
    SECRET,
    assert_one_line,
    make_ledger,
    marker_of,
    open_ledger,
    run,
    start,
)
from helpers import Clock
from incrowd.errors import BadInputError
from incrowd.generalizer.ledger.file import LedgerError


@pytest.fixture
def path(tmp_path):
    """Where a ledger is that was just made."""
    path = tmp_path / "ledger.sqlite"
    make_ledger(path)
    return path


@pytest.fixture
def nothing(tmp_path):
    """Where there is no ledger yet."""
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    with open_ledger(path) as opened:
        yield opened


def every_byte(path):
    """Return what is in the file and its companions, while it is open."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


# What it remembers.


def test_remembers_every_value_for_each_person_and_provider(ledger):
    ledger.disclose("ann", "bank", {"state": "MA", "sex": "F"})
    ledger.disclose("ann", "bank", {"state": "NH"})
    ledger.disclose("ann", "shop", {"age": "30-39"})
    ledger.disclose("bob", "bank", {"sex": "M"})
    assert ledger.disclosed("ann", "bank") == {"state": frozenset({"MA", "NH"}), "sex": frozenset({"F"})}
    assert ledger.disclosed("ann", "shop") == {"age": frozenset({"30-39"})}
    assert ledger.disclosed("bob", "bank") == {"sex": frozenset({"M"})}
    assert ledger.disclosed("bob", "shop") == {}


def test_person_and_provider_do_not_run_together(ledger):
    ledger.disclose("ann", "bank", {"sex": "F"})
    assert ledger.disclosed("an", "nbank") == {}


@pytest.mark.parametrize(
    "value", ["", " ", "007", "1e3", "a\0b", "Ærø", "\N{PERSONAL COMPUTER}", "x" * 100_000]
)
def test_values_come_back_as_they_were(ledger, value):
    ledger.disclose(value, value, {value: value})
    assert ledger.disclosed(value, value) == {value: frozenset({value})}


def test_an_empty_query_discloses_nothing(ledger):
    ledger.disclose("ann", "bank", {})
    assert ledger.disclosed("ann", "bank") == {}


@pytest.mark.parametrize("value", ["\ud800", 7, None])
def test_what_cannot_be_compared_is_refused_and_nothing_is_kept(ledger, value):
    with pytest.raises(BadInputError, match="the value of age must be text"):
        ledger.disclose("ann", "bank", {"sex": "F", "age": value})
    assert ledger.disclosed("ann", "bank") == {}


def test_a_name_that_cannot_be_encoded_is_refused(ledger):
    with pytest.raises(BadInputError, match="person must be text"):
        ledger.disclosed("\ud800", "bank")


def test_a_reservation_shows_what_was_disclosed_and_commits(ledger):
    ledger.disclose("ann", "bank", {"sex": "F"})
    with ledger.reserving("ann", "bank") as reservation:
        assert reservation.disclosed == {"sex": frozenset({"F"})}
        reservation.disclose({"state": "MA"})
    assert ledger.disclosed("ann", "bank") == {"sex": frozenset({"F"}), "state": frozenset({"MA"})}


def test_an_exception_takes_the_reservation_back(ledger):
    def fail():
        with ledger.reserving("ann", "bank") as reservation:
            reservation.disclose({"state": "MA"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert ledger.disclosed("ann", "bank") == {}
    ledger.disclose("ann", "bank", {"sex": "F"})


def test_a_failure_to_disclose_cannot_be_swallowed(ledger):
    def swallow():
        with ledger.reserving("ann", "bank") as reservation, contextlib.suppress(BadInputError):
            reservation.disclose({"sex": "F"})
            reservation.disclose({"age": 7})

    with pytest.raises(LedgerError):
        swallow()
    assert ledger.disclosed("ann", "bank") == {}


def test_a_reservation_that_has_ended_is_refused(ledger):
    with ledger.reserving("ann", "bank") as reservation:
        pass
    with pytest.raises(LedgerError, match="has ended"):
        reservation.disclose({"state": "MA"})
    assert ledger.disclosed("ann", "bank") == {}


def test_a_closed_ledger_says_so(path):
    ledger = open_ledger(path)
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.disclosed("ann", "bank")


@pytest.mark.parametrize("time_to_live", [0, -1, math.nan])
def test_time_to_live_must_be_positive(path, time_to_live):
    with pytest.raises(BadInputError, match="time_to_live"):
        open_ledger(path, time_to_live=time_to_live)


def test_a_short_secret_is_refused(nothing):
    for use in (make_ledger, open_ledger):
        with pytest.raises(BadInputError, match="secret must have at least 16 bytes"):
            use(nothing, secret=b"short")
    assert list(nothing.parent.iterdir()) == []


# Time.


def test_entries_expire_one_by_one(path):
    clock = Clock()
    with open_ledger(path, time_to_live=100, clock=clock, steady=clock) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now += 60
        ledger.disclose("ann", "bank", {"state": "MA"})
        clock.now += 40.5  # 1 % longer, since a repeated disclosure need not be written again within that
        assert set(ledger.disclosed("ann", "bank")) == {"sex", "state"}
        assert ledger.expire() == 0
        clock.now += 0.5
        assert set(ledger.disclosed("ann", "bank")) == {"state"}
        with ledger.reserving("ann", "bank") as reservation:
            assert set(reservation.disclosed) == {"state"}
        assert ledger.expire() == 1
        assert ledger.expire() == 0
        assert set(ledger.disclosed("ann", "bank")) == {"state"}


def test_a_repeated_disclosure_counts_from_the_later_time(path):
    clock = Clock()
    with open_ledger(path, time_to_live=100, clock=clock, steady=clock) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now += 60
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now -= 1_000  # the clock is set back: nothing may expire sooner because of it
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now += 1_000 + 99
        assert set(ledger.disclosed("ann", "bank")) == {"sex"}


def test_an_endless_time_to_live_never_expires(path):
    clock = Clock()
    with open_ledger(path, time_to_live=math.inf, clock=clock, steady=clock) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now = 1e18
        assert ledger.expire() == 0
        assert set(ledger.disclosed("ann", "bank")) == {"sex"}


# What the file tells.


def test_no_person_is_named_in_the_file(ledger, path):
    for provider in ("bank", "shop"):
        ledger.disclose("ann.archer@example.org", provider, {"sex": "F"})
    stored = every_byte(path)
    assert b"bank" in stored  # so the bytes do hold what was written
    assert b"archer" not in stored
    assert SECRET not in stored


def test_a_persons_keys_for_two_providers_differ(ledger, path):
    ledger.disclose("ann", "bank", {"sex": "F"})
    ledger.disclose("ann", "shop", {"sex": "F"})
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(DISTINCT who) FROM disclosures").fetchall() == [(2,)]


def test_another_secret_is_refused_and_harms_nothing(path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
    with pytest.raises(LedgerError) as error:
        open_ledger(path, secret=b"another secret of enough bytes")
    assert_one_line(error, "created with another secret", "start over")
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"sex": frozenset({"F"})}


def test_forgetting_erases_one_person_everywhere_and_no_other(ledger, path):
    for person in [f"person {number}" for number in range(200)]:
        ledger.disclose(person, "bank", {"city": f"city of {person}."})
    ledger.disclose("person 7", "shop", {"city": "another city of person 7."})
    assert b"city of person 7." in every_byte(path)
    assert ledger.forget("person 7") == 2
    assert ledger.disclosed("person 7", "bank") == ledger.disclosed("person 7", "shop") == {}
    stored = every_byte(path)
    assert b"city of person 7." not in stored
    assert b"city of person 8." in stored


def test_a_recent_disclosure_need_not_be_written_again(path):
    clock = Clock()
    with open_ledger(path, time_to_live=1000, clock=clock, steady=clock) as ledger:
        assert ledger.past("ann", "bank").covers({})
        assert not ledger.past("ann", "bank").covers({"sex": "F"})
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now += 9.5
        ledger.disclose("ann", "bank", {"state": "MA"})
        assert ledger.past("ann", "bank").covers({"sex": "F", "state": "MA"})
        assert not ledger.past("ann", "bank").covers({"sex": "M"})
        assert not ledger.past("ann", "shop").covers({"sex": "F"})
        assert not ledger.past("bob", "bank").covers({"sex": "F"})
        clock.now += 0.5
        assert not ledger.past("ann", "bank").covers({"sex": "F", "state": "MA"})
        assert ledger.past("ann", "bank").covers({"state": "MA"})


def test_nothing_is_forgotten_before_its_time_though_telling_again_was_not_written(path):
    clock = Clock()
    with open_ledger(path, time_to_live=1000, clock=clock, steady=clock) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        clock.now += 9.9
        assert ledger.past("ann", "bank").covers({"sex": "F"})  # so it is sent again without being written
        clock.now += 999.9
        assert ledger.disclosed("ann", "bank") == {"sex": frozenset({"F"})}


def test_what_expired_leaves_the_bytes(path):
    clock = Clock()
    with open_ledger(path, clock=clock, steady=clock) as ledger:
        ledger.disclose("ann", "bank", {"city": "Springfield"})
        clock.now += 1.01 * DAY
        assert ledger.expire() == 1
        assert b"Springfield" not in every_byte(path)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_the_owner_may_read_the_files(nothing, umask):
    before = os.umask(umask)
    try:
        make_ledger(nothing)
        with open_ledger(nothing) as ledger:
            ledger.disclose("ann", "bank", {"sex": "F"})
            modes = {file.name: file.stat().st_mode & 0o777 for file in nothing.parent.iterdir()}
    finally:
        os.umask(before)
    name = nothing.name
    assert modes == dict.fromkeys([name, f"{name}-wal", f"{name}-shm", f"{name}.marker"], 0o600)


def test_a_file_that_others_may_read_is_refused(path):
    with open_ledger(path) as ledger:
        path.chmod(0o640)
        with pytest.raises(LedgerError) as error:
            ledger.disclosed("ann", "bank")
    assert_one_line(error, "chmod 600")
    with pytest.raises(LedgerError, match="chmod 600"):
        open_ledger(path)


# Processes and threads.


def test_what_was_disclosed_survives_a_kill(path):
    script = """
    import itertools
    opened = ledger()
    for number in itertools.count():
        opened.disclose("ann", "bank", {"number": str(number)})
        print(number, flush=True)
    """
    with start(path, script) as process:
        for _ in range(20):
            last = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
        last = ([last, *process.stdout.read().split()])[-1]
    assert process.returncode == -signal.SIGKILL
    with open_ledger(path) as ledger:
        assert {str(number) for number in range(int(last) + 1)} <= ledger.disclosed("ann", "bank")["number"]


def test_a_commit_reaches_the_disk_and_not_just_the_page_cache(ledger):
    # A kill cannot show a missing fsync, only a power cut can: hold to the settings that ask for it.
    assert ledger._run("PRAGMA synchronous") == [(2,)]
    assert ledger._run("PRAGMA journal_mode") == [("wal",)]


def test_a_kill_inside_a_reservation_leaves_nothing_and_no_lock(path):
    script = """
    with ledger().reserving("ann", "bank") as reservation:
        reservation.disclose({"sex": "F"})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(path, script)[0] == -signal.SIGKILL
    with open_ledger(path, timeout=0.5) as ledger:
        assert ledger.disclosed("ann", "bank") == {}
        ledger.disclose("ann", "bank", {"sex": "F"})


def test_processes_that_reserve_at_once_never_see_the_same_state(path):
    # Each adds what the number of values seen says: two that saw the same state would add the same value.
    script = """
    sys.stdin.readline()
    opened = ledger(timeout=50)
    for _ in range(50):
        with opened.reserving("ann", "bank") as reservation:
            seen = len(reservation.disclosed.get("turn", ()))
            time.sleep(0.0005)
            reservation.disclose({"turn": str(seen)})
    """
    processes = [start(path, script) for _ in range(3)]
    for process in processes:
        process.communicate("go\n", timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"turn": frozenset(map(str, range(150)))}


def test_threads_that_reserve_at_once_never_see_the_same_state(path):
    with open_ledger(path, timeout=50) as first, open_ledger(path, timeout=50) as second:

        def take_turns(ledger):
            for _ in range(25):
                with ledger.reserving("ann", "bank") as reservation:
                    seen = len(reservation.disclosed.get("turn", ()))
                    reservation.disclose({"turn": str(seen)})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(take_turns, [first, first, second, second]))
        assert first.disclosed("ann", "bank") == {"turn": frozenset(map(str, range(100)))}


def test_of_many_that_make_a_ledger_at_once_one_does(nothing):
    barrier = threading.Barrier(8)

    def create(_number):
        barrier.wait()
        try:
            make_ledger(nothing)
        except LedgerError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1
    open_ledger(nothing).close()
    assert {file.name for file in nothing.parent.iterdir()} == {nothing.name, marker_of(nothing).name}


def test_a_ledger_carried_over_a_fork_is_refused(ledger, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(LedgerError) as error:
        ledger.disclosed("ann", "bank")
    assert_one_line(error, "fork")


# What goes wrong.


def test_a_file_locked_by_another_says_so(path):
    with (
        open_ledger(path, timeout=0.1) as ledger,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError) as error:
            ledger.disclose("ann", "bank", {"sex": "F"})
        assert_one_line(error, str(path), "locked")
        with pytest.raises(LedgerError, match="locked"):
            open_ledger(path, timeout=0.1)
        other.execute("ROLLBACK")
        assert ledger.disclosed("ann", "bank") == {}
        ledger.disclose("ann", "bank", {"sex": "F"})


def test_a_thread_that_holds_the_ledger_too_long_is_reported(path):
    with open_ledger(path, timeout=0.1) as ledger, ThreadPoolExecutor(1) as pool:
        with ledger.reserving("ann", "bank"), pytest.raises(LedgerError) as error:
            pool.submit(ledger.disclosed, "ann", "bank").result(timeout=5)
        assert_one_line(error, "locked")
        assert ledger.disclosed("ann", "bank") == {}


@pytest.fixture
def public_path():
    """A path that any user may reach, for root may write whatever the permissions say."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory / "ledger.sqlite"
    directory.chmod(0o755)
    shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("file", "directory"), [(0o400, 0o755), (0o600, 0o555), (0o400, 0o555), (0o000, 0o755)]
)
def test_what_cannot_be_written_says_so(public_path, file, directory):
    make_ledger(public_path)
    with open_ledger(public_path) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
    if os.getuid() == 0:
        os.chown(public_path, NOBODY, -1)
        os.chown(marker_of(public_path), NOBODY, -1)
        os.chown(public_path.parent, NOBODY, -1)
    public_path.chmod(file)
    public_path.parent.chmod(directory)
    script = """
    stop_being_root()
    try:
        ledger().disclose("bob", "bank", {"sex": "M"})
    except LedgerError as error:
        print(error)
    """
    code, output = run(public_path, script)
    assert code == 0
    assert "check the permissions" in output
    assert len(output.splitlines()) == 1


def test_a_directory_where_nothing_may_be_made_says_so(public_path):
    public_path.parent.chmod(0o555)
    script = """
    stop_being_root()
    try:
        make_ledger()
    except LedgerError as error:
        print(error)
    """
    code, output = run(public_path, script)
    assert code == 0
    assert output == (
        f"the ledger's marker {marker_of(public_path)} cannot be created: Permission denied; give ledger.marker a directory "
        "that the gateway may write to"
    )


def test_a_missing_directory_says_so(tmp_path):
    with pytest.raises(LedgerError) as error:
        open_ledger(tmp_path / "nowhere" / "ledger.sqlite")
    assert_one_line(error, "No such file or directory")


def test_a_disk_that_fills_up_keeps_what_was_promised_and_nothing_else(path):
    script = """
    opened = ledger()
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    written = 0
    try:
        while written < 10_000:
            opened.disclose("ann", "bank", {"number": str(written), "filler": "x" * 5_000 + str(written)})
            written += 1
    except LedgerError as error:
        print(written, len(opened.disclosed("ann", "bank")["number"]), error)
    """
    code, output = run(path, script)
    written, seen, message = output.split(maxsplit=2)
    assert code == 0
    assert int(written) == int(seen) > 10
    assert "check the disk" in message
    with open_ledger(path) as ledger:
        after = ledger.disclosed("ann", "bank")
        assert after["number"] == frozenset(map(str, range(int(written))))
        assert len(after["filler"]) == int(written)


@pytest.mark.parametrize("room", [1_000, 2_000])
def test_a_disk_too_full_to_begin_leaves_nothing_behind(nothing, room):
    script = f"""
    resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
    try:
        make_ledger()
    except LedgerError as error:
        print(error)
    """
    code, output = run(nothing, script)
    assert code == 0
    assert "check the disk" in output or "File too large" in output
    assert list(nothing.parent.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"This is somebody's diary, not a database. " * 100)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as error:
        open_ledger(path)
    assert_one_line(error, "not a ledger", "move it away")
    assert path.read_bytes() == before


@pytest.mark.parametrize("statement", ["VACUUM", "CREATE TABLE diary (entry TEXT)"])
def test_another_programs_database_is_refused_and_left_alone(path, statement):
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as error:
        open_ledger(path)
    assert_one_line(error, "is not a ledger")
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 3])
def test_another_schema_is_refused(path, version):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError) as error:
        open_ledger(path)
    assert_one_line(error, f"schema version {version}", "start over")


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_a_damaged_file_says_so(path, damage):
    with open_ledger(path) as ledger:
        for number in range(300):
            ledger.disclose(f"person {number}", "bank", {"city": "Springfield"})
    content = path.read_bytes()
    path.write_bytes(
        content[:4096] if damage == "truncated" else content[:4096] + b"\xff" * (len(content) - 4096)
    )

    def use():
        with open_ledger(path) as ledger:
            ledger.disclosed("person 1", "bank")

    with pytest.raises(LedgerError) as error:
        use()
    assert_one_line(error, "is damaged")


def test_a_damaged_value_is_not_quoted(ledger):
    ledger.disclose("ann", "bank", {"city": "Springfield"})
    ledger._run("UPDATE disclosures SET value = CAST(x'ff' || value AS TEXT)")
    with pytest.raises(LedgerError) as error:
        ledger.disclosed("ann", "bank")
    assert "Springfield" not in str(error.value)
    assert error.value.__context__ is None


@pytest.mark.parametrize("then", ["deleted", "replaced"])
def test_a_file_taken_away_while_in_use_stops_the_ledger(path, then, tmp_path):
    with open_ledger(path) as ledger:
        path.rename(tmp_path / "elsewhere")
        if then == "replaced":
            make_ledger(tmp_path / "other")
            (tmp_path / "other").rename(path)
        with pytest.raises(LedgerError) as error:
            ledger.disclose("ann", "bank", {"sex": "F"})
    assert_one_line(error, "No such file" if then == "deleted" else "replaced")


def test_a_log_without_its_file_is_not_replayed_into_a_new_one(path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"sex": "F"})
        path.unlink()
        marker_of(path).unlink()
        with pytest.raises(LedgerError) as error:
            make_ledger(path)
    assert_one_line(error, "-wal")
    assert not path.exists()
    assert not marker_of(path).exists()
