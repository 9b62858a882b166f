from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from incrowd.errors import BadInputError
from incrowd.gateway.ops import shared_counts as counts_module
from incrowd.gateway.ops.metrics import MILLISECONDS, CountedDecision, GatewayMetrics, start_metrics

SPAWN = multiprocessing.get_context("spawn")


def decision(*, refused=False, rungs=None, dropped=()):
    return SimpleNamespace(
        refused=refused, kept={"county": "Essex"}, rungs=rungs or {}, dropped=tuple(dropped)
    )


def knowing(directory=None):
    meters = GatewayMetrics(directory)
    meters.learn(routes=["/loans"], providers=["loans"], attributes=["race"])
    return meters


@pytest.fixture
def meters():
    return knowing()


def count(meters, name, **labels):
    meters.add_up()
    return meters.registry.get_sample_value(f"incrowd_{name}", labels)


def label_values(meters):
    meters.add_up()
    return {
        value
        for metric in meters.registry.collect()
        for sample in metric.samples
        for label, value in sample.labels.items()
        if label != "le"
    }


def test_requests_are_counted_by_route_and_status(meters):
    for status in (200, 200, 404):
        meters.request("/loans", status, 0.003)
    assert count(meters, "requests_total", route="/loans", status="200") == 2
    assert count(meters, "requests_total", route="/loans", status="404") == 1
    assert count(meters, "request_seconds_bucket", route="/loans", le="0.005") == 3
    assert count(meters, "request_seconds_bucket", route="/loans", le="0.002") == 0
    assert count(meters, "request_seconds_count", route="/loans") == 3


def test_nothing_unknown_becomes_a_label(meters):
    before = label_values(meters)
    meters.request("/secret", 404, 0.1)
    meters.request("/loans", 299, 0.1)
    meters.provider_failed("secret", "secret", 0.1)
    meters.fetched("secret", 1, 1, 0.1)
    meters.decided(CountedDecision("generalized", ("secret",)), 0.1)
    assert label_values(meters) == before
    assert "Essex" not in before
    assert count(meters, "requests_total", route="other", status="404") == 1
    assert count(meters, "requests_total", route="/loans", status="other") == 1
    assert count(meters, "provider_errors_total", provider="other", code="other") == 1
    assert count(meters, "dropped_attributes_total", attribute="other") == 1


def test_decisions_are_counted_by_outcome(meters):
    meters.decided(CountedDecision.of(decision(rungs={"county": 0})), 1e-5)
    meters.decided(CountedDecision.of(decision(rungs={"county": 1})), 1e-5)
    meters.decided(CountedDecision.of(decision(dropped=["race"])), 1e-5)
    meters.decided(CountedDecision.of(decision(refused=True, dropped=["race"])), 1e-5)
    assert count(meters, "decisions_total", outcome="as_asked") == 1
    assert count(meters, "decisions_total", outcome="generalized") == 2
    assert count(meters, "decisions_total", outcome="refused") == 1
    assert count(meters, "dropped_attributes_total", attribute="race") == 2
    assert count(meters, "decide_seconds_count") == 4


def test_providers_are_counted_with_rows_bytes_and_errors(meters):
    meters.fetched("loans", 10, 1000, 0.02)
    meters.provider_failed("loans", "provider_timeout", 10.0)
    assert count(meters, "provider_requests_total", provider="loans") == 2
    assert count(meters, "provider_rows_total", provider="loans") == 10
    assert count(meters, "provider_bytes_total", provider="loans") == 1000
    assert count(meters, "provider_errors_total", provider="loans", code="provider_timeout") == 1
    assert count(meters, "provider_seconds_count", provider="loans") == 2


def test_the_cache_the_ledger_and_reloads_are_counted(meters):
    meters.cache(found=True)
    meters.cache(found=False)
    meters.cache(found=False)
    meters.ledger_failed()
    meters.ledger_created()
    meters.ledger_expired(40)
    meters.ledger_expired(2)
    meters.ledger_clock_jumped()
    meters.reloaded(good=True)
    meters.reloaded(good=False)
    assert count(meters, "cache_requests_total", result="hit") == 1
    assert count(meters, "cache_requests_total", result="miss") == 2
    assert count(meters, "ledger_errors_total") == 1
    assert count(meters, "ledger_created_total") == 1
    assert count(meters, "ledger_expired_total") == 42
    assert count(meters, "ledger_clock_jumps_total") == 1
    assert count(meters, "reloads_total", result="ok") == 1
    assert count(meters, "reloads_total", result="bad") == 1


def test_learning_again_keeps_the_counts(meters):
    meters.request("/loans", 200, 0.1)
    meters.learn(routes=["/loans", "/houses"], providers=["loans"], attributes=[])
    meters.request("/loans", 200, 0.1)
    meters.request("/houses", 200, 0.1)
    assert count(meters, "requests_total", route="/loans", status="200") == 2
    assert count(meters, "requests_total", route="/houses", status="200") == 1


