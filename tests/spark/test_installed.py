"""Whether Spark can be tested here at all."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from incrowd.cli.commands import anonymize
from incrowd.errors import BadInputError


def test_pyspark_is_installed():
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'incrowd[spark]'")


def test_without_pyspark_the_engine_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "incrowd.spark.run", None)
    options = ["--out", str(tmp_path / "out"), "--k", "5", "--engine", "spark", "--master", "local[2]"]
    found = CliRunner().invoke(anonymize, [str(tmp_path / "log"), *options])
    assert isinstance(found.exception, BadInputError)
    assert str(found.exception) == "engine spark needs PySpark 4: pip install 'incrowd[spark]'"
