"""Random filters over the columns of a table, and the SQL that says them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from columns import DAY_NS, DAYS, TEXTS, Kind, Number, shortest
from evaluate import Literal

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

OPS = ["=", "=", "<>", "<", "<=", ">", ">="]
#: Numbers at the ends of what types hold, and far beyond.
LIMITS = [
    *(
        sign * (2**bits + more)
        for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64)
        for sign in (1, -1)
        for more in (-1, 0, 1)
    ),
    *(sign * (10**digits + more) for digits in (9, 18, 28, 38) for sign in (1, -1) for more in (-1, 0)),
    10**45,
    -(10**45),
]
ZONES = ["Z", "+00:00", "+02:00", "-0730"]


def number_text(value: Fraction) -> str | None:
    """A number as its digits, where it has an end."""
    two_five = value.denominator
    places = 0
    while two_five % 10 == 0:
        two_five //= 10
        places += 1
    while two_five % 2 == 0 or two_five % 5 == 0:
        two_five = two_five // 2 if two_five % 2 == 0 else two_five // 5
        places += 1
    if two_five != 1 or places > 1100:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, rest = (digits[:-places], digits[-places:]) if places else (digits, "")
    return ("-" if value < 0 else "") + whole + (f".{rest}" if rest else "")


def number(value: Fraction) -> Literal:
    """A number constant with all its digits."""
    text = number_text(value)
    assert text is not None, value
    return Literal(text, value)


def text_sql(text: str) -> str:
    """A text in quotes."""
    return "'" + text.replace("'", "''") + "'"


class Expressions:
    """Draws filters over columns of given kinds, with constants near the values that the columns have."""

    def __init__(self, drawn: random.Random, kinds: Mapping[str, Kind], values: Mapping[str, Sequence[Any]]) -> None:
        self.drawn = drawn
        self.kinds = kinds
        self.values = {name: [v for v in column if v is not None] for name, column in values.items()}

    def condition(self, depth: int = 3) -> tuple[Any, ...]:
        """A condition, with others in it."""
        choice = self.drawn.randrange(10) if depth else 9
        if choice < 2:
            return ("and", [self.condition(depth - 1) for _ in range(self.drawn.randint(2, 3))])
        if choice < 4:
            return ("or", [self.condition(depth - 1) for _ in range(self.drawn.randint(2, 3))])
        if choice == 4:
            return ("not", self.condition(depth - 1))
        if choice == 5 and self.drawn.randrange(3) == 0:
            wanted = self.drawn.choice([True, False, None])
            return ("is", self.condition(depth - 1), wanted, self.drawn.random() < 0.5)
        return self._leaf()

    def _leaf(self) -> tuple[Any, ...]:
        drawn = self.drawn
        name = drawn.choice(list(self.kinds))
        kind = self.kinds[name]
        negated = drawn.random() < 0.4
        choice = drawn.randrange(12)
        if choice == 0:
            return ("is null", ("column", name), negated)
        if choice == 1:
            items = [self.constant(kind, name) for _ in range(drawn.randint(1, 5))]
            return ("in", ("column", name), items, negated)
        if choice == 2:
            return ("between", ("column", name), self.constant(kind, name), self.constant(kind, name), negated)
        if choice == 3 and kind.family == "text":
            return self._like(name, negated)
        if choice == 4 and kind.family == "bool":
            return ("truth", name)
        if choice == 5:
            pair = self._pair(name)
            if pair is not None:
                return pair
        if choice == 6 and kind.family in ("int", "instant"):
            made = self._arithmetic(name, kind)
            if made is not None:
                return made
        if choice == 7 and drawn.randrange(6) == 0:
            return ("constant", drawn.choice([True, False, None]))
        sides = [("column", name), ("literal", self.constant(kind, name))]
        if drawn.randrange(5) == 0:
            sides.reverse()
        return ("compare", drawn.choice(OPS), *sides)

    def _like(self, name: str, negated: bool) -> tuple[Any, ...]:
        drawn = self.drawn
        of = drawn.choice(self.values[name]).decode() if self.values[name] else "abc"
        pattern = of
        escape = drawn.choice([None, None, "!", "\\"])
        for _ in range(drawn.randint(0, 3)):
            at = drawn.randint(0, len(pattern))
            end = min(len(pattern), at + drawn.randint(0, 3))
            pattern = pattern[:at] + drawn.choice(["%", "_", "%%", "a", ""]) + pattern[end:]
        if escape:
            pattern = pattern.replace(escape, escape + escape)
            if drawn.random() < 0.5:
                pattern += escape + drawn.choice(["%", "_", escape])
        # What letters of other scripts are without case is each library's own.
        any_case = drawn.random() < 0.3 and of.isascii() and all(text.isascii() for text in self.values[name])
        return ("like", name, pattern, escape, any_case, negated)

    def _pair(self, name: str) -> tuple[Any, ...] | None:
        """Two columns beside each other."""
        group = {"int": "number", "decimal": "number", "float": "number", "text": "text", "bytes": "text"}
        family = lambda kind: group.get(kind.family, kind.family)  # noqa: E731
        kind = self.kinds[name]
        others = [n for n, k in self.kinds.items() if family(k) == family(kind)]
        other = self.drawn.choice(others)
        beside = self.kinds[other]
        if {kind.name, beside.name} & {"fixed"} and "text" in (kind.family, beside.family):
            return None
        left: tuple[Any, ...] = ("column", name)
        right: tuple[Any, ...] = ("column", other)
        if "float" in (kind.family, beside.family):
            left, right = ("as float", left), ("as float", right)
        return ("compare", self.drawn.choice(OPS), left, right)

    def _arithmetic(self, name: str, kind: Kind) -> tuple[Any, ...] | None:
        """A computed number or day beside a constant, where nothing goes over."""
        drawn = self.drawn
        column: tuple[Any, ...] = ("column", name)
        if kind.name == "day":
            days = drawn.randint(-30, 30)
            return (
                "compare",
                drawn.choice(OPS),
                ("arithmetic", "days", column, ("literal", number(Fraction(days)))),
                ("literal", self._day()),
            )
        if kind.family != "int" or kind.unit > 32:
            return None
        op = drawn.choice(["+", "-", "*", "/", "%"])
        by = number(Fraction(drawn.choice([0, 1, 2, 3, 7, 10, -1, -5])))
        made = ("arithmetic", op, column, ("literal", by))
        near = Fraction(drawn.randint(-30, 30))
        if op == "/":
            near /= drawn.choice([1, 2, 4])
        return ("compare", drawn.choice(OPS), made, ("literal", number(near)))

    def constant(self, kind: Kind, name: str) -> Literal:
        """A constant for a column: one of its values, one near it, or one at the end of what types hold."""
        if self.drawn.randrange(25) == 0:
            return Literal("NULL", None)
        near = self.drawn.choice(self.values[name]) if self.values[name] else None
        return {
            "bool": lambda _: self._boolean(),
            "int": self._whole,
            "decimal": lambda near: self._decimal(kind, near),
            "float": lambda near: self._float(kind, near),
            "text": self._text,
            "bytes": lambda near: self._bytes(kind, near),
            "instant": lambda near: self._instant(kind, near),
            "time": self._time,
        }[kind.family](near)

    def _boolean(self) -> Literal:
        value = self.drawn.random() < 0.5
        return Literal("TRUE" if value else "FALSE", value)

    def _whole(self, near: Fraction | None) -> Literal:
        choice = self.drawn.randrange(8)
        value = near if near is not None and choice < 5 else Fraction(self.drawn.choice(LIMITS))
        value += self.drawn.choice([0, 0, 0, 1, -1, Fraction(1, 2), Fraction(-1, 10**12)])
        if choice == 7:
            return self.drawn.choice(
                [Literal("1e3", Fraction(1000)), Literal("-1.5E2", Fraction(-150)), _far(self.drawn)]
            )
        return number(value)

    def _decimal(self, kind: Kind, near: Fraction | None) -> Literal:
        if near is None or self.drawn.randrange(5) == 0:
            return self._whole(near)
        step = Fraction(1, 10**kind.unit)
        return number(near + step * self.drawn.choice([0, 0, 0, 1, -1, Fraction(1, 2), Fraction(1, 10)]))

    def _float(self, kind: Kind, near: Number | None) -> Literal:
        choice = self.drawn.randrange(9)
        if near is None or not math.isfinite(near.float) or choice == 0:
            return self._whole(None)
        if choice < 5:
            return number(near.shortest)
        if choice == 5:
            return number(near.exact)
        if choice == 6:
            text = repr(near.float) if kind.unit == 64 else str(np.float32(near.float))
            return (
                number(near.shortest)
                if kind.unit == 16
                else Literal(f"{text}e0" if "e" not in text else text, near.shortest)
            )
        if choice == 7:
            return number(Fraction(self.drawn.randint(-40, 40)))
        # Half way to the next float.
        beside = _next(near.float, kind.unit)
        if not math.isfinite(beside) or shortest(beside, kind.unit) == near.shortest:
            return number(near.shortest)
        return number((near.exact + Fraction(beside)) / 2)

    def _text(self, near: bytes | None) -> Literal:
        text = near.decode() if near is not None and self.drawn.randrange(3) else self.drawn.choice(TEXTS)
        text = self.drawn.choice([text, text, text[:2], text + "a"])
        return Literal(text_sql(text), text.encode())

    def _bytes(self, kind: Kind, near: bytes | None) -> Literal:
        value = near if near is not None and self.drawn.randrange(4) else kind.draw(self.drawn)
        if self.drawn.randrange(4) == 0 and kind.name != "fixed":
            value = self.drawn.choice([value[:1], value + b"\0", b""])
        return Literal(f"X'{value.hex()}'", value)

    def _day(self) -> Literal:
        day = self.drawn.choice([*DAYS, -1, 0, *range(19_000, 19_021)])
        return Literal(f"DATE '{np.datetime64(day, 'D')}'", day * DAY_NS)

    def _instant(self, kind: Kind, near: int | None) -> Literal:
        choice = self.drawn.randrange(8)
        if near is None or choice == 0:
            return self._day()
        if choice == 1:
            day = near // DAY_NS
            return Literal(text_sql(str(np.datetime64(day, "D"))), day * DAY_NS)
        if choice < 5:
            near += self.drawn.choice([0, 0, kind.unit, -kind.unit, 1, -1, 1000])
        is_text = choice == 5
        zone, offset = "", 0
        if choice >= 6 and kind.type != "date32":
            zone = self.drawn.choice(ZONES)
            offset = {"+02:00": 7200, "-0730": -27000}.get(zone, 0) * 10**9
        text = instant_text(near + offset, self.drawn.choice(["T", " "])) + zone
        return Literal(text_sql(text) if is_text else f"TIMESTAMP '{text}'", near)

    def _time(self, near: int | None) -> Literal:
        value = near if near is not None and self.drawn.randrange(3) else self.drawn.randrange(DAY_NS)
        value = min(max(value + self.drawn.choice([0, 0, 1, -1, 10**9]), 0), DAY_NS - 1)
        text = clock_text(value)
        return Literal(self.drawn.choice([text_sql(text), f"TIME '{text}'"]), value)


def _far(drawn: random.Random) -> Literal:
    sign = drawn.choice([1, -1])
    if drawn.random() < 0.5:
        return Literal(f"{'-' if sign < 0 else ''}1e400", Fraction(sign * 10**400))
    return Literal(f"{'-' if sign < 0 else ''}1e-400", Fraction(sign, 10**400))


def _next(value: float, bits: int) -> float:
    narrow = {16: np.float16, 32: np.float32, 64: np.float64}[bits]
    with np.errstate(all="ignore"):
        return float(np.nextafter(narrow(value), narrow(np.inf)))


def clock_text(nanoseconds: int) -> str:
    """A time of day, with as many digits as it has."""
    seconds, rest = divmod(nanoseconds, 10**9)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{rest:09}".rstrip("0") if rest else "")


def instant_text(nanoseconds: int, between: str) -> str:
    """A timestamp; years beyond four digits have as many as they need."""
    day, clock = divmod(nanoseconds, DAY_NS)
    return f"{np.datetime64(day, 'D')}{between}{clock_text(clock)}"


def sql(expr: tuple[Any, ...]) -> str:
    """A condition as SQL."""
    return _SQL[expr[0]](expr)


def name_sql(name: str) -> str:
    """A column's name, quoted where it needs be."""
    return ".".join(f'"{part}"' if not part.isidentifier() else part for part in name.split("."))


