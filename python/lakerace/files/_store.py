"""Stores of files."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

from lakerace import _lakerace
from lakerace._errors import NotFoundError, UsageError
from lakerace._location import location_text
from lakerace.files import _io
from lakerace.files._batch import Batch
from lakerace.files._store_results import Compacted, Damage, Stat, Verified, stat_from_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import TypeAlias

    from typing_extensions import Buffer, Self

    from lakerace.files._path import Path
    from lakerace.files._store_results import StatTuple

    IfExists: TypeAlias = Literal["replace", "error"]
    Durability: TypeAlias = Literal["full", "normal", "off"]
    Missing: TypeAlias = Literal["error", "skip"]
    Progress: TypeAlias = Callable[[int, int], object]

    class Transform(Protocol):
        """A reversible change of bytes. `name` is kept with each file; without it, the class's name is.

        A content of more than 256 KiB goes through it piece by piece, on any thread.
        """

        def apply(self, data: bytes) -> bytes:
            """The changed bytes."""

        def remove(self, data: bytes) -> bytes:
            """The bytes that `apply` was given."""


#: Files that one look at a store gives.
PAGE = 1000

#: The endings of archives.
ARCHIVES = {
    ".tar": "tar",
    ".tar.gz": "tar.gz",
    ".tgz": "tar.gz",
    ".tar.zst": "tar.zst",
    ".tzst": "tar.zst",
    ".zip": "zip",
}


#: Stores on object stores that this process has open: what was put into them is made durable at its end.
_UNFLUSHED: weakref.WeakSet[Store] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    for store in list(_UNFLUSHED):
        try:
            store.flush()
        except Exception as error:  # told, and the other stores have their turn
            sys.excepthook(type(error), error, error.__traceback__)


os.register_at_fork(after_in_child=_UNFLUSHED.clear)


class _Reads:
    """What a store and a snapshot of it have in common."""

    if TYPE_CHECKING:

        @property
        def location(self) -> str: ...

        def _stat(self, name: str) -> StatTuple | None: ...
        def _list(self, prefix: str, from_: str, limit: int, /) -> Sequence[StatTuple]: ...
        def _open_read(self, name: str) -> _lakerace.FileReader: ...
        def get(self, name: str) -> bytes: ...

    def stat(self, name: str) -> Stat:
        """A file's properties; :class:`NotFoundError` where there is no such file.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.stat("a/b.txt").size
            5
        """
        found = self._stat(name)
        if found is None:
            place = f"{self.location}: {name}"
            raise NotFoundError(f"{place}: no such file", place)
        return stat_from_tuple(found)

    def exists(self, name: str) -> bool:
        """Whether there is a file of this name.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.exists("a/b.txt"), store.exists("a")
            (True, False)
        """
        return self._stat(name) is not None

    def scan(self, prefix: str = "") -> Iterator[Stat]:
        """The files whose names begin with `prefix`, in the order of their names' bytes, a thousand at a time.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> {stat.name: stat.size for stat in store.scan("a/")}
            {'a/b.txt': 5, 'a/c.txt': 4}
        """
        after = ""
        while True:
            page = self._list(prefix, after, PAGE)
            yield from map(stat_from_tuple, page)
            if len(page) < PAGE:
                return
            after = page[-1][0] + "\0"

    def list(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, in the order of their bytes.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.list("a/")
            ['a/b.txt', 'a/c.txt']
        """
        names: list[str] = []
        after = ""
        while True:
            page = self._list(prefix, after, 10 * PAGE)
            names += [values[0] for values in page]
            if len(page) < 10 * PAGE:
                return names
            after = names[-1] + "\0"

    def read_text(self, name: str, encoding: str = "utf-8") -> str:
        """The content as text.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.read_text("a/b.txt")
            'hello'
        """
        return self.get(name).decode(encoding)


