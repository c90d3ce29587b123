"""Loads that go on: into the target that they began with, and proven where they are."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl
import psutil
import pymongo
import pytest
from conftest import command, empty_place, ok, run
from deltalake import DeltaTable

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS, BATCH_ROWS = 4000, 500


class Target:
    """A place in a database, and what somebody else does to it."""

    def __init__(self, place: str) -> None:
        """`place` is its location."""
        self.place = place
        self.system = place.split(":", 1)[0]

    def _mongo(self) -> pymongo.MongoClient[dict[str, Any]]:
        parts = urllib.parse.urlsplit(self.place)
        return pymongo.MongoClient(f"mongodb://{parts.netloc}")

    def _names(self) -> tuple[str, str]:
        if self.system == "sqlite":
            file, table = self.place.removeprefix("sqlite:").split("#")
            return file, table
        *_, database, name = self.place.split("/")
        return database, name

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        url = f"http://{urllib.parse.urlsplit(self.place).netloc}/{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def acknowledged(self) -> int:
        """The acknowledged rows of all loads of the place."""
        first, name = self._names()
        if self.system == "sqlite":
            with closing(sqlite3.connect(first)) as database:
                try:
                    found = database.execute("SELECT sum(rows) FROM _lakerace_loads WHERE table_name = ?", [name])
                except sqlite3.OperationalError:
                    return 0
                return int(found.fetchone()[0] or 0)
        if self.system == "mongodb":
            with self._mongo() as client:
                loads = client[first]["lakerace.loads"].find({"_id.collection": name})
                return sum(load["acknowledged_rows"] for load in loads)
        self._ask("POST", "lakerace-loads/_refresh")
        hits = self._ask("GET", "lakerace-loads/_search?size=1000").get("hits", {}).get("hits", [])
        loads = [hit["_source"] for hit in hits]
        # States of jobs are kept beside the loads.
        return sum(load.get("acknowledged_rows", 0) for load in loads if load["target"] == name)

    def wait_for_commands(self, ports: set[int]) -> None:
        """Waits until the server has done what connections from these ports sent: a command goes on without its client.

        If a collection is dropped during a command, the rest of the command makes it again, and the drop of SecantusDB, which is not
        atomic, leaves documents that no `_id` finds.
        """
        end = time.monotonic() + 60
        while self._runs_commands(ports):
            assert time.monotonic() < end, "the server still runs a command of the killed load"
            time.sleep(0.02)

    def _runs_commands(self, ports: set[int]) -> bool:
        if self.system == "sqlite":
            return False
        if self.system == "mongodb":
            with self._mongo() as client:
                running = client.admin.command("currentOp")["inprog"]
            return any(int(one.get("client", ":0").rpartition(":")[2]) in ports for one in running)
        return bool(self._ask("GET", "_tasks?actions=indices:data/write/*").get("nodes"))

    def drop(self) -> None:
        """Removes the rows, and leaves the journal."""
        first, name = self._names()
        if self.system == "sqlite":
            with closing(sqlite3.connect(first)) as database, database:
                database.execute(f"DROP TABLE {name}")
        elif self.system == "mongodb":
            with self._mongo() as client:
                client[first][name].drop()
        else:
            for index in self._ask("GET", name):
                self._ask("DELETE", index)

    def make(self) -> None:
        """Makes it anew, without a row."""
        first, name = self._names()
        if self.system == "sqlite":
            with closing(sqlite3.connect(first)) as database, database:
                database.execute(f"CREATE TABLE {name} (id INTEGER) STRICT")
        elif self.system == "mongodb":
            with self._mongo() as client:
                client[first].create_collection(name)
        else:
            self._ask("PUT", name, {"mappings": {"properties": {"id": {"type": "long"}}}})


@pytest.fixture(params=["sqlite", "mongodb", "elasticsearch"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A place in each of the databases."""
    # A server that runs already may have the rows of an earlier run.
    return Target(empty_place(request, tmp_path) + uuid.uuid4().hex[:8])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Rows with the numbers from 0 on."""
    path = tmp_path / "source.csv"
    path.write_text("".join(["id\n", *(f"{n}\n" for n in range(ROWS))]))
    return path


def begin(target: Target, source: Path, *options: str) -> None:
    """A load that is killed behind a checkpoint."""
    arguments = ["copy", source, target.place, "--batch-rows", str(BATCH_ROWS), "--max-rate", "1000", *options]
    with subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL) as load:
        try:
            end = time.monotonic() + 60
            while not target.acknowledged() and load.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            # Rows behind the checkpoint are on their way.
            time.sleep(0.1)
            ports = {one.laddr.port for one in psutil.Process(load.pid).net_connections("inet")}
        finally:
            load.send_signal(signal.SIGKILL)
        assert load.wait() == -signal.SIGKILL
    target.wait_for_commands(ports)


def go_on(target: Target, source: Path, *options: str) -> Any:
    """The same load again, which goes on."""
    return run("copy", source, target.place, "--batch-rows", str(BATCH_ROWS), "--resume", "--verify", *options)


def ids(target: Target) -> list[int]:
    """The numbers that are there."""
    return sorted(row[0] for row in lr.scan(target.place, columns=["id"]).rows())


@pytest.mark.parametrize("options", [(), ("--mode", "overwrite"), ("--mode", "append"), ("--key", "id")])
def test_what_goes_on_is_proven(target: Target, source: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    old: list[int] = []
    if "--mode" in options:
        (tmp_path / "old.csv").write_text("id\n77777\n")
        ok("copy", tmp_path / "old.csv", target.place)
        old = [77777] if "append" in options else []
    begin(target, source, *options)
    done = go_on(target, source, *options)
    assert done.code == 0, done.err
    assert ids(target) == [*range(ROWS), *old]


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_delta_tables_and_targets_without_a_load_are_proven(target: Target, tmp_path: Path, mode: str) -> None:
    (tmp_path / "old.csv").write_text("id\n77777\n")
    (tmp_path / "new.csv").write_text("id\n1\n2\n3\n")
    # A Delta table refuses to add rows of a load that it does not know.
    places = [target.place, *([f"delta:{tmp_path / 'delta'}"] if mode == "overwrite" else [])]
    for place in places:
        ok("copy", tmp_path / "old.csv", place)
        done = ok("copy", tmp_path / "new.csv", place, "--mode", mode, "--batch-rows", "2", "--resume", "--verify")
        assert done.code == 0
        assert lr.scan(place).count() == (3 if mode == "overwrite" else 4)


@pytest.mark.parametrize(
    ("mode", "is_finished", "is_made_anew", "code"),
    [
        ("error", True, False, 0),
        ("error", True, True, 7),
        ("overwrite", True, False, 0),
        ("overwrite", True, True, 0),
        ("append", False, False, 7),
        ("append", False, True, 7),
        ("append", True, False, 7),
        ("append", True, True, 7),
        ("upsert", False, False, 0),
        ("upsert", True, False, 0),
    ],
)
def test_a_target_that_is_gone_is_noticed(
    target: Target, source: Path, mode: str, is_finished: bool, is_made_anew: bool, code: int
) -> None:
    options = ["--mode", mode, *(["--key", "id"] if mode == "upsert" else [])]
    if is_finished:
        ok("copy", source, target.place, *options, "--batch-rows", str(BATCH_ROWS))
    else:
        begin(target, source, *options)
    target.drop()
    if is_made_anew:
        target.make()
    done = go_on(target, source, *options)
    assert done.code == code, done.err
    if code:
        assert ("already exists" if mode == "error" else "without --resume") in done.err
    else:
        assert ids(target) == list(range(ROWS))


def test_a_table_that_the_load_made_and_that_is_gone_is_made_again(tmp_path: Path, source: Path) -> None:
    target = Target(f"sqlite:{tmp_path / 'a.db'}#t")
    begin(target, source)
    target.drop()
    done = go_on(target, source)
    assert done.code == 0, done.err
    assert ids(target) == list(range(ROWS))


def test_a_table_is_known_again_whatever_else_has_changed(tmp_path: Path, source: Path) -> None:
    target = Target(f"sqlite:{tmp_path / 'a.db'}#t")
    begin(target, source, "--mode", "append")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        for sql in ("CREATE TABLE other (id INTEGER)", "DROP TABLE other", "VACUUM"):
            database.execute(sql)
    done = go_on(target, source, "--mode", "append", "--json")
    assert done.code == 0, done.err
    assert done.json["skipped"] >= BATCH_ROWS
    assert ids(target) == list(range(ROWS))


def test_a_journal_without_marks_is_read(tmp_path: Path, source: Path) -> None:
    target = Target(f"sqlite:{tmp_path / 'a.db'}#t")
    begin(target, source, "--mode", "append")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("ALTER TABLE _lakerace_loads DROP COLUMN mark")
    done = go_on(target, source, "--mode", "append", "--json")
    assert (done.code, done.json["skipped"] >= BATCH_ROWS) == (0, True), done.err
    assert ids(target) == list(range(ROWS))


def test_a_delta_table_of_one_commit_is_known_again(tmp_path: Path, source: Path) -> None:
    """A load without checkpoints that was killed after its commit has left what a whole one leaves."""
    table = f"delta:{tmp_path / 'table'}"
    ok("copy", source, table)
    log = sorted(path.name for path in (tmp_path / "table" / "_delta_log").iterdir())
    for _ in range(2):
        done = ok("copy", source, table, "--resume", "--verify", "--json")
        assert (done.json["rows"], done.json["skipped"]) == (0, ROWS)
    assert sorted(path.name for path in (tmp_path / "table" / "_delta_log").iterdir()) == log
    assert DeltaTable(tmp_path / "table").to_pyarrow_table()["id"].to_pylist() == list(range(ROWS))
    assert run("copy", source, table).code == 7


@pytest.mark.parametrize(
    ("mode", "advice", "instead", "rows"),
    [
        ("error", "replace its rows with --mode overwrite,", ["--mode", "overwrite", "--resume"], ROWS),
        ("error", "--mode append without --resume", ["--mode", "append"], ROWS + 1),
        ("append", "omit --resume", ["--mode", "append"], ROWS + 1),
    ],
)
def test_a_delta_table_of_another_load_says_what_helps(
    tmp_path: Path, source: Path, mode: str, advice: str, instead: list[str], rows: int
) -> None:
    table = f"delta:{tmp_path / 'table'}"
    (tmp_path / "other.csv").write_text("id\n77777\n")
    ok("copy", tmp_path / "other.csv", table)
    done = run("copy", source, table, "--mode", mode, "--resume")
    assert done.code == 7
    assert advice in done.err, done.err
    ok("copy", source, table, *instead)
    assert DeltaTable(tmp_path / "table").to_pyarrow_table().num_rows == rows


@pytest.mark.parametrize("mode", ["error", "overwrite"])
def test_rows_of_one_key_are_no_new_target(target: Target, tmp_path: Path, mode: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id":1,"v":1}\n{"id":1,"v":2}\n{"id":2,"v":3}\n')
    done = run("copy", rows, target.place, "--key", "id", "--mode", mode)
    assert done.code == 7, done.err
    with pytest.raises(lr.NotFoundError):
        lr.scan(target.place)
    letters = tmp_path / "letters.jsonl"
    ok("copy", rows, target.place, "--key", "id", "--mode", mode, "--dead-letter", letters)
    assert [json.loads(line)["key"] for line in letters.read_text().splitlines()] == [{"id": 1}]
    assert ids(target) == [1, 2]


def test_the_first_sync_refuses_rows_of_one_key(target: Target, tmp_path: Path) -> None:
    table, rows = f"delta:{tmp_path / 'table'}", tmp_path / "rows.jsonl"
    rows.write_text('{"id":1,"v":1}\n{"id":1,"v":2}\n{"id":2,"v":3}\n')
    ok("copy", rows, table)
    done = run("sync", tmp_path / "table", target.place, "--key", "id")
    assert done.code == 7, done.err
    with pytest.raises(lr.NotFoundError):
        lr.scan(target.place)


def test_a_load_that_is_complete_says_so(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id\n1\n2\n")
    table = tmp_path / "table"
    ok("copy", tmp_path / "rows.csv", f"delta:{table}")
    done = ok("copy", tmp_path / "rows.csv", table, "--mode", "append", "--resume")
    assert "skipped 2 rows of this load: the target already has them" in done.err
    assert pl.read_delta(str(table)).height == 2
