"""Writes whose rows have other columns than their table, and tables that are replaced by others: in one commit, with the history before it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import until
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lakerace as lr

MERGE = {"mergeSchema": "true"}
OVERWRITE = {"overwriteSchema": "true"}
ROWS = [(1, 1, "a"), (2, 2, "b")]


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Path:
    """The folder of a table (id, p, text) that is partitioned by p, with two rows."""
    folder = tmp_path / "t"
    make(spark, folder)
    return folder


def make(spark: SparkSession, folder: Path, properties: str = "'owner.team' = 'a'") -> None:
    spark.sql(
        f"CREATE TABLE lake.`{folder}` (id BIGINT COMMENT 'the key', p INT, text STRING) PARTITIONED BY (p) TBLPROPERTIES ({properties})"
    )
    spark.createDataFrame(ROWS, "id bigint, p int, text string").writeTo(f"lake.`{folder}`").append()


def rows(spark: SparkSession, folder: Path, at: int | None = None) -> list[tuple[Any, ...]]:
    version = "" if at is None else f" VERSION AS OF {at}"
    return sorted(map(tuple, spark.sql(f"SELECT * FROM lake.`{folder}`{version}").collect()), key=str)


def columns(spark: SparkSession, folder: Path) -> str:
    return spark.table(f"lake.`{folder}`").schema.simpleString()


def entries(folder: Path) -> list[list[dict[str, Any]]]:
    """The actions of each version."""
    logs = sorted((folder / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]


def action(folder: Path, name: str) -> dict[str, Any]:
    """An action of the last version."""
    return next(action[name] for action in entries(folder)[-1] if name in action)


def merged(frame: DataFrame, folder: Path, **options: str) -> None:
    frame.write.format("lakerace").mode("append").options(**MERGE, **options).save(str(folder))


def test_columns_are_added_with_their_rows(spark: SparkSession, place: Path) -> None:
    name = f"lake.`{place}`"
    frame = spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1.5D AS v")
    with pytest.raises(Exception, match=r'no column "v".*mergeSchema'):
        frame.write.format("lakerace").mode("append").save(str(place))
    with pytest.raises(Exception, match=r'no column "v".*mergeSchema'):
        frame.writeTo(name).append()
    before = len(entries(place))
    merged(frame, place)
    assert len(entries(place)) == before + 1
    assert {name for action in entries(place)[-1] for name in action} == {"commitInfo", "metaData", "add"}
    added = json.loads(action(place, "metaData")["schemaString"])["fields"][-1]
    assert added == {"name": "v", "type": "double", "nullable": True, "metadata": {}}
    # By the name of the table, by position, and with fewer columns than the table.
    spark.sql("SELECT 4L AS id, 1 AS p, 'd' AS text, 2.5D AS v, array(1) AS l").write.format("lakerace").mode(
        "append"
    ).partitionBy("p").options(**MERGE).saveAsTable(name)
    spark.sql("SELECT 5L AS ID, 2 AS p, named_struct('a', 1) AS s").writeTo(name).options(**MERGE).append()
    spark.sql("SELECT 6L, 1, 'f', 3.5D, array(2), named_struct('a', 2, 'b', 'x')").write.options(**MERGE).insertInto(
        name
    )
    expected: list[tuple[Any, ...]] = [
        (1, 1, "a", None, None, None),
        (2, 2, "b", None, None, None),
        (3, 1, "c", 1.5, None, None),
        (4, 1, "d", 2.5, [1], None),
        (5, 2, None, None, None, (1, None)),
        (6, 1, "f", 3.5, [2], (2, "x")),
    ]
    assert rows(spark, place) == expected
    assert len(entries(place)) == before + 4
    assert rows(spark, place, 1) == ROWS
    # Others read it.
    table = lr.scan(str(place)).to_arrow()
    assert (table.num_rows, table.column_names) == (6, ["id", "p", "text", "v", "l", "s"])
    comments = {row.col_name: row.comment for row in spark.sql(f"DESCRIBE TABLE {name}").collect()}
    assert comments["id"] == "the key"
    # Without new columns, the log gets no metadata.
    merged(frame, place)
    assert not any("metaData" in action for action in entries(place)[-1])
    # Rows need not be there.
    merged(spark.sql("SELECT 1L AS id, 1 AS p, 1 AS last WHERE false"), place)
    assert columns(spark, place).endswith("last:int>")


def test_types_stay(spark: SparkSession, place: Path, tmp_path: Path) -> None:
    for query, told in (
        ("SELECT 'x' AS id, 1 AS p", '"id" is BIGINT in the table, and STRING in the rows'),
        ("SELECT 1L AS id, DATE'2026-01-01' AS p", '"p" is INT in the table, and DATE'),
        (
            "SELECT 1L AS id, 5000000000L AS p",
            "(?s)enableTypeWidening.*|widening a column of the table's key or partitions",
        ),
        ("SELECT 1L AS id, 1 AS p, void AS n FROM (SELECT null AS void)", "void"),
        ("SELECT 1L AS id, 1 AS p, 1 AS N, 2 AS n", "differ only in case"),
    ):
        with pytest.raises(Exception, match=told):
            merged(spark.sql(query), place)
    assert rows(spark, place) == ROWS
    wide = tmp_path / "wide"
    make(spark, wide, "'delta.enableTypeWidening' = 'true'")
    spark.sql(f"ALTER TABLE lake.`{wide}` ADD COLUMNS (n INT)")
    merged(spark.sql(f"SELECT 3L AS id, 1 AS p, {1 << 40}L AS n, 'x' AS more"), wide)
    assert rows(spark, wide)[-1] == (3, 1, None, 1 << 40, "x")
    assert "n:bigint" in columns(spark, wide)


def test_names_in_other_cases(spark: SparkSession, own_session: SparkSession, place: Path) -> None:
    merged(spark.sql("SELECT 3L AS ID, 1 AS P, 'c' AS Text, 1 AS New"), place)
    merged(spark.sql("SELECT 4L AS id, 1 AS p, 'd' AS text, 2 AS NEW"), place)
    assert columns(spark, place) == "struct<id:bigint,p:int,text:string,New:int>"
    assert [row[-1] for row in rows(spark, place)] == [None, None, 1, 2]
    own_session.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(Exception, match="differ only in case"):
        merged(own_session.sql("SELECT 5L AS id, 1 AS p, 'e' AS text, 3 AS new"), place)


def test_merging_overwrites(spark: SparkSession, place: Path) -> None:
    frame = spark.sql("SELECT 3L AS id, 2 AS p, 'c' AS text, 1 AS n")
    writer = frame.write.format("lakerace").mode("overwrite")
    writer.options(**MERGE, partitionOverwriteMode="dynamic").save(str(place))
    assert rows(spark, place) == [(1, 1, "a", None), (3, 2, "c", 1)]
    frame.selectExpr("*", "2 AS m").write.format("lakerace").mode("overwrite").options(
        **MERGE, replaceWhere="p = 2"
    ).save(str(place))
    assert rows(spark, place) == [(1, 1, "a", None, None), (3, 2, "c", 1, 2)]
    spark.sql("SELECT 4L AS id, 1 AS p, 'x' AS k").writeTo(f"lake.`{place}`").options(**MERGE).overwritePartitions()
    assert rows(spark, place) == [(3, 2, "c", 1, 2, None), (4, 1, None, None, None, "x")]
    frame.selectExpr("*", "true AS b").write.format("lakerace").mode("overwrite").options(**MERGE).save(str(place))
    assert rows(spark, place) == [(3, 2, "c", 1, None, None, True)]


def test_an_upsert_adds_columns(spark: SparkSession, place: Path) -> None:
    frame = spark.sql("SELECT * FROM VALUES (2L, 2, 'B', 20), (3L, 1, 'c', 30) AS v(id, p, text, n)")
    with pytest.raises(Exception, match=r'no column "n".*mergeSchema'):
        frame.write.format("lakerace").mode("append").option("key", "id").save(str(place))
    before = len(entries(place))
    merged(frame, place, key="id")
    assert rows(spark, place) == [(1, 1, "a", None), (2, 2, "B", 20), (3, 1, "c", 30)]
    assert len(entries(place)) == before + 1


def test_a_schema_is_overwritten(spark: SparkSession, place: Path) -> None:
    name = f"lake.`{place}`"
    other = spark.sql("SELECT 'k' AS k, 2.5D AS v")
    with pytest.raises(Exception, match="overwriteSchema"):
        other.write.format("lakerace").mode("overwrite").save(str(place))
    with pytest.raises(Exception, match="overwriteSchema"):
        other.write.format("lakerace").mode("overwrite").saveAsTable(name)
    with pytest.raises(Exception, match="overwriteSchema"):
        spark.sql("SELECT 1L AS id, 1 AS p, 'x' AS text, 1 AS n").write.format("lakerace").mode("overwrite").save(
            str(place)
        )
    assert rows(spark, place) == ROWS
    before = len(entries(place))
    other.write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(str(place))
    assert rows(spark, place) == [("k", 2.5)]
    assert columns(spark, place) == "struct<k:string,v:double>"
    assert (len(entries(place)), action(place, "metaData")["partitionColumns"]) == (before + 1, [])
    assert action(place, "metaData")["configuration"]["owner.team"] == "a"
    assert rows(spark, place, 1) == ROWS
    # A schema and partitions, by the names of the table.
    frame = spark.sql("SELECT * FROM VALUES (1, 'x'), (2, 'y') AS v(n, part)")
    frame.write.format("lakerace").mode("overwrite").partitionBy("part").options(**OVERWRITE).saveAsTable(name)
    assert (rows(spark, place), action(place, "metaData")["partitionColumns"]) == ([(1, "x"), (2, "y")], ["part"])
    frame.selectExpr("n * 2 AS m", "part").writeTo(name).options(**OVERWRITE).overwrite(f.lit(True))
    assert (rows(spark, place), action(place, "metaData")["partitionColumns"]) == ([(2, "x"), (4, "y")], [])
    assert {row[1] for row in lr.scan(str(place)).to_arrow().to_pylist()[0].items()} <= {2, 4, "x", "y"}
    for mode, options, told in (
        ("append", {}, r'use mode\("overwrite"\)|has no column|no column'),
        ("overwrite", {"replaceWhere": "m = 1"}, "replaces all rows"),
        ("overwrite", {"partitionOverwriteMode": "dynamic"}, "replaces all rows"),
        ("overwrite", MERGE, "omit one of them"),
    ):
        with pytest.raises(Exception, match=told):
            other.write.format("lakerace").mode(mode).options(**OVERWRITE, **options).save(str(place))
    with pytest.raises(Exception, match="give true or false"):
        other.write.format("lakerace").mode("overwrite").option("overwriteSchema", "yes").save(str(place))
    with pytest.raises(Exception, match="for writes"):
        spark.read.format("lakerace").options(**MERGE).load(str(place)).collect()


def test_tables_are_replaced(spark: SparkSession, place: Path) -> None:
    name = f"lake.`{place}`"
    before = spark.table(name)
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} (k STRING NOT NULL COMMENT 'a key', code CHAR(3)) TBLPROPERTIES ('a.b' = 'c')"
    )
    assert action(place, "commitInfo")["operation"] == "CREATE OR REPLACE TABLE"
    assert (rows(spark, place), len(entries(place))) == ([], 3)
    properties = action(place, "metaData")["configuration"]
    assert (properties.get("a.b"), properties.get("owner.team")) == ("c", None)
    spark.sql(f"INSERT INTO {name} VALUES ('k', 'x')")
    assert rows(spark, place) == [("k", "x  ")]
    with pytest.raises(Exception, match=r"(?i)null"):
        spark.sql(f"INSERT INTO {name} VALUES (NULL, 'x')")
    with pytest.raises(Exception, match="make it again"):
        before.collect()
    # Its own rows are read before they go.
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} PARTITIONED BY (part) AS SELECT 1 AS n, concat(k, '!') AS part FROM {name}"
    )
    assert action(place, "commitInfo")["operation"] == "CREATE OR REPLACE TABLE AS SELECT"
    assert rows(spark, place) == [(1, "k!")]
    assert action(place, "metaData")["partitionColumns"] == ["part"]
    spark.sql(f"REPLACE TABLE {name} AS SELECT DATE'2026-01-01' AS day, TIMESTAMP_NTZ'2026-01-01 10:00:00' AS at")
    assert action(place, "commitInfo")["operation"] == "REPLACE TABLE AS SELECT"
    assert "timestampNtz" in action(place, "protocol")["writerFeatures"]
    frame = spark.sql("SELECT 7 AS seven")
    frame.writeTo(name).createOrReplace()
    assert rows(spark, place) == [(7,)]
    failing = f"REPLACE TABLE {name} AS SELECT 1 AS other, CAST(raise_error('no') AS STRING) AS text"
    with pytest.raises(Exception, match="no"):
        spark.sql(failing)
    assert rows(spark, place) == [(7,)]
    # The history stays.
    assert [rows(spark, place, at) for at in (1, 3, 4)] == [ROWS, [("k", "x  ")], [(1, "k!")]]
    assert len({action["metaData"]["id"] for entry in entries(place) for action in entry if "metaData" in action}) == 1


def test_cached_frames(spark: SparkSession, place: Path) -> None:
    name = f"lake.`{place}`"
    frame = spark.table(name).cache()
    try:
        assert frame.count() == len(ROWS)
        merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS n"), place)
        assert (frame.count(), spark.table(name).count()) == (3, 3)
        assert spark.table(name).columns == ["id", "p", "text", "n"]
        spark.sql("SELECT 'k' AS k").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(str(place))
        assert rows(spark, place) == [("k",)]
        with pytest.raises(Exception, match="make it again"):
            frame.collect()
    finally:
        frame.unpersist()


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_with_stored_names(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "mapped"
    make(spark, folder, f"'delta.columnMapping.mode' = '{mode}'")
    merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS `a b`, named_struct('x y', 1) AS s"), folder)
    assert rows(spark, folder)[-1] == (3, 1, "c", 1, (1,))
    fields = json.loads(action(folder, "metaData")["schemaString"])["fields"]
    highest = int(action(folder, "metaData")["configuration"]["delta.columnMapping.maxColumnId"])
    ids = [field["metadata"]["delta.columnMapping.id"] for field in fields]
    assert (ids, highest) == ([1, 2, 3, 4, 5], 6)
    spark.sql("SELECT 1 AS `a b`, 'z' AS z").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(
        str(folder)
    )
    assert rows(spark, folder) == [(1, "z")]
    after = json.loads(action(folder, "metaData")["schemaString"])["fields"]
    assert after[0]["metadata"] == fields[3]["metadata"]
    assert after[1]["metadata"]["delta.columnMapping.id"] == 7
    assert lr.scan(str(folder)).to_arrow().to_pylist() == [{"a b": 1, "z": "z"}]
    spark.sql(f"CREATE OR REPLACE TABLE lake.`{folder}` (id BIGINT)")
    spark.sql(f"INSERT INTO lake.`{folder}` VALUES (9)")
    assert (rows(spark, folder), rows(spark, folder, 1)) == ([(9,)], ROWS)
    with pytest.raises(Exception, match=r"columnMapping\.mode"):
        spark.sql(
            f"CREATE OR REPLACE TABLE lake.`{folder}` (id BIGINT) TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
        )


def test_constraints_feeds_and_vectors(spark: SparkSession, place: Path, tmp_path: Path) -> None:
    lr.Table(str(place)).alter(constraints={"small": "id < 100"})
    with pytest.raises(Exception, match="small"):
        merged(spark.sql("SELECT 100L AS id, 1 AS p, 'c' AS text, 1 AS n"), place)
    assert columns(spark, place) == "struct<id:bigint,p:int,text:string>"
    with pytest.raises(Exception, match="small"):
        spark.sql("SELECT 1 AS n").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(str(place))
    merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS n"), place)
    # A replaced table has the constraints of its statement: none.
    spark.sql(f"CREATE OR REPLACE TABLE lake.`{place}` AS SELECT 1000L AS id")
    assert rows(spark, place) == [(1000,)]
    feed = tmp_path / "feed"
    make(spark, feed, "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'")
    spark.sql(f"DELETE FROM lake.`{feed}` WHERE id = 1")
    merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS n"), feed)
    with pytest.raises(Exception, match="_change_type"):
        merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS _change_type"), feed)
    spark.sql("SELECT 5L AS id, 'x' AS y").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(
        str(feed)
    )
    assert rows(spark, feed) == [(5, "x")]
    changes = pa.table(lr.Table(str(feed)).changes(3, 3)).to_pylist()
    assert [(row["id"], row["_change_type"]) for row in changes] == [(3, "insert")]
    assert rows(spark, feed, 3) == [(2, 2, "b", None), (3, 1, "c", 1)]
    only = tmp_path / "only"
    make(spark, only, "'delta.appendOnly' = 'true'")
    with pytest.raises(Exception, match="appendOnly"):
        spark.sql("SELECT 5L AS id").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(str(only))
    merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS n"), only)
    key = tmp_path / "key"
    make(spark, key, "'lakerace.primaryKey' = 'id'")
    with pytest.raises(Exception, match=r"lakerace\.primaryKey"):
        spark.sql("SELECT 'x' AS y").write.format("lakerace").mode("overwrite").options(**OVERWRITE).save(str(key))
    not_null = tmp_path / "not_null"
    spark.sql(f"CREATE TABLE lake.`{not_null}` (id BIGINT NOT NULL, n INT)")
    merged(spark.sql("SELECT 3L AS id, 1 AS n, 'c' AS text"), not_null)
    with pytest.raises(Exception, match=r"(?i)null|find data"):
        merged(spark.sql("SELECT 1 AS n, 'c' AS text, 2 AS more"), not_null)
    assert rows(spark, not_null) == [(3, 1, "c")]


@pytest.mark.parametrize("meanwhile", ["1 AS other", "1 AS n", "'x' AS n"])
def test_two_writers_add_columns(spark: SparkSession, place: Path, meanwhile: str) -> None:
    """The second one is refused, and its rows are in no file of the table. Run again, it has the columns of both."""
    frame = spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text")
    late = frame.selectExpr("*", "1 AS late")
    told = error_of_late(place, late, frame.selectExpr("*", meanwhile))
    assert "another writer has changed the table's schema" in told
    assert [row[0] for row in rows(spark, place)] == [1, 2, 3]
    merged(late, place)
    assert columns(spark, place).endswith(
        f"{meanwhile.rsplit(maxsplit=1)[-1]}:{'string' if 'x' in meanwhile else 'int'},late:int>"
    )
    assert [row[0] for row in rows(spark, place)] == [1, 2, 3, 3]


def test_a_writer_of_the_old_columns(spark: SparkSession, place: Path) -> None:
    frame = spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text")
    told = error_of_late(place, frame, frame.selectExpr("*", "1 AS n"))
    assert "another writer has changed the table's schema" in told
    # Rows alone are no conflict.
    assert error_of_late(place, frame.selectExpr("*", "2 AS more"), frame) == ""
    assert rows(spark, place)[2:] == [(3, 1, "c", 1, None), (3, 1, "c", None, 2), (3, 1, "c", None, None)]


def error_of_late(place: Path, late: DataFrame, early: DataFrame) -> str:
    """The error of a write that has begun when another one commits; an empty text where both succeed."""
    folder = Path(tempfile.mkdtemp(dir=place.parent))

    def wait(number: int) -> int:
        with (folder / "committed").open() as committed:
            (folder / "begun").touch()
            # The writer that commits holds the lock until then.
            fcntl.flock(committed, fcntl.LOCK_SH)
        return number

    failed: list[str] = []

    def write() -> None:
        try:
            merged(late.withColumn("id", f.udf(wait, "bigint", useArrow=False)("id")), place)
        except Exception as error:
            failed.append(str(error))

    with (folder / "committed").open("w") as committed:
        fcntl.flock(committed, fcntl.LOCK_EX)
        thread = threading.Thread(target=write)
        thread.start()
        until(lambda: failed or (folder / "begun").exists())
        merged(early, place)
    thread.join()
    return "".join(failed)


def test_a_killed_driver(spark: SparkSession, place: Path) -> None:
    """A task has written its file for a new column when the driver dies: nothing is visible, and a vacuum removes the file."""
    before = len(list(place.rglob("*.parquet")))
    program = Path(__file__).with_name("killed_driver.py")
    done = subprocess.run([sys.executable, str(program), str(place), str(place.parent)], check=False)
    assert done.returncode != 0
    assert len(list(place.rglob("*.parquet"))) > before
    assert rows(spark, place) == ROWS
    merged(spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, 2 AS n"), place)
    assert rows(spark, place) == [(1, 1, "a", None), (2, 2, "b", None), (3, 1, "c", 2)]


def test_streams_keep_columns(spark: SparkSession, place: Path, tmp_path: Path) -> None:
    stream = spark.readStream.format("lakerace").load(str(place))
    writer = (
        stream.writeStream.format("lakerace")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .options(**MERGE)
    )
    with pytest.raises(Exception, match="foreachBatch"):
        writer.trigger(availableNow=True).start(str(tmp_path / "copy")).awaitTermination()
    copy = tmp_path / "copies"

    def write(batch: DataFrame, number: int) -> None:
        merged(batch.selectExpr("*", f"{number} AS n"), Path(f"delta:{copy}") if not copy.exists() else copy)

    stream.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "other")).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert rows(spark, copy) == [(*row, 0) for row in ROWS]


def test_merge_with_schema_evolution(spark: SparkSession, place: Path, tmp_path: Path) -> None:
    name = f"lake.`{place}`"
    spark.sql("SELECT * FROM VALUES (2L, 2, 'B', 20), (3L, 1, 'c', 30) AS v(id, p, text, n)").createOrReplaceTempView(
        "evolving"
    )
    clauses = "USING evolving s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    statement = f"MERGE WITH SCHEMA EVOLUTION INTO {name} t {clauses}"
    if spark.version.startswith("3."):
        with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
            spark.sql(statement)
        spark.sql(f"MERGE INTO {name} t {clauses}")
        assert rows(spark, place) == [(1, 1, "a"), (2, 2, "B"), (3, 1, "c")]
        return
    before = len(entries(place))
    spark.sql(statement)
    assert rows(spark, place) == [(1, 1, "a", None), (2, 2, "B", 20), (3, 1, "c", 30)]
    assert (len(entries(place)), action(place, "commitInfo")["operation"]) == (before + 1, "MERGE")
    assert lr.scan(str(place)).count() == 3
    # Nothing is new: the log gets no metadata.
    spark.sql(statement)
    assert not any("metaData" in action for action in entries(place)[-1])
    # EXPLAIN changes nothing.
    before = len(entries(place))
    spark.sql(f"EXPLAIN {statement.replace('evolving s', '(SELECT *, 1 AS m FROM evolving) s')}").collect()
    assert (len(entries(place)), columns(spark, place)) == (before, "struct<id:bigint,p:int,text:string,n:int>")
    feed = tmp_path / "feed"
    make(spark, feed, "'delta.enableChangeDataFeed' = 'true', 'delta.columnMapping.mode' = 'name'")
    spark.sql(statement.replace(str(place), str(feed)))
    assert rows(spark, feed) == [(1, 1, "a", None), (2, 2, "B", 20), (3, 1, "c", 30)]
    with pytest.raises(Exception, match=r"BIGINT in the table|cast the column"):
        spark.sql(statement.replace("evolving s", "(SELECT 'x' AS id, 1 AS p, 'z' AS text) s"))


def test_inserts_with_schema_evolution(spark: SparkSession, place: Path) -> None:
    statement = f"INSERT WITH SCHEMA EVOLUTION INTO lake.`{place}` BY NAME SELECT 3L AS id, 1 AS p, 'c' AS text, 1 AS n"
    if spark.version < "4.2":
        with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
            spark.sql(statement)
        return
    before = len(entries(place))
    spark.sql(statement)
    assert rows(spark, place) == [(1, 1, "a", None), (2, 2, "b", None), (3, 1, "c", 1)]
    assert len(entries(place)) == before + 1


def test_other_readers(spark: SparkSession, tmp_path: Path) -> None:
    """delta-rs and polars read tables whose columns were added and replaced, after deletes, too."""
    tables = [tmp_path / name for name in ("merged", "overwritten", "replaced")]
    for table in tables:
        make(spark, table, "'delta.enableDeletionVectors' = 'false'")
    frame = spark.sql("SELECT 3L AS id, 1 AS p, 'c' AS text, named_struct('a', 1, 'b', 'x') AS s, array(1, 2) AS l")
    merged(frame, tables[0])
    spark.sql(f"DELETE FROM lake.`{tables[0]}` WHERE id = 1")
    frame.write.format("lakerace").mode("overwrite").options(**OVERWRITE).partitionBy("text").save(str(tables[1]))
    spark.sql(f"CREATE OR REPLACE TABLE lake.`{tables[2]}` (k STRING NOT NULL, n INT) PARTITIONED BY (n)")
    spark.sql(f"INSERT INTO lake.`{tables[2]}` VALUES ('x', 1), ('y', NULL)")
    program = Path(__file__).with_name("read_elsewhere.py")
    command = [os.environ["LAKERACE_READERS_PYTHON"], str(program), *map(str, tables)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    expected = [
        sorted(
            json.dumps(row.asDict(recursive=True), sort_keys=True) for row in spark.table(f"lake.`{table}`").collect()
        )
        for table in tables
    ]
    for reader, found in json.loads(done.stdout).items():
        assert found == expected, reader


def test_delta(tmp_path: Path) -> None:
    """delta-spark has the same rows and columns after the same statements."""
    jars = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "ivy"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("schema_delta.py"))],
        input=json.dumps({"ivy": str(jars), "folder": str(tmp_path)}),
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
        text=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"delta-spark: {told['compared']} steps, {told['refused']} refused by both")
    assert not told["differing"], "\n".join(told["differing"])
    assert 0 < told["refused"] < told["compared"] / 2
