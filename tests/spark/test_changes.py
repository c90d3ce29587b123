"""Change data feeds that lakerace and Spark wrote, read by both: `make test-spark`.

The bench's environment of delta-spark is made where it is absent; Java 17 must be there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from asking import ask

import lakerace as lr

FEED = {"delta.enableChangeDataFeed": "true"}
COLUMNS = ["id", "p", "v"]


def frame(ids: list[int], part: str, value: int | None) -> pa.Table:
    return pa.table({"id": ids, "p": [part] * len(ids), "v": pa.array([value] * len(ids), pa.int64())})


def change(folder: Path, partition_by: list[str] | None, **properties: str) -> None:
    """A version of each kind."""
    lr.copy(
        frame([1, 2, 3, 4], "a", 0),
        f"delta:{folder}",
        partition_by=partition_by,
        table_properties={**FEED, **properties},
    )
    table = lr.Table(folder, key="id")
    table.upsert(frame([2, 3, 9], "b c/d=", 1))
    table.upsert(frame([10], "a", None))
    table.upsert(frame([2, 9, 11], "b c/d=", 10), merge={"v": "sum"})
    table.upsert(pa.table({"id": [1, 12], "v": [5, 6]}))
    table.upsert(frame([1, 13], "a", 7), insert_only=True)
    table.delete("id = 13")
    table.delete_keys(pa.table({"id": [10]}))
    table.compact()
    lr.copy(frame([1, 14], "a", 8), folder, mode="append")
    lr.copy(frame([20, 21], "a", 9), folder, mode="overwrite")
    table.restore(7)


def told(folder: Path) -> list[list[Any]]:
    rows = pa.table(lr.Table(folder).changes(0)).to_pylist()
    columns = ["_commit_version", "_change_type", *COLUMNS]
    return sorted(([row[name] for name in columns] for row in rows), key=json.dumps)


def test_spark_and_lakerace_tell_the_same_changes(tmp_path: Path) -> None:
    change(tmp_path / "plain", None)
    change(tmp_path / "parts", ["p"])
    change(tmp_path / "mapped", ["p"], **{"delta.columnMapping.mode": "name"})
    # What Spark makes of a table of ours.
    change(tmp_path / "spark", None)
    merge = (
        "MERGE INTO {table} AS t USING (SELECT col1 AS id FROM VALUES (1L), (99L)) AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 50 WHEN NOT MATCHED THEN INSERT (id, p, v) VALUES (s.id, 'n', 51)"
    )
    statements = [
        "UPDATE {table} SET v = v + 1 WHERE id < 3",
        "DELETE FROM {table} WHERE id = 3",
        merge,
    ]
    names = ["plain", "parts", "mapped", "spark"]
    asked = [
        {"path": str(tmp_path / name), "columns": COLUMNS, "statements": statements if name == "spark" else []}
        for name in names
    ]
    answers = dict(zip(names, ask("read_changes.py", asked, of="delta_spark"), strict=True))
    for name in names:
        assert answers[name] == told(tmp_path / name), name
    assert {row[1] for row in answers["spark"]} == {"insert", "delete", "update_preimage", "update_postimage"}
    assert answers["plain"] == answers["parts"] == answers["mapped"]
