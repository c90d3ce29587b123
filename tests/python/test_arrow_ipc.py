"""Arrow IPC: its codecs, files of pyarrow and polars, which are read by their footers, and damage, judged by pyarrow."""

from __future__ import annotations

import base64
import io
import random
import struct
import subprocess
from collections import Counter
from decimal import Decimal
from pathlib import Path

import ipc_files
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, run

import lakerace as lr


@pytest.mark.parametrize("codec", ["lz4", "zstd", "uncompressed"])
def test_feather_is_read_and_written_with_each_codec(tmp_path: Path, codec: str) -> None:
    rows = pa.table({"x": range(50_000), "s": [f"text {i % 7}" for i in range(50_000)], "n": pa.nulls(50_000)})
    source, target = tmp_path / "a.feather", tmp_path / "b.arrow"
    pyarrow.feather.write_feather(rows, source, compression=codec)
    assert lr.scan(source).to_arrow().to_pydict() == rows.to_pydict()
    lr.copy(source, target, compression="none" if codec == "uncompressed" else codec)
    assert pyarrow.feather.read_table(target).equals(rows)
    plain = tmp_path / "plain.arrow"
    lr.copy(source, plain)
    assert (target.stat().st_size < plain.stat().st_size / 2) == (codec != "uncompressed")


