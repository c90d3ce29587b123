"""Files of a store as the built-in `open` gives them."""

from __future__ import annotations

import errno
import io
import operator
import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, cast

from lakerace._errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Buffer

    from lakerace import _lakerace

#: What is read or written at once: a piece of a store's.
BUFFER_BYTES = 256 << 10

#: What is appended is kept in memory up to this, and beyond it in a file of the system's.
TAIL_BYTES = 16 << 20


class _Raw(io.RawIOBase):
    """What files of a store have in common with those of a disk, so far as neither reads nor writes are concerned."""

    def __init__(self, name: str, mode: str) -> None:
        self._at = 0
        self.name = name
        self.mode = mode

    def readable(self) -> bool:
        self._checkClosed()
        return False

    def writable(self) -> bool:
        self._checkClosed()
        return False

    def seekable(self) -> bool:
        self._checkClosed()
        return True

    def readinto(self, buffer: Buffer) -> int:
        self._checkClosed()
        raise io.UnsupportedOperation("File not open for reading")

    def write(self, data: Buffer) -> int:
        self._checkClosed()
        raise io.UnsupportedOperation("File not open for writing")

    def truncate(self, size: int | None = None) -> int:
        self._checkClosed()
        raise io.UnsupportedOperation("truncate")

    def tell(self) -> int:
        self._checkClosed()
        return self._at

    def _size(self) -> int:
        raise NotImplementedError

    def _target(self, offset: int, whence: int) -> int:
        """Where a seek leads to."""
        self._checkClosed()
        offset = operator.index(offset)
        starts = {os.SEEK_SET: lambda: 0, os.SEEK_CUR: lambda: self._at, os.SEEK_END: self._size}
        start = starts.get(whence)
        target = -1 if start is None else start() + offset
        if target < 0:
            raise OSError(errno.EINVAL, "Invalid argument")
        return target

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = self._target(offset, whence)
        return self._at


class _Reading(_Raw):
    def __init__(self, content: _lakerace.FileReader, name: str) -> None:
        super().__init__(name, "rb")
        self._content = content

    def readable(self) -> bool:
        self._checkClosed()
        return True

    def _size(self) -> int:
        return self._content.size

    def readinto(self, buffer: Buffer) -> int:
        self._checkClosed()
        target = memoryview(buffer).cast("B")
        data = self._content.read_at(self._at, len(target))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        self._checkClosed()
        data = self._content.read_at(self._at, max(self._content.size - self._at, 0))
        self._at += len(data)
        return data


def _hidden_file() -> io.FileIO:
    """A file of the system's without a name."""
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return io.FileIO(descriptor, "r+b")


def _copy(read: Callable[[int, int], bytes], target: io.FileIO, size: int) -> None:
    """Copies the first bytes of what is read by position and length."""
    at = 0
    while at < size and (data := read(at, min(BUFFER_BYTES, size - at))):
        _write_all(target, data)
        at += len(data)


def _write_all(target: io.FileIO, data: Buffer) -> int:
    view = memoryview(data).cast("B")
    done = 0
    while done < len(view):
        done += target.write(view[done:]) or 0
    return done


def _put(store: Any, name: str, source: io.FileIO, options: dict[str, Any]) -> None:
    """Puts a local file as a content."""
    source.seek(0)
    writer = store._create(name, **options)
    while data := source.read(BUFFER_BYTES):
        writer.write(data)
    writer.finish()


class _Writing(_Raw):
    """A content that goes to the store as it comes. The first seek to another place takes what was written to a local copy."""

    def __init__(self, store: Any, name: str, mode: str, options: dict[str, Any]) -> None:
        super().__init__(name, mode)
        self._store = store
        self._options = options
        self._writer: _lakerace.FileWriter | None = store._create(name, **options)
        self._file: io.FileIO | None = None

    def writable(self) -> bool:
        self._checkClosed()
        return True

    def _size(self) -> int:
        return self._at if self._file is None else os.fstat(self._file.fileno()).st_size

    def _local(self) -> io.FileIO:
        if self._file is None:
            file = _hidden_file()
            if self._writer is not None:
                _copy(self._writer.read_back, file, self._at)
                self._writer.discard()
            self._file, self._writer = file, None
        return self._file

    def write(self, data: Buffer) -> int:
        self._checkClosed()
        if self._writer is not None:
            written = self._writer.write(data)
        else:
            file = self._local()
            file.seek(self._at)
            written = _write_all(file, data)
        self._at += written
        return written

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        target = self._target(offset, whence)
        if target != self._at:
            self._local()
            self._at = target
        return target

    def truncate(self, size: int | None = None) -> int:
        self._checkClosed()
        size = self._at if size is None else operator.index(size)
        if self._file is not None or size != self._at:
            self._local().truncate(size)
        return size

    def discard(self) -> None:
        """Nothing of what was written appears."""
        if self._writer is not None:
            self._writer.discard()
        self._store = None

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        file, store = self._file, self._store
        try:
            if store is not None and file is not None:
                _put(store, self.name, file, self._options)
            elif self._writer is not None:
                self._writer.finish()
        finally:
            if file is not None:
                file.close()


