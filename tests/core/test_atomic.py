"""Files and directories that appear whole or not at all."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from helpers import visible
from incrowd.core.atomic import atomic_write, atomic_writes, check_free, private_file
from incrowd.errors import BadInputError


def test_a_draft_lies_beside_its_final_name_and_moves_there(tmp_path):
    final = tmp_path / "final"
    with atomic_write(final) as draft:
        draft.mkdir()
        (draft / "file").write_text("whole")
        assert draft.parent.parent == tmp_path
        assert draft.parent.name.startswith(".final.")
        assert draft.parent.stat().st_mode & 0o777 == 0o700
        assert not final.exists()
    assert (final / "file").read_text() == "whole"
    assert visible(tmp_path) == {"final"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing(tmp_path, error):
    def fail():
        with atomic_write(tmp_path / "final") as draft:
            draft.mkdir()
            (draft / "file").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert visible(tmp_path) == set()


def test_nothing_was_written(tmp_path):
    with pytest.raises(BadInputError, match="cannot be written"), atomic_write(tmp_path / "final"):
        pass
    assert visible(tmp_path) == set()


def test_what_has_appeared_meanwhile_stays(tmp_path):
    final = tmp_path / "final"

    def work():
        with atomic_write(final) as draft:
            draft.write_text("ours")
            final.write_text("precious")

    with pytest.raises(BadInputError, match="meanwhile"):
        work()
    assert final.read_text() == "precious"
    assert visible(tmp_path) == {"final"}


def test_only_what_may_be_replaced_is(tmp_path):
    final = tmp_path / "final"
    final.write_text("old")
    with atomic_write(final, replaces=lambda path: path.read_text() == "old") as draft:
        draft.write_text("new")
    assert final.read_text() == "new"
    with (
        pytest.raises(BadInputError),
        atomic_write(final, replaces=lambda path: path.read_text() == "old") as draft,
    ):
        draft.write_text("newer")
    assert final.read_text() == "new"
    assert visible(tmp_path) == {"final"}


def test_a_failure_to_move_brings_the_old_one_back(tmp_path, monkeypatch):
    final = tmp_path / "final"
    final.write_text("old")
    rename = Path.rename

    def fail_once(self, target):
        if Path(target) == final and self.name == "new":
            raise OSError(5, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(BadInputError, match="no"), atomic_write(final, replaces=lambda _: True) as draft:
        draft.write_text("new")
    assert final.read_text() == "old"
    assert visible(tmp_path) == {"final"}


@pytest.mark.parametrize("name", ["final", "f[in]al", "f*"])
def test_drafts_of_killed_runs_are_removed_and_others_are_not(tmp_path, name):
    killed(HALF_WRITTEN, tmp_path / name)
    kept = {f".{name}.incrowd-notes", f".{name}"}
    for keep in kept:
        (tmp_path / keep).write_text("")
    with atomic_write(tmp_path / name) as living:
        with atomic_write(tmp_path / name, replaces=None) as draft:
            draft.write_text("")
        (tmp_path / name).unlink()
        living.write_text("living")
    assert (tmp_path / name).read_text() == "living"
    assert visible(tmp_path) == kept | {name}


# Each script is killed where it would hurt: while it writes, or before the move of which it is told the number.
HALF_WRITTEN = """
import os, sys
from pathlib import Path
from incrowd.core.atomic import atomic_write
with atomic_write(Path(sys.argv[1])) as draft:
    draft.write_text("private")
    os.kill(os.getpid(), 9)
"""
HALF_MOVED = """
import os, sys
from pathlib import Path
from incrowd.core.atomic import atomic_writes
map_, release, before = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
rename, calls = Path.rename, []
def killed(self, target):
    if self.name in ("new", "old") or Path(target).name in ("new", "old"):
        calls.append(target)
        if len(calls) == before:
            os.kill(os.getpid(), 9)
    return rename(self, target)
Path.rename = killed
unlink, gone = Path.unlink, []
def unlinked(self, **options):
    if self.name == "moves.json":
        gone.append(self)
        if len(calls) + len(gone) == before:
            os.kill(os.getpid(), 9)
    return unlink(self, **options)
Path.unlink = unlinked
with atomic_writes([(map_, lambda _: True), (release, lambda _: True)]) as (one, two):
    one.write_text("new")
    two.mkdir()
    (two / "records").write_text("new")
