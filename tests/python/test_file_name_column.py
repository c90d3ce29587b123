"""The name of a row's file as a column, as polars and duckdb add it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folders of files of each format, of three rows each."""
    for ending in ("parquet", "orc", "csv", "tsv", "jsonl", "json"):
        for number in range(4):
            target = tmp_path / ending / f"part={number % 2}" / f"{number} é.{ending}"
            target.parent.mkdir(parents=True, exist_ok=True)
            lr.copy(pa.table({"id": range(3 * number, 3 * number + 3), "text": ["a", "b", None]}), target)
    return tmp_path


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "tsv", "jsonl", "json"])
def test_each_row_has_the_name_of_its_file(folder: Path, ending: str) -> None:
    found = lr.scan(folder / ending, file_name_column="file").to_arrow()
    assert found.column_names == ["id", "text", "part", "file"]
    expected = {
        number: str(path)
        for path in (folder / ending).rglob(f"*.{ending}")
        for number in lr.scan(path).to_arrow()["id"].to_pylist()
    }
    assert dict(zip(found["id"].to_pylist(), found["file"].to_pylist(), strict=True)) == expected
    if ending in ("parquet", "csv"):
        read = f"read_{ending}('{folder}/{ending}/**/*.{ending}', filename='file', hive_partitioning=true)"
        assert duckdb.sql(f"SELECT id, file FROM {read} ORDER BY id").fetchall() == sorted(expected.items())
        frame = (pl.scan_parquet if ending == "parquet" else pl.scan_csv)(
            f"{folder}/{ending}/**/*.{ending}", include_file_paths="file"
        )
        assert dict(frame.select("id", "file").collect().rows()) == expected
    for where in (
        "file LIKE '%/3 é.%'",
        "file LIKE '%/3 é.%' AND part = 1",
        "id > 8 AND file IS NOT NULL",
        "length(file) > 3 AND id >= 9",
    ):
        kept = (
            lr.scan(folder / ending, columns=["id"], where=where, file_name_column="file").to_arrow()["id"].to_pylist()
        )
        assert sorted(kept) == [9, 10, 11], where
    assert lr.scan(folder / ending, columns=["file"], file_name_column="file", limit=2).count() == 2
    report = lr.schema(folder / ending, file_name_column="file")["columns"]
    assert [column["name"] for column in report] == ["id", "text", "part", "file"]


def test_files_that_a_filter_on_the_name_excludes_are_not_opened(folder: Path) -> None:
    one = str(folder / "parquet" / "part=1" / "3 é.parquet")
    (folder / "parquet" / "part=0" / "0 é.parquet").write_bytes(b"no Parquet file")
    scan = lr.scan(folder / "parquet", where="file = ?", params=[one], file_name_column="file")
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [9, 10, 11]
    with pytest.raises(lr.CorruptDataError):
        lr.scan(folder / "parquet", file_name_column="file")


def test_the_command_and_copies(folder: Path, tmp_path: Path) -> None:
    source, target = folder / "csv", tmp_path / "out.parquet"
    ok("copy", source, target, "--file-name-column", "file", "-q")
    counts = duckdb.sql(f"SELECT count(*), count(DISTINCT file) FROM '{target}'").fetchall()
    assert counts == [(12, 4)]
    ok("upsert", f"delta:{tmp_path}/table", source, "--key", "id", "--file-name-column", "file", "-q")
    assert pl.read_delta(str(tmp_path / "table"))["file"].n_unique() == 4
    schema = ok("schema", source, "--file-name-column", "file", "--json").json
    assert schema["columns"][-1] == {"name": "file", "type": "Utf8View", "nullable": True}


def test_where_it_does_not_apply(folder: Path, tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "file": ["x"]})
    for ending in ("parquet", "orc", "csv", "jsonl"):
        lr.copy(rows, tmp_path / f"own.{ending}")
        with pytest.raises(lr.UsageError, match='the files have a column "file" themselves'):
            lr.scan(tmp_path / f"own.{ending}", file_name_column="file")
    for name in ("part", ""):
        done = run("scan", folder / "csv", "--file-name-column", name)
        assert (done.code, "--file-name-column" in done.err) == (2, True), done.err
    lr.copy(rows, tmp_path / "a.arrow")
    lr.copy(rows, f"delta:{tmp_path}/table")
    for place in (tmp_path / "table", "tpch:region?sf=0.01"):
        done = run("scan", place, "--file-name-column", "name")
        assert (done.code, "--file-name-column does not apply" in done.err) == (2, True), done.err
    assert run("scan", tmp_path / "a.arrow", "--file-name-column", "name").code in (2, 6)


@pytest.mark.parametrize("how", ["where", "order_by", "columns", "computed"])
def test_columns_that_leave_it_out_are_an_error_unless_it_is_used(folder: Path, how: str) -> None:
    source = folder / "parquet"
    with pytest.raises(lr.UsageError, match=r"columns leaves out the column \"file\""):
        lr.scan(source, file_name_column="file", columns=["id"]).count()
    assert run("scan", source, "--file-name-column", "file", "--columns", "id").code == 2
    assert run("copy", source, folder / "new.parquet", "--file-name-column", "file", "--columns", "id").code == 2
    options = {
        "where": {"columns": ["id"], "where": "file LIKE '%.parquet'"},
        "order_by": {"columns": ["id"], "order_by": "file"},
        "columns": {"columns": ["file", "id"]},
        "computed": {"columns": ["length(file) as length", "id"]},
    }[how]
    assert len(lr.scan(source, file_name_column="file", **options).to_arrow()) == 12  # type: ignore[arg-type]
