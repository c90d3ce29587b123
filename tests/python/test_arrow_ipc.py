"""Arrow IPC with the codecs that it has: Feather's default, and what `--compression` asks for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from conftest import TIMEOUT_SECONDS, command

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


def frame(rows: int) -> pl.DataFrame:
    """Rows with texts, a category, a list and nulls."""
    numbers = range(rows)
    return pl.DataFrame(
        {
            "i": numbers,
            "s": [None if i % 5 == 0 else f"text {i % 7}" for i in numbers],
            "c": pl.Series([f"kind {i % 3}" for i in numbers], dtype=pl.Categorical),
            "l": [[i] * (i % 3) for i in numbers],
        },
        schema_overrides={"s": pl.String, "l": pl.List(pl.Int64)},
    )


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_files_of_polars_are_read(tmp_path: Path, codec: str, rows: int) -> None:
    path, table = tmp_path / "a.arrow", frame(rows)
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
    frame(100).write_ipc(path)
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
