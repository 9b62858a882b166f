"""kill -9, Ctrl-C and other signals, at the very step where they would hurt most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from cli.helpers import call, only_line, start, visible

# What is written, moved and removed is the same for all methods; this one needs few kernels and no words.
QUICK_JOB = ("anonymize", "--method=suppress", "--items=queries")

# Each script says on stderr when it is where the test wants it, and waits there.
WHILE_WRITING = """
import sys, time
from incrowd.cli import main
from incrowd.release.model import Release
def linger(*_):
    print("now", file=sys.stderr, flush=True)
    time.sleep(100)
Release._audit = linger
main()
"""
WHILE_READING = """
import sys
from incrowd.cli import main
from incrowd.cli.progress import ProgressBars
from incrowd.logs.log import Log
transactions = Log.transactions
def tell(self, **options):
    print("now", file=sys.stderr, flush=True)
    while True:
        transactions(self, **options)
Log.transactions = tell
main()
"""
WHILE_MOVING = """
import sys, time
from pathlib import Path
from incrowd.cli import main
rename = Path.rename
def linger(self, target):
    if Path(target).name == "release" and self.name == "new":
        print("now", file=sys.stderr, flush=True)
        time.sleep(100)
    return rename(self, target)
Path.rename = linger
main()
"""


@pytest.fixture
def scratch(tmp_path_factory):
    """Return where the program keeps its temporary files."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def call_there(scratch, monkeypatch):
    """Return a function that runs the program here, with its temporary files in the same place."""

    def run(*arguments):
        with monkeypatch.context() as patch:
            patch.setenv("TMPDIR", str(scratch))
            patch.setattr(tempfile, "tempdir", str(scratch))
            return call(*arguments)

    return run


@pytest.fixture
def begun(scratch):
    """Return a function that starts a script and waits until it says that it is there; no process outlives its test."""
    processes = []

    def begin(script, *arguments, at_hangup="DFL", **options):
        # Tests may themselves run under nohup, whose children ignore the signal.
        hears = f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_{at_hangup})\n"
        options["env"] = {**os.environ, "TMPDIR": str(scratch)}
        processes.append(start(hears + script, *arguments, **options))
        assert processes[-1].stderr.readline() == "now\n"
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def test_kill_while_writing_leaves_nothing_at_the_final_name_and_the_next_run_cleans_up(log, tmp_path, begun):
    out = tmp_path / "release[1]"  # the name is no pattern
    process = begun(WHILE_WRITING, *QUICK_JOB, log, "--out", out, "--k", 3)
    drafts = visible(tmp_path) - {"log.tsv"}
    assert len(drafts) == 1
    process.kill()
    process.communicate()
    assert visible(tmp_path) == {"log.tsv"} | drafts
    assert not out.exists()
    assert call(*QUICK_JOB, log, "--out", out, "--k", 3).code == 0
    assert visible(tmp_path) == {"log.tsv", out.name}


def test_what_is_being_written_is_for_its_owner_alone(log, tmp_path, begun):
    process = begun(WHILE_WRITING, *QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3)
    process.kill()
    process.communicate()
    (draft,) = visible(tmp_path) - {"log.tsv"}
    assert (tmp_path / draft).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("script", [WHILE_WRITING, WHILE_READING], ids=["writing", "reading"])
def test_kill_leaves_nothing_private_that_the_next_run_would_not_remove(
    log, tmp_path, begun, scratch, call_there, *, script
):
    job = (*QUICK_JOB, log, "--out", tmp_path / "release", "--private-map", tmp_path / "map", "--k", 3)
    process = begun(script, *job)
    process.kill()
    process.communicate()
    assert visible(tmp_path) - {"log.tsv"} or script == WHILE_READING
    assert visible(scratch) or script == WHILE_WRITING
    assert call_there(*job).code == 0
    assert visible(tmp_path) == {"log.tsv", "release", "map"}
    assert visible(scratch) == set()


