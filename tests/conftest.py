"""What all tests share: the Hypothesis profile and the public data."""

from __future__ import annotations

import gc
import os
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

# A busy machine and the first compilation of a kernel are slow, not wrong.
settings.register_profile("incrowd", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("incrowd")

ROOT = Path(__file__).resolve().parents[1]
# When garbage is searched for: jobs make much that is gone soon, and kernels, once loaded, stay.
SELDOM = (20_000, 20, 20)
# Files and rooms that take long; `pytest --durations=60` says which. The cluster comes long after Spark's other tests: it holds
# the lock on kernels that they would wait for.
SHARING = "spark/test_[!c]*.py"
LONGEST = (
    SHARING,
    "test_wheel.py",
    "gateway/test_private_directory.py",
    "gateway/test_reload.py",
    "gateway/test_connections.py",
    "gateway/test_serving.py",
    "gateway/test_faults.py",
    "studio/test_whole_jobs.py",
    "spark/test_cluster.py",
    "gateway/test_fuzz.py",
    "test_*",
    "methods/*",
    "gateway/*",
    "cli/*",
    "generalizer/*",
    "auditing/*",
)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the directory of the public data sets, or skip."""
    directory = Path(os.environ.get("INCROWD_DATA", ROOT / "../shared/data")).resolve()
    if not (directory / "transactions").is_dir():
        pytest.skip(f"the public data sets are not in {directory}; set INCROWD_DATA to where they are")
    return directory


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 - pytest names them
    """With INCROWD_NO_SKIP a skipped test is a failed one: what a checker leaves out, it has not checked."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("INCROWD_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and INCROWD_NO_SKIP is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let no search for garbage go over what collecting makes: thousands of tests and modules that stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(*SELDOM)


def pytest_unconfigure():
    """Let all be freed in the end: libraries look for what was not."""
    gc.unfreeze()


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, so that no worker is left alone with one of them in the end.

    Workers are given files in this order (``make test`` asks for it with ``--no-loadscope-reorder``).
    """
    items.sort(key=lambda item: place_of(item.path.relative_to(ROOT / "tests").as_posix()))


class ByFileAndSession(LoadFileScheduling):
    """Tests of one file go to one worker, and all that share a Spark session too."""

    def _split_scope(self, nodeid):
        """Return what goes to one worker together with a test."""
        file = super()._split_scope(nodeid)
        return SHARING if fnmatch(file, f"*{SHARING}") else file


def pytest_xdist_make_scheduler(config, log):
    """Let one worker have the Spark session."""
    return ByFileAndSession(config, log)


def place_of(path):
    """Return where a file comes in the order of what takes longest; what is not named there comes last."""
    return next((place for place, first in enumerate(LONGEST) if fnmatch(path, first)), len(LONGEST))


def pytest_terminal_summary(terminalreporter):
    """Name the tests that were left out, each under its reason."""
    reasons = {}
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        test = report.nodeid.partition("[")[0]  # once for all of its parameters
        reasons.setdefault(reason.removeprefix("Skipped: "), {})[test] = None
    if reasons:
        terminalreporter.section("left out")
    for reason, tests in sorted(reasons.items()):
        terminalreporter.line(f"{reason}:")
        for test in tests:
            terminalreporter.line(f"  {test}")
