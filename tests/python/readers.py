"""Tables that lakerace makes, one for each thing that it may ask of a reader, and the matrix of `docs/guide/readers.md`."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "readers.md"

ROWS = pa.table({"id": range(20), "day": [f"d{n % 3}" for n in range(20)], "v": [n / 4 for n in range(20)]})
NEWER = pa.table({"id": range(15, 25), "day": ["d1"] * 10, "v": [9.5] * 10})
FEED = {"delta.enableChangeDataFeed": "true"}
NO_VECTORS = {"delta.enableDeletionVectors": "false"}
AT = datetime(2024, 1, 2, 3, 4, 5, 6)
VARIANT = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
#: Of version 1 without names: the number 7 in 8 bits, and the null.
VARIANTS = [{"metadata": b"\x01\x00\x00", "value": value} for value in (b"\x0c\x07", b"\x00")]
VARIANT_TEXTS = ["7", None]


def _copied(folder: Path, rows: pa.Table = ROWS, **properties: str) -> lr.Table:
    lr.copy(rows, f"delta:{folder}", table_properties=properties)
    return lr.Table(folder, key="id")


def changed(folder: Path, **properties: str) -> lr.Table:
    """A table of which rows were replaced, added and deleted."""
    table = _copied(folder, **properties)
    table.upsert(NEWER)
    table.delete("id < 2")
    return table


def _columns(**columns: Any) -> Callable[[Path], Any]:
    return lambda folder: _copied(folder, pa.table({"id": range(2), **columns}))


def _widened(folder: Path) -> None:
    _copied(folder, pa.table({"id": [0], "n": pa.array([1], pa.int32())}), **{"delta.enableTypeWidening": "true"})
    lr.copy(pa.table({"id": [1], "n": [2**40]}), folder, mode="append", evolve="widen")


def _variants(folder: Path) -> None:
    """lakerace makes no column of variants, but writes to those of others: this one is made by hand."""
    _copied(folder, pa.table({"id": [0], "v": pa.array(VARIANTS[:1], VARIANT)}))
    entry = folder / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    features = ["variantType"]
    for line in lines:
        if "protocol" in line:
            versions = {"minReaderVersion": 3, "minWriterVersion": 7}
            line["protocol"] = {**versions, "readerFeatures": features, "writerFeatures": features}
        if "metaData" in line:
            schema = json.loads(line["metaData"]["schemaString"])
            schema["fields"][1]["type"] = "variant"
            line["metaData"]["schemaString"] = json.dumps(schema)
    entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    lr.copy(pa.table({"id": [1], "v": pa.array(VARIANTS[1:], VARIANT)}), folder, mode="append")


#: By the first column of the page's matrix.
TABLES: dict[str, Callable[[Path], Any]] = {
    "a copy": _copied,
    "partitioned": lambda folder: lr.copy(ROWS, f"delta:{folder}", partition_by="day"),
    "sorted or z-ordered by `compact`": lambda folder: _copied(folder).compact(zorder=["day", "v"]),
    "after an upsert or a delete": changed,
    "the same, compacted": lambda folder: changed(folder).compact(),
    "after an upsert or a delete, `delta.enableDeletionVectors=false`": lambda folder: changed(folder, **NO_VECTORS),
    "`delta.enableChangeDataFeed=true`": lambda folder: _copied(folder, **FEED),
    "the same, after an upsert or a delete": lambda folder: changed(folder, **FEED),
    "with a checkpoint": lambda folder: _copied(folder, **{"delta.checkpointInterval": "1"}),
    "`delta.checkpointPolicy=v2`": lambda folder: _copied(
        folder, **{"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"}
    ),
    "`delta.columnMapping.mode=name`": lambda folder: _copied(folder, **{"delta.columnMapping.mode": "name"}),
    "`delta.columnMapping.mode=id`": lambda folder: _copied(folder, **{"delta.columnMapping.mode": "id"}),
    "`delta.enableRowTracking=true`": lambda folder: _copied(folder, **{"delta.enableRowTracking": "true"}),
    "`delta.enableInCommitTimestamps=true`": lambda folder: _copied(
        folder, **{"delta.enableInCommitTimestamps": "true"}
    ),
    "`delta.enableTypeWidening=true`, a column widened": _widened,
    "numbers, texts, bytes, booleans, days": _columns(
        i8=pa.array([1, None], pa.int8()),
        i16=pa.array([2, None], pa.int16()),
        i32=pa.array([3, None], pa.int32()),
        f32=pa.array([1.5, None], pa.float32()),
        text=["é", None],
        bytes=[b"\0", None],
        is_so=[True, None],
        day=[date(2024, 1, 1), None],
    ),
    "decimals": _columns(
        price=pa.array([Decimal("-1.50"), None], pa.decimal128(9, 2)),
        large=pa.array([Decimal(10) ** 30, None], pa.decimal128(38, 0)),
    ),
    "lists, structs, maps": _columns(
        list=[[1, None], None],
        struct=[{"a": 1, "b": "x"}, None],
        map=pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    ),
    "timestamps in UTC": _columns(at=pa.array([AT, None], pa.timestamp("us", "UTC"))),
    "timestamps without a zone": _columns(at=pa.array([AT, None], pa.timestamp("us"))),
    "variants, in a table of another tool": _variants,
}


def asked(folder: Path) -> str:
    """What the table's last protocol asks of its readers, as the page says it."""
    protocol: dict[str, Any] = {}
    for entry in sorted((folder / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            protocol = json.loads(line).get("protocol", protocol)
    features = ", ".join(f"`{name}`" for name in sorted(protocol.get("readerFeatures", [])))
    return features or f"version {protocol['minReaderVersion']}"


def matrix(heading: str) -> dict[str, dict[str, str]]:
    """A table of the page: by the first column, then by the heading of each other one."""
    lines = PAGE.read_text().split(f"\n## {heading}\n")[1].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *body = rows
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in body}


def printed(found: dict[str, dict[str, str]]) -> str:
    """A matrix as the page has it."""
    head = ["table", *next(iter(found.values()))]
    lines = [head, ["---"] * len(head), *([name, *cells.values()] for name, cells in found.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
