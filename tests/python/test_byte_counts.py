"""Bytes as texts with a unit, as the command takes them."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok

import lakerace as lr
from lakerace.files import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = pa.table({"id": range(1000), "text": [f"text {n}" * 20 for n in range(1000)]})


def test_texts_mean_what_numbers_mean(tmp_path: Path) -> None:
    whole = pa.table({"text": [f"{n:0200}" for n in range(50_000)]})
    rows = pa.Table.from_batches(whole.to_batches(max_chunksize=1000))
    lr.copy(rows, tmp_path / "number.parquet", row_group_bytes=2_000_000, compression="none")
    lr.copy(rows, tmp_path / "text.parquet", row_group_bytes="2MB", compression="none")
    groups = [pq.ParquetFile(tmp_path / f"{name}.parquet").num_row_groups for name in ("number", "text")]
    assert groups[0] == groups[1] > 1


CALLS: dict[str, Callable[[Path, Any], object]] = {
    "copy memory_limit": lambda at, size: lr.copy(ROWS, f"delta:{at}/copied", memory_limit=size),
    "copy row_group_bytes": lambda at, size: lr.copy(ROWS, at / "a.parquet", row_group_bytes=size),
    "copy file_bytes": lambda at, size: lr.copy(ROWS, f"{at}/folder/", output_format="csv", file_bytes=size),
    "scan max_request_size": lambda at, size: lr.scan(at / "there.parquet", max_request_size=size).count(),
    "scan prefetch_size": lambda at, size: lr.scan(at / "there.parquet", prefetch_size=size).count(),
    "upsert memory_limit": lambda at, size: lr.Table(at / "table", key="id").upsert(ROWS, memory_limit=size),
    "verify memory_limit": lambda at, size: lr.Table(at / "table", key="id").verify(memory_limit=size),
    "compact target_size": lambda at, size: lr.Table(at / "table").compact(target_size=size),
    "compact memory_limit": lambda at, size: lr.Table(at / "table").compact(memory_limit=size),
    "tpch memory_limit": lambda at, size: lr.tpch(at / "tpch", sf=0.001, tables=["region"], memory_limit=size),
    "tpch row_group_bytes": lambda at, size: lr.tpch(at / "tpch", sf=0.001, tables=["region"], row_group_bytes=size),
    "tpch file_bytes": lambda at, size: lr.tpch(at / "tpch", sf=0.001, tables=["region"], file_bytes=size),
    "store pack_bytes": lambda at, size: Store(at / "pack.db", pack_bytes=size).close(),
    "store wal_limit_bytes": lambda at, size: Store(at / "wal.db", wal_limit_bytes=size).close(),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_limit_takes_texts_and_names_a_wrong_one(tmp_path: Path, call: str) -> None:
    pq.write_table(ROWS, tmp_path / "there.parquet")
    lr.copy(ROWS, f"delta:{tmp_path}/table")
    for wrong in ["64 apples", "", "-1MB"]:
        with pytest.raises(lr.UsageError, match="is not a size"):
            CALLS[call](tmp_path, wrong)
    with pytest.raises(TypeError):
        CALLS[call](tmp_path, [64])
    CALLS[call](tmp_path, "16KiB" if "store" in call else "64MB")


def test_pages_of_a_store_take_texts(tmp_path: Path) -> None:
    Store(tmp_path / "pack.db", page_bytes="16KiB").close()
    database = sqlite3.connect(tmp_path / "pack.db")
    assert database.execute("PRAGMA page_size").fetchone() == (16384,)
    database.close()


def test_the_plan_of_a_count_is_that_of_counting(tmp_path: Path) -> None:
    table = pa.table({"id": range(50_000), "text": [f"text {number}" for number in range(50_000)]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=10_000)
    explained = [
        ok("scan", tmp_path / "rows.parquet", *arguments, "--explain", "--json").json["explain"]
        for arguments in (["--count"], ["--count", "--where", "id % 2 = 1"], ["--where", "id % 2 = 1"])
    ]
    (none, of_filter, whole) = (plan["alternatives"][0] for plan in explained)
    assert (none["requests"], none["wanted_bytes"]) == (0, 0)
    # The column of the filter alone, as the footer has it.
    groups = pq.read_metadata(tmp_path / "rows.parquet")
    chunks = [groups.row_group(at).column(0).total_compressed_size for at in range(groups.num_row_groups)]
    assert sum(chunks) <= of_filter["wanted_bytes"] < whole["wanted_bytes"]
    assert explained[0]["plan"]["request"]["columns"] == []
