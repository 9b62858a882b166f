"""A real standalone cluster: many lines, an executor that is killed, a worker that is lost for good."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pyarrow.parquet as pq
import pytest
from cluster import (
    LITTLE_DATA,
    SPARK_CLASS,
    cluster,
    configure,
    environment,
    events_of,
    holding_kernels,
    run_on,
    wait_for,
)
from test_engine import records

from cli.helpers import call, refused
from helpers import Quiet
from incrowd.jobs.run import run_job
from incrowd.jobs.spec import Options
from incrowd.logs.synth.generate import write_log

LINES = 150_000
SHARD = 1_000
OUR_STEPS = "incrowd: "  # how our steps are named; kernels are first needed when parts are split or finished


def a_shard_runs(running):
    """Wait until a shard runs; return the process ids of its executor and of the worker behind it."""
    return wait_for("a shard that runs", running.executor_at_work)


def what_happened(running):
    """Return the executors that ended tasks well, the tasks that were lost, and the attempts at the shards."""
    events = events_of(running)
    stages = {
        stage
        for event in events
        if event["Event"] == "SparkListenerJobStart"
        and event["Properties"].get("spark.job.description", "").startswith(OUR_STEPS)
        for stage in event["Stage IDs"]
    }
    ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    good = {end["Task Info"]["Executor ID"] for end in ends if end["Task End Reason"]["Reason"] == "Success"}
    lost = [
        end
        for end in ends
        if end["Task End Reason"]["Reason"] == "ExecutorLostFailure" and end["Stage ID"] in stages
    ]
    again = [
        event
        for event in events
        if event["Event"] == "SparkListenerTaskStart"
        and event["Stage ID"] in stages
        and (event["Task Info"]["Attempt"] > 0 or event["Stage Attempt ID"] > 0)
    ]
    return good, lost, again


@pytest.fixture(scope="module")
def running(java, tmp_path_factory):  # noqa: ARG001 - it skips
    """A cluster for the tests of this file, in their order: the last one takes a worker from it."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.slow
def test_many_lines_with_an_executor_killed_give_the_local_release(running, tmp_path):
    log = tmp_path / "log.tsv"
    write_log(log, lines=LINES, seed=8, people="all")
    run_job(Options(log, tmp_path / "local", 5, method="partition"), Quiet())
    settings = {
        "spark.incrowd.shard": str(SHARD),
        "spark.driver.maxResultSize": "4m",  # Spark stops a job that brings more than that to its driver
    }
    configure(running.directory, **settings)
    with (
        holding_kernels() as go_on,
        run_on(running, log, "--out", tmp_path / "out", "--k", 5, "--method", "partition") as job,
    ):
        executor, _ = a_shard_runs(running)
        os.kill(executor, signal.SIGKILL)
        go_on()
        out, errors = job.communicate()
    assert job.returncode == 0, errors
    good, lost, again = what_happened(running)
    assert lost  # the kill happened while a task worked,
    assert again  # it was tried again,
    assert len(good) >= 2  # and both workers worked
    said = json.loads(out)
    assert said["claim"]["holds"]
    assert said["input"]["lines"] == LINES + 1
    assert said["peak_rss_mb"] < 700
    assert records(tmp_path / "out").equals(pq.read_table(tmp_path / "local" / "records.parquet"))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["local", "log.tsv", "out"]


