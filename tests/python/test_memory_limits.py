"""A limit of memory that is too small for the columns is the same error of every command, with the least one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: The least limits of one column, of two, and of the 16 columns of `lineitem`.
LEAST_KEY, LEAST, LEAST_LINEITEM = 49_152, 65_536, 294_912

COMMANDS = {
    "copy": ("copy", "rows.parquet", "delta:made"),
    "copy keyed": ("copy", "rows.parquet", "delta:made", "--table-property", "lakerace.primaryKey=id"),
    "copy dry": ("copy", "rows.parquet", "table", "--mode", "append", "--dry-run"),
    "upsert": ("upsert", "table", "rows.parquet"),
    "upsert dry": ("upsert", "table", "rows.parquet", "--dry-run"),
    "upsert explain": ("upsert", "table", "rows.parquet", "--explain"),
    "delete": ("delete", "table", "--keys", "rows.parquet"),
    "delete dry": ("delete", "table", "--keys", "rows.parquet", "--dry-run"),
    "update": ("update", "table", "--set", "text = upper(text)"),
    "update dry": ("update", "table", "--set", "text = upper(text)", "--dry-run"),
    "compact": ("compact", "table"),
    "compact dry": ("compact", "table", "--dry-run"),
    "compact sorted": ("compact", "table", "--sort-by", "id"),
    "verify": ("verify", "table"),
    "verify other key": ("verify", "table", "--key", "id,text"),
    "diff": ("diff", "table", "rows.parquet"),
    "diff summary": ("diff", "rows.parquet", "table", "--key", "id", "--summary"),
    "scan sorted": ("scan", "rows.parquet", "--order-by", "id"),
    "scan first": ("scan", "table", "--order-by", "text desc, id", "--limit", "3"),
    "scan explain": ("scan", "rows.parquet", "--order-by", "id", "--explain"),
    "copy sorted": ("copy", "rows.parquet", "sorted.parquet", "--order-by", "id"),
    "copy sorted dry": ("copy", "rows.parquet", "sorted.parquet", "--order-by", "id", "--dry-run"),
    "tpch": ("tpch", "-s", "0.001", "-o", "tpch"),
    "tpch delta": ("tpch", "-s", "0.001", "-o", "tpch", "--format", "delta", "--tables", "region,lineitem"),
}

CALLS: dict[str, Callable[[Path, int], object]] = {
    "copy": lambda at, size: lr.copy(at / "rows.parquet", f"delta:{at}/made", memory_limit=size),
    "upsert": lambda at, size: lr.Table(at / "table").upsert(at / "rows.parquet", memory_limit=size),
    "update": lambda at, size: lr.Table(at / "table").update({"text": "'x'"}, memory_limit=size),
    "merge": lambda at, size: (
        lr.Table(at / "table").merge(at / "rows.parquet", memory_limit=size).when_matched_update_all().execute()
    ),
    "compact": lambda at, size: lr.Table(at / "table").compact(memory_limit=size),
    "verify": lambda at, size: lr.Table(at / "table").verify(memory_limit=size),
    "scan": lambda at, size: lr.scan(at / "rows.parquet", order_by="id", memory_limit=size).to_arrow(),
    "diff": lambda at, size: lr.diff(at / "table", at / "rows.parquet", memory_limit=size),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file, and a table with a key."""
    rows = pa.table({"id": range(10), "text": [f"text {n}" for n in range(10)]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    lr.copy(rows, f"delta:{tmp_path}/table", table_properties={"lakerace.primaryKey": "id"})
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_it_before_it_writes(folder: Path, name: str) -> None:
    least = {"tpch": LEAST_LINEITEM, "delete": LEAST_KEY}.get(name.split(maxsplit=1)[0], LEAST)
    before = sorted(folder.rglob("*"))
    for size in (1, 1000, least - 1):
        done = run(*COMMANDS[name], "--memory-limit", size, cwd=folder)
        assert done.code == 2
        limit = "1 byte" if size == 1 else f"{size} bytes"
        assert f"a memory limit of {limit} is too small for rows of" in done.err
        assert f"(allow {least} bytes or more with --memory-limit)" in done.err
        assert sorted(folder.rglob("*")) == before
    done = run(*COMMANDS[name], "--memory-limit", least, cwd=folder)
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", CALLS)
def test_python_refuses_it_too(folder: Path, name: str) -> None:
    with pytest.raises(lr.UsageError, match=f"rows of 2 columns.*allow {LEAST} bytes or more with memory_limit"):
        CALLS[name](folder, LEAST - 1)
    CALLS[name](folder, LEAST)


def test_options_of_a_delete_by_keys_are_errors_with_a_condition(folder: Path) -> None:
    for option in (
        ("--memory-limit", "1MB"),
        ("--key", "id"),
        ("--input-format", "csv"),
        ("--delimiter", ";"),
        ("--schema", "id int64"),
        ("--on-bad-row", "skip"),
        ("--null-string", "x"),
        ("--infer-rows", "3"),
        ("--no-header",),
    ):
        done = run("delete", "table", "--where", "id = 1", *option, cwd=folder)
        assert done.code == 2
        assert f"'{option[0]}" in done.err
        assert "--where" in done.err
        assert pl.read_delta(str(folder / "table")).height == 10
    done = run("delete", "table", "--keys", "rows.parquet", "--key", "id", "--param", "1", cwd=folder)
    assert done.code == 2
    assert "'--param" in done.err
    assert pl.read_delta(str(folder / "table")).height == 10
    ok("delete", "table", "--keys", "rows.parquet", "--key", "id", "--memory-limit", "1MB", cwd=folder)
    assert pl.read_delta(str(folder / "table")).height == 0


def test_keys_of_several_passes_are_those_of_duckdb(tmp_path: Path) -> None:
    rows = pa.table({"id": [n * n % 30_011 for n in range(30_000)]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    lr.copy(rows, f"delta:{tmp_path}/table")
    [doubles] = duckdb.sql(
        f"SELECT count(*) FROM (SELECT id FROM '{tmp_path}/rows.parquet' GROUP BY id HAVING count(*) > 1)"
    ).fetchall()
    assert doubles[0] > 10_000
    report = lr.Table(tmp_path / "table", key="id").verify(memory_limit=49_152)
    assert [finding.subject for finding in report.findings] == ["key"]
    assert f"{doubles[0]} keys" in report.findings[0].problem.replace(",", "")
