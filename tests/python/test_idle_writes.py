"""Writes that have nothing to write make no version of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def test_an_append_or_upsert_of_no_rows_makes_no_version(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    rows = pa.table({"id": [1, 2], "text": ["a", "b"]})
    lr.copy(rows, f"delta:{folder}")
    done = lr.copy(rows.slice(2), folder, mode="append")
    assert (done.rows, done.version, DeltaTable(folder).version()) == (0, None, 0)
    assert lr.Table(folder, key="id").upsert(rows.slice(2)).version is None
    # A column that comes without rows is a change.
    more = rows.slice(2).append_column("more", pa.array([], pa.int64()))
    assert lr.copy(more, folder, mode="append", evolve=["add"]).version == 1
    assert DeltaTable(folder).version() == 1
