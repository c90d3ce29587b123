"""The first rows of an order in a query: a scan leaves out the others, which duckdb would sort with all their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.types

from lakerace._filter import PLAIN_NAME, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow

#: The most rows of a limit that a scan is asked for.
_MOST_ROWS = 10_000
#: Types that duckdb sorts in the same way as lakerace.
_SORTED_TYPES = (
    pyarrow.types.is_boolean,
    pyarrow.types.is_integer,
    pyarrow.types.is_floating,
    pyarrow.types.is_decimal,
    pyarrow.types.is_string,
    pyarrow.types.is_large_string,
    pyarrow.types.is_date,
    pyarrow.types.is_timestamp,
)


class OrderTerm(NamedTuple):
    """A column that rows are sorted by."""

    #: Its name, in any case.
    column: str
    is_descending: bool
    has_nulls_first: bool


class FirstRows(NamedTuple):
    """The only rows that a query uses of a table."""

    order: tuple[OrderTerm, ...]
    rows: int

    def options(self, schema: pyarrow.Schema) -> dict[str, Any] | None:
        """The options of a scan that has these rows; `None` where its columns of this schema do not sort as in duckdb."""
        texts = []
        for term in self.order:
            names = [name for name in schema.names if name.lower() == term.column.lower()]
            if len(names) != 1 or not PLAIN_NAME.fullmatch(names[0]) or not _is_sorted(schema.field(names[0]).type):
                return None
            direction = "desc" if term.is_descending else "asc"
            nulls = "first" if term.has_nulls_first else "last"
            texts.append(f"{quoted(names[0])} {direction} nulls {nulls}")
        return {"order_by": ", ".join(texts), "limit": self.rows}


def table_first_rows(nodes: Iterable[dict[str, Any]]) -> dict[int, FirstRows]:
    """The first rows of tables that a query uses alone, by the `id` of the tables' parts of a syntax tree. `nodes` are all parts
    of the tree."""
    found: dict[int, FirstRows] = {}
    for node in nodes:
        if node.get("type") == "SELECT_NODE" and _selects_all_rows(node):
            first = _first_rows(node)
            if first is not None:
                found[id(node["from_table"])] = first
    return found


def _is_sorted(kind: pyarrow.DataType) -> bool:
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return any(is_of(kind) for is_of in _SORTED_TYPES)


def _selects_all_rows(node: dict[str, Any]) -> bool:
    """Returns true if a SELECT has columns of one table, and each row of it once."""
    table = node["from_table"]
    parts = ("where_clause", "group_expressions", "group_sets", "having", "sample", "qualify")
    if any(node.get(part) for part in parts) or node.get("aggregate_handling") != "STANDARD_HANDLING":
        return False
    if table["type"] != "BASE_TABLE" or table["sample"] or table["column_name_alias"]:
        return False
    return all(map(_is_column, node["select_list"]))


def _is_column(item: dict[str, Any]) -> bool:
    """Returns true for a column by its own name, and for all columns."""
    if item["class"] == "STAR":
        return not any(item[part] for part in ("replace_list", "rename_list", "columns", "expr"))
    return item["class"] == "COLUMN_REF" and not item["alias"]


def _first_rows(node: dict[str, Any]) -> FirstRows | None:
    modifiers = node["modifiers"]
    if [modifier["type"] for modifier in modifiers] != ["ORDER_MODIFIER", "LIMIT_MODIFIER"]:
        return None
    orders, limit = modifiers[0]["orders"], modifiers[1]
    if limit["limit_type"] != "ROW_COUNT" or not limit["limit"]:
        return None
    rows, skipped = _count(limit["limit"]), _count(limit["offset"]) if limit["offset"] else 0
    terms = [_term(order, node["from_table"]) for order in orders]
    known = [term for term in terms if term is not None]
    if rows is None or skipped is None or rows + skipped > _MOST_ROWS or len(known) < len(terms):
        return None
    return FirstRows(tuple(known), rows + skipped)


def _term(order: dict[str, Any], table: dict[str, Any]) -> OrderTerm | None:
    """A term that is a column of a table."""
    value = order["expression"]
    if value["class"] != "COLUMN_REF":
        return None
    *table_name, column = value["column_names"]
    own_name = table["alias"] or table["table_name"]
    if [name.lower() for name in table_name] not in ([], [own_name.lower()]):
        return None
    # Without a word, nulls come last in either direction.
    return OrderTerm(column, order["type"] == "DESCENDING", order["null_order"] == "NULLS FIRST")


def _count(value: dict[str, Any]) -> int | None:
    """The number of a constant."""
    literal = value.get("literal") or {}
    text = literal.get("text") if literal.get("kind") == "INTEGER" else None
    return int(text) if isinstance(text, str) and text.isdecimal() else None
