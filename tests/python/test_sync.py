"""Databases that follow a Delta table: inserts, updates and deletes since the version that the target's own state names."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pytest
from conftest import command, empty_place, ok, run
from sync_tables import change_state, kept_state, made, rows, same

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place in each of the databases."""
    return empty_place(request, tmp_path)


@pytest.mark.parametrize("has_feed", [True, False])
def test_changes_arrive_and_nothing_else_is_sent(target: str, tmp_path: Path, has_feed: bool) -> None:
    count, folder = 40_000, tmp_path / "table"
    table = made(folder, count, has_feed=has_feed)
    first = lr.sync(folder, target, key="id")
    assert (first.from_version, first.version, first.upserted, first.deleted) == (None, 0, count, 0)
    same(target, table, folder)
    again = lr.sync(folder, target, key="id")
    assert (again.from_version, again.version, again.rows) == (0, 0, 0)
    # 1,000 changed rows: 500 new versions, 300 new rows, 200 that go; some change twice.
    table.upsert(rows(100, 600, "mid"))
    table.upsert(pa.concat_tables([rows(100, 600, "new"), rows(count, count + 300)]))
    table.delete("id >= 1000 and id < 1200")
    done = lr.sync(folder, target, key="id")
    assert (done.from_version, done.version) == (0, 3)
    # By the feed, a row goes once for each of its changes.
    assert (done.upserted, done.deleted) == (1300 if has_feed else 800, 200)
    same(target, table, folder)
    # A row costs about 60 bytes, and the table 2.4 MB.
    assert done.bytes_written < 400_000
    assert done.bytes_read < 600_000
    assert done.requests.put < 60


def test_rows_that_go_and_come_back(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 100)
    lr.sync(folder, target, key="id")
    table.delete("id < 10")
    table.upsert(rows(0, 5, "back"))
    table.delete("id in (3, 50)")
    table.upsert(rows(200, 203))
    table.delete("id = 201")
    done = lr.sync(folder, target, key="id")
    assert (done.from_version, done.version) == (0, 5)
    assert done.deleted == 8
    same(target, table, folder)
    found = {row[0]: row[1] for row in lr.scan(target, columns=["id", "text"]).rows()}
    assert (found[1], 3 in found, 201 in found, 202 in found) == ("back1", False, False, True)


def test_a_compaction_sends_nothing(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 1000, has_feed=False)
    for at in range(4):
        table.upsert(rows(2000 + at, 2001 + at))
    lr.sync(folder, target, key="id")
    table.delete("id = 7")
    assert table.compact().version is not None
    done = lr.sync(folder, target, key="id")
    assert (done.upserted, done.deleted) == (0, 1)
    same(target, table, folder)


def test_a_table_that_is_replaced_and_one_that_is_restored(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 50, has_feed=False)
    lr.sync(folder, target, key="id")
    lr.copy(rows(40, 90, "other"), f"delta:{folder}", mode="overwrite")
    done = lr.sync(folder, target, key="id")
    # The rows 42 and 49 are the same.
    assert (done.upserted, done.deleted) == (48, 40)
    table.restore(0)
    lr.sync(folder, target, key="id")
    same(target, table, folder)


def test_a_version_without_rows_is_unchanged(tmp_path: Path) -> None:
    folder, target = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    table = made(folder, 10)
    words = ("sync", folder, target, "--key", "id", "--json")
    assert "unchanged" not in ok(*words).json
    table.alter(comments={"text": "a comment"})
    done = ok(*words)
    assert (done.json["from_version"], done.json["version"], done.json["unchanged"]) == (0, 1, True)
    assert "from version 0 to 1: the rows are unchanged" in done.err
    assert ok(*words).json["unchanged"]
    table.upsert(rows(1, 2, "new"))
    assert "unchanged" not in ok(*words).json


@pytest.mark.parametrize("has_feed", [True, False])
@pytest.mark.parametrize("later", [0, 2])
def test_a_log_that_was_set_back_and_written_again(tmp_path: Path, has_feed: bool, later: int) -> None:
    folder, backup, path = tmp_path / "table", tmp_path / "backup", tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    table = made(folder, 100, has_feed=has_feed)
    shutil.copytree(folder, backup)
    table.upsert(rows(50, 120, "lost"))
    lr.sync(folder, target, key="id")
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)
    for number in range(1 + later):
        lr.Table(folder, key="id").upsert(rows(10, 11 + number, "kept"))
    with pytest.raises(lr.ConflictError, match=r"version 1 of the table is another one .* set back"):
        lr.sync(folder, target, key="id")
    done = run("sync", folder, target, "--key", "id")
    assert done.code == 7
    assert "--mode overwrite" in done.err
    lr.sync(folder, target, key="id", mode="overwrite")
    same(target, lr.Table(folder), folder)
    assert lr.sync(folder, target, key="id").rows == 0


