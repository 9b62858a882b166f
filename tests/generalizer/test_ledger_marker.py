"""A ledger that was lost, replaced or restored from an old copy is noticed and refused."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sqlite3

import pytest

from generalizer.ledger_tools import SECRET, assert_one_line, make_ledger, marker_of, open_ledger, run, start
from incrowd.generalizer.ledger.file import LedgerError
from incrowd.generalizer.ledger.marker import SLOT, Mark, Marker, create_marker
from incrowd.generalizer.ledger.store import trust_ledger

COMPANIONS = ("", "-wal", "-shm")


@pytest.fixture
def path(tmp_path):
    """Where a ledger is that was just made."""
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "ledger.sqlite"
    make_ledger(path)
    return path


def disclose(path, *numbers):
    with open_ledger(path) as ledger:
        for number in numbers:
            ledger.disclose("ann", "bank", {"number": str(number)})


def copy(path, folder, *, companions=COMPANIONS):
    """Copy the ledger's files as they are; return the copy's place."""
    folder.mkdir()
    for companion in companions:
        file = path.with_name(path.name + companion)
        if file.exists():
            shutil.copy2(file, folder / file.name)
    return folder / path.name


def put_back(copied, path):
    """Replace the ledger's files by the copies, in place and nothing else."""
    for companion in COMPANIONS:
        source, target = (where.with_name(where.name + companion) for where in (copied, path))
        if source.exists():
            shutil.copyfile(source, target)
            target.chmod(0o600)
        else:
            target.unlink(missing_ok=True)


def checkpoint(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def use(path):
    with open_ledger(path) as ledger:
        ledger.disclosed("ann", "bank")


def assert_refused(path, *words):
    with pytest.raises(LedgerError) as error:
        use(path)
    assert_one_line(error, str(path), *words)


# It is made on purpose, once.


def test_nothing_makes_a_ledger_by_itself(tmp_path):
    path = tmp_path / "ledger.sqlite"
    assert_refused(path, "there is no ledger", "--init-ledger", "no past disclosures")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["ledger", "marker", "both"])
def test_a_ledger_is_not_made_where_one_was(path, left):
    if left == "ledger":
        marker_of(path).unlink()
    if left == "marker":
        path.unlink()
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(LedgerError) as error:
        make_ledger(path)
    assert_one_line(error, "already exists", "move", str(path), str(marker_of(path)))
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_the_first_write_to_a_new_ledger_is_reported_once(path):
    with open_ledger(path) as ledger, open_ledger(path) as other:
        assert not ledger.take_events().created
        ledger.expire()
        other.expire()
        assert ledger.take_events().created
        assert not ledger.take_events().created
        assert not other.take_events().created


def test_the_marker_says_nothing_of_anybody(path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"city": "Springfield"})
    stored = marker_of(path).read_bytes()
    for word in (b"ann", b"bank", b"city", b"Springfield", SECRET):
        assert word not in stored
    assert marker_of(path).stat().st_mode & 0o777 == 0o600


# It is lost.


def test_a_deleted_ledger_is_missed_until_it_is_back(path, tmp_path):
    disclose(path, 1, 2)
    copied = copy(path, tmp_path / "copy")
    path.unlink()
    assert_refused(path, "is missing", "restore the newest")
    put_back(copied, path)
    use(path)


def test_a_ledger_without_its_marker_is_refused_until_it_is_trusted(path):
    disclose(path, 1, 2)
    marker_of(path).unlink()
    with pytest.raises(LedgerError) as error:
        use(path)
    assert_one_line(error, str(marker_of(path)), "is missing", "--trust-ledger")
    trust_ledger(path, marker=marker_of(path), secret=SECRET)
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("12")}
    with pytest.raises(LedgerError, match="already"):
        trust_ledger(path, marker=marker_of(path), secret=SECRET)