class _Appending(_Raw):
    """What is appended is kept until the file is closed, and follows what others have appended until then."""

    def __init__(self, store: Any, name: str, options: dict[str, Any]) -> None:
        super().__init__(name, "ab")
        # What can't be written is told now, and not when the file is closed.
        store._create(name, **options).discard()
        self._store = store
        self._options = options
        self._version: _lakerace.FileState | None = store._version(name)
        self._start: int = 0 if self._version is None else store.stat(name).size
        self._at = self._start
        self._tail = tempfile.SpooledTemporaryFile(TAIL_BYTES)  # noqa: SIM115
        # The whole content, once a part of the old one was cut off.
        self._whole: _Updating | None = None

    def writable(self) -> bool:
        self._checkClosed()
        return True

    def _size(self) -> int:
        if self._whole is not None:
            return os.fstat(self._whole.fileno()).st_size
        return self._start + self._tail.seek(0, os.SEEK_END)

    def write(self, data: Buffer) -> int:
        self._checkClosed()
        if self._whole is not None:
            written = self._whole.write(data)
        else:
            self._tail.seek(0, os.SEEK_END)
            written = self._tail.write(memoryview(data).cast("B"))
        self._at = self._size()
        return written

    def truncate(self, size: int | None = None) -> int:
        self._checkClosed()
        size = self._at if size is None else operator.index(size)
        if self._whole is None and size >= self._start:
            end = self._tail.seek(0, os.SEEK_END)
            if self._start + end < size:
                self._tail.write(bytes(size - self._start - end))
            self._tail.truncate(size - self._start)
        else:
            if self._whole is None:
                self._whole = _Updating(self._store, self.name, "a", self._options, self._version)
            self._whole.truncate(size)
        return size

    def discard(self) -> None:
        """Nothing of what was written appears."""
        if self._whole is not None:
            self._whole.discard()
        self._store = None

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        try:
            if self._whole is not None:
                self._whole.close()
            elif self._store is not None and (self._version is None or self._options or self._size() > self._start):
                _append(self._store, self.name, self._tail, 0, self._options)
        finally:
            self._tail.close()


def _append(store: Any, name: str, tail: IO[bytes], start: int, options: dict[str, Any]) -> None:
    """Appends a local file from a position on, in one step."""
    length = tail.seek(0, os.SEEK_END) - start
    if length > TAIL_BYTES:
        tail.flush()
        store._append(name, tail.fileno(), start=start, **options)
    else:
        tail.seek(start)
        store._append(name, tail.read(), **options)


class _Updating(io.FileIO):
    """A copy in a hidden file of the system's, which is put when it is closed, unless the file was changed by others meanwhile."""

    def __init__(
        self, store: Any, name: str, mode: str, options: dict[str, Any], version: _lakerace.FileState | None
    ) -> None:
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        super().__init__(descriptor, "r+b")
        self._store: Any = store
        self._stored_name = name
        self._options = options
        self._version = version
        self._letter = mode
        self._start = 0
        # An unchanged file stays what it is; those that are new or emptied are put in any case.
        self._is_changed = version is None or mode in {"w", "x"} or bool(options)
        self._is_cut = False
        if version is not None and mode in {"r", "a"}:
            content = store._open_read(name)
            at = 0
            while at < content.size:
                at += super().write(content.read_at(at, BUFFER_BYTES))
            self._start = content.size
            self.seek(0, os.SEEK_END if mode == "a" else os.SEEK_SET)
        elif mode != "r":
            # What can't be written is told now, and not when the file is closed.
            store._create(name, **options).discard()

    @property
    def mode(self) -> str:  # type: ignore[override]
        return "ab+" if self._letter == "a" else "rb+"

    def write(self, data: Buffer) -> int:
        self._is_changed = True
        if self._letter == "a":
            self.seek(0, os.SEEK_END)
        return super().write(data)

    def truncate(self, size: int | None = None) -> int:
        self._is_changed = True
        size = super().truncate(size)
        self._is_cut = self._is_cut or size < self._start
        return size

    def discard(self) -> None:
        """Nothing of what was written appears."""
        self._store = None

    def close(self) -> None:
        if self.closed:
            return
        store, self._store = self._store, None
        try:
            if store is not None and self._is_changed:
                self._end(store)
        finally:
            super().close()

    def _end(self, store: Any) -> None:
        options = self._options
        if self._letter == "a" and not self._is_cut:
            _append(store, self._stored_name, cast("IO[bytes]", self), self._start, options)
            return
        if self._letter in {"r", "a"}:
            if self._version is not None and "metadata" not in options:
                # A changed content is the same file: an option alone gives it other metadata.
                found = store._stat(self._stored_name)
                import json  # this keeps the import of the package light

                metadata = None if found is None or found[5] is None else json.loads(found[5])
                options = options if metadata is None else {**options, "metadata": metadata}
            state = {"if_exists": "error"} if self._version is None else {"replaced": self._version}
            options = {**options, **state}
        _put(store, self._stored_name, self, options)


