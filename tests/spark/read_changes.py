"""Reads the change data feeds of Delta tables with Spark: run by the Python of the bench's environment of delta-spark.

Standard input has a JSON list of `{"path": ..., "columns": [...], "statements": [...]}`: tables that SQL may change first, with `{table}`
for the table. The last line of standard output is the list of answers: the rows of each feed, as lists of the columns, sorted.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def _answer(spark: Any, question: dict[str, Any]) -> list[list[Any]]:
    path = question["path"]
    for statement in question["statements"]:
        spark.sql(statement.format(table=f"delta.`{path}`"))
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(path)
    rows = feed.select("_commit_version", "_change_type", *question["columns"]).collect()
    return sorted(([*row] for row in rows), key=json.dumps)


def main() -> None:
    """Answers all questions in one session."""
    sys.path.insert(0, sys.argv[1])
    import session

    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "1",
    }
    spark = session.start(1, settings)
    print(json.dumps([_answer(spark, question) for question in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
