"""Python objects as sources of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from lakerace._errors import Error, InvalidInputError, UsageError, rename
from lakerace._location import is_location, located
from lakerace._packages import needed
from lakerace._scan import Scan
from lakerace._warnings import renamed_in_warnings

if TYPE_CHECKING:
    from typing import TypeGuard

    from lakerace._api import ArrowStream, Format

#: How objects that hold a file's bytes are told from others.
_BYTES = (bytes, bytearray, memoryview)


def native_source(source: object, options: dict[str, Any]) -> object:
    """A source as the native half takes it: a location, a scan, or an Arrow stream. A list of locations becomes one of the
    options."""
    if is_location(source):
        first, listed = located(source, "a source")
        options.update(listed)
        return first
    if is_file(source):
        raise TypeError(
            f"{type(source).__name__} holds the bytes of a file, which only lr.copy reads: copy it to a file or a table with "
            'lr.copy(source, target, format="csv"), or give its location or the table in it'
        )
    scanned = getattr(source, "_scanned", None)
    if scanned is not None:
        source = scanned()
    return source._native if isinstance(source, Scan) else arrow_stream(source)


def is_read_once(source: object) -> bool:
    """Whether a source is a stream, whose rows are gone after they were read: it has neither a length nor rows to collect."""
    is_stream = hasattr(source, "__arrow_c_stream__") or isinstance(source, Iterator)
    return is_stream and not (hasattr(source, "__len__") or hasattr(source, "collect") or hasattr(source, "_scanned"))


def is_file(source: object) -> TypeGuard[bytes | BinaryIO]:
    """Whether a source holds the bytes of a file: it is such bytes, or an open binary file."""
    return isinstance(source, _BYTES) or (hasattr(source, "read") and not hasattr(source, "__arrow_c_stream__"))


@contextmanager
def stored_file(source: bytes | BinaryIO, file_format: Format | None) -> Iterator[str]:
    """The path of a temporary file with the bytes of a source, from where an open file stands on. Errors and warnings name the
    source in place of the path.

    Raises:
        UsageError: The format is not given, or the file gives text.
    """
    if file_format is None:
        raise UsageError(f'{type(source).__name__} has no name that gives its format: pass format="csv" or the like')
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="lakerace-", suffix=f".{file_format}") as file:
        if isinstance(source, _BYTES):
            file.write(source)
        else:
            try:
                shutil.copyfileobj(source, file)
            except TypeError as error:
                raise UsageError("the file returns text: open it in binary mode") from error
        file.flush()
        with _named(file.name, _file_name(source)):
            yield file.name


def _file_name(source: bytes | BinaryIO) -> str:
    """The name by which users know a source that holds the bytes of a file."""
    if isinstance(source, _BYTES):
        return "the bytes"
    name = getattr(source, "name", None)
    if not isinstance(name, str) or not name:
        return f"<{type(source).__name__}>"
    # A name that is not UTF-8 has halves of surrogate pairs, which can't be printed.
    return name.encode(errors="backslashreplace").decode()


@contextmanager
def _named(path: str, name: str) -> Iterator[None]:
    """Puts a name in place of a path into the errors and warnings of the calls within."""
    with renamed_in_warnings(path, name):
        try:
            yield
        except Error as error:
            rename(error, path, name)
            raise


def arrow_stream(source: object) -> ArrowStream:
    """An object with rows as an Arrow stream: one that is such a stream, a lazy frame of polars, or a list of dicts.

    Raises:
        TypeError: The object is none of these.
        UsageError: The list is empty, and so has no columns.
        InvalidInputError: The values of a column have no common type.
    """
    if hasattr(source, "__arrow_c_stream__"):
        return source
    if type(source).__module__.partition(".")[0] == "polars" and hasattr(source, "collect"):
        frame: ArrowStream = source.collect()
        return frame
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes, bytearray, memoryview, Mapping)):
        return _table(list(source))
    if isinstance(source, Mapping):
        raise TypeError(
            f"{type(source).__name__} is not a source of rows: a list of dicts is one, and of a dict of columns make a table with "
            "pyarrow.table(columns)"
        )
    raise TypeError(
        f"{type(source).__name__} is not a source of rows: give a location, an object with __arrow_c_stream__ (of pyarrow, polars, "
        "pandas, duckdb), or a list of dicts"
    )


def _table(rows: list[Any]) -> ArrowStream:
    """Rows that are dicts; a column that a row lacks is null."""
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"row {at} is a {type(row).__name__}: rows are dicts, and values of a column need its name: give a frame or a table "
                'with it, such as pyarrow.table({"name": values})'
            )
    if not rows:
        raise UsageError("a list without rows has no columns: give a table with a schema")
    pyarrow = needed("pyarrow")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        try:
            columns[name] = pyarrow.array([row.get(name) for row in rows])
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise InvalidInputError(f"column {name!r}: {error}", f"column {name!r}") from error
    table: ArrowStream = pyarrow.table(columns)
    return table
