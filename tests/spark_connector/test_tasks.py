"""Tasks of a table's scan: together they have each row once, however files are parted, and each row has its place in its file."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakerace as lr

ROWS, GROUP_ROWS, TASK_BYTES = 6000, 100, 12_000
#: Partition columns and the values that they have, one after the other.
PARTITIONS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "is_true": (pa.bool_(), [True, False, None]),
    "number": (pa.int64(), [2**62, -1, None]),
    "price": (pa.decimal128(20, 2), [Decimal("123456789012345678.90"), Decimal("-0.01"), None]),
    "ratio": (pa.float64(), [0.1, float("inf"), None]),
    "text": (pa.string(), ["a b/c%d=é", "x", None]),
    "day": (pa.date32(), [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None]),
    "time": (pa.timestamp("us", "UTC"), [datetime.datetime(2026, 1, 1, 1, 2, 3, 456789), None, None]),
}
COLUMNS = ["id", "word", *PARTITIONS]


def model() -> list[dict[str, Any]]:
    """The rows of the table, those that are deleted included."""
    values = {name: [values[n // 10 % len(values)] for n in range(ROWS)] for name, (_, values) in PARTITIONS.items()}
    return [
        {"id": n, "word": f"word {n * 7919 % 10_007}"} | {name: values[name][n] for name in values} for n in range(ROWS)
    ]


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_tasks_have_each_row_once(spark: SparkSession, tmp_path: Path, mapping: str) -> None:
    rows, table = model(), tmp_path / "t"
    types = {"id": pa.int64(), "word": pa.string()} | {name: kind for name, (kind, _) in PARTITIONS.items()}
    lr.copy(
        pa.Table.from_pylist(rows, pa.schema(types.items())),
        f"delta:{table}",
        partition_by=list(PARTITIONS),
        row_group_rows=GROUP_ROWS,
        table_properties={"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mapping},
    )
    lr.Table(table).delete("id % 50 = 7 OR id BETWEEN 1000 AND 1200")
    expected = [row for row in rows if row["id"] % 50 != 7 and not 1000 <= row["id"] <= 1200]
    frame = spark.read.format("lakerace").option("max_task_bytes", TASK_BYTES).load(str(table))
    files = len({tuple(row[name] for name in PARTITIONS) for row in rows})
    assert frame.rdd.getNumPartitions() > files > 1
    found = sorted((row.asDict() for row in frame.select(*COLUMNS).collect()), key=lambda row: row["id"])
    assert found == expected
    assert frame.where("id >= 3000").selectExpr("sum(id)").collect()[0][0] == sum(
        row["id"] for row in expected if row["id"] >= 3000
    )
    places = frame.selectExpr("_file", "_pos", "id").where("word <> 'word 5' AND id < 2000").collect()
    assert sorted(row.id for row in places) == [
        row["id"] for row in expected if row["word"] != "word 5" and row["id"] < 2000
    ]
    stored = {
        name: pq.read_table(table / unquote(name), partitioning=None)[0] for name in {row._file for row in places}
    }
    assert all(stored[row._file][row._pos].as_py() == row.id for row in places)
