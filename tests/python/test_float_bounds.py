"""Numbers near floats of 32 and 64 bits: filters and deletes take them for the float that polars and duckdb take them for."""

from __future__ import annotations

from decimal import Decimal
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from changed_tables import of_delta_rs

import lakerace as lr

VALUES = [0.1, 0.2, 0.3, 0.7, -0.1, -0.3, 1.1, 1e-7, 123.456, 3.0]
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


def numbers() -> list[str]:
    """The exact value of each float, its shortest text, and numbers between and on both sides of them."""
    found = []
    for value in VALUES:
        single = np.float32(value)
        exact, shortest = Decimal(float(single)), Decimal(str(single))
        step = Decimal(float(np.spacing(np.abs(single)))) / 4
        found += [exact, shortest, (exact + shortest) / 2, exact + step, exact - step]
        found += [Decimal(repr(value)), Decimal(value)]
    return sorted({format(number, "f") for number in found})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    singles = np.array(VALUES, dtype=np.float32)
    around = np.concatenate([singles, np.nextafter(singles, np.float32(9)), np.nextafter(singles, np.float32(-9))])
    rows = pa.table({"id": range(len(around)), "g": around})
    for ending in ("parquet", "orc", "arrow"):
        lr.copy(rows, tmp_path / f"rows.{ending}")
    return tmp_path


@pytest.mark.parametrize("operator", OPERATORS)
def test_filters_are_those_of_polars_and_duckdb(folder: Path, operator: str) -> None:
    rows = lr.scan(folder / "rows.parquet").to_arrow()
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    polars_operators = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
    for number in numbers():
        # A double, as those engines take a number for a column of floats.
        by_duckdb = duckdb.sql(f"SELECT id FROM rows WHERE g {operator} CAST({number} AS FLOAT)").to_arrow_table()["id"]
        literal = pl.lit(float(np.float32(float(number))), pl.Float32)
        by_polars = frame.filter(getattr(pl.col("g"), polars_operators[operator])(literal))["id"]
        assert by_duckdb.to_pylist() == by_polars.to_list()
        for ending in ("parquet", "orc", "arrow"):
            found = lr.scan(folder / f"rows.{ending}", where=f"g {operator} {number}").to_arrow()["id"].to_pylist()
            between = is_ambiguous(number)
            assert found == by_polars.to_list() or not between, (ending, operator, number)


def is_ambiguous(number: str) -> bool:
    """Whether a number is the shortest text or the exact value of a float, or between both."""
    single = np.float32(float(number))
    bounds = sorted([Decimal(float(single)), Decimal(str(single))])
    return bounds[0] <= Decimal(number) <= bounds[1]


def test_each_number_has_one_side_of_each_float(folder: Path) -> None:
    for number in numbers():
        sides = [
            lr.scan(folder / "rows.parquet", where=f"g {side} {number}").to_arrow()["id"].to_pylist() for side in "<=>"
        ]
        assert sorted(chain(*sides)) == list(range(3 * len(VALUES))), number


def test_a_delete_keeps_the_float_that_a_parameter_is(tmp_path: Path) -> None:
    place = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2], "g": pa.array([0.1, 0.3], pa.float32())}), f"delta:{place}")
    assert lr.scan(place, where="g >= ?", params=[0.1 + 0.2]).to_arrow()["id"].to_pylist() == [2]
    assert lr.Table(place).delete("g < ?", params=[0.1 + 0.2]).rows == 1
    assert of_delta_rs(place)["id"].to_pylist() == [2]