def test_a_ledger_of_another_secret_is_not_trusted(path):
    marker_of(path).unlink()
    with pytest.raises(LedgerError, match="another secret"):
        trust_ledger(path, marker=marker_of(path), secret=b"another secret of enough bytes")
    assert not marker_of(path).exists()


def test_another_ledger_in_its_place_is_refused(path, tmp_path):
    other = tmp_path / "other.sqlite"
    make_ledger(other)
    disclose(other, 1, 2, 3)
    disclose(path, 1)
    shutil.copyfile(other, path)
    assert_refused(path, "is not the one that its marker", "restore that one")


def test_an_old_copy_is_refused_until_the_newest_is_back(path, tmp_path):
    disclose(path, 1)
    old = copy(path, tmp_path / "old")
    disclose(path, 2)
    newest = copy(path, tmp_path / "newest")
    put_back(old, path)
    assert_refused(path, "is older than its marker", "write 1 of 2", "restore the newest one")
    put_back(newest, path)
    use(path)


def test_a_copy_without_its_log_is_refused_until_the_log_is_back(path, tmp_path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "1"})
        whole = copy(path, tmp_path / "whole")
        bare = copy(path, tmp_path / "bare", companions=("",))
    put_back(bare, path)
    assert_refused(path, "is older than its marker", "-wal")
    put_back(whole, path)
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("1")}


def test_an_old_file_under_a_new_log_is_refused(path, tmp_path):
    # SQLite would put the two together: the newest sequence number, and entries missing in between.
    disclose(path, 1)
    old = copy(path, tmp_path / "old")
    with open_ledger(path) as ledger:
        for number in range(2, 300):  # the log is moved into the file on the way, and begins anew
            ledger.disclose("ann", "bank", {"number": str(number)})
        newest = copy(path, tmp_path / "newest")
    put_back(newest, path)
    shutil.copyfile(old, path)
    assert_refused(path, "is older than its marker")
    put_back(newest, path)
    with open_ledger(path) as ledger:
        assert len(ledger.disclosed("ann", "bank")["number"]) == 299


def test_a_new_file_with_an_old_log_is_refused_and_not_spoiled(path, tmp_path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "1"})
        old = copy(path, tmp_path / "old")
        ledger.disclose("ann", "bank", {"number": "2"})
    content = path.read_bytes()
    log = path.with_name(f"{path.name}-wal")
    shutil.copyfile(old.with_name(log.name), log)
    assert_refused(path, "is older than its marker", "write 1 of 2")
    assert path.read_bytes() == content
    log.unlink()
    path.with_name(f"{path.name}-shm").unlink()
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("12")}


# It is lost while in use.


def test_a_ledger_rolled_back_in_place_is_noticed_by_who_has_it_open(path, tmp_path):
    disclose(path, 1)
    old = copy(path, tmp_path / "old")
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "2"})
        checkpoint(path)
        newest = copy(path, tmp_path / "newest", companions=("",))
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("12")}
        inode = path.stat().st_ino
        shutil.copyfile(old, path)
        assert path.stat().st_ino == inode
        for _ in range(2):
            with pytest.raises(LedgerError, match="older than its marker"):
                ledger.disclosed("ann", "bank")
            with pytest.raises(LedgerError, match="older than its marker"):
                ledger.disclose("ann", "bank", {"number": "3"})
        shutil.copyfile(newest, path)
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("12")}
        ledger.disclose("ann", "bank", {"number": "3"})


def test_entries_rolled_back_by_a_transaction_are_noticed(path):
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "1"})
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as stranger:
            stranger.execute("UPDATE meta SET sequence = 0")
        with pytest.raises(LedgerError, match="write 0 of 1"):
            ledger.disclosed("ann", "bank")
        with pytest.raises(LedgerError, match="write 0 of 1"):
            ledger.disclose("ann", "bank", {"number": "2"})


