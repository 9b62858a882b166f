"""A real standalone cluster on loopback: a master and workers of one core, each a process of its own."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pyspark

from helpers import until
from incrowd.spark.session import kernels_place

__all__ = [
    "BLOCK",
    "LITTLE_DATA",
    "QUICK",
    "SPARK_CLASS",
    "Cluster",
    "cluster",
    "configure",
    "environment",
    "events_of",
    "holding_kernels",
    "run_on",
    "wait_for",
]

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
SECONDS = 600
BLOCK = (
    128 * 1024
)  # bytes of a file that one task reads: small files are cut into several blocks, as large ones are
# For short jobs on few cores. Classes are Spark's own, and need no check of their bytecode. Hadoop has the file system's rights
# changed by a program, twice for each file; Java would start another one before each.
QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    " -Djdk.lang.Process.launchMechanism=VFORK"
)
# Compiling and planning anew takes longer than so little data; the cluster's first test has them as usual.
LITTLE_DATA = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
Found = TypeVar("Found")


def wait_for(what: str, look: Callable[[], Found | None]) -> Found:
    """Return what is found as soon as it is; starting Spark takes long where much else runs."""
    return until(look, what, SECONDS)


def environment(directory: Path) -> dict[str, str]:
    """Return an environment in which Spark keeps to loopback and to a directory of the test's."""
    return os.environ | {
        "SPARK_CONF_DIR": str(directory / "conf"),
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "PYSPARK_PYTHON": sys.executable,
    }


@dataclass
class Cluster:
    """What runs: the master's address and the workers' processes."""

    directory: Path
    master: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executor_at_work(self) -> tuple[int, int] | None:
        """Return the process ids of an executor whose shard waits for compiled kernels, and of its worker."""
        workers = {worker.pid for worker in self.workers}
        for process in waiting_for_kernels():
            line = above(process)
            for executor, worker in pairwise(line):
                if worker in workers:
                    return executor, worker
        return None


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, by any of its threads."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for thread in threads for one in thread.read_text(encoding="utf-8").split()]


def configure(directory: Path, **settings: str) -> None:
    """Write Spark's settings for the jobs that are started from now on."""
    (directory / "conf").mkdir(parents=True, exist_ok=True)
    (directory / "events").mkdir(exist_ok=True)
    usual = {
        "spark.executor.memory": "700m",
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (directory / "events").as_uri(),
    }
    lines = [f"{name} {value}" for name, value in (usual | settings).items()]
    (directory / "conf" / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")


@contextmanager
def cluster(directory: Path, *, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers; end them by their process ids."""
    configure(directory)
    started: list[subprocess.Popen[bytes]] = []
    try:
        name = "org.apache.spark.deploy.master.Master"
        log = start(
            directory, "master", started, name, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        master = wait_for(
            "the master", lambda: re.search(r"Starting Spark master at (spark://\S+)", log.read_text())
        )
        running, logs = Cluster(directory, master[1]), []
        for number in range(workers):
            name = "org.apache.spark.deploy.worker.Worker"
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--host", "127.0.0.1")
            place = ("--work-dir", str(directory / f"work-{number}"))
            log = start(directory, f"worker-{number}", started, name, *size, *place, running.master)
            running.workers.append(started[-1])
            logs.append(log)
        wait_for("the workers", lambda: all("Successfully registered" in log.read_text() for log in logs))
        yield running
    finally:
        for process in reversed(started):
            end(process)


def start(directory: Path, name: str, started: list[subprocess.Popen[bytes]], *command: str) -> Path:
    """Start a part of Spark; return its log."""
    log = directory / f"{name}.log"
    with log.open("wb") as out:
        started.append(
            subprocess.Popen([SPARK_CLASS, *command], stdout=out, stderr=out, env=environment(directory))
        )
    return log


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started."""
    below = children_of(process.pid) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in below:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


@contextmanager
def run_on(running: Cluster, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run ``incrowd anonymize`` on the cluster."""
    command = [sys.executable, "-m", "incrowd", "anonymize", *map(str, arguments)]
    command += ["--engine", "spark", "--master", running.master, "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(running.directory)
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextmanager
def holding_kernels() -> Iterator[Callable[[], None]]:
    """Keep the executors from compiling kernels, so that their shards run until the lock is given back."""
    kernels_place().mkdir(mode=0o700, exist_ok=True)
    with (kernels_place() / "warm.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lambda: fcntl.flock(lock, fcntl.LOCK_UN)


def waiting_for_kernels() -> list[int]:
    """Return the processes that wait for the lock on compiled kernels, as the system tells it."""
    lock = str((kernels_place() / "warm.lock").stat().st_ino)
    waiting = []
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        words = line.split()  # "7: -> FLOCK ADVISORY WRITE 123 fe:00:4711 0 EOF" is one that waits
        if words[1] == "->" and words[6].rpartition(":")[2] == lock:
            waiting.append(int(words[5]))
    return waiting


def above(pid: int) -> list[int]:
    """Return a process, the one that started it, and so on."""
    line = [pid]
    while line[-1] > 1:
        try:
            state = Path(f"/proc/{line[-1]}/stat").read_text(encoding="utf-8")
        except OSError:  # it has just ended
            break
        line.append(int(state.rpartition(")")[2].split()[1]))
    return line


def events_of(running: Cluster) -> list[dict[str, Any]]:
    """Return Spark's own account of the last job."""
    path = max((running.directory / "events").iterdir(), key=lambda file: file.stat().st_mtime)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
