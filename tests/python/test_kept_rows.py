"""Rows that a filter keeps, few and many of them, of each type and encoding, with and without nulls, judged by pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lakerace as lr
from lakerace_bench import typed_columns

ROWS = 50_000
#: Of 10,000 numbers, those below one of these are kept: none, few in a page, one in four, most, all.
BOUNDS = (0, 3, 150, 2_500, 9_000, 10_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columns")


@pytest.mark.parametrize("null_percent", [0, 1, 50])
@pytest.mark.parametrize("column", [column for column in typed_columns.columns(ROWS) if not column.null_percent])
def test_kept_rows_are_those_of_pyarrow(folder: Path, column: typed_columns.TypedColumn, null_percent: int) -> None:
    numbers = np.random.default_rng(11)
    values = pq.read_table(column.files(folder)["parquet"])["value"].combine_chunks()
    absent = numbers.integers(100, size=ROWS) < null_percent
    values = pc.if_else(pa.array(absent), pa.scalar(None, values.type), values)
    table = pa.table({"number": pa.array(numbers.integers(10_000, size=ROWS)), "value": values})
    path = folder / f"{column.name}-{null_percent}.parquet"
    column.write_table(table, path, data_page_size=16 << 10, write_page_index=True)
    for bound in BOUNDS:
        kept = table.filter(pc.field("number") < bound)
        found = pa.table(lr.scan(str(path), where=f"number < {bound}")).cast(table.schema)
        assert found.equals(kept), bound
