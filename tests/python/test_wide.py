"""Tables of very many columns, beside pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lakerace

ROWS = 50


def wide(columns: int, kind: str = "flat") -> pa.Table:
    """Numbers, texts and, where they are wanted, structs and lists in turn."""
    made = {}
    for column in range(columns):
        numbers = [None if row % 9 == 4 else row * 1000 + column for row in range(ROWS)]
        texts = [f"text {row % 5} of {column}" for row in range(ROWS)]
        structs = [{"a": number, "b": text} for number, text in zip(numbers, texts, strict=True)]
        lists = [[row, column] for row in range(ROWS)]
        values = (numbers, texts, structs, lists)[column % (4 if kind == "nested" else 2)]
        made[f"c{column}"] = pa.array(values)
    return pa.table(made)


def plain(table: pa.Table) -> list[dict]:
    return table.to_pylist()


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wide") / "nested.parquet"
    pq.write_table(wide(1000, "nested"), path, row_group_size=20)
    return path


@pytest.mark.parametrize("columns", [["c0"], ["c999", "c1", "c2", "c0"], ["c502", "c503"], ["c7", "c6", "c5", "c4"]])
def test_a_few_of_many_columns(nested: Path, columns: list[str]) -> None:
    read = lakerace.scan(nested, columns=columns).to_arrow()
    expected = pq.read_table(nested, columns=columns).select(columns)
    assert read.column_names == columns
    assert plain(read) == plain(expected)


def test_filters_on_columns_that_are_not_read(nested: Path) -> None:
    read = lakerace.scan(nested, columns=["c3", "c1"], where="c400 >= 20400 and c401 = 'text 2 of 401'").to_arrow()
    whole = pq.read_table(nested)
    mask = pc.and_kleene(pc.greater_equal(whole["c400"], 20400), pc.equal(whole["c401"], "text 2 of 401"))
    assert plain(read) == plain(whole.filter(mask).select(["c3", "c1"]))
    assert read.num_rows > 0


def test_fields_of_structs(nested: Path) -> None:
    read = lakerace.scan(nested, columns=["c2.b", "c998.a"]).to_arrow()
    whole = pq.read_table(nested, columns=["c2", "c998"])
    assert read["c2"].to_pylist() == [{"b": value["b"]} for value in whole["c2"].to_pylist()]
    assert read["c998"].to_pylist() == [{"a": value["a"]} for value in whole["c998"].to_pylist()]


def test_a_column_that_does_not_exist(nested: Path) -> None:
    with pytest.raises(lakerace.NotFoundError, match="c1000"):
        lakerace.scan(nested, columns=["c0", "c1000"])
    with pytest.raises(lakerace.NotFoundError, match="other"):
        lakerace.scan(nested, columns=["c0"], where="other = 1")


def test_all_of_many_columns(nested: Path) -> None:
    assert plain(lakerace.scan(nested).to_arrow()) == plain(pq.read_table(nested))


def test_parts_of_a_scan(nested: Path) -> None:
    scan = lakerace.scan(nested, columns=["c4", "c9"])
    parts = [part.to_arrow() for part in scan.tasks(3)]
    assert plain(pa.concat_tables(parts)) == plain(pq.read_table(nested, columns=["c4", "c9"]))


def test_notes_of_pandas_tell_of_the_columns_that_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({f"c{column}": np.arange(ROWS) + column for column in range(300)})
    frame.index = pd.Index([f"row {row}" for row in range(ROWS)], name="key")
    frame.to_parquet(tmp_path / "a.parquet")
    read = lakerace.scan(tmp_path / "a.parquet", columns=["c299", "key"]).to_arrow().to_pandas()
    pd.testing.assert_frame_equal(read, frame[["c299"]], check_index_type=False)
    read = lakerace.scan(tmp_path / "a.parquet", columns=["c3"]).to_arrow().to_pandas()
    assert read["c3"].tolist() == frame["c3"].tolist()


def test_several_wide_files(tmp_path: Path) -> None:
    table = wide(200)
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.select(table.column_names[::-1]), tmp_path / "b.parquet")
    read = lakerace.scan(tmp_path, columns=["c7", "c8"]).to_arrow()
    assert plain(read) == 2 * plain(table.select(["c7", "c8"]))


def test_types_that_the_writer_has_noted(tmp_path: Path) -> None:
    texts = pa.array(["a", None, "b"])
    columns = {
        "category": texts.dictionary_encode(),
        "large": texts.cast(pa.large_string()),
        "zoned": pa.array([1, None, 3], pa.timestamp("ms", "Europe/Vienna")),
        "money": pa.array([1, None, 3], pa.decimal128(12, 2)),
        "span": pa.array([1, None, 3], pa.duration("us")),
        "bytes": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
    }
    table = pa.table({**columns, **{f"c{column}": pa.array([column] * 3) for column in range(200)}})
    pq.write_table(table, tmp_path / "a.parquet")
    names = list(columns)
    read = lakerace.scan(tmp_path / "a.parquet", columns=names).to_arrow()
    whole = lakerace.scan(tmp_path / "a.parquet").to_arrow().select(names)
    assert read.schema.equals(whole.schema)
    assert plain(read) == plain(table.select(names))


def test_text_of_many_columns(tmp_path: Path) -> None:
    table = wide(600)
    pyarrow.csv.write_csv(table, tmp_path / "a.csv")
    read = lakerace.scan(tmp_path / "a.csv", columns=["c599", "c2"]).to_arrow()
    assert plain(read) == plain(table.select(["c599", "c2"]))
    assert lakerace.scan(tmp_path / "a.csv").to_arrow().column_names == table.column_names
