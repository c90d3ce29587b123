"""Spark's own readers find by the statistics of our files what they find without them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lakerace as lr

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from pushdown import GROUP_ROWS, Filter, filters, table

#: Kinds of values. Of doubles all filters are tried, as their zeros and NaNs are easy to lose.
ORC = ("f64", "f32", "dec18", "day", "utc", "text")
PARQUET = ("f64", "f32", "dec18", "dec38", "day", "utc", "text")
PARQUET_PUSHDOWN = "spark.sql.parquet.filterPushdown"
#: Queries that Spark runs as one: each has a scan of its own.
QUERIES_AT_ONCE = 16
#: Spark takes some time for each query: of the other kinds each so manyth filter is tried.
STEP = 6


def tried(kinds: tuple[str, ...], step: int = STEP) -> list[Filter]:
    """The filters that Spark is asked: all those with a day that its old calendar skips, and some of the others."""

    def is_tried(at: int, one: Filter) -> bool:
        is_double = one.kind == "f64" and not one.nested
        return is_double or one.has_skipped_day or at % step == 0 or one.operator.startswith("IS")

    return [one for at, one in enumerate(filters(kinds)) if is_tried(at, one)]


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


def check(name: str, frame: DataFrame, wanted: list[Filter]) -> None:
    """Fails where Spark finds other rows by statistics."""
    conditions = [one.sql("spark") for one in wanted]
    pushed, expected = by_statistics(frame, conditions), without(frame, conditions)
    print(f"Spark, {name}: {len(conditions)} filters")
    lost = [
        f"{condition[:120]}: {found} by statistics, {wanted} without"
        for condition, found, wanted in zip(conditions, pushed, expected, strict=True)
        if found != wanted
    ]
    assert not lost, "\n".join(lost)


def test_orc(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows = tmp_path / "orc", table(ORC)
    folder.mkdir()
    for group in range(0, rows.num_rows, GROUP_ROWS):
        lr.copy(rows.slice(group, GROUP_ROWS), folder / f"{group:02}.orc", bloom_filter=list(ORC))
    assert spark.conf.get("spark.sql.orc.filterPushdown") == "true"
    check("ORC", spark.read.orc(str(folder)), tried(ORC))


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "groups.parquet"
    # Spark leaves out what bounds, a dictionary or a bloom filter excludes.
    lr.copy(table(PARQUET), path, row_group_rows=GROUP_ROWS, bloom_filter=list(PARQUET))
    before = spark.conf.get(PARQUET_PUSHDOWN)
    spark.conf.set(PARQUET_PUSHDOWN, "true")
    try:
        check("Parquet", spark.read.parquet(str(path)), tried(PARQUET))
    finally:
        spark.conf.set(PARQUET_PUSHDOWN, before)
