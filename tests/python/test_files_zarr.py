"""A store of files as a store of zarr 3: arrays, and zarr's calls."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy
import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype
from zarr.testing.store import StoreTests

from lakerace.files import Store
from lakerace.files.zarr import ZarrStore

if TYPE_CHECKING:
    from pathlib import Path


def test_arrays_come_back(tmp_path: Path) -> None:
    data = numpy.arange(10_000, dtype="f4").reshape(100, 100)
    group = zarr.create_group(ZarrStore(tmp_path / "pack.db", "below"))
    array = group.create_array("a", shape=data.shape, chunks=(10, 10), dtype=data.dtype, attributes={"unit": "m"})
    array[:] = data
    names = Store(tmp_path / "pack.db").list("below/a/c/")
    assert len(names) == 100
    again: Any = zarr.open_group(ZarrStore(tmp_path / "pack.db", "below", read_only=True), mode="r")["a"]
    assert (again[:] == data).all()
    assert (again[15:17, 93] == data[15:17, 93]).all()
    assert dict(again.attrs) == {"unit": "m"}
    del group["a"]
    assert Store(tmp_path / "pack.db").list("below/a") == []


def test_a_store_that_is_read_only_takes_nothing(tmp_path: Path) -> None:
    zarr.create_group(ZarrStore(tmp_path / "pack.db"))
    with pytest.raises(ValueError, match=r"read.only"):
        zarr.open_group(ZarrStore(tmp_path / "pack.db", read_only=True), mode="r+").create_group("x")


def test_calls_of_zarr(tmp_path: Path) -> None:
    async def use(store: ZarrStore) -> None:
        prototype = default_buffer_prototype()
        await store.set("a/b", prototype.buffer.from_bytes(b"0123456789"))
        await store.set_if_not_exists("a/b", prototype.buffer.from_bytes(b"other"))
        await store.set("a/c/d", prototype.buffer.from_bytes(b""))
        for byte_range, expected in (
            (None, b"0123456789"),
            (RangeByteRequest(2, 5), b"234"),
            (OffsetByteRequest(7), b"789"),
            (SuffixByteRequest(2), b"89"),
        ):
            got = await store.get("a/b", prototype, byte_range)
            assert got is not None
            assert got.to_bytes() == expected
        assert await store.get("absent", prototype) is None
        assert await store.exists("a/b")
        assert [key async for key in store.list()] == ["a/b", "a/c/d"]
        assert [key async for key in store.list_prefix("a/c")] == ["a/c/d"]
        assert [key async for key in store.list_dir("a")] == ["b", "c"]
        assert await store.getsize("a/b") == 10
        await store.delete("absent")
        await store.delete_dir("a/c")
        assert await store.is_empty("a/c")
        await store.clear()
        assert [key async for key in store.list()] == []

    asyncio.run(use(ZarrStore(tmp_path / "pack.db", "below")))


def test_a_store_is_opened_once() -> None:
    async def use() -> None:
        store = await ZarrStore.open("memory:")
        with pytest.raises(ValueError, match="already open"):
            await store._open()
        assert not ZarrStore("memory:")._is_open

    asyncio.run(use())


def test_a_closed_store_is_durable(tmp_path: Path) -> None:
    location = f"packs:{tmp_path}/packs"
    with ZarrStore(location) as store:
        zarr.create_array(store, shape=(10, 10), chunks=(5, 5), dtype="i4", name="a")[:] = 7
        assert Store(location).list() == []
    again: Any = zarr.open_array(ZarrStore(location, read_only=True), path="a", mode="r")
    assert (again[:] == 7).all()
    reader = ZarrStore(Store(location, read_only=True))
    reader.close()


class ZarrSuite(StoreTests[ZarrStore, cpu.Buffer]):
    """zarr's own suite of stores; its coroutines run to their end."""

    store_cls = ZarrStore
    buffer_cls = cpu.Buffer

    @pytest.fixture(params=["pack.db", "files/", "packs:"])
    def store_kwargs(self, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
        """What a store is made from, in each home that has a place."""
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        place = f"packs:{folder}/p" if request.param == "packs:" else f"{folder}/{request.param}"
        return {"store": place, "folder": "below"}

    @pytest.fixture
    def open_kwargs(self, store_kwargs: dict[str, Any]) -> dict[str, Any]:
        """The same."""
        return store_kwargs

    @pytest.fixture
    def store(self, open_kwargs: dict[str, Any]) -> ZarrStore:
        """An open store."""
        return asyncio.run(ZarrStore.open(**open_kwargs))

    @pytest.fixture
    def store_not_open(self, store_kwargs: dict[str, Any]) -> ZarrStore:
        """One that is made and not opened."""
        return ZarrStore(**store_kwargs)

    async def set(self, store: ZarrStore, key: str, value: Buffer) -> None:
        """Puts a value past the store."""
        store.store.put(f"below/{key}", value.to_bytes())

    async def get(self, store: ZarrStore, key: str) -> Buffer:
        """A value past the store."""
        return cpu.Buffer.from_bytes(store.store.get(f"below/{key}"))

    def test_store_repr(self, store: ZarrStore) -> None:
        """The text names the place."""
        assert repr(store) == f"ZarrStore('lrfiles://{store.store.location}!/below/')"

    def test_store_supports_writes(self, store: ZarrStore) -> None:
        """Writes, deletions and listings are there."""
        assert store.supports_writes
        assert store.supports_deletes

    def test_store_supports_listing(self, store: ZarrStore) -> None:
        """Listings are there."""
        assert store.supports_listing


def _run(test: Any) -> Any:
    @functools.wraps(test)
    def run(*values: Any, **named: Any) -> None:
        asyncio.run(test(*values, **named))

    return run


TestZarrSuite = type(
    "TestZarrSuite",
    (ZarrSuite,),
    {
        name: _run(member)
        for name, member in inspect.getmembers(ZarrSuite, inspect.iscoroutinefunction)
        if name.startswith("test_")
    },
)
