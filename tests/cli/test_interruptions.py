"""kill -9 and Ctrl-C, at the very step where they would hurt most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from cli.helpers import call, only_line, start, visible

# Each script says on stderr when it is where the test wants it, and waits there.
WHILE_WRITING = """
import sys, time
from incrowd.cli import main
from incrowd.release import Release
def linger(*_):
    print("now", file=sys.stderr, flush=True)
    time.sleep(100)
Release._audit = linger
main()
"""
WHILE_READING = """
import sys
from incrowd.cli import main
from incrowd.cli.watch import Watch
from incrowd.logs.log import Log
transactions = Log.transactions
def tell(self, **options):
    print("now", file=sys.stderr, flush=True)
    while True:
        transactions(self, **options)
Log.transactions = tell
main()
"""


@pytest.fixture
def scratch(tmp_path_factory):
    """Return where the program keeps its temporary files."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def begun(scratch):
    """Return a function that starts a script and waits until it says that it is there."""

    def begin(script, *arguments):
        process = start(script, *arguments, env={**os.environ, "TMPDIR": str(scratch)})
        assert process.stderr.readline() == "now\n"
        return process

    return begin


def test_kill_while_writing_leaves_nothing_at_the_final_name_and_the_next_run_cleans_up(log, tmp_path, begun):
    out = tmp_path / "release[1]"  # the name is no pattern
    process = begun(WHILE_WRITING, "anonymize", log, "--out", out, "--k", 3)
    drafts = visible(tmp_path) - {"log.tsv"}
    assert len(drafts) == 1
    process.kill()
    process.communicate()
    assert visible(tmp_path) == {"log.tsv"} | drafts
    assert not out.exists()
    assert call("anonymize", log, "--out", out, "--k", 3).code == 0
    assert visible(tmp_path) == {"log.tsv", out.name}


def test_kill_while_replacing_keeps_the_old_release(log, release, tmp_path, begun):
    before = {path.name: path.read_bytes() for path in release.iterdir()}
    process = begun(WHILE_WRITING, "anonymize", log, "--out", release, "--k", 4, "--force")
    process.kill()
    process.communicate()
    assert {path.name: path.read_bytes() for path in release.iterdir()} == before
    assert call("anonymize", log, "--out", release, "--k", 4, "--force").code == 0
    assert visible(tmp_path) == {"log.tsv", "release"}


def test_a_draft_of_a_run_that_still_goes_on_is_left_alone(log, tmp_path, begun):
    out = tmp_path / "release"
    process = begun(WHILE_WRITING, "anonymize", log, "--out", out, "--k", 3)
    try:
        (draft,) = visible(tmp_path) - {"log.tsv"}
        assert call("anonymize", log, "--out", out, "--k", 3).code == 0
        assert visible(tmp_path) == {"log.tsv", "release", draft}
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("script", [WHILE_WRITING, WHILE_READING], ids=["writing", "reading"])
def test_ctrl_c_ends_with_one_line_and_no_leftovers(log, tmp_path, begun, scratch, script):
    process = begun(script, "anonymize", log, "--out", tmp_path / "release", "--k", 3)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    # A terminal has "^C" on the line already, so an empty one may come first.
    assert only_line(said.lstrip("\n")) == "stopped; nothing was published"
    assert visible(tmp_path) == {"log.tsv"}
    assert visible(scratch) == set()


def test_the_program_starts_light_so_that_ctrl_c_is_heard_at_once():
    """What is loaded before the program listens would answer Ctrl-C with a traceback."""
    done = subprocess.run(
        [sys.executable, "-c", "import incrowd.cli, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) & {"numba", "pyarrow", "duckdb", "numpy"} == set()
