"""Reading: the same rows as Spark's own readers and pyarrow give."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import plan
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import lakerace as lr

LONG = "a text that is longer than twelve bytes"
FAR = decimal.Decimal("-12345678901234567890.12")

#: A column of each type, with nulls, and what Spark calls the type.
COLUMNS: dict[str, tuple[pa.Array, str]] = {
    "i8": (pa.array([1, None, -128], pa.int8()), "tinyint"),
    "i16": (pa.array([1, None, -32768], pa.int16()), "smallint"),
    "i32": (pa.array([1, None, -(2**31)], pa.int32()), "int"),
    "i64": (pa.array([1, None, -(2**63)], pa.int64()), "bigint"),
    "u8": (pa.array([1, None, 255], pa.uint8()), "smallint"),
    "u16": (pa.array([1, None, 65535], pa.uint16()), "int"),
    "u32": (pa.array([1, None, 2**32 - 1], pa.uint32()), "bigint"),
    "u64": (pa.array([1, None, 2**64 - 1], pa.uint64()), "decimal(20,0)"),
    "f32": (pa.array([0.5, None, float("inf")], pa.float32()), "float"),
    "f64": (pa.array([0.1, None, -0.0], pa.float64()), "double"),
    "b": (pa.array([True, None, False]), "boolean"),
    "s": (pa.array(["", None, LONG]), "string"),
    "view": (pa.array(["short", None, LONG], pa.string_view()), "string"),
    "large": (pa.array(["x", None, LONG], pa.large_string()), "string"),
    "words": (pa.array(["x", None, "x"]).dictionary_encode(), "string"),
    "bin": (pa.array([b"\0\1", None, b""]), "binary"),
    "fixed": (pa.array([b"abcd", None, b"efgh"], pa.binary(4)), "binary"),
    "dec": (pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-9.99")], pa.decimal128(7, 2)), "decimal(7,2)"),
    "wide": (pa.array([decimal.Decimal("1.50"), None, FAR], pa.decimal128(30, 2)), "decimal(30,2)"),
    "day": (pa.array([datetime.date(1500, 1, 1), None, datetime.date(2020, 2, 29)]), "date"),
    "s_ntz": (pa.array([0, None, -1], pa.timestamp("s")), "timestamp_ntz"),
    "us": (pa.array([1, None, -1], pa.timestamp("us")), "timestamp_ntz"),
    "ns": (pa.array([1, None, -1], pa.timestamp("ns")), "timestamp_ntz"),
    "utc": (pa.array([1, None, -(10**15)], pa.timestamp("us", "UTC")), "timestamp"),
    "list": (pa.array([[1, None], None, []], pa.list_(pa.int64())), "array<bigint>"),
    "texts": (pa.array([["a", LONG], None, [None]], pa.list_(pa.string())), "array<string>"),
    "struct": (pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": LONG}]), "struct<a:bigint,b:string>"),
    "map": (
        pa.array([[("k", 1)], None, [("a", None), ("b", 2)]], pa.map_(pa.string(), pa.int32())),
        "map<string,int>",
    ),
    "deep": (pa.array([[{"q": ["a", None]}], None, [{"q": None}, None]]), "array<struct<q:array<string>>>"),
}


def value(item: Any) -> Any:
    """A value of Spark's or pyarrow's, as it compares."""
    if isinstance(item, (bytes, bytearray)):
        return bytes(item)
    if isinstance(item, dict):
        return sorted((value(key), value(part)) for key, part in item.items())
    if isinstance(item, (list, tuple)):
        return [value(part) for part in item]
    return item.replace(tzinfo=None) if isinstance(item, datetime.datetime) else item


def expected(column: pa.Array) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        # Spark has microseconds, and cuts towards the past.
        units = {"s": (1_000_000, 1), "us": (1, 1), "ns": (1, 1000)}[kind.unit]
        start = datetime.datetime(1970, 1, 1)
        micros = [None if n is None else n * units[0] // units[1] for n in column.cast(pa.int64()).to_pylist()]
        return [None if n is None else start + datetime.timedelta(microseconds=n) for n in micros]
    if pa.types.is_map(kind):
        return [None if row is None else sorted(row) for row in column.to_pylist()]
    if pa.types.is_struct(kind):
        return [None if row is None else [*row.values()] for row in column.to_pylist()]
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        rows = column.to_pylist()
        return [None if row is None else [None if one is None else [*one.values()] for one in row] for row in rows]
    return column.to_pylist()


@pytest.mark.parametrize("groups", [1, 3])
def test_every_type(spark: SparkSession, tmp_path: Path, groups: int) -> None:
    table = pa.table({name: column for name, (column, _) in COLUMNS.items()})
    path = tmp_path / "types.parquet"
    pq.write_table(table, path, row_group_size=3 // groups)
    frame = spark.read.format("lakerace").load(str(path))
    assert {field.name: field.dataType.simpleString() for field in frame.schema} == {
        name: kind for name, (_, kind) in COLUMNS.items()
    }
    rows = frame.collect()
    for name, (column, _) in COLUMNS.items():
        assert [value(row[name]) for row in rows] == expected(column), name


def test_formats(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("n.parquet", "n.orc", "n.csv", "n.csv.gz"):
        lr.copy("tpch:nation?sf=0.01", tmp_path / name)
        frame = spark.read.format("lakerace").load(str(tmp_path / name))
        assert frame.selectExpr("sum(n_nationkey)", "max(n_name)", "count(*)").collect()[0][:] == (300, "VIETNAM", 25)
    frame = spark.read.format("lakerace").load("tpch:lineitem?sf=0.01")
    assert frame.count() == 60175
    text = tmp_path / "t.csv"
    text.write_text("a;b\n1;x\n2;-\n")
    read = spark.read.format("lakerace").option("delimiter", ";").option("null_string", "-")
    assert [row[:] for row in read.load(str(text)).collect()] == [(1, "x"), (2, None)]


def test_versions(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    for first, mode in ((0, "error"), (10, "append"), (20, "overwrite")):
        lr.copy(pa.table({"n": range(first, first + 10)}), f"delta:{table}", mode=mode)
    lr.Table(table, key="n").upsert(pa.table({"n": [25, 40]}))

    def total(**options: object) -> tuple[int, int]:
        reader = spark.read.format("lakerace")
        for name, option in options.items():
            reader = reader.option(name, option)
        return reader.load(str(table)).selectExpr("count(*)", "sum(n)").collect()[0][:]

    assert total() == (11, 245 + 40)
    assert total(versionAsOf=0) == (10, 45)
    assert total(version=1) == (20, 190)
    assert total(timestampAsOf="2100-01-01") == (11, 285)
    with pytest.raises(AnalysisException, match="no version of that time"):
        total(timestamp="1999-01-01")
    with pytest.raises(AnalysisException, match="two versions are given"):
        total(version=1, timestamp="2100-01-01")


def test_the_change_feed(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    properties = {"delta.enableChangeDataFeed": "true", "lakerace.primaryKey": "n"}
    lr.copy(pa.table({"n": range(3), "v": ["a"] * 3}), f"delta:{table}", table_properties=properties)
    lr.Table(table).upsert(pa.table({"n": [2, 7], "v": ["b", "b"]}))
    lr.Table(table).delete("n = 0")

    def feed(**options: object) -> Any:
        reader = spark.read.format("lakerace").option("readChangeFeed", "true")
        for name, option in options.items():
            reader = reader.option(name, option)
        return reader.load(str(table))

    frame = feed(startingVersion=0)
    assert frame.columns == ["n", "v", "_change_type", "_commit_version", "_commit_timestamp"]
    assert frame.rdd.getNumPartitions() == 3
    found = [row[:4] for row in frame.orderBy("_commit_version", "n", "_change_type").collect()]
    inserted = [(n, "a", "insert", 0) for n in range(3)]
    changed = [(2, "b", "update_postimage", 1), (2, "a", "update_preimage", 1), (7, "b", "insert", 1)]
    assert found == [*inserted, *changed, (0, "a", "delete", 2)]
    own = [tuple(row.values())[:4] for row in pa.table(lr.Table(table).changes(0)).to_pylist()]
    assert sorted(own, key=repr) == sorted(found, key=repr)
    assert feed(startingVersion=1, endingVersion=1).where("v = 'b'").select("n").orderBy("n").collect() == [(2,), (7,)]
    assert feed(startingVersion=1).groupBy("_change_type").count().count() == 4
    # What was analysed is what is read.
    lr.Table(table).upsert(pa.table({"n": [9], "v": ["c"]}))
    assert frame.count() == 7
    assert feed(startingVersion=0).count() == 8
    # A schema that changes within the range is that of its last version.
    lr.copy(pa.table({"n": [10], "v": ["d"], "w": [1]}), table, mode="append", evolve="add")
    wide = feed(startingVersion=2).orderBy("n").collect()
    assert [(row.n, row.w) for row in wide] == [(0, None), (9, None), (10, 1)]
    with pytest.raises(AnalysisException, match="version 9 does not exist: the last one is 4"):
        feed(startingVersion=9)
    with pytest.raises(AnalysisException, match="give startingVersion and endingVersion"):
        feed(startingVersion=0, endingTimestamp="2030-01-01")
    plain = tmp_path / "plain"
    lr.copy(pa.table({"n": range(3)}), f"delta:{plain}")
    with pytest.raises(Exception, match="version 0 has no change feed"):
        spark.read.format("lakerace").option("readChangeFeed", "true").option("startingVersion", 0).load(str(plain))


CONDITIONS = [
    "n = 5",
    "n <> 5",
    "n IN (1, 3, 1000)",
    "n IS NULL",
    "NOT (n < 990)",
    "n <=> 7",
    "NOT (n <=> 7)",
    "f > 5",
    "f = double('nan')",
    "NOT (f < 900)",
    "t = 'it''s 7'",
    "t > 'it''s 98'",
    "t LIKE '%99'",
    "d = 1.50",
    "d < 3.25",
    "b",
    "NOT b OR n = 4",
    "day < date'1971-01-01'",
    "day >= date'1972-06-01' AND day < date'1972-07-01'",
    "at = timestamp'1970-01-01 00:00:07'",
    "at > timestamp'1970-01-01 00:16:00.5'",
    "ntz <= timestamp_ntz'1970-01-01 00:00:03'",
    "n = 5 AND t = 'it''s 5' OR f IS NULL AND n > 995",
    "n + 1 = 6",
    "7 > n",
    "n IN (7, NULL)",
    "NOT (n IN (7, NULL))",
    "n + 1 = 6 OR t = 'it''s 7'",
    "`a.b` = 7",
    "old = timestamp'1850-01-01 00:00:00'",
    "old < timestamp'1900-01-01 00:00:00'",
    "old >= timestamp'1900-01-01 00:00:00'",
    "old IN (timestamp'1899-12-31 00:00:00', timestamp'2020-01-01 00:00:00')",
    "NOT (old <=> timestamp'1900-12-31 23:56:00')",
    "old_ntz = timestamp_ntz'1900-01-01 00:00:00'",
    "old_day = date'1850-01-01' OR old_day > date'2011-12-29'",
    "old_day = date'2011-12-30'",
]
#: Zones that have changed their offset since then, one of them by a day.
ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Apia"]
DAYS = ["1850-01-01", "1899-12-31", "1900-01-01", "1901-01-01", "2011-12-29", "2011-12-30", "2011-12-31", "2020-01-01"]


@pytest.fixture
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """The zone of the session and of its JVM."""
    zones = spark._jvm.java.util.TimeZone
    spark.conf.set("spark.sql.session.timeZone", request.param)
    zones.setDefault(zones.getTimeZone(request.param))
    yield request.param
    zones.setDefault(zones.getTimeZone("UTC"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def old_values(spark: SparkSession) -> dict[str, list[Any]]:
    """Midnights of the session's zone in days that are old, and a value within the two hours of each that may be twice there."""
    rows = ", ".join(f"('{day}')" for day in DAYS)
    micros = "unix_micros(timestamp(day)), unix_micros(timestamp(day)) - 240000000, unix_date(date(day))"
    found = spark.sql(f"SELECT {micros} FROM VALUES {rows} AS v(day)").collect()
    instants = [value for row in found for value in row[:2]]
    return {"old": instants, "day": [row[2] for row in found]}


