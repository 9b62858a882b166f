"""benchmarks/risk_speed.py runs, and its made-up people are as it says."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark_scripts import loaded_script, run_script, write_baskets


def test_the_whole_script_on_a_tiny_size(tmp_path):
    write_baskets(tmp_path, ["BMS-WebView-2"], 200, np.random.default_rng(3))
    done = run_script("risk_speed", "--quick", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:] if line.startswith("|")]
    assert [line[0] for line in cells] == [
        "unicity, p = 1..10, 1,000 draws each",
        "risks of classes",
        *["found again, everybody against everybody"] * 2,
    ]
    shares = [float(line[3].split(" %")[0]) for line in cells]
    assert shares[0] > 50  # four of 21 items single most people out
    assert shares[2] > 50  # a third of the items is shared
    assert all(0 <= share <= 100 for share in shares)


def test_items_follow_zipf_s_law():
    with loaded_script("risk_speed") as script:
        items = script.zipf_items(4_000, 1_000, 10, np.random.default_rng(1))
        people = script.people_of(items, 1_000)
        assert script.flat_tree(1_000).leaf_count == 1_000
    share = np.bincount(items.ravel(), minlength=1_000) / items.size
    assert share[0] == pytest.approx(np.log(2) / np.log(1_000), abs=0.005)
    assert share[9] == pytest.approx(np.log(11 / 10) / np.log(1_000), abs=0.005)
    for person in range(50):
        own = people.leaf[people.start[person] : people.start[person + 1]].tolist()
        assert own == sorted(set(items[person].tolist()))
