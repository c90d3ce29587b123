"""Arrow IPC with the codecs that it has: Feather's default, and what `--compression` asks for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

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
