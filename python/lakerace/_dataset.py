"""A scan as a dataset of pyarrow: duckdb and others ask it for columns and for the rows of a filter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pyarrow
import pyarrow.dataset
from pyarrow import types

from lakerace._filter import LEAST_INTEGER, MOST_INTEGER, PLAIN_NAME, UnknownPart, quoted, text
from lakerace._scan import can_narrow

if TYPE_CHECKING:
    from lakerace._scan import Scan


class ScanDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """A scan as a `pyarrow.dataset.Dataset`. It has one fragment, which nobody sees: rows come by :meth:`scanner`."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._schema = plain_schema(pyarrow.schema(scan))

    def __reduce__(self) -> tuple[object, ...]:
        return (ScanDataset, (self._scan,))

    def __repr__(self) -> str:
        return f"<lakerace.ScanDataset {self._scan!r}>"

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns, texts without views: pyarrow filters no views."""
        return self._schema

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> pyarrow.dataset.Scanner:
        """The rows of a filter and some columns, as `pyarrow.dataset.Dataset.scanner`. Of its options `batch_size` and the like
        count only after lakerace has read."""
        where = None if filter is None else pushed_filter(filter, self._schema).text
        needed = self._needed(columns, filter) if can_narrow(self._scan._options) else None
        schema = self._schema if needed is None else pyarrow.schema([self._schema.field(name) for name in needed])
        batches = self._scan._narrowed(needed, where, None)._batches(schema)
        kept = {
            name: option for name, option in options.items() if name in {"batch_size", "use_threads", "memory_pool"}
        }
        return pyarrow.dataset.Scanner.from_batches(batches, schema=schema, columns=columns, filter=filter, **kept)

    def _needed(self, columns: Any, filter: Any) -> list[str] | None:
        """The columns that are read; `None` for all of them."""
        if not isinstance(columns, list):
            return None
        # An expression does not tell its columns, but their names stand in it.
        shown = "" if filter is None else shown_filter(filter)
        if shown is None:
            return None
        words = set(re.findall(r"\w+", shown))
        # Parts of the words of other names are none.
        is_shown = {name: name in (words if re.fullmatch(r"\w+", name) else shown) for name in self._schema.names}
        wanted = [name for name in self._schema.names if name in columns or is_shown[name]]
        return wanted if set(columns) <= set(wanted) else None

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows; without a filter from metadata, where that is exact."""
        return self._scan.count() if filter is None else int(self.scanner(filter=filter, **options).count_rows())

    @property
    def partition_expression(self) -> pyarrow.dataset.Expression:
        """True: the rows have nothing else in common."""
        return pyarrow.dataset.scalar(True)

    def get_fragments(self, filter: Any = None) -> NoReturn:
        """A scan shows no fragments."""
        raise NotImplementedError("a scan has no fragments: read it by scanner(), to_batches() or to_table()")

    def replace_schema(self, schema: pyarrow.Schema) -> NoReturn:
        """A scan has the schema of its location."""
        raise NotImplementedError("a scan keeps its schema: cast the result of to_batches() or to_table()")

    def filter(self, expression: Any) -> NoReturn:
        """A scan is filtered by what reads it."""
        raise NotImplementedError(
            "give the filter to scanner(), to_batches() or to_table(), or where=... to lakerace.scan"
        )

    def join(self, *arguments: Any, **options: Any) -> NoReturn:
        """A scan is not joined."""
        raise NotImplementedError("join the result of to_table()")

    def join_asof(self, *arguments: Any, **options: Any) -> NoReturn:
        """A scan is not joined."""
        raise NotImplementedError("join the result of to_table()")

    def sort_by(self, *arguments: Any, **options: Any) -> NoReturn:
        """A scan is not sorted."""
        raise NotImplementedError("sort the result of to_table()")


