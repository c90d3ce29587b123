"""Scans and tables as Python objects, and Python objects as sources: pyarrow, polars and duckdb are the oracles."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"id": list(range(12)), "name": ["<b>", None, *"abcdefghij"]})


@pytest.fixture
def scan(tmp_path: Path) -> lr.Scan:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    return lr.scan(tmp_path / "a.parquet")


@pytest.fixture
def table(tmp_path: Path) -> lr.Table:
    lr.copy(ROWS, f"delta:{tmp_path / 'table'}", table_properties={"lakerace.primaryKey": "id"})
    return lr.Table(tmp_path / "table")


@pytest.fixture(params=["scan", "table"])
def rows(request: pytest.FixtureRequest) -> lr.Scan | lr.Table:
    made: lr.Scan | lr.Table = request.getfixturevalue(request.param)
    return made


def test_rows_have_a_length_names_and_an_order(rows: lr.Scan | lr.Table) -> None:
    assert (len(rows), rows.columns, bool(rows)) == (12, ["id", "name"], True)
    assert list(rows) == list(zip(*ROWS.to_pydict().values(), strict=True))
    assert bool(rows.head(0))
    assert len(rows.head(0)) == 0


def test_the_first_rows_are_a_scan(rows: lr.Scan | lr.Table) -> None:
    assert rows.head().to_arrow().num_rows == 5
    assert rows.head(3).to_polars().equals(polars.DataFrame(ROWS.slice(0, 3)))
    assert len(rows.head(8).head(100)) == 8
    with pytest.raises(lr.UsageError, match="rows=-1"):
        rows.head(-1)


def test_a_task_has_no_first_rows(scan: lr.Scan) -> None:
    with pytest.raises(lr.UsageError, match="whole scan"):
        scan.tasks(1)[0].head()


def test_other_libraries_take_the_rows(rows: lr.Scan | lr.Table) -> None:
    assert rows.to_reader().read_all().to_pydict() == ROWS.to_pydict()
    assert rows.to_arrow().to_pydict() == ROWS.to_pydict()
    assert rows.to_polars().equals(polars.DataFrame(ROWS))
    assert rows.to_pandas()["id"].tolist() == list(range(12))
    assert polars.DataFrame(rows).equals(polars.DataFrame(ROWS))
    assert rows.lazy().filter(polars.col("id") > 9).collect().height == 2
    assert rows.to_dataset().to_table(columns=["id"]).num_columns == 1
    with duckdb.connect() as connection:
        assert rows.to_duckdb(connection).filter("id > 9").aggregate("sum(id)").fetchall() == [(21,)]
    assert rows.to_duckdb().aggregate("count(*)").fetchall() == [(12,)]


def test_a_notebook_shows_the_first_rows(rows: lr.Scan | lr.Table) -> None:
    html = rows._repr_html_()
    assert html.count("<tr>") == 11
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    left = '<td style="text-align: left">'
    assert f"{left}null</td>" in html
    assert "<td>0</td>" in html
    assert "the first 10 rows, 2 columns" in html
    assert ": 1 row, 2 columns" in rows.head(1)._repr_html_()


def test_a_notebook_shows_times_that_python_has_not(tmp_path: Path) -> None:
    times = pa.array([1, None, 4_102_444_800_000_000_001], pa.timestamp("ns"))
    pq.write_table(pa.table({"t": times, "l": [[1], None, []]}), tmp_path / "a.parquet")
    html = lr.scan(tmp_path / "a.parquet")._repr_html_()
    left = '<td style="text-align: left">'
    assert f"{left}1970-01-01 00:00:00.000000001</td>{left}[1]</td>" in html
    assert "2100-01-01 00:00:00.000000001" in html
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert "0 rows, 1 column<" in lr.scan(tmp_path / "none.parquet")._repr_html_()


def test_long_values_are_cut_in_a_notebook(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x" * 5000]}), tmp_path / "a.parquet")
    assert len(lr.scan(tmp_path / "a.parquet")._repr_html_()) < 1000


def test_a_table_tells_its_version(table: lr.Table) -> None:
    assert table.version == 0
    table.upsert([{"id": 3, "name": "three"}])
    assert (table.version, len(table)) == (1, 12)
    assert dict(table.scan(where="id = 3").rows()) == {3: "three"}


def test_a_table_is_a_source(table: lr.Table, tmp_path: Path) -> None:
    lr.copy(table, tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet").to_pydict() == ROWS.to_pydict()
    assert lr.checksum(table) == lr.checksum(ROWS)


DICTS: list[dict[str, Any]] = [
    {"id": 1, "day": date(2026, 1, 2), "price": Decimal("1.50"), "tags": ["a"], "who": {"name": "x"}},
    {"id": 2**53 + 1, "price": None, "more": True},
]


def test_dicts_are_rows(tmp_path: Path) -> None:
    lr.copy(DICTS, tmp_path / "a.parquet")
    names = ["id", "day", "price", "tags", "who", "more"]
    expected = [{name: row.get(name) for name in names} for row in DICTS]
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == expected
    lr.copy((row for row in DICTS), tmp_path / "b.parquet")
    assert lr.checksum(tmp_path / "b.parquet") == lr.checksum(tmp_path / "a.parquet") == lr.checksum(DICTS)


def test_a_lazy_frame_is_collected(tmp_path: Path) -> None:
    lazy = polars.LazyFrame({"a": [1, 2, 3]}).filter(polars.col("a") > 1)
    lr.copy(lazy, tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == {"a": [2, 3]}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "int is not a source of rows"),
        ({"a": [1]}, "dict is not a source of rows"),
        ([1, 2], "row 0 is a int"),
        ([{"a": 1}, ("b",)], "row 1 is a tuple"),
    ],
)
def test_objects_of_other_types_are_refused(tmp_path: Path, source: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        lr.copy(source, tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_dicts_without_columns_or_a_common_type_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lr.UsageError, match="no columns"):
        lr.copy([], tmp_path / "a.parquet")
    with pytest.raises(lr.InvalidInputError, match="column 'a'"):
        lr.copy([{"a": 1}, {"a": "x"}], tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())


def test_bytes_and_open_files_are_files(tmp_path: Path) -> None:
    text = b"a;b\n1;x\n2;y\n"
    expected = pa.csv.read_csv(io.BytesIO(text), parse_options=pa.csv.ParseOptions(delimiter=";")).to_pydict()
    (tmp_path / "in.csv").write_bytes(b"skipped\n" + text)
    with (tmp_path / "in.csv").open("rb") as file:
        assert file.readline() == b"skipped\n"
        for name, source in {"bytes": text, "memory": io.BytesIO(text), "file": file}.items():
            target = tmp_path / f"{name}.parquet"
            lr.copy(source, target, format="csv", delimiter=";")
            assert pq.read_table(target).to_pydict() == expected
    written = io.BytesIO()
    pq.write_table(ROWS, written)
    lr.copy(written.getvalue(), tmp_path / "p.parquet", format="parquet", columns=["id"], where="id > 9")
    assert pq.read_table(tmp_path / "p.parquet").to_pydict() == {"id": [10, 11]}


def test_files_without_a_format_and_of_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lr.UsageError, match="pass format="):
        lr.copy(b"a\n1\n", tmp_path / "a.parquet")
    with pytest.raises(lr.UsageError, match="binary mode"):
        lr.copy(io.StringIO("a\n1\n"), tmp_path / "a.parquet", format="csv")  # type: ignore[arg-type]
    with pytest.raises(lr.UsageError, match="read again"):
        lr.copy(b"a\n1\n", f"sqlite:{tmp_path / 'a.db'}#t", format="csv", resume=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("pyarrow", "scan.to_arrow()"),
        ("polars", "scan.to_polars()"),
        ("pandas", "scan.to_pandas()"),
        ("duckdb", "scan.to_duckdb()"),
        ("pyarrow", "lr.copy([{'a': 1}], 'x.parquet')"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, package: str, call: str) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    extra = {"pyarrow": "arrow"}.get(package, package)
    code = f"""
