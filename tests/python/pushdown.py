"""Rows whose statistics are easy to get wrong, and filters over them in the language of each engine.

A filter by statistics must find what it finds without: each engine is held against itself, as engines differ in NaN and zeros.
"""

from __future__ import annotations

import datetime
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN = math.nan
NEGATIVE_NAN = math.copysign(math.nan, -1.0)
INFINITY = math.inf
#: Rows of a group: a file, a row group or a page.
GROUP_ROWS = 4
NULLS = [None] * GROUP_ROWS

FLOATS: list[list[float | None]] = [
    [0.5, NAN, 2.0, -1.0],
    [0.0, 0.0, None, 0.0],
    [-0.0, -0.0, -0.0, -0.0],
    [NAN, NAN, NAN, NAN],
    [*NULLS],
    [INFINITY, 1.0, 3.0, None],
    [-INFINITY, -5.0, -7.0, None],
    [NEGATIVE_NAN, 1.0, 7.0, None],
    [0.1, 0.1, 0.1, 0.1],
]
TEXTS: list[list[str | None]] = [
    ["", "a", None, "b"],
    ["é" * 600, "é" * 599, None, "é" * 600],
    ["a" * 32, "a" * 33, "a" * 31, "a" * 32 + "\x7f"],
    ["\U0010ffff" * 300] * 4,
    [*NULLS],
    ["zzz", "zz", "z", None],
    ["a" * 31 + "\U0001f600b", "a" * 31 + "éb", "a" * 31 + "\ud7ffb", None],
    ["", "", "", ""],
    ["é" * 31 + "\U0010ffff\U0010ffffb", "é" * 32, "é" * 33, "é" * 31 + "z"],
]
BYTES: list[list[bytes | None]] = [
    [b"", b"\x00", None, b"\x80"],
    [b"\xff" * 100] * 4,
    [b"\x7f", b"\x80", b"\xff", None],
    [b"\x00" * 70, b"\x00" * 71, None, None],
    [*NULLS],
    [b"a", b"b", b"c", b"d"],
    [b"a" * 64, b"a" * 65, b"a" * 63, None],
    [b"", b"", b"", b""],
    [b"\xfe" + b"\xff" * 80, b"\xfe", None, b"\xfd"],
]
DATES: list[list[datetime.date | None]] = [
    [datetime.date(1, 1, 1), datetime.date(1582, 10, 4), None, datetime.date(1582, 10, 15)],
    [datetime.date(9999, 12, 31)] * 4,
    [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(1970, 1, 2), None],
    [datetime.date(1582, 10, 10)] * 4,
    [*NULLS],
    [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1), None, None],
    [datetime.date(1, 1, 1)] * 4,
    [datetime.date(1899, 12, 31), datetime.date(1900, 1, 1), datetime.date(1900, 1, 2), None],
    [datetime.date(1582, 10, 15)] * 4,
]
_NOON = datetime.datetime(2024, 8, 10, 20, 4, 53, 80758)
_FIRST, _LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
_MICRO = datetime.timedelta(microseconds=1)
#: A day that Java's old calendar skips: Spark looks for it by the same time on the 15th.
_SKIPPED = datetime.datetime(1582, 10, 12, 1, 2, 3)
#: None of them is in the last second before 1970, which ORC can't hold.
TIMES: list[list[datetime.datetime | None]] = [
    [_NOON, _NOON + 2 * _MICRO, None, _NOON + 5 * _MICRO],
    [_LAST, _LAST - 1000 * _MICRO, None, _LAST],
    [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1), datetime.datetime(1969, 12, 31), None],
    [_FIRST] * 4,
    [*NULLS],
    [_SKIPPED.replace(day=15)] * 4,
    [datetime.datetime(1582, 10, 14, 23, 59, 59, 999999), _SKIPPED, None, None],
    [datetime.datetime(1899, 12, 31, 23, 59, 59, 999999), datetime.datetime(1900, 1, 1), None, None],
    [
        datetime.datetime(2024, 3, 31, 1, 30),
        datetime.datetime(2024, 3, 31, 2, 30),
        datetime.datetime(2024, 11, 3, 6, 30),
        None,
    ],
]
BOOLEANS: list[list[bool | None]] = [
    [True, False, None, True],
    [True] * 4,
    [False] * 4,
    [None, None, None, True],
    [*NULLS],
    [False, None, None, None],
    [True, True, False, False],
    [True] * 4,
    [False] * 4,
]


