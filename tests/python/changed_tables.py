"""Random tables in several layouts, made by lakerace and by delta-rs, and the readers that see what a change has left."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import polars
import pyarrow as pa

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "part": pa.string(),
        "qty": pa.int32(),
        "price": pa.float64(),
        "amount": pa.decimal128(12, 2),
        "name": pa.string(),
        "day": pa.date32(),
    }
)
#: The kind of a row as it is, by that of the row as it was.
_AFTER = {"update_preimage": "update_postimage", "delete": "insert"}

FEED = {"delta.enableChangeDataFeed": "true"}
NO_VECTORS = {"delta.enableDeletionVectors": "false"}


@dataclass(frozen=True)
class Layout:
    """The way in which a table stores its rows."""

    properties: dict[str, str] = field(default_factory=dict)
    partition_by: list[str] | None = None
    #: True if delta-rs makes the table.
    is_foreign: bool = False

    @property
    def feeds(self) -> bool:
        """Whether the table has a change data feed."""
        return FEED.items() <= self.properties.items()


LAYOUTS = {
    "vectors": Layout(),
    "rewritten": Layout(NO_VECTORS),
    "partitioned": Layout(partition_by=["part"]),
    "partitioned, rewritten": Layout(NO_VECTORS, ["part"]),
    "keyed": Layout({"lakerace.primaryKey": "id"}),
    "feed": Layout(FEED),
    "feed, rewritten, partitioned": Layout({**FEED, **NO_VECTORS}, ["part"]),
    "mapped by name": Layout({"delta.columnMapping.mode": "name"}),
    "mapped by id, partitioned": Layout({"delta.columnMapping.mode": "id"}, ["part"]),
    "of delta-rs": Layout(is_foreign=True),
}


def drawn_rows(drawn: random.Random, ids: Iterable[int | None]) -> pa.Table:
    """Rows with these ids, some of whose values are null. Sums and products of the floats are exact."""

    def some(value: Any) -> Any:
        return None if drawn.random() < 0.15 else value

    rows = [
        {
            "id": number,
            "part": drawn.choice("abc"),
            "qty": some(drawn.randrange(10)),
            "price": some(drawn.randrange(80) / 4),
            "amount": some(Decimal(drawn.randrange(10_000)) / 100),
            "name": some(f"n{drawn.randrange(30)}"),
            "day": some(date(2026, 1, 1) + timedelta(days=drawn.randrange(60))),
        }
        for number in ids
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def made(folder: Path, rows: pa.Table, layout: Layout, parts: int = 3) -> lr.Table:
    """A table of a layout, of several files."""
    size = -(-rows.num_rows // parts)
    for part in range(parts):
        some = rows.slice(part * size, size)
        if layout.is_foreign:
            deltalake.write_deltalake(str(folder), some, mode="append", partition_by=layout.partition_by)
        elif part == 0:
            lr.copy(some, f"delta:{folder}", table_properties=layout.properties, partition_by=layout.partition_by)
        else:
            lr.copy(some, f"delta:{folder}", mode="append")
    return lr.Table(folder)


def twin(folder: Path, rows: pa.Table, feeds: bool = False) -> deltalake.DeltaTable:
    """A table that delta-rs makes and changes."""
    deltalake.write_deltalake(str(folder), rows, configuration=FEED if feeds else None)
    return deltalake.DeltaTable(str(folder))


def of_delta_rs(folder: Path) -> pa.Table:
    """The rows that delta-rs reads."""
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(folder)))
    return pa.table(builder.execute("SELECT * FROM t").read_all())


def seen_by_all(folder: Path, wanted: pa.Table, layout: Layout) -> None:
    """Each reader sees these rows."""
    expected = lr.checksum(wanted)
    assert lr.checksum(lr.scan(folder)) == expected, differences(lr.scan(folder).to_arrow(), wanted)
    assert lr.checksum(of_delta_rs(folder)) == expected, "delta-rs"
    if "delta.columnMapping.mode" not in layout.properties:
        assert lr.checksum(polars.scan_delta(str(folder)).collect()) == expected, "polars"
    # Merges may insert a key twice.
    assert [found for found in lr.Table(folder).verify(deep=True).findings if found.subject != "key"] == []


def differences(found: pa.Table, wanted: pa.Table) -> list[str]:
    """The first rows that only one of two tables has."""
    mine, theirs = (sorted(map(str, table.select(SCHEMA.names).to_pylist())) for table in (found, wanted))
    only = [f"- {row}" for row in theirs if row not in mine] + [f"+ {row}" for row in mine if row not in theirs]
    return only[:10]


def told(folder: Path, version: int) -> list[tuple[str, ...]]:
    """What delta-rs reads of a version's change feed. Rows that stay as they were are left out: delta-rs writes no change of
    them, or tells a delete and an insert."""
    table = deltalake.DeltaTable(str(folder))
    feed = pa.table(table.load_cdf(starting_version=version, ending_version=version).read_all())
    rows = [tuple(map(str, row.values())) for row in feed.select(["_change_type", *SCHEMA.names]).to_pylist()]
    counts = Counter(rows)
    for kind, *values in rows:
        before, after = (kind, *values), (_AFTER.get(kind, ""), *values)
        if counts[before] and counts[after]:
            counts.subtract([before, after])
    return sorted(counts.elements())
