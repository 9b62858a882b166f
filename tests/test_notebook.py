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
    # What is typed together most often comes first, whichever tiles it is in.
    top = {
        tuple(sorted(pair)) for pair in names["pairs"][["item_a", "item_b"]].head(8).itertuples(index=False)
    }
    assert ("cheap", "flights") in top
    assert names["words"]["item"][0] == "denver"
    assert [run.method for run in names["comparison"].runs] == ["flock", "mosaic"]
    assert (names["tiles"]["people"] >= 5).all()
