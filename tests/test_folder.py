"""Files and directories that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from incrowd.errors import BadInputError
from incrowd.folder import appearing, check_free


def names(directory):
    return {path.name for path in directory.iterdir()}


def dead_pid():
    """Return the number of a process that has ended."""
    pid = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(pid, 0)
    return pid


def test_a_draft_lies_beside_its_final_name_and_moves_there(tmp_path):
    final = tmp_path / "final"
    with appearing(final) as draft:
        draft.mkdir()
        (draft / "file").write_text("whole")
        assert draft.parent == tmp_path
        assert draft.name.startswith(".")
        assert not final.exists()
    assert (final / "file").read_text() == "whole"
    assert names(tmp_path) == {"final"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing(tmp_path, error):
    def fail():
        with appearing(tmp_path / "final") as draft:
            draft.mkdir()
            (draft / "file").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == set()


def test_nothing_was_written(tmp_path):
    with pytest.raises(BadInputError, match="cannot be written"), appearing(tmp_path / "final"):
        pass
    assert names(tmp_path) == set()


def test_what_has_appeared_meanwhile_stays(tmp_path):
    final = tmp_path / "final"

    def work():
        with appearing(final) as draft:
            draft.write_text("ours")
            final.write_text("precious")

    with pytest.raises(BadInputError, match="meanwhile"):
        work()
    assert final.read_text() == "precious"
    assert names(tmp_path) == {"final"}


def test_only_what_may_be_replaced_is(tmp_path):
    final = tmp_path / "final"
    final.write_text("old")
    with appearing(final, replaces=lambda path: path.read_text() == "old") as draft:
        draft.write_text("new")
    assert final.read_text() == "new"
    with (
        pytest.raises(BadInputError),
        appearing(final, replaces=lambda path: path.read_text() == "old") as draft,
    ):
        draft.write_text("newer")
    assert final.read_text() == "new"
    assert names(tmp_path) == {"final"}


def test_a_failure_to_move_brings_the_old_one_back(tmp_path, monkeypatch):
    final = tmp_path / "final"
    final.write_text("old")
    rename = Path.rename

    def fail_once(self, target):
        if Path(target) == final and "-old" not in self.name:
            raise OSError(5, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(BadInputError, match="no"), appearing(final, replaces=lambda _: True) as draft:
        draft.write_text("new")
    assert final.read_text() == "old"
    assert names(tmp_path) == {"final"}


@pytest.mark.parametrize("name", ["final", "f[in]al", "f*"])
def test_leftovers_of_dead_runs_are_removed_and_others_are_not(tmp_path, name):
    gone, alive = dead_pid(), os.getpid()
    (tmp_path / f".{name}.incrowd-{gone}-aa").mkdir()
    (tmp_path / f".{name}.incrowd-{gone}-bb").write_text("a file")
    kept = {
        f".{name}.incrowd-{alive}-cc",  # it still runs
        f".{name}.incrowd-1-dd",  # it runs, and is not ours to signal
        f".other.incrowd-{gone}-ee",
        f".{name}.incrowd-notes",
        f".{name}",
    }
    for keep in kept:
        (tmp_path / keep).write_text("")
    with appearing(tmp_path / name) as draft:
        draft.write_text("")
    assert names(tmp_path) == kept | {name}


def test_a_free_name_is_free(tmp_path):
    check_free(tmp_path / "final", force=False, ours=lambda _: False, what="x")


@pytest.mark.parametrize(
    ("force", "ours", "says"),
    [
        (False, True, "use --force"),
        (False, False, "use --force"),
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
