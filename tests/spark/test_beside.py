"""On a cluster too, the command line warns of a release that lies beside."""

from __future__ import annotations

import pytest

from cli.helpers import call


@pytest.mark.usefixtures("spark")
def test_the_warning_of_a_release_beside(tmp_path):
    log = tmp_path / "baskets.dat"
    log.write_text("milk bread\nmilk\nbread\n" * 5, encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/manifest.json").write_text('{"format": "incrowd-release/1"}')
    options = ("--k", 3, "--method", "partition", "--engine", "spark", "--master", "local[2]")
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "new", *options, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["beside"] == ["old"]
    assert "there is a release beside: old\n" in ran.err
