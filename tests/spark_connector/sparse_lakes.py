"""Delta tables in which a file has values of one kind alone, so that one query asks for a value of each kind.

A condition on a kind is null in all files of the others: of `a = 1 OR b = 'x' OR …` each file is left out or kept by its own part.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from lakes import SIGNED
from pushdown import GROUP_ROWS, GROUPS, KINDS, NESTED, Filter

import lakerace as lr

#: Kinds whose bounds delta-spark does not look at. One of them in a query has it read all files.
WITHOUT_BOUNDS = ("flag", "bytes")
#: The kinds of columns and of fields of the struct `s`.
LEAVES = (*((kind, False) for kind in SIGNED), *((kind, True) for kind in NESTED))
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
#: Kinds that columns had before they were widened, of those that delta-spark lets be widened.
NARROW = {"i16": "i8", "i32": "i16"}


@dataclass(frozen=True)
class Row:
    """A row: the one leaf that has a value, unless it is null there."""

    kind: str
    nested: bool
    value: Any


@dataclass(frozen=True)
class Query:
    """Conditions of one operator, each on a leaf of its own."""

    conditions: tuple[Filter, ...]

    def sql(self) -> list[str]:
        """The conditions in Spark's SQL."""
        # All other leaves of a row are null as well.
        return [
            f"({one.sql('spark')} AND tag = '{tag(one)}')" if is_null(one) else one.sql("spark")
            for one in self.conditions
        ]


def is_null(one: Filter) -> bool:
    """Whether the condition holds where there is no value."""
    return one.operator == "IS NULL"


def tag(leaf: Row | Filter) -> str:
    """The name of a leaf."""
    return f"s.{leaf.kind}" if leaf.nested else leaf.kind


def rows() -> list[Row]:
    """All rows, by their ids."""
    groups = ((kind, nested, group) for kind, nested in LEAVES for group in KINDS[kind].groups)
    return [Row(kind, nested, value) for kind, nested, group in groups for value in group]


def narrow_rows() -> list[Row]:
    """Rows of columns that are widened later, with values that the narrow types have, by their ids from [`NARROW_ID`]."""
    return [
        Row(kind, False, value) for kind, narrow in NARROW.items() for group in KINDS[narrow].groups for value in group
    ]


NARROW_ID = len(rows())


def as_table(wanted: list[Row], first_id: int, types: dict[str, pa.DataType]) -> pa.Table:
    """Rows as a table whose files are parted by `place`."""
    columns: dict[str, Any] = {
        "id": pa.array(range(first_id, first_id + len(wanted)), pa.int64()),
        "tag": pa.array([tag(row) for row in wanted], pa.string()),
        "place": pa.array([f"{tag(row)}-{at // GROUP_ROWS % GROUPS}" for at, row in enumerate(wanted)], pa.string()),
    }
    for kind, data_type in types.items():
        values = [row.value if row.kind == kind and not row.nested else None for row in wanted]
        columns[kind] = pa.array(values, data_type)
    fields = [[row.value if row.kind == kind and row.nested else None for row in wanted] for kind in NESTED]
    arrays = [pa.array(values, KINDS[kind].data_type) for kind, values in zip(NESTED, fields, strict=True)]
    columns["s"] = pa.StructArray.from_arrays(
        arrays, names=list(NESTED), mask=pa.array([not row.nested for row in wanted])
    )
    return pa.table(columns)


TYPES = {kind: KINDS[kind].data_type for kind in SIGNED}


def made(folder: Path, **properties: str) -> lr.Table:
    """All rows, each group in a file of its own."""
    properties = {"delta.dataSkippingNumIndexedCols": "40", **properties}
    lr.copy(as_table(rows(), 0, TYPES), f"delta:{folder}", partition_by=["place"], table_properties=properties)
    return lr.Table(folder, key="id")


def deleted(folder: Path) -> None:
    """The last row of each group is hidden."""
    made(folder).delete(f"id % {GROUP_ROWS} = {GROUP_ROWS - 1}")


def rewritten(folder: Path) -> None:
    """Files are written again without their last rows."""
    made(folder, **{"delta.enableDeletionVectors": "false"}).delete(f"id % {GROUP_ROWS} = {GROUP_ROWS - 1}")


