"""The text of a query: duckdb parses it, and its tables that are no relations are locations."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from lakerace._errors import UnsupportedError, UsageError, told
from lakerace._sql_conditions import TextCondition, table_conditions
from lakerace._sql_first_rows import FirstRows, table_first_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

#: What a query may be.
_QUERIES = "SELECT, FROM, WITH, VALUES, TABLE, SHOW, DESCRIBE or SUMMARIZE"

_WRITE = "`lakerace copy` or lakerace.copy writes rows: those of a location, or of lakerace.sql"
_UPDATE = "`lakerace update` or Table.update changes rows by a condition, and `lakerace upsert` or Table.upsert by key"
_MERGE = "Table.merge, `lakerace upsert` or Table.upsert inserts and changes rows by key"
_DELETE = "`lakerace delete` or Table.delete removes rows"
_MAINTAIN = "`lakerace compact` and `lakerace vacuum`, or Table.compact and Table.vacuum, maintain a table"
_SETTING = "threads, memory and the options of stores are set by the options of the call"
_PLACE = "name the location itself: FROM 'lake/orders', FROM 's3://bucket/x.parquet', FROM 'sqlite:app.db#orders'"

#: What does the work of a statement that is no query, by its first words.
_REPLACEMENTS = {
    "insert": _WRITE,
    "create": _WRITE,
    "copy": _WRITE,
    "export": _WRITE,
    "update": _UPDATE,
    "merge": _MERGE,
    "delete": _DELETE,
    "truncate": _DELETE,
    "drop": "remove the folder or the file of the table",
    "alter": "`lakerace alter` or Table.alter changes columns and properties",
    "comment": "`lakerace alter` or Table.alter sets comments",
    "vacuum": _MAINTAIN,
    "optimize": _MAINTAIN,
    "checkpoint": _MAINTAIN,
    "restore": "`lakerace restore` or Table.restore makes a version with the rows of an earlier one",
    "describe history": "`lakerace history` or Table.history lists the versions",
    "explain": "`lakerace sql` explains a query by its option --explain, and lakerace.sql by the method explain",
    "set": _SETTING,
    "reset": _SETTING,
    "pragma": _SETTING,
    "attach": _PLACE,
    "detach": _PLACE,
    "use": _PLACE,
    "install": _PLACE,
    "load": _PLACE,
    "import": _PLACE,
}


class TablePlace(NamedTuple):
    """A location in a query, and the version of the Delta table that is read there."""

    location: str
    at: int | str | None


class UsedRows(NamedTuple):
    """The rows that a query uses of a table."""

    #: Conditions on texts that are true in all of them.
    conditions: frozenset[TextCondition] = frozenset()
    #: They are the first ones of an order.
    first: FirstRows | None = None


class ParsedQuery(NamedTuple):
    """A query whose locations have plain names."""

    #: The query with these names.
    text: str
    #: The locations by these names.
    places: dict[str, TablePlace]
    #: The rows that the query uses of a location or a relation, by its name.
    used: dict[str, UsedRows]
    #: The words of a query that uses columns in its condition alone, in lower case; `None` for another query.
    words: frozenset[str] | None


def parse_query(
    connection: duckdb.DuckDBPyConnection, query: str, relations: Collection[str], relation_form: str = ""
) -> ParsedQuery:
    """Finds the locations in a query: the tables that are neither relations nor common table expressions.

    Raises:
        UsageError: The text is no single query, a version is no number and no time, or the query does not use a relation.
        UnsupportedError: duckdb has no syntax tree for this kind of query.
    """
    tree = _tree(connection, query)
    _check_shows(tree, relations)
    _check_used(tree, relations, relation_form)
    common = {name.lower() for name in _common_tables(tree)}
    known = common.union(map(str.lower, relations))
    names: dict[tuple[TablePlace, UsedRows], str] = {}
    nodes = list(_nodes(tree))
    tables = [node for node in nodes if node.get("type") == "BASE_TABLE"]
    for table in tables:
        if table["catalog_name"] or table["schema_name"]:
            _check_schema(query, table)
        elif table["table_name"].lower() not in known:
            table["alias"] = table["alias"] or _alias(table["table_name"])
    rows = _used_rows(nodes)
    used = _used_of_relations(nodes, {name for name in relations if name.lower() not in common}, rows)
    for table in tables:
        name = table["table_name"]
        if table["catalog_name"] or table["schema_name"] or name.lower() in known:
            continue
        place = TablePlace(name, _version(connection, table["at_clause"], name))
        own = rows.get(id(table), UsedRows())
        plain = names.setdefault((place, own), f"lakerace_location_{len(names) + 1}")
        table["table_name"], table["at_clause"] = plain, None
        table["qualified_name"] = {"path": [plain]}
        used[plain] = own
    words = frozenset(re.findall(r"\w+", query.lower())) if _counts_rows(tree) else None
    if not names:
        return ParsedQuery(query, {}, used, words)
    places = {plain: place for (place, _), plain in names.items()}
    return ParsedQuery(_text(connection, tree), places, used, words)


def _used_rows(nodes: list[dict[str, Any]]) -> dict[int, UsedRows]:
    """The rows that a query uses of tables, by the `id` of their parts of its syntax tree."""
    conditions, first = table_conditions(nodes), table_first_rows(nodes)
    return {table: UsedRows(conditions.get(table, frozenset()), first.get(table)) for table in {**conditions, **first}}


def _used_of_relations(
    nodes: list[dict[str, Any]], relations: Collection[str], rows: Mapping[int, UsedRows]
) -> dict[str, UsedRows]:
    """The rows that a query uses of relations, by their names: of those that it names once."""
    # A function may read a relation, too.
    if any(node.get("type") in ("TABLE_FUNCTION", "SHOW_REF") for node in nodes):
        return {}
    named = {name: [node for node in nodes if _is_table(node, name)] for name in relations}
    return {name: rows.get(id(tables[0]), UsedRows()) for name, tables in named.items() if len(tables) == 1}


def _is_table(node: dict[str, Any], name: str) -> bool:
    """Whether a part of a syntax tree is a table of this name."""
    return node.get("type") == "BASE_TABLE" and node["table_name"].lower() == name.lower()


def _tree(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    """The syntax tree of the one statement."""
    tree: dict[str, Any] = json.loads(_value(connection, "SELECT json_serialize_sql(?::VARCHAR)", query))
    if tree["error"]:
        message, kind = tree["error_message"], tree["error_type"]
        if kind == "parser":
            position = tree.get("position")
            advice = _replacement(query) or _quotes_advice(query, position)
            raise told(UsageError, message, query_place(query, position), advice)
        if "Only SELECT" in message:
            advice = _pivot_advice(query) or _replacement(query)
            raise told(UsageError, f"only a query is supported: {_QUERIES}", "the query", advice)
        raise told(UnsupportedError, message, "the query")
    if len(tree["statements"]) != 1:
        raise told(UsageError, f"a single query is supported, but the text has {len(tree['statements'])}", "the query")
    return tree


def query_place(query: str, position: int | str | None) -> str:
    """A position in a query, in characters from 0, as errors show it: line and column from 1."""
    if position is None:
        return "the query"
    before = query[: int(position)]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return f"the query, line {line} column {column}"


#: The schemas and catalogs of duckdb itself.
_OWN_SCHEMAS = {"information_schema", "main", "memory", "pg_catalog", "system", "temp"}
#: What stands for a table in a query without quotes.
_UNQUOTED = re.compile(r"""\b(?:from|join)\s+([^\s'"(),;]+)""", re.IGNORECASE)
#: A name that SQL needs no quotes for.
_PLAIN_NAME = re.compile(r"[\w$.]+")


def _check_schema(query: str, table: Mapping[str, Any]) -> None:
    """Raises an error where a table is that of a schema which there is not: a name such as `orders.parquet` is read as one."""
    parts = [table[name] for name in ("catalog_name", "schema_name", "table_name") if table[name]]
    if parts[0].lower() not in _OWN_SCHEMAS:
        name = ".".join(parts)
        message = f"{name} is read as a table of a schema, and there are no schemas"
        raise told(UsageError, message, query_place(query, table.get("query_location")), _quoted_location(name))


def _quotes_advice(query: str, position: int | str | None) -> str | None:
    """The advice on a syntax error at a position that is within a location without quotes."""
    for found in _UNQUOTED.finditer(query):
        is_there = position is None or found.start(1) <= int(position) <= found.end(1)
        if is_there and not _PLAIN_NAME.fullmatch(found[1]):
            return _quoted_location(found[1])
    return None


def _quoted_location(location: str) -> str:
    return f"put a location in quotes: FROM '{location}'"


def _pivot_advice(query: str) -> str | None:
    return "name the values of a PIVOT: ON a IN (1, 2)" if "pivot" in query.lower() else None


def _replacement(query: str) -> str | None:
    """What to use instead of a statement that is no query."""
    words = re.findall(r"\w+", re.sub(r"--[^\n]*|/\*.*?\*/", " ", query, flags=re.DOTALL).lower())
    found = (_REPLACEMENTS.get(" ".join(words[:count])) for count in (2, 1))
    if words[:1] == ["with"]:
        # The statement comes after the common table expressions.
        found = (_REPLACEMENTS[word] for word in words if word in {"insert", "update", "merge", "delete"})
    return next((advice for advice in found if advice), None)


def _check_shows(tree: Any, relations: Collection[str]) -> None:
    """Raises an error where SHOW is asked for tables of a catalog, which locations are not in."""
    known = {name.lower() for name in relations}
    for node in _nodes(tree):
        if node.get("type") != "SHOW_REF" or node["query"]:
            continue
        name = node["table_name"].strip('"')
        if node["show_type"] == "SHOW" and name.lower() not in known:
            advice = f"DESCRIBE '{name}' shows the columns of a location"
            raise told(UsageError, f"SHOW takes the name of a relation, and {name!r} is none", "the query", advice)
        if node["show_type"] != "SHOW" and not known:
            advice = f"{_PLACE}; DESCRIBE 'lake/orders' shows the columns of one"
            message = "there is no catalog, so SHOW can list no tables"
            raise told(UsageError, message, "the query", advice)


#: Functions that read no table: of others, the tables may be anywhere in the query.
_TABLELESS_FUNCTIONS = {"generate_series", "range", "repeat", "repeat_row", "unnest"}
#: The arguments of `lakerace.sql` that a relation could be meant for.
_ARGUMENTS = ("memory_limit", "params", "storage_options", "threads")


def _check_used(tree: Any, relations: Collection[str], relation_form: str) -> None:
    """Raises an error where a query does not use a relation."""
    used = set()
    for node in _nodes(tree):
        kind = node.get("type")
        if kind == "BASE_TABLE":
            if node["schema_name"]:
                return
            used.add(node["table_name"].lower())
        is_function = kind == "TABLE_FUNCTION" and node["function"]["function_name"] not in _TABLELESS_FUNCTIONS
        if is_function or (kind == "SHOW_REF" and not node["query"]):
            return
    for name in relations:
        if name.lower() in used:
            continue
        import difflib

        meant = [] if relation_form else difflib.get_close_matches(name, _ARGUMENTS, 1)
        advice = f"did you mean {meant[0]}?" if meant else f"name it in the query, or omit {relation_form}{name}=…"
        raise told(UsageError, "the query does not use this relation", f"relation {name!r}", advice)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All parts of a syntax tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            # The first part of a query comes first.
            pending.extend(reversed(list(node.values())))
        elif isinstance(node, list):
            pending.extend(reversed(node))


#: What names columns, or may use them without a name.
_USES = {"COLUMN_REF", "STAR", "POSITIONAL_REFERENCE", "SUBQUERY", "LAMBDA", "LAMBDA_REF", "PARAMETER"}


def _counts_rows(tree: dict[str, Any]) -> bool:
    """Whether a query needs the rows of one table, and no value but those of its condition."""
    node = tree["statements"][0]["node"]
    if node["type"] != "SELECT_NODE" or node["from_table"]["type"] != "BASE_TABLE":
        return False
    table = node["from_table"]
    if table["column_name_alias"] or (node.get("cte_map") or {}).get("map"):
        return False
    names = {table["alias"].lower(), table["table_name"].lower(), _alias(table["table_name"]).lower()}
    others = [part for name, part in node.items() if name not in {"where_clause", "from_table"}]
    if any(part.get("class") in _USES for part in _nodes(others)):
        return False
    condition = list(_nodes(node["where_clause"]))
    # A table's name is a row, whose fields a function may name.
    is_row = any(names.intersection(map(str.lower, part.get("column_names") or ())) for part in condition)
    return not is_row and not any(part.get("class") in _USES - {"COLUMN_REF", "PARAMETER"} for part in condition)


def _common_tables(tree: Any) -> Iterator[str]:
    """The names of common table expressions."""
    for node in _nodes(tree):
        for entry in (node.get("cte_map") or {}).get("map", []):
            yield entry["key"]


def _alias(location: str) -> str:
    """The name of a location's columns where the query gives none: that of the file without its ending, as in duckdb."""
    name = location.rstrip("/").replace("#", "/").rpartition("/")[2]
    return name.partition(".")[0] or name or location


def _version(connection: duckdb.DuckDBPyConnection, clause: dict[str, Any] | None, name: str) -> Any:
    """The value of `AT (VERSION => …)` or `AT (TIMESTAMP => …)`."""
    if clause is None:
        return None
    tree = _tree(connection, "SELECT 1")
    tree["statements"][0]["node"]["select_list"] = [clause["expr"]]
    is_number = clause["unit"].upper() == "VERSION"
    query = f"({_text(connection, tree)})"
    if not is_number:
        # A time without an offset is one of UTC.
        query = f"strftime(CAST({query} AS TIMESTAMPTZ), '%Y-%m-%dT%H:%M:%S.%fZ')"
    try:
        value = _value(connection, f"SELECT {query}")
    except duckdb.Error as error:
        message = str(error).partition("\n")[0]
        raise told(UsageError, f"the version is not a constant of this type: {message}", name) from error
    if is_number and not isinstance(value, int):
        raise told(UsageError, f"the version {value!r} is not a number", name, "write AT (VERSION => 3)")
    return value


def _text(connection: duckdb.DuckDBPyConnection, tree: dict[str, Any]) -> str:
    """The query of a syntax tree."""
    text: str = _value(connection, "SELECT json_deserialize_sql(?::JSON)", json.dumps(tree))
    return text


def _value(connection: duckdb.DuckDBPyConnection, query: str, *parameters: str) -> Any:
    row = connection.execute(query, list(parameters) or None).fetchone()
    return None if row is None else row[0]
