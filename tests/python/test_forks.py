"""Processes that are forked from one that has used lakerace: they work, and do not wait for threads of their parent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS

PARENT = """
import os, sys
import lakerace as lr

place = sys.argv[1]
table, scan = lr.Table(place), lr.scan(place)
assert table.scan().count() == scan.to_arrow().num_rows == 3
version = table.scan(where="id > 1")
assert version.count() == 2
child = os.fork()
if child == 0:
    try:
        {child}
    except BaseException as error:
        print(type(error).__name__, error, flush=True)
        os._exit(1)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert table.scan().count() == lr.scan(place).count()
sys.exit(code)
"""


def forked(place: Path, child: str) -> subprocess.CompletedProcess[str]:
    """The end of a parent whose child runs a statement."""
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PARENT.replace("{child}", child), str(place)]
    return subprocess.run(program, check=False, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    deltalake.write_deltalake(tmp_path / "table", pa.table({"id": [1, 2, 3]}))
    return tmp_path / "table"


@pytest.mark.parametrize(
    ("child", "rows"),
    [
        ("assert table.scan().count() == 3", 3),
        ("assert len(list(table.history())) == 1", 3),
        ("table.delete('id = 1')", 2),
        ("table.compact(sort_by='id')", 3),
        ("table.upsert([{'id': 3}, {'id': 4}], key='id')", 4),
        ("assert scan.to_arrow().num_rows == 3", 3),
        ("assert version.to_arrow().num_rows == 2", 3),
        ("assert lr.Table(place).scan().count() == 3", 3),
        ("assert lr.scan(place).to_arrow().num_rows == 3", 3),
        ("lr.copy(lr.scan(place), place, mode='append')", 6),
        ("assert not lr.diff(place, place, key='id').is_different", 3),
        ("assert list(lr.sql(f\"SELECT max(id) FROM '{place}'\")) == [(3,)]", 3),
    ],
)
def test_a_child_works(place: Path, child: str, rows: int) -> None:
    done = forked(place, child)
    assert done.returncode == 0, done.stdout + done.stderr
    assert deltalake.DeltaTable(place).to_pyarrow_table().num_rows == rows


#: More rows than wait for a consumer.
ROWS = 1_000_000

HALF_READ = """
import os, sys
import lakerace as lr
import pyarrow as pa

place = sys.argv[1]
def count(item):
    return item.num_rows if isinstance(item, pa.RecordBatch) else 1

stream = iter({stream})
first = count(next(stream))
child = os.fork()
if child == 0:
    try:
        print(sum(count(item) for item in stream), flush=True)
    except lr.UsageError as error:
        print(error, flush=True)
    except pa.ArrowInvalid as error:
        print(error, flush=True)
    del stream
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(first + sum(count(item) for item in stream))
"""


@pytest.mark.parametrize(
    "stream",
    [
        "pa.RecordBatchReader.from_stream(lr.scan(place, batch_rows=1000))",
        "lr.scan(place, batch_rows=1000).batches()",
        "lr.scan(place, batch_rows=1000).rows()",
        "lr.scan(place, batch_rows=1000).rows(named=True)",
        "lr.sql(f\"SELECT id FROM '{place}'\").rows()",
    ],
)
def test_what_is_half_read_is_an_error_in_a_child(tmp_path: Path, stream: str) -> None:
    pq.write_table(pa.table({"id": range(ROWS)}), tmp_path / "rows.parquet")
    half_read = HALF_READ.replace("{stream}", stream)
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", half_read, str(tmp_path / "rows.parquet")]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    of_child, of_parent = done.stdout.splitlines()
    assert "another process has begun" in of_child
    assert "again in this process" in of_child
    assert of_parent == str(ROWS)


ASKED_AGAIN = """
import os, sys
import lakerace as lr
import pyarrow as pa

stream = pa.RecordBatchReader.from_stream(lr.scan(sys.argv[1], batch_rows=1000))
stream.read_next_batch()
child = os.fork()
if child == 0:
    for attempt in range(3):
        try:
            stream.read_next_batch()
        except pa.ArrowInvalid as error:
            print(error, flush=True)
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_stream_that_ended_with_an_error_has_no_other_end(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(ROWS)}), tmp_path / "rows.parquet")
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", ASKED_AGAIN, str(tmp_path / "rows.parquet")]
    done = subprocess.run(program, check=True, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    errors = done.stdout.splitlines()
    assert len(errors) == 3
    assert all("another process has begun" in error for error in errors)


DROPPED = """
import gc, os, sys
import lakerace as lr

kept = lr.sql(f"SELECT max(id) FROM '{sys.argv[1]}'")
assert list(kept) == [(999,)]
half = lr.sql(f"SELECT id FROM '{sys.argv[1]}'").batches()
next(half)
child = os.fork()
if child == 0:
    del kept, half
    gc.collect()
    sys.exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert list(kept) == [(999,)]
assert sum(batch.num_rows for batch in half) == 0
sys.exit(code)
"""


def test_a_child_drops_queries_of_its_parent(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "rows.parquet")
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", DROPPED, str(tmp_path / "rows.parquet")]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr


WRITER = """
import os, sys
import lakerace as lr
import lakerace.files

store = lr.files.Store(sys.argv[1])
file = store.open("name", "wb")
file.write(b"begun " * 100_000)
file.flush()
child = os.fork()
if child == 0:
    try:
        {child}
    except lr.UsageError as error:
        print(error, flush=True)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
file.write(b"ended")
file.close()
assert store.get("name") == b"begun " * 100_000 + b"ended"
store.close()
"""


@pytest.mark.parametrize("child", ["del file", "file.close()", "file.write(b'x' * 10_000_000)", "pass"])
@pytest.mark.parametrize("place", ["store.sqlite", "dir:folder"])
def test_a_child_leaves_files_to_their_writer(tmp_path: Path, place: str, child: str) -> None:
    program = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", WRITER.replace("{child}", child), place]
    done = subprocess.run(program, check=False, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = "another process has opened this file for writing"
    assert (said in done.stdout) == (child.startswith("file."))