def upserted(folder: Path) -> None:
    """Each second row is replaced by itself."""
    table = as_table(rows(), 0, TYPES)
    made(folder).upsert(table.filter(pc.equal(pc.bit_wise_and(table["id"], 1), 1)))


def compacted(folder: Path) -> None:
    """Files with hidden rows and those with the rows in their place become one again."""
    upserted(folder)
    lr.Table(folder).compact()


def restored(folder: Path) -> None:
    """A table with replaced rows goes back to one with hidden rows."""
    deleted(folder)
    table = as_table(rows(), 0, TYPES)
    lr.Table(folder, key="id").upsert(table.filter(pc.less(table["id"], 99)))
    lr.Table(folder).restore(1)


def widened(folder: Path) -> None:
    """Files have narrower types than their columns."""
    types = TYPES | {kind: KINDS[narrow].data_type for kind, narrow in NARROW.items()}
    properties = {"delta.enableTypeWidening": "true", "delta.dataSkippingNumIndexedCols": "40"}
    narrow = as_table(narrow_rows(), NARROW_ID, types)
    lr.copy(narrow, f"delta:{folder}", partition_by=["place"], table_properties=properties)
    lr.copy(as_table(rows(), 0, TYPES), folder, mode="append", evolve="widen")


STATES: dict[str, Callable[[Path], Any]] = {
    "written": made,
    "deleted": deleted,
    "rewritten": rewritten,
    "upserted": upserted,
    "compacted": compacted,
    "restored": restored,
    "widened": widened,
}
WITH_DELETED_ROWS = ("deleted", "rewritten", "restored")


def visible(state: str) -> dict[int, Row]:
    """The rows that a table in this state has."""
    if state in WITH_DELETED_ROWS:
        return {at: row for at, row in enumerate(rows()) if at % GROUP_ROWS != GROUP_ROWS - 1}
    return dict(enumerate([*rows(), *narrow_rows()] if state == "widened" else rows()))


def queries() -> list[Query]:
    """Each operator with each of the values that are easy to get wrong, for all leaves at once."""
    kept = [leaf for leaf in LEAVES if leaf[0] not in WITHOUT_BOUNDS]
    return [*queries_of(kept), *queries_of([(kind, False) for kind in WITHOUT_BOUNDS])]


def queries_of(leaves: list[tuple[str, bool]]) -> list[Query]:
    """Queries over these leaves."""
    most = max(len(KINDS[kind].points) for kind, _ in leaves)

    def of_all(operator: str, *places: int) -> Query:
        """The operator with values that each kind has at these places."""
        points = [(kind, nested, KINDS[kind].points) for kind, nested in leaves]
        return Query(
            tuple(
                Filter(kind, nested, operator, tuple(some[at % len(some)] for at in places))
                for kind, nested, some in points
            )
        )

    found = [of_all(operator, at) for at in range(most) for operator in OPERATORS]
    found += [of_all("BETWEEN", *pair) for pair in itertools.pairwise(range(most))]
    found += [of_all("IN", first, first + 3) for first in range(most - 3)]
    return [*found, of_all("IS NULL"), of_all("IS NOT NULL")]


def order(kind: str, value: Any) -> Any:
    """What values compare by in Spark: NaN is equal to itself and above all numbers, and the zeros are equal."""
    if isinstance(value, float):
        [rounded] = struct.unpack("f", struct.pack("f", value)) if kind == "f32" else [value]
        return (1, 0.0) if math.isnan(value) else (0, rounded)
    return value.encode() if isinstance(value, str) else value


def holds(one: Filter, row: Row) -> bool:
    """The model: whether a condition is true of a row."""
    if (one.kind, one.nested) != (row.kind, row.nested):
        return False
    if row.value is None or one.operator.startswith("IS"):
        return is_null(one) == (row.value is None) and one.operator.startswith("IS")
    value, values = order(row.kind, row.value), [order(one.kind, value) for value in one.values]
    match one.operator:
        case "IN":
            return value in values
        case "BETWEEN":
            return values[0] <= value <= values[1]
        case "=":
            return bool(value == values[0])
        case "<>":
            return bool(value != values[0])
        case "<":
            return bool(value < values[0])
        case "<=":
            return bool(value <= values[0])
        case ">":
            return bool(value > values[0])
    return bool(value >= values[0])
