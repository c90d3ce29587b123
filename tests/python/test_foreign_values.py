"""Values and statistics of other tools: each is the value that it is, or an error, and no statistics hide it."""

from __future__ import annotations

import json
import struct
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from conftest import ok, run
from deltalake import DeltaTable, write_deltalake

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: Values whose bounds delta-rs writes with fewer digits, or saturated, with their type.
KEYS: list[tuple[pa.DataType, Any]] = [
    (pa.decimal128(38, 0), Decimal("12345678901234567891")),
    (pa.decimal128(38, 0), Decimal("-12345678901234567891")),
    (pa.decimal128(38, 18), Decimal("1.000000000000000001")),
    (pa.decimal128(38, 18), Decimal("-99999999999999999999.999999999999999999")),
    (pa.decimal128(38, 30), Decimal("0.000000000000000000000000000007")),
    (pa.decimal128(18, 2), Decimal("1234567890123456.78")),
    (pa.decimal128(9, 2), Decimal("1234567.89")),
    (pa.int64(), 9_007_199_254_740_993),
    (pa.string(), "0123456789" * 5 + "\U0001f600"),
    (pa.timestamp("us", "UTC"), datetime(1901, 2, 3, 4, 5, 6, 123456, tzinfo=timezone.utc)),
]


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize(("of", "value"), KEYS)
def test_statistics_of_delta_rs_hide_no_key(tmp_path: Path, of: pa.DataType, value: Any, checkpoint: bool) -> None:
    table = tmp_path / "table"
    rows = pa.table({"k": pa.array([value], of), "v": [1]})
    write_deltalake(table, rows, configuration={"delta.enableDeletionVectors": "true"})
    if checkpoint:
        DeltaTable(table).create_checkpoint()
    literal = {
        Decimal: lambda: format(value, "f"),
        int: lambda: str(value),
        str: lambda: f"'{value}'",
        datetime: lambda: f"TIMESTAMP '{value.isoformat()}'",
    }[type(value)]()
    for op in ("=", "<=", ">="):
        assert lr.scan(table, where=f"k {op} {literal}").count() == 1, (op, literal)
    assert lr.scan(table, where=f"k <> {literal}").count() == 0
    lr.Table(table, key="k").upsert(pa.table({"k": pa.array([value], of), "v": [2]}))
    assert lr.scan(table).to_arrow()["v"].to_pylist() == [2]
    assert lr.Table(table, key="k").delete(f"k = {literal}").rows == 1
    assert lr.scan(table).count() == 0


def test_statistics_of_another_type_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "table"
    write_deltalake(table, pa.table({"k": pa.array([5], pa.int64())}))
    entry = table / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["stats"] = '{"numRecords":1,"minValues":{"k":"x"},"maxValues":{"k":[7]},"nullCount":{"k":0}}'
    entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert lr.scan(table, where="k = 5").to_arrow()["k"].to_pylist() == [5]


def test_uuids_of_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "uuids.parquet"
    duckdb.sql(f"COPY (SELECT uuid() AS u, i FROM range(500) t(i)) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 100)")
    ((some,),) = duckdb.sql(f"SELECT u FROM '{path}' WHERE i = 321").fetchall()
    for text in (str(some), str(some).upper(), some.hex, f"{{{some}}}"):
        assert lr.scan(path, where=f"u = '{text}'").to_arrow()["i"].to_pylist() == [321]
        assert lr.scan(path, where=f"u IN ('{UUID(int=0)}', '{text}')").count() == 1
        for op in ("<>", "<", "<=", ">", ">="):
            ((wanted,),) = duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE u {op} '{text}'").fetchall()
            assert lr.scan(path, where=f"u {op} '{text}'").count() == wanted, (op, text)
    with pytest.raises(lr.InvalidInputError, match="not a UUID"):
        lr.scan(path, where="u = 'abc'")


@pytest.mark.parametrize("target", ["a.parquet", "a.orc", "delta:table"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_date_with_an_hour_is_no_date(tmp_path: Path, target: str, nested: bool) -> None:
    array = pa.Array.from_buffers(pa.date64(), 1, [None, pa.py_buffer(struct.pack("q", 86_400_001))])
    column = pa.StructArray.from_arrays([array], ["x"]) if nested else array
    place = f"delta:{tmp_path / 'table'}" if target.startswith("delta:") else str(tmp_path / target)
    with pytest.raises(lr.InvalidInputError, match="86400001 ms is not a whole day"):
        lr.copy(pa.table({"k": column}), place)


def test_unrelated_files_are_one_table_on_request_only(tmp_path: Path) -> None:
    lr.copy(pa.table({"a": [1], "b": [1]}), tmp_path / "1.parquet")
    lr.copy(pa.table({"c": [1], "d": [1]}), tmp_path / "2.parquet")
    with pytest.raises(lr.InvalidInputError, match=r"2\.parquet.*1\.parquet.*union_columns=True"):
        lr.scan(tmp_path)
    assert lr.scan(tmp_path, union_columns=True).to_arrow().column_names == ["a", "b", "c", "d"]
    assert len(lr.schema(tmp_path, union_columns=True)["columns"]) == 4
    assert run("schema", tmp_path).code == 4
    assert len(ok("schema", tmp_path, "--union-columns", "--json").json["columns"]) == 4
    assert ok("scan", tmp_path, "--union-columns", "--count", "--json").json["rows"] == 2
