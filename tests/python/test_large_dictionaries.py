"""Dictionaries of texts that are larger than other writers' limit of 1 MB, judged by other readers and by file sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 400_000
NAMES = 30_000


def _names(number: int) -> pa.Array:
    """Different texts of 60 to 100 bytes that no codec shortens by much."""
    random = np.random.default_rng(number)
    letters = random.integers(97, 123, (number, 100), dtype=np.uint8)
    lengths = random.integers(60, 101, number)
    return pa.array([row[:length].tobytes().decode() for row, length in zip(letters, lengths, strict=True)])


def _column(kind: str) -> pa.Array:
    random = np.random.default_rng(5)
    picks = random.integers(0, NAMES, ROWS)
    mask = random.random(ROWS) < 0.3
    take: dict[str, Callable[[], pa.Array]] = {
        "equally likely": lambda: _names(NAMES).take(pa.array(picks)),
        "few are frequent": lambda: _names(NAMES).take(pa.array((picks.astype(float) ** 2 / NAMES).astype(np.int64))),
        "nulls": lambda: _names(NAMES).take(pa.array(picks, mask=mask)),
        "sorted": lambda: _names(NAMES).take(pa.array(np.sort(picks))),
        "views": lambda: _names(NAMES).take(pa.array(picks)).cast(pa.string_view()),
        "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array(picks.astype(np.int32)), _names(NAMES)),
        "binary": lambda: _names(NAMES).cast(pa.binary()).take(pa.array(picks)),
        "fixed": lambda: pa.array([f"{pick:060}".encode() for pick in picks], pa.binary(60)),
        # A good dictionary at first: the rest of the chunk has new values only.
        "new values later": lambda: pa.concat_arrays(
            [_names(NAMES).take(pa.array(picks[:150_000])), _names(ROWS - 150_000)]
        ),
    }
    return take[kind]()


KINDS = [
    "equally likely",
    "few are frequent",
    "nulls",
    "sorted",
    "views",
    "dictionary",
    "binary",
    "fixed",
    "new values later",
]


def _texts(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """One layout for the columns of all readers."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    is_text = pa.types.is_string_view(values.type) or pa.types.is_large_string(values.type)
    return values.cast(pa.string() if is_text or pa.types.is_string(values.type) else pa.binary())


@pytest.mark.parametrize("codec", ["snappy", "zstd"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_readers_read_large_dictionaries(tmp_path: Path, kind: str, codec: str) -> None:
    values = _column(kind)
    file = tmp_path / "names.parquet"
    lr.copy(pa.table({"n": np.arange(ROWS), "name": values}), file, compression=codec)
    expected = _texts(pa.chunked_array([values]))
    assert _texts(pq.read_table(file)["name"]) == expected
    assert _texts(pl.read_parquet(file).to_arrow()["name"]) == expected
    with duckdb.connect() as connection:
        read = connection.sql(f"SELECT name FROM '{file}' ORDER BY n").to_arrow_table()
    assert _texts(read["name"]) == expected
    assert _texts(pa.table(lr.scan(file))["name"]) == expected


@pytest.mark.parametrize("kind", KINDS[:8])
def test_files_of_large_dictionaries_are_as_small_as_other_writers_files(tmp_path: Path, kind: str) -> None:
    table = pa.table({"name": _column(kind)})
    file = tmp_path / "lakerace.parquet"
    lr.copy(table, file, compression="snappy")
    frame = pl.DataFrame(pl.from_arrow(table))
    frame.write_parquet(tmp_path / "polars.parquet", compression="snappy")
    with duckdb.connect() as connection:
        connection.register("names", table)
        connection.execute(f"COPY names TO '{tmp_path / 'duckdb.parquet'}' (COMPRESSION snappy)")
    sizes = {name: (tmp_path / f"{name}.parquet").stat().st_size for name in ("polars", "duckdb")}
    # Runs of equal indexes are cut in different ways.
    assert file.stat().st_size <= 1.05 * min(sizes.values()), sizes
    assert "RLE_DICTIONARY" in pq.ParquetFile(file).metadata.row_group(0).column(0).encodings


def test_new_values_end_a_dictionary(tmp_path: Path) -> None:
    """The dictionary holds the repeated values, and only some of those that occur once."""
    table = pa.table({"name": _column("new values later")})
    file = tmp_path / "names.parquet"
    lr.copy(table, file, compression="none")
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
    dictionary_bytes = chunk.data_page_offset - chunk.dictionary_page_offset
    assert 84 * NAMES < dictionary_bytes < 4 * 84 * NAMES


@pytest.mark.parametrize("rows", [40_000, ROWS])
def test_unique_texts_have_no_dictionary(tmp_path: Path, rows: int) -> None:
    file = tmp_path / "names.parquet"
    lr.copy(pa.table({"name": _names(rows)}), file)
    assert not pq.ParquetFile(file).metadata.row_group(0).column(0).has_dictionary_page


def test_conditions_on_large_dictionaries_find_their_rows(tmp_path: Path) -> None:
    values = _column("equally likely")
    file = tmp_path / "names.parquet"
    table = pa.table({"n": np.arange(ROWS), "name": values})
    lr.copy(table, file, bloom_filter=["name"])
    wanted = values[123_456].as_py()
    frame = pl.DataFrame(pl.from_arrow(table))
    for where, condition in [
        (f"name = '{wanted}'", pl.col("name") == wanted),
        (f"name > '{wanted}'", pl.col("name") > wanted),
        ("name like '%abc%'", pl.col("name").str.contains("abc", literal=True)),
        ("n in (7, 300000)", pl.col("n").is_in([7, 300_000])),
    ]:
        read = pl.DataFrame(lr.scan(file, where=where)).sort("n")
        assert read["n"].to_list() == frame.filter(condition)["n"].to_list(), where
