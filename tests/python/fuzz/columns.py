"""Random columns of every type, and their values as Python compares them exactly."""

from __future__ import annotations

import decimal
import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

DAY_NS = 86_400_000_000_000
UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
#: Days from 0001-01-01 to 9999-12-31, which every reader knows.
DAYS = (-719_162, 2_932_896)
#: Nanoseconds that 64 bits hold, less a day.
NANOSECONDS = (-(2**63) + DAY_NS, 2**63 - DAY_NS)

TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "abc",
    "b",
    "B%",
    "_",
    "a_c",
    "a%c",
    " ",
    "NULL",
    "null",
    "true",
    "1",
    "01",
    "-0.0",
    "NaN",
    "2024-01-01",
    "ä",
    "Ä",
    "größe",
    "日本",
    "🦀",
    # Around the lengths at which statistics are cut.
    "z" * 31 + "a",
    "z" * 40,
    "z" * 40 + "1",
    "z" * 70,
    "z" * 70 + "1",
    "\U0010ffff" * 40,
    "é" * 40,
    "line\nbreak",
    'quo"te',
    "it's",
    "comma,",
    "\\",
    "\t",
    "\uffff",
    "\U0010ffff",
]


@dataclass(frozen=True)
class Number:
    """A value of a float column: exact, and as the shortest text that reads back as it."""

    exact: Fraction
    shortest: Fraction
    float: float


@dataclass(frozen=True)
class Kind:
    """A type, how its values are drawn, and what they are compared as."""

    name: str
    type: pa.DataType
    #: `int`, `decimal`, `float`, `bool`, `text`, `bytes`, `instant` or `time`.
    family: str
    draw: Callable[[random.Random], Any]
    #: Nanoseconds of a step of an instant or time, digits behind the point of a decimal, bits of a float or integer.
    unit: int = 0


def _int(bits: int, signed: bool) -> Callable[[random.Random], int]:
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)

    def draw(drawn: random.Random) -> int:
        choice = drawn.randrange(8)
        if choice == 0:
            return drawn.choice([least, least + 1, most - 1, most])
        if choice < 6:
            return drawn.randint(max(least, -20), 20)
        return drawn.randint(least, most)

    return draw


def _decimal(precision: int, scale: int) -> Callable[[random.Random], decimal.Decimal]:
    most = 10**precision - 1

    def draw(drawn: random.Random) -> decimal.Decimal:
        choice = drawn.randrange(8)
        digits = drawn.randint(-min(most, 3000), min(most, 3000))
        if choice == 0:
            digits = drawn.choice([-most, most, most - 1, 0])
        elif choice == 1:
            digits = drawn.randint(-most, most)
        sign, digits = int(digits < 0), abs(digits)
        return decimal.Decimal((sign, tuple(int(d) for d in str(digits)), -scale))

    return draw


def _float(bits: int) -> Callable[[random.Random], float]:
    form, whole, most = {16: ("<e", "<H", 65504.0), 32: ("<f", "<I", 3.4028234663852886e38), 64: ("<d", "<Q", 1.7e308)}[
        bits
    ]

    def draw(drawn: random.Random) -> float:
        choice = drawn.randrange(10)
        if choice == 0:
            value = drawn.choice([math.nan, math.inf, -math.inf, 0.0, -0.0])
        elif choice == 1:
            value = drawn.choice([most, -most, 2.0**-14, 16777216.0 if bits > 16 else 2048.0])
        elif choice < 8:
            value = drawn.randint(-40, 40) / drawn.choice([1, 2, 10, 3])
        else:
            value = struct.unpack(form, struct.pack(whole, drawn.getrandbits(bits)))[0]
        return float(struct.unpack(form, struct.pack(form, value))[0])

    return draw


