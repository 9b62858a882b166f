"""What a killed run left is removed by the next one; what others left is not."""

from __future__ import annotations

import os
import subprocess
import sys

from incrowd.leftovers import marked, remove_leftovers
from incrowd.logs.store import Store


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_removes_what_the_dead_left(tmp_path):
    gone = tmp_path / f"incrowd-{dead_pid()}-x"
    gone.mkdir()
    (gone / "spilled").write_text("rows")
    remove_leftovers(tmp_path)
    assert not gone.exists()


def test_leaves_the_living_and_strangers_alone(tmp_path):
    kept = [
        tmp_path / f"{marked()}x",
        tmp_path / "incrowd-notes",
        tmp_path / f"other-{dead_pid()}-x",
        tmp_path / "incrowd-",
    ]
    for path in kept:
        path.mkdir()
    remove_leftovers(tmp_path)
    assert all(path.exists() for path in kept)


def test_the_prefix_is_taken_literally(tmp_path):
    pid = dead_pid()
    mine, other = tmp_path / f".a[1].incrowd-{pid}-x", tmp_path / f".a1.incrowd-{pid}-x"
    mine.touch()
    other.touch()
    remove_leftovers(tmp_path, ".a[1].")
    assert not mine.exists()
    assert other.exists()


def test_a_new_store_cleans_up_after_a_killed_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / f"incrowd-{dead_pid()}-spilled"
    left.mkdir()
    store = Store("1GB")
    try:
        assert not left.exists()
        assert [path.name.split("-")[1] for path in tmp_path.iterdir()] == [str(os.getpid())]
    finally:
        store.close()
    assert not list(tmp_path.iterdir())
