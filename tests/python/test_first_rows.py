"""The first rows of an order of many: their keys are read before the other columns. duckdb's order is the right one."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 120_000
START = datetime.datetime(2024, 2, 29, 23, 59, 59)
FLOATS = [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 0.1, 16777216.0]
#: Types, and values that are of interest to their order.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small": (pa.int8(), list(range(-128, 128))),
    "whole": (pa.int64(), [-(2**63), -7, 0, 7, 2**63 - 1, 2**53, 2**53 + 1]),
    "unsigned": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "float": (pa.float64(), [*FLOATS, 1e-310]),
    "single": (pa.float32(), FLOATS),
    "price": (pa.decimal128(9, 2), [decimal.Decimal(number) / 100 for number in range(-500, 500)]),
    "wide": (pa.decimal128(38, 10), [decimal.Decimal(text) for text in ("-1e20", "0", "1e20", "0.0000000001")]),
    "text": (pa.string(), ["", "a", "A", "ä", "z", "aa", "a\0", "日本", "it's", "a text that is too long for a view"]),
    "name": (pa.string(), [f"name {number * 7919 % 100_003}" for number in range(2000)]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", b"\xff", b"a", b"bytes that are too long for a view"]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "at": (pa.timestamp("us"), [START + datetime.timedelta(microseconds=step) for step in range(500)]),
    "instant": (pa.timestamp("us", "UTC"), [START - datetime.timedelta(days=step) for step in range(500)]),
    "nothing": (pa.null(), []),
    "time": (pa.time64("us"), [datetime.time(0), datetime.time(12, 30, 1, 5), datetime.time(23, 59)]),
}
DIRECTIONS = ["", " desc", " nulls first", " desc nulls first"]
#: Columns that make the rows longer than any key.
FILLERS = 12


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A column of each type, with nulls, the number of each row, and others."""
    numbers = random.Random(19)
    columns: dict[str, pa.Array] = {"id": pa.array(range(ROWS))}
    for name, (kind, values) in VALUES.items():
        columns[name] = pa.array(numbers.choices([None, *values], k=ROWS), kind)
    columns["random"] = pa.array(numbers.choices(range(2**40), k=ROWS))
    columns["falling"] = pa.array(range(ROWS, 0, -1))
    columns["s"] = pa.StructArray.from_arrays(
        [columns["small"], columns["random"]], ["b", "c"], mask=pa.array([at % 5 == 0 for at in range(ROWS)])
    )
    for filler in range(FILLERS):
        columns[f"filler{filler}"] = pa.array([f"{filler} of {row * 7919 % 1_000_003}" for row in range(ROWS)])
    return pa.table(columns)


