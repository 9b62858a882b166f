from __future__ import annotations

import shutil

import pytest

from cli.helpers import aol_log, call


@pytest.fixture
def log(tmp_path):
    return aol_log(tmp_path / "log.tsv")


@pytest.fixture
def baskets(tmp_path):
    path = tmp_path / "baskets.dat"
    path.write_text("milk bread\n" * 4 + "milk beer beer\n" * 4 + "bread\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session", autouse=True)
def warm_kernels(finished):
    """Compile what is not compiled yet: the first run says so on stderr, where tests want no more than one line."""
    return finished


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """Return a release of the usual log, made once."""
    directory = tmp_path_factory.mktemp("finished")
    log = aol_log(directory / "log.tsv")
    ran = call("anonymize", "--method=flock", log, "--out", directory / "release", "--k", 3)
    assert ran.code == 0, ran.err
    return directory / "release"


@pytest.fixture
def release(finished, tmp_path):
    """Return a copy of a release, to do with as a test likes."""
    return shutil.copytree(finished, tmp_path / "release")
