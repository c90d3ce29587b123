"""Runs of a sync that overlap, are stopped, killed and resumed; targets that another program makes again; the proof of a sync."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pymongo
import pytest
from conftest import Done, command, empty_place, ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FEED = {"delta.enableChangeDataFeed": "true"}
#: No run of these tests takes longer.
PATIENCE_SECONDS = 90


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place in each of the databases."""
    return empty_place(request, tmp_path)


def rows(count: int, text: str) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int64()), "text": [f"{text} {n}" for n in range(count)]})


def made(folder: Path, count: int, *, has_feed: bool = True) -> lr.Table:
    lr.copy(rows(count, "a"), f"delta:{folder}", table_properties=FEED if has_feed else None)
    return lr.Table(folder, key="id")


def right(target: str, folder: Path) -> bool:
    columns = ["id", "text"]
    return lr.scan(target, columns=columns).checksum() == lr.scan(folder, columns=columns).checksum()


def ask(place: str, method: str, body: object = None) -> Any:
    """Asks a server of Elasticsearch."""
    url = place.replace("elasticsearch:", "http:")
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def make_again(target: str, count: int) -> None:
    """Another program drops a target and makes it again, with rows of its own."""
    scheme, rest = target.split(":", 1)
    match scheme:
        case "mongodb":
            server, database, name = target.rsplit("/", 2)
            with pymongo.MongoClient[dict[str, Any]](server) as client:
                client[database].drop_collection(name)
                client[database].create_collection(name)
                if count:
                    client[database][name].insert_many([{"_id": n, "text": "theirs"} for n in range(count)])
        case "elasticsearch":
            server, name = target.rsplit("/", 1)
            for index in ask(target, "GET"):
                ask(f"{server}/{index}", "DELETE")
            properties = {"id": {"type": "long"}, "text": {"type": "keyword"}}
            ask(target, "PUT", {"mappings": {"properties": properties}})
            for n in range(count):
                ask(f"{target}/_doc/{n}?refresh=true", "PUT", {"id": n, "text": "theirs"})
        case _:
            path, name = rest.split("#")
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(f"DROP TABLE {name}")
                database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, text TEXT)")
                database.executemany(f"INSERT INTO {name} VALUES (?, 'theirs')", ((n,) for n in range(count)))


