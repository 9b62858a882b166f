"""What all tests share: the Hypothesis profile and the public data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine and the first compilation of a kernel are slow, not wrong.
settings.register_profile("incrowd", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("incrowd")

ROOT = Path(__file__).resolve().parents[1]


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


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, so that no worker is left alone with one of them in the end."""
    items.sort(key=lambda item: "spark" not in item.path.parts)
