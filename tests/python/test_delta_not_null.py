"""NOT NULL and comments of a source in new Delta tables, as others read and keep them."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

FIELDS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field(
            "s", pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())]), nullable=False
        ),
        pa.field("l", pa.list_(pa.field("element", pa.int64(), nullable=False)), nullable=False),
        pa.field("v", pa.int64()),
    ]
)
NULLABLE = pa.schema(
    {
        "id": pa.int64(),
        "s": pa.struct({"a": pa.int64(), "b": pa.int64()}),
        "l": pa.list_(pa.int64()),
        "v": pa.int64(),
    }
)


def rows() -> pa.Table:
    return pa.table(
        {"id": [1, 2], "s": [{"a": 1, "b": None}, {"a": 2, "b": 2}], "l": [[1], []], "v": [None, 1]}, FIELDS
    )


def test_new_tables_are_nullable_and_say_so(tmp_path: Path) -> None:
    made = lr.copy(rows(), f"delta:{tmp_path / 'table'}")
    assert made.made_nullable == ["id", "s", "s.a", "l", "l.element"]
    assert all(field.nullable for field in lr.scan(tmp_path / "table").to_arrow().schema)
    assert lr.copy(rows(), tmp_path / "x.parquet").made_nullable == []

    done = ok("copy", tmp_path / "x.parquet", f"delta:{tmp_path / 'other'}")
    assert "columns id, s, s.a, l, l.element are NOT NULL in the source and nullable in the new table" in done.err


def test_not_null_is_kept_where_asked_for(tmp_path: Path) -> None:
    table = tmp_path / "table"
    made = lr.copy(rows(), f"delta:{table}", keep_not_null=True)
    assert made.made_nullable == ["l.element"]
    theirs = deltalake.DeltaTable(table)
    assert [(field.name, field.nullable) for field in theirs.schema().fields] == [
        ("id", False),
        ("s", False),
        ("l", False),
        ("v", True),
    ]
    struct = theirs.schema().fields[1].type
    assert isinstance(struct, deltalake.schema.StructType)
    assert [field.nullable for field in struct.fields] == [False, True]
    # The writer version 2 stands for the feature invariants.
    assert theirs.protocol().min_writer_version == 2

    lr.Table(table, key="id").upsert(pa.table({"id": [2, 3], "s": [{"a": 5, "b": 5}] * 2, "l": [[5]] * 2, "v": [5, 5]}))
    lr.Table(table).compact()
    read = lr.scan(table).to_arrow().sort_by("id").to_pylist()
    assert [row["v"] for row in read] == [None, 5, 5]
    for bad in ({"s": [None]}, {"s": [{"a": None, "b": 1}]}, {"l": [None]}, {"id": [None]}):
        row = {"id": [7], "s": [{"a": 1, "b": 1}], "l": [[1]], "v": [1]} | bad
        new = pa.table(row, NULLABLE)
        with pytest.raises(lr.InvalidInputError):
            lr.copy(new, table, mode="append")
        with pytest.raises(lr.InvalidInputError):
            lr.Table(table, key="id").upsert(new)
    assert lr.scan(table).to_arrow().num_rows == 3


def test_not_null_is_kept_by_new_tables_only(tmp_path: Path) -> None:
    lr.copy(rows(), f"delta:{tmp_path / 'table'}")
    with pytest.raises(lr.UnsupportedError, match=r'"id".*omit keep_not_null=True'):
        lr.copy(rows(), tmp_path / "table", mode="append", keep_not_null=True)
    with pytest.raises(lr.UsageError, match="only new Delta tables"):
        lr.copy(rows(), tmp_path / "x.parquet", keep_not_null=True)
    source = tmp_path / "y.parquet"
    lr.copy(rows(), source)
    assert run("copy", source, tmp_path / "z.parquet", "--keep-not-null").code == 2


def test_comments_of_columns(tmp_path: Path) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), metadata={"comment": "inside", "other": "1"})])
    fields = [pa.field("id", pa.int64(), metadata={"comment": "a number"}), pa.field("s", pa.list_(inner))]
    lr.copy(pa.table([[1], [[{"x": 2}]]], pa.schema(fields)), f"delta:{tmp_path}/t")
    assert described(tmp_path / "t") == {"id": {"comment": "a number"}, "s": {}, "x": {"comment": "inside"}}


def described(table: Path) -> dict[str, object]:
    """The metadata that the log has of each column, and of the fields of structs in lists."""
    entry = (table / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (text,) = (action["metaData"]["schemaString"] for action in map(json.loads, entry) if "metaData" in action)
    columns = json.loads(text)["fields"]
    inner = [
        field
        for column in columns
        if isinstance(column["type"], dict)
        for field in column["type"]["elementType"]["fields"]
    ]
    return {field["name"]: field["metadata"] for field in [*columns, *inner]}
