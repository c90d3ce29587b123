"""Databases that follow a Delta table whose columns change: the target gets them, or the run says why it can't."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from sync_tables import change_state, made

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def test_columns_that_get_other_names_are_a_conflict(tmp_path: Path) -> None:
    table, file = str(tmp_path / "table"), tmp_path / "copy.db"
    place = f"sqlite:{file}#t"
    first = pa.table({"id": [1, 2], "a": ["x", "y"], "b": ["p", "q"]})
    lr.copy(first, f"delta:{table}", table_properties={"lakerace.primaryKey": "id"})
    lr.sync(table, place)
    lr.Table(table).alter(add_columns=["extra int"])
    assert lr.sync(table, place).upserted == 0
    lr.Table(table).alter(rename={"a": "c"})
    with pytest.raises(lr.ConflictError, match='column "a" of the table was renamed'):
        lr.sync(table, place)
    lr.sync(table, place, mode="overwrite")
    # Two columns change places.
    lr.Table(table).alter(rename={"b": "c", "c": "b"})
    with pytest.raises(lr.ConflictError, match="was renamed"):
        lr.sync(table, place)
    lr.sync(table, place, mode="overwrite", verify=True)
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("select id, b, c from t order by id").fetchall()
    assert found == [(1, "x", "p"), (2, "y", "q")]
    lr.Table(table).alter(drop=["c"])
    lr.Table(table).alter(add_columns=["c text"])
    with pytest.raises(lr.ConflictError, match='column "c" of the table was renamed, or dropped and added again'):
        lr.sync(table, place)


@pytest.mark.parametrize("kind", ["text", "int", "TEXT"])
@pytest.mark.parametrize("has_feed", [True, False])
def test_a_column_that_is_dropped_synced_and_added_again_is_a_conflict(
    tmp_path: Path, kind: str, has_feed: bool
) -> None:
    """The target keeps the values of the dropped column, which the new one does not have."""
    folder, path = tmp_path / "table", tmp_path / "copy.db"
    table, target = made(folder, 10, has_feed=has_feed), f"sqlite:{path}#t"
    lr.sync(folder, target, key="id")
    name = "TEXT" if kind == "TEXT" else "text"
    table.alter(drop="text")
    lr.sync(folder, target, key="id")
    # A run without changes keeps what is known.
    assert lr.sync(folder, target, key="id").upserted == 0
    table.delete("id = 1")
    assert lr.sync(folder, target, key="id").deleted == 1
    table.alter(add_columns=f"{name} {kind.lower()}")
    with pytest.raises(lr.ConflictError, match=f'column "{name}" of the table was dropped and added again'):
        lr.sync(folder, target, key="id")
    lr.sync(folder, target, key="id", mode="overwrite", verify=True)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*), count(text) FROM t").fetchone() == (9, 0)


@pytest.mark.parametrize(
    ("narrow", "wide", "value", "types"),
    [
        (pa.float32(), "double", 0.1, "from float to double"),
        (pa.int32(), "bigint", 2**40, "from integer to long"),
    ],
)
def test_a_widened_column_is_a_conflict(
    tmp_path: Path, narrow: pa.DataType, wide: str, value: float, types: str
) -> None:
    folder, path = str(tmp_path / "table"), tmp_path / "copy.db"
    target = f"sqlite:{path}#t"
    lr.copy(pa.table({"id": [1], "x": pa.array([1], narrow)}), f"delta:{folder}")
    lr.sync(folder, target, key="id")
    table = lr.Table(folder)
    table.alter(types={"x": wide})
    with pytest.raises(
        lr.ConflictError, match=f'the type of column "x" of the table has changed {types} after the last'
    ):
        lr.sync(folder, target, key="id")
    table.upsert(pa.table({"id": [2], "x": [value]}), key="id")
    lr.sync(folder, target, key="id", mode="overwrite", verify=True)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT id, x FROM t ORDER BY id").fetchall() == [(1, 1), (2, value)]


def test_a_widened_element_of_a_list_is_a_conflict(tmp_path: Path) -> None:
    """The schema of the log has other elements, as a writer with nested type widening leaves it."""
    folder, target = tmp_path / "table", f"sqlite:{tmp_path / 'copy.db'}#t"
    lists = pa.array([[1, 2]], pa.list_(pa.int32()))
    lr.copy(pa.table({"id": [1], "x": lists}), f"delta:{folder}")
    lr.sync(folder, target, key="id")
    log = folder / "_delta_log"
    (line,) = [line for line in (log / f"{0:020}.json").read_text().splitlines() if '"metaData"' in line]
    assert '\\"elementType\\":\\"integer\\"' in line
    widened = line.replace('\\"elementType\\":\\"integer\\"', '\\"elementType\\":\\"long\\"')
    (log / f"{1:020}.json").write_text(widened + "\n")
    with pytest.raises(lr.ConflictError, match=r"changed from array<integer> to array<long> after the last run"):
        lr.sync(str(folder), target, key="id")


@pytest.mark.parametrize("has_feed", [True, False])
@pytest.mark.parametrize("deletes", [True, False])
def test_a_column_arrives_without_new_rows(tmp_path: Path, has_feed: bool, deletes: bool) -> None:
    folder, path = tmp_path / "table", tmp_path / "copy.db"
    table, target = made(folder, 10, has_feed=has_feed), f"sqlite:{path}#t"
    lr.sync(folder, target, key="id")
    table.alter(add_columns=["extra int", "place struct(x int64)"])
    if deletes:
        table.delete("id < 3")
    done = lr.sync(folder, target, key="id")
    assert (done.upserted, done.deleted) == (0, 3 if deletes else 0)
    with closing(sqlite3.connect(path)) as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(t)")]
        assert names == ["id", "text", "ratio", "tags", "extra", "place"]
        assert database.execute("SELECT count(*), count(extra) FROM t").fetchone() == (7 if deletes else 10, 0)
    before = path.read_bytes()
    assert lr.sync(folder, target, key="id", verify=True).upserted == 0
    assert path.read_bytes() == before


def test_fields_that_get_other_names_and_states_without_columns(tmp_path: Path) -> None:
    table, path = str(tmp_path / "table"), tmp_path / "copy.db"
    place = f"sqlite:{path}#t"
    place_type = pa.struct([("x", pa.int64()), ("y", pa.string())])
    first = pa.table({"id": [1, 2], "a": ["p", "q"], "place": pa.array([{"x": 1, "y": "u"}] * 2, place_type)})
    lr.copy(first, f"delta:{table}", table_properties={"lakerace.primaryKey": "id", "delta.columnMapping.mode": "name"})
    lr.sync(table, place)
    # Another writer renames a field.
    log = tmp_path / "table" / "_delta_log"
    (metadata,) = [line for line in (log / f"{0:020}.json").read_text().splitlines() if '"metaData"' in line]
    renamed = json.loads(metadata)
    schema = json.loads(renamed["metaData"]["schemaString"])
    schema["fields"][2]["type"]["fields"][0]["name"] = "z"
    renamed["metaData"]["schemaString"] = json.dumps(schema)
    (log / f"{1:020}.json").write_text(json.dumps(renamed) + "\n")
    for columns in [{}, {"columns": None, "entry": None}]:
        change_state(path, columns)
        with pytest.raises(lr.ConflictError, match=r'column "place.x" of the table was renamed'):
            lr.sync(table, place)
    lr.sync(table, place, mode="overwrite")
    change_state(path, {"columns": None, "entry": None})
    lr.Table(table).alter(rename={"a": "b"})
    with pytest.raises(lr.ConflictError, match='column "a" of the table was renamed'):
        lr.sync(table, place)


def test_a_column_that_a_restore_brings_back(tmp_path: Path) -> None:
    table, path = str(tmp_path / "table"), tmp_path / "copy.db"
    place = f"sqlite:{path}#t"
    lr.copy(pa.table({"id": [1, 2], "a": ["x", "y"]}), f"delta:{table}", table_properties={"lakerace.primaryKey": "id"})
    lr.Table(table).alter(drop="a")
    lr.Table(table).alter(add_columns="b int")
    lr.sync(table, place)
    lr.Table(table).alter(add_columns="c int")
    assert lr.sync(table, place).upserted == 0
    lr.Table(table).restore(0)
    with pytest.raises(lr.ConflictError, match='column "a" of the table came back by a restore'):
        lr.sync(table, place)
    lr.sync(table, place, mode="overwrite", verify=True)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT id, a FROM t ORDER BY id").fetchall() == [(1, "x"), (2, "y")]
