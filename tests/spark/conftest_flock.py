"""A Spark session on two threads for flock's tests, made for many small jobs."""

from __future__ import annotations

import os
import sys
import warnings

import pytest

__all__ = ["flock_spark"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


@pytest.fixture(scope="session")
def flock_spark():
    """Use the session that is there, or start one."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only where Spark is installed

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's own
        session = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
