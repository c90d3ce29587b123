"""Structs of which a query uses some fields: only these are read, and their values are those of the whole."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import plan
from pyspark.sql import DataFrame, SparkSession
from test_read import value

import lakerace as lr


def nested_rows(count: int) -> pa.Table:
    """Structs in a struct, in a list and as values of a map, with nulls at all levels."""

    def pair(n: int) -> dict[str, Any] | None:
        return None if n % 7 == 3 else {"x": None if n % 5 == 1 else n, "text": f"a rather long text for {n}"}

    def item(n: int) -> dict[str, Any] | None:
        return None if n % 11 == 5 else {"q": n, "w": f"another long text for {n}", "deep": pair(n + 1)}

    def row(n: int) -> dict[str, Any]:
        items = None if n % 9 == 4 else [item(4 * n + at) for at in range(n % 4)]
        s = None if n % 6 == 2 else {"wide": f"a text of struct {n}", "a": n, "b": pair(n), "items": items}
        values = None if n % 8 == 7 else [(f"k{at}", item(n + at)) for at in range(n % 3)]
        return {"id": n, "s": s, "l": items, "m": values}

    two = pa.struct({"x": pa.int64(), "text": pa.string()})
    three = pa.struct({"q": pa.int64(), "w": pa.string(), "deep": two})
    s = pa.struct({"wide": pa.string(), "a": pa.int64(), "b": two, "items": pa.list_(three)})
    schema = pa.schema({"id": pa.int64(), "s": s, "l": pa.list_(three), "m": pa.map_(pa.string(), three)})
    return pa.Table.from_pylist([row(n) for n in range(count)], schema=schema)


#: Queries that use a part of a column, and the column.
PARTS = {
    "s.a": "s",
    "s.b.x": "s",
    "s.b": "s",
    "s.items.q": "s",
    "s.items.deep.x": "s",
    "s.b.x + s.a AS sum": "s",
    "l.q": "l",
    "get(l, 0).deep.x AS x": "l",
    "transform(l.deep, d -> d.x) AS xs": "l",
    "m['k1'].q AS q": "m",
    "map_values(m).deep.x AS xs": "m",
}


def bytes_of(frame: DataFrame) -> int:
    """Bytes of the plan of the one scan. Those of a table are estimated by the widths of types."""
    [planned] = re.findall(r", bytes (\d+)", plan(frame))
    return int(planned)


def found(frame: DataFrame, where: str, parts: list[str]) -> list[Any]:
    return sorted(value(row[:]) for row in frame.where(where).selectExpr("id", *parts).collect())


def check_parts(spark: SparkSession, path: str) -> None:
    """Parts of columns, with filters and without, are those of the whole, and fewer bytes are read for them."""
    frame = spark.read.format("lakerace").load(path)
    whole = {column: bytes_of(frame.select("id", column)) for column in ("s", "l", "m")}
    # Whole columns, whose parts Spark takes by itself.
    kept = spark.createDataFrame(frame.collect(), frame.schema).coalesce(1).cache()
    parts = list(PARTS)
    for part, column in PARTS.items():
        assert bytes_of(frame.selectExpr("id", part)) * 4 < whole[column] * 3, part
    assert bytes_of(frame.selectExpr(*parts)) * 4 < (whole["s"] + whole["l"] + whole["m"]) * 3
    wheres = ("true", "s IS NOT NULL AND id % 3 = 1", "l IS NULL", "s.b.text LIKE '%7' AND s.a > 100")
    for nth, where in enumerate(wheres):
        expected = found(kept, where, parts)
        assert found(frame, where, parts) == expected, where
        for at in range(nth, len(parts), len(wheres) - 1):
            assert found(frame, where, [parts[at]]) == [[row[0], row[at + 1]] for row in expected], (parts[at], where)
    exploded = "SELECT id, i.q, i.deep.x FROM {t} LATERAL VIEW explode(l) AS i WHERE i.q % 2 = 0 ORDER BY id, i.q"
    assert spark.sql(exploded, t=frame).collect() == spark.sql(exploded, t=kept).collect()
    assert frame.where("s.b IS NULL").count() == kept.where("s.b IS NULL").count()
    assert frame.where("s IS NULL").select("id").collect() == kept.where("s IS NULL").select("id").collect()


def test_nested_fields_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    rows = nested_rows(1000)
    pq.write_table(rows, tmp_path / "t.parquet", use_dictionary=False)
    check_parts(spark, str(tmp_path / "t.parquet"))
    lr.copy(tmp_path / "t.parquet", tmp_path / "t.orc")
    check_parts(spark, str(tmp_path / "t.orc"))
    lr.copy(tmp_path / "t.parquet", tmp_path / "t.jsonl", columns=["id", "s", "l"])
    frame = spark.read.format("lakerace").load(str(tmp_path / "t.jsonl"))
    spark_own = spark.read.parquet(str(tmp_path / "t.parquet"))
    sums = ["sum(s.a)", "sum(size(l.q))"]
    assert frame.selectExpr(*sums).collect() == spark_own.selectExpr(*sums).collect()


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_nested_fields_of_tables_are_pruned(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    table = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mode}
    rows = nested_rows(1000)
    if mode == "none":
        del properties["delta.columnMapping.mode"]
    lr.copy(rows, f"delta:{table}", table_properties=properties)
    check_parts(spark, str(table))
    lr.Table(table).delete("id % 7 = 2")
    assert list(table.glob("**/*deletion_vector*.bin"))
    check_parts(spark, str(table))
    # So are those of rows with their ids.
    frame = spark.read.format("lakerace").load(str(table))
    [with_ids] = frame.selectExpr("count(_pos)", "sum(s.a)", "sum(size(l.q))").collect()
    assert with_ids == frame.selectExpr("count(*)", "sum(s.a)", "sum(size(l.q))").collect()[0]


def test_nested_fields_of_unlike_files_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    """A folder in which files lack fields, or have them in another order and of fewer bits, or of timestamps of 96 bits."""
    at = pa.array([{"t": datetime.datetime(2020, 1, 1), "n": 1, "w": "x"}, None, {"t": None, "n": None, "w": None}])
    schema = pa.struct({"t": pa.timestamp("us"), "n": pa.int64(), "w": pa.string()})
    first = pa.table({"id": [1, 2, 3], "s": at.cast(schema)})
    less = pa.struct({"more": pa.string(), "n": pa.int32()})
    second = pa.table({"id": [4, 5], "s": pa.array([{"more": "m", "n": 7}, None], less)})
    pq.write_table(first, tmp_path / "1.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(second, tmp_path / "2.parquet")
    frame = spark.read.format("lakerace").load(str(tmp_path))
    for part, expected in {
        "s.n": [1, None, None, 7, None],
        "s.more": [None, None, None, "m", None],
        "s.w": ["x", None, None, None, None],
        "s.t": [datetime.datetime(2020, 1, 1), None, None, None, None],
        "s IS NULL": [False, True, False, False, True],
    }.items():
        for where in ("true", "id > 0", "s IS NOT NULL OR id > 0"):
            assert [row[1] for row in found(frame, where, [part])] == expected, (part, where)
