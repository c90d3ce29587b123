"""Warnings of jobs in Python: once a job, and at the line of the caller."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from conftest import ok

import lakerace as lr

#: What text in one column is told, which has the delimiter of two.
DELIMITER = "there is one column, but each of the first lines has 2 fields"
Caught = list[warnings.WarningMessage]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A file whose delimiter is not that of its name."""
    path = tmp_path / "odd.csv"
    path.write_text("id;name\n1;ann\n2;bob\n")
    return path


@pytest.fixture
def caught() -> Iterator[Caught]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def here() -> int:
    """The number of the line that calls."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def lines(caught: Caught, text: str = DELIMITER) -> list[int]:
    """The lines of this file that warnings have; they all have the text."""
    told = [(warning.filename, text in str(warning.message), warning.category) for warning in caught]
    assert told == [(__file__, True, lr.LakeraceWarning)] * len(caught), [str(warning.message) for warning in caught]
    found = [warning.lineno for warning in caught]
    caught.clear()
    return found


def test_it_is_a_user_warning() -> None:
    assert issubclass(lr.LakeraceWarning, UserWarning)


def test_calls_warn_at_their_line(tmp_path: Path, odd: Path, caught: Caught) -> None:
    table = lr.Table(tmp_path / "t", key="id;name")
    mapped = {"delta.columnMapping.mode": "name"}
    lr.copy(pa.table({"id;name": ["1;ann"]}), f"delta:{tmp_path / 't'}", table_properties=mapped)
    calls: list[Callable[[], Any]] = [
        lambda: lr.scan(odd),
        lambda: lr.copy(odd, tmp_path / "out.parquet"),
        lambda: lr.copy(odd, tmp_path / "new.parquet", dry_run=True),
        lambda: lr.schema(odd),
        lambda: lr.checksum(odd),
        lambda: list(lr.sql("SELECT * FROM odd", odd=odd)),
        lambda: table.upsert(odd),
        lambda: table.explain_upsert(odd),
        lambda: table.delete_keys(odd),
    ]
    for call in calls:
        call()
        assert lines(caught) == [call.__code__.co_firstlineno], inspect.getsource(call)
    lr.diff(odd, odd, key="id;name")
    assert lines(caught) == [here() - 1]


def test_a_job_warns_once(odd: Path, caught: Caught) -> None:
    scan = lr.scan(odd)
    assert lines(caught) == [here() - 1]
    assert (scan.count(), len(list(scan.rows())), scan.to_arrow().num_rows) == (2, 2, 2)
    assert (pl.DataFrame(scan).height, sum(batch.num_rows for batch in scan.batches())) == (2, 2)
    assert lines(caught) == []


def test_an_error_takes_precedence(tmp_path: Path, odd: Path) -> None:
    with pytest.raises(lr.LakeraceWarning, match=DELIMITER):
        lr.scan(odd)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(lr.NotFoundError):
            lr.scan(odd, columns=["none"])
    assert lines(caught) == [here() - 1]
    with pytest.raises(lr.NotFoundError):
        lr.scan(odd, columns=["none"])


def late(path: Path) -> lr.Scan:
    """A scan whose job gets a warning after it was opened."""
    scan = lr.scan(path, progress=True)
    assert scan._job is not None
    scan._job.add_warning("it came late")
    return scan


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lr.copy(pa.table({"id": range(10_000)}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_streams_warn_when_they_end(rows: Path, caught: Caught) -> None:
    text = "it came late"
    scan = late(rows)
    assert scan.to_arrow().num_rows == 10_000
    assert lines(caught, text) == [here() - 1]
    scan = late(rows)
    assert pl.DataFrame(scan).height == 10_000
    assert lines(caught, text) == [here() - 1]
    scan = late(rows)
    reader = pa.RecordBatchReader.from_stream(scan)
    assert reader.read_all().num_rows == 10_000
    assert lines(caught, text)[0] in (here() - 2, here() - 1)
    scan = late(rows)
    assert duckdb.from_arrow(pa.RecordBatchReader.from_stream(scan)).aggregate("count(*)").fetchall() == [(10_000,)]
    assert lines(caught, text) == [here() - 1]
    scan = late(rows)
    for batch in scan.batches():
        assert batch.num_rows > 0
    assert lines(caught, text) == [here() - 2]
    # The rest of the rows is not taken.
    scan = late(rows)
    reader = pa.RecordBatchReader.from_stream(scan)
    reader.read_next_batch()
    del reader
    assert len(lines(caught, text)) == 1


def test_a_thread_that_python_waits_for_does_not_wait_for_python(rows: Path, caught: Caught) -> None:
    """As in a consumer that keeps the interpreter's lock while a thread of its own takes the rows."""
    stream = late(rows).__arrow_c_stream__()
    line = here() - 1
    python = ctypes.PyDLL(None)
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    place = python.PyCapsule_GetPointer(stream, b"arrow_array_stream")
    # The fourth member of the stream's struct is the function that releases it: a thread may begin with it.
    release = ctypes.c_void_p.from_address(place + 3 * ctypes.sizeof(ctypes.c_void_p))
    thread = ctypes.c_ulong()
    assert python.pthread_create(ctypes.byref(thread), None, release, ctypes.c_void_p(place)) == 0
    assert python.pthread_join(thread, None) == 0
    assert lines(caught, "it came late") == [line]


