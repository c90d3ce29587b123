"""A Delta table as a Python dict: what its versions hold, whatever the files are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from columns import Kind, array

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

Values = tuple[Any, ...]
Row = dict[str, Any]


@dataclass(frozen=True)
class Version:
    """The columns and the rows of a version, the rows by their keys."""

    kinds: dict[str, Kind]
    rows: dict[Values, Row]


@dataclass
class Model:
    """All versions of a table. Rows are never changed in place: versions share them."""

    kinds: dict[str, Kind]
    key: list[str]
    partitions: list[str]
    rows: dict[Values, Row] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    #: The change types of each version, where they are known one by one.
    told: dict[int, Counter[tuple[str, Values]]] = field(default_factory=dict)
    #: Versions before this one may have lost files to a vacuum.
    readable_from: int = 0

    def commit(self, version: int) -> None:
        """The rows as they are now are those of all versions up to `version` that are not known yet."""
        while len(self.versions) <= version:
            self.versions.append(Version(dict(self.kinds), dict(self.rows)))

    def key_of(self, row: Mapping[str, Any]) -> Values:
        """The values of the key's columns."""
        return tuple(row[name] for name in self.key)

    def draw_value(self, drawn: random.Random, name: str, kind: Kind) -> Any:
        """A value for a column: no null in a key, and no empty text where that would be a null."""
        if name not in self.key and drawn.random() < 0.15:
            return None
        if name == "k0" and drawn.random() < 0.9:
            # Few keys, so that they meet again.
            return small(kind, drawn)
        value = kind.draw(drawn)
        return "e" if value == "" and name in self.partitions else value

    def draw_rows(self, drawn: random.Random, count: int, kinds: Mapping[str, Kind]) -> list[Row]:
        """Rows with values in these columns; keys may come again."""
        return [{name: self.draw_value(drawn, name, kind) for name, kind in kinds.items()} for _ in range(count)]

    def put(self, row: Row) -> None:
        """Adds a row or replaces the one of its key; columns that the row lacks are null."""
        self.rows[self.key_of(row)] = {name: row.get(name) for name in self.kinds}

    def upsert(self, rows: Iterable[Row], merge: Mapping[str, str], insert_only: bool) -> Counter[tuple[str, Values]]:
        """Inserts or replaces rows, one after the other. Gives the changes that a feed tells."""
        before = dict(self.rows)
        for row in rows:
            key = self.key_of(row)
            old = self.rows.get(key)
            if insert_only and key in before:
                continue
            if old is None or insert_only:
                self.put(row)
            else:
                merged = {name: merged_value(merge.get(name, "last"), old[name], row[name]) for name in row}
                self.put({**old, **merged})
        return self.differences(before, {self.key_of(row) for row in rows} if not insert_only else None)

    def delete(self, keys: Iterable[Values]) -> Counter[tuple[str, Values]]:
        """Deletes rows by key."""
        gone: Counter[tuple[str, Values]] = Counter()
        for key in set(keys):
            row = self.rows.pop(key, None)
            if row is not None:
                gone["delete", self.flat(row)] += 1
        return gone

    def differences(self, before: Mapping[Values, Row], touched: set[Values] | None) -> Counter[tuple[str, Values]]:
        """The changes since `before`; rows with a key that was touched are told as updated, even if they are the same."""
        changes: Counter[tuple[str, Values]] = Counter()
        for key, row in self.rows.items():
            if key not in before:
                changes["insert", self.flat(row)] += 1
            elif touched is not None and key in touched:
                changes["update_preimage", self.flat(before[key])] += 1
                changes["update_postimage", self.flat(row)] += 1
        return changes

    def flat(self, row: Mapping[str, Any]) -> Values:
        """A row's values in the order of the columns, in a form that equals itself."""
        return flat([row.get(name) for name in self.kinds])


def small(kind: Kind, drawn: random.Random) -> Any:
    """One of about forty values of a type."""
    number = drawn.randrange(40)
    if kind.family == "bool":
        return number % 2 == 0
    if kind.family == "text":
        return f"key {number}"
    if kind.family == "bytes":
        return bytes([number, 255 - number])
    if kind.family == "decimal":
        import decimal

        return decimal.Decimal(number).scaleb(-kind.unit)
    return 19_000 + number if kind.family == "instant" else number


def merged_value(how: str, old: Any, new: Any) -> Any:
    """The value of a column that is merged; a null counts as nothing, but with `last`."""
    if how == "last":
        return new
    if old is None or new is None:
        return old if new is None else new
    if how == "last_not_null":
        return new
    if how == "sum":
        return old + new
    if how.startswith("concat:"):
        return old + how.removeprefix("concat:") + new
    return min(old, new) if how == "min" else max(old, new)


def flat(values: Sequence[Any]) -> Values:
    """Values that equal themselves: floats as their texts, decimals without trailing zeros."""
    return tuple(_flat(value) for value in values)


def _flat(value: Any) -> Any:
    if isinstance(value, float):
        return f"float {value!r}"
    if isinstance(value, bool) or value is None or isinstance(value, (int, str, bytes)):
        return (type(value).__name__, value)
    return ("decimal", f"{value:f}")


def to_arrow(rows: Sequence[Row], kinds: Mapping[str, Kind]) -> pa.Table:
    """Rows as a table of these columns."""
    return pa.table({name: array(kind, [row.get(name) for row in rows]) for name, kind in kinds.items()})


def from_arrow(table: pa.Table, kinds: Mapping[str, Kind]) -> list[Values]:
    """The rows of a table in the form of :func:`flat`, in the order of `kinds`; instants are counts of their unit."""
    columns = [_plain(kind, table[name]) for name, kind in kinds.items()]
    return [flat(row) for row in zip(*columns, strict=True)]


def _plain(kind: Kind, values: pa.ChunkedArray) -> list[Any]:
    if kind.family == "instant":
        width = pa.int32() if kind.type == pa.date32() else pa.int64()
        return list(values.cast(kind.type).cast(width).to_pylist())
    return list(values.to_pylist())
