"""The script benchmarks/previous.py runs on a tiny size, and nobody is singled out with --previous."""

from __future__ import annotations

import numpy as np

from benchmark_scripts import run_script, write_baskets


def test_the_table(tmp_path):
    write_baskets(tmp_path, ["BMS-WebView-2"], 120, np.random.default_rng(3))
    ran = run_script("previous", "--quick", data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in ran.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == ["flock", "flock", "partition", "partition"]
    for _, _, alone, _, following, _, _ in rows:
        assert float(alone.rstrip("%")) > 0
        assert following == "0.0%"