def work(directory, requests, done=None, stop=None):
    """Be a worker: answer some requests, and perhaps stay alive."""
    meters = knowing(directory)
    for _ in range(requests):
        meters.request("/loans", 200, 0.003)
    meters.connections(requests + 1, {"address": requests, "total": 0})
    meters.connections(requests, {"address": 0, "total": 1})
    meters.add_up()
    if done is not None:
        done.set()
        stop.wait(60)


def scrape(server):
    with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


REQUESTS = 'incrowd_requests_total{route="/loans",status="200"}'
BUCKET = 'incrowd_request_seconds_bucket{le="0.005",route="/loans"}'
COUNT = 'incrowd_request_seconds_count{route="/loans"}'
CROWDED = 'incrowd_connections_closed_total{reason="address"}'


def run_worker(directory, requests):
    worker = SPAWN.Process(target=work, args=(directory, requests))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0


def test_workers_counts_are_added_up_and_outlive_them(tmp_path):
    directory = tmp_path / "metrics"
    server = start_metrics("127.0.0.1", 0, directory)
    done, stop = SPAWN.Event(), SPAWN.Event()
    living = SPAWN.Process(target=work, args=(directory, 3, done, stop))
    try:
        living.start()
        assert done.wait(60)
        for requests, total in ((2, 5), (4, 9)):
            run_worker(directory, requests)
            for _ in range(
                2
            ):  # the first scrape folds the dead worker's files, the second reads what it left
                found = scrape(server)
                assert [float(found[name]) for name in (REQUESTS, BUCKET, COUNT, CROWDED)] == [total] * 4
                assert float(found["incrowd_connections_open"]) == 3  # those of the living
        processes = {file.name.partition("-")[0] for file in directory.iterdir()}
        assert processes == {"dead.json", str(living.pid)}
    finally:
        stop.set()
        living.join(60)
        server.close()
    assert directory.stat().st_mode & 0o777 == 0o700


def test_scrapes_at_once_count_a_dead_worker_once(tmp_path, monkeypatch):
    def write_slowly(file, encoded, write=counts_module._write):
        time.sleep(0.05)
        write(file, encoded)

    monkeypatch.setattr(counts_module, "_write", write_slowly)
    server = start_metrics("127.0.0.1", 0, tmp_path)
    try:
        run_worker(tmp_path, 7)
        found = []
        threads = [threading.Thread(target=lambda: found.append(scrape(server))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [float(counts[REQUESTS]) for counts in found] == [7.0] * 8
    finally:
        server.close()


def test_a_new_run_starts_from_nothing_and_half_made_files_do_no_harm(tmp_path):
    run_worker(tmp_path, 7)
    server = start_metrics("127.0.0.1", 0, tmp_path)
    try:
        (tmp_path / f"{os.getpid()}-0.json").touch()
        assert set(scrape(server).values()) == {"0.0"}
    finally:
        server.close()


def test_a_full_disk_stops_no_worker_and_loses_no_count(tmp_path, monkeypatch):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    meters = knowing(tmp_path)
    meters.request("/loans", 200, 0.1)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", no_space)
        meters.add_up()
    assert not list(tmp_path.iterdir())
    meters.add_up()
    (file,) = tmp_path.iterdir()
    meters.request("/loans", 200, 0.1)
    with monkeypatch.context() as patched:  # the file has its room: no disk need grow for more
        patched.setattr(Path, "write_bytes", no_space)
        meters.add_up()
    assert b'[["/loans","200"],[2.0]]' in counts_module._read_counts(file)


def test_counts_are_whole_whoever_reads_while_they_are_written(tmp_path):
    counts = counts_module.Counts([counts_module.Kind("events", "Events", ("name",))])
    file = counts_module.CountsFile(tmp_path)
    for number in range(400):  # more series than there was room for at first
        counts.add("events", f"{number} {'x' * 900}")
        file.write(counts)
        (left,) = tmp_path.glob("*.counts")
        assert counts_module._read_counts(left) == counts.encode()
    assert [path.suffix for path in tmp_path.iterdir()] == [".counts"]


def test_every_number_of_a_histogram_is_what_the_library_would_count():
    seconds = [0.0, 1e-3, 1.1e-3, 0.005, 4.0, 30.0, 31.0, 1e9]
    ours = knowing()
    for each in seconds:
        ours.request("/loans", 200, each)
    ours.add_up()
    theirs = CollectorRegistry()
    histogram = Histogram(
        "incrowd_request_seconds",
        "Whole requests, in seconds.",
        ["route"],
        registry=theirs,
        buckets=MILLISECONDS,
    )
    for each in seconds:
        histogram.labels("/loans").observe(each)

    def lines(registry):
        shown = generate_latest(registry).decode().splitlines()
        return [line for line in shown if "request_seconds_" in line and "/loans" in line]

    assert lines(ours.registry) == [line for line in lines(theirs) if "_created" not in line]


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInputError, match=f"metrics: cannot listen on 127.0.0.1, port {port} "):
            start_metrics("127.0.0.1", port, tmp_path)