def test_codecs_that_arrow_lacks_are_refused(tmp_path: Path) -> None:
    for codec in ("snappy", "gzip", "brotli", "zstd:3"):
        with pytest.raises(lr.UsageError, match="lz4"):
            lr.copy(pa.table({"x": [1]}), tmp_path / "a.arrow", compression=codec)


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_files_of_polars_are_read(tmp_path: Path, codec: str, rows: int) -> None:
    path, table = tmp_path / "a.arrow", ipc_files.frame(rows)
    table.write_ipc(path, compression=codec)
    found = lr.scan(path).to_polars()
    assert found.with_columns(pl.col("c").cast(pl.String)).equals(table.with_columns(pl.col("c").cast(pl.String)))
    assert lr.scan(path, columns=["i"], where="i >= 3", limit=2).to_arrow()["i"].to_pylist() == list(range(3, rows))[:2]
    # A pipe has no footer, which the files of polars need.
    content = path.read_bytes()
    done = subprocess.run(
        command("scan", "-", "--input-format", "arrow", "--count"),
        input=content,
        capture_output=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    is_bare = content[8:12] != b"\xff\xff\xff\xff"
    assert done.returncode == (6 if is_bare else 0)
    assert (b"name the file in place of a pipe" in done.stderr) == is_bare


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_file_of_polars_that_is_cut_is_damaged(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.arrow"
    ipc_files.frame(100).write_ipc(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with pytest.raises(lr.CorruptDataError, match="damaged: it does not end with a footer"):
        lr.scan(path)
    # A footer of which any byte is another one is an error, or reads as it was.
    for at in range(len(whole) - 120, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            assert lr.scan(path).to_arrow()["i"].to_pylist() == list(range(100))
        except lr.Error as error:
            assert isinstance(error, lr.CorruptDataError), error


FILES = {
    "pyarrow": ipc_files.of_pyarrow(30),
    "pyarrow zstd": ipc_files.of_pyarrow(30, "zstd"),
    "pyarrow lz4": ipc_files.of_pyarrow(30, "lz4"),
    "polars": ipc_files.of_polars(30),
    "polars zstd": ipc_files.of_polars(30, "zstd"),
    "polars lz4": ipc_files.of_polars(30, "lz4"),
}


def rows_of(table: pa.Table) -> list[tuple[str, ...]]:
    """Rows that can be compared, also those that Python has no value for."""
    return [tuple(map(repr, row.values())) for row in table.to_pylist()]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "change",
    [
        {"offset": -1},
        {"offset": -(1 << 63)},
        {"offset": 0},
        {"offset": 1 << 40},
        {"offset": (1 << 63) - 1},
        {"metadata": -1},
        {"metadata": 0},
        {"metadata": 8},
        {"metadata": (1 << 31) - 1},
        {"body": -1},
        {"body": 1 << 40},
        {"body": (1 << 63) - 1},
    ],
    ids=str,
)
def test_places_that_a_footer_can_not_name_are_damage(tmp_path: Path, name: str, change: dict[str, int]) -> None:
    path, content = tmp_path / "a.arrow", FILES[name]
    named = ipc_files.blocks(content)
    assert len(named) == (6 if name.startswith("pyarrow") else 2)
    for block in named:
        path.write_bytes(ipc_files.with_block(content, block, **change))
        with pytest.raises(lr.CorruptDataError, match=r"damaged.*download or create the file again"):
            lr.scan(path).to_arrow()


def test_messages_that_overlap_are_damage(tmp_path: Path) -> None:
    path, content = tmp_path / "a.arrow", FILES["pyarrow"]
    first, second, *_ = ipc_files.blocks(content)
    for offset in (second.offset, second.offset - 8, first.offset + 8):
        path.write_bytes(ipc_files.with_block(content, first, offset=offset))
        with pytest.raises(lr.CorruptDataError, match="messages that overlap"):
            lr.scan(path)


def test_batches_have_the_order_of_the_footer(tmp_path: Path) -> None:
    path, content = tmp_path / "a.arrow", FILES["pyarrow"]
    first, second, *_ = ipc_files.blocks(content)
    content = ipc_files.with_block(content, first, offset=second.offset, metadata=second.metadata, body=second.body)
    content = ipc_files.with_block(content, second, offset=first.offset, metadata=first.metadata, body=first.body)
    path.write_bytes(content)
    expected = pa.ipc.open_file(io.BytesIO(content)).read_all()
    assert expected["i"].to_pylist()[:7] == list(range(7, 14))
    assert rows_of(lr.scan(path).to_arrow()) == rows_of(expected)
    # The stream within the file has another order.
    path.write_bytes(content[: ipc_files.footer_start(content)])
    with pytest.raises(lr.CorruptDataError, match="does not end with a footer"):
        lr.scan(path)


@pytest.mark.parametrize("name", [name for name in FILES if " " in name])
@pytest.mark.parametrize("length", [1 << 45, (1 << 63) - 1, -2, 5])
def test_a_packed_buffer_claims_no_more_memory_than_it_can_fill(tmp_path: Path, name: str, length: int) -> None:
    path, content = tmp_path / "a.arrow", FILES[name]
    block = next(block for block in ipc_files.blocks(content) if block.body > 100)
    start = block.offset + block.metadata
    # Each buffer begins with its length.
    for at in range(start, start + block.body - 8, 8):
        (stated,) = struct.unpack_from("<q", content, at)
        if 8 <= stated <= 1000:
            path.write_bytes(content[:at] + struct.pack("<q", length) + content[at + 8 :])
            with pytest.raises(lr.CorruptDataError, match="damaged"):
                lr.scan(path).to_arrow()
            return
    pytest.fail("no buffer is packed")


@pytest.mark.parametrize("name", FILES)
def test_changed_bytes_give_the_rows_of_pyarrow_or_an_error(tmp_path: Path, name: str) -> None:
    path, content = tmp_path / "a.arrow", FILES[name]
    drawn, outcomes = random.Random(name), Counter[str]()
    for _ in range(300):
        changed = bytearray(content)
        start = drawn.choice([0, ipc_files.footer_start(content)])
        for _ in range(drawn.choice([1, 1, 2, 4])):
            at = drawn.randrange(start, len(content))
            new = drawn.choice(
                [bytes([changed[at] ^ 1 << drawn.randrange(8)]), b"\xff" * 8, (1 << 40).to_bytes(8, "little")]
            )
            changed[at : at + len(new)] = new
        path.write_bytes(changed)
        try:
            found = lr.scan(path).to_arrow()
        except (lr.CorruptDataError, lr.InvalidInputError, lr.UnsupportedError) as error:
            outcomes[type(error).__name__] += 1
            continue
        try:
            expected = pa.ipc.open_file(io.BytesIO(changed)).read_all()
        except (pa.ArrowInvalid, OSError):
            # Not all that pyarrow refuses concerns the rows.
            continue
        assert rows_of(found) == rows_of(expected)
        outcomes["rows"] += 1
    assert outcomes["CorruptDataError"] > 100
    assert outcomes["rows"] > 5


def test_a_file_of_many_small_batches_is_read_by_few_requests(tmp_path: Path) -> None:
    path, rows = tmp_path / "a.arrow", ipc_files.table(20_000)
    path.write_bytes(ipc_files.of_pyarrow(20_000, batch_rows=3))
    scan = lr.scan(path)
    assert rows_of(scan.to_arrow()) == rows_of(rows)
    # The file has 1.9 MB.
    assert sum(scan.report()["requests"].values()) < 40


#: Columns, and numbers of their types that stand in the schema, each with another one that no type has.
IMPOSSIBLE = {
    "decimal": (
        pa.array([Decimal("1.25")], pa.decimal128(37, 29)),
        [(37, 139), (37, 39), (37, 0), (37, -1), (29, 100), (29, -100)],
    ),
    "wide decimal": (pa.array([Decimal("1.25")], pa.decimal256(71, 29)), [(71, 77), (71, 0)]),
    "list": (pa.array([[1] * 37], pa.list_(pa.int8(), 37)), [(37, -1)]),
    "bytes": (pa.array([b"x" * 37], pa.binary(37)), [(37, -1), (37, -(1 << 31))]),
}


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_types_that_no_array_has_are_damage(tmp_path: Path, name: str, is_nested: bool, kind: str) -> None:
    values, changes = IMPOSSIBLE[name]
    table = pa.table({"id": [1], "x": pa.StructArray.from_arrays([values], ["y"]) if is_nested else values})
    out = io.BytesIO()
    with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(out, table.schema) as writer:
        writer.write_table(table)
    path = tmp_path / "a.arrow"
    path.write_bytes(out.getvalue())
    assert lr.scan(path).count() == 1
    for number, other in changes:
        path.write_bytes(out.getvalue().replace(struct.pack("<i", number), struct.pack("<i", other)))
        with pytest.raises(lr.CorruptDataError, match=r"(column \"x\" has the type|can't be decoded).*create the file"):
            lr.scan(path)
        # pyarrow reads no value of most of them, and some end its process.
        assert run("schema", path).code == 5


@pytest.mark.parametrize(
    ("values", "changes"),
    [IMPOSSIBLE["list"], (pa.array([Decimal("1.25")], pa.decimal256(31, 29)), [(31, 77), (31, 0), (29, 100)])],
    ids=["list", "decimal"],
)
def test_types_that_no_array_has_are_damage_in_the_schema_of_a_parquet_file(
    tmp_path: Path, values: pa.Array, changes: list[tuple[int, int]]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "x": values}), path)
    stored = pq.read_metadata(path).metadata[b"ARROW:schema"]
    whole = path.read_bytes()
    assert whole.count(stored) == 1
    for number, other in changes:
        changed = base64.b64decode(stored).replace(struct.pack("<i", number), struct.pack("<i", other))
        assert changed != base64.b64decode(stored)
        path.write_bytes(whole.replace(stored, base64.b64encode(changed)))
        with pytest.raises(lr.CorruptDataError, match=r'column "x" has the type|schema'):
            lr.scan(path)
