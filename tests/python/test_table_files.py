"""Folders and patterns that lead to the files of Delta tables, some of which a version has removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from conftest import run
from deltalake import DeltaTable

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 40 rows, whose first file was removed, divided by day."""
    folder = tmp_path / "lake" / "table"
    rows = pa.table({"id": range(40), "day": [number % 2 for number in range(40)]})
    for _ in range(2):
        lr.copy(rows, f"delta:{folder}", mode="overwrite", partition_by=["day"])
    assert DeltaTable(folder).to_pyarrow_table().num_rows == 40
    return folder


def test_files_of_a_table_are_not_read_for_its_rows(table: Path) -> None:
    lake = table.parent
    for place in [
        table / "*" / "*.parquet",
        table / "**" / "*.parquet",
        table / "day=1" / "*.parquet",
        table / "day=1",
        lake / "*" / "day=0" / "*.parquet",
        lake,
        lake / "t*",
    ]:
        with pytest.raises(lr.UsageError, match=r"belong to the Delta table .*/lake/table"):
            lr.scan(place).count()
    done = run("scan", table / "*" / "*.parquet", "--count")
    assert done.code == 2
    assert "--input-format" in done.err
    # Said to be files, they are read as such, with those that were removed; and so is one that is named.
    assert lr.scan(table / "**" / "*.parquet", format="parquet").count() == 80
    assert lr.scan(table / "day=1", format="parquet").count() == 40
    assert lr.scan(next((table / "day=1").glob("*.parquet"))).count() == 20
    assert lr.scan(table).count() == 40
    assert lr.scan(table / "_delta_log" / "*.json", format="jsonl").count() > 0


def test_files_next_to_a_table_are_read(table: Path) -> None:
    lake = table.parent
    lr.copy(pa.table({"id": [1, 2]}), lake / "other" / "a.parquet")
    lr.copy(pa.table({"id": [3]}), lake / "b.parquet")
    assert lr.scan(lake / "other").count() == 2
    assert lr.scan(lake / "*.parquet").count() == 1
    assert lr.scan(lake / "o*" / "*.parquet").count() == 2
