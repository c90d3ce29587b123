"""Columns and constraints of Delta tables that exist: others read what was altered, and later writes go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

import lakerace as lr


def rows(ids: range, text: str = "a") -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "count": pa.array([number % 7 for number in ids], pa.int32()),
            "text": [text] * len(ids),
            "place": pa.array([{"x": number, "y": "ä"} for number in ids]),
        }
    )


def made(folder: Path, *, properties: dict[str, str] | None = None, partition_by: list[str] | None = None) -> lr.Table:
    lr.copy(rows(range(10)), f"delta:{folder}", table_properties=properties or {}, partition_by=partition_by or [])
    return lr.Table(folder)


def read(folder: Path) -> list[dict[str, Any]]:
    """The rows as delta-rs reads them."""
    builder = QueryBuilder().register("t", DeltaTable(folder))
    found = pl.DataFrame(builder.execute("SELECT * FROM t"))
    return found.sort(found.columns[0]).to_dicts()


def ours(folder: Path) -> list[dict[str, Any]]:
    found = lr.Table(folder).scan().to_polars()
    return found.sort(found.columns[0]).to_dicts()


def test_renamed_and_dropped_columns_for_other_readers_and_later_writes(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, properties={"lakerace.primaryKey": "id"})
    would = table.alter(rename={"id": "key"}, drop="text", dry_run=True)
    assert (would.version, would.features_added, table.version) == (None, ["columnMapping"], 0)
    altered = table.alter(rename={"id": "key", "count": "number"}, drop="text")
    assert (altered.version, altered.features_added) == (1, ["columnMapping"])
    assert altered.properties["lakerace.primaryKey"] == "key"
    wanted = [{"key": n, "number": n % 7, "place": {"x": n, "y": "ä"}} for n in range(10)]
    assert read(folder) == ours(folder) == wanted
    assert DeltaTable(folder).schema().to_arrow() is not None

    changed = pa.table({"key": [3, 12], "number": pa.array([30, 120], pa.int32()), "place": [{"x": 1, "y": "b"}] * 2})
    table.upsert(changed)
    # A dropped name may come back, and its old values do not.
    table.alter(add_columns=["text text"])
    wanted[3] = {"key": 3, "number": 30, "place": {"x": 1, "y": "b"}}
    wanted.append({"key": 12, "number": 120, "place": {"x": 1, "y": "b"}})
    wanted = [row | {"text": None} for row in wanted]
    assert read(folder) == ours(folder) == wanted
    table.upsert(pa.table({"key": [12], "text": ["new"]}))
    wanted[-1]["text"] = "new"
    table.compact(target_size=1 << 30)
    table.delete("number = 30")
    del wanted[3]
    assert read(folder) == ours(folder) == wanted
    assert table.verify(deep=True).findings == []
    # Two may change places.
    table.alter(rename={"key": "number", "number": "key"})
    swapped = {row["key"]: row["number"] for row in ours(folder)}
    assert swapped == {row["number"]: row["key"] for row in wanted}


def test_partition_columns_are_renamed(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, partition_by=["count"])
    table.alter(rename={"count": "part"})
    lr.copy(pa.table({"id": [77], "part": pa.array([3], pa.int32()), "text": ["b"]}), f"delta:{folder}", mode="append")
    assert DeltaTable(folder).metadata().partition_columns == ["part"]
    wanted = sorted([(n, n % 7) for n in range(10)] + [(77, 3)])
    assert [(row["id"], row["part"]) for row in read(folder)] == wanted
    assert [(row["id"], row["part"]) for row in ours(folder)] == wanted
    assert lr.scan(folder, where="part = 3").to_arrow().num_rows == 2
    with pytest.raises(lr.UnsupportedError, match="partitioned by the column"):
        table.alter(drop="part")


def test_wider_types(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, properties={"lakerace.primaryKey": "id"})
    altered = table.alter(types={"count": "bigint"})
    assert altered.features_added == ["typeWidening"]
    assert lr.Table(folder).scan().to_arrow().schema.field("count").type == pa.int64()
    table.upsert(pa.table({"id": [3], "count": [2**40]}))
    found = {row["id"]: row["count"] for row in ours(folder)}
    assert found == {n: n % 7 for n in range(10)} | {3: 2**40}
    assert table.alter(types={"count": "bigint"}).version is None
    for types, error in [
        ({"count": "int"}, lr.UnsupportedError),
        ({"text": "bigint"}, lr.UnsupportedError),
        ({"id": "decimal(20,0)"}, lr.UnsupportedError),
        ({"none": "int"}, lr.NotFoundError),
        ({"count": "intt"}, lr.UsageError),
    ]:
        with pytest.raises(error):
            table.alter(types=types)


def test_constraints_hold_for_rows_that_are_there_and_that_come(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, properties={"lakerace.primaryKey": "id"}, partition_by=["text"])
    for text in ["count > 0", "count < 6 and place.x < 9", "count <> null"]:
        with pytest.raises(lr.InvalidInputError, match="violates the constraint low"):
            table.alter(constraints={"low": text})
    altered = table.alter(constraints={"low": "count >= 0 AND `place`.x < 100", "named": "text <> 'b'"})
    assert altered.features_added == ["checkConstraints"]
    assert table.alter(constraints={"named": "text <> 'b'"}).version is None
    theirs = DeltaTable(folder)
    assert theirs.metadata().configuration["delta.constraints.low"] == "count >= 0 AND `place`.x < 100"

    good = rows(range(10, 12))
    table.upsert(good)
    lr.copy(rows(range(12, 14)), f"delta:{folder}", mode="append")
    low = good.set_column(1, "count", pa.array([-1, 3], pa.int32()))
    null = good.set_column(1, "count", pa.array([None, 3], pa.int32()))
    far = good.set_column(3, "place", pa.array([{"x": 1000, "y": ""}] * 2))
    for bad, told in [
        (low, r"constraint low .*count = -1"),
        (null, r"constraint low .*count = null"),
        (far, r"constraint low .*1000"),
        (rows(range(10, 12), "b"), r"constraint named .*text = b"),
        (good.drop_columns(["place"]), r"constraint low .*place"),
    ]:
        with pytest.raises(lr.InvalidInputError, match=told):
            lr.copy(bad, f"delta:{folder}", mode="append")
        if bad.num_columns == 4:
            with pytest.raises(lr.InvalidInputError, match=told):
                table.upsert(bad)
    assert (table.version, len(ours(folder))) == (3, 14)
    with pytest.raises(lr.UnsupportedError, match="constraint low uses the column"):
        table.alter(rename={"count": "number"})
    with pytest.raises(lr.UnsupportedError, match="constraint low uses the column"):
        table.alter(drop="count")
    table.compact(target_size=1 << 30)
    table.delete("id = 13")
    table.alter(unset=["delta.constraints.low", "delta.constraints.named"])
    table.upsert(low)
    assert min(row["count"] for row in ours(folder)) == -1


def test_constraints_of_other_writers(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_deltalake(folder, rows(range(10)))
    DeltaTable(folder).alter.add_constraint({"low": "count >= 0"})
    lr.copy(rows(range(10, 20)), f"delta:{folder}", mode="append")
    bad = rows(range(1)).set_column(1, "count", pa.array([-1], pa.int32()))
    with pytest.raises(lr.InvalidInputError, match="constraint low"):
        lr.copy(bad, f"delta:{folder}", mode="append")
    # Ours are theirs, too.
    lr.Table(folder).alter(constraints={"known": "id >= 0"})
    with pytest.raises(Exception, match="failed validation"):
        write_deltalake(folder, rows(range(-1, 0)), mode="append")
    assert len(read(folder)) == 20
    entry = max((folder / "_delta_log").glob("*.json"))
    metadata = [json.loads(line) for line in entry.read_text().splitlines()]
    (action,) = [line["metaData"] for line in metadata if "metaData" in line]
    action["configuration"]["delta.constraints.odd"] = 'text = "a"'
    following = entry.with_name(f"{int(entry.stem) + 1:020}.json")
    following.write_text(json.dumps({"metaData": action}) + "\n")
    with pytest.raises(lr.UnsupportedError, match=r"constraint odd .*double quotes"):
        lr.copy(rows(range(20, 21)), f"delta:{folder}", mode="append")


def test_what_can_not_be_altered(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = made(folder, properties={"lakerace.primaryKey": "id"})
    for changes, error, told in [
        ({"rename": {"ident": "x"}}, lr.NotFoundError, "no column"),
        ({"rename": {"id": "TEXT"}}, lr.UsageError, "already"),
        ({"rename": {"id": ""}}, lr.InvalidInputError, "no name"),
        ({"rename": {"id": "a,b"}}, lr.UnsupportedError, "comma"),
        ({"drop": "id"}, lr.UnsupportedError, "key"),
        ({"drop": ["count", "counter"]}, lr.NotFoundError, "counter"),
        ({"add_columns": "Text int"}, lr.InvalidInputError, "case"),
        ({"add_columns": "text int"}, lr.UsageError, "already"),
        ({"add_columns": "more int not null"}, lr.UnsupportedError, "never null"),
        ({"add_columns": "more"}, lr.UsageError, "type"),
        ({"constraints": {"a b": "id > 0"}}, lr.UsageError, "blanks"),
        ({"constraints": {"a": "id >"}}, lr.UsageError, "id >"),
        ({"constraints": {"a": "ids > 0"}}, lr.NotFoundError, "ids"),
        ({"constraints": {"a": 'text = "x"'}}, lr.UnsupportedError, "double quotes"),
        ({"constraints": {"a": "id >= 0"}, "drop": "text"}, lr.UsageError, "columns first"),
        ({}, lr.UsageError, "no change is given"),
    ]:
        with pytest.raises(error, match=told):
            table.alter(**changes)
    assert table.version == 0
    columns = table.schema()["columns"]
    assert [column["name"] for column in columns] == ["id", "count", "text", "place"]


def test_a_rename_to_a_name_that_is_taken_names_both_columns(tmp_path: Path) -> None:
    made(tmp_path / "t")
    table = lr.Table(tmp_path / "t")
    for rename in [{"text": "PLACE"}, {"text": "x", "count": "place"}, {"count": "x", "text": "x"}]:
        with pytest.raises(lr.UsageError, match="already has a column") as raised:
            table.alter(rename=rename)
        assert "\\u0000" not in str(raised.value)
        assert any(f'"{old}": "{new}"' in str(raised.value) for old, new in rename.items())
    assert table.version == 0


def test_the_command_names_features_of_writers_alone_and_of_readers_too_before_it_is_done(tmp_path: Path) -> None:
    from test_delta_alter import command

    folder = tmp_path / "t"
    made(folder)
    changes = ["--set", "delta.enableChangeDataFeed=true", "--type", "id=bigint", "--constraint", "a=id >= 0"]
    features = command("alter", folder, *changes, "--set", "delta.enableDeletionVectors=true")
    protocol = next(
        entry["protocol"]
        for entry in map(json.loads, (folder / "_delta_log" / f"{1:020}.json").read_text().splitlines())
        if "protocol" in entry
    )
    both, writers, done = features.stderr.decode().splitlines()[:3]
    of_readers = both.removeprefix("after this change, readers and writers of the table must support: ").split(", ")
    of_writers = writers.removeprefix("after this change, writers of the table must support: ").split(", ")
    assert sorted(of_readers) == sorted(protocol["readerFeatures"])
    known = {"appendOnly", "invariants"}
    assert sorted(of_writers) == sorted(set(protocol["writerFeatures"]) - set(protocol["readerFeatures"]) - known)
    assert done == "version 1 has the changes"


def test_the_command_says_what_readers_have_to_know_before_it_is_done(tmp_path: Path) -> None:
    from test_delta_alter import command, told

    folder = tmp_path / "t"
    made(folder)
    done = command("alter", folder, "--rename", "text=name", "--dry-run")
    assert (done.returncode, lr.Table(folder).version) == (0, 0)
    assert b"would need to support: columnMapping" in done.stderr
    done = command("alter", folder, "--rename", "text=name", "--add-column", "x int", "--comment", "x=new")
    assert done.stderr.decode().splitlines()[:2] == [
        "after this change, readers and writers of the table must support: columnMapping",
        "version 1 has the changes",
    ]
    answer = told("alter", folder, "--type", "x=bigint", "--drop", "count,place", "--set", "a=b")
    assert (answer["version"], answer["features_added"]) == (2, ["typeWidening"])
    answer = told("alter", folder, "--constraint", "named=name <> ''")
    assert (answer["version"], answer["features_added"]) == (3, ["checkConstraints"])
    assert command("alter", folder).returncode == 2
    assert command("alter", folder, "--rename", "x=y", "--rename", "x=z").returncode == 2
    assert ours(folder) == [{"id": n, "name": "a", "x": None} for n in range(10)]