@pytest.mark.parametrize("has_feed", [True, False])
def test_a_log_that_was_set_back_below_a_stopped_run(tmp_path: Path, has_feed: bool) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    table = stopped_run(folder, path, has_feed=has_feed)
    for version in (1, 2, 3):
        entry(folder, version).unlink()
    table.upsert(rows(10, 12, "kept"))
    with pytest.raises(lr.ConflictError, match="version 1 of the table is another one"):
        lr.sync(folder, f"sqlite:{path}#t", key="id")


def test_what_does_not_follow_the_table_is_left_alone(target: str, tmp_path: Path) -> None:
    folder, other = tmp_path / "table", tmp_path / "other"
    table = made(folder, 10)
    made(other, 20)
    lr.copy(rows(500, 510), target, key="id")
    done = run("sync", folder, target, "--key", "id")
    assert (done.code, "--mode overwrite" in done.err) == (7, True), done.err
    assert lr.scan(target).count() == 10
    assert lr.sync(folder, target, key="id", mode="overwrite").upserted == 10
    same(target, table, folder)
    with pytest.raises(lr.ConflictError, match="follows another table"):
        lr.sync(other, target, key="id")
    with pytest.raises(lr.ConflictError, match="by the key id, not text"):
        lr.sync(folder, target, key="text")
    with pytest.raises(lr.UsageError, match=r'key=\["A", "B"\]'):
        lr.sync(folder, target)
    lr.Table(folder).alter(set={"lakerace.primaryKey": "id"})
    assert lr.sync(folder, target).version == 1


def test_an_overwrite_by_others_ends_what_follows(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 10)
    lr.sync(folder, target, key="id")
    lr.copy(rows(700, 701), target, key="id", mode="overwrite")
    with pytest.raises(lr.ConflictError, match="does not follow a table"):
        lr.sync(folder, target, key="id")
    assert lr.scan(target).count() == 1
    lr.sync(folder, target, key="id", mode="overwrite")
    same(target, table, folder)
    # The sync's own overwrite keeps its state.
    table.upsert(rows(5, 15, "new"))
    assert lr.sync(folder, target, key="id").from_version == 0
    same(target, table, folder)


@pytest.mark.parametrize("mode", ["error", "append"])
def test_a_table_that_others_make_again_follows_nothing(tmp_path: Path, mode: Literal["error", "append"]) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    made(folder, 10)
    lr.sync(folder, target, key="id")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE t")
    # SQLite finds a table by its name in any case.
    lr.copy(rows(700, 701), f"sqlite:{path}#T", key="id", mode=mode)
    with pytest.raises(lr.ConflictError, match="does not follow a table"):
        lr.sync(folder, target, key="id")


@pytest.mark.parametrize("has_feed", [True, False])
def test_a_column_that_the_table_gets(target: str, tmp_path: Path, has_feed: bool) -> None:
    folder = tmp_path / "table"
    table = made(folder, 10, has_feed=has_feed)
    lr.sync(folder, target, key="id")
    wider = rows(8, 12, "new").append_column("seen", pa.array([1, 2, 3, 4], pa.int32()))
    table.upsert(wider, evolve="add")
    done = lr.sync(folder, target, key="id")
    assert (done.from_version, done.upserted) == (0, 4)
    same(target, table, folder)
    assert dict(lr.scan(target, columns=["id", "seen"]).rows()) == dict.fromkeys(range(8)) | {8: 1, 9: 2, 10: 3, 11: 4}
    assert lr.scan(target).schema.field("seen").type == pa.int32()
    table.restore(0)
    lr.sync(folder, target, key="id")
    same(target, table, folder)


