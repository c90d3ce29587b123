"""Delta tables give the rows that Spark reads from them: the golden tables of Delta's own repository and those of
`delta_golden`."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa
import pytest

import lakerace as lr

GOLDEN = Path(__file__).parent / "delta_golden"
sys.path.insert(0, str(GOLDEN))

from conformance import corpus  # noqa: E402
from rows import digest, lines  # noqa: E402

CORPUS = corpus("delta")
NAMES = sorted({"column-mapping-id", *(path.stem for path in GOLDEN.glob("*.jsonl"))})
LARGE = sorted(path.stem for path in GOLDEN.glob("*.sha256"))

# Spark refuses these, too: no schema, no protocol, versions that are missing.
REFUSED = {
    "canonicalized-paths-normal-b": lr.CorruptDataError,
    "delete-re-add-same-file-different-transactions": lr.CorruptDataError,
    "deltalog-commit-info": lr.CorruptDataError,
    "deltalog-invalid-protocol-version": lr.CorruptDataError,
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": lr.CorruptDataError,
    "update-deleted-directory": lr.CorruptDataError,
    "versions-not-contiguous": lr.CorruptDataError,
}


def folder(name: str) -> Path:
    made = GOLDEN / "tables" / name
    return made if made.is_dir() else CORPUS / name


def expected(name: str) -> list[str]:
    # Made by the same statements. Spark 3.5 fails on it: its reader takes no missing field of a struct in a list by id.
    name = "column-mapping-name" if name == "column-mapping-id" else name
    return (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


def rows(scan: lr.Scan) -> list[str]:
    return lines(scan.to_arrow().to_pylist())


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_that_spark_reads(name: str) -> None:
    scan = lr.scan(folder(name))
    assert rows(scan) == expected(name)
    assert scan.count() == len(expected(name))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_broken_tables_are_refused(name: str) -> None:
    with pytest.raises(REFUSED[name], match=name):
        lr.scan(folder(name)).to_arrow()


def test_every_golden_table_is_tested() -> None:
    tables = {path.name for path in CORPUS.iterdir() if (path / "_delta_log").is_dir()}
    # Spark 3.5 does not know variants.
    assert tables <= {*NAMES, *LARGE, *REFUSED, "spark-variant-checkpoint"}
    assert lr.scan(CORPUS / "spark-variant-checkpoint").count() == 102


@pytest.mark.parametrize("name", LARGE)
def test_many_rows_are_those_that_spark_reads(name: str) -> None:
    wanted, count, _ = (GOLDEN / f"{name}.sha256").read_text().split()
    read = rows(lr.scan(folder(name)))
    assert len(read) == int(count)
    assert digest("".join(f"{line}\n" for line in read)) == wanted


@pytest.mark.parametrize("name", ["deletion-vectors", "partitions", "checkpoint-parts", "column-mapping-id"])
def test_parts_are_the_whole(name: str) -> None:
    parts = [pickle.loads(pickle.dumps(part)) for part in lr.scan(folder(name)).tasks(3)]
    assert sorted(line for part in parts for line in rows(part)) == expected(name)


def test_deleted_rows_are_left_out_of_filters_and_limits() -> None:
    table = folder("deletion-vectors")
    ids = [row["id"] for row in map(json.loads, expected("deletion-vectors"))]
    for where, keep in (
        ("id < 50", lambda n: n < 50),
        ("id >= 1000 AND id < 2000", lambda n: 1000 <= n < 2000),
        ("text = 'text 2000'", lambda n: n == 2000),
        ("text IS NULL", lambda n: n == 9999),
    ):
        scan = lr.scan(table, where=where, columns=["id"])
        kept = sorted(scan.to_arrow()["id"].to_pylist())
        assert kept == sorted(filter(keep, ids)), where
        assert scan.count() == len(kept)
    assert lr.scan(table, limit=7).to_arrow().num_rows == 7
    assert lr.scan(table, columns=["text"], batch_rows=10).to_arrow().num_rows == len(ids)


def reasons(scan: lr.Scan) -> list[str]:
    plan = scan.explain().to_dict()["plan"]
    return [unit["pruned"] for file in plan["files"] for unit in file["units"] if unit["pruned"]]


def test_files_are_pruned_by_partition_and_by_the_log() -> None:
    by_partition = lr.scan(folder("partitions"), where="name = 'plain'")
    assert by_partition.to_arrow().num_rows == 1
    assert any(reason.startswith("partition: ") for reason in reasons(by_partition))
    by_log = lr.scan(folder("deletion-vectors"), where="id > 2500")
    assert any("log statistics: id max" in reason for reason in reasons(by_log)), reasons(by_log)
    assert "log statistics" in str(by_log.explain())
    nothing = lr.scan(folder("deletion-vectors"), where="id > 100000")
    assert nothing.to_arrow().num_rows == 0
    assert nothing.explain().to_dict()["plan"]["requests"]["requests"] == []


def test_every_partition_value_can_be_asked_for() -> None:
    table = folder("partitions")
    for where, ids in (
        ("name = 'a b/c%20d:e=f'", [2]),
        ("name = 'Größe 東京 #?&'", [3]),
        ("name IS NULL", [4]),
        ("day = DATE '0001-01-01'", [2]),
        ("day > DATE '5000-01-01'", [3]),
        ("at < TIMESTAMP '1970-01-01 00:00:00'", [2]),
        ("price = 12345.678", [3]),
        ("small = -128", [2]),
        ("yes", [1, 6]),
    ):
        assert sorted(lr.scan(table, where=where).to_arrow()["id"].to_pylist()) == ids, where


def test_versions_by_number_and_time(tmp_path: Path) -> None:
    table = tmp_path / "table"
    shutil.copytree(folder("deletion-vectors"), table)
    assert lr.scan(table, at=0).count() == 0
    assert [lr.scan(table, at=version).count() for version in (1, 2, 3)] == [1000, 2000, 3000]
    assert lr.scan(table, at="4").count() == 2000
    # Without timestamps in its entries, a version is as old as its entry's file.
    entries = sorted((table / "_delta_log").glob("*.json"))
    for second, entry in enumerate(entries):
        os.utime(entry, (1_700_000_000 + second, 1_700_000_000 + second))
    assert lr.scan(table, at=datetime.fromtimestamp(1_700_000_002, timezone.utc)).count() == 2000
    assert lr.scan(table, at="2023-11-14T22:13:22.900Z").count() == 2000
    with pytest.raises(lr.NotFoundError):
        lr.scan(table, at="2001-01-01")
    with pytest.raises(lr.NotFoundError, match="the last one is"):
        lr.scan(table, at=77)
    with pytest.raises(lr.UsageError):
        lr.scan(table, at="yesterday")


def test_a_scan_reads_one_version_by_every_way(tmp_path: Path) -> None:
    table = tmp_path / "table"
    deltalake.write_deltalake(table, pa.table({"id": [1, 2, 3]}))
    scan, filtered, tasks = lr.scan(str(table)), lr.scan(str(table), where="id > 1"), lr.scan(str(table)).tasks(2)
    deltalake.write_deltalake(table, pa.table({"id": [4, 5]}), mode="append")

    assert (scan.count(), scan.to_arrow().num_rows, len(list(scan)), scan.head(9).to_arrow().num_rows) == (3, 3, 3, 3)
    assert scan.lazy().filter(pl.col("id") > 2).collect()["id"].to_list() == [3]
    assert scan.to_dataset().to_table(columns=["id"]).num_rows == 3
    assert list(lr.sql("SELECT count(*), max(id) FROM t", t=scan)) == [(3, 3)]
    assert pickle.loads(pickle.dumps(filtered)).to_arrow().column("id").to_pylist() == [2, 3]
    assert pickle.loads(pickle.dumps(filtered)).head(1).count() == 1
    assert sum(pickle.loads(pickle.dumps(task)).count() for task in tasks) == 3
    lr.copy(scan, tmp_path / "copied.parquet")
    assert pl.read_parquet(tmp_path / "copied.parquet").height == 3
    # A new scan, and each scan of a table, are of the last version.
    assert lr.scan(str(table)).count() == lr.Table(str(table)).scan().count() == 5


def test_a_scan_of_a_table_is_not_one_of_a_table_that_replaces_it(tmp_path: Path) -> None:
    table = tmp_path / "table"
    deltalake.write_deltalake(table, pa.table({"id": [1, 2, 3]}))
    scan = lr.scan(str(table))
    task = scan.tasks(1)[0]
    pickled = pickle.dumps(scan)
    assert pickle.loads(pickled).count() == 3

    shutil.rmtree(table)
    deltalake.write_deltalake(table, pa.table({"id": [4, 5]}))
    with pytest.raises(lr.ConflictError, match="another table has taken the place"):
        pickle.loads(pickled).count()
    with pytest.raises(lr.ConflictError, match="another table has taken the place"):
        list(lr.sql("SELECT * FROM t", t=scan))
    for reads in (scan, task, pickle.loads(pickle.dumps(task))):
        with pytest.raises((lr.NotFoundError, lr.UsageError), match=r"\.parquet"):
            reads.to_arrow()
    assert lr.scan(str(table)).count() == 2


def test_schema_names_version_and_partitions() -> None:
    schema = lr.schema(folder("partitions"))
    assert schema["format"] == "delta"
    assert schema["partition_columns"] == ["name", "day", "at", "price", "small", "yes"]
    assert schema["properties"]["delta.enableDeletionVectors"] == "true"
    assert schema["rows"] == 5
    assert next(column["name"] for column in schema["columns"]) == "id"
    assert lr.schema(folder("deletion-vectors"), at=2)["version"] == 2


def test_copies_of_a_version_are_its_rows(tmp_path: Path) -> None:
    target = tmp_path / "copy.parquet"
    lr.copy(folder("deletion-vectors"), target, at=3, where="id < 1500")
    assert lr.scan(target).count() == 1500
    named = lr.scan(f"delta:{folder('deletion-vectors')}")
    assert lr.checksum(named) == lr.checksum(lr.scan(folder("deletion-vectors")))


def test_files_have_no_versions(tmp_path: Path) -> None:
    target = tmp_path / "copy.parquet"
    lr.copy(folder("schema-evolution"), target)
    with pytest.raises(lr.UnsupportedError):
        lr.scan(target, at=1)


def test_no_table_is_not_found(tmp_path: Path) -> None:
    for name in (f"delta:{tmp_path}", f"delta:{tmp_path / 'missing'}"):
        with pytest.raises(lr.NotFoundError):
            lr.scan(name)


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_damaged_vectors_name_the_file(tmp_path: Path, damage: str) -> None:
    table = tmp_path / "table"
    shutil.copytree(folder("deletion-vectors"), table)
    for vector in table.rglob("deletion_vector_*.bin"):
        if damage == "truncate":
            vector.write_bytes(vector.read_bytes()[:-7])
        else:
            vector.unlink()
    with pytest.raises(lr.CorruptDataError, match="deletion_vector_"):
        lr.scan(table).to_arrow()


def test_missing_data_files_are_damage(tmp_path: Path) -> None:
    table = tmp_path / "table"
    shutil.copytree(folder("schema-evolution"), table)
    victim = next(table.glob("*.parquet"))
    victim.unlink()
    with pytest.raises(lr.CorruptDataError, match=victim.name):
        lr.scan(table).to_arrow()


def test_a_typed_row_of_everything() -> None:
    types: dict[str, Any] = {c["name"]: c["type"] for c in lr.schema(CORPUS / "parquet-all-types")["columns"]}
    assert types
    assert lr.scan(CORPUS / "parquet-all-types", columns=list(types)[:3]).to_arrow().num_rows == 200
