"""The calls of `lakerace.aio`: the same results and errors as without `asyncio`, and tasks that are cancelled."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, people
from http_server import QuietHandler, serving

import lakerace as lr

#: Functions that have no twin: they reach no store, or start a session of another kind.
#: It reads a small file of this machine.
LEFT_OUT = {"use_config"}


def test_results_are_the_same(parquet: Path, tmp_path: Path) -> None:
    async def work() -> None:
        assert (await lr.aio.copy(parquet, tmp_path / "copy.parquet")).rows == 1000
        scan = await lr.aio.scan(tmp_path / "copy.parquet", where="id < 100", columns=["id", "name"])
        expected = people().select(["id", "name"]).slice(0, 100)
        assert (await scan.to_arrow()).to_pylist() == expected.to_pylist()
        assert (await scan.to_polars()).to_dicts() == expected.to_pylist()
        assert len(await scan.to_pandas()) == await scan.count() == 100
        assert (
            await scan.checksum()
            == lr.scan(tmp_path / "copy.parquet", where="id < 100", columns=["id", "name"]).checksum()
        )
        assert [row async for row in scan] == [tuple(row.values()) for row in expected.to_pylist()]
        assert [row async for row in scan.rows(named=True)] == expected.to_pylist()
        assert sum([batch.num_rows async for batch in scan.batches()]) == 100
        assert scan.columns == scan.schema.names == ["id", "name"]
        assert "copy.parquet" in str(scan.explain())
        assert scan.report()["requests"]["get"] > 0
        assert (await lr.aio.checksum(parquet)) == lr.checksum(parquet)
        assert (await lr.aio.schema(parquet)) == lr.schema(parquet)

    asyncio.run(work())


def test_tables(parquet: Path, tmp_path: Path) -> None:
    async def work() -> None:
        await lr.aio.copy(parquet, f"delta:{tmp_path / 't'}")
        table = lr.aio.Table(tmp_path / "t", key="id")
        changed = await table.upsert(
            [{"id": 1, "name": "new", "score": 0.5}, {"id": 5000, "name": "more", "score": None}]
        )
        assert (changed.rows, changed.rows_hidden) == (2, 1)
        assert (await table.update({"score": "1.5"}, where="id = 5000")).rows == 1
        merge = table.merge([{"id": 5000, "name": "most", "score": None}]).when_matched_update({"name": "source.name"})
        assert (await merge.execute(dry_run=True)).updated == (await merge.execute()).updated == 1
        assert (await table.delete("id < 500")).rows_hidden == 500
        scan = await table.scan(where="id = 5000")
        assert await scan.count() == 1
        assert [version.version for version in await table.history()] == [4, 3, 2, 1, 0]
        assert (await table.schema())["version"] == 4
        assert (await table.verify()).sound

    asyncio.run(work())


def test_calls_run_next_to_each_other(parquet: Path, tmp_path: Path) -> None:
    """The server answers no copy before all of them have asked."""
    copies = 4
    data = parquet.read_bytes()
    all_have_asked = threading.Barrier(copies)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path not in seen:
                seen.add(self.path)
                all_have_asked.wait(TIMEOUT_SECONDS)
            first, end = self.asked_range(len(data)) or (0, len(data))
            self.send(206, data[first:end], {"Content-Range": f"bytes {first}-{end - 1}/{len(data)}", "ETag": '"tag"'})

        do_HEAD = do_GET

    seen: set[str] = set()

    async def work(address: str) -> list[int]:
        copied = [
            lr.aio.copy(f"{address}/{number}.parquet", tmp_path / f"{number}.parquet") for number in range(copies)
        ]
        return [one.rows for one in await asyncio.gather(*copied)]

    with serving(Handler) as address:
        assert asyncio.run(work(address)) == [1000] * copies


def test_differences_and_queries(parquet: Path, tmp_path: Path) -> None:
    async def work() -> None:
        await lr.aio.copy(parquet, tmp_path / "less.parquet", where="id >= 10")
        found = await lr.aio.diff(parquet, tmp_path / "less.parquet", key="id")
        assert (found.deleted, found.inserted, found.changed) == (10, 0, 0)
        rows = await lr.aio.sql(f"SELECT id, name FROM '{parquet}' WHERE id < ? ORDER BY id", params=[100])
        expected = people().select(["id", "name"]).slice(0, 100)
        assert rows.columns == rows.schema.names == ["id", "name"]
        assert await rows.count() == 100
        assert (await rows.to_arrow()).to_pylist() == expected.to_pylist()
        assert (await rows.to_polars()).to_dicts() == expected.to_pylist()
        assert list((await rows.to_pandas())["id"]) == list(range(100))
        assert [row async for row in rows] == [tuple(row.values()) for row in expected.to_pylist()]
        assert [row async for row in rows.rows(named=True)] == expected.to_pylist()
        assert sum([batch.num_rows async for batch in rows.batches()]) == 100
        assert "people.parquet" in str(await rows.explain())
        assert rows.report()["requests"]["get"] > 0
        assert repr(rows).startswith("<lakerace.aio.SqlRows ")
        with pytest.raises(lr.NotFoundError):
            await lr.aio.sql(f"SELECT * FROM '{tmp_path / 'nosuch.parquet'}'")

    asyncio.run(work())


def test_a_cancelled_query_and_one_that_is_left() -> None:
    """Both end; the rows can be taken again."""

    async def work() -> None:
        rows = await lr.aio.sql("SELECT l_orderkey FROM lines", lines="tpch:lineitem?sf=100")
        task = asyncio.ensure_future(rows.count())
        while rows.report()["rows"] == 0:
            assert not task.done(), task.exception()
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with aclosing(rows.rows()) as taken:
            async for row in taken:
                assert row == (1,)
                break
        assert not [thread for thread in threading.enumerate() if thread.name == "lakerace-sql"]

    asyncio.run(work())


def test_errors_are_the_same(parquet: Path, tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(lr.NotFoundError, match=r"nosuch\.parquet"):
            await lr.aio.scan(tmp_path / "nosuch.parquet")
        with pytest.raises(lr.UsageError, match="columns is a list"):
            await lr.aio.copy(parquet, tmp_path / "x.parquet", columns="id")
        await lr.aio.copy(parquet, tmp_path / "x.parquet")
        with pytest.raises(lr.ConflictError):
            await lr.aio.copy(parquet, tmp_path / "x.parquet")

    asyncio.run(work())


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that take minutes to compress at zstd's highest level."""
    path: Path = tmp_path_factory.mktemp("slow") / "slow.parquet"
    words = [os.urandom(3).hex() for _ in range(5000)]
    rows = [" ".join(words[(i * k) % 5000] for k in (1, 3, 7, 11, 13)) for i in range(200_000)]
    table = pa.table({f"c{i}": rows for i in range(20)})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    return path


