"""One session for all tests: a JVM takes longer to start than most of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

JAR = os.environ["LAKERACE_SPARK_JAR"]
#: Longer than any machine takes.
PATIENCE_SECONDS = 60


def until(holds: Callable[[], object]) -> None:
    """Waits until something holds: what Spark does behind a job has no event of its own."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.01)


def start(master: str, scratch: Path, **settings: str) -> SparkSession:
    """A session with the connector."""
    builder = SparkSession.builder.master(master).appName("lakerace").config("spark.jars", JAR)
    fixed = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark leaves row groups out by statistics that do not tell of NaN.
        "spark.sql.parquet.filterPushdown": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Djava.io.tmpdir={scratch}",
        "spark.driver.memory": "1g",
        "spark.sql.catalog.lake": "lakerace.spark.LakeraceCatalog",
    }
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = start("local[2]", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session without the settings of other tests."""
    yield spark.newSession()
    # A session is active from its first frame on. Readers of Spark take their settings from the active one.
    spark.createDataFrame([], "id int")


def plan(frame: DataFrame) -> str:
    """The physical plan, as it is before the query runs."""
    return str(frame._jdf.queryExecution().executedPlan().toString())
