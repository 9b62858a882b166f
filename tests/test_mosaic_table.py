"""The script benchmarks/mosaic_table.py runs on a small size, and its count of use is the program's own."""

from __future__ import annotations

import numpy as np
import pytest

import incrowd as ic
from benchmark_scripts import loaded_script, run_script, write_baskets
from incrowd.methods.mosaic.method import mosaic

SETS = ("BMS-WebView-1", "BMS-WebView-2", "retail")


def test_the_whole_script_on_a_small_size(tmp_path):
    write_baskets(tmp_path, SETS, 400, np.random.default_rng(3))
    ran = run_script("mosaic_table", "--quick", data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in ran.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == [name for name in SETS for _ in range(5)]
    for row in rows:
        assert 0 < float(row[3]) <= 1
        assert row[7:9] != row[-2:]
        assert row[-1] == row[7]  # no basket is long


def test_what_is_found_and_how_far_off_it_is_are_what_the_program_says():
    rng = np.random.default_rng(5)
    rows = [np.unique(rng.zipf(1.3, size) % 90).tolist() for size in rng.integers(1, 40, 600)]
    rows += [rng.permutation(90)[:70].tolist() for _ in range(9)]  # longer than what the prototype counted
    data = ic.Transactions.from_rows([list(map(str, row)) for row in rows])
    how = {"k": 5, "seed": 1, "confidence": 1.0, "effort": "best", "generalize": False}
    use = ic.anonymize(data, "balanced:5", method="mosaic", **how).use
    tree = ic.balanced(data, 5)
    with loaded_script("mosaic_table") as script:
        line = script.measured(data, tree, mosaic(data, tree, **how))
    assert line.kept == pytest.approx(use.kept_exactly)
    assert line.links == pytest.approx(use.links_kept)
    assert line.recall == pytest.approx(use.pairs_recall)
    assert line.error == pytest.approx(use.pairs_error)
    assert line.error_short != line.error