def whole(least: int, greatest: int, middle: int) -> list[list[int | None]]:
    """Whole numbers of a range, which decimals are, too."""
    return [
        [least, 0, 5, None],
        [greatest, greatest - 1, 1, 2],
        [middle, middle - 1, middle + 1, None],
        [middle] * 4,
        [*NULLS],
        [7] * 4,
        [least] * 4,
        [greatest] * 4,
        [least + 1, greatest - 1, None, None],
    ]


@dataclass(frozen=True)
class Kind:
    """A kind of values."""

    data_type: pa.DataType
    groups: list[list[Any]]
    #: What filters compare with.
    points: list[Any]


def _integers(data_type: pa.DataType, least: int, greatest: int) -> Kind:
    middle = min(2**53 + 1, greatest - 3)
    return Kind(data_type, whole(least, greatest, middle), [least, 0, 7, middle, middle + 1, greatest])


def _decimals(precision: int, scale: int, middle: int) -> Kind:
    def exact(value: int) -> Decimal:
        return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale))

    most = 10**precision - 1
    groups = [[None if value is None else exact(value) for value in group] for group in whole(-most, most, middle)]
    points = [exact(value) for value in (-most, 0, 7, middle, middle + 1, most)]
    return Kind(pa.decimal128(precision, scale), groups, points)


def _floats(data_type: pa.DataType) -> Kind:
    return Kind(data_type, FLOATS, [0.5, 0.1, 0.0, -0.0, 5.0, 100.0, NAN, INFINITY, -INFINITY])


_DAYS = [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)]
_INSTANTS = [
    _FIRST,
    _SKIPPED,
    datetime.datetime(1582, 10, 15),
    datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
    _NOON,
    _NOON + 5 * _MICRO,
    _LAST,
]
_WORDS = ["", "a" * 32, "a" * 33, "a" * 31 + "\U0001f600b", "b", "é" * 600, "zzz", "\U0010ffff" * 300]

KINDS: dict[str, Kind] = {
    "f64": _floats(pa.float64()),
    "f32": _floats(pa.float32()),
    "i8": _integers(pa.int8(), -128, 127),
    "i16": _integers(pa.int16(), -(2**15), 2**15 - 1),
    "i32": _integers(pa.int32(), -(2**31), 2**31 - 1),
    "i64": _integers(pa.int64(), -(2**63), 2**63 - 1),
    "u8": _integers(pa.uint8(), 0, 255),
    "u32": _integers(pa.uint32(), 0, 2**32 - 1),
    "u64": _integers(pa.uint64(), 0, 2**64 - 1),
    "dec9": _decimals(9, 2, 1234567),
    "dec18": _decimals(18, 2, -538849342519364448),
    "dec38": _decimals(38, 10, 12345678901234567890123456789),
    "text": Kind(pa.string(), TEXTS, _WORDS),
    "bytes": Kind(pa.binary(), BYTES, [b"", b"\x80", b"\xff" * 100, b"a" * 64]),
    "day": Kind(pa.date32(), DATES, _DAYS),
    "utc": Kind(pa.timestamp("us", "UTC"), TIMES, _INSTANTS),
    "ntz": Kind(pa.timestamp("us"), TIMES, _INSTANTS),
    "flag": Kind(pa.bool_(), BOOLEANS, [True, False]),
}
#: What ORC and Delta have no type for.
UNSIGNED = ("u8", "u32", "u64")
#: Kinds that are worth more rows than a page or a row group of ORC has: 32,768 and 10,000.
LONG = ("f64", "dec18")
PAGE_ROWS, STRIDE_ROWS = 32_768, 10_000
#: Fields of the struct `s`.
NESTED = ("f64", "dec18", "text", "utc")
GROUPS = len(FLOATS)


@dataclass(frozen=True)
class Filter:
    """A condition on one column, or on a field of the struct `s`."""

    kind: str
    nested: bool
    operator: str
    values: tuple[Any, ...]

    @property
    def data_type(self) -> pa.DataType:
        """The column's type."""
        return KINDS[self.kind].data_type

    @property
    def has_skipped_day(self) -> bool:
        """Whether it compares with a day that Java's old calendar skips."""
        days = [value for value in self.values if isinstance(value, datetime.date)]
        return any((day.year, day.month) == (1582, 10) and 5 <= day.day <= 14 for day in days)

    def sql(self, dialect: str) -> str:
        """It in the SQL of an engine."""
        column = self.kind
        if self.nested:
            column = f"s['{self.kind}']" if dialect == "datafusion" else f"s.{self.kind}"
        values = [literal(value, self.data_type, dialect) for value in self.values]
        match self.operator:
            case "IN":
                return f"{column} IN ({', '.join(values)})"
            case "BETWEEN":
                return f"{column} BETWEEN {values[0]} AND {values[1]}"
            case "IS NULL" | "IS NOT NULL":
                return f"{column} {self.operator}"
        return f"{column} {self.operator} {values[0]}"


