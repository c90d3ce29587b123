"""Schemas of Delta tables that follow the rows, and the change data feed."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

WIDENING = {"delta.enableTypeWidening": "true"}


def actions(table: Path, version: int, kind: str) -> list[dict[str, Any]]:
    text = (table / "_delta_log" / f"{version:020}.json").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    return [line[kind] for line in lines if kind in line]


def read(table: Path, at: int | None = None) -> list[dict[str, Any]]:
    return sorted(lr.scan(table, at=at).to_arrow().to_pylist(), key=lambda row: str(row["id"]))


def test_new_columns(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2]}), f"delta:{table}")
    more = pa.table({"v": pa.array([1.5], pa.float32()), "id": [3], "s": [{"a": 1, "b": ["x"]}]})
    with pytest.raises(lr.InvalidInputError, match='"v"'):
        lr.copy(more, table, mode="append")
    made = lr.copy(more, table, mode="append", evolve="add")
    assert made.version == 1
    assert read(table) == [
        {"id": 1, "v": None, "s": None},
        {"id": 2, "v": None, "s": None},
        {"id": 3, "v": 1.5, "s": {"a": 1, "b": ["x"]}},
    ]
    assert read(table, at=0) == [{"id": 1}, {"id": 2}]
    stats = json.loads(actions(table, 1, "add")[0]["stats"])
    assert stats["minValues"]["v"] == 1.5
    assert len(actions(table, 1, "metaData")) == 1
    assert actions(table, 1, "protocol") == []
    plan = lr.scan(table, where="v > 100").explain().to_dict()["plan"]
    assert all(unit["pruned"] for file in plan["files"][1:] for unit in file["units"])
    # What the table has by now is no change.
    lr.copy(more, table, mode="append", evolve=["add", "widen"])
    assert actions(table, 2, "metaData") == []
    lr.copy(pa.table({"id": [9]}), table, mode="append", evolve="add")
    assert lr.scan(table).count() == 5
    with pytest.raises(lr.InvalidInputError, match="case"):
        lr.copy(pa.table({"ID": [1]}), table, mode="append", evolve="add")
    with pytest.raises(lr.UsageError, match="evolve"):
        lr.copy(more, table, mode="append", evolve=["shrink"])  # type: ignore[list-item]
    with pytest.raises(lr.UsageError, match="Delta"):
        lr.copy(more, tmp_path / "x.parquet", evolve="add")
    assert lr.Table(table).compact().rows == 5
    assert lr.Table(table).restore(0).version == 5
    assert [column["name"] for column in lr.schema(table)["columns"]] == ["id"]


def test_new_columns_of_mapped_and_partitioned_tables(tmp_path: Path) -> None:
    table = tmp_path / "table"
    properties = {"delta.columnMapping.mode": "name"}
    lr.copy(pa.table({"id": [1], "day": ["a"]}), f"delta:{table}", table_properties=properties, partition_by=["day"])
    more = pa.table({"id": [2], "day": ["b"], "a b": [{"x, y": [{"z": 1}]}]})
    lr.copy(more, table, mode="append", evolve="add")
    lr.copy(pa.table({"id": [3], "day": ["b"], "c;": [True]}), table, mode="append", evolve="add")
    assert read(table) == [
        {"id": 1, "day": "a", "a b": None, "c;": None},
        {"id": 2, "day": "b", "a b": {"x, y": [{"z": 1}]}, "c;": None},
        {"id": 3, "day": "b", "a b": None, "c;": True},
    ]
    assert lr.schema(table)["properties"]["delta.columnMapping.maxColumnId"] == "6"
    fields = json.loads(actions(table, 2, "metaData")[0]["schemaString"])["fields"]
    ids = [field["metadata"]["delta.columnMapping.id"] for field in fields]
    assert ids == [1, 2, 3, 6]
    stored = [field["metadata"]["delta.columnMapping.physicalName"] for field in fields]
    written = [pq.read_schema(path).names for path in table.rglob("*.parquet") if "_delta_log" not in path.parts]
    assert all(set(names) <= set(stored) for names in written)


def test_numbers_that_become_wider(tmp_path: Path) -> None:
    table = tmp_path / "table"
    narrow = pa.table(
        {
            "id": pa.array([1], pa.int32()),
            "f": pa.array([0.5], pa.float32()),
            "d": pa.array([Decimal("1.25")], pa.decimal128(5, 2)),
            "n": pa.array([7], pa.int8()),
        }
    )
    lr.copy(narrow, f"delta:{table}", table_properties=WIDENING)
    wide = pa.table(
        {
            "id": [2**40],
            "f": [0.1],
            "d": pa.array([Decimal("12345.678")], pa.decimal128(8, 3)),
            "n": pa.array([300], pa.int16()),
        }
    )
    with pytest.raises(lr.InvalidInputError):
        lr.copy(wide, table, mode="append")
    lr.copy(wide, table, mode="append", evolve="widen")
    types = {column["name"]: column["type"] for column in lr.schema(table)["columns"]}
    assert types == {"id": "Int64", "f": "Float64", "d": "Decimal128(8, 3)", "n": "Int16"}
    assert read(table) == [
        {"id": 1, "f": 0.5, "d": Decimal("1.250"), "n": 7},
        {"id": 2**40, "f": 0.1, "d": Decimal("12345.678"), "n": 300},
    ]
    fields = json.loads(actions(table, 1, "metaData")[0]["schemaString"])["fields"]
    assert fields[0]["metadata"]["delta.typeChanges"] == [{"fromType": "integer", "toType": "long"}]
    assert lr.scan(table, where="id > 1").count() == 1
    # Narrow rows go into wide columns as ever, and compaction leaves nothing narrow.
    lr.copy(narrow, table, mode="append", evolve="widen")
    assert actions(table, 2, "metaData") == []
    before = lr.checksum(lr.scan(table))
    assert lr.Table(table).compact().files_removed == 3
    assert lr.checksum(lr.scan(table)) == before


def test_widening_that_is_not_allowed(tmp_path: Path) -> None:
    table = tmp_path / "table"
    narrow, wide = pa.table({"id": pa.array([1], pa.int32())}), pa.table({"id": [2**40]})
    lr.copy(narrow, f"delta:{table}")
    with pytest.raises(lr.UnsupportedError, match="enableTypeWidening"):
        lr.copy(wide, table, mode="append", evolve="widen")
    keyed = tmp_path / "keyed"
    lr.copy(narrow, f"delta:{keyed}", table_properties={**WIDENING, "lakerace.primaryKey": "id"})
    with pytest.raises(lr.UnsupportedError, match="key"):
        lr.copy(wide, keyed, mode="append", evolve="widen")
    # Texts don't become numbers, nor numbers texts.
    with pytest.raises(lr.InvalidInputError):
        lr.copy(pa.table({"id": ["x"]}), table, mode="append", evolve=["add", "widen"])
    assert lr.schema(table)["version"] == 0


def test_evolving_by_the_command(tmp_path: Path) -> None:
    table = tmp_path / "table"
    pq.write_table(pa.table({"id": [1]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"id": [2], "v": ["x"]}), tmp_path / "two.parquet")
    ok("copy", tmp_path / "one.parquet", f"delta:{table}")
    assert run("copy", tmp_path / "two.parquet", table, "--mode", "append").code == 4
    ok("copy", tmp_path / "two.parquet", table, "--mode", "append", "--evolve", "add,widen")
    assert read(table) == [{"id": 1, "v": None}, {"id": 2, "v": "x"}]
    ok("copy", tmp_path / "one.parquet", table, "--mode", "overwrite", "--evolve", "add")
    assert read(table) == [{"id": 1, "v": None}]


def test_upserts_that_evolve(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    first = pa.table({"id": [1, 2, 3], "n": pa.array([1, 2, 3], pa.int32())})
    lr.copy(first, f"delta:{folder}", table_properties={**WIDENING, "lakerace.primaryKey": "id"})
    table = lr.Table(folder)
    with pytest.raises(lr.NotFoundError, match=r'table: the table has no column "v" .*evolve="add" adds new columns'):
        table.upsert(pa.table({"id": [2], "v": ["x"]}))
    # A column of its own, and nothing of the others: they keep what they have.
    table.upsert(pa.table({"id": [2, 4], "v": ["x", "y"]}), evolve="add")
    assert read(folder) == [
        {"id": 1, "n": 1, "v": None},
        {"id": 2, "n": 2, "v": "x"},
        {"id": 3, "n": 3, "v": None},
        {"id": 4, "n": None, "v": "y"},
    ]
    # Sums of what was narrow, and a column that no row of before has.
    more = pa.table({"id": [1, 3], "n": [2**40, 2**41], "w": [0.5, 1.5]})
    table.upsert(more, merge={"n": "sum", "w": "max"}, evolve=["add", "widen"])
    assert read(folder)[0] == {"id": 1, "n": 2**40 + 1, "v": None, "w": 0.5}
    assert read(folder)[2] == {"id": 3, "n": 2**41 + 3, "v": None, "w": 1.5}
    table.upsert(more, insert_only=True, evolve="add")
    assert lr.schema(folder)["version"] in (2, 3)
    assert len(read(folder)) == 4
    assert read(folder, at=0) == first.to_pylist()
    pq.write_table(pa.table({"id": [9], "z": [True]}), tmp_path / "rows.parquet")
    assert run("upsert", folder, tmp_path / "rows.parquet").code == 3
    ok("upsert", folder, tmp_path / "rows.parquet", "--evolve", "add")
    assert read(folder)[4] == {"id": 9, "n": None, "v": None, "w": None, "z": True}
    narrow = tmp_path / "narrow"
    lr.copy(pa.table({"id": pa.array([1], pa.int32())}), f"delta:{narrow}", table_properties=WIDENING)
    with pytest.raises(lr.UnsupportedError, match="key"):
        lr.Table(narrow, key="id").upsert(pa.table({"id": [2**40]}), evolve="widen")


def test_others_read_evolved_tables(tmp_path: Path) -> None:
    import deltalake

    table = tmp_path / "table"
    properties = {"delta.enableDeletionVectors": "false"}
    lr.copy(pa.table({"id": [1]}), f"delta:{table}", table_properties=properties)
    lr.copy(pa.table({"id": [2], "v": [0.5]}), table, mode="append", evolve="add")
    rows = deltalake.DeltaTable(str(table)).to_pyarrow_table()
    assert lr.checksum(rows.select(["id", "v"])) == lr.checksum(lr.scan(table))


def test_changes_follow_from_files_and_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2, 3]}), f"delta:{folder}", table_properties={"delta.enableChangeDataFeed": "true"})
    lr.copy(pa.table({"id": [4]}), folder, mode="append")
    table = lr.Table(folder, key="id")
    table.delete("id = 2")
    table.compact()
    seen = pa.table(table.changes(1)).to_pylist()
    kept = [(row["id"], row["_change_type"], row["_commit_version"]) for row in seen]
    assert sorted(kept, key=lambda row: row[2]) == [(4, "insert", 1), (2, "delete", 2)]
    assert all(row["_commit_timestamp"] is not None for row in seen)
    assert len(pa.table(table.changes(0, 0))) == 3
    printed = ok("changes", folder, "--from", 1, "--to", 1, "--format", "csv").out.splitlines()
    assert printed[0].split(",")[:3] == ["id", "_change_type", "_commit_version"]
    assert printed[1].startswith("4,insert,1,")
    assert ok("changes", folder, "--from", 0, "--json").json["rows"] == 5
    assert run("changes", folder, "--from", 9).code == 3
    assert run("changes", folder, "--from", 2, "--to", 1).code == 2


def test_changes_of_rows_that_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2, 3], "s": ["a", "b", None]}), tmp_path / "rows.parquet")
    ok("copy", tmp_path / "rows.parquet", f"delta:{folder}", "--table-property", "delta.enableChangeDataFeed=true")
    lr.Table(folder, key="id").upsert(pa.table({"id": [2, 3, 4], "s": ["B", "C", "D"]}))
    lr.copy(pa.table({"id": [2], "s": ["x"]}), folder, mode="overwrite")

    def seen(reader: Any, version: int) -> list[tuple[int, str | None, str]]:
        rows = pa.table(reader(version)).to_pylist()
        kept = [(row["id"], row["s"], row["_change_type"]) for row in rows if row["_commit_version"] == version]
        return sorted(kept, key=lambda row: (row[0], row[2] == "update_postimage", row[2]))

    def told(version: int) -> Any:
        return lr.Table(folder).changes(version, version)

    before, after = "update_preimage", "update_postimage"
    expected = [(2, "b", before), (2, "B", after), (3, None, before), (3, "C", after), (4, "D", "insert")]
    assert seen(told, 1) == expected
    gone = [(1, "a", "delete"), (2, "B", "delete"), (2, "x", "insert"), (3, "C", "delete"), (4, "D", "delete")]
    assert seen(told, 2) == gone
    cdc = actions(folder, 1, "cdc")
    assert [(action["dataChange"], action["path"].split("/")[0]) for action in cdc] == [(False, "_change_data")]
    assert pq.read_table(folder / cdc[0]["path"]).num_rows == len(expected)
    # As others read it.
    import deltalake

    table = deltalake.DeltaTable(str(folder))
    assert seen(lambda version: table.load_cdf(starting_version=version, ending_version=version), 1) == expected
    other = tmp_path / "other"
    lr.copy(pa.table({"id": [1]}), f"delta:{other}")
    with pytest.raises(lr.UnsupportedError):
        pa.table(lr.Table(other).changes(0))


def test_vacuum_keeps_changes_as_long_as_their_version(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2]}), f"delta:{folder}", table_properties={"delta.enableChangeDataFeed": "true"})
    table = lr.Table(folder, key="id")
    table.upsert(pa.table({"id": [2, 3]}))
    (changes,) = folder.glob("_change_data/*.parquet")
    (folder / "_change_data" / "cdc-left.parquet").write_bytes(b"x")
    for file in folder.glob("_change_data/*"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    # Its version is of today, whatever the file says.
    assert [Path(name).name for name in table.vacuum().files] == ["cdc-left.parquet"]
    assert len(pa.table(table.changes(1))) == 3
    for entry in folder.glob("_delta_log/*.json"):
        os.utime(entry, (1_600_000_000, 1_600_000_000))
    assert [Path(name).name for name in table.vacuum().files] == [changes.name]
    assert table.scan().count() == 3


def test_changes_of_a_version_with_narrower_types_are_refused(tmp_path: Path) -> None:
    """A version that goes back to narrower types removes files with wider values."""
    place = tmp_path / "table"
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableTypeWidening": "true"}
    lr.copy(pa.table({"n": pa.array([1], pa.int32())}), f"delta:{place}", table_properties=properties)
    lr.copy(pa.table({"n": pa.array([2**40], pa.int64())}), place, mode="append", evolve="widen")
    table = lr.Table(place)
    table.restore(0)
    lr.copy(pa.table({"n": pa.array([3], pa.int32())}), place, mode="append")
    assert pa.table(table.changes(0, 1))["n"].to_pylist() == [1, 2**40]
    assert pa.table(table.changes(3, 3))["n"].to_pylist() == [3]
    for first, last in [(0, 2), (0, 3), (1, 2), (2, 2), (2, 3)]:
        with pytest.raises(lr.UnsupportedError, match=r"version 2: column \"n\".*from long to integer.*omit version 2"):
            table.changes(first, last)


def test_changes_of_rows_that_get_a_column(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2]}), f"delta:{folder}", table_properties={"delta.enableChangeDataFeed": "true"})
    table = lr.Table(folder, key="id")
    table.upsert(pa.table({"id": [2, 3], "v": ["x", "y"]}), evolve="add")
    seen = pa.table(table.changes(1)).select(["id", "v", "_change_type"]).to_pylist()
    rows = sorted(tuple(row.values()) for row in seen if row["v"] is not None)
    assert rows == [(2, "x", "update_postimage"), (3, "y", "insert")]
    assert [tuple(row.values()) for row in seen if row["v"] is None] == [(2, None, "update_preimage")]


def test_rows_with_ids_are_not_moved(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    rows = pa.table({"id": [1, 2, 3]})
    lr.copy(rows, f"delta:{folder}", table_properties={"delta.enableRowTracking": "true"})
    lr.copy(pa.table({"id": [4]}), folder, mode="append")
    table = lr.Table(folder, key="id")
    for job in (table.compact, lambda: table.restore(0)):
        with pytest.raises(lr.UnsupportedError, match="enableRowTracking"):
            job()
    table.upsert(pa.table({"id": [3, 4, 5]}))
    table.delete("id = 1")
    lr.copy(rows, folder, mode="overwrite")
    infos = [actions(folder, version, "commitInfo")[0] for version in range(1, 5)]
    kept = [info["tags"]["delta.rowTracking.preserved"] for info in infos]
    assert kept == ["true", "false", "true", "true"]
    bases = [actions(folder, version, "add")[0]["baseRowId"] for version in (0, 1, 4)]
    assert bases == [0, 3, 7]
