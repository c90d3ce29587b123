"""Nothing of a scan stays behind, however it ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import until
from pyspark.sql import SparkSession

import lakerace as lr


def is_idle(counters: Any) -> bool:
    return bool(counters.readers() == counters.batches() == counters.threads() == 0)


def cancelled(spark: SparkSession, counters: Any, name: str) -> None:
    """A scan of far more rows than anyone waits for, which is cancelled while it runs."""
    failures = []

    def run() -> None:
        spark.sparkContext.setJobGroup(name, "a scan to cancel")
        frame = spark.read.format("lakerace").load("tpch:lineitem?sf=100")
        try:
            frame.write.format("noop").mode("overwrite").save()
        except Exception as error:
            failures.append(str(error))

    # Tasks of an earlier job end after it: a batch of theirs is no sign that this job runs.
    until(lambda: is_idle(counters))
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: counters.batches() > 0)
    spark.sparkContext.cancelJobGroup(name)
    thread.join()
    assert failures


def test_a_hundred_scans_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    counters = spark._jvm.lakerace.spark.Counters
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=1000)
    frame = spark.read.format("lakerace").load(str(tmp_path / "o.parquet"))

    def scans(rounds: int) -> int:
        for number in range(rounds):
            if number % 2 == 0:
                cancelled(spark, counters, f"scan {number}")
            elif number % 4 == 1:
                assert frame.selectExpr("max(o_comment)").count() == 1
            else:
                # Ends early.
                assert len(frame.where("o_orderkey > 5").take(3)) == 3
        until(lambda: is_idle(counters))
        return int(counters.bytes())

    before = scans(20)
    after = scans(100)
    assert before > 0
    assert after - before < 1 << 20


def test_a_failed_task_frees_its_batches(spark: SparkSession, tmp_path: Path) -> None:
    counters = spark._jvm.lakerace.spark.Counters
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet")
    frame = spark.read.format("lakerace").load(str(tmp_path / "o.parquet"))
    with pytest.raises(Exception, match="on purpose"):
        frame.selectExpr("if(o_orderkey > 100, raise_error('on purpose'), o_orderkey)").collect()
    until(lambda: is_idle(counters))


def test_batches_are_in_the_memory_that_spark_counts(tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.1", tmp_path / "o.parquet")
    rows = pa.table({"o_orderkey": pa.array([1, 2], pa.int64()), "o_comment": ["old", "old"]})
    lr.copy(rows, f"delta:{tmp_path}/t", table_properties={"lakerace.primaryKey": "o_orderkey"})
    command = [sys.executable, str(Path(__file__).with_name("memory.py")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == ["150000", "None", "None", "0", "0", "True", "True", "True", "0", "0"]
