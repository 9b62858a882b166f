"""A Spark session for a job, and Spark's errors as one line that says what to do."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from incrowd.errors import BadInputError

__all__ = ["JAVA", "check_java", "kernels_place", "plain_errors", "session"]

JAVA = 17
STANDALONE = "spark://"
PATIENCE = 5.0
"""Seconds in which a master must take a connection."""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_MASTER = re.compile(r"local(\[[\d*, ]+\])?|local-cluster\[[\d, ]+\]|yarn|(spark|k8s)://\S+")
_NO_MASTER = "engine spark needs a cluster: give its address with --master spark://HOST:7077 (or local[2] to try it here)"
_QUIET = {
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",  # a failed task's own words could quote a record
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.sql.dataFrameDebugging.enabled": "false",  # it notes our own line for every column, which takes time
}


@contextmanager
def session(master: str | None, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Give a session on a cluster; one that runs in this process already is used and left alone.

    Parameters
    ----------
    master
        The cluster's address; None where ``spark-submit`` has said it.
    settings
        More of Spark's settings.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not master and not submitted:
        raise BadInputError(_NO_MASTER)
    if master and not _MASTER.fullmatch(master):
        raise BadInputError(
            f"master must look like spark://HOST:7077, yarn, k8s://ADDRESS or local[2] (got '{master:.80}')"
        )
    if not submitted:
        check_java()
    if master and master.startswith(STANDALONE):
        _check_listening(master)
    spark = _started(SparkSession.builder, master, settings or {})
    try:
        yield spark
    finally:
        spark.stop()


def check_java() -> None:
    """Refuse a Java that Spark 4 does not run on, before it fails in its own words."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    wanted = f"engine spark needs Java {JAVA} or later"
    remedy = f"install Java {JAVA} and set JAVA_HOME to it"
    try:
        said = subprocess.run(  # noqa: S603 - the user's own Java
            [program or "java", "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        raise BadInputError(f"{wanted}, and none was found: {remedy}") from None
    found = _VERSION.search(said.stderr + said.stdout)
    if found is None or int(found[1]) < JAVA:
        raise BadInputError(f"{wanted} (found {found[1] if found else 'an unknown one'}): {remedy}")


def _check_listening(master: str) -> None:
    """Refuse a master that is not there, of whom Spark would give up hope only after a minute; of several, one is enough."""
    addresses = (address.rpartition(":") for address in master.removeprefix(STANDALONE).split(","))
    if not any(_listens(host, port) for host, _, port in addresses):
        raise BadInputError(
            f"nobody listens at {master}: start the master, or give its address with --master"
        )


def _listens(host: str, port: str) -> bool:
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _started(builder: SparkSession.Builder, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    # Executors on this machine run the same Python; elsewhere PYSPARK_PYTHON says which one does.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _keep_quiet()
    kernels = {"spark.executorEnv.INCROWD_CACHE_DIR": str(kernels_place())}
    builder = builder.appName("incrowd")
    if master:
        builder = builder.master(master)
    for name, value in {**_QUIET, **kernels, **settings}.items():
        builder = builder.config(name, value)
    with plain_errors(f"no session could be started on {master}; look at --master"):
        return builder.getOrCreate()


def _keep_quiet() -> None:
    """Give Spark's driver a log that is as good as silent, unless another is configured."""
    own = Path(os.environ.get("SPARK_CONF_DIR", "")) / "log4j2.properties"
    said = os.environ.get("SPARK_SUBMIT_OPTS", "")
    if "log4j" in said or ("SPARK_CONF_DIR" in os.environ and own.exists()):
        return
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    os.environ["SPARK_SUBMIT_OPTS"] = f"{said} -Dlog4j2.configurationFile={quiet}".strip()


def kernels_place() -> Path:
    """Return where executors keep compiled kernels: apart from the local engine's, and in order (incrowd.spark.warm)."""
    named = os.environ.get("INCROWD_CACHE_DIR")
    return Path(named) if named else Path(tempfile.gettempdir()) / f"incrowd-spark-{os.getuid()}"


@contextmanager
def plain_errors(what: str) -> Iterator[None]:
    """Turn Spark's errors into one line: their own words could quote a record."""
    try:
        yield
    except (Py4JError, Py4JNetworkError, PySparkException, ConnectionError) as error:
        if os.environ.get("INCROWD_DEBUG"):
            raise
        raise BadInputError(f"{what} ({type(error).__name__}); Spark's own log says more") from None
