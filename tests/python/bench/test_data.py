"""The bench's table: the same rows everywhere, and never used unchecked."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow import orc

from lakerace_bench import data, kept
from lakerace_bench.data import Shape
from lakerace_bench.wide import Wide

SHAPE = Shape(rows=3_000, row_group_rows=1_000)


def test_the_rows_are_these_on_every_machine() -> None:
    digest = hashlib.sha256()
    for group in data.row_groups(SHAPE):
        for row in group.to_pylist():
            digest.update(repr(tuple(row.values())).encode())
    assert digest.hexdigest() == "ad30a2881220ff8fcf511e1d25e3d17b9857ee5c5e15d0deffaaa1645718ef8f"


def test_the_first_row_looks_like_the_description() -> None:
    row = next(data.row_groups(SHAPE)).slice(0, 1).to_pylist()[0]
    assert row["id"] == 0
    assert 0 <= row["key"] < data.KEY_RANGE
    assert 1 <= row["quantity"] <= 50
    assert row["at"].date() == row["day"]
    assert 12 <= len(row["name"]) <= 20
    assert 24 <= len(row["comment"]) <= 58


def test_a_table_is_made_once(tmp_path: Path) -> None:
    path = data.ensure(SHAPE, tmp_path)
    made = path.stat()
    assert data.ensure(SHAPE, tmp_path) == path
    assert path.stat().st_ino == made.st_ino
    metadata = pq.ParquetFile(path).metadata
    assert (metadata.num_rows, metadata.num_columns, metadata.num_row_groups) == (3_000, 8, 3)


def test_a_damaged_table_is_made_anew(tmp_path: Path) -> None:
    path = data.ensure(SHAPE, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:5_000] + b"\x00" + whole[5_001:])
    assert "SHA-256" in (kept.check(path, asdict(SHAPE)) or "")
    assert data.ensure(SHAPE, tmp_path).read_bytes() == whole


def test_a_table_of_another_shape_is_not_taken(tmp_path: Path) -> None:
    path = data.ensure(SHAPE, tmp_path)
    assert "another shape" in (kept.check(path, asdict(Shape(rows=3_000, row_group_rows=500))) or "")
    assert "missing" in (kept.check(tmp_path / "other.parquet", asdict(SHAPE)) or "")


def test_a_wide_table_is_the_same_in_both_formats(tmp_path: Path) -> None:
    shape = Wide(rows=9_000, columns=10)
    files = shape.files(tmp_path)
    rows = pq.read_table(files["parquet"])
    assert rows.equals(orc.read_table(files["orc"]))
    assert (rows.num_rows, rows.num_columns) == (9_000, 10)
    assert orc.ORCFile(files["orc"]).nstripes == 1
    assert orc.ORCFile(files["orc-warm-up"]).nrows < 9_000
    assert shape.alternate == ("c0", "c2", "c4", "c6", "c8")
