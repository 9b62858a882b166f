"""What all tests share: the Hypothesis profile and the public data."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine and the first compilation of a kernel are slow, not wrong.
settings.register_profile("incrowd", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("incrowd")

ROOT = Path(__file__).resolve().parents[1]
# Files and rooms that take long; `pytest --durations=60` says which. The cluster comes long after Spark's other tests: it holds
# the lock on kernels that they would wait for.
LONGEST = (
    "spark/test_[!c]*.py",
    "test_wheel.py",
    "gateway/test_private_directory.py",
    "gateway/test_reload.py",
    "gateway/test_connections.py",
    "gateway/test_serving.py",
    "gateway/test_faults.py",
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Begin with what takes longest, so that no worker is left alone with it in the end; keep a file's tests on one worker.

    All tests that share a Spark session are on one worker too. ``make test`` asks for both with ``--dist loadgroup
    --no-loadscope-reorder``.
    """
    files = {item: item.path.relative_to(ROOT / "tests").as_posix() for item in items}
    items.sort(key=lambda item: place_of(files[item]))
    for item in items:
        item.add_marker(pytest.mark.xdist_group("spark" if place_of(files[item]) == 0 else files[item]))


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
