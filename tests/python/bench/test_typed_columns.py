"""The columns of `scan-types`: what their files hold, and that all contestants read the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lakerace_bench import typed_columns
from lakerace_bench.cli import main
from lakerace_bench.samples import RIGHT, read
from lakerace_bench.typed_columns import TypedColumn

ROWS = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columns")


def test_each_column_has_a_name_of_its_own() -> None:
    columns = typed_columns.columns()
    assert len({column.name for column in columns}) == len(columns)
    assert {(column.type, column.encoding) for column in columns} >= set(typed_columns.VARIED)


@pytest.mark.parametrize(
    ("column", "encoding", "codec"),
    [
        (TypedColumn("int64", "dictionary-100", rows=ROWS), "RLE_DICTIONARY", "SNAPPY"),
        (TypedColumn("text", "delta-bytes", rows=ROWS), "DELTA_BYTE_ARRAY", "SNAPPY"),
        (TypedColumn("float32", "split", "zstd", rows=ROWS), "BYTE_STREAM_SPLIT", "ZSTD"),
        (TypedColumn("decimal-bytes", "plain", "none", rows=ROWS), "PLAIN", "UNCOMPRESSED"),
    ],
)
def test_files_have_the_encoding_and_codec_of_their_name(
    folder: Path, column: TypedColumn, encoding: str, codec: str
) -> None:
    file = pq.ParquetFile(column.files(folder)["parquet"])
    chunk = file.metadata.row_group(0).column(0)
    assert encoding in chunk.encodings
    assert (chunk.compression, file.metadata.num_rows) == (codec, ROWS)


def test_nulls_and_order_are_those_of_the_name(folder: Path) -> None:
    nulls = pq.read_table(TypedColumn("text", "plain", null_percent=50, rows=ROWS).files(folder)["parquet"])["value"]
    assert 0.49 < nulls.null_count / ROWS < 0.51
    values = pq.read_table(TypedColumn("int64", "plain", sorted=True, rows=ROWS).files(folder)["parquet"])["value"]
    assert values.combine_chunks().equals(values.combine_chunks().take(pc.sort_indices(values)))


def test_all_contestants_read_the_same_columns(tmp_path: Path, folder: Path) -> None:
    cases = [
        f"scan-types/local/{name}" for name in ("int64-plain-nulls50-warm", "bool-rle-cold", "decimal-wide-plain-warm")
    ]
    options = ["--quick", "--threads", "1", "--rounds", "1", "--only", "lakerace,duckdb,polars,pyarrow"]
    assert main(["run", *cases, *options, "--out", str(tmp_path), "--data", str(folder)]) == 0
    [path] = tmp_path.glob("*.jsonl")
    samples = read(path)[1]
    assert [(sample.verdict, sample.why) for sample in samples] == [(RIGHT, None)] * 12
    [page] = tmp_path.glob("*.md")
    assert "cases it is at most 1; the median case has" in page.read_text()
