"""Frames and tables that Spark keeps in memory: they have what their own session has written since."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from conftest import plan
from pyspark.sql import DataFrame, SparkSession

import lakerace as lr


def read(spark: SparkSession, place: Path, **options: str) -> DataFrame:
    return spark.read.format("lakerace").options(**options).load(str(place))


def cached(frame: DataFrame) -> DataFrame:
    frame.cache().count()
    return frame


def put(place: Path, *ids: int) -> None:
    """Appends rows as another program does."""
    rows = pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array(ids, pa.int64())})
    lr.copy(rows, f"delta:{place}", mode="append" if place.exists() else "error")


def test_cached_frames_have_what_their_session_writes(spark: SparkSession, tmp_path: Path) -> None:
    place, table = tmp_path / "t", f"lake.`{tmp_path}/t`"
    put(place, *range(5))
    by_place, by_name = cached(read(spark, place)), cached(spark.table(table))
    first = cached(read(spark, place, versionAsOf="0"))
    total = cached(by_place.groupBy().sum("v"))
    within = cached(spark.sql(f"SELECT id FROM range(100) WHERE id IN (SELECT v FROM {table})"))
    spark.sql(f"CACHE TABLE named AS SELECT * FROM {table}")
    seen: list[list[int]] = []

    def see() -> list[int]:
        frames = (by_place, by_name, spark.table("named"), read(spark, place), spark.table(table))
        found = {frame.count() for frame in frames}
        seen.append([len(found), found.pop(), total.select("*").collect()[0][0], within.count(), first.count()])
        return seen[-1]

    assert see() == [1, 5, 10, 5, 5]
    spark.sql(f"INSERT INTO {table} VALUES (5, 5)")
    assert see() == [1, 6, 15, 6, 5]
    # An upsert has another option, and no name.
    changes = spark.range(5, 8).selectExpr("id", "id + 1 AS v")
    changes.write.format("lakerace").mode("append").option("key", "id").save(str(place))
    assert see() == [1, 8, 31, 8, 5]
    spark.sql(f"DELETE FROM {table} WHERE id = 0")
    assert see() == [1, 7, 31, 7, 5]
    spark.sql(f"UPDATE {table} SET v = 50 WHERE id = 1")
    assert see() == [1, 7, 80, 7, 5]
    spark.sql(f"MERGE INTO {table} t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert see() == [1, 6, 78, 6, 5]
    spark.range(1).selectExpr("id", "id AS v").write.format("lakerace").mode("overwrite").save(str(place))
    assert see() == [1, 1, 0, 1, 5]
    spark.catalog.clearCache()


def test_cached_frames_of_files(spark: SparkSession, tmp_path: Path) -> None:
    place = f"{tmp_path}/files/"
    rows = spark.range(5).write.format("lakerace").option("format", "parquet")
    rows.mode("append").save(place)
    frame = cached(read(spark, Path(place)))
    rows.mode("append").save(place)
    assert frame.count() == read(spark, Path(place)).count() == 10
    rows.mode("overwrite").save(place)
    assert frame.count() == read(spark, Path(place)).count() == 5
    spark.catalog.clearCache()


def test_cache_table_is_used_and_refreshed(spark: SparkSession, tmp_path: Path) -> None:
    place, table = tmp_path / "t", f"lake.`{tmp_path}/t`"
    put(place, *range(5))
    spark.sql(f"CACHE TABLE {table}")
    assert spark.catalog.isCached(table)
    assert "InMemoryRelation" in plan(spark.table(table).selectExpr("sum(id)"))
    put(place, 5)
    # A read by location is a new one.
    assert read(spark, place).count() == 6
    spark.sql(f"REFRESH TABLE {table}")
    assert spark.table(table).count() == 6
    spark.sql(f"INSERT INTO {table} VALUES (6, 6)")
    assert "InMemoryRelation" in plan(spark.table(table).selectExpr("sum(id)"))
    assert spark.table(table).count() == 7
    spark.sql(f"UNCACHE TABLE {table}")
    assert not spark.catalog.isCached(table)


def test_a_frame_sees_the_writes_of_its_session_alone(spark: SparkSession, tmp_path: Path) -> None:
    place, table = tmp_path / "t", f"lake.`{tmp_path}/t`"
    put(place, 0)
    frame, other = spark.table(table), spark.table(table)
    put(place, 1)
    assert frame.count() == 1
    assert frame.exceptAll(spark.table(table).where("id < 5")).count() == 0
    assert spark.table(table).exceptAll(other.where("id < 5")).count() == 1
    for number in (2, 3):
        spark.sql(f"INSERT INTO {table} VALUES ({number}, {number})")
        assert frame.count() == other.count() == number + 1
