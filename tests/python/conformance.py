"""The conformance corpora, files that other implementations wrote, and how their rows are compared with pyarrow's."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from summary import CORPUS

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

_ABOVE = [folder / "shared" / "conformance" for folder in Path(__file__).resolve().parents]
_BESIDE = next((folder for folder in _ABOVE if folder.is_dir()), _ABOVE[0])


def corpus(name: str) -> Path:
    """The folder of one corpus; skips the calling module where it is absent."""
    folder = Path(os.environ.get("LAKERACE_CONFORMANCE", _BESIDE)) / name
    if not folder.is_dir():
        pytest.skip(
            f"{CORPUS}{name!r} is not here: set LAKERACE_CONFORMANCE to the folder that holds it",
            allow_module_level=True,
        )
    return folder


def canonical(value: Any) -> Any:
    """Values that compare equal where they mean the same: NaN with NaN, a map with its list of pairs."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    return value


def counted(kind: pa.DataType) -> pa.DataType:
    """The type with numbers in place of times, some of which lie beyond what Python's datetime can hold."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(counted(field.type)) for field in kind])
    return kind


def rows(table: pa.Table) -> list[list[Any]]:
    return [canonical(column.cast(counted(column.type)).to_pylist()) for column in table.columns]


def assert_equals(path: Path, read: Callable[[Path], pa.Table]) -> None:
    """The rows of a file are those that pyarrow's `read` gives."""
    try:
        expected = read(path)
    except (pa.ArrowException, OSError) as error:
        # pyarrow refuses it: ours may read it or refuse it, but with an error of its own.
        try:
            pa.table(lr.scan(path))
        except lr.Error as ours:
            assert not isinstance(ours, lr.InternalError), f"pyarrow: {error}; ours: {ours}"
        return
    actual = pa.table(lr.scan(path))
    assert actual.column_names == expected.column_names
    assert actual.num_rows == expected.num_rows
    assert rows(actual) == rows(expected)
