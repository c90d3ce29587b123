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
OPERATORS = {"=": "eq", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
ENDINGS = ["parquet", "orc", "arrow"]


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
    for ending in ENDINGS:
        lr.copy(rows, tmp_path / f"rows.{ending}")
    return tmp_path


def is_a_float(number: str) -> bool:
    """Whether a number is the shortest text or the exact value of a float, or between both."""
    single = np.float32(float(number))
    bounds = sorted([Decimal(float(single)), Decimal(str(single))])
    return bounds[0] <= Decimal(number) <= bounds[1]


@pytest.mark.parametrize("operator", OPERATORS)
def test_numbers_that_are_a_float_are_it_for_polars_and_duckdb(folder: Path, operator: str) -> None:
    rows = lr.scan(folder / "rows.parquet").to_arrow()
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    near = [number for number in numbers() if is_a_float(number)]
    assert len(near) > 20
    for number in near:
        by_duckdb = duckdb.sql(f"SELECT id FROM rows WHERE g {operator} CAST({number} AS FLOAT)").to_arrow_table()["id"]
        compared = getattr(pl.col("g"), OPERATORS[operator])(pl.lit(float(np.float32(float(number))), pl.Float32))
        assert by_duckdb.to_pylist() == frame.filter(compared)["id"].to_list()
        for ending in ENDINGS:
            found = lr.scan(folder / f"rows.{ending}", where=f"g {operator} {number}").to_arrow()["id"]
            assert found.to_pylist() == by_duckdb.to_pylist(), (ending, operator, number)


@pytest.mark.parametrize("operator", OPERATORS)
def test_other_numbers_are_compared_exactly(folder: Path, operator: str) -> None:
    rows = lr.scan(folder / "rows.parquet").to_arrow()
    exact = [(row["id"], Decimal(row["g"])) for row in rows.to_pylist()]
    others = [number for number in numbers() if not is_a_float(number)]
    assert len(others) > 20
    for number in others:
        wanted = [key for key, value in exact if getattr(value, f"__{OPERATORS[operator]}__")(Decimal(number))]
        for ending in ENDINGS:
            found = lr.scan(folder / f"rows.{ending}", where=f"g {operator} {number}").to_arrow()["id"]
            assert found.to_pylist() == wanted, (ending, operator, number)


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
