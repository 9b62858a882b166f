"""The benchmark of method dp on tiny data: what it prints and draws."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmark_scripts import loaded_script, write_baskets

ALL_EPS = (1.0, 10.0)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """What the benchmark prints, and where it draws."""
    where = tmp_path_factory.mktemp("data")
    write_baskets(where, ("BMS-WebView-2", "retail"), 400, np.random.default_rng(5))
    out = where / "dp.svg"
    with pytest.MonkeyPatch.context() as patch, loaded_script("dp") as script:
        printed = []
        patch.setattr(script, "ALL_EPS", ALL_EPS)
        patch.setattr(script, "WORDS", ("dp:d=10",))
        patch.setattr(script, "QUERIES", ("dp:d=10", "korolova:d=10"))
        patch.setattr(
            script, "print", lambda *said, **how: how.get("file") or printed.extend(said), raising=False
        )
        patch.setattr(sys, "argv", ["dp.py", "--quick", "--data", str(where), "--out", str(out)])
        script.main()
    return "\n".join(map(str, printed)), out


def cells(text, name, measure):
    """Return the figures of a method, of each table that has it."""
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith(f"| {name} | `{measure}`")]
    return [[float(cell.strip(" |")) for cell in row[2:]] for row in rows]


def test_items_found_and_the_mass_that_is_missing(done):
    (line,) = [line for line in done[0].splitlines() if line.startswith("| dp, rounds = 3, items alone")]
    number, mass = line.split(" | ")[1:]
    assert 1 <= int(number.split()[0]) <= 60
    assert 0 <= float(mass.strip(" %|")) < 60


def test_measures_by_eps_beside_mosaic(done):
    across = cells(done[0], "mosaic, k = 5", "items_error")
    assert len(across) == 3  # retail, words and queries of a log
    assert all(row == [row[0]] * len(ALL_EPS) for row in across)
    errors = cells(done[0], "dp, d = 10", "items_error")
    assert len(errors) == 3
    assert errors[0][1] < errors[0][0]  # more eps, less noise
    assert len(cells(done[0], "korolova, d = 10", "pairs_recall")) == 1


def test_the_plot_has_a_panel_for_each_data_set_and_measure(done):
    text = done[1].read_text(encoding="utf-8")
    assert text.count('id="axes_') == 6
