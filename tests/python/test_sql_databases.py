"""Databases of duckdb for queries: the next query takes the one that an earlier query has started."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr
from lakerace._private_folder import private_folder
from lakerace._sql_database import close_idle_databases

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The configurations of the databases that are started."""
    gc.collect()
    close_idle_databases()
    started: list[dict[str, Any]] = []
    connect = duckdb.connect

    def counted(config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        started.append(config)
        return connect(config=config)

    monkeypatch.setattr(duckdb, "connect", counted)
    yield started
    close_idle_databases()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    return file


def test_a_fork_waits_for_databases_that_are_being_started(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """duckdb has a lock while it starts one, which would stay locked in the new process."""
    gc.collect()
    close_idle_databases()
    connect = duckdb.connect
    begun, forked = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        begun.set()
        # The thread that forks is on its way: it has run its first handler.
        assert forked.wait(60)
        order.append("started")
        return connect(config=config)

    monkeypatch.setattr(duckdb, "connect", slow)
    thread = threading.Thread(target=lambda: list(lr.sql(f"SELECT count(*) FROM '{place}'")))
    thread.start()
    assert begun.wait(60)
    # Handlers before a fork run in the reverse order of their registration.
    os.register_at_fork(before=forked.set, after_in_parent=lambda: order.append("forked"))
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    thread.join(60)
    assert order[:2] == ["started", "forked"]


def test_the_next_query_takes_the_started_database(starts: list[dict[str, Any]], place: Path) -> None:
    for _ in range(3):
        assert list(lr.sql(f"SELECT sum(id) FROM '{place}'")) == [(6,)]
    assert len(starts) == 1


def test_queries_at_a_time_have_a_database_each(starts: list[dict[str, Any]], place: Path) -> None:
    one, two = lr.sql(f"SELECT id FROM '{place}'"), lr.sql(f"SELECT id + 1 FROM '{place}'")
    assert (list(one), list(two)) == ([(1,), (2,), (3,)], [(2,), (3,), (4,)])
    assert len(starts) == 2


def test_other_limits_start_another_database(starts: list[dict[str, Any]], place: Path) -> None:
    for threads in (1, 2, 1):
        (value,) = next(iter(lr.sql("SELECT current_setting('threads')", threads=threads)))
        assert int(value) == threads
    limits = [
        next(iter(lr.sql("SELECT current_setting('memory_limit')", memory_limit=limit)))[0]
        for limit in ("200MB", "300MB", "200MB")
    ]
    assert limits[0] == limits[2] != limits[1]
    assert len(starts) == 4


def test_a_query_sees_nothing_of_the_one_before(starts: list[dict[str, Any]]) -> None:
    assert list(lr.sql("SELECT x FROM t", t=pa.table({"x": [7]}))) == [(7,)]
    with pytest.raises(lr.NotFoundError, match="t"):
        lr.sql("SELECT x FROM t")
    assert len(starts) == 1


def test_a_database_that_has_written_files_is_closed(starts: list[dict[str, Any]]) -> None:
    """Of a sort that does not fit into memory, nothing stays in the folder for temporary files."""
    query = "SELECT count(*) FROM (SELECT range AS i, hash(range) AS h FROM range(4000000) ORDER BY h, i OFFSET 1)"
    assert list(lr.sql(query, memory_limit="60MB", threads=2)) == [(3_999_999,)]
    gc.collect()
    assert not os.listdir(private_folder())
    # It has written files: the next query starts another database.
    assert list(lr.sql("SELECT 1", memory_limit="60MB", threads=2)) == [(1,)]
    assert len(starts) == 2


def test_an_error_of_a_query_leaves_the_database(starts: list[dict[str, Any]], place: Path) -> None:
    for _ in range(2):
        with pytest.raises(lr.InvalidInputError):
            list(lr.sql(f"SELECT ('x' || id)::INT FROM '{place}'"))
    assert list(lr.sql(f"SELECT count(*) FROM '{place}'")) == [(3,)]


PROGRAM = """
import os, sys, threading
import lakerace as lr

def tasks():
    return len(os.listdir("/proc/self/task"))

query = f"SELECT sum(id) FROM '{sys.argv[1]}'"
assert list(lr.sql(query, threads=4)) == [(6,)]
waiting = tasks()
child = os.fork()
if child == 0:
    os._exit(list(lr.sql(query, threads=4)) != [(6,)])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
# Threads of the database were ended before the fork.
assert tasks() < waiting, (tasks(), waiting)
assert list(lr.sql(query, threads=4)) == [(6,)]
kept = lr.sql(query, threads=4)
assert list(kept) == [(6,)]
"""


def test_forks_and_the_end_of_the_program(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
