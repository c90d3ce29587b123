"""Random changes of bytes, of JSON and of checkpoints, and which bytes of a file a checksum covers."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import random

#: Numbers at the ends of their ranges, as bytes of both orders.
_ENDS = [
    n.to_bytes(size, order, signed=True)
    for size in (1, 2, 4, 8)
    for n in (0, 1, -1, 2 ** (8 * size - 1) - 1, -(2 ** (8 * size - 1)))
    for order in ("little", "big")
]
#: Long numbers of variable length.
_VARINTS = [b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\xfe\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08"]
_JSON = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**63),
    1e300,
    "",
    "x",
    "..",
    "a%2Fb",
    "%",
    "\x00",
    [],
    {},
    [None],
    "s3://b/k",
]


def in_place(drawn: random.Random, data: bytes, ranges: list[tuple[int, int]]) -> bytes:
    """Changes a few bytes within ranges; the length stays."""
    changed = bytearray(data)
    for _ in range(drawn.randint(1, 3)):
        start, end = drawn.choice(ranges)
        if start < end:
            changed[drawn.randrange(start, end)] ^= drawn.randint(1, 255)
    return bytes(changed)


def anywhere(drawn: random.Random, data: bytes) -> bytes:
    """Flips, cuts, inserts, overwrites and repeats bytes; more often near the end, where footers are."""
    changed = bytearray(data)
    for _ in range(drawn.choice([1, 1, 2, 4])):
        length = len(changed)
        at = drawn.randint(0, length)
        if drawn.random() < 0.4:
            at = drawn.randint(max(0, length - 400), length)
        end = min(length, at + drawn.choice([1, 2, 4, 8, 40]))
        choice = drawn.randrange(8)
        if choice < 2 and at < length:
            changed[at] ^= 1 << drawn.randrange(8)
        elif choice == 2 and at < length:
            changed[at] = drawn.choice([0, 1, 0x7F, 0x80, 0xFF, drawn.randrange(256)])
        elif choice == 3:
            piece = drawn.choice(_ENDS)
            changed[at : at + len(piece)] = piece
        elif choice == 4:
            piece = drawn.choice(_VARINTS + _ENDS)
            changed[at : at + drawn.randint(0, 2)] = piece
        elif choice == 5:
            del changed[at:end]
        elif choice == 6:
            changed[at:at] = changed[at:end]
        elif drawn.random() < 0.4:
            del changed[at:]
        else:
            other = drawn.randint(0, length)
            changed[at:end] = changed[other : other + end - at]
    return bytes(changed)


def of_json(drawn: random.Random, data: bytes) -> bytes:
    """Replaces, drops or repeats a value somewhere in one of the lines."""
    lines = [json.loads(line) for line in data.splitlines() if line.strip()]
    for _ in range(drawn.choice([1, 1, 2])):
        if lines:
            _change(drawn, lines)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _change(drawn: random.Random, value: Any) -> None:
    """Walks into a random value and changes it there."""
    while True:
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = drawn.choice(keys)
        inner = value[key]
        if isinstance(inner, str) and inner.startswith("{") and drawn.random() < 0.5:
            # Statistics and schemas are JSON in JSON.
            parsed = json.loads(inner)
            _change(drawn, parsed)
            value[key] = json.dumps(parsed)
            return
        if isinstance(inner, (dict, list)) and inner and drawn.random() < 0.85:
            value = inner
            continue
        choice = drawn.randrange(4)
        if choice == 0:
            del value[key]
        elif choice == 1 and isinstance(value, list):
            value.append(inner)
        elif choice == 2 and isinstance(inner, str):
            at = drawn.randint(0, len(inner))
            value[key] = inner[:at] + drawn.choice(["", "x", "\u0000", "é", "}"]) + inner[at + 1 :]
        else:
            value[key] = drawn.choice(_JSON)
        return


def of_checkpoint(drawn: random.Random, data: bytes) -> bytes:
    """Changes what the rows of a checkpoint say, or leaves out a column, and writes it anew."""
    table = pq.read_table(io.BytesIO(data))
    choice = drawn.randrange(4)
    if choice == 0:
        table = table.drop_columns([drawn.choice(table.column_names)])
    elif choice == 1 and table.num_rows:
        start = drawn.randrange(table.num_rows)
        kept = table.slice(0, start), table.slice(start + 1)
        table = pa.concat_tables([*kept, table.slice(0, 1)] if drawn.random() < 0.5 else kept)
    else:
        rows = table.to_pylist()
        for _ in range(drawn.choice([1, 2])):
            if rows:
                _fitting(drawn, drawn.choice(rows))
        table = pa.Table.from_pylist(rows, schema=table.schema)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _fitting(drawn: random.Random, row: dict[str, Any]) -> None:
    """Changes a value in a row to another one of its type."""
    value: Any = row
    while True:
        keys = [key for key, inner in value.items() if inner is not None]
        if not keys:
            return
        key = drawn.choice(keys)
        inner = value[key]
        if isinstance(inner, dict) and drawn.random() < 0.9:
            value = inner
            continue
        if isinstance(inner, bool):
            value[key] = not inner
        elif isinstance(inner, int):
            value[key] = drawn.choice([-1, 0, 2**31 - 1, -(2**31)])
        elif isinstance(inner, str):
            value[key] = drawn.choice(["", "x", inner[: len(inner) // 2], inner + "}", "../x", "%zz"])
        elif drawn.random() < 0.5:
            value[key] = None
        return


def page_bodies(data: bytes) -> list[tuple[int, int]]:
    """The ranges of a Parquet file that the checksums of its pages cover."""
    metadata = pq.read_metadata(io.BytesIO(data))
    ranges = []
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            end = at + chunk.total_compressed_size
            while at < end:
                fields, at = _thrift(data, at)
                assert 4 in fields, "the page has no checksum"
                ranges.append((at, at + fields[3]))
                at += fields[3]
    return ranges


def _thrift(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """A struct of Thrift's compact protocol that has numbers, booleans and structs alone: its fields, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = _varint(data, at)
            number = number >> 1 ^ -(number & 1)
        if kind in (1, 2):
            fields[number] = kind == 1
        elif kind in (4, 5, 6):
            value, at = _varint(data, at)
            fields[number] = value >> 1 ^ -(value & 1)
        elif kind == 8:
            size, at = _varint(data, at)
            fields[number] = data[at : at + size]
            at += size
        else:
            assert kind == 12, kind
            fields[number], at = _thrift(data, at)
    return fields, at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at