@pytest.mark.parametrize("zone", ZONES, indirect=True)
def test_filters_mean_what_they_mean_to_spark(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    old = old_values(spark)
    numbers = [None if n % 50 == 49 else n for n in range(1000)]
    table = pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "f": pa.array([float("nan") if n % 100 == 3 else n / 2 for n in range(1000)], pa.float64()),
            "t": [f"it's {n}" for n in range(1000)],
            "d": pa.array([decimal.Decimal(n) / 4 for n in range(1000)], pa.decimal128(9, 2)),
            "b": [None if n % 7 == 0 else n % 2 == 0 for n in range(1000)],
            "day": pa.array(range(1000), pa.int32()).cast(pa.date32()),
            "at": pa.array([n * 1_000_000 for n in range(1000)], pa.timestamp("us", "UTC")),
            "ntz": pa.array([n * 1_000_000 for n in range(1000)], pa.timestamp("us")),
            "a.b": range(1000),
            "old": pa.array([old["old"][n % 16] for n in range(1000)], pa.timestamp("us", "UTC")),
            "old_ntz": pa.array([old["day"][n % 8] * 86_400_000_000 for n in range(1000)], pa.timestamp("us")),
            "old_day": pa.array([old["day"][n % 8] for n in range(1000)], pa.int32()).cast(pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    ours = spark.read.format("lakerace").load(str(tmp_path / "t.parquet"))
    theirs = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(tmp_path / "t.parquet"))
    for condition in CONDITIONS:
        mine, wanted = ([row.t for row in frame.where(condition).collect()] for frame in (ours, theirs))
        assert sorted(mine) == sorted(wanted), condition
        assert ours.where(condition).count() == len(wanted), condition
    assert '"old" < TIMESTAMP' in plan(ours.where("old < timestamp'1900-01-01 00:00:00'"))


@pytest.mark.parametrize("zone", ["America/New_York"], indirect=True)
def test_old_times_in_changes_partitions_and_joins(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    old = old_values(spark)["old"]
    times = pa.table({"n": range(16), "at": pa.array(old, pa.timestamp("us", "UTC"))})
    for name, options in (("plain", {}), ("parts", {"partition_by": ["at"]})):
        lr.copy(times, f"delta:{tmp_path}/{name}", **options)
        table = f"lake.`{tmp_path}/{name}`"
        assert [row.n for row in spark.table(table).where("at = timestamp'1850-01-01'").collect()] == [0]
        pq.write_table(pa.table({"k": times["at"][:1], "z": [5]}), tmp_path / "k")
        keys = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(f"{tmp_path}/k").where("z = 5")
        joined = spark.table(table).join(keys.hint("broadcast"), f.expr("k = at"))
        assert [row.n for row in joined.collect()] == [0]
        spark.sql(f"UPDATE {table} SET n = 100 WHERE at = timestamp'1850-01-01'")
        spark.sql(f"DELETE FROM {table} WHERE at > timestamp'1850-01-01' AND at < timestamp'1901-01-01'")
        left = [row.n for row in spark.table(table).orderBy("n").collect()]
        assert left == [1, 6, *range(8, 16), 100], name


def test_what_is_pushed_down_shows(spark: SparkSession, tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=1000)
    frame = spark.read.format("lakerace").load(str(tmp_path / "o.parquet"))
    shown = plan(frame.where("o_orderkey < 100").select("o_custkey"))
    assert '"o_orderkey" < 100' in shown
    assert "units 1 of 15" in shown
    assert "Filter (" not in shown
    pq.write_table(pa.table({"f": [1.0, float("nan")]}), tmp_path / "f.parquet")
    floats = spark.read.format("lakerace").load(str(tmp_path / "f.parquet")).where("f > 3")
    # NaN is greater than all for Spark.
    assert "Filter (" in plan(floats)
    assert '"f" > 3' not in plan(floats)
    assert len(floats.collect()) == 1
    assert ", limit 3," in plan(frame.limit(3))
    assert len(frame.limit(3).collect()) == 3
    assert frame.where("o_orderkey < 100").limit(2).count() == 2
    assert frame.select(frame.o_orderkey).where("o_orderkey = 7").collect()[0][:] == (7,)


def test_counts_are_told_by_metadata(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "o.parquet"
    lr.copy("tpch:orders?sf=0.01", path, row_group_rows=1000)
    frame = spark.read.format("lakerace").load(str(path))
    count = frame.selectExpr("count(*)", "count(1) + 1")
    assert "by metadata COUNT(*) 15000" in plan(count)
    assert count.collect()[0][:] == (15000, 15001)
    assert frame.count() == 15000
    for other in (
        frame.where("o_orderkey < 100").selectExpr("count(*)"),
        frame.selectExpr("count(*)", "max(o_clerk)"),
        frame.selectExpr("count(distinct o_orderkey)"),
        frame.groupBy("o_orderstatus").count(),
        frame.limit(7).selectExpr("count(*)"),
        spark.read.format("lakerace").option("where", "o_orderkey < 100").load(str(path)).selectExpr("count(*)"),
    ):
        assert "by metadata" not in plan(other)
    assert frame.limit(7).count() == 7
    # A file that was replaced has other rows.
    lr.copy("tpch:nation?sf=0.01", path, mode="overwrite")
    assert spark.read.format("lakerace").load(str(path)).count() == 25
    # A text has rows that only reading tells, and deleted rows do not count.
    lr.copy("tpch:nation?sf=0.01", tmp_path / "n.csv")
    text = spark.read.format("lakerace").load(str(tmp_path / "n.csv"))
    assert "by metadata" not in plan(text.selectExpr("count(*)"))
    assert text.count() == 25
    table = tmp_path / "t"
    properties = {"lakerace.primaryKey": "n", "delta.enableDeletionVectors": "true"}
    lr.copy(pa.table({"n": range(100)}), f"delta:{table}", table_properties=properties)
    lr.Table(table).delete("n < 10")
    rows = spark.read.format("lakerace").load(str(table))
    assert "by metadata COUNT(*) 90" in plan(rows.selectExpr("count(*)"))
    assert rows.count() == 90


def test_extremes_are_told_by_metadata(spark: SparkSession, tmp_path: Path) -> None:
    day, moment = datetime.date(2026, 11, 22), datetime.datetime(2026, 11, 22, 8, 30, 0, 7)
    columns = {
        "tiny": pa.array([3, None, -4], pa.int8()),
        "large": pa.array([2**63 - 1, 5, -(2**63)], pa.int64()),
        "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-2.25"), None], pa.decimal128(9, 2)),
        "flag": pa.array([True, None, False]),
        "day": pa.array([day, None, day - datetime.timedelta(1)], pa.date32()),
        "at": pa.array([moment, None, None], pa.timestamp("us", "UTC")),
        "local": pa.array([moment, None, None], pa.timestamp("us")),
        "none": pa.array([None, None, None], pa.int32()),
        "float": pa.array([1.0, float("nan"), -0.0]),
        "text": pa.array(["b", "a" * 100, None]),
        "old": pa.array([datetime.date(1500, 1, 1), None, day], pa.date32()),
    }
    rows = pa.table(columns)
    lr.copy(rows, tmp_path / "r.parquet", row_group_rows=1)
    lr.copy(rows, f"delta:{tmp_path}/t", partition_by=["tiny"])
    for place in (f"{tmp_path}/r.parquet", f"{tmp_path}/t"):
        frame = spark.read.format("lakerace").load(place)
        for name in columns:
            query = frame.selectExpr(f"min({name})", f"max({name})", "count(*)")
            assert ("by metadata" in plan(query)) == (name not in ("float", "text", "old")), name
            expected = frame.where("float(1) = 1").selectExpr(f"sort_array(collect_list({name})) AS v").collect()[0][0]
            found = query.collect()[0]
            assert found[2] == 3
            assert str(found[0]) == str(expected[0] if expected else None), name
            assert str(found[1]) == str(expected[-1] if expected else None), name
        for other in (frame.where("large > 5"), frame.limit(2)):
            assert "by metadata" not in plan(other.selectExpr("max(large)"))
        assert "by metadata" not in plan(frame.selectExpr("max(large + 1)"))
    # Whether a deleted row had the value metadata do not tell.
    properties = {"lakerace.primaryKey": "n", "delta.enableDeletionVectors": "true"}
    lr.copy(pa.table({"n": range(100)}), f"delta:{tmp_path}/d", table_properties=properties)
    lr.Table(tmp_path / "d").delete("n > 90")
    deleted = spark.read.format("lakerace").load(f"{tmp_path}/d").selectExpr("max(n)")
    assert "by metadata" not in plan(deleted)
    assert deleted.collect()[0][0] == 90