def _instant(unit: str, near: int) -> Callable[[random.Random], int]:
    step = UNIT_NS[unit]

    def draw(drawn: random.Random) -> int:
        choice = drawn.randrange(8)
        if choice == 0:
            low, high = NANOSECONDS if near else tuple(day * DAY_NS for day in DAYS)
            return drawn.choice([low // step + 1, high // step - 1])
        day = drawn.randint(19_000, 19_020) * DAY_NS
        if choice < 4:
            return day // step
        return (day + drawn.randrange(DAY_NS)) // step

    return draw


def _clock(step: int) -> Callable[[random.Random], int]:
    return lambda drawn: drawn.choice([0, DAY_NS - step, drawn.randrange(DAY_NS), DAY_NS // 2]) // step


def _day(drawn: random.Random) -> int:
    choice = drawn.randrange(8)
    return drawn.choice([*DAYS, -1, 0]) if choice == 0 else drawn.randint(19_000, 19_020)


def _text(drawn: random.Random) -> str:
    if drawn.randrange(4):
        return drawn.choice(TEXTS)
    return "".join(drawn.choice("abAB%_é") for _ in range(drawn.randrange(6)))


def _bytes(size: int | None) -> Callable[[random.Random], bytes]:
    def draw(drawn: random.Random) -> bytes:
        length = drawn.randrange(5) if size is None else size
        return bytes(drawn.choice([0, 1, 97, 98, 127, 128, 255]) for _ in range(length))

    return draw


def _kinds() -> dict[str, Kind]:
    kinds = [
        Kind("bool", pa.bool_(), "bool", lambda drawn: drawn.random() < 0.5),
        Kind("text", pa.string(), "text", _text),
        Kind("large_text", pa.large_string(), "text", _text),
        Kind("bytes", pa.binary(), "bytes", _bytes(None)),
        Kind("fixed", pa.binary(3), "bytes", _bytes(3), 3),
        Kind("day", pa.date32(), "instant", _day, DAY_NS),
        Kind("f16", pa.float16(), "float", _float(16), 16),
        Kind("f32", pa.float32(), "float", _float(32), 32),
        Kind("f64", pa.float64(), "float", _float(64), 64),
    ]
    for bits in (8, 16, 32, 64):
        kinds.append(Kind(f"i{bits}", getattr(pa, f"int{bits}")(), "int", _int(bits, True), bits))
        kinds.append(Kind(f"u{bits}", getattr(pa, f"uint{bits}")(), "int", _int(bits, False), bits))
    for precision, scale in ((1, 0), (5, 2), (9, 9), (18, 4), (20, 0), (38, 10), (38, 0)):
        type_ = pa.decimal128(precision, scale)
        kinds.append(Kind(f"d{precision}_{scale}", type_, "decimal", _decimal(precision, scale), scale))
    kinds.append(Kind("d60_20", pa.decimal256(60, 20), "decimal", _decimal(60, 20), 20))
    for unit, step in UNIT_NS.items():
        for zone in (None, "UTC"):
            name = f"at_{unit}{'_utc' if zone else ''}"
            kinds.append(Kind(name, pa.timestamp(unit, zone), "instant", _instant(unit, unit == "ns"), step))
            # What ORC reads in nanoseconds, too.
            name = f"near_{unit}{'_utc' if zone else ''}"
            kinds.append(Kind(name, pa.timestamp(unit, zone), "instant", _instant(unit, True), step))
    for unit, step in UNIT_NS.items():
        type_ = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        kinds.append(Kind(f"time_{unit}", type_, "time", _clock(step), step))
    return {kind.name: kind for kind in kinds}


KINDS = _kinds()


def column(drawn: random.Random, kind: Kind, rows: int) -> pa.Array:
    """Values of a type with nulls: few different ones or many, sorted or not, in runs or alone."""
    nulls = drawn.choice([0.0, 0.0, 0.1, 0.5, 1.0])
    pool = [kind.draw(drawn) for _ in range(drawn.choice([1, 3, 12, 200]))]
    values = [None if drawn.random() < nulls else drawn.choice(pool) for _ in range(rows)]
    order = drawn.randrange(3)
    if order == 0:
        present = sorted((v for v in values if v is not None), key=lambda v: (v != v, v))  # noqa: PLR0124
        values = [*present, *[None] * (rows - len(present))]
    elif order == 1:
        run = drawn.randint(2, 40)
        values = [values[i // run * run] for i in range(rows)]
    return array(kind, values)


def array(kind: Kind, values: Sequence[Any]) -> pa.Array:
    """Drawn values as an array; instants and times are drawn as counts of their unit."""
    if kind.family in ("instant", "time"):
        width = pa.int32() if kind.type in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()
        return pa.array(values, width).view(kind.type)
    if kind.name == "f16":
        return pa.array([None if v is None else np.float16(v) for v in values], kind.type)
    return pa.array(values, kind.type)


def shortest(value: float, bits: int) -> Fraction:
    """The shortest text of a finite float of this width, as a number."""
    if bits == 64:
        return Fraction(repr(value))
    narrow = np.float16(value) if bits == 16 else np.float32(value)
    return Fraction(np.format_float_scientific(narrow, unique=True, trim="0"))


def comparable(kind: Kind, values: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values as they are compared: fractions, numbers, booleans, bytes, or nanoseconds; None is null."""
    family = kind.family
    if family in ("instant", "time"):
        width = pa.int32() if kind.type in (pa.date32(), pa.time32("s"), pa.time32("ms")) else pa.int64()
        return [None if v is None else v * kind.unit for v in values.cast(kind.type).cast(width).to_pylist()]
    plain = values.to_pylist()
    if family in ("int", "decimal"):
        return [None if v is None else Fraction(v) for v in plain]
    if family == "float":
        return [None if v is None else _number(float(v), kind.unit) for v in plain]
    if family == "text":
        return [None if v is None else v.encode() for v in plain]
    return plain


def _number(value: float, bits: int) -> Number:
    if not math.isfinite(value):
        return Number(Fraction(0), Fraction(0), value)
    return Number(Fraction(value), shortest(value, bits), value)