def table(kinds: tuple[str, ...] = tuple(KINDS)) -> pa.Table:
    """The rows, with their numbers as `id`. Every fifth struct is null, and all of one group."""
    rows = range(GROUPS * GROUP_ROWS)
    flat = {name: pa.array([v for group in KINDS[name].groups for v in group], KINDS[name].data_type) for name in kinds}
    nulls = pa.array([row % 5 == 0 or row // GROUP_ROWS == 5 for row in rows])
    fields = [name for name in NESTED if name in kinds]
    columns: dict[str, Any] = {"id": pa.array(rows, pa.int64()), **flat}
    if fields:
        columns["s"] = pa.StructArray.from_arrays([flat[name] for name in fields], names=fields, mask=nulls)
    return pa.table(columns)


def stretched(kinds: tuple[str, ...], rows: int) -> pa.Table:
    """The same with each group over and over, so that it fills so many rows."""
    whole = table(kinds)
    groups = [whole.slice(first, GROUP_ROWS) for first in range(0, whole.num_rows, GROUP_ROWS)]
    return pa.concat_tables([group for group in groups for _ in range(rows // GROUP_ROWS)]).combine_chunks()


def filters(kinds: tuple[str, ...] = tuple(KINDS)) -> list[Filter]:
    """All filters over these columns."""
    found: list[Filter] = []
    for nested, names in ((False, kinds), (True, tuple(name for name in NESTED if name in kinds))):
        for name in names:
            points = KINDS[name].points
            one = [(operator, (value,)) for value in points for operator in ("=", "<>", "<", "<=", ">", ">=")]
            two = [("IN", (points[0], points[-1])), ("IN", (points[1], points[len(points) // 2]))]
            if not nested and len(points) > 3:
                # DataFusion's IN tells the zeros of nested fields apart where it filters, and does not where it projects.
                two.append(("IN", (points[2], points[3])))
            between = [("BETWEEN", pair) for pair in itertools.pairwise(points)]
            nulls: list[tuple[str, tuple[Any, ...]]] = [("IS NULL", ()), ("IS NOT NULL", ())]
            found += [Filter(name, nested, operator, values) for operator, values in [*one, *two, *between, *nulls]]
    return found


def literal(value: Any, kind: pa.DataType, dialect: str) -> str:
    """A value in the SQL of an engine: exact, and of the column's type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if dialect == "lakerace":
            return "1e999" if value == INFINITY else "-1e999" if value == -INFINITY else repr(value)
        name = (
            {"duckdb": "FLOAT", "datafusion": "REAL", "spark": "FLOAT"}[dialect] if kind == pa.float32() else "DOUBLE"
        )
        text = {INFINITY: "Infinity", -INFINITY: "-Infinity"}.get(value, "NaN" if math.isnan(value) else repr(value))
        return f"CAST('{text}' AS {name})"
    if isinstance(value, int):
        return str(value) if dialect != "spark" else f"CAST('{value}' AS {_SPARK_INTEGERS[str(kind)]})"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text if dialect == "lakerace" else f"CAST('{text}' AS DECIMAL({kind.precision},{kind.scale}))"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, bytes):
        return f"from_hex('{value.hex()}')" if dialect == "duckdb" else f"X'{value.hex()}'"
    if isinstance(value, datetime.datetime):
        return _instant(value, kind, dialect)
    return f"DATE '{value.isoformat()}'"


#: Spark has no unsigned numbers: the next wider type has their values.
_SPARK_INTEGERS = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "uint8": "SMALLINT",
    "uint32": "BIGINT",
    "uint64": "DECIMAL(20,0)",
}


def _instant(value: datetime.datetime, kind: pa.DataType, dialect: str) -> str:
    text = value.isoformat(" ", "microseconds")
    has_zone = kind.tz is not None
    match dialect:
        case "duckdb":
            return f"TIMESTAMPTZ '{text}+00'" if has_zone else f"TIMESTAMP '{text}'"
        case "datafusion":
            zone = 'Some("UTC")' if has_zone else "None"
            return f"arrow_cast('{text}{'Z' if has_zone else ''}', 'Timestamp(Microsecond, {zone})')"
        case "spark":
            return f"TIMESTAMP '{text} UTC'" if has_zone else f"TIMESTAMP_NTZ '{text}'"
    return f"TIMESTAMP '{text}{'Z' if has_zone else ''}'"
