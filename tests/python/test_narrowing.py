"""Copies that may change values, and prove that nothing else was changed."""

from __future__ import annotations

import datetime
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    import mongoserver

NAN = float("nan")
NARROWING: dict[str, Any] = {"allow_narrowing": True, "verify": True}


@pytest.mark.parametrize("mode", ["error", "overwrite", "append", "upsert"])
@pytest.mark.parametrize("key", [None, "id"])
def test_a_nan_that_sqlite_makes_a_null_is_verified_as_one(tmp_path: Path, mode: str, key: str | None) -> None:
    if mode == "upsert" and key is None:
        key = "id"
    rows = pa.table({"id": range(5), "x": [NAN, 1.5, None, float("inf"), NAN], "y": pa.array([NAN] * 5, pa.float32())})
    copied = lr.copy(rows, f"sqlite:{tmp_path / 'a.db'}#t", mode=mode, key=key, **NARROWING)
    assert (copied.rows, copied.checksum is not None) == (5, True)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        found = database.execute("SELECT id, x, y FROM t ORDER BY id").fetchall()
    assert found == [(0, None, None), (1, 1.5, None), (2, None, None), (3, float("inf"), None), (4, None, None)]


def test_rejected_rows_are_left_out_as_the_table_would_have_them(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL, n INTEGER CHECK (n < 3))")
    rows = pa.table({"id": range(5), "x": [NAN, 1.5, None, NAN, NAN], "n": range(5)})
    target, dead = f"sqlite:{tmp_path / 'a.db'}#t", tmp_path / "dead.jsonl"
    copied = lr.copy(rows, target, mode="append", dead_letter=dead, **NARROWING)
    assert (copied.rows, copied.rejected) == (3, 2)


def test_narrower_types_of_a_table_are_verified_as_they_are_kept(tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(pa.table({"id": [1], "x": pa.array([0.5], pa.float32()), "n": pa.array([1], pa.int16())}), target, key="id")
    rows = pa.table({"id": [2, 3], "x": [0.1, NAN], "n": [2.7, -2.7]})
    with pytest.raises(lr.InvalidInputError):
        lr.copy(rows, target, mode="append", verify=True)
    assert lr.copy(rows, target, mode="append", **NARROWING).rows == 2
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        found = database.execute("SELECT x, n FROM t WHERE id > 1 ORDER BY id").fetchall()
    assert found == [(pytest.approx(0.1, abs=1e-7), 2), (None, -2)]


def test_times_that_mongodb_cuts_are_verified_as_cut(mongo: mongoserver.MongoServer) -> None:
    times = [datetime.datetime(2024, 2, 29, 1, 2, 3, 4567), datetime.datetime(1960, 1, 1, 0, 0, 0, 999)]
    rows = pa.table({"id": [1, 2], "at": times, "all": [times, [None]], "in": [{"at": time} for time in times]})
    place = mongo.location("cut")
    with pytest.raises(lr.InvalidInputError):
        lr.copy(rows, place, verify=True)
    for mode in ["overwrite", "append"]:
        assert lr.copy(rows, place, mode=mode, **NARROWING).rows == 2
    cut = [time.replace(microsecond=time.microsecond // 1000 * 1000) for time in times]
    for row in (found := list(mongo.client[mongo.database]["cut"].find({"id": 1}))):
        times = [time.replace(tzinfo=None) for time in (row["at"], *row["all"], row["in"]["at"])]
        assert times == [cut[0], *cut, cut[0]]
    assert len(found) == 2


def test_a_change_that_narrowing_does_not_explain_is_found(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL)")
        database.execute("CREATE TRIGGER more AFTER INSERT ON t BEGIN UPDATE t SET x = 7 WHERE id = new.id; END")
    with pytest.raises(lr.CorruptDataError, match="does not have the rows that were sent"):
        lr.copy(pa.table({"id": [1, 2], "x": [NAN, 1.0]}), f"sqlite:{tmp_path / 'a.db'}#t", mode="append", **NARROWING)
