"""A store of files as a store of zarr 3: all chunks of an array in one file.

Examples:
    >>> import zarr
    >>> from lakerace.files.zarr import ZarrStore
    >>> zarr.create_array(ZarrStore("array.db"), shape=(1000, 1000), dtype="f4").shape
    (1000, 1000)
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, default_buffer_prototype

from lakerace._errors import ConflictError, NotFoundError
from lakerace.files import _store

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Iterable

    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import BufferPrototype


class ZarrStore(Store):
    """The files of a :class:`lakerace.files.Store` below `folder`, as zarr's keys and values.

    `store`: a store, or its location, opened with `options`.

    Examples:
        >>> import zarr
        >>> from lakerace.files.zarr import ZarrStore
        >>> array = zarr.create_array(ZarrStore("array.db"), shape=(4, 4), chunks=(2, 2), dtype="f4")
        >>> array[:] = 1.5
        >>> float(zarr.open_array(ZarrStore("array.db"))[3, 3])
        1.5
    """

    supports_writes = True
    supports_deletes = True
    supports_listing = True
    supports_partial_writes = False

    def __init__(
        self,
        store: _store.Store | str | os.PathLike[str],
        folder: str = "",
        *,
        read_only: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(read_only=read_only)
        self.store = store if isinstance(store, _store.Store) else _store.Store(store, **options)
        self._prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""

    def close(self) -> None:
        """Makes durable what was put. The store stays usable, as others may share it.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> store.close()
        """
        super().close()
        if not self.read_only and not self.store.is_read_only:
            self.store.flush()

    def with_read_only(self, read_only: bool = False) -> ZarrStore:
        """The same files, to be read only or not.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> store.with_read_only(True).read_only
            True
        """
        return type(self)(self.store, self._prefix, read_only=read_only)

    def __str__(self) -> str:
        return f"lrfiles://{self.store.location}!/{self._prefix}"

    def __repr__(self) -> str:
        return f"ZarrStore({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZarrStore) and (self.store.location, self._prefix, self.read_only) == (
            other.store.location,
            other._prefix,
            other.read_only,
        )

    def __hash__(self) -> int:
        return hash((self.store.location, self._prefix, self.read_only))

    def _read(self, key: str, byte_range: ByteRequest | None) -> bytes | None:
        try:
            if byte_range is None:
                return self.store.get(self._prefix + key)
            content = self.store._open_read(self._prefix + key)
        except NotFoundError:
            return None
        if isinstance(byte_range, RangeByteRequest):
            return content.read_at(byte_range.start, byte_range.end - byte_range.start)
        if isinstance(byte_range, OffsetByteRequest):
            return content.read_at(byte_range.offset, max(content.size - byte_range.offset, 0))
        if isinstance(byte_range, SuffixByteRequest):
            length = min(byte_range.suffix, content.size)
            return content.read_at(content.size - length, length)
        raise ValueError(f"Unexpected byte_range, got {byte_range!r}")

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """A value, or a part of it; None where there is none.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> store.get_sync("a/b.txt").to_bytes()
            b'hello'
        """
        self._is_open = True
        data = self._read(key, byte_range)
        return None if data is None else (prototype or default_buffer_prototype()).buffer.from_bytes(data)

    def set_sync(self, key: str, value: Buffer) -> None:
        """Puts a value.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> from zarr.core.buffer.cpu import Buffer
            >>> store = ZarrStore("pack.db")
            >>> store.set_sync("d", Buffer.from_bytes(b"1"))
            >>> store.get_sync("d").to_bytes()
            b'1'
        """
        self._check_writable()
        self._is_open = True
        _check_buffer(value)
        self.store.put(self._prefix + key, value.to_bytes())

    def delete_sync(self, key: str) -> None:
        """Removes a value, if there is one.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> store.delete_sync("a/b.txt")
            >>> store.get_sync("a/b.txt") is None
            True
        """
        self._check_writable()
        self._is_open = True
        with contextlib.suppress(NotFoundError):
            self.store.remove(self._prefix + key)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """A value, or a part of it; None where there is none.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> from zarr.abc.store import RangeByteRequest
            >>> store = ZarrStore("pack.db")
            >>> (await store.get("a/b.txt", byte_range=RangeByteRequest(1, 3))).to_bytes()
            b'el'
        """
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Parts of values.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> from zarr.core.buffer import default_buffer_prototype
            >>> store = ZarrStore("pack.db")
            >>> parts = await store.get_partial_values(default_buffer_prototype(), [("a/b.txt", None)])
            >>> parts[0].to_bytes()
            b'hello'
        """
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether there is a value of this key.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> await store.exists("a/b.txt")
            True
        """
        return await asyncio.to_thread(self.store.exists, self._prefix + key)

    async def set(self, key: str, value: Buffer) -> None:
        """Puts a value.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> from zarr.core.buffer.cpu import Buffer
            >>> store = ZarrStore("pack.db")
            >>> await store.set("d", Buffer.from_bytes(b"1"))
            >>> await store.getsize("d")
            1
        """
        await asyncio.to_thread(self.set_sync, key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Puts a value where there is none of the key.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> from zarr.core.buffer.cpu import Buffer
            >>> store = ZarrStore("pack.db")
            >>> await store.set_if_not_exists("a/b.txt", Buffer.from_bytes(b"1"))
            >>> store.get_sync("a/b.txt").to_bytes()
            b'hello'
        """
        self._check_writable()
        await self._ensure_open()
        _check_buffer(value)
        try:
            await asyncio.to_thread(self.store.put, self._prefix + key, value.to_bytes(), if_exists="error")
        except ConflictError:
            return

    async def delete(self, key: str) -> None:
        """Removes a value, if there is one.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> await store.delete("a/b.txt")
            >>> await store.exists("a/b.txt")
            False
        """
        await asyncio.to_thread(self.delete_sync, key)

    async def getsize(self, key: str) -> int:
        """The length of a value in bytes; :class:`NotFoundError` where there is none.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> await store.getsize("a/b.txt")
            5
        """
        found = await asyncio.to_thread(self.store.stat, self._prefix + key)
        return found.size

    async def delete_dir(self, prefix: str) -> None:
        """Removes all values of a folder.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> await store.delete_dir("a")
            >>> [key async for key in store.list()]
            ['notes.md']
        """
        self._check_writable()
        await asyncio.to_thread(self.store.remove_tree, self._prefix + prefix)

    async def list(self) -> AsyncIterator[str]:
        """All keys.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> [key async for key in store.list()]
            ['a/b.txt', 'a/c.txt', 'notes.md']
        """
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """The keys that begin with `prefix`.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> [key async for key in store.list_prefix("a/")]
            ['a/b.txt', 'a/c.txt']
        """
        for name in await asyncio.to_thread(self.store.list, self._prefix + prefix):
            yield name[len(self._prefix) :]

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """What is directly in a folder, without the folder's name.

        Examples:
            >>> from lakerace.files.zarr import ZarrStore
            >>> store = ZarrStore("pack.db")
            >>> [name async for name in store.list_dir("a")]
            ['b.txt', 'c.txt']
        """
        folder = (self._prefix + prefix).strip("/")
        for name, _ in await asyncio.to_thread(self.store.children, folder):
            yield name[len(folder) + 1 :] if folder else name


def _check_buffer(value: object) -> None:
    if not isinstance(value, Buffer):
        raise TypeError(f"a value must be a Buffer of zarr, not a {type(value).__name__}")
