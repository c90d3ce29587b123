"""What the translations of other engines' filters have in common.

None of them loses a row that the other engine keeps: what they can't say exactly they leave out, and who calls applies the whole filter to the
rows that come.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from uuid import UUID

from lakerace import _lakerace
from lakerace._errors import UsageError

#: Names that a filter names without doubt: of others a dot may be a struct's field.
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The integers that filters have.
LEAST_INTEGER, MOST_INTEGER = -(2**63), 2**63 - 1


class UnknownPart(Exception):
    """A part of a filter that can't be said."""


def quoted(name: str) -> str:
    """A column's name in a filter."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in a filter."""
    return "'" + value.replace("'", "''") + "'"


#: What takes the expressions of other packages.
_EXPRESSION_CALLS = {"polars": "scan.lazy().filter(…)", "pyarrow": "scan.to_dataset().to_table(filter=…)"}


def _check_condition(where: object) -> None:
    """Raises an error where a condition is no text, such as an expression of another package."""
    if where is None or isinstance(where, str):
        return
    package = type(where).__module__.partition(".")[0]
    call = _EXPRESSION_CALLS.get(package)
    advice = "" if call is None else f"; {call} takes expressions of {package}"
    raise TypeError(f'where: a text is expected, such as "price > 1", not {type(where).__name__}{advice}')


def with_parameters(where: str | None, params: Sequence[object] | None) -> str | None:
    """A filter with its parameters in the places of `?`, as constants."""
    _check_condition(where)
    if params is None:
        return where
    if where is None:
        raise UsageError("params: there is no filter to use them", advice="give where, too")
    return _lakerace.with_parameters(where, _parameters(params))


def with_parameters_in(texts: Sequence[str], params: Sequence[object] | None) -> list[str]:
    """The texts of a statement with its parameters in the places of `?`, in the order of the texts."""
    return list(texts) if params is None else _lakerace.with_parameters_in(list(texts), _parameters(params))


def _parameters(params: Sequence[object]) -> list[tuple[str, str]]:
    if isinstance(params, (str, bytes)):
        raise UsageError("params is a list of values, not one text", advice=f"write [{params!r}]")
    return [_parameter(value) for value in params]


def _parameter(value: object) -> tuple[str, str]:
    """A parameter's type and its text."""
    if value is None:
        return "null", ""
    if isinstance(value, bool):
        return "boolean", "true" if value else "false"
    if isinstance(value, Integral):
        return "number", str(int(value))
    if isinstance(value, Decimal):
        return "number", str(value)
    if isinstance(value, Real):
        return "number", repr(float(value))
    if isinstance(value, str):
        return "text", value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "binary", bytes(value).decode("latin-1")
    if isinstance(value, datetime):
        return "timestamp", value.isoformat(sep=" ")
    if isinstance(value, date):
        return "date", value.isoformat()
    if isinstance(value, time):
        return "text", value.isoformat()
    if isinstance(value, UUID):
        return "text", str(value)
    raise UsageError(f"params: a value of type {type(value).__name__} can't be a parameter")
