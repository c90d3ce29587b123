"""Damaged and hand-made Avro files: each is an error with its place, or has the rows that fastavro reads."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import fastavro
import pytest
from avro_files import SYNC, container, numbered, record, rows_of, varint, write

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def test_a_hand_made_file_is_one_for_fastavro_too(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(container(record(("a", "int"), ("b", "string")), (2, b"\x02\x02x\x04\x00"), (1, b"\x06\x02z")))
    assert rows_of(path) == lr.scan(path).to_arrow().to_pylist() == [
        {"a": 1, "b": "x"}, {"a": 2, "b": ""}, {"a": 3, "b": "z"}]  # fmt: skip


EMPTY = {"type": "record", "name": "Empty", "fields": []}

DAMAGED: dict[str, tuple[bytes, type[lr.Error], str]] = {
    "empty": (b"", lr.InvalidInputError, "empty"),
    "another mark": (b"Obj\x02" + bytes(40), lr.CorruptDataError, "does not start as an Avro file"),
    "no schema": (b"Obj\x01\x00" + SYNC, lr.CorruptDataError, "no schema"),
    "schema of no JSON": (container(b"{"), lr.CorruptDataError, "not JSON"),
    "rows of texts": (container("string", (1, b"\x02x")), lr.UnsupportedError, "no records"),
    "unknown codec": (container(record(("a", "int")), codec=b"lzo"), lr.UnsupportedError, "lzo"),
    "wrong codec": (container(record(("a", "int")), (1, b"\x02"), codec=b"deflate"), lr.CorruptDataError, "deflate"),
    "sync marker": (container(record(("a", "int")), (1, b"\x02"), sync=bytes(16)), lr.CorruptDataError, "sync marker"),
    "more rows": (container(record(("a", "int")), (2, b"\x02")), lr.CorruptDataError, "row 2 of 2.*end within it"),
    "fewer rows": (container(record(("a", "int")), (1, b"\x02\x02")), lr.CorruptDataError, "left after the 1 rows"),
    "huge length": (
        container(record(("a", "int"))) + varint(1) + varint(2**62) + b"abc",
        lr.CorruptDataError,
        f"states {2**62} bytes",
    ),
    "huge text": (container(record(("a", "string")), (1, varint(2**40) + b"abc")), lr.CorruptDataError, "row 1 of 1"),
    "huge array": (
        container(record(("a", {"type": "array", "items": "long"})), (1, varint(2**62))),
        lr.CorruptDataError,
        "row 1 of 1",
    ),
    "array of empty records": (
        container(record(("a", {"type": "array", "items": EMPTY})), (1, varint(2**62))),
        lr.UnsupportedError,
        'column "a".*items without fields',
    ),
    "array of nulls": (
        container(record(("a", {"type": "array", "items": "null"})), (1, varint(2) + varint(0))),
        lr.UnsupportedError,
        'column "a".*the type null',
    ),
    "no UTF-8": (container(record(("a", "string")), (1, b"\x02\xff")), lr.CorruptDataError, "row 1 of 1.*UTF-8"),
    "no branch": (container(record(("a", ["null", "int"])), (1, b"\x04\x02")), lr.CorruptDataError, "union"),
    "no symbol": (
        container(record(("a", {"type": "enum", "name": "E", "symbols": ["A"]})), (1, b"\x02")),
        lr.CorruptDataError,
        "enum",
    ),
    "digits": (
        container(record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 2})), (1, b"\x02\x64")),
        lr.CorruptDataError,
        "digits",
    ),
    "name twice": (container(record(("a", "int"), ("a", "int"))), lr.UnsupportedError, 'two columns are named "a"'),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damage_is_told_with_its_place(tmp_path: Path, kind: str) -> None:
    given, error, says = DAMAGED[kind]
    path = tmp_path / "damaged.avro"
    path.write_bytes(given)
    with pytest.raises(error, match=says) as raised:
        lr.scan(path).to_arrow()
    assert "damaged.avro" in str(raised.value)
    with pytest.raises(lr.Error):
        lr.copy(path, tmp_path / "target.parquet")
    assert not (tmp_path / "target.parquet").exists()


def test_a_truncated_file_is_an_error_at_each_length(tmp_path: Path) -> None:
    fields, rows = numbered(40)
    whole = write(tmp_path / "whole.avro", fields, rows, sync_interval=100).read_bytes()
    path, found = tmp_path / "cut.avro", set()
    with io.BytesIO(whole) as file:
        ends = {block.offset + block.size for block in fastavro.block_reader(file)}
    header = whole.index(whole[-16:]) + 16
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length == header or length in ends:
            # Nothing tells that blocks are missing.
            found.add(lr.scan(path).count())
            continue
        with pytest.raises((lr.CorruptDataError, lr.InvalidInputError)):
            lr.scan(path).to_arrow()
    assert 0 in found
    assert len(found) == len(ends)