def test_a_marker_taken_away_stops_readers_and_writers(path, monkeypatch):
    monkeypatch.setattr("incrowd.generalizer.ledger.marker.STAT_INTERVAL", 0.0)
    with open_ledger(path) as ledger:
        content = marker_of(path).read_bytes()
        marker_of(path).unlink()
        for act in (ledger.disclosed, lambda *who: ledger.disclose(*who, {"sex": "F"})):
            with pytest.raises(LedgerError, match="is missing"):
                act("ann", "bank")
        marker_of(path).write_bytes(content)
        with pytest.raises(LedgerError, match="chmod 600"):
            ledger.disclosed("ann", "bank")
        marker_of(path).chmod(0o600)
        assert ledger.disclosed("ann", "bank") == {}


def test_another_ledgers_marker_stops_who_has_it_open(path, tmp_path):
    make_ledger(tmp_path / "other")
    with open_ledger(path) as ledger:
        marker_of(path).write_bytes(marker_of(tmp_path / "other").read_bytes())
        with pytest.raises(LedgerError, match="is not the one that its marker"):
            ledger.disclosed("ann", "bank")


def test_a_file_that_is_half_way_through_a_checkpoint_is_no_old_one(path, monkeypatch):
    monkeypatch.setattr("incrowd.generalizer.ledger.store.CHECKPOINT_AFTER", 1)
    with open_ledger(path, timeout=0.1) as ledger, contextlib.closing(sqlite3.connect(path)) as slow:
        for number in range(45):  # a reader who takes long keeps the newest pages in the log
            if number % 3 == 0:
                slow.rollback()
                slow.execute("BEGIN")
                slow.execute("SELECT count(*) FROM disclosures").fetchall()
            ledger.disclose("ann", "bank", {"filler": f"{number:03}" + "x" * 200})
            assert len(ledger.disclosed("ann", "bank")["filler"]) == number + 1
        use(path)


# The marker itself.


def mark_of(path):
    marker = Marker(marker_of(path), timeout=1)
    try:
        return marker.read()
    finally:
        marker.close()


def test_the_marker_knows_every_write_and_what_is_in_the_file(path):
    with open_ledger(path) as ledger:
        assert mark_of(path)[2:4] == (0, 0)
        disclose(path, 1, 2)
        assert mark_of(path)[2:4] == (2, 0)
        assert ledger.expire() == 0
        assert mark_of(path)[2:4] == (3, 3)
        assert ledger.forget("ann") == 2
        assert mark_of(path)[2:4] == (4, 4)


def test_a_kill_before_the_marker_is_written_leaves_it_behind_and_the_ledger_usable(path):
    script = """
    from incrowd.generalizer.ledger import marker
    marker.Marker.advance = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    ledger().disclose("ann", "bank", {"number": "1"})
    """
    assert run(path, script)[0] == -signal.SIGKILL
    assert mark_of(path).sequence == 0
    with open_ledger(path) as ledger:
        assert ledger.disclosed("ann", "bank") == {"number": frozenset("1")}
        ledger.disclose("ann", "bank", {"number": "2"})
    assert mark_of(path).sequence == 2


def test_a_slot_that_was_half_written_leaves_the_other(path):
    disclose(path, *range(5))
    content = bytearray(marker_of(path).read_bytes())
    before = mark_of(path)
    newest = 0 if b" 5 " in content[:SLOT] else 1
    content[newest * SLOT + 20] ^= 1
    marker_of(path).write_bytes(content)
    assert mark_of(path) == before._replace(sequence=4, last=mark_of(path).last)
    content[(1 - newest) * SLOT + 20] ^= 1
    marker_of(path).write_bytes(content)
    assert_damaged(path)
    marker_of(path).write_bytes(b"")
    assert_damaged(path)


def assert_damaged(path):
    with pytest.raises(LedgerError) as error:
        use(path)
    assert_one_line(error, str(marker_of(path)), "is damaged", "restore it")