import sys
sys.modules[{package!r}] = None
import lakerace as lr
scan = lr.scan("a.parquet")
try:
    {call}
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f'this call needs {package}: pip install "lakerace[{extra}]"\n'


def test_errors_and_warnings_name_what_the_bytes_are(tmp_path: Path) -> None:
    class Named(io.BytesIO):
        name = "upload.csv"

    def sources(text: bytes) -> dict[str, Any]:
        return {"the bytes": text, "<BytesIO>": io.BytesIO(text), "upload.csv": Named(text)}

    for dry_run in (False, True):
        for name, source in sources(b"id,name\n1,ann\n2\n").items():
            with pytest.raises(lr.Error) as raised:
                lr.copy(source, tmp_path / "out.parquet", format="csv", columns=["none"], dry_run=dry_run)
            assert str(raised.value).startswith(f"{name}: "), raised.value
            assert (raised.value.place or "").startswith(name)
            assert "lakerace-" not in str(raised.value)
            assert isinstance(raised.value, FileNotFoundError)
            assert raised.value.filename == raised.value.place
    for name, source in sources(b"id,name\n1,ann\n2\n").items():
        with pytest.raises(lr.InvalidInputError) as invalid:
            lr.copy(source, tmp_path / "out.parquet", format="csv")
        assert str(invalid.value).startswith(f"{name}, line 3: "), invalid.value
    for name, source in sources(b"id;name\n1;ann\n").items():
        with pytest.warns(lr.LakeraceWarning, match="there is one column") as told:
            lr.copy(source, tmp_path / "one.parquet", format="csv", mode="overwrite")
        assert [str(warning.message).partition(": ")[0] for warning in told] == [name]
    with pytest.warns(lr.LakeraceWarning, match="^the bytes: there is one column"):
        asyncio.run(awaited(b"id;name\n1;ann\n", tmp_path / "awaited.parquet"))
    (tmp_path / "open.csv").write_bytes(b"id,name\n1\n")
    with (tmp_path / "open.csv").open("rb") as file, pytest.raises(lr.InvalidInputError, match=r"open\.csv, line 2: "):
        lr.copy(file, tmp_path / "out.parquet", format="csv")
    planned = lr.copy(b"id\n1\n", tmp_path / "new.parquet", format="csv", dry_run=True).planned
    assert planned is not None
    assert "lakerace-" not in planned.would
    with pytest.raises(lr.UsageError, match="file_name_column: bytes and open files have no such name"):
        lr.copy(b"id\n1\n", tmp_path / "new.parquet", format="csv", file_name_column="file")


async def awaited(source: bytes, target: Path) -> lr.CopyResult:
    return await lr.aio.copy(source, target, format="csv")