"""


def killed(script, *arguments):
    """Run a script that kills itself."""
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], check=False)
    assert done.returncode == -9


@pytest.fixture
def pair(tmp_path):
    """Return the names of a map and a release, in different directories."""
    (tmp_path / "maps").mkdir()
    (tmp_path / "releases").mkdir()
    return tmp_path / "maps" / "map", tmp_path / "releases" / "release"


def write_pair(pair, text, replaces=None):
    with atomic_writes([(path, replaces) for path in pair]) as (one, two):
        one.write_text(text)
        two.mkdir()
        (two / "records").write_text(text)


def shown(pair):
    """Return what a reader sees of both; None for what is not there."""
    files = pair[0], pair[1] / "records"
    return tuple(file.read_text() if file.exists() else None for file in files)


def hidden(pair):
    return {name for path in pair for name in visible(path.parent) - {path.name}}


def test_two_appear_together(pair):
    write_pair(pair, "old")
    assert shown(pair) == ("old", "old")
    write_pair(pair, "new", lambda _: True)
    assert shown(pair) == ("new", "new")
    assert hidden(pair) == set()


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize("failing", [0, 1])
def test_if_one_of_two_cannot_be_moved_nothing_is_changed(pair, before, failing, monkeypatch):
    if before:
        write_pair(pair, before)
    rename = Path.rename

    def fail(self, target):
        if Path(target) == pair[failing] and self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    state = "what was there before is unchanged" if before else "nothing was left there"
    with pytest.raises(BadInputError, match=f"No space left on device; {state}$"):
        write_pair(pair, "new", lambda _: True)
    assert shown(pair) == (before, before)
    assert hidden(pair) == set()


@pytest.mark.parametrize("taken", [0, 1])
def test_if_one_of_two_names_was_taken_meanwhile_nothing_is_changed(pair, taken):
    def work():
        with atomic_writes([(path, None) for path in pair]) as (one, two):
            one.write_text("new")
            two.write_text("new")
            pair[taken].write_text("precious")

    with pytest.raises(BadInputError, match="meanwhile"):
        work()
    assert pair[taken].read_text() == "precious"
    assert not pair[1 - taken].exists()
    assert hidden(pair) == set()


def test_a_full_disk_while_writing_one_of_two_changes_nothing(pair):
    write_pair(pair, "old")

    def work():
        with atomic_writes([(path, lambda _: True) for path in pair]) as (_, two):
            two.mkdir()
            raise OSError(28, "No space left on device")

    with pytest.raises(BadInputError, match="No space left"):
        work()
    assert shown(pair) == ("old", "old")
    assert hidden(pair) == set()


# Without anything to replace there are fewer moves.
@pytest.mark.parametrize(
    ("before", "moves"),
    [*((None, moves) for moves in range(1, 5)), *(("old", moves) for moves in range(1, 7))],
)
@pytest.mark.parametrize("next_wants", [0, 1])
def test_a_kill_between_moves_never_shows_a_wrong_pair_and_is_undone(pair, before, moves, next_wants):
    if before:
        write_pair(pair, before)
    killed(HALF_MOVED, *pair, moves)
    seen = shown(pair)
    assert seen[1] is None or seen[0] == seen[1]  # a map alone publishes nothing
    assert len(hidden(pair)) == 2
    check_free(pair[next_wants], force=True, ours=lambda _: True, what="x")
    whole = moves > (4 if before else 2)
    assert shown(pair) == (("new", "new") if whole else (before, before))
    check_free(pair[1 - next_wants], force=True, ours=lambda _: True, what="x")
    assert shown(pair) == (("new", "new") if whole else (before, before))
    assert hidden(pair) == set()


@pytest.mark.parametrize("other", ["other", "lines\nbroken"])
def test_any_later_run_removes_what_a_killed_one_left(tmp_path, other):
    killed(HALF_WRITTEN, tmp_path / "final")
    killed(HALF_WRITTEN, tmp_path / other)
    check_free(tmp_path / "third", force=False, ours=lambda _: True, what="x")
    assert visible(tmp_path) == set()


def test_a_run_with_another_name_leaves_a_living_one_alone(tmp_path):
    with atomic_write(tmp_path / "final") as living:
        living.write_text("living")
        check_free(tmp_path / "other", force=False, ours=lambda _: True, what="x")
    assert (tmp_path / "final").read_text() == "living"


def test_what_has_been_superseded_goes_and_the_rest_is_put_back(pair):
    write_pair(pair, "old")
    killed(HALF_MOVED, *pair, 4)
    pair[1].write_text("precious")
    check_free(pair[0], force=True, ours=lambda _: True, what="x")
    assert pair[1].read_text() == "precious"
    assert pair[0].read_text() == "old"
    assert hidden(pair) == set()


@pytest.mark.parametrize("moves", range(1, 5))
@pytest.mark.parametrize("together", [True, False], ids=["one directory", "two directories"])
def test_two_runs_on_the_same_names_take_turns(tmp_path, pair, moves, together, monkeypatch):
    """One is stopped for a moment between two moves; the other must not move anything there meanwhile."""
    pair = (tmp_path / "map", tmp_path / "release") if together else pair
    pair[0].parent.mkdir(exist_ok=True)
    write_pair(pair, "old")
    rename, reached, calls = Path.rename, threading.Event(), []
    first = threading.Thread(target=write_pair, args=(pair, "first", lambda _: True))

    def linger(self, target):
        if threading.current_thread() is first and {self.name, Path(target).name} & {"new", "old"}:
            calls.append(target)
            if len(calls) == moves:
                reached.set()
                time.sleep(0.3)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", linger)
    first.start()
    assert reached.wait(30)
    write_pair(pair, "second", lambda _: True)
    first.join()
    assert shown(pair) == ("second", "second")
    assert {name for name in hidden(pair) if "incrowd-" in name} == set()


def test_a_run_that_is_killed_while_another_is_at_work_is_undone_first(pair):
    write_pair(pair, "old")
    with atomic_writes([(path, lambda _: True) for path in pair]) as (one, two):
        killed(HALF_MOVED, *pair, 4)
        one.write_text("second")
        two.mkdir()
        (two / "records").write_text("second")
    assert shown(pair) == ("second", "second")
    assert hidden(pair) == set()


def test_without_locks_for_directories_all_goes_on(pair, monkeypatch):
    flock = fcntl.flock

    def only_files(handle, operation):
        if Path(f"/proc/self/fd/{handle}").resolve().is_dir():
            raise OSError(9, "Bad file descriptor")
        flock(handle, operation)

    monkeypatch.setattr("fcntl.flock", only_files)
    killed(HALF_MOVED, *pair, 2)
    write_pair(pair, "new", lambda _: True)
    assert shown(pair) == ("new", "new")
    assert hidden(pair) == set()


def test_a_private_file_is_private(tmp_path):
    file = private_file(tmp_path / "file")
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        private_file(file)


def test_a_free_name_is_free(tmp_path):
    check_free(tmp_path / "final", force=False, ours=lambda _: False, what="x")


@pytest.mark.parametrize(
    ("force", "ours", "says"),
    [
        (False, True, "use force=True"),
        (False, False, "use force=True"),
        (True, False, "was not written by incrowd"),
        (True, True, None),
    ],
)
def test_a_name_that_is_taken(tmp_path, force, ours, says):
    (tmp_path / "final").mkdir()
    if says is None:
        check_free(tmp_path / "final", force=force, ours=lambda _: ours, what="x")
        return
    with pytest.raises(BadInputError, match=says):
        check_free(tmp_path / "final", force=force, ours=lambda _: ours, what="x")


def test_a_broken_link_is_taken(tmp_path):
    (tmp_path / "final").symlink_to(tmp_path / "nowhere")
    for force in (False, True):
        with pytest.raises(BadInputError):
            check_free(tmp_path / "final", force=force, ours=lambda _: True, what="x")


@pytest.mark.parametrize("below", ["release/x", "release/deeper/x", "link/x", "deeper/../release/x"])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_may_lie_inside_a_release(tmp_path, below, force):
    (tmp_path / "release" / "deeper").mkdir(parents=True)
    (tmp_path / "deeper").mkdir()
    (tmp_path / "link").symlink_to("release/deeper")
    (tmp_path / "release" / "manifest.json").write_text('{"format": "incrowd-0"}')
    with pytest.raises(BadInputError, match=r"inside the release .*release; choose a place outside it"):
        check_free(tmp_path / below, force=force, ours=lambda _: True, what="x")


def test_the_manifest_of_another_program_is_no_release(tmp_path):
    (tmp_path / "manifest.json").write_text('{"format": "web-app"}')
    check_free(tmp_path / "x", force=False, ours=lambda _: True, what="x")
