"""Jobs: one at a time, cancelled without a trace, interrupted and run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from helpers import has_ended, until, visible
from incrowd.studio.jobs import State, add_job, progress_of, result_of, state_of, write_state

# Programs in place of the command line: each is given the job's arguments.
LINGER = "import time, sys; print('{}', flush=True); time.sleep(100)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LINGER}"
WRITES = """
import os, sys, time
from pathlib import Path
from incrowd.core.atomic import atomic_write
with atomic_write(Path(sys.argv[1])) as draft:
    draft.write_text("private")
    Path(sys.argv[1] + ".now").touch()
    time.sleep(100)
"""
SAYS = "import sys; print('{\"said\": \"' + sys.argv[1] + '\"}'); sys.exit(int(sys.argv[2]))"


def ended(folder, job):
    until(lambda: state_of(folder, job.id).ended is not None, f"job {job.id} ends")
    return state_of(folder, job.id)


def test_a_job_that_ends_well_leaves_its_result(folder, run):
    job = add_job(folder, "p", "look", ["hello", "0"])
    run(SAYS)
    assert ended(folder, job).status == "done"
    assert result_of(folder, job.id) == {"said": "hello"}
    assert (folder.jobs / job.id / "result.json").stat().st_mode & 0o077 == 0


def test_one_that_fails_says_why_and_the_next_one_runs(folder, run):
    first, second = (add_job(folder, "p", "look", [text, str(code)]) for text, code in (("a", 2), ("b", 0)))
    run(SAYS)
    assert ended(folder, first) == State(
        status="failed",
        started=state_of(folder, first.id).started,
        ended=state_of(folder, first.id).ended,
        exit_code=2,
    )
    assert ended(folder, second).status == "done"
    assert state_of(folder, second.id).started >= state_of(folder, first.id).ended


def test_only_one_runs_and_one_that_waits_is_cancelled_at_once(folder, run):
    first, second = (add_job(folder, "p", "look", []) for _ in range(2))
    runner = run(LINGER)
    until(lambda: state_of(folder, first.id).status == "running", "the first runs")
    assert state_of(folder, second.id).status == "queued"
    runner.cancel(second.id)
    assert state_of(folder, second.id).status == "cancelled"
    runner.cancel(first.id)
    assert ended(folder, first).status == "cancelled"


def test_cancelling_leaves_nothing(folder, run):
    out = folder.releases / "r"
    job = add_job(folder, "p", "release", [str(out)], writes=[out])
    runner = run(WRITES)
    until((folder.releases / "r.now").exists, "the draft is written")
    assert len(visible(folder.releases)) == 2
    runner.cancel(job.id)
    assert ended(folder, job).status == "cancelled"
    assert visible(folder.releases) == {"r.now"}


def test_a_job_that_does_not_listen_is_killed(folder, run, monkeypatch):
    monkeypatch.setattr("incrowd.studio.runner.PATIENCE", 0.2)
    job = add_job(folder, "p", "look", [])
    runner = run(STUBBORN)
    until(
        lambda: (folder.jobs / job.id / "result.json").exists() and result_of(folder, job.id) == {},
        "it began",
    )
    runner.cancel(job.id)
    assert ended(folder, job).exit_code == -signal.SIGKILL


def test_what_a_killed_studio_left_running_is_interrupted_and_its_drafts_are_removed(folder, run):
    out = folder.releases / "r"
    job = add_job(folder, "p", "release", [str(out)], writes=[out])
    write_state(folder, job.id, State(status="running", started=time.time()))
    draft = folder.releases / ".r.incrowd-0123456789abcdef"
    draft.mkdir(mode=0o700)
    (draft / ".lock").touch(mode=0o600)
    (draft / "new").write_text("private")
    run(LINGER)
    assert state_of(folder, job.id).status == "interrupted"
    assert visible(folder.releases) == set()


def test_stopping_the_studio_interrupts_the_job(folder, run):
    job = add_job(folder, "p", "look", [])
    runner = run(LINGER)
    until(lambda: state_of(folder, job.id).status == "running", "it runs")
    runner.stop()
    assert state_of(folder, job.id).status == "interrupted"


def test_progress_is_what_the_file_says(folder):
    job = add_job(folder, "p", "release", [])
    now = time.time()
    write_state(folder, job.id, State(status="running", started=now - 10))
    lines = [
        f'{{"step": "read", "title": "Reading", "time": {now - 10}}}',
        f'{{"step": "read", "title": "Reading", "time": {now - 8}, "done": 10, "total": 10}}',
        f'{{"step": "anonymize", "title": "Grouping", "time": {now - 6}}}',
        f'{{"step": "anonymize", "title": "Grouping", "time": {now}, "done": 1, "total": 4}}',
        '{"step": "anon',  # a line that is being written
    ]
    (folder.jobs / job.id / "progress.jsonl").write_text("\n".join(lines))
    progress = progress_of(folder, job.id)
    assert [(step.title, round(step.seconds), step.share, step.over) for step in progress.steps] == [
        ("Reading", 4, 1.0, True),
        ("Grouping", 6, 0.25, False),
    ]
    assert round(progress.seconds) == 10
    assert round(progress.left) == 18


def test_the_command_line_writes_its_progress_and_ends_with_its_parent(tmp_path, log):
    """The studio is killed, and so is the job: nothing goes on that no page shows."""
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'from incrowd.cli.app import main; from incrowd.jobs import run; import time; '"
        "'run.run_on = lambda *a: (a[2].step(\"read\"), time.sleep(100)); main()', *sys.argv[1:]], env={**os.environ, 'INCROWD_PARENT': str(os.getpid())})\n"
        "print(child.pid, flush=True); time.sleep(100)"
    )
    place = tmp_path / "progress.jsonl"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, "anonymize", log, "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "INCROWD_PROGRESS": str(place)},
    )
    child = int(parent.stdout.readline())
    until(place.exists, "progress is written")
    assert '"step": "read"' in place.read_text()
    parent.kill()
    parent.wait()  # the job has the other end of its pipe
    parent.stdout.close()
    try:
        until(lambda: has_ended(child), "the job ends", 20)
    finally:
        if not has_ended(child):
            os.kill(child, signal.SIGKILL)
