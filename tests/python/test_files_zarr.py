"""A store of files as a store of zarr 3: arrays, and zarr's calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy
import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

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