@pytest.mark.slow
def test_a_worker_lost_for_good_leaves_a_whole_release_or_none(running, tmp_path):
    log = tmp_path / "log.tsv"
    write_log(log, lines=20_000, seed=9, people="all")
    run_job(Options(log, tmp_path / "local", 5, method="partition"), Quiet())
    configure(running.directory, **LITTLE_DATA, **{"spark.incrowd.shard": "20000"})
    with (
        holding_kernels() as go_on,
        run_on(running, log, "--out", tmp_path / "out", "--k", 5, "--method", "partition") as job,
    ):
        executor, worker = a_shard_runs(running)
        os.kill(worker, signal.SIGKILL)
        os.kill(executor, signal.SIGKILL)
        assert not (tmp_path / "out").exists()
        go_on()
        _, errors = job.communicate()
    assert [process.poll() is None for process in running.workers].count(True) == 1
    if job.returncode == 0:
        assert records(tmp_path / "out").equals(pq.read_table(tmp_path / "local" / "records.parquet"))
    else:
        assert errors.splitlines()[-1].startswith("incrowd: the cluster gave up, and nothing was published")
        assert not (tmp_path / "out").exists()


@pytest.fixture
def no_session(monkeypatch):
    """Let the program start its own session, whatever other tests have started in this process."""
    monkeypatch.setattr("incrowd.spark.session.SparkSession.getActiveSession", lambda: None)


@pytest.mark.usefixtures("java")
def test_spark_submit_runs_the_same_command_and_warns_of_a_release_beside(tmp_path):
    log, job = tmp_path / "baskets.dat", tmp_path / "incrowd_job.py"
    log.write_text("\n".join(f"{i % 3} {i % 5} {i % 7}" for i in range(200)) + "\n", encoding="utf-8")
    job.write_text("from incrowd.cli import main; main()", encoding="utf-8")
    submit = [
        SPARK_CLASS.with_name("spark-submit"),
        "--master",
        "local[1]",
        job,
        "anonymize",
        log,
        "--k",
        "5",
        "--method",
        "partition",
    ]
    (tmp_path / "old").mkdir()
    (tmp_path / "old/manifest.json").write_text('{"format": "incrowd-release/1"}')
    configure(tmp_path / "cluster", **LITTLE_DATA, **{"spark.sql.shuffle.partitions": "1"})
    done = subprocess.run(
        [*submit, "--engine", "spark", "--out", tmp_path / "out", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path / "cluster"),
    )
    assert done.returncode == 0, done.stderr
    said, end = json.JSONDecoder().raw_decode(done.stdout)
    assert said["beside"] == ["old"]
    assert "there is a release beside: old\n" in done.stdout[end:]  # Spark's launcher joins both streams
    run_job(Options(log, tmp_path / "local", 5, method="partition"), Quiet())
    assert records(tmp_path / "out").equals(pq.read_table(tmp_path / "local" / "records.parquet"))


def refusal(tmp_path, *options):
    """Return the line with which the program refuses to start."""
    job = ("anonymize", tmp_path / "log", "--out", tmp_path / "out", "--k", 5, "--method", "partition")
    return refused(call(*job, *options), tmp_path / "out")


@pytest.mark.usefixtures("no_session")
def test_without_a_master_nothing_starts(tmp_path):
    line = refusal(tmp_path, "--engine", "spark")
    assert "give its address with --master spark://HOST:7077" in line


@pytest.mark.usefixtures("no_session")
def test_a_master_that_is_no_address_is_refused(tmp_path):
    line = refusal(tmp_path, "--engine", "spark", "--master", "foo://x")
    assert line == "master must look like spark://HOST:7077, yarn, k8s://ADDRESS or local[2] (got 'foo://x')"


@pytest.mark.usefixtures("java", "no_session")
@pytest.mark.parametrize(
    "master", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://127.0.0.1"]
)
def test_a_master_that_does_not_listen_is_said_at_once(tmp_path, master):
    (tmp_path / "log").write_text("a\tb\n", encoding="utf-8")
    line = refusal(tmp_path, "--engine", "spark", "--master", master)
    # Spark itself, which gives up after a minute, would have other words.
    assert line == f"nobody listens at {master}: start the master, or give its address with --master"


def test_an_engine_that_is_not_there_is_refused(tmp_path):
    line = refusal(tmp_path, "--engine", "sparc")
    assert line == "engine must be one of local, spark (got 'sparc') (did you mean 'spark'?)"
