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
    lr.copy(lr.scan(str(tmp_path / "t")), f"delta:{tmp_path / 'other'}")
    (tmp_path / "other").rename(inner)
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
    refused(spark, f"ALTER TABLE {shop} ADD COLUMN (z INT NOT NULL)", "omit NOT NULL")
    refused(spark, f"ALTER TABLE {shop} ADD COLUMN (z INT FIRST)", "omit FIRST or AFTER")
    refused(spark, f"ALTER TABLE {shop} DROP COLUMN text", "columnMapping.mode=name")
    refused(spark, f"ALTER TABLE {shop} RENAME COLUMN text TO words", "columnMapping.mode=name")
    refused(
        spark, f"ALTER TABLE {shop} ALTER COLUMN p TYPE BIGINT", "widening a column of the table's key or partitions"
    )
    refused(spark, f"ALTER TABLE {shop} ALTER COLUMN id FIRST", "has no command")


def test_columns_by_their_names(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    """In a table whose files have names of their own, columns are renamed and dropped."""
    spark.sql(
        "CREATE TABLE shop.named (id BIGINT, p INT, text STRING, n INT) PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
    )
    name, folder = "shop.named", tmp_path / "named"
    spark.sql(f"INSERT INTO {name} VALUES (1, 0, 'a', 10), (2, 1, 'b', 20)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN text TO words")
    assert last_entry(folder)["operation"] == "RENAME COLUMN"
    assert spark.sql(f"SELECT words FROM {name} WHERE id = 2").collect()[0][0] == "b"
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE BIGINT")
    spark.sql(f"INSERT INTO {name} VALUES (3, 1, 'c', {1 << 40})")
    assert rows(spark, name) == [(1, 0, "a", 10), (2, 1, "b", 20), (3, 1, "c", 1 << 40)]
    spark.sql(f"ALTER TABLE {name} DROP COLUMN words")
    assert last_entry(folder)["operation"] == "DROP COLUMNS"
    # A column of that name is a new one.
    spark.sql(f"ALTER TABLE {name} ADD COLUMN (words STRING)")
    assert rows(spark, name) == [(1, 0, 10, None), (2, 1, 20, None), (3, 1, 1 << 40, None)]
    refused(spark, f"ALTER TABLE {name} DROP COLUMN p", "partitioned by the column")
    refused(spark, f"ALTER TABLE {name} RENAME COLUMN id TO N", "already exists|ALREADY_EXISTS|has a column")
    refused(spark, f"ALTER TABLE {name} ALTER COLUMN n TYPE INT", "does not become|CANNOT_UPDATE|NOT_SUPPORTED_CHANGE")
    refused(spark, f"ALTER TABLE {name} DROP COLUMN missing", "(?i)missing")
    assert [row[0] for row in spark.sql(f"SELECT n FROM {name} WHERE n > 15 ORDER BY n").collect()] == [20, 1 << 40]


def test_replaced_tables(spark: SparkSession, shop: str, tmp_path: Path) -> None:
    before = len(list((tmp_path / "t" / "_delta_log").glob("*.json")))
    # Its own rows are read before they go.
    spark.sql(
        f"CREATE OR REPLACE TABLE {shop} PARTITIONED BY (p) AS SELECT id, p, upper(text) AS text FROM {shop} WHERE p = 1"
    )
    assert rows(spark, shop) == [(n, p, text.upper()) for n, p, text in ROWS if p == 1]
    assert len(list((tmp_path / "t" / "_delta_log").glob("*.json"))) == before + 1
    frame = spark.createDataFrame([(7, 1, "seven")], "id bigint, p int, text string")
    frame.write.format("lakerace").partitionBy("p").mode("overwrite").saveAsTable(shop)
    assert rows(spark, shop) == [(7, 1, "seven")]
    frame.write.format("lakerace").mode("append").saveAsTable(shop)
    assert rows(spark, shop) == [(7, 1, "seven")] * 2
    with pytest.raises(Exception, match=r"already exists|ALREADY_EXISTS"):
        frame.write.format("lakerace").saveAsTable(shop)
    frame.write.format("lakerace").mode("ignore").saveAsTable(shop)
    frame.write.format("lakerace").mode("overwrite").saveAsTable("shop.made")
    assert rows(spark, "shop.made") == [(7, 1, "seven")]
    # What fails leaves the rows as they are.
    failing = f"REPLACE TABLE {shop} PARTITIONED BY (p) AS SELECT id, p, CAST(raise_error('no') AS STRING) AS text FROM {shop}"
    refused(spark, failing, "no")
    assert rows(spark, shop) == [(7, 1, "seven")] * 2
    spark.sql(f"REPLACE TABLE {shop} (id BIGINT, p INT, text STRING) PARTITIONED BY (p)")
    assert rows(spark, shop) == []
    refused(spark, "REPLACE TABLE shop.nothing (id BIGINT)", "(?i)not.?found|cannot be found")
    spark.sql("CREATE OR REPLACE TABLE shop.nothing (id BIGINT)")
    assert rows(spark, "shop.nothing") == []


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
            with pytest.raises(Exception, match="not among the rows to replace"):
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
    with pytest.raises(Exception, match="p=3 is not among the rows to replace"):
        frame.where("p = 3").writeTo(shop).overwrite(f.col("p") == 2)
    with pytest.raises(Exception, match=r"partition columns \(p\)"):
        frame.writeTo(shop).overwrite(f.col("id") == 2)
    with pytest.raises(Exception, match="omit one of them"):
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
