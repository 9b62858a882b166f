"""Ledgers for tests: made, opened here or in another process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from incrowd.generalizer.ledger.ledger import Ledger
from incrowd.generalizer.ledger.store import create_ledger

SECRET = b"a secret of thirty-two bytes ..."
DAY = 86_400.0
NOBODY = 65_534
PRELUDE = f"""
import os, resource, signal, sys, time
from incrowd.generalizer.ledger.ledger import Ledger
from incrowd.generalizer.ledger.file import LedgerError
from incrowd.generalizer.ledger.store import create_ledger
path = sys.argv[1]
def ledger(**options):
    return Ledger(path, marker=path + ".marker", secret={SECRET!r}, time_to_live={DAY}, **options)
def make_ledger():
    create_ledger(path, marker=path + ".marker", secret={SECRET!r})
def stop_being_root():
    if os.getuid() == 0:
        os.setuid({NOBODY})
"""


def marker_of(path):
    return path.with_name(f"{path.name}.marker")


def make_ledger(path, *, secret=SECRET, **options):
    create_ledger(path, marker=marker_of(path), secret=secret, **options)


def open_ledger(path, *, secret=SECRET, time_to_live=DAY, **options):
    return Ledger(path, marker=marker_of(path), secret=secret, time_to_live=time_to_live, **options)


def start(path, script):
    """Run a script in another process, with `ledger()` and `path` at hand."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(path, script):
    with start(path, script) as process:
        output, _ = process.communicate(timeout=60)
    return process.returncode, output.strip()


def assert_one_line(error, *words):
    text = str(error.value)
    assert "\n" not in text
    for word in words:
        assert word in text