def test_a_stream_whose_warning_is_an_error_raises_it(rows: Path) -> None:
    with pytest.raises(lr.LakeraceWarning, match="it came late"):
        late(rows).to_arrow()
    # The first batch is read where a consumer asks for the stream, the end of the rows where it takes them.
    with pytest.raises((lr.LakeraceWarning, pa.ArrowInvalid), match="it came late"):
        pa.RecordBatchReader.from_stream(late(rows)).read_all()


def test_awaited_calls_warn_at_the_line_that_awaits(tmp_path: Path, odd: Path, caught: Caught) -> None:
    async def calls() -> None:
        await lr.aio.copy(odd, tmp_path / "a.parquet")
        assert lines(caught) == [here() - 1]
        scan = await lr.aio.scan(odd)
        assert lines(caught) == [here() - 1]
        assert await scan.count() == 2
        assert [row async for row in scan.rows()] == [("1;ann",), ("2;bob",)]
        assert lines(caught) == []
        await lr.aio.copy(lr.scan(odd), tmp_path / "b.parquet")
        assert lines(caught) == [here() - 1]
        found = await lr.aio.sql("SELECT * FROM odd", odd=odd)
        assert lines(caught) == [here() - 1]
        assert (await found.to_arrow()).num_rows == 2
        assert lines(caught) == []
        with pytest.raises(lr.NotFoundError):
            await lr.aio.scan(odd, columns=["none"])
        assert lines(caught) == [here() - 1]

    asyncio.run(calls())


def test_a_failed_compaction_is_told_by_the_awaiting_task(
    tmp_path: Path, caught: Caught, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: lr.Table, **options: object) -> None:
        raise lr.ConflictError("another writer")

    monkeypatch.setattr(lr.Table, "compact", fail)
    target = f"delta:{tmp_path / 't'}"
    text = "the rows were written, but the compaction failed: another writer"
    lr.copy(pa.table({"id": [1]}), target, auto_compact=True)
    assert lines(caught, text) == [here() - 1]

    async def copied() -> None:
        await lr.aio.copy(pa.table({"id": [2]}), target, mode="append", auto_compact=True)
        assert lines(caught, text) == [here() - 1]

    asyncio.run(copied())


def test_what_an_argument_asks_for_is_no_warning(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("id,name\n1,ann\nx,bob\n2\n")
    schema = "id int64, name utf8"
    assert lr.copy(bad, tmp_path / "a.parquet", on_bad_row="skip", schema=schema).bad_rows == 2
    assert lr.copy(bad, tmp_path / "b.parquet", on_bad_row="null", schema=schema).bad_rows == 2
    scan = lr.scan(bad, on_bad_row="skip", schema=schema)
    assert (scan.to_arrow().num_rows, scan.report()["bad_rows"]) == (1, 2)
    assert lr.aio.copy is not None
    copied = asyncio.run(awaited(bad, tmp_path / "c.parquet", schema))
    assert copied.bad_rows == 2
    assert "2 rows do not fit their columns" in ok("scan", bad, "--on-bad-row", "skip", "--schema", schema).err


async def awaited(source: Path, target: Path, schema: str) -> lr.CopyResult:
    return await lr.aio.copy(source, target, on_bad_row="skip", schema=schema)


def test_the_command_prints_what_its_queries_warn_of(odd: Path) -> None:
    done = ok("sql", f"SELECT * FROM '{odd}'")
    assert done.err.count(DELIMITER) == 1
    assert "LakeraceWarning" not in done.err
