"""Notes that files carry by key (`geo`, `pandas`, others) in copies: kept as they are, and never untrue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {
        "geometry": {
            "encoding": "WKB",
            "geometry_types": ["Point"],
            "bbox": [0.1, 0.2, 3.5, 4.0],
            "covering": {"bbox": {"xmin": ["box", "xmin"]}},
        }
    },
}


def table(rows: int = 3) -> pa.Table:
    frame = pd.DataFrame(
        {"x": range(rows), "s": ["a"] * rows}, index=pd.Index([2 * row for row in range(rows)], name="id")
    )
    made = pa.Table.from_pandas(frame)
    made = made.append_column("geometry", pa.array([b"\x01"] * rows))
    made = made.append_column("box", pa.array([{"xmin": 0.1}] * rows))
    notes = {b"geo": json.dumps(GEO).encode(), b"mine": "ö".encode(), b"ARROW:mine": b"x"}
    return made.replace_schema_metadata({**made.schema.metadata, **notes})


def notes_of(path: Path) -> dict[str, str]:
    return {key.decode(): note.decode() for key, note in (pq.read_schema(path).metadata or {}).items()}


def geometry(path: Path) -> Any:
    return json.loads(notes_of(path)["geo"])["columns"]["geometry"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    pq.write_table(table(), path)
    return path


def test_a_copy_keeps_the_very_notes(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.parquet"
    lr.copy(source, target)
    kept = {key: note for key, note in notes_of(source).items() if not key.startswith("ARROW:")}
    assert notes_of(target) == kept
    assert pd.read_parquet(target).equals(pd.read_parquet(source))
    assert pd.read_parquet(target).index.name == "id"


def test_rows_that_are_left_out_take_bounds_with_them(source: Path, tmp_path: Path) -> None:
    for number, options in enumerate(({"where": "x > 0"}, {"limit": 1})):
        target = tmp_path / f"{number}.parquet"
        lr.copy(lr.scan(source, **options), target)
        assert "bbox" not in geometry(target)
        assert geometry(target)["geometry_types"] == []
        assert notes_of(target)["mine"] == "ö"
        assert pd.read_parquet(target).index.name == "id"


def test_columns_that_are_left_out_are_not_described(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.parquet"
    lr.copy(source, target, columns=["x", "geometry"])
    assert "covering" not in geometry(target)
    assert geometry(target)["bbox"] == GEO["columns"]["geometry"]["bbox"]
    assert list(pd.read_parquet(target).columns) == ["x", "geometry"]
    lr.copy(source, target, columns=["x"], mode="overwrite")
    assert "geo" not in notes_of(target)


def test_a_folder_keeps_what_its_files_agree_on(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 2):
        made = table(number)
        geo = json.loads(json.dumps(GEO))
        geo["columns"]["geometry"]["bbox"][0] = number
        notes = {**made.schema.metadata, b"geo": json.dumps(geo).encode(), b"number": str(number).encode()}
        pq.write_table(made.replace_schema_metadata(notes), folder / f"{number}.parquet")
    target = tmp_path / "b.parquet"
    lr.copy(folder, target)
    assert "bbox" not in geometry(target)
    assert set(notes_of(target)) == {"geo", "pandas", "mine"}
    assert pd.read_parquet(target)["x"].tolist() == [0, 0, 1]


def test_a_range_index_of_one_file_is_none_of_several(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 2):
        pd.DataFrame({"x": [number] * 2}, index=pd.RangeIndex(5, 7)).to_parquet(folder / f"{number}.parquet")
    target = tmp_path / "b.parquet"
    lr.copy(folder, target)
    assert json.loads(notes_of(target)["pandas"])["index_columns"] == []
    assert pd.read_parquet(target).index.tolist() == [0, 1, 2, 3]


def test_notes_of_a_writer_stay_with_its_file(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    notes = {"org.apache.spark.version": "3.5.8", "org.apache.spark.sql.parquet.row.metadata": "{}", "mine": "x"}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(notes), source)
    lr.copy(source, target)
    assert not [key for key in notes_of(target) if key.endswith("row.metadata")]
    assert notes_of(target)["mine"] == "x"


def test_notes_go_through_arrow_and_orc(source: Path, tmp_path: Path) -> None:
    arrow, orc, back = tmp_path / "a.arrow", tmp_path / "a.orc", tmp_path / "back.parquet"
    lr.copy(source, arrow)
    lr.copy(arrow, orc)
    lr.copy(orc, back)
    kept = {key: note for key, note in notes_of(source).items() if not key.startswith("ARROW:")}
    with pa.ipc.open_file(arrow) as file:
        assert {key.decode(): note.decode() for key, note in file.schema.metadata.items()} == kept
    assert {key: notes_of(back)[key] for key in kept} == kept


def test_fields_keep_their_own_notes(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("x", pa.int64(), metadata={"unit": "mm"})])
    source, arrow, target = tmp_path / "a.parquet", tmp_path / "a.arrow", tmp_path / "b.parquet"
    pq.write_table(pa.table({"x": [1]}, schema=schema), source)
    lr.copy(source, arrow)
    lr.copy(arrow, target)
    with pa.ipc.open_file(arrow) as file:
        assert file.schema.field("x").metadata[b"unit"] == b"mm"
    assert pq.read_schema(target).field("x").metadata[b"unit"] == b"mm"
