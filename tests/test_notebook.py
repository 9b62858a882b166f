"""The notebook runs from top to bottom, and what it says of the release is so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs/notebook.ipynb"


def code_cells():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_it_holds_no_output():
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells())


def test_it_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for number, cell in enumerate(code_cells()):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert names["again"].holds is True
    assert (tmp_path / "release/tiles.parquet").exists()
    assert "at least 5 different accounts" in capsys.readouterr().out
    assert ["denver", "weather"] in [sorted(items) for items in names["pairs"]["items"]]
    assert names["words"].index[0] == "denver"
    assert [run.method for run in names["comparison"].runs] == ["flock", "mosaic"]
    assert (names["pairs"]["people"] >= 5).all()
