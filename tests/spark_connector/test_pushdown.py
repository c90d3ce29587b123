"""Spark's reader of ORC finds by the statistics of our files what it finds without them."""

from __future__ import annotations

import datetime
import functools
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lakerace as lr

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from pushdown import GROUP_ROWS, Filter, filters, table

KINDS = ("f64", "f32", "dec18", "day", "utc", "text")
#: Queries that Spark runs as one: each has a scan of its own.
QUERIES_AT_ONCE = 16
#: Spark takes some time for each query: of all but doubles each fourth filter is tried.
STEP = 4
#: The Julian calendar lacks this day: Spark looks for another one in bounds.
NO_JULIAN_DAY = datetime.date(1582, 10, 10)


def tried() -> list[Filter]:
    """The filters that Spark is asked."""
    doubles = ("f64", False)
    found = [
        one
        for at, one in enumerate(filters(KINDS))
        if (one.kind, one.nested) == doubles or at % STEP == 0 or one.operator.startswith("IS")
    ]
    return [one for one in found if NO_JULIAN_DAY not in one.values]


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
    """The ids where each condition holds, by a query without conditions."""
    found: list[list[int]] = []
    for first in range(0, len(conditions), QUERIES_AT_ONCE * 4):
        part = conditions[first : first + QUERIES_AT_ONCE * 4]
        rows = frame.selectExpr("id", *(f"({condition}) AS c{n}" for n, condition in enumerate(part))).collect()
        found += [sorted(row.id for row in rows if row[1 + n]) for n in range(len(part))]
    return found


def test_orc(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows = tmp_path / "orc", table(KINDS)
    folder.mkdir()
    for group in range(0, rows.num_rows, GROUP_ROWS):
        lr.copy(rows.slice(group, GROUP_ROWS), folder / f"{group:02}.orc", bloom_filter=list(KINDS))
    assert spark.conf.get("spark.sql.orc.filterPushdown") == "true"
    frame, conditions = spark.read.orc(str(folder)), [one.sql("spark") for one in tried()]
    pushed, expected = by_statistics(frame, conditions), without(frame, conditions)
    print(f"Spark, ORC: {len(conditions)} filters")
    lost = [
        f"{condition[:120]}: {found} by statistics, {wanted} without"
        for condition, found, wanted in zip(conditions, pushed, expected, strict=True)
        if found != wanted
    ]
    assert not lost, "\n".join(lost)