def cancelled(start: Callable[[], Awaitable[Any]], is_under_way: Callable[[], bool]) -> None:
    """Cancels a task once it is under way; it has ended when its cancellation is raised."""

    async def work() -> None:
        task = asyncio.ensure_future(start())
        while not is_under_way():
            assert not task.done(), task.exception()
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The event loop goes on.
        assert await lr.aio.checksum(pa.table({"a": [1]})) == lr.checksum(pa.table({"a": [1]}))

    asyncio.run(work())


def test_a_cancelled_copy_leaves_nothing(slow: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    cancelled(lambda: lr.aio.copy(slow, target, compression="zstd:22", threads=1), lambda: any(tmp_path.iterdir()))
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_upsert_changes_nothing(slow: Path, tmp_path: Path) -> None:
    lr.copy(lr.scan(slow, limit=10), f"delta:{tmp_path / 't'}", table_properties={"lakerace.primaryKey": "c0"})
    table = lr.aio.Table(tmp_path / "t")
    report = lr.scan(slow)
    cancelled(lambda: table.upsert(report), lambda: report.report()["rows"] > 0)
    assert lr.Table(tmp_path / "t").version == 0


def test_a_scan_goes_on_after_a_cancelled_task() -> None:
    async def work() -> None:
        scan = await lr.aio.scan("tpch:lineitem?sf=100", columns=["l_orderkey"])
        task = asyncio.ensure_future(scan.checksum())
        while scan.report()["rows"] == 0:
            assert not task.done(), task.exception()
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async for batch in scan.batches():
            assert batch.num_rows > 0
            break

    asyncio.run(work())


def test_a_timeout_is_one() -> None:
    async def work() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(lr.aio.checksum("tpch:lineitem?sf=1000"), 0.2)

    asyncio.run(work())


def test_twins_have_the_signatures() -> None:
    twins = set(lr.aio.__all__) - {"MergeBuilder", "Scan", "SqlRows", "Table"}
    # Functions of this package that read or write; what is left out takes no time of a store.
    calls = {name for name in lr.__all__ if inspect.isfunction(getattr(lr, name))}
    assert calls - twins == LEFT_OUT
    for name in twins:
        twin, call = getattr(lr.aio, name), getattr(lr, name)
        assert inspect.signature(twin) == inspect.signature(call), name
        assert twin.__doc__ == call.__doc__
        assert inspect.iscoroutinefunction(twin)


@pytest.mark.parametrize("name", ["Scan", "SqlRows", "Table"])
def test_methods_have_the_arguments(name: str, parquet: Path, tmp_path: Path) -> None:
    """What a class of `lakerace.aio` has, the class of the same name has, with the same parameters."""
    twin, original = getattr(lr.aio, name), getattr(lr, name)
    names = [method for method in vars(twin) if not method.startswith("_") and callable(getattr(original, method))]
    assert names
    lr.copy(parquet, f"delta:{tmp_path / 't'}")
    of_table = {"twin": lr.aio.Table(tmp_path / "t"), "original": lr.Table(tmp_path / "t")}
    for method in set(names) - {"scan"}:
        here, there = (
            (getattr(of_table["twin"], method), getattr(of_table["original"], method))
            if name == "Table"
            else (getattr(twin, method), getattr(original, method))
        )
        assert list(inspect.signature(here).parameters) == list(inspect.signature(there).parameters), method


def test_the_module_shows_its_own_names_only() -> None:
    assert dir(lr.aio) == sorted(lr.aio.__all__)
    assert all(hasattr(lr.aio, name) for name in dir(lr.aio))
