"""What a killed run left is removed by the next one; what the living or others have is not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers import visible
from incrowd.core.temporary import (
    LOCK,
    PrivateDirectory,
    directories_locked,
    private_directories,
    private_directory,
    remove_stale,
)
from incrowd.errors import BadInputError
from incrowd.logs.store import Store

TOKEN = "0123456789abcdef"
# Makes a private directory with something in it, says so, and waits.
OWNER = """
import sys, time
from pathlib import Path
from incrowd.core.temporary import PrivateDirectory
directory = PrivateDirectory(Path(sys.argv[1]), *sys.argv[2:])
(directory.path / "rows").mkdir()
(directory.path / "rows" / "spilled").write_text("private")
print(directory.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner():
    """Return a function that starts a process with a private directory of its own; give the process and the directory."""
    started = []

    def begin(*arguments, around=()):
        process = subprocess.Popen(
            [*around, sys.executable, "-c", OWNER, *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, process.stdout.readline().rstrip("\n")

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_a_directory_is_for_its_owner_alone_and_goes(tmp_path):
    directory = PrivateDirectory(tmp_path, "x-")
    assert directory.path.name.startswith("x-incrowd-")
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert (directory.path / LOCK).stat().st_mode & 0o777 == 0o600
    (directory.path / "file").write_text("private")
    directory.remove()
    directory.remove()
    assert directory.removed
    assert visible(tmp_path) == set()


def test_a_directory_goes_with_its_object(tmp_path):
    PrivateDirectory(tmp_path)
    assert visible(tmp_path) == set()


def test_what_a_killed_process_left_is_removed(tmp_path, owner):
    process, _ = owner(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(visible(tmp_path)) == 1
    remove_stale(tmp_path)
    assert visible(tmp_path) == set()


def test_what_a_living_process_has_stays(tmp_path, owner):
    first, second = owner(tmp_path)[1], owner(tmp_path)[1]
    with_own = PrivateDirectory(tmp_path)
    remove_stale(tmp_path)
    assert {str(path) for path in tmp_path.iterdir()} == {first, second, str(with_own.path)}
    assert (with_own.path.parent / first / "rows" / "spilled").exists()


def test_what_lives_in_another_container_stays(tmp_path, owner):
    """There every run is process 1, and no process number of there is one of here."""
    around = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    if not shutil.which("unshare") or subprocess.run([*around, "true"], check=False).returncode:
        around = ("unshare", "--pid", "--fork", "--kill-child")
        if not shutil.which("unshare") or subprocess.run([*around, "true"], check=False).returncode:
            pytest.skip("processes may not be given numbers of their own here (unshare)")
    _, directory = owner(tmp_path, around=around)
    remove_stale(tmp_path)
    assert visible(tmp_path) == {Path(directory).name}


def test_a_directory_stays_locked_when_a_forked_process_ends(tmp_path):
    directory = PrivateDirectory(tmp_path)
    child = os.fork()
    if not child:
        directory.remove()
        os._exit(0)
    os.waitpid(child, 0)
    remove_stale(tmp_path)
    assert directory.path.exists()


def test_without_a_lock_file_nothing_is_proven(tmp_path):
    directory = tmp_path / f"incrowd-{TOKEN}"
    directory.mkdir()
    (directory / "rows").write_text("private")
    remove_stale(tmp_path)
    assert (directory / "rows").exists()


def test_without_locks_there_is_no_lock_file_and_nothing_is_removed(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    dead = tmp_path / f"incrowd-{TOKEN}"
    dead.mkdir()
    (dead / LOCK).touch()
    monkeypatch.setattr("fcntl.flock", unsupported)
    directory = PrivateDirectory(tmp_path)
    assert visible(directory.path) == set()
    remove_stale(tmp_path)
    assert visible(tmp_path) == {dead.name, directory.path.name}
    directory.remove()
    assert visible(tmp_path) == {dead.name}


def test_links_strangers_and_other_names_stay(tmp_path):
    def dead(path):
        path.mkdir()
        (path / LOCK).touch()
        return path

    elsewhere = dead(tmp_path / "elsewhere")
    (tmp_path / f"incrowd-{TOKEN}").symlink_to(elsewhere)
    linked = tmp_path / "incrowd-fedcba9876543210"
    linked.mkdir()
    (linked / LOCK).symlink_to(elsewhere / LOCK)
    (tmp_path / "incrowd-00000000000000ff").write_text("a file")
    for name in (
        "incrowd-notes",
        "incrowd-",
        f"other-{TOKEN}",
        f"incrowd-{TOKEN}x",
        f"incrowd-{TOKEN.upper()}",
    ):
        dead(tmp_path / name)
    before = visible(tmp_path)
    remove_stale(tmp_path)
    assert visible(tmp_path) == before
    assert (elsewhere / LOCK).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a directory to another user")
def test_what_belongs_to_another_user_stays(tmp_path):
    for name, given in ((f"incrowd-{TOKEN}", "directory"), ("incrowd-fedcba9876543210", "lock")):
        directory = tmp_path / name
        directory.mkdir()
        (directory / LOCK).touch()
        os.chown(directory if given == "directory" else directory / LOCK, 65534, 65534)
    remove_stale(tmp_path)
    assert len(visible(tmp_path)) == 2


def test_directories_beside_a_name_and_temporary_ones_are_told_apart(tmp_path):
    beside, temporary = PrivateDirectory(tmp_path, ".a[1]."), PrivateDirectory(tmp_path)
    assert private_directories(tmp_path, beside=True) == [beside.path]
    assert private_directories(tmp_path) == [temporary.path]
    assert private_directories(tmp_path / "missing") == []


def test_a_directory_that_another_program_has_locked_is_waited_for_but_not_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.core.temporary.LONGEST_WAIT", 0.2)
    with directories_locked([tmp_path, tmp_path / "." / "missing"]):
        begin = time.monotonic()
        with directories_locked([tmp_path]):
            assert time.monotonic() - begin >= 0.2


def test_links_inside_are_removed_and_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("years of work")
    directory = PrivateDirectory(tmp_path)
    (directory.path / "link").symlink_to(precious)
    directory.remove()
    assert visible(tmp_path) == {"precious"}
    assert (precious / "file").exists()


def test_an_interrupted_removal_can_be_finished(tmp_path, monkeypatch, owner):
    process, directory = owner(tmp_path)
    process.kill()
    process.wait()
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda *_, **__: None)  # nothing can be deleted
        remove_stale(tmp_path)
    assert visible(tmp_path / directory) == {LOCK, "rows"}
    remove_stale(tmp_path)
    assert visible(tmp_path) == set()


def test_a_new_store_cleans_up_after_a_killed_one(tmp_path, monkeypatch, owner):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process, left = owner(tmp_path)
    process.kill()
    process.wait()
    store = Store("1GB")
    try:
        (directory,) = tmp_path.iterdir()
        assert str(directory) != left
        assert directory.stat().st_mode & 0o777 == 0o700
    finally:
        store.close()
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(BadInputError, match="TMPDIR"), private_directory():
        pass


@pytest.mark.parametrize("kind", ["missing", "a file", "full"])
def test_private_data_goes_nowhere_else_than_where_tmpdir_says(tmp_path, monkeypatch, kind):
    place = tmp_path / "place"
    if kind == "a file":
        place.write_text("")
    if kind == "full":
        place.mkdir()
        monkeypatch.setattr(
            tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path)]
        )  # what it falls back to
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for _ in range(2):
        with pytest.raises(BadInputError, match=r"TMPDIR is .*place"), private_directory():
            pass


def test_tmpdir_may_be_spelled_as_one_likes(tmp_path, monkeypatch):
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", "./place/")
    monkeypatch.setattr(tempfile, "tempdir", None)
    with private_directory() as directory:
        assert directory.parent == tmp_path / "place"
