"""Statements that change a table as a whole: its columns, its properties, its partitions, and whether it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import lakerace as lr

#: Rows of a table (id, p, text) that is partitioned by p.
ROWS = [(n, n % 3, f"row {n}") for n in range(12)]


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The name of a table `t` in a catalog whose warehouse is `tmp_path`."""
    spark.conf.set("spark.sql.catalog.shop", "lakerace.spark.LakeraceCatalog")
    spark.conf.set("spark.sql.catalog.shop.warehouse", str(tmp_path))
    spark.sql(
        "CREATE TABLE shop.t (id BIGINT, p INT, text STRING) PARTITIONED BY (p) TBLPROPERTIES ('owner.team' = 'a')"
    )
    spark.createDataFrame(ROWS, "id bigint, p int, text string").writeTo("shop.t").append()
    yield "shop.t"
    # A catalog keeps the settings that it was made with.
    spark._jsparkSession.sessionState().catalogManager().reset()
    for setting in ("spark.sql.catalog.shop.warehouse", "spark.sql.catalog.shop"):
        spark.conf.unset(setting)


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def last_entry(folder: Path) -> dict[str, Any]:
    """What the last entry of a log says of its commit."""
    text = max((folder / "_delta_log").glob("*.json")).read_text()
    return next(json.loads(line)["commitInfo"] for line in text.splitlines() if "commitInfo" in line)


def refused(spark: SparkSession, statement: str, told: str) -> None:
    with pytest.raises(Exception, match=told):
        spark.sql(statement)


def others(*partitions: int) -> list[tuple[Any, ...]]:
    """The rows of the other partitions."""
    return [row for row in ROWS if row[1] not in partitions]