def plain_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The schema with texts and bytes that pyarrow can filter."""
    return pyarrow.schema([_plain_field(field) for field in schema])


def _plain_field(field: pyarrow.Field) -> pyarrow.Field:
    return field.with_type(_plain(field.type))


def _plain(kind: pyarrow.DataType) -> pyarrow.DataType:
    """The type with texts and bytes that pyarrow can filter."""
    if types.is_string_view(kind):
        return pyarrow.string()
    if types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_struct(kind):
        return pyarrow.struct([_plain_field(kind.field(at)) for at in range(kind.num_fields)])
    if types.is_map(kind):
        return pyarrow.map_(_plain_field(kind.key_field), _plain_field(kind.item_field), keys_sorted=kind.keys_sorted)
    if types.is_large_list(kind):
        return pyarrow.large_list(_plain_field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(_plain_field(kind.value_field), kind.list_size)
    if types.is_list(kind):
        return pyarrow.list_(_plain_field(kind.value_field))
    return kind


_NAIVE_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
#: Decimals of so many digits are told apart as floats, too.
_FLOAT_DIGITS = 15

#: Characters of a value in a list that pyarrow shows whole: of more than 100 it leaves some out, and says so in their place.
WHOLE_CHARACTERS = 80
_OMITTED = "chars omitted)"
_OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>"[^"\\]*")
      | (?P<escaped>"(?:[^"\\]|\\.)*")
      | (?P<value>-?\d[\d.:-]*(?:\ \d\d:\d\d:\d\d(?:\.\d+)?)?Z?)
      | (?P<set>\{value_set=\w+:\[(?P<values>[^\]{}]*)\],\ null_matching_behavior=MATCH\})
      | (?P<word>null\[bool\]|\{nan_is_null=false\}|[A-Za-z_]\w*)
      | (?P<sign>==|!=|<=|>=|[<>(),])
    )""",
    re.VERBOSE,
)


def filter_text(expression: pyarrow.dataset.Expression, schema: pyarrow.Schema) -> str | None:
    """A filter of `pyarrow.dataset`, where all of it can be said."""
    if not all(PLAIN_NAME.fullmatch(name) for name in schema.names):
        # An expression shows names as they are: some would read as something else.
        return None
    shown = shown_filter(expression)
    try:
        return None if shown is None else _Tokens(shown, schema).whole()
    except UnknownPart:
        return None


class PushedFilter(NamedTuple):
    """What lakerace applies of a filter."""

    #: A filter of lakerace's that loses no row; `None` for nothing of it.
    text: str | None
    #: Whether it is all of the filter.
    is_whole: bool


def pushed_filter(expression: pyarrow.dataset.Expression, schema: pyarrow.Schema) -> PushedFilter:
    """The parts of a filter of `pyarrow.dataset`, joined by `and`, that can be said."""
    nothing = PushedFilter(None, False)
    if not all(PLAIN_NAME.fullmatch(name) for name in schema.names):
        return nothing
    shown = shown_filter(expression)
    try:
        parts = [] if shown is None else _Tokens(shown, schema).conjuncts()
    except UnknownPart:
        return nothing
    said = [part for part in parts if part is not None]
    return PushedFilter(" AND ".join(said), len(said) == len(parts)) if said else nothing


def shown_filter(expression: pyarrow.dataset.Expression) -> str | None:
    """The text of an expression; `None` where pyarrow cuts a long value of a list within a character."""
    try:
        return str(expression)
    except UnicodeDecodeError:
        return None


