"""A store of files as a file system of fsspec, protocol `lrfiles`.

A URL names a store and a file in it: `lrfiles:///data/pack.db!/folder/a.csv`.

Examples:
    >>> import fsspec, pandas
    >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
    >>> fs.put("orders.csv", "folder/a.csv")
    >>> pandas.read_csv("lrfiles://folder/a.csv", storage_options={"store": "pack.db"}).shape
    (4, 4)
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.transaction import Transaction

from lakerace._errors import InvalidInputError, NotFoundError, UsageError
from lakerace.files import _io
from lakerace.files._fsspec_paths import PathCalls
from lakerace.files._os_errors import os_error
from lakerace.files._store import Store
from lakerace.files._store_results import Stat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakerace import _lakerace
    from lakerace.files._batch import Batch
    from lakerace.files._store import IfExists

#: What URLs begin with.
URL = "lrfiles://"

#: Between a store's location and a name, in a URL that has both.
SEPARATOR = "!/"

#: What is copied from or to a local file at once.
PART_BYTES = 1 << 20


class OldFile(NamedTuple):
    """A file that is appended to in a transaction.

    Examples:
        >>> import fsspec
        >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
        >>> with fs.transaction as transaction:
        ...     transaction.old("notes.md").content
        b'# Notes'
    """

    #: Its state; None where there was none.
    state: _lakerace.FileState | None
    content: bytes
    metadata: object


class FilesTransaction(Transaction):  # type: ignore[misc]
    """Writes that become visible together, at its end.

    Examples:
        >>> import fsspec
        >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
        >>> with fs.transaction:
        ...     fs.pipe_file("d.txt", b"1")
        ...     fs.exists("d.txt")
        False
        >>> fs.exists("d.txt")
        True
    """

    def __init__(self, fs: LakeraceFileSystem, **kwargs: Any) -> None:
        super().__init__(fs, **kwargs)
        # Begun by the first write: fsspec begins some transactions without `start`.
        self._batch: Batch | None = None
        self._has_ended = False
        self._written: set[str] = set()

    def start(self) -> None:
        """Begins it.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.transaction.start()
            >>> fs.pipe_file("d.txt", b"1")
            >>> fs.transaction.complete()
            >>> fs.cat("d.txt")
            b'1'
        """
        super().start()
        self._has_ended = False
        self._written = set()

    def put(self, name: str, data: Any, if_exists: IfExists, old: OldFile | None = None) -> None:
        """Puts a content, which appears at the end. One that was appended to `old` is an error where others have changed that meanwhile.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> with fs.transaction as transaction:
            ...     transaction.put("d.txt", b"1", "error")
            >>> fs.cat("d.txt")
            b'1'
        """
        if self._has_ended:
            raise UsageError("the transaction has ended (start another one)")
        if self._batch is None:
            self._batch = self.fs.store.batch()
        if old is None:
            self._batch.put(name, data, if_exists=if_exists)
        elif old.state is None:
            self._batch.put(name, data, if_exists="error")
        else:
            self._batch.put(name, data, metadata=old.metadata, replaced=old.state)
        self._written.add(name)

    def old(self, name: str) -> OldFile:
        """The file of this name that is appended to.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> with fs.transaction as transaction:
            ...     transaction.old("new.txt").state is None
            True
        """
        if name in self._written:
            raise UsageError(
                f"{name}: the transaction has already written the file (write it as a whole, or append after the transaction)"
            )
        store = self.fs.store
        state = store._version(name)
        if state is None:
            return OldFile(None, b"", None)
        return OldFile(state, store.get(name), store.stat(name).metadata)

    def complete(self, commit: bool = True) -> None:
        """Makes the writes visible, or leaves the store as it was.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.transaction.start()
            >>> fs.pipe_file("d.txt", b"1")
            >>> fs.transaction.complete(commit=False)
            >>> fs.exists("d.txt")
            False
        """
        batch, self._batch, self._has_ended = self._batch, None, True
        try:
            super().complete(commit)
            if commit and batch is not None:
                batch.commit()
        finally:
            if batch is not None:
                batch.discard()


class LakeraceFileSystem(PathCalls):
    """The files of a :class:`lakerace.files.Store`.

    `store`: a store, or its location, opened with the other options. Folders are there while files are in them; those that
    `mkdir` made are remembered by this object.

    Examples:
        >>> import fsspec
        >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
        >>> fs.ls("a", detail=False)
        ['a/b.txt', 'a/c.txt']
    """

    protocol = "lrfiles"
    root_marker = ""
    cachable = False
    transaction_type = FilesTransaction

    def __init__(self, store: Store | str | os.PathLike[str] | None = None, **options: Any) -> None:
        own = {name: options.pop(name) for name in list(options) if name in _FSSPEC_OPTIONS}
        super().__init__(**own)
        if store is None:
            raise UsageError(
                'no store is named (pass store="pack.db", or write lrfiles:///path/of/pack.db!/name/in/it)'
            )
        self.store = store if isinstance(store, Store) else Store(store, **options)
        self._folders: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        # By the store, which names its place from any folder.
        own = {name: value for name, value in self.storage_options.items() if name in _FSSPEC_OPTIONS}
        return (_made, (type(self), self.store, own))

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path)
        # fsspec gives names back to this method: only a URL has a store in front.
        if text.startswith(URL):
            text = text.removeprefix(URL)
            text = text.partition(SEPARATOR)[2] if SEPARATOR in text else text
        name = text.strip("/")
        if name.startswith(URL):
            raise InvalidInputError(f"{text}: a URL is not the name of a file in a store", text)
        return name

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        store, separator, _ = path.removeprefix(URL).partition(SEPARATOR)
        return {"store": store} if separator and path.startswith(URL) else {}

    def unstrip_protocol(self, name: str) -> str:
        """The URL of a file, with the store in it: without one, a name with `!/` would be split.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.unstrip_protocol("a/b.txt")
            'lrfiles://...pack.db!/a/b.txt'
        """
        location = self.store.location
        if SEPARATOR in location:
            raise UsageError(f"{location}: no URL can name a store whose location has !/ in it")
        return f"{URL}{location}{SEPARATOR}{self._strip_protocol(name)}"

    @property
    def fsid(self) -> str:
        """The store's location.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.fsid
            'lrfiles_...pack.db'
        """
        return f"lrfiles_{self.store.location}"

    def _info(self, stat: Stat) -> dict[str, Any]:
        return {
            "name": stat.name,
            "size": stat.size,
            "type": "file",
            "mtime": stat.mtime,
            "checksum": stat.checksum,
            "encoding": stat.encoding,
            "metadata": stat.metadata,
        }

    def _folder(self, name: str) -> dict[str, Any]:
        return {"name": name, "size": 0, "type": "directory"}

    def _made_folders(self) -> tuple[str, ...]:
        """The folders that were made and have no file yet. Other threads may make more of them meanwhile: this is one step of
        the interpreter."""
        return tuple(self._folders)

    def _is_folder(self, path: str) -> bool:
        if not path or path in self._folders or any(one.startswith(f"{path}/") for one in self._made_folders()):
            return True
        return bool(self.store._list(f"{path}/", "", 1))

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path:
            try:
                return self._info(self.store.stat(path))
            except NotFoundError:
                pass
        if self._is_folder(path):
            return self._folder(path)
        raise os_error(errno.ENOENT, path)

    def exists(self, path: str, **kwargs: Any) -> bool:
        path = self._strip_protocol(path)
        return bool((path and self.store.exists(path)) or self._is_folder(path))

    def isfile(self, path: str) -> bool:
        path = self._strip_protocol(path)
        return bool(path) and self.store.exists(path)

    def isdir(self, path: str) -> bool:
        return self._is_folder(self._strip_protocol(path))

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        path = self._strip_protocol(path)
        found = {
            name: self._folder(name) if stat is None else self._info(stat) for name, stat in self.store.children(path)
        }
        start = f"{path}/" if path else ""
        for folder in self._made_folders():
            if folder.startswith(start) and folder != path:
                name = start + folder[len(start) :].split("/", 1)[0]
                found.setdefault(name, self._folder(name))
        if not found and not self._is_folder(path):
            found[path] = self.info(path)
        infos = [found[name] for name in sorted(found)]
        return infos if detail else [one["name"] for one in infos]

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **kwargs: Any
    ) -> Any:
        path = self._strip_protocol(path)
        if maxdepth is not None or withdirs:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **kwargs)
        prefix = f"{path}/" if path else ""
        found = {stat.name: self._info(stat) for stat in self.store.scan(prefix)}
        if path and not found and self.store.exists(path):
            found[path] = self.info(path)
        return found if detail else list(found)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        path = self._strip_protocol(path)
        if self.exists(path):
            raise os_error(errno.EEXIST, path)
        parent = self._parent(path)
        if not create_parents and parent and not self._is_folder(parent):
            raise os_error(errno.ENOENT, parent)
        self._folders.add(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        path = self._strip_protocol(path)
        if not exist_ok and self.exists(path):
            raise os_error(errno.EEXIST, path)
        if self.isfile(path):
            raise os_error(errno.ENOTDIR, path)
        if path:
            self._folders.add(path)

    def rmdir(self, path: str) -> None:
        path = self._strip_protocol(path)
        if not self._is_folder(path):
            raise os_error(errno.ENOTDIR if self.store.exists(path) else errno.ENOENT, path)
        if not path:
            raise OSError(errno.EBUSY, "the root of a store can't be removed", path)
        if self.store._list(f"{path}/", "", 1) or any(one.startswith(f"{path}/") for one in self._made_folders()):
            raise os_error(errno.ENOTEMPTY, path)
        self._folders.discard(path)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.store.exists(source):
            if self._is_folder(target) and not self.store.exists(target):
                raise os_error(errno.EISDIR, target)
            self.store.copy(source, target)
        elif self._is_folder(source):
            self.makedirs(target, exist_ok=True)
        else:
            raise os_error(errno.ENOENT, source)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        path = self._strip_protocol(path)
        try:
            if start is None and end is None:
                return self.store.get(path)
            content = self.store._open_read(path)
        except NotFoundError:
            raise self._missing(path) from None
        first, last, _ = slice(start, end).indices(content.size)
        return content.read_at(first, max(last - first, 0))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        path = self._strip_protocol(path)
        if self._intrans:
            self.transaction.put(path, value, "error" if mode == "create" else "replace")
        else:
            self.store.put(path, value, if_exists="error" if mode == "create" else "replace", **kwargs)

    def pipe(self, path: Any, value: bytes | None = None, **kwargs: Any) -> None:
        """Puts one content, or those of a dict: together.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.pipe({"d.txt": b"1", "e.txt": b"2"})
            >>> fs.cat("e.txt")
            b'2'
        """
        if isinstance(path, dict) and not kwargs and not self._intrans:
            self.store.put_many((self._strip_protocol(name), data) for name, data in path.items())
        else:
            super().pipe(path, value, **kwargs)

    def put_file(
        self, lpath: str, rpath: str, callback: Any = DEFAULT_CALLBACK, mode: str = "overwrite", **kwargs: Any
    ) -> None:
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        name = self._strip_protocol(rpath)
        callback.set_size(os.path.getsize(lpath))
        with open(lpath, "rb") as source, self.open(name, "xb" if mode == "create" else "wb") as target:
            while data := source.read(PART_BYTES):
                target.write(data)
                callback.relative_update(len(data))

    def get_file(
        self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, outfile: Any = None, **kwargs: Any
    ) -> None:
        name = self._strip_protocol(rpath)
        if outfile is None and self._is_folder(name) and not self.store.exists(name):
            os.makedirs(lpath, exist_ok=True)
            return
        content = self.store._open_read(name)
        callback.set_size(content.size)
        target = outfile if outfile is not None else lpath
        if not hasattr(target, "write"):
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        with contextlib.nullcontext(target) if hasattr(target, "write") else open(target, "wb") as out:
            at = 0
            while at < content.size:
                data = content.read_at(at, PART_BYTES)
                out.write(data)
                at += len(data)
                callback.relative_update(len(data))

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: Any = None,
        compression: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Opens a file. A `with` that ends by an exception leaves nothing of what was written, unless `compression` is given.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> with fs.open("a/b.txt", "r") as file:
            ...     file.read()
            'hello'
        """
        if "b" in mode or "r" in mode or compression is not None:
            return super().open(path, mode, block_size, cache_options, compression, **kwargs)
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline") if name in kwargs}
        return _io._Text(super().open(path, mode.replace("t", "") + "b", block_size, cache_options, **kwargs), **text)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: Any = None,
        **kwargs: Any,
    ) -> Any:
        path = self._strip_protocol(path)
        if "r" not in mode and not autocommit:
            old = self.transaction.old(path) if "a" in mode else None
            return _TransactedFile(self.transaction, path, "error" if "x" in mode else "replace", old)
        if self._is_folder(path) and not self.store.exists(path):
            raise os_error(errno.EISDIR, path)
        file: Any = self.store.open(path, mode if "b" in mode else mode + "b")
        if mode in {"r", "rb"}:
            # Where a block that ends with a delimiter ends, fsspec tells by it.
            file.size = file.raw._content.size
        return file

    def created(self, path: str) -> datetime:
        """When the content was put: a store has no other time.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.created("a/b.txt").tzinfo
            datetime.timezone.utc
        """
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        """When the content was put.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.modified("a/b.txt").tzinfo
            datetime.timezone.utc
        """
        return datetime.fromtimestamp(self._file_stat(path).mtime, tz=timezone.utc)

    def _file_stat(self, path: str) -> Stat:
        name = self._strip_protocol(path)
        try:
            return self.store.stat(name)
        except NotFoundError:
            raise self._missing(name) from None

    def checksum(self, path: str) -> int:
        """A number that changes with the content.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> before = fs.checksum("a/b.txt")
            >>> fs.pipe_file("a/b.txt", b"changed")
            >>> fs.checksum("a/b.txt") == before
            False
        """
        return int(self.ukey(path), 16)

    def ukey(self, path: str) -> str:
        """A text that changes with the content, and is the same in every process.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> len(fs.ukey("a/b.txt"))
            32
        """
        stat = self._file_stat(path)
        told = json.dumps([self.store.location, stat.name, stat.size, stat.mtime_ms, stat.checksum])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def invalidate_cache(self, path: str | None = None) -> None:
        """Nothing is cached.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.invalidate_cache()
        """


def _made(kind: type[LakeraceFileSystem], store: Store, options: dict[str, Any]) -> LakeraceFileSystem:
    return kind(store, **options)


class _TransactedFile(_io._Discards, io.BytesIO):
    """A file whose content goes to a transaction when it is closed, unless its `with` ends by an exception."""

    def __init__(self, transaction: FilesTransaction, path: str, if_exists: IfExists, old: OldFile | None) -> None:
        super().__init__()
        self._transaction: FilesTransaction | None = transaction
        self._path, self._if_exists, self._old = path, if_exists, old
        if old is not None:
            self.write(old.content)

    def close(self) -> None:
        transaction, self._transaction = self._transaction, None
        try:
            if transaction is not None:
                transaction.put(self._path, self.getvalue(), self._if_exists, self._old)
        finally:
            super().close()

    def commit(self) -> None:
        """The transaction's end does it."""

    def discard(self) -> None:
        """Nothing of what was written goes to the transaction, unless the file is closed."""
        self._transaction = None


#: Options of fsspec's own.
_FSSPEC_OPTIONS: Sequence[str] = (
    "use_listings_cache",
    "listings_expiry_time",
    "max_paths",
    "skip_instance_cache",
    "asynchronous",
    "loop",
    "batch_size",
)
