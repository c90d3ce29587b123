"""CSV into Delta tables: columns are read in the table's types."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

SCHEMA = pa.schema(
    {
        "id": pa.int32(),
        "code": pa.string(),
        "price": pa.decimal128(9, 2),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "wall": pa.timestamp("us"),
        "yes": pa.bool_(),
        "share": pa.float32(),
    }
)
MOMENT = datetime(2026, 1, 2, 3, 4, 5)
ROW = {
    "id": 1,
    "code": "001",
    "price": Decimal("1.50"),
    "day": date(2026, 1, 2),
    "at": MOMENT.replace(tzinfo=timezone.utc),
    "wall": MOMENT,
    "yes": True,
    "share": 0.5,
}
#: What is inferred from these lines fits no column of the table but one.
LINES = """code,id,day,price,at,wall,yes,share
7,1,2026-02-03,3,2026-02-03T00:00:00Z,2026-02-03,0,1
08,2,2026-02-04,4.25,2026-02-03 04:05:06+01:00,2026-02-03 01:02:03,1,2
"""


def made(folder: Path, **properties: str) -> lr.Table:
    lr.copy(pa.Table.from_pylist([ROW], SCHEMA), f"delta:{folder}", table_properties=properties)
    return lr.Table(folder, key="id")


def read(table: lr.Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: (row["id"], row["code"]))


def test_csv_has_the_types_of_the_table(tmp_path: Path) -> None:
    lines = tmp_path / "lines.csv"
    lines.write_text(LINES)
    midnight = datetime(2026, 2, 3)
    first = {
        "id": 1,
        "code": "7",
        "price": Decimal("3.00"),
        "day": date(2026, 2, 3),
        "at": midnight.replace(tzinfo=timezone.utc),
        "wall": midnight,
        "yes": False,
        "share": 1.0,
    }
    table = made(tmp_path / "upserted")
    assert table.explain_upsert(lines).to_dict()["rows"] == 2
    changed = table.upsert(lines)
    assert (changed.rows, changed.rows_hidden) == (2, 1)
    rows = read(table)
    assert rows[0] == first
    assert rows[1]["code"] == "08"
    assert rows[1]["at"] == datetime(2026, 2, 3, 3, 5, 6, tzinfo=timezone.utc)
    ok("copy", lines, tmp_path / "upserted", "--mode", "append")
    assert read(table) == [first, first, rows[1], rows[1]]
    ok("copy", lines, tmp_path / "upserted", "--mode", "overwrite")
    assert read(table) == [first, rows[1]]
    gone = tmp_path / "gone.csv"
    gone.write_text("code,note\n08,x\n")
    assert ok("delete", tmp_path / "upserted", "--keys", gone, "--key", "code", "--json").json["rows_hidden"] == 1
    assert read(table) == [first]


def test_values_that_do_not_fit_are_named(tmp_path: Path) -> None:
    made(tmp_path / "table")
    lines = tmp_path / "lines.csv"
    lines.write_text("id,price\n1,2.50\n2,1.005\n")
    refused = run("upsert", tmp_path / "table", lines, "--key", "id")
    assert refused.code == 4
    assert "line 3" in refused.err
    assert '"price"' in refused.err
    assert "decimal" in refused.err
    # What is given counts.
    refused = run("upsert", tmp_path / "table", lines, "--key", "id", "--schema", "price double")
    assert refused.code == 4
    assert "line" not in refused.err
    assert lr.scan(tmp_path / "table").count() == 1


def test_numbers_that_may_widen_the_table_stay_as_they_are(tmp_path: Path) -> None:
    table = made(tmp_path / "table", **{"delta.enableTypeWidening": "true"})
    lines = tmp_path / "lines.csv"
    lines.write_text(f"id\n{2**40}\n")
    with pytest.raises(lr.InvalidInputError, match="line 2"):
        lr.copy(lines, tmp_path / "table", mode="append")
    lines.write_text(f"id,day,share,v\n{2**40},2026-03-04,0.1,1\n")
    ok("copy", lines, tmp_path / "table", "--mode", "append", "--evolve", "add,widen")
    rows = read(table)
    assert (rows[1]["id"], rows[1]["day"], rows[1]["v"]) == (2**40, date(2026, 3, 4), 1)
    assert rows[1]["share"] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("allows", ["true", "false"])
@pytest.mark.parametrize("declared", ["float", "double", "bigint", "decimal(10,2)"])
def test_numbers_that_cannot_widen_the_table_have_its_types(tmp_path: Path, allows: str, declared: str) -> None:
    table = f"delta:{tmp_path / 'table'}"
    lines = tmp_path / "lines.csv"
    lines.write_text("id,n\n1,1\n")
    properties = {"delta.enableTypeWidening": allows}
    lr.copy(lines, table, schema=f"id int, n {declared}", table_properties=properties)
    before = lr.scan(tmp_path / "table").to_arrow().schema.field("n")
    lines.write_text("id,n\n2,7\n")
    lr.copy(lines, table, mode="append", evolve="widen")
    lr.Table(tmp_path / "table", key="id").upsert(lines, evolve="widen")
    rows = lr.scan(tmp_path / "table").to_arrow()
    assert sorted(zip(rows["id"].to_pylist(), map(float, rows["n"].to_pylist()), strict=True)) == [(1, 1.0), (2, 7.0)]
    assert rows.schema.field("n") == before


def test_columns_of_the_key_have_the_types_of_the_table(tmp_path: Path) -> None:
    lines, table = tmp_path / "lines.csv", tmp_path / "table"
    lines.write_text("id,n\n1,1\n")
    lr.copy(lines, f"delta:{table}", schema="id int, n int", table_properties={"delta.enableTypeWidening": "true"})
    lines.write_text(f"id,n\n1,{2**40}\n")
    lr.Table(table, key="id").upsert(lines, evolve="widen")
    schema = lr.scan(table).to_arrow().schema
    assert [str(field.type) for field in schema] == ["int32", "int64"]


@pytest.mark.parametrize("table_type", [pa.int64(), pa.int32()])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_the_advice_on_fractions_leads_to_an_upsert(tmp_path: Path, kind: str, table_type: pa.DataType) -> None:
    """Who follows the advice of each error gets to the rows, rounded as by duckdb."""
    table = f"{tmp_path}/table"
    lr.copy(
        pa.table({"id": [1], "x": pa.array([7], table_type)}),
        f"delta:{table}",
        table_properties={"lakerace.primaryKey": "id"},
    )
    source = tmp_path / f"rows.{kind}"
    rows = pa.table({"id": [1, 2, 3], "x": [1.5, 2.25, -3.75]})
    if kind == "csv":
        source.write_text("id,x\n1,1.5\n2,2.25\n3,-3.75\n")
    else:
        lr.copy(rows, source)
    options: list[str] = []
    for _ in range(3):
        done = run("upsert", table, source, *options)
        if done.code == 0:
            break
        assert done.code == 4, done.err
        advice = done.err[done.err.index("(") :]
        if "--schema" in advice:
            assert options == [], done.err
            options = ["--schema", "x float64"]
        else:
            given = f"CAST(round(x) AS {'int64' if table_type == pa.int64() else 'int32'}) as x"
            assert f"--columns '{given}'" in advice
            assert ("--evolve widen" in advice) == (table_type == pa.int32())
            options += ["--columns", f"id,{given}"]
    assert done.code == 0, done.err
    expected = duckdb.sql("SELECT id, CAST(round(x) AS BIGINT) AS x FROM rows ORDER BY id").fetchall()
    assert sorted(lr.scan(table)) == expected
