"""Stores and SQLite tables beside Python's own `sqlite3` in the same process: two libraries, which must respect each other's locks."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: A process that puts durably, and reads its store by the other library in between.
WRITER = """
import os, signal, sqlite3, subprocess, sys
import lakerace as lr
path, other = sys.argv[1:]
store = lr.files.Store(path, durability="full")
for i in range(100): store.put(f"before{i}", b"x" * 1000)
connection = sqlite3.connect(path)
connection.execute("SELECT name FROM files").fetchall()
connection.close()
for i in range(50): store.put(f"after{i}", b"y" * 1000)
if other:
    subprocess.run([sys.executable, "-c", other, path], check=True)
    for i in range(50, 100): store.put(f"after{i}", b"y" * 1000)
os.kill(os.getpid(), signal.SIGKILL)
"""

#: Another process that writes meanwhile.
OTHER = """
import sys
import lakerace as lr
store = lr.files.Store(sys.argv[1], durability="full")
for i in range(100): store.put(f"other{i}", b"z" * 3000)
store.close()
"""


@pytest.mark.parametrize("other", ["", OTHER])
def test_another_library_that_closes_the_store_takes_nothing_away(tmp_path: Path, other: str) -> None:
    path = tmp_path / "s.db"
    done = subprocess.run([sys.executable, "-c", WRITER, str(path), other], check=False)
    assert done.returncode == -9
    store = lr.files.Store(path)
    names = store.list()
    counts = {start: sum(name.startswith(start) for name in names) for start in ("before", "after", "other")}
    assert counts == {"before": 100, "after": 100 if other else 50, "other": 100 if other else 0}
    assert store.verify().damage == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_store_that_is_closed_leaves_another_library_its_log(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = lr.files.Store(path)
    store.put("a", b"1")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (1,)
        store.close()
        for i in range(20):
            with lr.files.Store(path) as again:
                again.put(f"b{i}", b"2")
        assert (tmp_path / "s.db-wal").exists()
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (21,)
        connection.execute("CREATE TABLE own (x)")
        connection.execute("INSERT INTO own VALUES (1)")
        # Another process sees it: the log is the one that has a name.
        code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT x FROM own').fetchall())"
        seen = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert seen.stdout == "[(1,)]\n"
    assert not (tmp_path / "s.db-wal").exists()


def test_a_transaction_of_another_library_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = lr.files.Store(path, busy_timeout=0.2)
    store.put("a", b"1")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(lr.UnavailableError, match="another process is writing"):
            store.put("b", b"2")
        connection.execute("ROLLBACK")
        store.put("b", b"2")
    assert store.list() == ["a", "b"]


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_copy_leaves_the_locks_of_an_open_connection(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "t.db"
    location = f"sqlite://{path}#t"
    source = tmp_path / "rows.csv"
    source.write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(100)))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE t (id INTEGER, name TEXT)")
        connection.execute("CREATE TABLE own (x)")
        for i in range(5):
            assert lr.copy(source, location, mode="append").rows == 100
            assert lr.scan(location).to_arrow().num_rows == 100 * (i + 1)
            connection.execute("INSERT INTO own VALUES (?)", (i,))
        # A lock that the other library holds keeps its meaning.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO own VALUES (5)")
        assert lr.scan(location).to_arrow().num_rows == 500
        code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
        assert "locked" in other.stderr
        connection.execute("COMMIT")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM own").fetchone() == (6,)


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_log_that_was_removed_is_told(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "s.db"
    store = lr.files.Store(path, durability=durability)
    store.put("a", b"1")
    store.flush()
    store.put("b", b"2")
    os.unlink(tmp_path / "s.db-wal")
    with pytest.raises(lr.CorruptDataError, match=r"removed the log"):  # noqa: PT012  one of the writes tells
        for i in range(100):
            store.put(f"c{i}", b"3")
    with pytest.raises(lr.CorruptDataError, match=r"removed the log"):
        store.flush()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_takes_no_locks_from_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = lr.files.Store(path)
    store.put("a", b"1")
    child = os.fork()
    if child == 0:
        try:
            for i in range(20):
                store.put(f"child{i}", b"x")
                lr.files.Store(path).get("a")
            store.close()
        except BaseException:
            os._exit(1)
        os._exit(0)
    for i in range(20):
        store.put(f"parent{i}", b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.put("last", b"1")
    assert len(store.list()) == 42
    assert store.verify().damage == []