def test_the_temporary_files_of_a_run_that_still_goes_on_are_left_alone(
    log, tmp_path, begun, scratch, call_there
):
    process = begun(WHILE_READING, *QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3)
    try:
        process.send_signal(signal.SIGSTOP)  # it would read again and again, which takes a whole core
        before = visible(scratch)
        other = tmp_path / "other"
        assert call_there(*QUICK_JOB, log, "--out", other, "--k", 3).code == 0
        assert visible(scratch) == before != set()
    finally:
        process.kill()
        process.communicate()


def test_kill_between_the_moves_of_map_and_release_is_undone(log, tmp_path, begun):
    out, private_map = tmp_path / "release", tmp_path / "map"
    job = (*QUICK_JOB, log, "--out", out, "--private-map", private_map)
    assert call(*job, "--k", 3).code == 0
    before = {path: path.stat().st_ino for path in (private_map, *out.iterdir())}
    process = begun(WHILE_MOVING, *job, "--k", 4, "--force")
    process.kill()
    process.communicate()
    assert private_map.stat().st_ino != before[private_map]
    assert not out.exists()  # a map alone publishes nothing
    refused = call(*job, "--k", 4)
    assert refused.code == 2
    assert "exists" in only_line(refused.err)
    assert {path: path.stat().st_ino for path in (private_map, *out.iterdir())} == before
    assert visible(tmp_path) == {"log.tsv", "release", "map"}


def test_kill_while_replacing_keeps_the_old_release(log, release, tmp_path, begun):
    before = {path.name: path.read_bytes() for path in release.iterdir()}
    process = begun(WHILE_WRITING, *QUICK_JOB, log, "--out", release, "--k", 4, "--force")
    process.kill()
    process.communicate()
    assert {path.name: path.read_bytes() for path in release.iterdir()} == before
    assert call(*QUICK_JOB, log, "--out", release, "--k", 4, "--force").code == 0
    assert visible(tmp_path) == {"log.tsv", "release"}


def test_a_draft_of_a_run_that_still_goes_on_is_left_alone(log, tmp_path, begun):
    out = tmp_path / "release"
    process = begun(WHILE_WRITING, *QUICK_JOB, log, "--out", out, "--k", 3)
    try:
        (draft,) = visible(tmp_path) - {"log.tsv"}
        assert call(*QUICK_JOB, log, "--out", out, "--k", 3).code == 0
        assert visible(tmp_path) == {"log.tsv", "release", draft}
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("script", [WHILE_WRITING, WHILE_READING], ids=["writing", "reading"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_signal_ends_with_one_line_and_leaves_nothing(log, tmp_path, begun, scratch, *, script, number):
    process = begun(script, *QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3)
    process.send_signal(number)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert printed == ""
    # A terminal has "^C" on the line already, so an empty one may come first.
    assert only_line(said.lstrip("\n")) == "stopped; nothing was published"
    assert visible(tmp_path) == {"log.tsv"}
    assert visible(scratch) == set()


def test_what_nohup_started_goes_on_when_the_terminal_goes(log, tmp_path, begun):
    waits = WHILE_WRITING.replace("time.sleep(100)", "sys.stdin.readline()\n    raise SystemExit(7)")
    job = (*QUICK_JOB, log, "--out", tmp_path / "release", "--k", 3)
    process = begun(waits, *job, at_hangup="IGN", stdin=subprocess.PIPE)
    process.send_signal(signal.SIGHUP)
    process.communicate("go on\n", timeout=60)
    assert process.returncode == 7


def test_the_gateway_keeps_its_own_ways_to_stop():
    script = """
import signal
from incrowd.cli import app
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for arguments in (["gateway", "x.yaml"], ["audit", "x"]):
    app._note_signals(arguments)
    print(*(signal.getsignal(number) == signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGHUP)))
"""
    printed, _ = start(script).communicate(timeout=60)
    assert printed == "True True\nFalse False\n"


def test_the_program_starts_light_so_that_ctrl_c_is_heard_at_once():
    """What is loaded before the program listens would answer Ctrl-C with a traceback."""
    done = subprocess.run(
        [sys.executable, "-c", "import incrowd.cli, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) & {"numba", "pyarrow", "duckdb", "numpy"} == set()
