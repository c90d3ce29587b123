"""Writes rows of other columns, and replaces tables, by delta-spark and by lakerace: a program, as its session has jars and settings of its own.

Standard input has a JSON object: `ivy`, the folder of delta-spark's jars, and `folder`, for the tables. The last line of standard output is a JSON
object: `differing`, a text for each step whose outcomes differ, and `compared` and `refused`, the number of steps and of those that both refuse.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import JAR
from filter_delta import start
from pyspark.sql import DataFrame, SparkSession


@dataclass
class Place:
    """A table of one of the two."""

    spark: SparkSession
    provider: str
    name: str
    folder: Path
    #: What the last error says.
    error: str = ""

    def sql(self, statement: str) -> None:
        """Runs a statement, in which `T` is the table."""
        self.spark.sql(statement.replace("T!", self.name)).collect()

    def frame(self, query: str) -> DataFrame:
        return self.spark.sql(query.replace("T!", self.name))

    def save(self, query: str, mode: str, *partitions: str, **options: Any) -> None:
        self._writer(query, mode, *partitions, **options).save(str(self.folder))

    def save_as_table(self, query: str, mode: str, *partitions: str, **options: Any) -> None:
        self._writer(query, mode, *partitions, **options).saveAsTable(self.name)

    def define(self, statement: str) -> None:
        """Replaces the table; delta-spark 3.3 fails after its commit on this Spark, where it updates the session's catalog."""
        try:
            self.sql(statement)
        except Exception as error:
            if self.provider != "delta" or "java.lang.AssertionError" not in str(error):
                raise

    def replace(self, start: str, query: str, *partitions: str) -> None:
        """Replaces the table by the rows of a query; delta-spark 3.3 can't on this Spark, and does so in two statements."""
        divided = f"PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
        if self.provider == "delta":
            columns = self.frame(query)._jdf.schema().toDDL().replace(" NOT NULL", "")
            self.define(f"{start} TABLE T! ({columns}) USING delta {divided}")
            self.sql(f"INSERT INTO T! {query}")
        else:
            self.sql(f"{start} TABLE T! USING delta {divided} AS {query}")

    def write_to(self, query: str, **options: Any) -> Any:
        writer = self.frame(query).writeTo(self.name)
        for name, value in options.items():
            writer = writer.option(name, value)
        return writer

    def _writer(self, query: str, mode: str, *partitions: str, **options: Any) -> Any:
        writer = self.frame(query).write.format(self.provider).mode(mode).options(**options)
        return writer.partitionBy(*partitions) if partitions else writer