class Store(_lakerace.FileStore, _Reads):
    """Named contents in one place: a SQLite file, a directory, a folder of an object store, or memory.

    Every call releases the interpreter; any thread and any process may use the store at the same time. After a fork it is open in
    the child, too. Pickled, it is its location and options, the key included.

    Args:
        location: A path of a SQLite file; a path of a directory, if it ends in `/` or the directory exists; `memory:`; or a URL of
            an object store's folder (`s3://bucket/folder`). In an object store, contents are durable after :meth:`flush`, a batch,
            :meth:`close`, or the end of the process.
        create: Make a store if there is none.
        read_only: Write nothing.
        durability: Durability of a committed write. `"full"` survives a power loss. `"normal"`, the default, survives
            the end of the process; a power loss may remove the last commits. `"off"` survives the end of the process; a
            power loss may damage the store. An object store's commits survive with any of them.
        compression: The codec of new contents: `none`, `zstd`, `zstd-dict`, `lz4`, `snappy`, `gzip`, `bz2`, `xz` or `brotli`, some
            with a level (`zstd:9`). A new store keeps it for later openings.
        pack_bytes: Batches put contents up to 4 KiB into shared blocks of this many bytes. 16384 is a good length, 0 turns it off.
            A new store keeps it.
        transforms: What is applied to contents after compression: `"base64"`, or objects with `apply(bytes)` and `remove(bytes)`.
        key: 32 bytes that encrypt contents (AES-256-GCM).
        encrypt: Encrypt new contents. By default they are encrypted if a key is given.
        busy_timeout: How long a write waits for other writers, in seconds.
        page_bytes: The page size of SQLite in a new store.
        wal_limit_bytes: The size of SQLite's log at which writes wait for readers.
        storage_options: Settings of an object store.

    Examples:
        >>> with lr.files.Store("new.db", compression="zstd-dict", durability="full") as store:
        ...     store.put("a/b.txt", b"hello")
        ...     store.get("a/b.txt")
        b'hello'
    """

    def __init__(
        self,
        location: str | os.PathLike[str],
        *,
        create: bool = True,
        read_only: bool = False,
        durability: Durability = "normal",
        compression: str | None = None,
        pack_bytes: int | str | None = None,
        transforms: Sequence[str | Transform] = (),
        key: bytes | None = None,
        encrypt: bool | None = None,
        busy_timeout: float = 60.0,
        page_bytes: int | str = 8192,
        wal_limit_bytes: int | str = 67_108_864,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        options = dict(locals())
        for name in ("self", "location", "__class__"):
            options.pop(name, None)
        self._arguments = (location_text(location), options)
        self._absolute = _absolute(self._arguments[0])
        kind, _, rest = self._arguments[0].partition(":")
        # A connection may be one of an object store, whose stores are packs.
        is_connection = self._arguments[0].startswith("@")
        if kind.lower() == "packs" or is_connection or (rest.startswith("//") and kind not in {"sqlite", "dir"}):
            _UNFLUSHED.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        location, options = self._arguments
        if location == "memory:":
            raise UsageError("memory:: a store in memory is this process's own")
        return (_reopened, (type(self), self._absolute, options))

    def __repr__(self) -> str:
        return f"lakerace.files.Store({self._arguments[0]!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Commits the writes to an object store that are still in memory, and closes the connections as soon as nothing uses them.

        In other stores, each write is committed already, and `durability` says what it survives. :meth:`flush` makes
        those on a disk survive a power loss.

        Where that fails, the store stays open with what it has: it may be closed again.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.put("d.txt", b"new")
            >>> store.close()
        """
        super().close()
        _UNFLUSHED.discard(self)

    @property
    def is_read_only(self) -> bool:
        """Whether nothing is written.

        Examples:
            >>> lr.files.Store("pack.db", read_only=True).is_read_only
            True
        """
        return bool(self._arguments[1]["read_only"])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.exists(name)

    def __truediv__(self, part: str) -> Path:
        return self.path() / part

    def path(self, name: str = "") -> Path:
        """A name in the store as a path, with what :class:`pathlib.Path` has.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.path("a/b.txt").read_text()
            'hello'
        """
        from lakerace.files._path import Path

        return Path(self, name)

    def put_text(self, name: str, text: str, encoding: str = "utf-8", **options: Any) -> None:
        """Puts a text; `options` as of `put`.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.put_text("d.txt", "text")
            >>> store.get("d.txt")
            b'text'
        """
        self.put(name, text.encode(encoding), **options)

    def put_many(
        self,
        files: Mapping[str, Buffer] | Iterable[tuple[str, Buffer]],
        *,
        if_exists: IfExists = "replace",
        compression: str | None = None,
    ) -> int:
        """Puts pairs of a name and a content, all of them or none; says how many.

        In a directory, they get their names one after the other: nothing is changed where one can be seen to fail, and what was done is
        taken back where one fails all the same. A crash may leave a part of them.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.put_many({"d.txt": b"1", "e.txt": b"2"})
            2
        """
        from collections.abc import Mapping

        batch = Batch(self)
        try:
            pairs = files.items() if isinstance(files, Mapping) else files
            count = batch.put_many(pairs, if_exists=if_exists, compression=compression)
            batch.commit()
        except BaseException:
            batch.discard()
            raise
        return count

    def batch(self) -> Batch:
        """Writes that become visible together, at the end of a `with`; none of them does where it ends by an exception.

        In a directory, they are done one after the other, as :meth:`put_many` says.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.batch() as batch:
            ...     batch.put("d.txt", b"1")
            ...     batch.remove("notes.md")
            >>> store.list()
            ['a/b.txt', 'a/c.txt', 'd.txt']
        """
        return Batch(self)

    def snapshot(self) -> Snapshot:
        """One state of all files, for many reads: faster than one by one, and unchanged by writes.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.snapshot() as snapshot:
            ...     store.remove("a/b.txt")
            ...     snapshot.get("a/b.txt")
            b'hello'
        """
        return Snapshot(self)

    def open(
        self,
        name: str | bytes | os.PathLike[str],
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        **options: Any,
    ) -> IO[Any]:
        """Opens a file as the built-in `open` does, in any of its modes.

        The bytes that are written appear together when the file is closed; nothing appears if a `with` ends by an exception. `options`
        as of `put`: `compression`, `metadata`, `mtime_ms`. A file that is appended to or changed keeps its metadata.

        Appended bytes (`a`, `a+`) follow those that others have appended by then. A file that is changed (`r+`), and that others have changed since,
        is a :class:`ConflictError` when it is closed; nothing is written then.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.open("log.txt", "a") as file:
            ...     length = file.write("one line\\n")
            >>> store.read_text("log.txt")
            'one line\\n'
        """
        return _io.opened(self, name, mode, buffering, encoding, errors, newline, options)

    def glob(self, pattern: str) -> list[str]:
        """The names of a pattern: `*` and `?` stop at `/`, `**` does not.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.glob("**/*.txt")
            ['a/b.txt', 'a/c.txt']
        """
        return [values[0] for values in self._glob(pattern)]

    def children(self, folder: str = "") -> list[tuple[str, Stat | None]]:
        """What is directly in a folder, by whole names: files with their properties, folders with None.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> [name for name, stat in store.children()]
            ['a', 'notes.md']
        """
        return [(name, None if values is None else stat_from_tuple(values)) for name, values in self._children(folder)]

    def walk(self, folder: str = "") -> Iterator[tuple[str, list[str], list[str]]]:
        """The folders from `folder` on, as `os.walk` gives them: the folder's name, those of folders and of files in it.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> list(store.walk())
            [('', ['a'], ['notes.md']), ('a', [], ['b.txt', 'c.txt'])]
        """
        children = self._children(folder)
        start = len(folder.rstrip("/")) + 1 if folder.strip("/") else 0
        folders = [name[start:] for name, values in children if values is None]
        yield folder, folders, [name[start:] for name, values in children if values is not None]
        for name in folders:
            yield from self.walk(f"{folder.rstrip('/')}/{name}" if start else name)

    def set_metadata(self, name: str, metadata: object) -> None:
        """Replaces a file's metadata, any value that JSON has.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.set_metadata("a/b.txt", {"language": "en"})
            >>> store.stat("a/b.txt").metadata
            {'language': 'en'}
        """
        import json

        self._set_metadata(name, None if metadata is None else json.dumps(metadata))

    def import_tree(
        self, tree: str | os.PathLike[str], folder: str = "", *, progress: Progress | None = None
    ) -> tuple[int, int]:
        """Puts all files below a directory, or of an archive (`.tar`, `.tar.gz`, `.tar.zst`, `.zip`), under `folder`.

        Returns the numbers of files and bytes. `progress` is called with both. A hard link of an archive gets the content of its file. Symbolic links,
        pipes and devices are skipped, and so is the store itself.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.import_tree("site", "pages")
            (2, 33)
            >>> store.list("pages/")
            ['pages/css/main.css', 'pages/index.html']
        """
        kind = _archive(tree)
        if kind is not None and not os.path.isdir(tree):
            return self._import_archive(os.fspath(tree), kind, folder, progress)
        return self._import_tree(os.fspath(tree), folder, progress)

    def export_tree(
        self,
        tree: str | os.PathLike[str],
        folder: str = "",
        *,
        if_exists: IfExists = "error",
        progress: Progress | None = None,
    ) -> tuple[int, int]:
        """Writes the files of `folder` below a directory, or as an archive, by the ending of its name.

        Returns the numbers of files and bytes. An existing file is replaced or an error, by `if_exists`. An archive
        appears when it is complete. The files survive a power loss, with any `durability` of the store.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.export_tree("files.zip", "a")
            (2, 9)
        """
        kind = _archive(tree)
        if kind is None:
            return self._export_tree(folder, os.fspath(tree), if_exists, progress)
        if if_exists == "error" and os.path.isfile(tree):
            from lakerace._errors import ConflictError

            raise ConflictError(f'{os.fspath(tree)}: the file exists (pass if_exists="replace")', os.fspath(tree))
        return self._export_archive(folder, os.fspath(tree), kind, if_exists, progress)

    def verify(self) -> Verified:
        """Reads everything and reports damage, which is not an exception.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.verify().damage
            []
        """
        found = self._verify()
        damage = [
            Damage(one["name"], one["between"] and (one["between"][0], one["between"][1]), one["problem"])
            for one in found["damage"]
        ]
        alike = [(one[0], one[1]) for one in found["alike"]]
        return Verified(found["files"], found["bytes"], found["undecoded"], damage, alike)

    def compact(self) -> Compacted:
        """Gives the space of removed files back, and encodes small files with the store's dictionary.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.remove("a/b.txt")
            >>> store.compact().orphans
            0
        """
        return Compacted(**self._compact())


def _archive(path: str | os.PathLike[str]) -> str | None:
    name = os.fspath(path).lower()
    return next((kind for ending, kind in ARCHIVES.items() if name.endswith(ending)), None)


def _absolute(location: str) -> str:
    """A location that names the same store from any folder."""
    scheme = next((scheme for scheme in ("packs:", "sqlite:", "dir:") if location.startswith(scheme)), "")
    if location[:6].lower() == "packs:":
        scheme = location[:6]
    path = location[len(scheme) :]
    is_url = "://" in path and scheme not in {"sqlite:", "dir:"}
    if location == "memory:" or not path or is_url or path.startswith("@") or os.path.isabs(path):
        return location
    # A slash at the end stays: it says that the place is a directory.
    return scheme + os.path.join(os.getcwd(), path)


def _reopened(kind: type[Store], location: str, options: dict[str, Any]) -> Store:
    return kind(location, **options)


class Snapshot(_Reads):
    """One state of a store. Close it, or use it in a `with`: the store's log grows while it is open.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> with store.snapshot() as snapshot:
        ...     store.put("a/b.txt", b"changed")
        ...     snapshot.get("a/b.txt")
        b'hello'
    """

    def __init__(self, store: Store) -> None:
        held = store._snapshot()
        self._held = held
        self._location = store.location
        # The native methods themselves: a call less for each read.
        self.get = held.get  # type: ignore[method-assign]
        self._stat = held._stat  # type: ignore[method-assign]
        self._list = held._list  # type: ignore[method-assign]
        self._open_read = held._open_read  # type: ignore[method-assign]

    @property
    def location(self) -> str:
        """The location of the store.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.snapshot() as snapshot:
            ...     snapshot.location == store.location
            True
        """
        return self._location

    def get_many(self, names: Sequence[str], *, missing: Missing = "error") -> dict[str, bytes]:
        """Contents by their names; those that are missing are an error or left out.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.snapshot() as snapshot:
            ...     snapshot.get_many(["a/b.txt", "z.txt"], missing="skip")
            {'a/b.txt': b'hello'}
        """
        return self._held.get_many(names, missing=missing)

    def open(self, name: str, mode: str = "r", buffering: int = -1, encoding: str | None = None) -> IO[Any]:
        """Opens a file for reading.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.snapshot() as snapshot:
            ...     snapshot.open("a/b.txt").read()
            'hello'
        """
        return _io.opened(self, name, mode, buffering, encoding, None, None, {})

    def close(self) -> None:
        """Ends the snapshot.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> snapshot = store.snapshot()
            >>> snapshot.exists("a/b.txt")
            True
            >>> snapshot.close()
        """
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
