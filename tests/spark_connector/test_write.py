"""Writing: what Spark wrote by lakerace, read back by lakerace itself."""

from __future__ import annotations

import datetime
import decimal
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bucket import serving
from conftest import PATIENCE_SECONDS, plan, until
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lakerace as lr

DELTA_TYPES = (
    "b boolean, i8 tinyint, i16 smallint, i32 int, i64 bigint, f float, d double, s string, bin binary, day date, at timestamp, "
    "ntz timestamp_ntz, small decimal(7,2), wide decimal(30,2), l array<int>, m map<string,bigint>, st struct<a:int,b:array<string>>"
)
ROWS: list[tuple[Any, ...]] = [
    (
        True, 1, -2, 3, -4, 0.5, -0.1, "a text that is longer than twelve bytes", b"\0\xff", datetime.date(1500, 1, 1),
        datetime.datetime(1960, 5, 6, 7, 8, 9, 10), datetime.datetime(2020, 5, 6), decimal.Decimal("-12.50"),
        decimal.Decimal("-12345678901234567890.12"), [1, None], {"k": 7, "n": None}, (1, ["x", None]),
    ),
    (None,) * 17,
    (
        False, -128, 32767, -(2**31), 2**63 - 1, float("inf"), 1e300, "", b"", datetime.date(9999, 12, 31),
        datetime.datetime(2020, 1, 1), datetime.datetime(1970, 1, 1), decimal.Decimal("99999.99"),
        decimal.Decimal("0.01"), [], {}, (None, None),
    ),
]  # fmt: skip


def write(frame: DataFrame, path: str | Path, mode: str = "append", **options: object) -> None:
    frame.write.format("lakerace").mode(mode).options(**options).save(str(path))


def numbers(spark: SparkSession, first: int, last: int, parts: int = 3) -> DataFrame:
    return spark.range(first, last, 1, parts).selectExpr("id", "concat('row ', id) AS name")


def total(path: str | Path) -> tuple[int, int]:
    ids = pa.table(lr.scan(path, columns=["id"]))["id"].to_pylist()
    return len(ids), sum(ids)


