"""A plain evaluator of filters: three-valued logic over Python values, a row at a time.

Expressions are tuples whose first item names what they are; :mod:`expressions` draws them and prints them as SQL.
Nothing here is shared with the engine, and nothing here is quick.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from columns import DAY_NS, Number

if TYPE_CHECKING:
    from collections.abc import Mapping

OPS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Literal:
    """A constant: as SQL writes it and as it is compared; a value of None is NULL."""

    sql: str
    value: Any


Row = "Mapping[str, Any]"


def truth(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool | None:
    """True, false or unknown."""
    return _CONDITIONS[expr[0]](expr, row)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _or(values: list[bool | None]) -> bool | None:
    return _not(_and([_not(value) for value in values]))


def compared(op: str, left: Any, right: Any) -> bool | None:
    """`left op right` of two values that can be compared."""
    if left is None or right is None:
        return None
    if isinstance(left, Number) and isinstance(right, Number):
        return bool(OPS[op](left.float, right.float))
    if isinstance(left, Number):
        return _float_beside(op, left, right)
    if isinstance(right, Number):
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
        return _float_beside(turned, right, left)
    return bool(OPS[op](left, right))


def _float_beside(op: str, number: Number, constant: Fraction) -> bool:
    """A float beside a constant: equal to it as its shortest text or its exact value, else where its text lies."""
    if math.isnan(number.float):
        return op == "<>"
    if math.isinf(number.float):
        return bool(OPS[op](number.float, 0.0))
    if constant == number.exact:
        return op in ("=", "<=", ">=")
    return bool(OPS[op](number.shortest, constant))


def _value(expr: tuple[Any, ...], row: Mapping[str, Any]) -> Any:
    kind = expr[0]
    if kind == "column":
        return row[expr[1]]
    if kind == "literal":
        return expr[1].value
    if kind == "arithmetic":
        return _arithmetic(expr[1], _value(expr[2], row), _value(expr[3], row))
    if kind == "as float":
        value = _value(expr[1], row)
        return None if value is None else value if isinstance(value, Number) else _float(float(value))
    return truth(expr, row)


def _float(value: float) -> Number:
    exact = Fraction(value) if math.isfinite(value) else Fraction(0)
    return Number(exact, Fraction(repr(value)) if math.isfinite(value) else exact, value)


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if op == "days":
        return left + int(right) * DAY_NS
    if op == "/":
        return None if right == 0 else _float(float(left) / float(right))
    if op == "%":
        if right == 0:
            return None
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return {"+": operator.add, "-": operator.sub, "*": operator.mul}[op](left, right)


def _compare(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool | None:
    left, right = _value(expr[2], row), _value(expr[3], row)
    # A computed float and a constant are both 64-bit floats.
    if expr[2][0] in ("arithmetic", "as float") and isinstance(left, Number) and isinstance(right, Fraction):
        right = _float(float(right))
    return compared(expr[1], left, right)


def _in(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool | None:
    _, value, items, negated = expr
    found = _or([compared("=", _value(value, row), item.value) for item in items])
    return _not(found) if negated else found


def _between(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool | None:
    _, value, low, high, negated = expr
    given = _value(value, row)
    within = _and([compared(">=", given, low.value), compared("<=", given, high.value)])
    return _not(within) if negated else within


def _like(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool | None:
    _, name, pattern, escape, any_case, negated = expr
    text = row[name]
    if text is None:
        return None
    found = matches(text.decode(), pattern, escape, any_case)
    return not found if negated else found


def matches(text: str, pattern: str, escape: str | None, any_case: bool = False) -> bool:
    """LIKE: `%` any run, `_` any one character, the one behind `escape` itself."""
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if escape and char == escape:
            at += 1
            parts.append(("char", pattern[at]))
        else:
            parts.append((char, "") if char in "%_" else ("char", char))
        at += 1
    #: Whether what was read of the pattern matches each start of the text.
    starts = [True] + [False] * len(text)
    for kind, char in parts:
        if kind == "%":
            seen = False
            starts = [seen := seen or start for start in starts]
            continue
        fits = [kind == "_" or c == char or (any_case and c.lower() == char.lower()) for c in text]
        starts = [False] + [start and fit for start, fit in zip(starts, fits, strict=False)]
    return starts[-1]


def _is(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool:
    _, condition, wanted, negated = expr
    return (truth(condition, row) is wanted) != negated


def _is_null(expr: tuple[Any, ...], row: Mapping[str, Any]) -> bool:
    return (_value(expr[1], row) is None) != expr[2]


_CONDITIONS = {
    "compare": _compare,
    "in": _in,
    "between": _between,
    "like": _like,
    "is": _is,
    "is null": _is_null,
    "truth": lambda expr, row: row[expr[1]],
    "constant": lambda expr, _: expr[1],
    "not": lambda expr, row: _not(truth(expr[1], row)),
    "and": lambda expr, row: _and([truth(part, row) for part in expr[1]]),
    "or": lambda expr, row: _or([truth(part, row) for part in expr[1]]),
}
