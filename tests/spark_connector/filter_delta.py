"""Filters Delta tables by delta-spark: a program, as its session has jars and settings of its own.

Standard input has a JSON object: `ivy`, the folder of its jars, and `questions`, a list of `{"folder": ..., "queries": [[...], ...]}`. A query
is a list of conditions, of which one at least holds. The last line of standard output is the list of answers, each with the ids that each query
finds (`found`), the files that these read (`read_files`) and those of the table (`files`), and the ids where each condition holds, by one query without a filter (`held`).
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

PACKAGE = "io.delta:delta-spark_2.12:3.3.2"
#: Queries that Spark runs as one: each has files and a scan of its own.
QUERIES_AT_ONCE = 16
#: The same of queries with many conditions, which take longer to plan the more of them there are.
LONG_QUERIES_AT_ONCE = 4


def by_statistics(frame: DataFrame, conditions: list[str]) -> list[list[int]]:
    """The ids that a query of its own finds for each condition."""
    found: list[list[int]] = [[] for _ in conditions]
    for first in range(0, len(conditions), QUERIES_AT_ONCE):
        numbered = enumerate(conditions[first : first + QUERIES_AT_ONCE], first)
        queries = [frame.where(condition).select(f.lit(number).alias("n"), "id") for number, condition in numbered]
        for row in functools.reduce(DataFrame.unionAll, queries).collect():
            found[row.n].append(row.id)
    return [sorted(ids) for ids in found]


def without(frame: DataFrame, conditions: list[str]) -> list[list[int]]:
    """The ids where each condition holds, by queries that leave no file out."""
    held = [f.collect_list(f.when(f.expr(condition), f.col("id"))) for condition in conditions]
    return [sorted(ids) for ids in frame.agg(*(ids.alias(f"c{n}") for n, ids in enumerate(held))).collect()[0]]


def start(ivy: str, **others: str) -> SparkSession:
    """A session of delta-spark for small tables and many queries, with other settings."""
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.jars.ivy": ivy,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        # Compiling a query takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("filters")
    for name, value in (settings | others).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def answer(spark: SparkSession, folder: str, queries: list[list[str]]) -> dict[str, Any]:
    """The ids that queries find by statistics, and those where their conditions hold."""
    frame = spark.read.format("delta").load(folder)
    found: list[list[int]] = [[] for _ in queries]
    read_files = 0
    for first in range(0, len(queries), LONG_QUERIES_AT_ONCE):
        numbered = enumerate(queries[first : first + LONG_QUERIES_AT_ONCE], first)
        parts = [frame.where(" OR ".join(some)).select(f.lit(number).alias("n"), "id") for number, some in numbered]
        union = functools.reduce(DataFrame.unionAll, parts)
        for row in union.collect():
            found[row.n].append(row.id)
        leaves = union._jdf.queryExecution().executedPlan().collectLeaves()
        metrics = [leaves.apply(at).metrics() for at in range(leaves.size())]
        # What Spark finds to have no rows before it runs has no scan.
        read_files += sum(some.apply("numFiles").value() for some in metrics if some.contains("numFiles"))
    # With its data skipping off, delta-spark reads no table that has vectors. A query without a condition skips nothing.
    held = iter(without(frame, [condition for some in queries for condition in some]))
    return {
        "found": [sorted(ids) for ids in found],
        "files": len(frame.inputFiles()),
        "read_files": read_files,
        "held": [[next(held) for _ in some] for some in queries],
    }


def main() -> None:
    """Answers all questions in one session."""
    asked: dict[str, Any] = json.load(sys.stdin)
    spark = start(asked["ivy"])
    print(json.dumps([answer(spark, question["folder"], question["queries"]) for question in asked["questions"]]))


if __name__ == "__main__":
    main()
