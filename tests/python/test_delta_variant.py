"""Variant columns of Delta tables, whole and with parts of them in columns of a type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

#: Of version 1: without names, and with the names `a` and `b`.
NO_NAMES, NAMES = b"\x01\x00\x00", b"\x01\x02\x00\x01\x02ab"
BINARY = {"type": "binary", "nullable": False, "metadata": {}}


def table(folder: Path, variants: pa.Array, mapping: str | None = None) -> Path:
    """A table of an id and a variant, its log and its bytes written by hand: Spark 3.5 does not know the type."""
    folder.mkdir()
    (folder / "_delta_log").mkdir()
    features = ["variantType", "variantShredding"]
    fields: list[dict[str, Any]] = [{"name": "id", "type": "long"}, {"name": "v", "type": "variant"}]
    columns = [pa.field("id", pa.int64()), pa.field("v", variants.type)]
    properties = {"delta.enableVariantShredding": "true"}
    for number, field in enumerate(fields):
        field |= {"nullable": True, "metadata": {}}
        if mapping:
            name = f"col-{number}"
            field["metadata"] = {"delta.columnMapping.id": number + 1, "delta.columnMapping.physicalName": name}
            columns[number] = columns[number].with_name(name).with_metadata({"PARQUET:field_id": str(number + 1)})
    if mapping:
        features.append("columnMapping")
        properties |= {"delta.columnMapping.mode": mapping, "delta.columnMapping.maxColumnId": "2"}
    rows = pa.table([pa.array(range(len(variants))), variants], schema=pa.schema(columns))
    pq.write_table(rows, folder / "part-0.parquet")
    size = (folder / "part-0.parquet").stat().st_size
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    metadata = {
        "id": "0",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": properties,
    }
    statistics = json.dumps({"numRecords": len(variants)})
    add = {
        "path": "part-0.parquet",
        "partitionValues": {},
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": statistics,
    }
    actions = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}]
    entry = folder / "_delta_log" / f"{0:020}.json"
    entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return folder


def variants(values: list[tuple[bytes, bytes] | None]) -> pa.Array:
    kind = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    return pa.array([value and {"metadata": value[0], "value": value[1]} for value in values], kind)


def shredded(values: list[dict[str, Any] | None]) -> pa.Array:
    part = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
    kind = pa.struct(
        [
            pa.field("metadata", pa.binary(), False),
            pa.field("value", pa.binary()),
            pa.field("typed_value", pa.struct([pa.field("a", part, False)])),
        ]
    )
    return pa.array(values, kind)


def read(folder: Path) -> list[tuple[bytes, bytes] | None]:
    rows = lr.scan(folder).to_arrow().sort_by("id")["v"].to_pylist()
    return [row and (row["metadata"], row["value"]) for row in rows]


#: The null, the number 7 in 8 bits, and an object of a field `a` with the number 5 in 64 bits.
NULL, SEVEN = b"\x00", b"\x0c\x07"
OBJECT = b"\x02\x01\x00\x00\x09\x18" + (5).to_bytes(8, "little")


@pytest.mark.parametrize("mapping", [None, "name", "id"])
def test_variants_come_as_they_are_stored(tmp_path: Path, mapping: str | None) -> None:
    values: list[tuple[bytes, bytes] | None] = [(NO_NAMES, SEVEN), None, (NAMES, OBJECT), (NO_NAMES, NULL)]
    folder = table(tmp_path / "table", variants(values), mapping)
    assert read(folder) == values
    assert lr.scan(folder, columns=["id"]).count() == 4


@pytest.mark.parametrize("mapping", [None, "name", "id"])
def test_parts_in_columns_of_a_type_are_part_of_the_value(tmp_path: Path, mapping: str | None) -> None:
    stored = [
        {"metadata": NAMES, "value": None, "typed_value": {"a": {"value": None, "typed_value": 5}}},
        {"metadata": NAMES, "value": None, "typed_value": {"a": {"value": SEVEN, "typed_value": None}}},
        None,
        {"metadata": NO_NAMES, "value": SEVEN, "typed_value": None},
    ]
    folder = table(tmp_path / "table", shredded(stored), mapping)
    seven = b"\x02\x01\x00\x00\x02" + SEVEN
    expected: list[tuple[bytes, bytes] | None] = [(NAMES, OBJECT), (NAMES, seven), None, (NO_NAMES, SEVEN)]
    assert read(folder) == expected
    # What writes rows anew must not lose a part.
    lr.copy(folder, tmp_path / "rows.parquet")
    copied = pq.read_table(tmp_path / "rows.parquet").sort_by("id")["v"].to_pylist()
    assert [row and (row["metadata"], row["value"]) for row in copied] == expected


def test_damaged_variants_name_their_file(tmp_path: Path) -> None:
    stored = [{"metadata": b"\x09\x00", "value": None, "typed_value": {"a": {"value": None, "typed_value": 5}}}]
    folder = table(tmp_path / "table", shredded(stored))
    with pytest.raises(lr.CorruptDataError, match=r"part-0\.parquet.*\"v\""):
        lr.scan(folder).to_arrow()
