"""The script benchmarks/table_errors.py runs on a small log, and the bounds of the tables hold."""

from __future__ import annotations

from benchmark_scripts import run_script
from incrowd.logs.synth.generate import write_log


def test_the_table(tmp_path):
    log = tmp_path / "log.tsv"
    write_log(log, users=60, seed=1)
    ran = run_script("table_errors", str(log), data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    names, _, values = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in ran.stdout.splitlines()
    )
    row = dict(zip(names, values, strict=True))
    assert int(row["of the first 1,000"]) > 100
    assert row["in [lower, upper]"] == row["people in bounds"] == "100.0%"
