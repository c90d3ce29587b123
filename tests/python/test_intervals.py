"""Intervals: months, days and milliseconds of Parquet, as duckdb reads and writes them."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import ok

import lakerace as lr

VALUES = ["14 months 3 days 4 seconds", "1 year", "0 days", "90 minutes", "2147483647 months", "49 days 1 millisecond"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    rows = ", ".join(f"({at}, INTERVAL '{value}')" for at, value in enumerate(VALUES))
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}, (99, NULL)) t(id, iv) ORDER BY id) TO '{path}' (FORMAT parquet)")
    return path


def read(path: Path, column: str = "iv::varchar") -> list[tuple[object, ...]]:
    return duckdb.sql(f"SELECT {column} FROM '{path}'").fetchall()


def test_a_copy_keeps_every_part(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.parquet"
    lr.copy(source, target, verify=True)
    assert read(target) == read(source)
    assert lr.scan(source).schema.field("iv").type == pa.month_day_nano_interval()
    values = lr.scan(source).to_arrow()["iv"].to_pylist()
    assert (values[0].months, values[0].days, values[0].nanoseconds) == (14, 3, 4_000_000_000)
    assert values[-1] is None


def test_arrow_keeps_them_and_gives_them_back(source: Path, tmp_path: Path) -> None:
    lr.copy(source, tmp_path / "a.arrow")
    lr.copy(tmp_path / "a.arrow", tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet") == read(source)


@pytest.mark.parametrize("value", [(-1, 0, 0), (0, -1, 0), (0, 0, -1_000_000), (0, 0, 1), (0, 0, 1 << 62)])
def test_what_parquet_has_no_place_for_is_refused(tmp_path: Path, value: tuple[int, int, int]) -> None:
    rows = pa.table({"iv": pa.array([(1, 1, 0), value], pa.month_day_nano_interval())})
    with pytest.raises(lr.UnsupportedError, match=r'column "iv".*can\'t be stored in Parquet'):
        lr.copy(rows, tmp_path / "b.parquet")
    assert not (tmp_path / "b.parquet").exists()


def test_other_formats_have_their_text_or_refuse_them(source: Path, tmp_path: Path) -> None:
    lr.copy(source, tmp_path / "a.jsonl")
    first = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])["iv"]
    assert "14 mons 3 days" in first
    for target in (tmp_path / "a.csv", tmp_path / "a.orc", f"delta:{tmp_path / 't'}"):
        with pytest.raises(lr.UnsupportedError, match="iv"):
            lr.copy(source, target)


def test_months_within_other_columns_are_not_lost(tmp_path: Path) -> None:
    for name, value in (("days", "3 days 4 seconds"), ("months", "2 months")):
        path = tmp_path / f"{name}.parquet"
        duckdb.sql(f"COPY (SELECT [INTERVAL '{value}'] AS ivs, 1 AS id) TO '{path}' (FORMAT parquet)")
    lr.copy(tmp_path / "days.parquet", tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet", "ivs::varchar") == read(tmp_path / "days.parquet", "ivs::varchar")
    with pytest.raises(lr.UnsupportedError, match="intervals with months"):
        lr.scan(tmp_path / "months.parquet").to_arrow()
    assert ok("scan", tmp_path / "months.parquet", "--columns", "id", "--count", "--json")
