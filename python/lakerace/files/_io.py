"""Files of a store as the built-in `open` gives them."""

from __future__ import annotations

import io
import os
import tempfile
from typing import IO, TYPE_CHECKING, Any, cast

from lakerace._errors import UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from lakerace import _lakerace

#: What is read or written at once: a piece of a store's.
BUFFER_BYTES = 256 << 10


class _Reading(io.RawIOBase):
    def __init__(self, content: _lakerace.FileReader, name: str) -> None:
        self._content = content
        self._at = 0
        self.name = name
        self.mode = "rb"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        target = memoryview(buffer).cast("B")
        data = self._content.read_at(self._at, len(target))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        data = self._content.read_at(self._at, max(self._content.size - self._at, 0))
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._content.size}[whence]
        if start + offset < 0:
            raise ValueError(f"negative seek position {start + offset}")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at


class _Writing(io.RawIOBase):
    def __init__(self, writer: _lakerace.FileWriter, name: str, mode: str, start: int) -> None:
        self._writer = writer
        self._at = start
        self.name = name
        self.mode = mode

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        written = self._writer.write(data)
        self._at += written
        return written

    def tell(self) -> int:
        return self._at

    def discard(self) -> None:
        """Nothing of what was written appears."""
        self._writer.discard()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._writer.finish()


class _Updating(io.FileIO):
    """A copy in a hidden file of the system's, which is put when it is closed."""

    def __init__(self, store: Any, name: str, mode: str, options: dict[str, Any], start: bytes | None) -> None:
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        super().__init__(descriptor, "r+b")
        self._store: Any = store
        self._stored_name = name
        self._options = options
        self._is_append = mode.startswith("a")
        if start:
            super().write(start)
            self.seek(0, os.SEEK_END if self._is_append else os.SEEK_SET)

    def write(self, data: Buffer) -> int:
        if self._is_append:
            self.seek(0, os.SEEK_END)
        return super().write(data)

    def discard(self) -> None:
        """Nothing of what was written appears."""
        self._store = None

    def close(self) -> None:
        if self.closed:
            return
        store, self._store = self._store, None
        if store is not None:
            self.seek(0)
            writer = store._create(self._stored_name, **self._options)
            while data := self.read(BUFFER_BYTES):
                writer.write(data)
            writer.finish()
        super().close()


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
    def tell(self) -> int:
        """The position in bytes; of a file that is only written, too, which has no other."""
        if self.seekable():
            return super().tell()
        self.flush()
        return cast("io.BufferedWriter", self.buffer).tell()


def opened(
    store: Any,
    name: str,
    mode: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
    options: dict[str, Any],
) -> IO[Any]:
    """What `Store.open` gives."""
    kinds = set(mode)
    if len(kinds) != len(mode) or kinds - set("rwaxbt+") or len(kinds & set("rwax")) != 1 or {"b", "t"} <= kinds:
        raise UsageError(f"invalid mode: {mode!r} (one of r, w, a and x, with b or t and +)")
    is_binary = "b" in kinds
    if is_binary and (encoding is not None or errors is not None or newline is not None):
        raise UsageError("a binary file takes no encoding, errors or newline")
    if buffering == 0 and not is_binary:
        raise UsageError("a text file can't be unbuffered")
    # A text writer needs a file that seeks to know where the mark of an encoding goes.
    is_marked = not is_binary and (encoding or "").lower().replace("-", "").replace("_", "") in _MARKED
    raw = _raw(store, name, kinds, options, is_seekable=is_marked)
    if buffering == 0:
        return cast("IO[Any]", raw)
    size = BUFFER_BYTES if buffering in {-1, 1} else buffering
    binary: io.BufferedReader | io.BufferedWriter | io.BufferedRandom
    if isinstance(raw, _Reading):
        binary = io.BufferedReader(raw, min(size, max(raw._content.size, 1)))
    elif isinstance(raw, _Writing):
        binary = _BufferedWriter(raw, size)
    else:
        binary = _BufferedRandom(raw, size)
    if is_binary:
        return cast("IO[Any]", binary)
    text = _Text if not isinstance(raw, _Reading) else io.TextIOWrapper
    made = text(binary, encoding or "utf-8", errors, newline, line_buffering=buffering == 1)
    made.mode = mode  # type: ignore[misc]
    return cast("IO[Any]", made)


#: Encodings whose texts begin with a mark.
_MARKED = {"utf16", "utf32", "utf8sig"}


def _raw(
    store: Any, name: str, kinds: set[str], options: dict[str, Any], *, is_seekable: bool
) -> _Reading | _Writing | _Updating:
    if "r" in kinds and "+" not in kinds:
        return _Reading(store._open_read(name), name)
    if not hasattr(store, "_create"):
        raise UsageError("a snapshot is for reading only")
    if "x" in kinds:
        if store.exists(name):
            from lakerace._errors import ConflictError

            raise ConflictError(f"{name}: the file exists", name)
        options = {**options, "if_exists": "error"}
    old = None
    if "r" in kinds or ("a" in kinds and store.exists(name)):
        old = store._open_read(name)
        # A changed content is the same file: an option alone gives it other metadata.
        metadata = store.stat(name).metadata
        options = options if metadata is None else {"metadata": metadata, **options}
    if "+" in kinds or is_seekable:
        start = old.read_at(0, old.size) if old is not None else None
        letter = next(iter(kinds & set("rwax")))
        return _Updating(store, name, letter, options, start)
    writer = store._create(name, **options)
    at = 0
    while old is not None and at < old.size:
        at += writer.write(old.read_at(at, BUFFER_BYTES))
    return _Writing(writer, name, "ab" if "a" in kinds else "wb", at)
