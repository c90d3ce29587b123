"""Tables of every type that lakerace writes to ORC, with what is hard in each."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

#: No day of 5 to 14 October 1582 is here: the calendar that ORC's Java readers count in does not have them.
DAYS = [
    datetime.date(1, 1, 1),
    datetime.date(4, 2, 29),
    datetime.date(325, 7, 4),
    datetime.date(1000, 12, 31),
    datetime.date(1500, 2, 28),
    datetime.date(1500, 3, 1),
    datetime.date(1582, 10, 4),
    datetime.date(1582, 10, 15),
    datetime.date(1600, 2, 29),
    datetime.date(1883, 11, 18),
    datetime.date(1969, 12, 30),
    datetime.date(1970, 1, 1),
    datetime.date(2000, 2, 29),
    datetime.date(2015, 1, 1),
    datetime.date(2038, 1, 19),
    datetime.date(9999, 12, 31),
]
#: Times of day: with nothing, some and all of the digits of a second.
TIMES = [
    datetime.time(0, 0),
    datetime.time(0, 0, 0, 1),
    datetime.time(12, 30, 59, 999),
    datetime.time(12, 30, 59, 120000),
    datetime.time(23, 59, 58, 999999),
]
#: Days that timestamps of nanoseconds reach, which is how pyarrow reads them.
NANOSECOND_DAYS = [day for day in DAYS if 1678 <= day.year <= 2261]


def _column(count: int, make: Callable[[int], Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if i % 11 == 3 else make(i) for i in range(count)], kind)


def every_type(count: int = 3000) -> pa.Table:
    """A column of each type, with nulls."""
    start = datetime.datetime(1999, 12, 31, 23, 59, 58)
    columns: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
        "bool": (lambda i: i % 3 == 0, pa.bool_()),
        "i8": (lambda i: i % 256 - 128, pa.int8()),
        "i16": (lambda i: i * 7 - 9000, pa.int16()),
        "i32": (lambda i: i * 70001 - 2**30, pa.int32()),
        "i64": (lambda i: i * 2**48 - 2**55, pa.int64()),
        "f32": (lambda i: (math.nan, math.inf, -0.0)[i % 3] if i % 50 < 3 else i / 3, pa.float32()),
        "f64": (lambda i: (math.nan, -math.inf, -0.0)[i % 3] if i % 50 < 3 else -i / 7, pa.float64()),
        "text": (lambda i: f"größer {i % 500} 🦀", pa.string()),
        "unique": (lambda i: f"{i * 7919 % 100_003:x}" * (i % 5), pa.string()),
        "bytes": (lambda i: bytes([i % 256]) * (i % 9), pa.binary()),
        "day": (lambda i: datetime.date(1600, 1, 1) + datetime.timedelta(days=i * 60), pa.date32()),
        "at": (lambda i: start + datetime.timedelta(hours=i, microseconds=i), pa.timestamp("ns")),
        "instant": (lambda i: start + datetime.timedelta(days=i), pa.timestamp("ns", "UTC")),
        "money": (lambda i: decimal.Decimal(i * 37 - 500).scaleb(-2), pa.decimal128(12, 2)),
        "huge": (lambda i: decimal.Decimal(i) * 10**30, pa.decimal128(38, 0)),
    }
    return pa.table({name: _column(count, make, kind) for name, (make, kind) in columns.items()})


def nested(count: int = 2000) -> pa.Table:
    """Lists, maps and structs in each other, with nulls and empty ones at every depth."""
    pair = pa.struct([("a", pa.int32()), ("b", pa.string())])
    columns: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
        "list": (lambda i: [i, None, -i][: i % 4], pa.list_(pa.int64())),
        "lists": (
            lambda i: [[j, None][: i % 3] if j % 5 else None for j in range(i % 7)],
            pa.list_(pa.list_(pa.int16())),
        ),
        "map": (lambda i: [(f"k{j}", None if j == 1 else i) for j in range(i % 3)], pa.map_(pa.string(), pa.int32())),
        "maps": (
            lambda i: [(i, [(f"{i}", i / 2)])] * (i % 2),
            pa.map_(pa.int64(), pa.map_(pa.string(), pa.float64())),
        ),
        "struct": (lambda i: {"a": None if i % 4 == 0 else i, "b": f"{i}"}, pair),
        "structs": (lambda i: [{"a": i, "b": None}, None][: i % 3], pa.list_(pair)),
        "deep": (
            lambda i: {"x": {"y": None if i % 6 == 0 else [{"z": decimal.Decimal(i)}]}} if i % 7 else {"x": None},
            pa.struct([("x", pa.struct([("y", pa.list_(pa.struct([("z", pa.decimal128(20, 0))])))]))]),
        ),
    }
    return pa.table({name: _column(count, make, kind) for name, (make, kind) in columns.items()})


def decimals() -> pa.Table:
    """Decimals of every precision, from the smallest to the largest."""
    context = decimal.Context(prec=40)
    columns = {}
    for precision in range(1, 39):
        scale = precision * 7 % (precision + 1)
        largest = 10**precision - 1
        whole = [largest, -largest, 0, 1, -1, None, *(largest * i // 101 * (-1) ** i for i in range(100))]
        values = [None if n is None else context.scaleb(decimal.Decimal(n), -scale) for n in whole]
        columns[f"p{precision}s{scale}"] = pa.array(values, pa.decimal128(precision, scale))
    return pa.table(columns)


def calendar(days: list[datetime.date] = NANOSECOND_DAYS, unit: str = "ns") -> pa.Table:
    """Days of ten thousand years, and times on `days`."""
    times = [datetime.datetime.combine(day, time) for day in days for time in TIMES]
    dates = [DAYS[i % len(DAYS)] for i in range(len(times))]
    return pa.table(
        {
            "day": pa.array(dates, pa.date32()),
            "at": pa.array(times, pa.timestamp(unit)),
            "instant": pa.array(times, pa.timestamp(unit, "UTC")),
        }
    )


def nulls() -> pa.Table:
    """Columns of nothing but nulls."""
    return pa.table({name: pa.nulls(500, column.type) for name, column in _all(every_type(1), nested(1))})


def empty() -> pa.Table:
    """No rows."""
    return pa.table({name: column.slice(0, 0) for name, column in _all(every_type(1), nested(1))})


def _all(*tables: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    return [(name, table[name]) for table in tables for name in table.column_names]


TABLES: dict[str, Callable[[], pa.Table]] = {
    "every_type": every_type,
    "nested": nested,
    "decimals": decimals,
    "calendar": calendar,
    "nulls": nulls,
    "empty": empty,
}
#: As lakerace names them.
CODECS = ["none", "zlib", "snappy", "lz4", "zstd"]