def test_wrong_calls(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    made(folder, 10)
    assert run("sync", folder, tmp_path / "x.parquet", "--key", "id").code == 2
    assert run("sync", tmp_path / "none", f"sqlite:{tmp_path / 'a.db'}#t", "--key", "id").code == 3
    assert run("sync", folder, f"sqlite:{tmp_path / 'a.db'}#t", "--key", "nothing").code == 3
    assert run("sync", folder, f"sqlite:{tmp_path / 'a.db'}#t", "--key", "id", "--interval", "1s").code == 2


def test_a_row_without_a_key(tmp_path: Path) -> None:
    folder, target = tmp_path / "table", f"sqlite:{tmp_path / 'a.db'}#t"
    nulls = pa.table({"id": pa.array([1, None], pa.int64())})
    lr.copy(nulls, f"delta:{folder}")
    lr.copy(pa.table({"id": [1]}), f"sqlite:{tmp_path / 'a.db'}#other")
    done = run("sync", folder, target, "--key", "id")
    assert (done.code, "--dead-letter" in done.err) == (4, False), done.err
    assert "fix these rows in the table" in done.err
    lr.copy(pa.table({"id": [1]}), f"delta:{folder}", mode="overwrite")
    assert lr.sync(folder, target, key="id").upserted == 1
    lr.copy(nulls, f"delta:{folder}", mode="append")
    done = run("sync", folder, target, "--key", "id")
    assert (done.code, "--dead-letter" in done.err) == (4, False), done.err
    # What follows no table is told by its place.
    done = run("sync", folder, f"sqlite:{tmp_path / 'a.db'}#other", "--key", "id")
    assert (done.code, "a.db#other: it exists" in done.err) == (7, True), done.err


def test_rows_that_share_a_key(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.concat_tables([rows(0, 5), rows(3, 8)]), f"delta:{folder}")
    wrong, message = {
        "mongodb": (lr.ConflictError, "a document with this key already exists"),
        "elasticsearch": (lr.ConflictError, "a document with this _id already exists"),
        "sqlite": (lr.ConflictError, "UNIQUE constraint failed"),
    }[target.split(":", 1)[0]]
    # The second run finds what the first one has left.
    for _ in range(2):
        with pytest.raises(wrong, match=message) as caught:
            lr.sync(folder, target, key="id")
        assert "SELECT id … GROUP BY id HAVING count(*) > 1" in str(caught.value)


@pytest.mark.parametrize("has_feed", [True, False])
def test_every_step_can_be_the_last_one(tmp_path: Path, has_feed: bool) -> None:
    """What a kill leaves behind, step by step: the next run ends with the same rows."""
    folder, path = tmp_path / "table", tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    table = made(folder, 300, has_feed=has_feed)
    lr.sync(folder, target, key="id")
    # The first run had the right to write, and has done nothing yet.
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE t")
        database.execute("UPDATE _lakerace_states SET state = ?", [json.dumps({"owner": {}, "runs": 1})])
    assert lr.sync(folder, target, key="id").upserted == 300
    # The whole table was on its way, and is there; or it is gone again.
    change_state(path, {"is_loading": True})
    assert lr.sync(folder, target, key="id").upserted == 300
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE t")
    assert lr.sync(folder, target, key="id").upserted == 300
    table.upsert(rows(0, 50, "mid"))
    table.delete("id >= 100 and id < 150")
    table.upsert(rows(300, 320))
    lr.sync(folder, target, key="id")
    begun = {"version": 0, "entry": None, "begun": {"version": 3, "way": "feed" if has_feed else "comparison"}}
    # All was sent, and the version was not noted.
    change_state(path, begun)
    done = lr.sync(folder, target, key="id")
    assert (done.from_version, done.upserted) == (0, 70)
    same(target, table, folder)
    # A part of it was sent.
    change_state(path, begun)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM t WHERE id >= 310")
        database.execute("UPDATE t SET text = 'old' || id WHERE id < 20 AND id % 7 > 0")
        database.execute("INSERT INTO t (id, text) VALUES (120, 'not yet removed')")
    lr.sync(folder, target, key="id")
    same(target, table, folder)
    change_state(path, {"version": 99})
    with pytest.raises(lr.ConflictError, match="version 99"):
        lr.sync(folder, target, key="id")
    change_state(path, {"version": 3, "begun": {"version": 98, "way": "comparison"}})
    with pytest.raises(lr.ConflictError, match="version 98"):
        lr.sync(folder, target, key="id")


def stopped_run(folder: Path, path: Path, *, has_feed: bool) -> lr.Table:
    """A target at version 0 that has a part of version 1, a row that came and one that changed; version 2 takes both back."""
    table = made(folder, 100, has_feed=has_feed)
    target = f"sqlite:{path}#t"
    lr.sync(folder, target, key="id")
    table.upsert(pa.concat_tables([rows(1, 2, "for a while"), rows(200, 210)]))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON t WHEN new.id = 209 BEGIN SELECT RAISE(ROLLBACK, 'stopped'); END"
        )
    with pytest.raises(lr.Error, match="stopped"):
        lr.sync(folder, target, key="id", batch_rows=1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER stop")
    assert len(set(lr.scan(target, columns=["id"]).to_arrow()["id"].to_pylist()) & set(range(200, 209))) > 0
    table.upsert(rows(1, 2))
    table.delete("id >= 200")
    return table


@pytest.mark.parametrize("has_feed", [True, False])
def test_what_a_stopped_run_has_sent_and_later_versions_take_back(tmp_path: Path, has_feed: bool) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    table = stopped_run(folder, path, has_feed=has_feed)
    begun = kept_state(path)["begun"]
    assert (begun["version"], begun["way"]) == (1, "feed" if has_feed else "comparison")
    done = lr.sync(folder, f"sqlite:{path}#t", key="id")
    assert (done.from_version, done.version) == (0, 3)
    same(f"sqlite:{path}#t", table, folder)
    assert kept_state(path)["begun"] is None


def test_a_stopped_run_whose_feed_is_gone(tmp_path: Path) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    table = stopped_run(folder, path, has_feed=True)
    shutil.rmtree(folder / "_change_data")
    done = lr.sync(folder, f"sqlite:{path}#t", key="id")
    assert (done.from_version, done.version, done.upserted) == (None, 3, 100)
    same(f"sqlite:{path}#t", table, folder)


def test_a_feed_that_ends_within_a_run(tmp_path: Path) -> None:
    """The first version is sent before the next one's change files are missed."""
    folder, path = tmp_path / "table", tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    table = made(folder, 100)
    lr.sync(folder, target, key="id")
    lr.copy(rows(200, 210), folder, mode="append")
    table.upsert(rows(5, 20, "new"))
    table.delete("id >= 200")
    shutil.rmtree(folder / "_change_data")
    done = lr.sync(folder, target, key="id", batch_rows=1)
    assert done.version == 3
    same(target, table, folder)


def entry(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020}.json"


def test_columns_in_another_order(target: str, tmp_path: Path) -> None:
    """Values that change their places are changes, though each row has the same values in the same order."""
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1, 2], "a": [5, 6], "b": [7, 6]}), f"delta:{folder}")
    lr.sync(folder, target, key="id")
    lr.copy(pa.table({"id": [1, 2], "a": [7, 6], "b": [5, 6]}), f"delta:{folder}", mode="overwrite")
    # Another writer puts the columns in another order.
    metadata = next(line for line in entry(folder, 0).read_text().splitlines() if '"metaData"' in line)
    reordered = json.loads(metadata)
    schema = json.loads(reordered["metaData"]["schemaString"])
    schema["fields"] = [schema["fields"][at] for at in (0, 2, 1)]
    reordered["metaData"]["schemaString"] = json.dumps(schema)
    with entry(folder, 1).open("a") as lines:
        lines.write(json.dumps(reordered) + "\n")
    assert lr.scan(folder).to_arrow().column_names == ["id", "b", "a"]
    lr.sync(folder, target, key="id")
    assert sorted(lr.scan(target, columns=["id", "a", "b"]).rows()) == [(1, 7, 5), (2, 6, 6)]