def test_a_version_that_was_vacuumed(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    lr.copy(pa.table({"n": range(100)}), f"delta:{table}")
    frame = spark.read.format("lakerace").load(str(table))
    # The query is planned, and its tasks begin behind the vacuum.
    assert "version 0" in plan(frame)
    lr.copy(pa.table({"n": range(5)}), table, mode="overwrite")
    lr.Table(table).vacuum(retain="0s", allow_short_retention=True)
    with pytest.raises(Exception, match="version 0 needs it, but it was vacuumed"):
        frame.collect()
    assert spark.read.format("lakerace").load(str(table)).count() == 5


def test_a_join_leaves_files_out(spark: SparkSession, tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.1", tmp_path / "o.parquet", row_group_rows=1000)
    orders = spark.read.format("lakerace").load(str(tmp_path / "o.parquet"))
    few = spark.createDataFrame([(7, "x"), (32, "y"), (None, "z")], "k bigint, name string")
    # Spark asks for the keys of a side that it filters itself.
    few.write.parquet(f"{tmp_path}/few")
    few = spark.read.parquet(f"{tmp_path}/few")
    # The size of the few is not a reason for Spark to leave it.
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.fallbackFilterRatio", "1000")
    try:
        joined = orders.join(few.where("name > 'a'").hint("broadcast"), orders.o_orderkey == few.k)
        joined = joined.select("o_orderkey", "name", "o_totalprice")
        assert sorted(row[:2] for row in joined.collect()) == [(7, "x"), (32, "y")]
        shown = plan(joined)
    finally:
        spark.conf.unset("spark.sql.optimizer.dynamicPartitionPruning.fallbackFilterRatio")
    assert "dynamicpruning" in shown
    assert "and of joins" in shown
    assert "units 1 of 150" in shown


def test_literals_may_have_any_characters(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["plain", "a\u001eb", "a\u001ewhere\u001f1 = 0", "a\u001d'\"\\", "\n"]
    pq.write_table(pa.table({"t": texts}), tmp_path / "t.parquet")
    frame = spark.read.format("lakerace").load(str(tmp_path / "t.parquet"))
    for text in texts:
        assert [row[:] for row in frame.where(frame.t == text).collect()] == [(text,)]


def test_tasks_are_parts_by_bytes(spark: SparkSession, tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=1000)
    read = spark.read.format("lakerace").option("max_task_bytes", 20_000)
    frame = read.load(str(tmp_path / "o.parquet"))
    assert frame.rdd.getNumPartitions() > 5
    assert frame.count() == 15000
    assert (
        frame.agg({"o_orderkey": "sum"}).collect()
        == spark.read.parquet(str(tmp_path / "o.parquet")).agg({"o_orderkey": "sum"}).collect()
    )


def test_a_schema_that_a_read_gives(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    properties = {"delta.enableChangeDataFeed": "true"}
    for first, mode in ((0, "error"), (10, "append")):
        rows = pa.table({"n": pa.array(range(first, first + 10), pa.int64()), "v": ["a"] * 10})
        lr.copy(rows, f"delta:{table}", mode=mode, **({"table_properties": properties} if mode == "error" else {}))

    def read(schema: str, path: Path = table, **options: object) -> DataFrame:
        return spark.read.schema(schema).format("lakerace").options(**options).load(str(path))

    assert read("n bigint, v string").where("n > 3").count() == 16
    assert read("n bigint, v string", versionAsOf=0).count() == 10
    assert read("n bigint, v string").selectExpr("count(_file)", "count(distinct _pos)").collect()[0][:] == (20, 10)
    feed = "n bigint, v string, _change_type string, _commit_version bigint, _commit_timestamp timestamp"
    assert read(feed, readChangeFeed="true", startingVersion=1).count() == 10
    named = f"OPTIONS (path '{table}', versionAsOf '0')"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW old_rows (n BIGINT, v STRING) USING lakerace {named}")
    assert spark.sql("SELECT count(*), max(n) FROM old_rows").collect()[0][:] == (10, 9)
    # What is read is what was analysed.
    frame = read("n bigint, v string")
    lr.copy(pa.table({"n": [99], "v": ["b"]}), table, mode="append")
    assert (frame.count(), read("n bigint, v string").count()) == (20, 21)
    for wrong in ("n int, v string", "n bigint", "v string, n bigint", "n bigint, v string, w int"):
        for options in ({}, {"versionAsOf": 0}):
            with pytest.raises(AnalysisException, match=r"omit schema\(...\), and select or cast columns"):
                read(wrong, **options).count()
    # Of files it chooses columns.
    lr.copy(str(table), tmp_path / "f.parquet")
    assert read("v string", tmp_path / "f.parquet").where("v = 'b'").collect() == [("b",)]
    with pytest.raises(AnalysisException, match=r'the column "n" is bigint, not int: omit schema\(...\)'):
        read("n int", tmp_path / "f.parquet").collect()
    # So it does of the fields of structs.
    nested = [{"l": [{"a": 1, "b": "x"}], "m": [("k", {"a": 2, "b": "y"})]}]
    pair = pa.struct({"a": pa.int64(), "b": pa.string()})
    shape = pa.schema({"l": pa.list_(pair), "m": pa.map_(pa.string(), pair)})
    pq.write_table(pa.Table.from_pylist(nested, shape), tmp_path / "n.parquet")
    part = read("l array<struct<a: bigint>>, m map<string, struct<b: string>>", tmp_path / "n.parquet")
    assert part.selectExpr("L.A[0]", "m['k'].B").collect() == [(1, "y")]
    for wrong in (
        "l array<struct<a: string>>",
        "l array<struct<c: int>>",
        "m map<string, string>",
        "m map<int, struct<b: string>>",
    ):
        with pytest.raises(AnalysisException, match=r'the column "[lm]" is .* omit schema\(...\)'):
            read(wrong, tmp_path / "n.parquet").collect()


def test_errors(spark: SparkSession, tmp_path: Path) -> None:
    read = spark.read.format("lakerace")
    with pytest.raises(AnalysisException, match="no such file or folder") as caught:
        read.load(str(tmp_path / "none.parquet"))
    assert caught.value._origin.getErrorClass() == "LAKERACE_NOT_FOUND"
    with pytest.raises(AnalysisException, match="no location is given"):
        read.load()
    times = pa.table({"at": pa.array([1], pa.time64("us"))})
    pq.write_table(times, tmp_path / "time.parquet")
    with pytest.raises(AnalysisException, match=r'column "at".*Spark has no type'):
        read.load(str(tmp_path / "time.parquet"))
    with pytest.raises(AnalysisException, match='option "header"'):
        spark.read.format("lakerace").option("header", "perhaps").load(str(tmp_path / "time.parquet"))
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.s3a.aws.credentials.provider", "of.Nobody")
    with pytest.raises(AnalysisException, match=r"add its jar \(hadoop-aws\)"):
        read.load("s3://bucket/table")
    hadoop.unset("fs.s3a.aws.credentials.provider")
    whole = tmp_path / "cut.parquet"
    lr.copy("tpch:orders?sf=0.01", whole)
    frame = read.load(str(whole))
    whole.write_bytes(whole.read_bytes()[:1000])
    with pytest.raises(Exception, match=r"cut\.parquet"):
        frame.collect()
