"""A Spark session on two threads for all tests here; without PySpark they are skipped."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import pytest

from incrowd.errors import BadInputError

# Without PySpark nothing here can be imported; test_installed.py says so.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_[!i]*.py"]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.openCostInBytes": "1k",
    # Half the files, and with them half the programs that change their rights: no checksum beside each, no mark of success.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.sql.ui.explainMode": "simple",  # nobody reads how a query is planned
}
# For one Java with many jobs: it compiles early, has room for what it compiled, which it would else compile again and again,
# and for what jobs leave behind.
LONG = "-XX:CompileThresholdScaling=0.2 -XX:ReservedCodeCacheSize=240m -Xmn300m"


@pytest.fixture(scope="session")
def java():
    """Skip what starts Spark where there is no Java that it runs on."""
    from incrowd.spark.session import check_java  # noqa: PLC0415 - only where Spark is installed

    try:
        check_java()
    except BadInputError as error:
        pytest.skip(f"{error} (Debian: openjdk-17-jre-headless)")


@pytest.fixture(scope="session")
def spark(java):  # noqa: ARG001 - it skips
    from cluster import BLOCK, LITTLE_DATA, QUICK  # noqa: PLC0415 - only where Spark is installed

    from incrowd.spark.session import session  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark's own
        settings = {
            "spark.driver.extraJavaOptions": f"{QUICK} {LONG}",
            "spark.sql.files.maxPartitionBytes": str(BLOCK),
        }
        with session("local[2]", LITTLE_DATA | SETTINGS | settings) as running:
            yield running
