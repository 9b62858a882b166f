"""One browser for all tests of the studio, and small inputs."""

from __future__ import annotations

import sys

import pytest

from devtools import open_tabs
from incrowd.studio.folder import Folder
from incrowd.studio.runner import Runner
from studio.harness import AOL_HEADER, Tab, running_studio

QUERIES = ("dog food", "cats", "the zorblax")


@pytest.fixture(scope="session")
def new_tab(tmp_path_factory):
    with open_tabs(tmp_path_factory.mktemp("browser"), Tab) as opened:
        yield opened


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio in which a program is signed in, and a tab as well."""
    with running_studio(tmp_path_factory.mktemp("studio") / "work") as running:
        yield running


@pytest.fixture(scope="module")
def tab(studio, new_tab):
    tab = new_tab()
    tab.open(studio.entrance)
    tab.until_shown("Your projects")
    return tab


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "work")


@pytest.fixture
def run(folder):
    """Return a function that starts a runner of a program; all are stopped in the end."""
    started = []

    def start(script):
        runner = Runner(folder, (sys.executable, "-c", script))
        runner.start()
        started.append(runner)
        return runner

    yield start
    for runner in started:
        runner.stop()


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """A log of twenty people, with one line that cannot be read."""
    path = tmp_path_factory.mktemp("logs") / "log.tsv"
    lines = [f"{user}\t{query}\t2006-03-01 10:00:00\t\t\n" for user in range(101, 121) for query in QUERIES]
    path.write_text(AOL_HEADER + "".join(lines) + "x\ty\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def baskets(tmp_path_factory):
    path = tmp_path_factory.mktemp("baskets") / "baskets.dat"
    path.write_text("milk bread\n" * 6 + "milk beer\n" * 6 + "bread\n", encoding="utf-8")
    return path