Step = Callable[[Place], Any]
MERGE = {"mergeSchema": "true"}
OVERWRITE = {"overwriteSchema": "true"}
#: A table with its rows, and what is done with it.
BEFORE: list[Step] = [
    lambda t: t.sql(
        "CREATE TABLE T! (id BIGINT COMMENT 'the key', p INT, s STRUCT<a: INT, b: STRING>) USING delta PARTITIONED BY (p)"
    ),
    lambda t: t.sql("INSERT INTO T! VALUES (1, 1, struct(1, 'x')), (2, 2, struct(2, 'y'))"),
]
NEW = "SELECT 3L AS id, 1 AS p, named_struct('a', 3, 'b', 'z') AS s, 'new' AS n"
OTHER = "SELECT 'k' AS k, 2.5D AS v, DATE'2026-01-01' AS day"
CASES: dict[str, list[Step]] = {
    "merge by save": [
        lambda t: t.save(NEW, "append"),
        lambda t: t.save(NEW, "append", **MERGE),
        lambda t: t.save(
            "SELECT 4L AS id, 1 AS p, named_struct('a', 3, 'b', 'z', 'c', 1.5D) AS s, array(1) AS l", "append", **MERGE
        ),
        lambda t: t.save("SELECT 5L AS ID, 2 AS P, 'again' AS N", "append", **MERGE),
        lambda t: t.save("SELECT 6L AS id, 2 AS p, 7 AS n", "append", **MERGE),
    ],
    "merge by name": [
        lambda t: t.save_as_table(NEW, "append"),
        lambda t: t.save_as_table(NEW, "append", "p", **MERGE),
        lambda t: t.write_to("SELECT 4L AS id, 1 AS p, TIMESTAMP'2026-01-01 00:00:00' AS at", **MERGE).append(),
        lambda t: t.write_to("SELECT 4L AS id, 1 AS p, 1 AS more").append(),
        lambda t: t.save_as_table("SELECT * FROM T! WHERE false", "append", "p", **MERGE),
    ],
    "types of merged rows": [
        lambda t: t.save("SELECT 'text' AS id, 1 AS p, 'a' AS n", "append", **MERGE),
        lambda t: t.save("SELECT 3L AS id, 1 AS p, named_struct('a', 'text') AS s", "append", **MERGE),
        lambda t: t.save("SELECT 3L AS id, DATE'2026-01-01' AS p", "append", **MERGE),
    ],
    "merge and overwrite": [
        lambda t: t.save(NEW, "overwrite"),
        lambda t: t.save(NEW, "overwrite", **MERGE),
        lambda t: t.save(
            NEW + " UNION ALL SELECT 9L, 2, null, 'two'", "overwrite", replaceWhere="p = 2 OR p = 1", **MERGE
        ),
    ],
    "overwritten schema": [
        lambda t: t.save(OTHER, "overwrite"),
        lambda t: t.save(OTHER, "overwrite", **OVERWRITE),
        lambda t: t.save(OTHER, "append"),
        lambda t: t.save(NEW, "overwrite", "p", **OVERWRITE),
        lambda t: t.save(NEW + " UNION ALL SELECT 9L, 2, null, 'two'", "overwrite", **OVERWRITE),
        lambda t: t.save(NEW, "overwrite", "n", **OVERWRITE),
        lambda t: t.save(OTHER, "append", **OVERWRITE),
        lambda t: t.save(OTHER, "overwrite", replaceWhere="p = 1", **OVERWRITE),
    ],
    "replaced tables": [
        lambda t: t.sql(
            "CREATE OR REPLACE TABLE T! (k STRING COMMENT 'a key', v DOUBLE NOT NULL) USING delta COMMENT 'other'"
        ),
        lambda t: t.sql("INSERT INTO T! VALUES ('a', 1.5)"),
        lambda t: t.sql("INSERT INTO T! VALUES ('a', NULL)"),
        lambda t: t.replace("CREATE OR REPLACE", NEW, "p"),
        lambda t: t.replace("CREATE OR REPLACE", "SELECT 4L AS next, 'x' AS n"),
        lambda t: t.replace("REPLACE", OTHER),
        lambda t: t.define("REPLACE TABLE T! (id BIGINT, at TIMESTAMP) USING delta PARTITIONED BY (id)"),
        lambda t: t.replace("REPLACE", NEW, "id", "p"),
        lambda t: t.sql("SELECT assert_true((SELECT sum(id) FROM T! VERSION AS OF 1) = 3)"),
    ],
    "mapped columns": [
        lambda t: t.sql(
            "CREATE OR REPLACE TABLE T! (id BIGINT, `a b` STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
        ),
        lambda t: t.sql("INSERT INTO T! VALUES (1, 'x')"),
        lambda t: t.save("SELECT 2L AS id, 'y' AS `a b`, 1 AS `c d`", "append", **MERGE),
        lambda t: t.save("SELECT 2L AS id, named_struct('x y', 1) AS `e f`", "overwrite", **OVERWRITE),
        lambda t: t.replace("CREATE OR REPLACE", "SELECT 2L AS id, named_struct('x', 1) AS e"),
    ],
}


def outcome(place: Place, step: Step) -> tuple[bool, Any]:
    """Whether a step is done, and the table after it."""
    try:
        step(place)
        done = True
    except Exception as error:
        place.error = " ".join(str(error).split("\n")[:3])
        done = False
    frame = place.spark.table(place.name)
    described = [(row.col_name, row.data_type, row.comment) for row in place.frame("DESCRIBE TABLE T!").collect()]
    nullable = [(field.name, field.nullable) for field in frame.schema.fields]
    return done, (sorted(map(str, frame.collect())), described, nullable)


def main() -> None:
    """Compares all, in one session."""
    asked: dict[str, Any] = json.load(sys.stdin)
    folder = Path(asked["folder"])
    settings = {
        "spark.jars": JAR,
        "spark.sql.warehouse.dir": str(folder / "delta"),
        "spark.sql.catalog.shop": "lakerace.spark.LakeraceCatalog",
        "spark.sql.catalog.shop.warehouse": str(folder / "lake"),
    }
    spark = start(asked["ivy"], **settings)
    told: dict[str, Any] = {"differing": [], "compared": 0, "refused": 0}
    for number, (case, steps) in enumerate(CASES.items()):
        name = f"t{number}"
        places = [
            Place(spark, "delta", f"default.{name}", folder / "delta" / name),
            Place(spark, "lakerace", f"shop.{name}", folder / "lake" / name),
        ]
        for at, step in enumerate([*BEFORE, *steps], -len(BEFORE)):
            delta, lake = (outcome(place, step) for place in places)
            told["compared"] += 1
            told["refused"] += not delta[0] and not lake[0]
            if delta != lake:
                errors = [place.error for place in places]
                told["differing"].append(f"{case}, step {at}:\n  delta {delta}\n  lake  {lake}\n  errors {errors}")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
