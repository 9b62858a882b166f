"""The load benchmark in small: nothing fails, wrong answers and growth are detected."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """Return the benchmark's modules by name."""
    before = sys.path[:]
    sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "load")]
    try:
        yield {
            name: importlib.import_module(name) for name in ("gateway_load", "stage", "client", "provider")
        }
    finally:
        sys.path[:] = before


@pytest.fixture
def stage(benchmark, tmp_path):
    stage = benchmark["stage"].Stage(tmp_path)
    with stage.provider():
        yield stage


def test_the_proxy_and_the_gateway_answer_everything_right(stage):
    queries = stage.queries(100)
    with stage.proxy() as proxy, stage.gateway(people=50) as gateway:
        for server in (proxy, gateway):
            for rate in (0, 100):
                result = server.load(queries, 1, rate=rate, connections=8)
                assert result["problems"] == {}
                assert result["requests"] > 50
                assert result["checked"] >= 1
                assert result["p50"] <= result["p99"]
        assert gateway.worker != gateway.process.pid


def judged(benchmark, tmp_path, answer, status="200 OK"):
    """Return the problems that the load generator finds in an answer to a query for a county."""
    file = tmp_path / "queries.json"
    file.write_text(json.dumps([{"raw": "", "query": {"county": "Essex"}}]), encoding="utf-8")
    load = benchmark["client"].Load({"queries": file, "gateway": True})
    load._times = [0.0] * benchmark["client"].CHECK_EVERY
    body = json.dumps(answer, separators=(",", ":"))
    load._judge(next(load._queries), f"HTTP/1.1 {status}\r\n\r\n{body}".encode())
    return +load._problems


def test_a_wrong_answer_is_noticed(benchmark, tmp_path):
    found = benchmark["provider"].rows_for({})
    right = [row for row in found if row["county"] == "Essex"]
    answer = {"rows": right, "total": len(right), "answer": "exact", "privacy": {"sent": {}}}
    assert right
    assert right != found
    assert judged(benchmark, tmp_path, answer) == {}
    assert judged(benchmark, tmp_path, answer | {"rows": found}) == {"wrong": 1}
    assert judged(benchmark, tmp_path, answer | {"total": 0}) == {"wrong": 1}
    assert judged(benchmark, tmp_path, answer | {"answer": "partial"}) == {"not exact": 1}
    assert judged(benchmark, tmp_path, answer, "503 Unavailable") == {"503": 1}


@pytest.mark.parametrize(
    ("values", "flat"),
    [
        ([100.0] * 300, True),
        ([50.0] * 60 + [100.0] * 240, True),  # the first minute does not count
        ([100.0 + place / 40 for place in range(300)], True),
        ([100.0 + place / 10 for place in range(300)], False),
    ],
)
def test_growth_is_distinguished_from_noise(benchmark, values, flat, capsys):
    assert benchmark["gateway_load"].print_growth("worker MB", values) is flat
    assert ("yes" if flat else "NO") in capsys.readouterr().out
