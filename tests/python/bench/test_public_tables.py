"""The tables of `scan-public` and what is read of them, by everybody."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from lakerace_bench import public_cases, public_tables
from lakerace_bench.cli import main
from lakerace_bench.public_tables import PublicTable
from lakerace_bench.samples import RIGHT, read
from lakerace_bench.scan_filter import ScanFilter

SCALE = 0.02
MADE = [read for read in public_cases.reads(SCALE) if read[1].name in public_tables.ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize(("name", "columns"), [("weblog", 105), ("taxi", 19), ("events", 7)])
def test_tables_have_the_shape_of_the_public_ones(folder: Path, name: str, columns: int) -> None:
    table = PublicTable(name, SCALE)
    found = pq.read_table(table.files(folder)["parquet"])
    assert (found.num_rows, found.num_columns) == (table.rows, columns)
    assert found.equals(pq.read_table(PublicTable(name, SCALE).files(folder / "again")["parquet"]))


@pytest.mark.parametrize("read", [read for read in MADE if read[1].name != "wide"], ids=lambda read: read[0])
def test_filters_keep_some_rows(folder: Path, read: tuple[str, PublicTable, public_cases.Read]) -> None:
    _, table, (columns, where) = read
    rows = duckdb.read_parquet(str(table.files(folder)["parquet"]))
    assert set(columns or ()) <= set(rows.columns)
    if where is not None and where.column != "id":
        kept = len(rows.filter(where.sql).project(f'"{where.column}"').fetchall())
        assert 0 < kept < table.rows


def test_a_filter_has_all_its_parts() -> None:
    further = ScanFilter("b", like="%o'b%")
    assert ScanFilter("a", at_least=1, below=2, further=further).sql == '"a" >= 1 AND "a" < 2 AND "b" LIKE \'%o\'\'b%\''
    assert ScanFilter("a", one_of=("", "x")).job["sql"] == "\"a\" IN ('', 'x')"


def test_all_contestants_read_the_same(tmp_path: Path, folder: Path) -> None:
    cases = [
        f"scan-public/local/{name}"
        for name in ("weblog-search-cold", "weblog-phrase-cold", "taxi-far-warm", "events-all-warm")
    ]
    options = ["--quick", "--threads", "1", "--rounds", "1", "--only", "lakerace,duckdb,polars,pyarrow"]
    assert main(["run", *cases, *options, "--out", str(tmp_path), "--data", str(folder)]) == 0
    [path] = tmp_path.glob("*.jsonl")
    samples = read(path)[1]
    assert [(sample.verdict, sample.why) for sample in samples] == [(RIGHT, None)] * 16


def test_all_contestants_write_the_same(tmp_path: Path, folder: Path) -> None:
    cases = ["write-public/local/taxi-snappy", "write-public/local/weblog-zstd"]
    options = ["--quick", "--threads", "1", "--rounds", "1", "--only", "lakerace,duckdb,polars,pyarrow"]
    assert main(["run", *cases, *options, "--out", str(tmp_path), "--data", str(folder)]) == 0
    [path] = tmp_path.glob("*.jsonl")
    samples = [sample for sample in read(path)[1] if sample.round > 0]
    assert [(sample.verdict, sample.why) for sample in samples] == [(RIGHT, None)] * 8
