"""Decimals in queries: duckdb gets those of up to 18 digits in 64 bits. duckdb with its own reader is the judge."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("digits", [1, 4, 5, 9, 10, 15, 18, 19, 35])
@pytest.mark.parametrize("as_integer", [False, True])
@pytest.mark.parametrize("where", ["", " WHERE id % 3 = 0", " WHERE d > 0", " WHERE id > 400"])
def test_decimals_are_those_of_duckdb(tmp_path: Path, digits: int, as_integer: bool, where: str) -> None:
    scale = min(digits, 2)
    most = 10**digits - 1
    numbers = [None if row % 7 == 0 else (most - row % 9 if row % 2 else -(row % (most + 1))) for row in range(1_000)]
    # As texts: pyarrow takes the digits of the first value for all.
    values = [None if number is None else f"{Decimal(number).scaleb(-scale, Context(prec=40)):f}" for number in numbers]
    rows = pa.table({"id": range(1_000), "d": pa.array(values).cast(pa.decimal128(digits, scale))})
    file = tmp_path / "decimals.parquet"
    pq.write_table(rows, file, store_decimal_as_integer=as_integer and digits <= 18, row_group_size=300)
    lr.copy(rows, tmp_path / "decimals.orc")
    lr.copy(rows, tmp_path / "decimals.csv")
    lr.copy(rows, tmp_path / "decimals.arrow")
    lr.copy(rows, f"delta:{tmp_path / 'lake'}")
    query = "SELECT count(*), count(d), sum(d)::VARCHAR, min(d), max(d), count(DISTINCT d) FROM {}" + where
    expected = duckdb.sql(query.format(f"'{file}'")).fetchall()
    for place in (file, tmp_path / "decimals.orc", tmp_path / "decimals.arrow", f"delta:{tmp_path / 'lake'}"):
        assert list(lr.sql(query.format(f"'{place}'"))) == expected, place
    scan = lr.scan(tmp_path / "decimals.csv", schema=f"id int64, d decimal({digits},{scale})")
    assert list(lr.sql(query.format("x"), x=scan)) == expected