@pytest.fixture(scope="module")
def file(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table in a Parquet file of many row groups."""
    path: Path = tmp_path_factory.mktemp("first") / "rows.parquet"
    pq.write_table(table, path, row_group_size=17_000)
    return path


def by_duckdb(judged: pa.Table, order: str, where: str = "true", limit: int = 10) -> list[int]:
    """The numbers of the first rows; those that are equal in the order stay as they were."""
    rows = duckdb.sql(f"SELECT id FROM judged WHERE {where} ORDER BY {order}, id LIMIT {limit}").fetchall()
    return [row[0] for row in rows]


def check(judged: pa.Table, scan: lr.Scan, expected: list[int]) -> None:
    """Whole rows are compared, so that no column is that of another row."""
    found = scan.to_arrow()
    assert found["id"].to_pylist() == expected
    wanted = judged.take(pa.array(expected, pa.int64()))
    for name in ("random", "filler3", "text", "price", "s"):
        assert found[name].to_pylist() == wanted[name].to_pylist(), name


@pytest.mark.parametrize("column", VALUES)
def test_each_type(table: pa.Table, file: Path, column: str) -> None:
    for direction in DIRECTIONS:
        order = f'"{column}"{direction}'
        for limit in (1, 10, 1500):
            check(table, lr.scan(file, order_by=order, limit=limit), by_duckdb(table, order, limit=limit))


def test_several_terms(table: pa.Table, file: Path) -> None:
    numbers = random.Random(11)
    for _ in range(40):
        names = numbers.sample([*VALUES, "random", "falling"], k=numbers.randint(2, 4))
        order = ", ".join(f'"{name}"{numbers.choice(DIRECTIONS)}' for name in names)
        limit = numbers.choice([1, 10, 100, 3000, ROWS])
        where = numbers.choice(
            ["true", "small > 100", "text = 'a' AND flag", "random % 1000 = 7", "id < 0", "name LIKE '%77%'"]
        )
        rows = lr.scan(file, order_by=order, limit=limit, where=None if where == "true" else where)
        check(table, rows, by_duckdb(table, order, where, limit))


def test_fields_of_structs(table: pa.Table, file: Path) -> None:
    for order in ("s.c", "s.c desc", "s.b desc nulls first, s.c"):
        check(table, lr.scan(file, order_by=order, limit=25), by_duckdb(table, order, limit=25))


def test_rows_that_come_in_the_other_order(table: pa.Table, file: Path) -> None:
    for order in ("falling", "id desc", "falling, random"):
        check(table, lr.scan(file, order_by=order, limit=25), by_duckdb(table, order, limit=25))


def delta_of(table: pa.Table, folder: Path) -> str:
    """A Delta table of these rows, some of which have been deleted and written again."""
    place = f"delta:{folder / 'table'}"
    lr.copy(table.slice(0, ROWS // 2), place)
    lr.copy(table.slice(ROWS // 2), place, mode="append")
    target = lr.Table(place, key="id")
    target.delete("id % 3 = 0")
    target.upsert(table.filter(pa.compute.equal(pa.compute.bit_wise_and(table["id"], 255), 0)))
    return place


def orc_of(table: pa.Table, folder: Path) -> str:
    lr.copy(table, folder / "rows.orc")
    return str(folder / "rows.orc")


def folder_of(table: pa.Table, folder: Path) -> str:
    """Files of which some lack columns."""
    (folder / "many").mkdir()
    for number in range(4):
        part = table.slice(number * ROWS // 4, ROWS // 4)
        pq.write_table(part.drop_columns(["price"]) if number == 2 else part, folder / "many" / f"{number}.parquet")
    return str(folder / "many")


@pytest.mark.parametrize("write", [delta_of, orc_of, folder_of])
def test_other_places(table: pa.Table, tmp_path: Path, write: Callable[[pa.Table, Path], str]) -> None:
    # Other formats have no such types.
    place = write(table.drop_columns(["unsigned", "time", "nothing"]), tmp_path)
    options: dict[str, Any] = {"union_columns": True} if write is folder_of else {}
    rows = lr.scan(place, **options).to_arrow()
    for order in ("random", "price desc, random", "name nulls first, random desc", "falling"):
        query = f"SELECT id FROM rows ORDER BY {order}, id LIMIT 20"
        judged = duckdb.from_arrow(rows).query("rows", query).fetchall()
        found = lr.scan(place, order_by=f"{order}, id", limit=20, **options).to_arrow()
        assert found["id"].to_pylist() == [row[0] for row in judged], order
        assert found["filler3"].to_pylist() == [f"3 of {row[0] * 7919 % 1_000_003}" for row in judged]


def test_computed_columns_and_batches(table: pa.Table, file: Path) -> None:
    rows = lr.scan(file, columns=["random + 1 as next", "id"], order_by="next desc", limit=50, batch_rows=20)
    assert [batch.num_rows for batch in rows.batches()] == [20, 20, 10]
    assert rows.to_arrow()["id"].to_pylist() == by_duckdb(table, "random desc", limit=50)
    named = lr.scan(file, file_name_column="f", order_by="f, random", limit=5).to_arrow()
    assert named["id"].to_pylist() == by_duckdb(table, "random", limit=5)


def test_keys_alone_are_read_of_most_rows(table: pa.Table, file: Path) -> None:
    """Rows are counted as often as they are read: once by their keys, and the first ones again."""
    few, all_columns = (
        lr.scan(file, order_by="random", limit=10, columns=columns) for columns in (["id", "random"], None)
    )
    assert few.to_arrow()["id"].to_pylist() == all_columns.to_arrow()["id"].to_pylist()
    assert few.report()["rows"] == ROWS
    assert ROWS < all_columns.report()["rows"] < ROWS + 1000
