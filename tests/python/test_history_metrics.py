"""The metrics and parameters of each operation in the history of a table, as delta-rs shows them: files and bytes are
held against the actions of the entry, rows against what delta-rs and polars read in the versions."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest
from conftest import ok
from deltalake import DeltaTable, QueryBuilder

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

VECTORS = [{}, {"delta.enableDeletionVectors": "false"}]


def rows(first: int, last: int, value: float = 0.0) -> pa.Table:
    ids = range(first, last)
    return pa.table({"id": ids, "day": [f"d{n % 3}" for n in ids], "v": [value] * len(ids)})


def entries(folder: Path) -> list[dict[str, Any]]:
    """The entries as delta-rs shows them, the oldest first."""
    return DeltaTable(folder).history()[::-1]


def metrics(folder: Path, version: int = -1) -> dict[str, int]:
    """The metrics of a version that are not 0. delta-spark writes numbers as texts."""
    told = entries(folder)[version]["operationMetrics"]
    assert all(isinstance(value, str) for value in told.values())
    return {name: int(value) for name, value in told.items() if value != "0"}


def parameters(folder: Path, version: int = -1) -> dict[str, Any]:
    """The parameters of a version. Lists are JSON."""
    told = entries(folder)[version]["operationParameters"]
    return {name: json.loads(value) if value[0] in "[{" else value for name, value in told.items()}


def count(folder: Path, version: int | None = None) -> int:
    """The rows of a version, as delta-rs reads them."""
    reader = QueryBuilder().register("t", DeltaTable(folder, version=version))
    return int(pa.table(reader.execute("SELECT count(*) AS n FROM t"))["n"][0].as_py())


def files(folder: Path, version: int) -> dict[str, int]:
    """The counts of an entry's actions."""
    lines = (folder / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    actions = [json.loads(line) for line in lines]
    added = {action["add"]["path"]: action["add"] for action in actions if "add" in action}
    removed = {action["remove"]["path"]: action["remove"] for action in actions if "remove" in action}
    alone = {path: action for path, action in added.items() if path not in removed}
    gone = {path: action for path, action in removed.items() if path not in added}
    return {
        "added": len(alone),
        "added_bytes": sum(action["size"] for action in alone.values()),
        "removed": len(gone),
        "removed_bytes": sum(action["size"] for action in gone.values()),
        "vectors": len(added.keys() & removed.keys()),
    }


def made(folder: Path, **properties: str) -> lr.Table:
    lr.copy(rows(0, 30), f"delta:{folder}", partition_by="day", table_properties=properties)
    return lr.Table(folder, key=["id"])


@pytest.mark.parametrize("properties", VECTORS)
def test_writes(tmp_path: Path, properties: dict[str, str]) -> None:
    folder = tmp_path / "t"
    made(folder, **properties)
    lr.copy(rows(30, 40), folder, mode="append")
    lr.copy(rows(0, 7), folder, mode="overwrite")
    for version, written in enumerate([30, 10, 7]):
        found, told = files(folder, version), metrics(folder, version)
        assert told["numOutputRows"] == written
        assert (told["numFiles"], told["numOutputBytes"]) == (found["added"], found["added_bytes"])
        assert parameters(folder, version)["partitionBy"] == ["day"]
    assert (metrics(folder)["numRemovedFiles"], metrics(folder)["numRemovedBytes"]) == (
        found["removed"],
        found["removed_bytes"],
    )
    assert metrics(folder)["numDeletedRows"] == count(folder, 1) == 40
    assert [parameters(folder, version)["mode"] for version in (1, 2)] == ["Append", "Overwrite"]
    assert count(folder) == 7


@pytest.mark.parametrize("properties", VECTORS)
def test_upserts_and_deletes(tmp_path: Path, properties: dict[str, str]) -> None:
    folder = tmp_path / "t"
    table = made(folder, **properties)
    table.upsert(rows(25, 45, 1.0))
    found, told = files(folder, 1), metrics(folder)
    assert {name: told.get(name, 0) for name in MERGED} == {
        "numSourceRows": 20,
        "numTargetRowsInserted": count(folder) - count(folder, 0),
        "numTargetRowsUpdated": pl.scan_delta(str(folder))
        .filter((pl.col("id") < 30) & (pl.col("v") == 1.0))
        .collect()
        .height,
        "numTargetRowsDeleted": 0,
        "numTargetFilesAdded": found["added"],
        "numTargetFilesRemoved": found["removed"],
        "numTargetBytesAdded": found["added_bytes"],
        "numTargetBytesRemoved": found["removed_bytes"],
        "numTargetDeletionVectorsAdded": found["vectors"],
    }
    # Files without vectors are rewritten with the rows that stay.
    copied = told.get("numTargetRowsCopied", 0)
    assert (copied > 0) == bool(properties)
    assert told["numOutputRows"] == 20 + copied
    assert parameters(folder) == {
        "key": ["id"],
        "predicate": ["target.id = source.id"],
        "matchedPredicates": [{"actionType": "update"}],
        "notMatchedPredicates": [{"actionType": "insert"}],
    }

    table.upsert(rows(40, 50), insert_only=True)
    told = metrics(folder)
    assert told["numTargetRowsInserted"] == count(folder) - count(folder, 1) == 5
    assert "numTargetRowsUpdated" not in told
    assert parameters(folder)["matchedPredicates"] == []
    table.upsert(rows(0, 2, 1.0), merge={"v": "sum"})
    assert parameters(folder)["merge"] == {"v": "sum"}

    version = len(entries(folder))
    table.delete("id < 10 OR id >= 48")
    table.delete_keys(pa.table({"id": [20, 21, 1000]}))
    assert parameters(folder, version) == {"predicate": ["id < 10 OR id >= 48"]}
    assert parameters(folder) == {"key": ["id"]}
    for changed in (version, version + 1):
        found, told = files(folder, changed), metrics(folder, changed)
        assert told["numDeletedRows"] == count(folder, changed - 1) - count(folder, changed)
        assert [told.get(name, 0) for name in ("numAddedFiles", "numRemovedFiles", "numDeletionVectorsAdded")] == [
            found["added"],
            found["removed"],
            found["vectors"],
        ]
        assert ("numCopiedRows" in told) == bool(properties)


MERGED = [
    "numSourceRows",
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
    "numTargetFilesAdded",
    "numTargetFilesRemoved",
    "numTargetBytesAdded",
    "numTargetBytesRemoved",
    "numTargetDeletionVectorsAdded",
]


def test_a_repeated_key_of_the_source_counts_once(tmp_path: Path) -> None:
    """Rows of the source that a later one replaces are rows of the source, and no others."""
    folder = tmp_path / "t"
    table = made(folder)
    table.upsert(pa.table({"id": [1, 1, 99], "day": ["d1"] * 3, "v": [1.0] * 3}), on_duplicate="last")
    told = metrics(folder)
    assert [told[name] for name in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated")] == [3, 1, 1]


def test_maintenance(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    lr.copy(rows(30, 60), folder, mode="append")
    table.delete("id = 7")
    table.compact(where="day = 'd1'", zorder=["v"], target_size="1MiB")
    found, told = files(folder, 3), metrics(folder)
    names = ("numAddedFiles", "numRemovedFiles", "numAddedBytes", "numRemovedBytes")
    assert [told[name] for name in names] == [found[k] for k in ("added", "removed", "added_bytes", "removed_bytes")]
    assert told["numDeletionVectorsRemoved"] == 1
    assert told["minFileSize"] == told["maxFileSize"] == found["added_bytes"]
    assert parameters(folder) == {"predicate": ["day = 'd1'"], "zOrderBy": ["v"], "targetSize": str(1 << 20)}
    table.restore(0)
    told = metrics(folder)
    before = DeltaTable(folder, version=0).get_add_actions()
    assert (told["numOfFilesAfterRestore"], told["tableSizeAfterRestore"]) == (
        len(before["path"]),
        sum(int(size.as_py()) for size in before["size_bytes"]),
    )
    assert parameters(folder) == {"version": "0"}
    table.alter(set={"owner": "a"})
    assert entries(folder)[-1]["operationMetrics"] == {}


def test_a_commit_that_was_tried_again_tells_what_it_did(tmp_path: Path) -> None:
    """Writers of the same rows: what each of them replaced and inserted depends on who was faster."""
    folder = tmp_path / "t"
    made(folder)
    with ThreadPoolExecutor(8) as pool:
        for done in [
            pool.submit(lr.Table(folder, key=["id"]).upsert, rows(n, n + 40, float(n))) for n in range(0, 24, 3)
        ]:
            done.result()
    assert len(entries(folder)) == 9
    inserted = 0
    for version in range(1, 9):
        found, told = files(folder, version), metrics(folder, version)
        more = count(folder, version) - count(folder, version - 1)
        assert told.get("numTargetRowsInserted", 0) == more
        assert told.get("numTargetRowsUpdated", 0) == 40 - more
        assert told["numTargetFilesAdded"] == found["added"]
        assert told.get("numTargetFilesRemoved", 0) == found["removed"]
        assert told.get("numTargetDeletionVectorsAdded", 0) == found["vectors"]
        inserted += more
    assert inserted == count(folder) - 30


def test_entries_with_metrics_are_sound_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder)
    table.upsert(rows(25, 45, 1.0))
    assert lr.Table(folder).verify(deep=True).findings == []
    shown = table.history()[0]
    assert shown.metrics == entries(folder)[-1]["operationMetrics"]
    assert shown.parameters == entries(folder)[-1]["operationParameters"]
    assert ok("history", folder, "--json").json["history"][0]["metrics"] == shown.metrics
    assert "inserted=15, updated=5, output=20, source=20" in ok("history", folder).out