def test_processes_that_advance_at_once_never_set_the_marker_back(tmp_path):
    file = tmp_path / "marker"
    create_marker(file, Mark("0" * 32, 0.0, 0, 0, 0.0))
    script = """
    from pathlib import Path
    from incrowd.generalizer.ledger.marker import Marker
    marker = Marker(Path(path), timeout=30)
    mine = int(sys.stdin.readline())
    for step in range(200):
        marker.advance(sequence=mine + 3 * step)
        assert marker.read().sequence >= mine + 3 * step
    """
    processes = [start(file, script) for _ in range(3)]
    for number, process in enumerate(processes):
        process.stdin.write(f"{number}\n")
        process.stdin.close()
        process.stdin = None
    seen = 0
    marker = Marker(file, timeout=1)
    while any(process.poll() is None for process in processes):
        sequence = marker.read().sequence
        assert sequence >= seen
        seen = sequence
    marker.close()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert seen == 2 + 3 * 199


def test_a_marker_that_another_holds_is_reported(path):
    script = """
    import fcntl
    descriptor = os.open(path + ".marker", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
    """
    with start(path, script) as holder, open_ledger(path, timeout=0.1) as ledger:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LedgerError, match="is locked"):
            ledger.disclose("ann", "bank", {"sex": "F"})
        assert ledger.disclosed("ann", "bank")  # it is on disk, although the request was refused
        holder.communicate("\n")
        ledger.disclose("ann", "bank", {"state": "MA"})


# Whether it could be written.


def test_a_check_proves_that_it_can_be_written(path, monkeypatch):
    monkeypatch.setattr("incrowd.generalizer.ledger.ledger.CHECK_INTERVAL", 0.0)
    with open_ledger(path, timeout=0.1) as ledger:
        ledger.check()
        assert mark_of(path).sequence == 1
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerError, match="locked"):
                ledger.check()
        ledger.check()


def test_a_check_is_made_every_two_seconds_and_reads_in_between(path):
    with open_ledger(path) as ledger:
        for _ in range(3):
            ledger.check()
        assert mark_of(path).sequence == 1
        path.chmod(0o640)
        with pytest.raises(LedgerError, match="chmod"):
            ledger.check()


def test_a_full_disk_fails_the_check(path):
    script = """
    from incrowd.generalizer.ledger import ledger as module
    module.CHECK_INTERVAL = 0.0
    opened = ledger()
    opened.check()
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
    try:
        opened.check()
    except LedgerError as error:
        print(error)
    """
    code, output = run(path, script)
    assert code == 0
    assert "check the disk" in output


def test_a_copy_under_a_log_that_begins_later_is_not_trusted(path, tmp_path):
    disclose(path, 1)  # and closing moves the log into the file
    backup = copy(path, tmp_path / "backup")
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "2"})
        ledger.expire()  # moves the log into the file
        ledger.disclose("ben", "bank", {"number": "3"})
        shutil.copy(path.with_name(f"{path.name}-wal"), backup.with_name(f"{backup.name}-wal"))
    content = backup.read_bytes()
    with pytest.raises(LedgerError) as error:
        trust_ledger(backup, marker=marker_of(backup), secret=SECRET)
    assert_one_line(error, str(backup), "-wal", "restore both from the same backup")
    assert backup.read_bytes() == content
    assert not marker_of(backup).exists()


def test_a_ledger_with_its_own_log_is_trusted(path, tmp_path):
    disclose(path, 1)
    with open_ledger(path) as ledger:
        ledger.disclose("ann", "bank", {"number": "2"})
        killed = copy(path, tmp_path / "killed")
    trust_ledger(killed, marker=marker_of(killed), secret=SECRET)
    with open_ledger(killed) as ledger:
        assert ledger.disclosed("ann", "bank") == {"number": {"1", "2"}}


def test_a_ledger_behind_a_link_is_read_with_its_log(path, tmp_path):
    link = tmp_path / "ledger.link"
    link.symlink_to(path)
    marker_of(path).rename(marker_of(link))
    with open_ledger(link) as ledger:
        ledger.disclose("ann", "bank", {"number": "1"})
        with open_ledger(link) as other:
            assert other.disclosed("ann", "bank") == {"number": {"1"}}
