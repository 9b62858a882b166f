"""Options become a typed job, and everything that can be refused before reading is refused there."""

from __future__ import annotations

import pytest

from incrowd.errors import BadInputError
from incrowd.jobs.spec import Options, read_job
from incrowd.logs import Unit
from incrowd.logs.synth.generate import write_log


@pytest.fixture
def log(tmp_path):
    write_log(tmp_path / "log.tsv", users=5, seed=1)
    return tmp_path / "log.tsv"


def test_texts_become_values(log, tmp_path):
    options = Options(log, tmp_path / "out", "5", method="partition", parameters={"publish": "bag"})
    job = read_job(options)
    assert (job.k, job.method.name, job.unit, job.items) == (5, "partition", Unit(), None)
    assert job.setting.parameters == {"publish": "bag"}


@pytest.mark.parametrize("k", [None, 5, "5"])
def test_a_method_without_k_gets_none(log, tmp_path, k):
    assert read_job(Options(log, tmp_path / "out", k, method="korolova")).k is None


@pytest.mark.parametrize("method", ["flock", "korolova"])
def test_a_wrong_k_is_refused_for_every_method(log, tmp_path, method):
    with pytest.raises(BadInputError, match="k must be at least 2"):
        read_job(Options(log, tmp_path / "out", 1, method=method))
