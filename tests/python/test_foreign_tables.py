"""Folders of tables in other formats: their files have rows that the tables have not."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from s3server import S3

import lakerace as lr


def iceberg(folder: Path) -> Path:
    """The layout of the Iceberg specification: of two data files, the second snapshot has removed one."""
    for name, ids in (("00000-0-a.parquet", [1, 2]), ("00000-1-b.parquet", [3])):
        (folder / "data").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": ids}), folder / "data" / name)
    metadata = folder / "metadata"
    metadata.mkdir()
    snapshots = [{"snapshot-id": 1, "manifest-list": "snap-1.avro"}, {"snapshot-id": 2, "manifest-list": "snap-2.avro"}]
    for version in (1, 2):
        text = json.dumps({"format-version": 2, "snapshots": snapshots[:version], "current-snapshot-id": version})
        (metadata / f"v{version}.metadata.json").write_text(text)
        lr.copy(pa.table({"manifest_path": ["m.avro"]}), metadata / f"snap-{version}.avro")
    (metadata / "version-hint.text").write_text("2")
    return folder


def hudi(folder: Path) -> Path:
    """The layout of a copy-on-write table of Hudi: the second file is a later version of the first one."""
    (folder / ".hoodie").mkdir(parents=True)
    (folder / ".hoodie" / "hoodie.properties").write_text("hoodie.table.type=COPY_ON_WRITE\n")
    for name, ids in (("f1-0_0-1_001.parquet", [1, 2]), ("f1-0_0-2_002.parquet", [1])):
        pq.write_table(pa.table({"id": ids}), folder / name)
    return folder


TABLES = {"Iceberg": iceberg, "Hudi": hudi}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_format_is_not_read_by_its_files(tmp_path: Path, name: str) -> None:
    table = TABLES[name](tmp_path / "table")
    for location in (table, f"{table}/", f"{tmp_path}/", f"{tmp_path}/**/*.parquet", f"{table}/**/*.parquet"):
        for call in (("scan", location), ("schema", location), ("copy", location, tmp_path / "out.parquet")):
            done = run(*call)
            assert done.code == 6, (call, done.out, done.err)
            assert f"its files belong to the {name} table {table}" in done.err
            assert "and copy the rows" in done.err
            assert "*.parquet" not in done.err.split("error: ", 1)[1].replace(str(location), "")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("name", TABLES)
def test_its_files_are_read_where_that_is_asked_for(tmp_path: Path, name: str) -> None:
    table = TABLES[name](tmp_path / "table")
    pattern = f"{table}/**/*.parquet"
    expected = sorted(row["id"] for path in table.rglob("*.parquet") for row in pq.read_table(path).to_pylist())
    found = lr.scan(pattern, format="parquet").to_arrow()["id"].to_pylist()
    assert sorted(found) == expected
    one = next(table.rglob("*.parquet"))
    assert lr.scan(one).to_arrow().equals(pq.read_table(one))


def test_a_table_on_a_store(tmp_path: Path, s3: S3) -> None:
    table = iceberg(tmp_path / "table")
    for path in sorted(table.rglob("*.*")):
        s3.put(f"{tmp_path.name}/t/{path.relative_to(table)}", path.read_bytes())
    place = s3.url(f"{tmp_path.name}/t")
    done = run("scan", place, env=s3.env)
    assert done.code == 6, done.err
    assert f"its files belong to the Iceberg table {place}" in done.err


def test_folders_that_only_look_like_tables(tmp_path: Path) -> None:
    for folder in ("metadata", "data"):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"id": [1]}), tmp_path / folder / "a.parquet")
    assert ok("scan", f"{tmp_path}/", "--count").out == "2\n"
