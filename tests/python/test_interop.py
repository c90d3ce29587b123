"""Scans as Arrow streams in other libraries, and their streams as sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import people

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def test_pyarrow(parquet: Path) -> None:
    scan = lr.scan(parquet)
    assert pa.table(scan).to_pylist() == people().to_pylist()
    assert pa.RecordBatchReader.from_stream(scan).read_all().to_pylist() == people().to_pylist()
    assert pa.schema(scan).names == ["id", "name", "score"]
    assert scan.to_arrow().to_pylist() == people().to_pylist()


def test_polars(parquet: Path) -> None:
    frame = lr.scan(parquet).to_polars()
    assert frame.equals(pl.from_arrow(people()))
    assert pl.DataFrame(lr.scan(parquet, columns=["id"]))["id"].sum() == 499_500


def test_pandas(parquet: Path) -> None:
    frame = lr.scan(parquet).to_pandas()
    assert frame["id"].sum() == 499_500
    assert frame["name"].isna().sum() == 143
    assert frame["name"].iloc[1] == "name 1"


def test_duckdb(parquet: Path) -> None:
    scan = lr.scan(parquet, where="id < 100")  # noqa: F841, duckdb finds it by its name
    assert duckdb.sql("SELECT count(*), sum(id) FROM scan").fetchall()[0] == (100, 4950)
    relation = duckdb.from_arrow(lr.scan(parquet))
    assert relation.aggregate("count(name)").fetchall()[0] == (857,)


def test_sources(parquet: Path, tmp_path: Path) -> None:
    expected = lr.checksum(parquet)
    frames = {
        "polars": pl.read_parquet(parquet),
        "pandas": pd.read_parquet(parquet, dtype_backend="pyarrow"),
        "duckdb": duckdb.sql(f"SELECT * FROM '{parquet}'"),
        "pyarrow": pa.table(lr.scan(parquet)),
    }
    for name, frame in frames.items():
        assert lr.checksum(frame) == expected, name
        lr.copy(frame, tmp_path / f"{name}.parquet")
        assert lr.checksum(tmp_path / f"{name}.parquet") == expected, name


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_requested_types_are_given(parquet: Path, kind: pa.DataType) -> None:
    wanted = pa.schema({"id": pa.int32(), "name": kind, "score": pa.float32()})
    table = pa.RecordBatchReader.from_stream(lr.scan(parquet), schema=wanted).read_all()
    assert table.schema.types == wanted.types
    assert table["name"].to_pylist() == people()["name"].to_pylist()
    assert pc.sum(table["id"]).as_py() == 499_500


def test_requested_types_that_do_not_fit(parquet: Path) -> None:
    other = pa.schema({"x": pa.int64(), "name": pa.string(), "score": pa.float64()})
    with pytest.raises(lr.UsageError, match="other columns"):
        pa.RecordBatchReader.from_stream(lr.scan(parquet), schema=other)
    narrow = pa.schema({"id": pa.int8(), "name": pa.string(), "score": pa.float64()})
    with pytest.raises(pa.ArrowInvalid, match="invalid_input: id"):
        pa.RecordBatchReader.from_stream(lr.scan(parquet), schema=narrow).read_all()


def test_a_stream_that_is_dropped_early_stops(parquet: Path) -> None:
    for _ in range(20):
        reader = pa.RecordBatchReader.from_stream(lr.scan(parquet, batch_rows=10))
        reader.read_next_batch()
        del reader


def test_errors_in_mid_stream_keep_their_class(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("a\n" + "1\n" * 2_000_000 + "x\n")
    scan = lr.scan(path)
    for consume in (scan.to_arrow, scan.to_polars, scan.to_pandas, lambda: list(scan.batches())):
        with pytest.raises(lr.InvalidInputError, match=r"late\.csv"):
            consume()
    with pytest.raises(Exception, match="invalid_input") as raised:
        pa.table(scan)
    assert "late.csv" in str(raised.value)