class _Tokens:
    """The text of an expression, as it is read. What is not known raises :class:`UnknownPart`."""

    def __init__(self, text: str, schema: pyarrow.Schema) -> None:
        self._schema = schema
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise UnknownPart
            kind = "set" if found["set"] is not None else found.lastgroup
            self._tokens.append((kind, found["values"] if kind == "set" else found[kind]))
            at = found.end()
        self._at = 0

    def whole(self) -> str:
        """All of it, as a filter of lakerace's."""
        part = self._part()
        if self._at != len(self._tokens):
            raise UnknownPart
        return part

    def conjuncts(self) -> list[str | None]:
        """The parts that `and` joins, as filters of lakerace's; `None` for a part that can't be said."""
        parts = self._conjuncts()
        if self._at != len(self._tokens):
            raise UnknownPart
        return parts

    def _conjuncts(self) -> list[str | None]:
        start = self._at
        try:
            return [self._part()]
        except UnknownPart:
            self._at = start
        end = self._group_end(start)
        if self._tokens[start] == ("sign", "("):
            parts = self._joined_by_and(start + 1, end - 1)
            if parts is not None:
                self._at = end
                return parts
        self._at = end
        return [None]

    def _joined_by_and(self, start: int, end: int) -> list[str | None] | None:
        """The parts between two tokens, where they are two groups with an `and`."""
        try:
            middle = self._group_end(start)
        except UnknownPart:
            return None
        if middle >= end or self._tokens[middle] != ("word", "and"):
            return None
        self._at = start
        left = self._conjuncts()
        self._at = middle + 1
        right = self._conjuncts()
        return [*left, *right] if self._at == end else None

    def _group_end(self, start: int) -> int:
        """The end of what begins here with a parenthesis, or with a function's name and a parenthesis."""
        depth = 0
        for at in range(start, len(self._tokens)):
            kind, token = self._tokens[at]
            if kind == "sign" and token == "(":
                depth += 1
            elif kind == "sign" and token == ")":
                depth -= 1
                if depth == 0:
                    return at + 1
            elif depth == 0 and at > start:
                break
        raise UnknownPart

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise UnknownPart
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, *texts: str) -> None:
        for wanted in texts:
            if self._next()[1] != wanted:
                raise UnknownPart

    def _part(self) -> str:
        kind, token = self._next()
        if token == "(" and kind == "sign":
            return self._joined()
        if kind != "word":
            raise UnknownPart
        if token in {"is_valid", "is_null", "invert", "is_in", "if_else"}:
            return self._function(token)
        raise UnknownPart

    def _joined(self) -> str:
        """What stands behind a parenthesis: a comparison, or two parts with `and` or `or`."""
        kind, token = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        if kind == "word" and token in self._schema.names and self._following() in _OPERATORS:
            self._at += 1
            operator = _OPERATORS[self._next()[1]]
            literal = self._literal(*self._next(), token)
            self._expect(")")
            return f"({quoted(token)} {operator} {literal})"
        left = self._part()
        word = self._next()[1]
        if word not in {"and", "or"}:
            raise UnknownPart
        right = self._part()
        self._expect(")")
        return f"({left} {word.upper()} {right})"

    def _following(self) -> str:
        return self._tokens[self._at + 1][1] if self._at + 1 < len(self._tokens) else ""

    def _function(self, name: str) -> str:
        self._expect("(")
        if name == "invert":
            inner = self._part()
            self._expect(")")
            return f"(NOT {inner})"
        if name == "if_else":
            # How duckdb says that null is in no list.
            self._expect("is_valid", "(")
            column = self._name()
            self._expect(")", ",", "is_in", "(", column, ",")
            values = self._values(column)
            self._expect(")", ",", "null[bool]", ")")
            return f"({quoted(column)} IN ({values}))"
        column = self._name()
        if name == "is_valid":
            self._expect(")")
            return f"({quoted(column)} IS NOT NULL)"
        if name == "is_null":
            self._expect(",", "{nan_is_null=false}", ")")
            return f"({quoted(column)} IS NULL)"
        # For pyarrow null is in no list, and false; `NOT` of it would keep nulls.
        self._expect(",")
        values = self._values(column)
        self._expect(")")
        return f"({quoted(column)} IS NOT NULL AND {quoted(column)} IN ({values}))"

    def _name(self) -> str:
        kind, name = self._next()
        if kind != "word" or name not in self._schema.names:
            raise UnknownPart
        return name

    def _values(self, column: str) -> str:
        kind, text = self._next()
        if kind != "set":
            raise UnknownPart
        lines = [line.strip().removesuffix(",") for line in text.strip().splitlines()]
        if any(len(line) > WHOLE_CHARACTERS or _OMITTED in line for line in lines):
            raise UnknownPart
        found = [_TOKEN.fullmatch(line) for line in lines]
        if not found or any(value is None or value.lastgroup not in {"text", "value"} for value in found):
            raise UnknownPart
        return ", ".join(
            self._literal(value.lastgroup, value[value.lastgroup], column)
            for value in found
            if value is not None and value.lastgroup is not None
        )

    def _literal(self, kind: str, token: str, column: str) -> str:
        """A literal beside a column, where it is of the column's type."""
        return _literal(kind, token, self._schema.field(column).type)


def _literal(kind: str, token: str, column: pyarrow.DataType) -> str:
    if kind == "text" and (types.is_string(column) or types.is_large_string(column)):
        return text(token[1:-1])
    if kind == "word" and token in {"true", "false"} and types.is_boolean(column):
        return token.upper()
    if kind != "value":
        raise UnknownPart
    if types.is_integer(column) and re.fullmatch(r"-?\d+", token) and LEAST_INTEGER <= int(token) <= MOST_INTEGER:
        return token
    if types.is_date32(column) and re.fullmatch(r"\d{4}-\d\d-\d\d", token):
        return f"DATE '{token}'"
    if types.is_decimal128(column) and column.precision <= _FLOAT_DIGITS and re.fullmatch(r"-?\d+(\.\d+)?", token):
        return token
    is_zoned = token.endswith("Z")
    if (
        types.is_timestamp(column)
        and is_zoned == (column.tz is not None)
        and _NAIVE_TIME.fullmatch(token.removesuffix("Z"))
    ):
        return f"TIMESTAMP '{token}'"
    raise UnknownPart
