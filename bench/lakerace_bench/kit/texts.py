"""Values that a system keeps as text or as a number, as what they were: dates, times and truth values of SQLite and Elasticsearch."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa


def readers(types: pa.Schema) -> list[Callable[[Any], Any] | None]:
    """For each column, what makes a value of it; None where values are what they are."""
    return [_reader(field.type) for field in types]


def rows(found: Iterable[Iterable[Any]], types: pa.Schema) -> Iterator[dict[str, Any]]:
    """Rows of values, in the order of the columns, as dicts."""
    names, made = types.names, readers(types)
    for row in found:
        yield {
            name: value if value is None or make is None else make(value)
            for name, make, value in zip(names, made, row, strict=True)
        }


def _reader(kind: pa.DataType) -> Callable[[Any], Any] | None:
    if pa.types.is_boolean(kind):
        return _truth
    if pa.types.is_date32(kind):
        return lambda value: datetime.date.fromisoformat(value[:10])
    return _time if pa.types.is_timestamp(kind) else None


def _truth(value: Any) -> bool:
    if value not in (0, 1, "true", "false"):
        raise ValueError(f"neither true nor false: {value!r}")
    return value in (1, "true")


def _time(value: str) -> datetime.datetime:
    """`2019-01-01 00:00:00.123`, with or without a zone, which is UTC."""
    text = value.replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix("+00")
    return datetime.datetime.strptime(text + ("" if "." in text else ".0"), "%Y-%m-%d %H:%M:%S.%f").replace(
        tzinfo=datetime.timezone.utc
    )
