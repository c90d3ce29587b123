"""Avro files for tests: those of fastavro, and those that are put together by hand."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, fields: list[dict[str, Any]], rows: list[dict[str, Any]], **options: Any) -> Path:
    """A file of fastavro."""
    schema = {"type": "record", "name": "Row", "namespace": "org.example", "fields": fields}
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows, **options)
    return path


def rows_of(path: Path) -> list[Any]:
    """The rows that fastavro reads."""
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def numbered(rows: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Fields and rows of some types."""
    fields = [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "part", "type": ["double", "null"]},
    ]
    made = [
        {"id": i, "name": None if i % 7 == 0 else f"name {i}", "part": i / 4 if i % 5 else None} for i in range(rows)
    ]
    return fields, made


def varint(value: int) -> bytes:
    """An integer as Avro stores it."""
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def sized(data: bytes) -> bytes:
    return varint(len(data)) + data


SYNC = bytes(range(16))


def container(schema: Any, *blocks: tuple[int, bytes], codec: bytes = b"null", sync: bytes = SYNC) -> bytes:
    """A file by hand."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    header = b"Obj\x01" + varint(2) + sized(b"avro.schema") + sized(text) + sized(b"avro.codec") + sized(codec)
    return header + varint(0) + SYNC + b"".join(varint(rows) + sized(block) + sync for rows, block in blocks)


def with_schema(given: bytes, schema: Any) -> bytes:
    """The file with another schema: its blocks are the same."""
    with io.BytesIO(given) as file:
        blocks = [(block.num_records, block.bytes_.getvalue()) for block in fastavro.block_reader(file)]
    return container(schema, *blocks)


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Row", "fields": [{"name": name, "type": kind} for name, kind in fields]}
