"""Conditions on texts in a query: duckdb does not ask a location for them, so they are found in the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lakerace._filter import PLAIN_NAME, quoted, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow

#: Functions of a text and a constant that are true of texts with a pattern, and what stands around the constant in it.
_PATTERNS = {
    "~~": ("", ""),
    "contains": ("%", "%"),
    "starts_with": ("", "%"),
    "prefix": ("", "%"),
    "^@": ("", "%"),
    "ends_with": ("%", ""),
    "suffix": ("%", ""),
}
#: Functions that change the case of a text, as filters call them.
_CASES = {"upper": "upper", "ucase": "upper", "lower": "lower", "lcase": "lower"}
#: Joins whose rows come of the rows of both sides for which the condition of the query is true.
_JOINS = {"REGULAR", "CROSS", "NATURAL"}


class TextCondition(NamedTuple):
    """A condition that is true of a column in all rows that a query uses of a table."""

    #: The name of the column, in any case.
    column: str
    #: `LIKE` without an escape character, `ILIKE`, or the function `upper` or `lower`.
    test: str
    #: The pattern, or the values that the function may have.
    values: tuple[str, ...]

    def filter_of(self, name: str) -> str:
        """The filter of lakerace for a column of this name. It keeps all rows for which the condition is true."""
        name = quoted(name)
        if self.test == "LIKE":
            return f"{name} LIKE {text(*self.values)}"
        if self.test == "ILIKE":
            condition = f"{name} ILIKE {text(*self.values)}"
        else:
            condition = f"{self.test}({name}) IN ({', '.join(map(text, self.values))})"
        # duckdb has other rules for the case of letters beyond ASCII.
        return rf"({condition} OR regexp_like({name}, '[^\x00-\x7F]'))"


def table_conditions(nodes: Iterable[dict[str, Any]]) -> dict[int, frozenset[TextCondition]]:
    """The conditions on tables, by the `id` of their parts of a syntax tree. `nodes` are all parts of the tree."""
    found: dict[int, frozenset[TextCondition]] = {}
    for node in nodes:
        if node.get("type") != "SELECT_NODE" or node.get("sample") or not node.get("where_clause"):
            continue
        conditions = list(_conjuncts(node["where_clause"]))
        for table in _joined_tables(node["from_table"]):
            name = (table["alias"] or table["table_name"]).lower()
            # A name without a table is that of one table's column, or of equal ones.
            own = [condition for path, condition in conditions if len(path) == 1 or path[0].lower() == name]
            found[id(table)] = frozenset(own)
    return found


def conditions_filter(
    conditions: Iterable[TextCondition], schema: pyarrow.Schema, kind: pyarrow.DataType
) -> str | None:
    """The filter of lakerace for the conditions on columns that the schema has, of this type; `None` where there are none."""
    parts = []
    for condition in sorted(conditions):
        names = [name for name in schema.names if name.lower() == condition.column.lower()]
        if len(names) == 1 and PLAIN_NAME.fullmatch(names[0]) and schema.field(names[0]).type == kind:
            parts.append(condition.filter_of(names[0]))
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


def _conjuncts(condition: dict[str, Any]) -> Iterator[tuple[list[str], TextCondition]]:
    """The names of columns, and conditions on them, all of which are true where a condition is true."""
    if condition["type"] == "CONJUNCTION_AND":
        for part in condition["children"]:
            yield from _conjuncts(part)
        return
    found = None
    if condition["class"] == "FUNCTION":
        found = _pattern(condition)
    elif condition["type"] == "COMPARE_EQUAL":
        sides = [condition["left"], condition["right"]]
        found = _case(sides[0], sides[1:]) or _case(sides[1], sides[:1])
    elif condition["type"] == "COMPARE_IN":
        found = _case(condition["children"][0], condition["children"][1:])
    if found is not None and len(found[0]) <= 2:
        yield found


def _pattern(call: dict[str, Any]) -> tuple[list[str], TextCondition] | None:
    """The pattern that a function asks of a column."""
    arguments = _arguments(call)
    around = _PATTERNS.get(call["function_name"])
    is_any_case = call["function_name"] == "~~*"
    if (around is None and not is_any_case) or [part["class"] for part in arguments] != ["COLUMN_REF", "CONSTANT"]:
        return None
    constant, names = _text_of(arguments[1]), arguments[0]["column_names"]
    if constant is None or (is_any_case and not constant.isascii()):
        return None
    if around is None:
        return names, TextCondition(names[-1], "ILIKE", (constant,))
    if around != ("", "") and set("%_") & set(constant):
        # These have another meaning in a pattern.
        return None
    return names, TextCondition(names[-1], "LIKE", (around[0] + constant + around[1],))


def _case(call: dict[str, Any], values: list[dict[str, Any]]) -> tuple[list[str], TextCondition] | None:
    """The values of which a column in another case has one."""
    function = _CASES.get(call.get("function_name", ""))
    arguments = _arguments(call)
    if function is None or [part["class"] for part in arguments] != ["COLUMN_REF"]:
        return None
    constants = [_text_of(value) for value in values]
    known = [constant for constant in constants if constant is not None and constant.isascii()]
    names = arguments[0]["column_names"]
    return (names, TextCondition(names[-1], function, tuple(known))) if known and len(known) == len(values) else None


def _arguments(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of a function of duckdb itself."""
    if call.get("class") != "FUNCTION" or call["schema"] or call["catalog"]:
        return []
    return [argument["expression"] for argument in call["arguments"]]


def _text_of(constant: dict[str, Any]) -> str | None:
    """The text of a constant, if filters have it."""
    literal = constant.get("literal") or {}
    value = literal.get("text") if literal.get("kind") == "STRING" else None
    return value if isinstance(value, str) and "\0" not in value else None
