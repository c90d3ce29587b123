"""Filters Delta tables by delta-spark: a program, as its session has jars and settings of its own.

Standard input has a JSON object: `ivy`, the folder of its jars, and `questions`, a list of `{"folder": ..., "conditions": [...]}`. The
last line of standard output is the list of answers: for each condition the ids that a query with it finds, and those of the rows
where it holds, by a query without conditions.
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


def start(ivy: str) -> SparkSession:
    """A session of delta-spark for small tables and many queries."""
    settings = {
        "spark.jars.packages": PACKAGE,
        "spark.jars.ivy": ivy,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "1",
        # Compiling a query takes longer than running it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("filters")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> None:
    """Answers all questions in one session."""
    asked: dict[str, Any] = json.load(sys.stdin)
    spark = start(asked["ivy"])
    answers = []
    for question in asked["questions"]:
        frame, conditions = spark.read.format("delta").load(question["folder"]), question["conditions"]
        answers.append([by_statistics(frame, conditions), without(frame, conditions)])
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