def test_a_target_that_was_made_again_is_loaded_or_left_alone(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    made(folder, 1000)
    assert lr.sync(folder, target, key="id").upserted == 1000
    assert lr.sync(folder, target, key="id").rows == 0
    make_again(target, 0)
    assert lr.sync(folder, target, key="id").upserted == 1000
    assert right(target, folder)
    make_again(target, 3)
    done = run("sync", folder, target, "--key", "id")
    assert (done.code, "created again" in done.err, "--mode overwrite" in done.err) == (7, True, True), done.err
    assert lr.scan(target).count() == 3
    assert lr.sync(folder, target, key="id", mode="overwrite").upserted == 1000
    assert lr.sync(folder, target, key="id").rows == 0


@pytest.mark.parametrize("has_new_version", [False, True])
def test_a_table_of_sqlite_that_was_emptied_is_loaded(tmp_path: Path, has_new_version: bool) -> None:
    folder, path = tmp_path / "table", tmp_path / "a.db"
    table = made(folder, 1000)
    target = f"sqlite:{path}#t"
    assert lr.sync(folder, target, key="id").upserted == 1000
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM t")
    if has_new_version:
        table.upsert(rows(10, "b"))
    assert lr.sync(folder, target, key="id").upserted == 1000
    assert right(target, folder)
    # A table without rows has an empty target.
    table.delete("id >= 0")
    assert lr.sync(folder, target, key="id").deleted == 1000
    assert lr.sync(folder, target, key="id").rows == 0


def test_the_proof_of_a_sync(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 100)
    first = lr.sync(folder, target, key="id", verify=True)
    assert first.checksum == lr.scan(folder).checksum()
    table.upsert(rows(10, "b"))
    assert lr.sync(folder, target, key="id", verify=True).checksum == lr.scan(folder).checksum()
    # Another program removes a row: a sync has nothing to bring, and only the proof tells of it.
    lr.copy(pa.table({"id": [7]}), target, key="id", mode="delete")
    assert lr.sync(folder, target, key="id").rows == 0
    done = run("sync", folder, target, "--key", "id", "--verify", "--json")
    assert (done.error["kind"], "99 rows" in done.err) == ("corrupt_data", True), done.err
    assert lr.sync(folder, target, key="id", mode="overwrite", verify=True).upserted == 100
    assert right(target, folder)


def sync(folder: Path, target: str, *options: object) -> subprocess.Popen[str]:
    """A run that goes on by itself."""
    arguments = command("sync", folder, target, "--key", "id", *options)
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> Done:
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    return Done(process.returncode, "", err)


def wait_for(target: str, text: str, least: int, process: subprocess.Popen[str]) -> None:
    """Waits until a target has rows of a text."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        try:
            if lr.scan(target, where=f"text LIKE '{text}%'").count() >= least:
                return
        except lr.ConflictError:
            # It was written to while it was read.
            pass
    raise AssertionError(f"there are not {least} rows of {text}")


@pytest.mark.parametrize("has_feed", [True, False])
@pytest.mark.parametrize("target", ["mongodb", "elasticsearch"], indirect=True)
def test_an_older_run_that_is_resumed_spoils_nothing(target: str, tmp_path: Path, has_feed: bool) -> None:
    """The older run is stopped amid its rows and taken over; it goes on while the newer one is stopped."""
    folder = tmp_path / "table"
    table = made(folder, 1000, has_feed=has_feed)
    lr.sync(folder, target, key="id")
    table.upsert(rows(600, "b"))
    slow = ("--max-rate", 100, "--batch-rows", 50)
    old = sync(folder, target, *slow)
    wait_for(target, "b", 50, old)
    old.send_signal(signal.SIGSTOP)
    table.upsert(rows(300, "c"))
    new = sync(folder, target, *slow)
    wait_for(target, "c", 100, new)
    new.send_signal(signal.SIGSTOP)
    old.send_signal(signal.SIGCONT)
    done = ended(old)
    assert (done.code, "taken over the target" in done.err) == (7, True), done.err
    new.send_signal(signal.SIGCONT)
    assert ended(new).code == 0
    ok("sync", folder, target, "--key", "id", "--verify")
    assert right(target, folder)


def test_a_second_run_ends_with_a_conflict_and_says_who_is_there(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    table = made(folder, 2000)
    lr.sync(folder, target, key="id")
    table.upsert(rows(1900, "b"))
    first = sync(folder, target, "--max-rate", 50, "--batch-rows", 10)
    wait_for(target, "b", 10, first)
    done = run("sync", folder, target, "--key", "id")
    assert (done.code, f"process {first.pid}" in done.err, "wait for it to end" in done.err) == (7, True, True), (
        done.err
    )
    first.kill()
    ended(first)
    # The process is gone, which is seen at once.
    assert lr.sync(folder, target, key="id", verify=True).version == 1
    assert right(target, folder)


def overlapping(folder: Path, target: str, table: lr.Table, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Runs that are stopped, killed and resumed in any order, while the table changes."""
    chance = random.Random(seed)
    for turn in range(3):
        table.upsert(rows(chance.randrange(50, 400), f"v{seed}.{turn}"))
        if chance.random() < 0.5:
            table.delete(f"id >= 450 and id < {chance.randrange(451, 500)}")
        process = sync(folder, target, "--max-rate", 400, "--batch-rows", 50)
        time.sleep(chance.random())
        process.send_signal(chance.choice([signal.SIGSTOP, signal.SIGKILL, signal.SIGCONT]))
        yield process


@pytest.mark.parametrize("has_feed", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_overlaps_the_next_run_is_right(target: str, tmp_path: Path, seed: int, has_feed: bool) -> None:
    folder = tmp_path / "table"
    table = made(folder, 500, has_feed=has_feed)
    lr.sync(folder, target, key="id")
    processes = list(overlapping(folder, target, table, seed))
    for process in processes:
        process.send_signal(signal.SIGCONT)
        assert ended(process).code in {0, 7, -signal.SIGKILL}
    ok("sync", folder, target, "--key", "id")
    assert right(target, folder)