def _operand(expr: tuple[Any, ...]) -> str:
    kind = expr[0]
    if kind == "column":
        return name_sql(expr[1])
    if kind == "literal":
        return str(expr[1].sql)
    if kind == "as float":
        return _operand(expr[1])
    if kind == "arithmetic":
        op = "+" if expr[1] == "days" else expr[1]
        return f"({_operand(expr[2])} {op} {_operand(expr[3])})"
    return f"({sql(expr)})"


def _words(word: str, negated: bool) -> str:
    return f"NOT {word}" if negated else word


_NAMES = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}
_SQL = {
    "compare": lambda e: f"{_operand(e[2])} {e[1]} {_operand(e[3])}",
    "in": lambda e: f"{_operand(e[1])} {_words('IN', e[3])} ({', '.join(item.sql for item in e[2])})",
    "between": lambda e: f"{_operand(e[1])} {_words('BETWEEN', e[4])} {e[2].sql} AND {e[3].sql}",
    "like": lambda e: (
        f"{name_sql(e[1])} {_words('ILIKE' if e[4] else 'LIKE', e[5])} {text_sql(e[2])}"
        + (f" ESCAPE {text_sql(e[3])}" if e[3] else "")
    ),
    "is": lambda e: f"({sql(e[1])}) IS {_words(_NAMES[e[2]], e[3])}",
    "is null": lambda e: f"{_operand(e[1])} IS {_words('NULL', e[2])}",
    "truth": lambda e: name_sql(e[1]),
    "constant": lambda e: {True: "TRUE", False: "FALSE", None: "NULL"}[e[1]],
    "not": lambda e: f"NOT ({sql(e[1])})",
    "and": lambda e: " AND ".join(f"({sql(part)})" for part in e[1]),
    "or": lambda e: " OR ".join(f"({sql(part)})" for part in e[1]),
}