def test_a_damaged_state(tmp_path: Path) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    target = f"sqlite:{path}#t"
    table = made(folder, 10)
    lr.sync(folder, target, key="id")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE _lakerace_states SET state = '{'")
    done = run("sync", folder, target, "--key", "id", "--json")
    assert (done.error["kind"], done.error["place"]) == ("corrupt_data", f"{path}#t"), done.err
    assert "--mode overwrite" in done.err
    assert lr.sync(folder, target, key="id", mode="overwrite").upserted == 10
    same(target, table, folder)
    assert lr.sync(folder, target, key="id").rows == 0


@pytest.mark.parametrize("has_feed", [True, False])
def test_kills_at_any_time(target: str, tmp_path: Path, has_feed: bool) -> None:
    folder = tmp_path / "table"
    table = made(folder, 3000, has_feed=has_feed)
    arguments = ("sync", folder, target, "--key", "id", "--max-rate", "4000", "--batch-rows", "500")
    for turn in range(6):
        following = subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL)
        time.sleep(0.15 + 0.2 * turn)
        following.send_signal(signal.SIGKILL)
        following.wait()
        table.upsert(rows(turn * 100, turn * 100 + 400, f"turn{turn}-"))
        table.delete(f"id >= {2000 + turn * 10} and id < {2005 + turn * 10}")
    done = ok(*arguments, "--json").json
    assert done["version"] == 12
    same(target, table, folder)


def test_following_until_a_signal(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 500)
    process = subprocess.Popen(
        command("sync", folder, target, "--key", "id", "--follow", "--interval", "0s", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        for turn in range(3):
            wait_for(target, 500 + turn * 10)
            table.upsert(rows(500 + turn * 10, 510 + turn * 10))
        wait_for(target, 530)
        # Rows can be seen before their run has ended, and a signal before that leaves the run out of what is told.
        patience = threading.Timer(60, process.kill)
        patience.start()
        assert any(b"from version 2 to 3: 10 rows" in line for line in process.stderr)
        patience.cancel()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, err
    told = json.loads(out)
    assert (told["from_version"], told["version"], told["upserted"], told["deleted"]) == (None, 3, 530, 0)
    same(target, table, folder)


def wait_for(target: str, count: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if lr.scan(target).count() == count:
                return
        except (lr.NotFoundError, lr.ConflictError):
            # It is not there yet, or was written to while it was read.
            pass
        time.sleep(0.05)
    raise AssertionError(f"{target} has not come to {count} rows")