class _Discards:
    """Leaving a `with` by an exception discards what was written."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file = cast("Any", self)
        if kind is not None:
            layer = file
            while not hasattr(layer, "discard"):
                layer = layer.buffer if hasattr(layer, "buffer") else layer.raw
            layer.discard()
            try:
                file.close()
            except Exception:  # the discarded file takes no more: that is what was wanted
                layer.close()
        else:
            file.close()


class _BufferedWriter(_Discards, io.BufferedWriter):
    pass


class _BufferedRandom(_Discards, io.BufferedRandom):
    pass


class _Text(_Discards, io.TextIOWrapper):
    pass


def opened(
    store: Any,
    name: str | bytes | os.PathLike[str],
    mode: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
    options: dict[str, Any],
) -> IO[Any]:
    """What `Store.open` gives."""
    name = os.fsdecode(name)
    kinds = set(mode)
    if len(kinds) != len(mode) or kinds - set("rwaxbt+") or len(kinds & set("rwax")) != 1 or {"b", "t"} <= kinds:
        raise UsageError(f"invalid mode: {mode!r} (one of r, w, a and x, with b or t and +)")
    is_binary = "b" in kinds
    if is_binary and (encoding is not None or errors is not None or newline is not None):
        raise UsageError("a binary file can't have encoding, errors or newline")
    if buffering == 0 and not is_binary:
        raise UsageError("a text file can't be unbuffered")
    raw = _raw(store, name, kinds, options)
    if buffering == 0:
        return cast("IO[Any]", raw)
    size = BUFFER_BYTES if buffering in {-1, 1} else buffering
    binary: io.BufferedReader | io.BufferedWriter | io.BufferedRandom
    if isinstance(raw, _Reading):
        binary = io.BufferedReader(raw, min(size, max(raw._content.size, 1)))
    elif isinstance(raw, _Updating):
        binary = _BufferedRandom(raw, size)
    else:
        binary = _BufferedWriter(raw, size)
    if is_binary:
        return cast("IO[Any]", binary)
    text = io.TextIOWrapper if isinstance(raw, _Reading) else _Text
    made = text(binary, encoding or "utf-8", errors, newline, line_buffering=buffering == 1)
    made.mode = mode  # type: ignore[misc]
    return cast("IO[Any]", made)


def _raw(
    store: Any, name: str, kinds: set[str], options: dict[str, Any]
) -> _Reading | _Writing | _Appending | _Updating:
    if "r" in kinds and "+" not in kinds:
        return _Reading(store._open_read(name), name)
    if not hasattr(store, "_create"):
        raise UsageError("a snapshot is for reading only")
    if "x" in kinds:
        if store.exists(name):
            from lakerace._errors import ConflictError

            place = f"{store.location}: {name}"
            raise ConflictError(f"{place}: the file exists", place)
        options = {**options, "if_exists": "error"}
    letter = next(iter(kinds & set("rwax")))
    if "+" in kinds:
        version = store._version(name) if letter in {"r", "a"} else None
        if version is None and letter == "r":
            place = f"{store.location}: {name}"
            raise NotFoundError(f"{place}: no such file", place)
        return _Updating(store, name, letter, options, version)
    if letter == "a":
        return _Appending(store, name, options)
    return _Writing(store, name, f"{letter}b", options)
