"""Patterns that texts match in a query: duckdb does not ask a location for them, so they are found in the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lakerace._filter import PLAIN_NAME, quoted, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow

#: Functions of a text and a constant that are true of texts with a pattern, and what stands around the constant in it.
_FUNCTIONS = {
    "~~": ("", ""),
    "contains": ("%", "%"),
    "starts_with": ("", "%"),
    "prefix": ("", "%"),
    "^@": ("", "%"),
    "ends_with": ("%", ""),
    "suffix": ("%", ""),
}
#: Joins whose rows come of the rows of both sides for which the condition of the query is true.
_JOINS = {"REGULAR", "CROSS", "NATURAL"}


class TextPattern(NamedTuple):
    """A pattern of LIKE, without an escape character, that a column matches in all rows that a query uses of a table."""

    #: The name of the column, in any case.
    column: str
    #: The pattern.
    pattern: str


def table_patterns(nodes: Iterable[dict[str, Any]]) -> dict[int, frozenset[TextPattern]]:
    """The patterns of tables, by the `id` of their parts of a syntax tree. `nodes` are all parts of the tree."""
    found: dict[int, frozenset[TextPattern]] = {}
    for node in nodes:
        if node.get("type") != "SELECT_NODE" or node.get("sample") or not node.get("where_clause"):
            continue
        patterns = list(_conjunct_patterns(node["where_clause"]))
        for table in _joined_tables(node["from_table"]):
            name = (table["alias"] or table["table_name"]).lower()
            # A name without a table is that of one table's column, or of equal ones.
            matched = [(path[-1], pattern) for path, pattern in patterns if len(path) == 1 or path[0].lower() == name]
            found[id(table)] = frozenset(TextPattern(*pattern) for pattern in matched)
    return found


def patterns_filter(patterns: Iterable[TextPattern], schema: pyarrow.Schema, kind: pyarrow.DataType) -> str | None:
    """The filter of lakerace for the patterns of columns that the schema has, of this type; `None` where there are none."""
    parts = []
    for column, pattern in sorted(patterns):
        names = [name for name in schema.names if name.lower() == column.lower()]
        if len(names) == 1 and PLAIN_NAME.fullmatch(names[0]) and schema.field(names[0]).type == kind:
            parts.append(f"{quoted(names[0])} LIKE {text(pattern)}")
    return " AND ".join(parts) or None


def _joined_tables(source: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables of a FROM clause whose rows the condition is asked of before anything else is done with them."""
    if source["sample"]:
        return
    if source["type"] == "BASE_TABLE" and not source["column_name_alias"]:
        yield source
    elif source["type"] == "JOIN" and source["join_type"] == "INNER" and source["ref_type"] in _JOINS:
        yield from _joined_tables(source["left"])
        yield from _joined_tables(source["right"])


def _conjunct_patterns(condition: dict[str, Any]) -> Iterator[tuple[list[str], str]]:
    """The names of the columns and the patterns, of which all are matched where a condition is true."""
    if condition["type"] == "CONJUNCTION_AND":
        for part in condition["children"]:
            yield from _conjunct_patterns(part)
        return
    around = _FUNCTIONS.get(condition.get("function_name", "")) if condition.get("class") == "FUNCTION" else None
    arguments = [argument["expression"] for argument in condition.get("arguments", ())]
    if around is None or condition["schema"] or [part["class"] for part in arguments] != ["COLUMN_REF", "CONSTANT"]:
        return
    names, literal = arguments[0]["column_names"], arguments[1].get("literal") or {}
    constant = literal.get("text")
    # The characters of patterns have their meaning in a pattern alone.
    is_plain = around == ("", "") or not set("%_") & set(constant or "")
    if (
        len(names) <= 2
        and literal.get("kind") == "STRING"
        and constant is not None
        and is_plain
        and "\0" not in constant
    ):
        yield names, around[0] + constant + around[1]
