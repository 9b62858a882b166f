"""Another release of the same people that lies beside: the command line warns, whatever lies there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from cli.helpers import aol_log, call, refused
from incrowd.core import neighbours as beside
from incrowd.core.neighbours import releases_near

MANIFEST = '{"format": "incrowd-release/1"}'


@pytest.fixture
def folder(tmp_path):
    """Return a directory for releases apart from the log."""
    made = tmp_path / "releases"
    made.mkdir()
    return made


def put_manifest(directory, content=MANIFEST):
    directory.mkdir(parents=True)
    (directory / "manifest.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def test_a_release_next_to_the_new_one_is_named_on_stderr_and_in_the_json(log, finished, folder):
    shutil.copytree(finished, folder / "last-week")
    ran = call("anonymize", "--method=flock", log, "--out", folder / "this-week", "--k", 3, "--json")
    assert ran.code == 0
    assert ran.json["beside"] == ["last-week"]
    assert "last-week" in ran.err
    assert "docs/claims.md" in ran.err
    assert len(ran.err.splitlines()) == 2
    assert str(folder) not in ran.err


@pytest.mark.usefixtures("release")
def test_a_release_next_to_the_log_counts_too(log, folder):
    ran = call("anonymize", "--method=flock", log, "--out", folder / "new", "--k", 3)
    assert ran.code == 0
    assert "there is a release beside: release\n" in ran.err
    assert "beside" not in ran.out


def test_what_force_replaces_may_have_been_published(log, finished, folder):
    out = shutil.copytree(finished, folder / ".hidden")
    ran = call("anonymize", "--method=flock", log, "--out", out, "--k", 3, "--force", "--json")
    assert ran.json["beside"] == [".hidden"]
    assert "beside: .hidden" in ran.err


def test_alone_there_is_nothing_to_say(log, folder):
    ran = call("anonymize", "--method=flock", log, "--out", folder / "release", "--k", 3, "--json")
    assert (ran.err, ran.json["beside"]) == ("", [])


def test_a_run_that_fails_says_only_why(log, release):
    refused(call("anonymize", "--method=flock", log, "--out", release, "--k", 3))


def test_compare_warns_too(baskets, folder):
    put_manifest(folder / "old")
    options = ("compare", baskets, "--methods", "partition", "--k", 3)
    ran = call(*options, "--out", folder / "compared", "--json")
    assert ran.code == 0
    assert ran.json["beside"] == ["old"]
    assert "there is a release beside: old\n" in ran.err
    shown = call(*options, "--out", folder / "again")
    assert "beside: old" in shown.err
    assert "beside" not in shown.out


def test_other_kinds_of_releases_count_and_other_folders_do_not(tmp_path):
    put_manifest(tmp_path / "noisy", '{"eps": 1, "format": "incrowd-counts/7", "more": [1, {}]}')
    put_manifest(tmp_path / "app", '{"format": "webapp/1"}')
    put_manifest(tmp_path / "deep/release")
    put_manifest(tmp_path / ".draft")
    (tmp_path / "empty").mkdir()
    (tmp_path / "manifest.json").write_text(MANIFEST)
    assert releases_near(tmp_path / "out", tmp_path / "log.tsv") == [tmp_path / "noisy"]


def test_names_come_in_order_and_each_release_once(tmp_path):
    for name in ("b", "a"):
        put_manifest(tmp_path / name)
    (tmp_path / "c").symlink_to(tmp_path / "a")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = releases_near(tmp_path / "a", tmp_path / "log.tsv")
    assert sorted(path.resolve().name for path in found) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff\xfe" * 1000,
        b"[" * 200_000,
        b'{"format": ' + b"[" * 200_000,
        b'{"a": ' * 20_000,
        b'{"format": 5}',
        b'{"format": null}',
        b'["incrowd-release/1"]',
        b'{"format": "incrowd-\xff"}',
        b'"incrowd-release/1"',
    ],
    ids=range(10),
)
def test_junk_does_no_harm(tmp_path, content):
    put_manifest(tmp_path / "junk", content)
    assert releases_near(tmp_path / "out", tmp_path / "log") == []


def test_a_huge_manifest_is_not_read(tmp_path):
    directory = put_manifest(tmp_path / "huge")
    os.truncate(directory / "manifest.json", 1 << 40)  # a hole: no disk is used
    put_manifest(tmp_path / "long", MANIFEST + " " * beside.LONGEST_MANIFEST)
    assert releases_near(tmp_path / "out", tmp_path / "log") == []


def test_a_pipe_a_directory_and_a_closed_door_do_no_harm(tmp_path):
    for name in ("pipe", "folder", "device"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe/manifest.json")
    (tmp_path / "folder/manifest.json").mkdir()
    (tmp_path / "device/manifest.json").symlink_to("/dev/zero")
    closed = put_manifest(tmp_path / "closed")
    closed.chmod(0)
    try:
        found = releases_near(tmp_path / "out", tmp_path / "log")
        assert [path.name for path in found] == (["closed"] if os.geteuid() == 0 else [])
    finally:
        closed.chmod(0o700)
    assert releases_near(tmp_path / "no/out", tmp_path / "none/log") == []


def test_only_so_many_entries_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "MOST_ENTRIES", 3)
    for number in range(10):
        put_manifest(tmp_path / f"release{number}")
    assert len(releases_near(tmp_path / "out", tmp_path / "log")) == 3


def test_a_name_cannot_steer_the_terminal(folder, tmp_path):
    log = aol_log(tmp_path / "log.tsv")
    put_manifest(folder / "red\x1b[31m\r\u202eevil\n")
    put_manifest(folder / os.fsdecode(b"not-utf8-\xff"))
    for number in range(8):
        put_manifest(folder / f"x{number}")
    out = folder / "new"
    script = (
        sys.executable,
        "-m",
        "incrowd",
        "anonymize",
        "--method=flock",
        log,
        "--out",
        out,
        "--k",
        "3",
        "--json",
    )
    done = subprocess.run(script, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert b"beside: not-utf8-?, red?[31m??evil?, x0, x1, x2 and 5 more\n" in done.stderr
    assert b"\x1b" not in done.stderr + done.stdout
    assert json.loads(done.stdout)["beside"][:2] == ["not-utf8-?", "red?[31m??evil?"]