def test_truncate(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    before = spark.table(shop)
    spark.sql(f"TRUNCATE TABLE {shop}")
    assert (rows(spark, shop), before.count()) == ([], 0)
    assert last_entry(tmp_path / "t")["operation"] == "DELETE"
    assert len(spark.sql(f"SELECT * FROM {shop} VERSION AS OF 1").collect()) == len(ROWS)


def test_drop(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    inner = tmp_path / "t" / "inner"
    lr.copy(lr.scan(str(tmp_path / "t")), f"delta:{inner}")
    refused(spark, f"DROP TABLE {shop}", "another table in it")
    assert len(rows(spark, shop)) == len(ROWS)
    inner.rename(tmp_path / "other")
    spark.sql(f"DROP TABLE {shop}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other"]
    refused(spark, f"SELECT * FROM {shop}", "TABLE_OR_VIEW_NOT_FOUND")
    refused(spark, f"DROP TABLE {shop}", "TABLE_OR_VIEW_NOT_FOUND")
    spark.sql(f"DROP TABLE IF EXISTS {shop}")
    refused(spark, f"DROP TABLE lake.`{tmp_path}/other`", "remove the folder")
    spark.sql(f"CREATE TABLE {shop} (other STRING)")
    spark.sql(f"INSERT INTO {shop} VALUES ('a')")
    assert rows(spark, shop) == [("a",)]


def test_add_columns(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    before = spark.table(shop)
    spark.sql(
        f"ALTER TABLE {shop} ADD COLUMNS (price DECIMAL(10, 2) COMMENT 'in euro', tags ARRAY<STRING>, code VARCHAR(3))"
    )
    assert last_entry(tmp_path / "t")["operation"] == "ADD COLUMNS"
    assert rows(spark, shop) == [(*row, None, None, None) for row in ROWS]
    assert before.count() == len(ROWS)
    spark.sql(f"INSERT INTO {shop} VALUES (100, 1, 'new', 1.5, array('a'), 'abc')")
    assert spark.sql(f"SELECT price, tags, code FROM {shop} WHERE id = 100").collect()[0][:] == (1.5, ["a"], "abc")
    comments = {row.col_name: row.comment for row in spark.sql(f"DESCRIBE TABLE {shop}").collect()}
    assert comments["price"] == "in euro"
    with pytest.raises(Exception, match=r"EXCEED_LIMIT_LENGTH|length"):
        spark.sql(f"INSERT INTO {shop} VALUES (101, 1, 'new', 1.5, array('a'), 'abcd')").collect()
    refused(spark, f"ALTER TABLE {shop} ADD COLUMN (price INT)", "already exists|ALREADY_EXISTS")
    refused(spark, f"ALTER TABLE {shop} ADD COLUMN (z INT NOT NULL)", "leave NOT NULL out")
    refused(spark, f"ALTER TABLE {shop} ADD COLUMN (z INT FIRST)", "leave FIRST or AFTER out")
    refused(spark, f"ALTER TABLE {shop} DROP COLUMN text", "DeleteColumn")
    refused(spark, f"ALTER TABLE {shop} RENAME COLUMN text TO words", "RenameColumn")
    refused(spark, f"ALTER TABLE {shop} ALTER COLUMN p TYPE BIGINT", "--evolve widen")


def test_properties_and_comments(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    spark.sql(f"ALTER TABLE {shop} SET TBLPROPERTIES ('owner.team' = 'b', 'delta.appendOnly' = 'true')")
    assert last_entry(tmp_path / "t")["operation"] == "SET TBLPROPERTIES"
    refused(spark, f"DELETE FROM {shop} WHERE id = 1", "appendOnly")
    spark.sql(f"ALTER TABLE {shop} UNSET TBLPROPERTIES ('delta.appendOnly')")
    # What is not there need not go.
    spark.sql(f"ALTER TABLE {shop} UNSET TBLPROPERTIES IF EXISTS ('delta.appendOnly', 'nothing')")
    spark.sql(f"COMMENT ON TABLE {shop} IS 'all rows'")
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {shop}").collect()}
    assert (properties["owner.team"], properties.get("delta.appendOnly")) == ("b", None)
    described = {row.col_name: row.data_type for row in spark.sql(f"DESCRIBE TABLE EXTENDED {shop}").collect()}
    assert described["Comment"] == "all rows"
    spark.sql(f"ALTER TABLE {shop} ALTER COLUMN text COMMENT 'words'")
    assert last_entry(tmp_path / "t")["operation"] == "CHANGE COLUMN"
    assert {row.col_name: row.comment for row in spark.sql(f"DESCRIBE TABLE {shop}").collect()}["text"] == "words"
    assert rows(spark, shop) == ROWS
    refused(spark, f"ALTER TABLE {shop} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", "can't be changed")


def test_an_overwrite_by_a_condition_without_columns(spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    rows_of = [(1, "a"), (2, "b")]
    frame = spark.createDataFrame(rows_of, "id bigint, text string")
    frame.write.format("lakerace").mode("append").save(f"delta:{place}")
    for condition, expected in (("1 = 1", rows_of), ("1 = 2", rows_of)):
        writer = frame.write.format("lakerace").mode("overwrite").option("replaceWhere", condition)
        if condition == "1 = 2":
            with pytest.raises(Exception, match="not among the rows that are replaced"):
                writer.save(place)
        else:
            writer.save(place)
        assert sorted(map(tuple, spark.read.format("lakerace").load(place).collect())) == expected


def test_overwrites_of_partitions(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    spark.sql(f"INSERT OVERWRITE {shop} PARTITION (p = 1) SELECT 50, 'one'")
    assert rows(spark, shop) == sorted([*others(1), (50, 1, "one")])
    assert last_entry(tmp_path / "t")["operationParameters"]["mode"] == "Overwrite"
    frame = spark.createDataFrame([(60, 2, "two"), (61, 3, "three")], "id bigint, p int, text string")
    frame.writeTo(shop).overwrite(f.col("p") >= 2)
    assert rows(spark, shop) == sorted([*others(1, 2), (50, 1, "one"), (60, 2, "two"), (61, 3, "three")])
    writer = frame.where("p = 3").write.format("lakerace").mode("overwrite").option("replaceWhere", "p >= 1")
    writer.save(str(tmp_path / "t"))
    assert rows(spark, shop) == sorted([*others(1, 2), (61, 3, "three")])
    files = len(list((tmp_path / "t").glob("p=*/*.parquet")))
    # Rows of another partition, and conditions on other columns, replace nothing and leave no file.
    with pytest.raises(Exception, match="p=3 is not among the rows that are replaced"):
        frame.where("p = 3").writeTo(shop).overwrite(f.col("p") == 2)
    with pytest.raises(Exception, match=r"partition columns \(p\)"):
        frame.writeTo(shop).overwrite(f.col("id") == 2)
    with pytest.raises(Exception, match="leave one of them out"):
        frame.writeTo(shop).option("replaceWhere", "p = 2").overwrite(f.col("p") == 2)
    with pytest.raises(Exception, match=r"partition columns \(p\)"):
        frame.write.format("lakerace").mode("overwrite").option("replaceWhere", "id = 2").save(str(tmp_path / "t"))
    with pytest.raises(Exception, match="not by"):
        frame.writeTo(shop).overwrite(f.expr("text LIKE 'row%' AND p = 2"))
    with pytest.raises(Exception, match=r'use mode\("overwrite"\)'):
        frame.write.format("lakerace").mode("append").option("replaceWhere", "p = 2").save(str(tmp_path / "t"))
    assert rows(spark, shop) == sorted([*others(1, 2), (61, 3, "three")])
    assert len(list((tmp_path / "t").glob("p=*/*.parquet"))) == files
    # Nothing in place of a partition, and of the one without a value.
    frame.limit(0).writeTo(shop).overwrite(f.col("p") == 3)
    spark.sql(f"INSERT INTO {shop} VALUES (70, NULL, 'none')")
    frame.limit(0).writeTo(shop).overwrite(f.col("p").isNull())
    assert rows(spark, shop) == sorted(others(1, 2))
