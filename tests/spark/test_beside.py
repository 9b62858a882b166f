"""On a cluster too, the command line warns of a release that lies beside."""

from __future__ import annotations

import pytest

from cli.helpers import aol_log, call


@pytest.mark.usefixtures("spark")
def test_the_warning_of_a_release_beside(tmp_path):
    log = aol_log(tmp_path / "log.tsv")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/manifest.json").write_text('{"format": "incrowd-release/1"}')
    options = ("--k", 3, "--method", "partition", "--engine", "spark", "--master", "local[2]")
    ran = call("anonymize", log, "--out", tmp_path / "new", *options, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["beside"] == ["old"]
    assert "there is a release beside: old\n" in ran.err
