"""Files of Arrow IPC for tests: their bytes as pyarrow and polars write them, and the places that their footers name."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A block of a footer: offset, bytes of metadata, bytes of body.
BLOCK = struct.Struct("<qi4xq")
#: Bytes after the footer: its length, and the magic.
END = 10


class Block(NamedTuple):
    """A message that a footer names, and where it does."""

    at: int
    offset: int
    metadata: int
    body: int


def table(rows: int) -> pa.Table:
    """Rows with texts, a dictionary, a list and nulls."""
    numbers = range(rows)
    return pa.table(
        {
            "i": numbers,
            "s": [None if i % 5 == 0 else f"text {i % 7}" for i in numbers],
            "c": pa.array([f"kind {i % 3}" for i in numbers]).dictionary_encode(),
            "l": pa.array([[i] * (i % 3) for i in numbers], pa.list_(pa.int64())),
        }
    )


def frame(rows: int) -> pl.DataFrame:
    """The same rows, with a category."""
    plain = table(rows)
    plain = plain.set_column(2, "c", plain["c"].cast(pa.string()))
    return pl.DataFrame(plain).with_columns(pl.col("c").cast(pl.Categorical))


def of_pyarrow(rows: int, codec: str | None = None, batch_rows: int = 7) -> bytes:
    """A file of several batches."""
    written, out = table(rows), io.BytesIO()
    with pa.ipc.new_file(out, written.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(written, max_chunksize=batch_rows)
    return out.getvalue()


def of_polars(rows: int, codec: str | None = None) -> bytes:
    """A file of polars."""
    out = io.BytesIO()
    frame(rows).write_ipc(out, compression=codec or "uncompressed")
    return out.getvalue()


def footer_start(content: bytes) -> int:
    """The position of a file's footer."""
    (length,) = struct.unpack_from("<i", content, len(content) - END)
    return len(content) - END - int(length)


def blocks(content: bytes) -> list[Block]:
    """The blocks of a footer, found by the messages that start where they say."""
    start = footer_start(content)

    def found() -> Iterator[Block]:
        for at in range(start, len(content) - END - BLOCK.size, 4):
            offset, metadata, body = BLOCK.unpack_from(content, at)
            if 8 <= offset < start and content[offset : offset + 4] == b"\xff" * 4 and metadata > 0 and body >= 0:
                (length,) = struct.unpack_from("<i", content, offset + 4)
                if length + 8 == metadata and offset + metadata + body <= start:
                    yield Block(at, offset, metadata, body)

    return list(found())


def with_block(content: bytes, block: Block, **changes: int) -> bytes:
    """The file with other numbers in a block."""
    changed = block._replace(**changes)
    stored = BLOCK.pack(changed.offset, changed.metadata, changed.body)
    return content[: block.at] + stored + content[block.at + BLOCK.size :]