def test_every_type(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(ROWS, DELTA_TYPES)
    write(frame, f"delta:{tmp_path}/t")
    write(frame.select(*[name for name in frame.columns if name != "m"]), f"{tmp_path}/files/", format="orc")
    back = spark.read.format("lakerace").load(f"{tmp_path}/t")
    assert [field.dataType for field in back.schema] == [field.dataType for field in frame.schema]
    key = repr
    assert sorted(back.collect(), key=key) == sorted(frame.collect(), key=key)
    orc = spark.read.format("lakerace").load(f"{tmp_path}/files").select("s", "wide", "l", "st", "at")
    assert sorted(orc.collect(), key=key) == sorted(frame.select(*orc.columns).collect(), key=key)
    rows = pa.table(lr.scan(f"{tmp_path}/t")).to_pylist()
    assert {row["s"] for row in rows} == {ROWS[0][7], None, ""}
    assert {row["wide"] for row in rows} == {ROWS[0][13], None, decimal.Decimal("0.01")}


def test_append_and_overwrite_a_table(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    with pytest.raises(AnalysisException, match=r"put delta: in front of the folder"):
        write(numbers(spark, 0, 5), table)
    write(numbers(spark, 0, 100), f"delta:{table}")
    write(numbers(spark, 100, 200), table)
    assert total(table) == (200, sum(range(200)))
    write(numbers(spark, 5, 7), table, "overwrite")
    assert total(table) == (2, 11)
    # One version for the table itself, and one commit for each write.
    assert [entry.version for entry in lr.Table(table).history()] == [3, 2, 1, 0]
    assert lr.scan(table, at=2).count() == 200
    with pytest.raises(AnalysisException):
        write(spark.range(3).selectExpr("id", "1 AS other"), table)
    with pytest.raises(AnalysisException):
        write(spark.range(3).selectExpr("'x' AS id", "'y' AS name"), table)
    assert total(table) == (2, 11)


def test_partitions(spark: SparkSession, tmp_path: Path) -> None:
    frame = numbers(spark, 0, 30).selectExpr("*", "id % 3 AS part")
    write(frame, f"delta:{tmp_path}/t", partition_by="part")
    assert {path.name for path in (tmp_path / "t").glob("part=*")} == {"part=0", "part=1", "part=2"}
    found = spark.read.format("lakerace").load(f"{tmp_path}/t").where("part = 1").selectExpr("sum(id)").collect()
    assert found[0][0] == sum(range(1, 30, 3))
    # A table that is there stays divided as it is.
    write(numbers(spark, 0, 3), f"delta:{tmp_path}/plain")
    with pytest.raises(IllegalArgumentException, match="The provided partitioning"):
        numbers(spark, 0, 3).write.format("lakerace").mode("append").partitionBy("name").save(f"{tmp_path}/plain")


def parts(path: str | Path) -> dict[Any, list[int]]:
    """The ids of each partition."""
    found: dict[Any, list[int]] = {}
    for row in pa.table(lr.scan(path)).to_pylist():
        found.setdefault(row["part"], []).append(row["id"])
    return {part: sorted(ids) for part, ids in found.items()}


def test_an_overwrite_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"

    def rows(first: int, last: int, part: str) -> DataFrame:
        return spark.range(first, last).selectExpr("id", f"{part} AS part")

    # A partition of null, too.
    rows(0, 8, "if(id % 4 = 3, null, id % 4)").write.format("lakerace").mode("append").partitionBy("part").save(
        f"delta:{table}"
    )
    assert parts(table) == {0: [0, 4], 1: [1, 5], 2: [2, 6], None: [3, 7]}
    write(rows(100, 102, "1"), table, "overwrite", partitionOverwriteMode="dynamic")
    assert parts(table) == {0: [0, 4], 1: [100, 101], 2: [2, 6], None: [3, 7]}
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        write(rows(200, 202, "if(id = 200, null, 9)"), table, "overwrite")
        assert parts(table) == {0: [0, 4], 1: [100, 101], 2: [2, 6], None: [200], 9: [201]}
        spark.sql(f"INSERT OVERWRITE lake.`{table}` SELECT 300L, 2L")
        assert parts(table)[2] == [300]
        rows(400, 401, "0L").writeTo(f"lake.`{table}`").overwritePartitions()
        expected = {0: [400], 1: [100, 101], 2: [300], None: [200], 9: [201]}
        assert parts(table) == expected
        history = lr.Table(table).history()
        assert history[0].parameters["isDynamicPartitionOverwrite"] == "true"
        # No rows replace no partition, and the option is stronger than the setting.
        write(rows(0, 0, "1L"), table, "overwrite")
        assert parts(table) == expected
        write(rows(7, 8, "1L"), table, "overwrite", partitionOverwriteMode="static")
        assert parts(table) == {1: [7]}
        with pytest.raises(AnalysisException, match="only a Delta table has partitions to overwrite"):
            write(rows(7, 8, "1L"), f"{tmp_path}/files/", "overwrite", format="parquet")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    # A table without partitions is one.
    plain = tmp_path / "plain"
    write(numbers(spark, 0, 5), f"delta:{plain}")
    write(numbers(spark, 7, 9), plain, "overwrite", partitionOverwriteMode="dynamic")
    assert total(plain) == (2, 15)
    with pytest.raises(AnalysisException, match="give static or dynamic"):
        write(numbers(spark, 7, 9), plain, "overwrite", partitionOverwriteMode="perhaps")


def test_partitions_are_the_same_by_value(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    sql = "SELECT {} AS id, timestamp'2020-01-01 00:00:00.5' AS at, {}d AS f, 'a=b/c' AS word"
    columns = "at,f,word"
    write(spark.sql(sql.format(1, "1.50")), f"delta:{table}", partition_by=columns)
    write(spark.sql(sql.format(2, "2.5")), table)
    # The log of another writer may have the same values in another form.
    entry = next(path for path in sorted((table / "_delta_log").glob("*.json")) if '"1.5"' in path.read_text())
    entry.write_text(entry.read_text().replace('"1.5"', '"1.50"'))
    write(spark.sql(sql.format(3, "1.5")), table, "overwrite", partitionOverwriteMode="dynamic")
    assert sorted(pa.table(lr.scan(table))["id"].to_pylist()) == [2, 3]


def test_files(spark: SparkSession, tmp_path: Path) -> None:
    for form in ("parquet", "orc", "csv"):
        folder = f"{tmp_path}/{form}/"
        write(numbers(spark, 0, 10), folder, format=form)
        write(numbers(spark, 10, 20), folder, format=form)
        assert total(folder) == (20, sum(range(20)))
        write(numbers(spark, 3, 4), folder, "overwrite", format=form)
        assert total(folder) == (1, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["csv", "orc", "parquet"]


@pytest.mark.parametrize("late", ["the failing task", "the other task"])
def test_a_failed_write_leaves_nothing(spark: SparkSession, tmp_path: Path, late: str) -> None:
    counters = spark._jvm.lakerace.spark.Counters
    table = tmp_path / "t"
    write(numbers(spark, 0, 10), f"delta:{table}")
    before = sorted(table.rglob("*.parquet"))
    # One task ends long before the other: its files are the driver's to remove, or those of a task whose job is gone.
    waits = "id = 800" if late == "the failing task" else "id = 400"
    slow = f"if({waits}, cast(java_method('java.lang.Thread', 'sleep', 2000L) AS STRING), name) AS name"
    broken = numbers(spark, 0, 1000, parts=2).selectExpr("if(id = 900, raise_error('on purpose'), id) AS id", slow)
    for target, options in ((table, {}), (table, {"key": "id"}), (f"{tmp_path}/files/", {"format": "parquet"})):
        with pytest.raises(Exception, match="on purpose"):
            write(broken, target, **options)
        until(lambda: counters.writers() == 0)
        # Behind its writer, a task at most removes files.
        until(
            lambda: sorted(table.rglob("*.parquet")) == before and [path.name for path in tmp_path.iterdir()] == ["t"]
        )


def test_a_task_that_is_killed_while_it_ends_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    counters = spark._jvm.lakerace.spark.Counters
    mark = tmp_path / "the other task is about to end"
    goes_on = threading.Event()

    def before(verb: str, key: str, identity: str, token: str) -> bool:
        if verb == "PUT" and key.endswith(".parquet"):
            mark.touch()
            assert goes_on.wait(PATIENCE_SECONDS)
        return True

    def fail_at(number: int) -> int:
        if number == 900:
            end = time.monotonic() + PATIENCE_SECONDS
            while not mark.exists() and time.monotonic() < end:
                time.sleep(0.01)
            raise RuntimeError("on purpose")
        return number

    with serving() as bucket:
        store = {
            "storage.aws_endpoint_url": bucket.endpoint,
            "storage.aws_allow_http": "true",
            "storage.aws_access_key_id": "key",
            "storage.aws_secret_access_key": "secret",
        }
        write(numbers(spark, 0, 10), "delta:s3://bucket/t", **store)
        before_it = set(bucket.objects)
        bucket.before = before
        numbered = numbers(spark, 0, 1000, parts=2)
        broken = numbered.select(f.udf(fail_at, "bigint", useArrow=False)("id").alias("id"), "name")
        with pytest.raises(Exception, match="on purpose"):
            write(broken, "s3://bucket/t", **store)
        assert mark.exists()
        # Spark tells a task that it is killed, and does not say when it has.
        time.sleep(2)
        goes_on.set()
        until(lambda: counters.writers() == 0)
        until(lambda: set(bucket.objects) == before_it)


def test_a_transaction_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(numbers(spark, 0, 10), f"delta:{table}", txnAppId="load", txnVersion=1)
    for _ in range(2):
        write(numbers(spark, 10, 20), table, txnAppId="load", txnVersion=2)
    write(numbers(spark, 0, 10), table, txnAppId="load", txnVersion=1)
    assert total(table) == (20, sum(range(20)))
    write(numbers(spark, 20, 21), table, txnAppId="other", txnVersion=0)
    assert total(table)[0] == 21
    files = {path.name for path in table.glob("*.parquet")}
    assert files == {Path(str(url)).name for url in spark_files(spark, table)}
    for options, told in (
        ({"txnAppId": "load"}, "give both txnAppId and txnVersion"),
        ({"txnVersion": 3}, "give both txnAppId and txnVersion"),
    ):
        with pytest.raises(Exception, match=told):
            write(numbers(spark, 0, 1), table, **options)
    # What is wrong with options shows before tasks write files.
    assert {path.name for path in table.glob("*.parquet")} == files


def test_writes_of_no_rows_make_no_version(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    none = numbers(spark, 0, 10).where("id < 0")

    def versions() -> int:
        return len(list((table / "_delta_log").glob("*.json")))

    write(numbers(spark, 0, 10), f"delta:{table}")
    before = versions()
    for frame in (none, numbers(spark, 0, 10).limit(0)):
        write(frame, table)
        write(frame, table, key="id")
    frame = spark.read.format("lakerace").load(str(table))
    frame.createOrReplaceTempView("idle")
    spark.sql("INSERT INTO idle SELECT id, name FROM idle WHERE id > 100")
    assert versions() == before
    # A transaction is told by the log, and an overwrite removes rows.
    write(none, table, txnAppId="load", txnVersion=1)
    assert versions() == before + 1
    write(none, table, txnAppId="load", txnVersion=1)
    assert versions() == before + 1
    none.write.format("lakerace").mode("overwrite").save(str(table))
    assert (versions(), total(table)[0]) == (before + 2, 0)


def spark_files(spark: SparkSession, table: Path) -> set[str]:
    """The files of a table's last version, by its log alone."""
    import json

    live: set[str] = set()
    for entry in sorted((table / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            action = json.loads(line)
            live |= {action["add"]["path"]} if "add" in action else set()
            live -= {action["remove"]["path"]} if "remove" in action else set()
    return live


def test_upsert_by_key(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(numbers(spark, 0, 100), f"delta:{table}", key="id")
    new = spark.range(50, 150, 1, 4).selectExpr("id", "concat('new ', id) AS name")
    write(new, table, key="id")
    rows = {row["id"]: row["name"] for row in pa.table(lr.scan(table)).to_pylist()}
    assert rows == {n: f"{'row' if n < 50 else 'new'} {n}" for n in range(150)}
    assert total(table)[0] == 150
    # Columns that the rows lack keep their values.
    write(spark.createDataFrame([(7,), (500,)], "id bigint"), table, key="id")
    rows = {row["id"]: row["name"] for row in pa.table(lr.scan(table)).to_pylist()}
    assert (rows[7], rows[500], len(rows)) == ("row 7", None, 151)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def plans_of(spark: SparkSession, run: Callable[[], None]) -> list[str]:
    """The plans of the queries that run, as they ended. Spark tells its store of them behind the queries, and keeps a thousand."""
    bus, store = spark._jsc.sc().listenerBus(), spark._jsparkSession.sharedState().statusStore()

    def executions() -> list[Any]:
        bus.waitUntilEmpty()
        found = store.executionsList()
        return [found.apply(at) for at in range(found.size())]

    last = max((execution.executionId() for execution in executions()), default=-1)
    run()
    return [execution.physicalPlanDescription() for execution in executions() if execution.executionId() > last]


def test_an_upsert_moves_its_source_alone(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(numbers(spark, 0, 100), f"delta:{table}", key="id")
    source = spark.range(50, 60, 1, 3).selectExpr("id", "'x' AS name")
    plans = plans_of(spark, lambda: write(source, table, key="id"))
    [shown] = [text for text in plans if "lakerace" in text]
    body = shown.split("== Initial Plan ==")[1].split("\n\n")[0]
    assert body.count("Exchange") == 1, shown
    assert "hashpartitioning(id" in shown
    assert "BatchScan" not in shown
    assert "Range" in shown
    assert plan(source).count("Exchange") == 0


def test_the_tasks_of_an_upsert_do_their_parts(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    for first in range(0, 400, 10):
        ids = pa.array(range(first, first + 10), pa.int64())
        rows = pa.table({"id": ids, "name": [f"row {n}" for n in range(first, first + 10)]})
        lr.copy(
            rows, f"delta:{table}", mode="append", table_properties={"lakerace.primaryKey": "id"} if not first else {}
        )
    new = spark.range(100, 500, 1, 8).selectExpr("id", "concat('new ', id) AS name")
    # A key is in one of forty files: ranges of keys spare each task most of them.
    for distribution, shown in (
        ({}, "rangepartitioning(id"),
        ({"distribution": "hash"}, "hashpartitioning(id"),
        ({"distribution": "hash", "sequence": "name"}, "hashpartitioning(id"),
        ({"distribution": "none"}, "AppendData"),
    ):
        files = set(table.glob("*.parquet"))
        plans = plans_of(spark, partial(write, new, table, key="id", **distribution))
        assert any(shown in text for text in plans), plans
        # Without a sequence the engine sorts.
        assert ("sequence" in distribution) == any(re.search(r"\bSort\b", text) for text in plans), plans
        assert ("none" in distribution.values()) != any("Exchange" in text for text in plans), plans
        # Nothing is staged: files of tasks are the table's.
        assert len(set(table.glob("*.parquet")) - files) > 0
        assert [path.name for path in tmp_path.iterdir()] == ["t"]
        names = {row["id"]: row["name"] for row in pa.table(lr.scan(table)).to_pylist()}
        assert names == {n: f"{'row' if n < 100 else 'new'} {n}" for n in range(500)}
        assert total(table)[0] == 500
    twice = new.union(spark.range(499, 500).selectExpr("id", "'twice' AS name"))
    before = set(table.rglob("*"))
    for rows, options, message in (
        (new, {"distribution": "random"}, "neither none, hash nor ranges"),
        (new, {"distribution": "none", "sequence": "name"}, "leaves rows of a key in several tasks"),
        (twice, {"distribution": "none"}, "499"),
    ):
        with pytest.raises(Exception, match=message):
            write(rows, table, key="id", **options)
        assert set(table.rglob("*")) == before


def test_an_upsert_of_a_table_with_a_feed(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "name": ["old"] * 100})
    lr.copy(rows, f"delta:{table}", table_properties={"delta.enableChangeDataFeed": "true"})
    write(spark.range(50, 150, 1, 4).selectExpr("id", "'new' AS name"), table, key="id")
    assert total(table)[0] == 150
    kinds = pa.table(lr.Table(table).changes(1))["_change_type"].to_pylist()
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "insert": 50,
        "update_preimage": 50,
        "update_postimage": 50,
    }


def test_duplicate_keys(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(numbers(spark, 0, 3), f"delta:{table}", key="id")
    rows = [(1, "old", 1), (1, "new", 3), (1, "middle", 2), (7, "only", 0)]
    frame = spark.createDataFrame(rows, "id bigint, name string, ts int").repartition(3)
    with pytest.raises(Exception, match=r"same key|twice|duplicate"):
        write(frame.drop("ts"), table, key="id")
    assert total(table)[0] == 3
    wide = tmp_path / "wide"
    write(frame.where("ts = 1"), f"delta:{wide}", key="id")
    write(frame, wide, key="id", sequence="ts")
    assert {row["id"]: row["name"] for row in pa.table(lr.scan(wide)).to_pylist()} == {1: "new", 7: "only"}


def test_options_that_make_no_sense(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta:{tmp_path}/t"
    frame = numbers(spark, 0, 3)
    with pytest.raises(AnalysisException, match='names the column "nope"'):
        write(frame, table, key="nope")
    with pytest.raises(AnalysisException, match="there is no key"):
        write(frame, table, sequence="id")
    with pytest.raises(AnalysisException, match=r'use mode\("append"\)'):
        write(frame, table, "overwrite", key="id")
    with pytest.raises(AnalysisException, match="interval"):
        write(spark.sql("SELECT INTERVAL '1' DAY AS i"), table)


def test_what_files_cannot_be_shows_before_tasks_run(spark: SparkSession, tmp_path: Path) -> None:
    broken = numbers(spark, 0, 10).selectExpr("if(id >= 0, raise_error('a task ran'), id) AS id", "name")
    for named, path, options, told in (
        ([], "/new", {"format": "parquet"}, r"a file can't be appended to.*name a folder, with / at the end"),
        ([], "/new.parquet", {}, "a file can't be appended to"),
        (["name"], "/new/", {"format": "parquet"}, r"only a Delta table has partitions.*omit partitionBy\(...\)"),
        ([], "/new/", {"format": "parquet", "partition_by": "name"}, "only a Delta table has partitions"),
        ([], "/new/", {"format": "parquet", "table.delta.appendOnly": "true"}, "partitions and properties"),
    ):
        writer = broken.write.format("lakerace").mode("append").options(**options)
        with pytest.raises(AnalysisException, match=told):
            (writer.partitionBy(*named) if named else writer).save(f"{tmp_path}{path}")
        assert list(tmp_path.iterdir()) == []
    # Without the slash, too, a folder is one.
    write(numbers(spark, 0, 10), f"{tmp_path}/old/", format="parquet")
    write(numbers(spark, 10, 20), f"{tmp_path}/old", format="parquet")
    assert total(f"{tmp_path}/old") == (20, sum(range(20)))
    write(numbers(spark, 0, 3), f"delta:{tmp_path}/t")
    with pytest.raises(AnalysisException, match="omit the options version and timestamp"):
        write(numbers(spark, 0, 3), f"{tmp_path}/t", versionAsOf=0)


@pytest.mark.parametrize("distribution", [None, "hash", "none"])
def test_names_of_columns_in_capitals(spark: SparkSession, tmp_path: Path, distribution: str | None) -> None:
    table = tmp_path / "t"
    options = {"distribution": distribution} if distribution else {}
    write(numbers(spark, 0, 10), f"delta:{table}", key="ID", partition_by="NAME")
    assert {path.name.split("=")[0] for path in table.iterdir() if path.name != "_delta_log"} == {"name"}
    assert lr.schema(table)["properties"]["lakerace.primaryKey"] == "id"
    # The rows may have other capitals than the table.
    upper = numbers(spark, 5, 15, parts=1).selectExpr("id AS Id", "name AS NAME")
    write(upper, table, key="iD", **options)
    assert total(table) == (15, sum(range(15)))
    if distribution != "none":
        write(upper.union(upper), table, key="ID", sequence="Name", **options)
        assert total(table) == (15, sum(range(15)))
    write(upper.drop("name"), table, key="ID", **options)
    with pytest.raises(AnalysisException, match=r"""use the table's key: \.option\("key", "id"\)"""):
        write(numbers(spark, 0, 3), table, key="id,name")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(AnalysisException, match="the key of the upsert is ID, and the table's is id") as refused:
            write(numbers(spark, 0, 3), table, key="ID")
        assert 'spell the key as the table does: .option("key", "id")' in str(refused.value)
        with pytest.raises(AnalysisException, match='names the column "ID", which the rows do not have'):
            write(numbers(spark, 0, 3), f"delta:{tmp_path}/new", key="ID")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
