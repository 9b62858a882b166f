"""Kernels are loaded, or compiled, before a job begins: none is compiled in the middle of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.jobs import data
from incrowd.jobs.settings import parse_methods
from incrowd.jobs.spec import IN_MEMORY, Options, check_input
from incrowd.logs.synth.generate import write_log

TESTS = Path(__file__).resolve().parents[1]
# A process of its own: in this one other tests have used kernels already.
SCRIPT = """
import sys
from pathlib import Path
from helpers import Quiet
from incrowd.jobs import run
from incrowd.jobs.spec import Options

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("incrowd.")]
    functions = {found for module in modules for found in vars(module).values() if hasattr(found, "signatures")}
    return {(one.py_func.__qualname__, signature) for one in functions for signature in one.signatures}

def noting(*arguments):
    load(*arguments)
    before.update(compiled())

before, load, run.load_all = set(), run.load_all, noting
run.run_job(Options(Path(sys.argv[1]), Path(sys.argv[2]), 5, method=sys.argv[3]), Quiet())
print(len(before), *sorted({name for name, _ in compiled() - before}))
"""


@pytest.mark.parametrize("method", ["flock", "mosaic"])
def test_a_job_compiles_nothing_after_its_kernels_are_loaded(method, tmp_path):
    log, out = tmp_path / "log.tsv", tmp_path / "out"
    write_log(log, users=80, seed=3)
    command = [sys.executable, "-c", SCRIPT, log, out, method]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=TESTS).stdout
    known, *later = printed.split()
    assert int(known) > 10  # the search does find kernels
    assert later == []


def test_kernels_are_loaded_once_in_a_process(monkeypatch):
    job = check_input(Options(IN_MEMORY, IN_MEMORY), parse_methods("suppress"))
    data.load_kernels(job)
    monkeypatch.setattr(data, "make_release", None)  # whoever calls it fails
    data.load_kernels(job)
