"""Tables that databases follow, and the states that targets keep of them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

FEED = {"delta.enableChangeDataFeed": "true"}


def rows(first: int, last: int, text: str = "old") -> pa.Table:
    number = range(first, last)
    return pa.table(
        {
            "id": pa.array(number, pa.int64()),
            "text": pa.array([None if n % 7 == 0 else f"{text}{n}" for n in number], pa.string()),
            "ratio": pa.array([n / 8 for n in number], pa.float64()),
            "tags": pa.array([[f"a{n % 5}"] * (n % 3) for n in number], pa.list_(pa.string())),
        }
    )


def made(folder: Path, count: int, *, has_feed: bool = True) -> lr.Table:
    lr.copy(rows(0, count), f"delta:{folder}", table_properties=FEED if has_feed else None)
    return lr.Table(folder, key="id")


def same(target: str, table: lr.Table, folder: Path) -> None:
    """The target has the rows of the table, and no other."""
    columns = ["id", "text", "ratio", "tags"]
    assert lr.scan(target, columns=columns).checksum() == lr.scan(folder, columns=columns).checksum()
    assert lr.scan(target).count() == table.scan().count()


def change_state(path: Path, change: dict[str, Any]) -> None:
    """Changes what a target in SQLite keeps."""
    with closing(sqlite3.connect(path)) as database, database:
        (text,) = database.execute("SELECT state FROM _lakerace_states").fetchone()
        database.execute("UPDATE _lakerace_states SET state = ?", [json.dumps({**json.loads(text), **change})])


def kept_state(path: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as database:
        (text,) = database.execute("SELECT state FROM _lakerace_states").fetchone()
    state = json.loads(text)
    assert isinstance(state, dict)
    return state
