"""A scan as a lazy frame of polars: what polars wants of it is known when a query is run."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars
import pyarrow
from polars.io.plugins import register_io_source

from lakerace._filter import LEAST_INTEGER, MOST_INTEGER, PLAIN_NAME, UnknownPart, quoted, text

if TYPE_CHECKING:
    from lakerace._scan import Scan


class _Source:
    """Gives the rows of a scan to polars."""

    __slots__ = ("_scan",)

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    def __call__(
        self, with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        where, needed = None, with_columns
        if predicate is not None:
            # Rows are counted before they are filtered.
            where = filter_text(predicate, polars.Schema(self._scan)) if n_rows is None else None
            if with_columns is not None:
                needed = list(dict.fromkeys([*with_columns, *predicate.meta.root_names()]))
        left = n_rows
        narrowed, schema = self._scan._narrowed(needed, where, n_rows), pyarrow.schema(self._scan)
        # Types may be narrower without the files that the filter leaves out.
        types = pyarrow.schema([schema.field(name) for name in narrowed.schema.names])
        for batch in narrowed._batches(types):
            frame = polars.DataFrame(batch)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame if with_columns is None else frame.select(with_columns)
            if left == 0:
                return


def lazy(scan: Scan) -> polars.LazyFrame:
    """A lazy frame that reads a scan when it is collected."""
    schema = polars.Schema(scan)
    return register_io_source(_Source(scan), schema=schema, is_pure=True)


_OPERATORS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_BETWEEN = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


def filter_text(predicate: polars.Expr, schema: Mapping[str, Any]) -> str | None:
    """The part of a polars filter that can be said; `None` for nothing of it."""

    with warnings.catch_warnings():
        # The text form of expressions may change: a shape that is not known is not said.
        warnings.simplefilter("ignore")
        try:
            tree = json.loads(predicate.meta.serialize(format="json"))
        except Exception:
            return None
    known = [part for part in (_part(part, schema) for part in _conjuncts(tree)) if part is not None]
    return " AND ".join(known) or None


def _conjuncts(tree: Any) -> list[Any]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
            return [*_conjuncts(left), *_conjuncts(right)]
        case _:
            return [tree]


def _part(tree: Any, schema: Mapping[str, Any]) -> str | None:
    try:
        return _said(tree, schema)
    except UnknownPart:
        return None


def _said(tree: Any, schema: Mapping[str, Any]) -> str:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "Or" as op, "right": right}}:
            return f"({_said(left, schema)} {op.upper()} {_said(right, schema)})"
        case {"BinaryExpr": {"left": {"Column": str(name)}, "op": op, "right": {"Literal": literal}}}:
            if op not in _OPERATORS:
                raise UnknownPart
            return f"({_column(name)} {_OPERATORS[op]} {_literal(literal, schema[name])})"
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            return f"(NOT {_said(inner, schema)})"
        case {"Function": {"input": [{"Column": str(name)}], "function": {"Boolean": "IsNull"}}}:
            return f"({_column(name)} IS NULL)"
        case {"Function": {"input": [{"Column": str(name)}], "function": {"Boolean": "IsNotNull"}}}:
            return f"({_column(name)} IS NOT NULL)"
        case {
            "Function": {
                "input": [{"Column": str(name)}, {"Literal": low}, {"Literal": high}],
                "function": {"Boolean": {"IsBetween": {"closed": closed}}},
            }
        }:
            above, below = _BETWEEN[closed]
            least, most = (_literal(literal, schema[name]) for literal in (low, high))
            return f"({_column(name)} {above} {least} AND {_column(name)} {below} {most})"
        case {
            "Function": {
                "input": [{"Column": str(name)}, {"Literal": {"Scalar": {"List": list(stream)}}}],
                "function": {"Boolean": {"IsIn": {"nulls_equal": False}}},
            }
        }:
            return f"({_column(name)} IN ({', '.join(_values(stream, schema[name]))}))"
        case {"Column": str(name)} if schema[name] == polars.Boolean:
            return f"({_column(name)} = TRUE)"
        case _:
            raise UnknownPart


def _column(name: str) -> str:
    if not PLAIN_NAME.fullmatch(name):
        raise UnknownPart
    return quoted(name)


def _literal(literal: Any, kind: polars.DataType) -> str:
    """A literal that has the type of the column it is compared with."""
    match literal:
        case {"Scalar": {"String": str(value)}} if kind == polars.String:
            return text(value)
        case {"Scalar": {"Boolean": bool(value)}} if kind == polars.Boolean:
            return str(value).upper()
        case {"Scalar": {"Date": int(days)}} if kind == polars.Date:
            return _moment(polars.Series([days]).cast(polars.Date), "%Y-%m-%d", "DATE '{}'")
        case {"Scalar": {"Datetime": [int(units), str(unit), zone]}} if isinstance(kind, polars.Datetime):
            short = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}.get(unit)
            if short != kind.time_unit or (zone is None) != (kind.time_zone is None):
                raise UnknownPart
            times = polars.Series([units]).cast(polars.Datetime(kind.time_unit))
            return _moment(times, "%Y-%m-%d %H:%M:%S%.9f", "TIMESTAMP '{}'" if zone is None else "TIMESTAMP '{}Z'")
        case {"Scalar": {"Decimal": [int(digits), _, int(scale)]}} if isinstance(kind, polars.Decimal):
            if not 0 <= scale <= (kind.scale or 0):
                raise UnknownPart
            whole = f"{abs(digits):0{scale + 1}}"
            sign = "-" if digits < 0 else ""
            return sign + (f"{whole[:-scale]}.{whole[-scale:]}" if scale else whole)
        case {"Scalar": dict(value)} if kind.is_integer() and list(value) == [str(kind)]:
            number = value[str(kind)]
            if isinstance(number, int) and LEAST_INTEGER <= number <= MOST_INTEGER:
                return str(number)
    raise UnknownPart


def _moment(value: polars.Series, form: str, literal: str) -> str:
    if not 1 <= value.dt.year()[0] <= 9999:
        raise UnknownPart
    return literal.format(value.dt.strftime(form).cast(polars.String)[0])


def _values(stream: list[int], kind: polars.DataType) -> list[str]:
    """The values of a list of literals, which are of the column's type."""
    values = polars.read_ipc_stream(bytes(stream)).to_series()
    if isinstance(values.dtype, polars.List):
        values = values.explode()
    if values.dtype != kind or values.null_count() or values.is_empty():
        raise UnknownPart
    if kind == polars.String:
        return [text(value) for value in values]
    if kind.is_integer() and all(LEAST_INTEGER <= value <= MOST_INTEGER for value in values):
        return [str(value) for value in values]
    raise UnknownPart
