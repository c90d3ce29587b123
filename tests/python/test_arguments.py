"""Arguments of the public functions that are of another kind than they look: an error names each of them."""

from __future__ import annotations

import asyncio
import inspect
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr
from lakerace import aio

#: What Python takes for true or false, and what is no flag.
NO_FLAGS = ("false", "no", "", 0, 1, 1.0, [], [False], print, lambda rows: None, object())
HALF = "x\ud800y"
#: How `os.fsdecode` tells of a name that is no UTF-8.
NAME = "\udcff.parquet"


def public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the package, and the methods of its classes."""
    for module, names in ((lr, lr.__all__), (aio, aio.__all__)):
        for name in names:
            member = getattr(module, name)
            label = f"{module.__name__}.{name}"
            if inspect.isclass(member) and not issubclass(member, (tuple, BaseException)):
                for method, function in inspect.getmembers(member, inspect.isfunction):
                    if not method.startswith("_"):
                        yield f"{label}.{method}", function
            elif inspect.isfunction(member):
                yield label, member


def flags_of(call: Callable[..., Any]) -> list[str]:
    return [name for name, kind in call.__annotations__.items() if kind in {"bool", "bool | None"}]


def test_a_flag_is_true_or_false(tmp_path: Path) -> None:
    """No call takes a text, a number or a function for true: all of them, by their annotations."""
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    checked = 0
    for label, call in public_calls():
        if inspect.iscoroutinefunction(call) or label.startswith("lakerace.aio"):
            continue
        for flag in flags_of(call):
            parameters = inspect.signature(call).parameters.values()
            needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            for value in NO_FLAGS:
                with pytest.raises(TypeError, match=rf"^{flag}: True or False is expected, not a ") as error:
                    call(*[None for _ in needed], **{flag: value})
                assert ("a function" in str(error.value)) == callable(value), label
                checked += 1
    assert checked > 40 * len(NO_FLAGS), checked


def test_flags_of_numpy_are_flags(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("id\n1\n2\n")
    for value in (True, np.True_, np.bool_(1)):
        assert lr.scan(source, header=value, progress=value).count() == 2
        assert lr.copy(source, tmp_path / "b.parquet", dry_run=value).planned is not None
    for value in (False, np.False_, None):
        assert lr.copy(source, tmp_path / "c.parquet", dry_run=value, mode="overwrite").rows == 2
        assert lr.scan(source, progress=value).count() == 2  # type: ignore[arg-type]


def test_flags_of_awaited_calls(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("id\n1\n")

    async def work() -> None:
        with pytest.raises(TypeError, match=r"^dry_run: True or False is expected, not a value of type str"):
            await aio.copy(source, tmp_path / "b.parquet", dry_run="no")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^progress: True or False is expected, not a function"):
            await aio.scan(source, progress=print)

    asyncio.run(work())


CALLS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "scan": ("location", lambda at: lr.scan(at / NAME)),
    "scan of a text": ("location", lambda at: lr.scan(HALF)),
    "list": ("location", lambda at: lr.scan([at / "a.parquet", at / NAME])),
    "columns": ("columns", lambda at: lr.scan(at / "a.parquet", columns=["id", HALF])),
    "computed": ("columns", lambda at: lr.scan(at / "a.parquet", columns=[f"'{HALF}' as a"])),
    "where": ("where", lambda at: lr.scan(at / "a.parquet", where=f"name = '{HALF}'")),
    "where with params": (
        "where",
        lambda at: lr.scan(at / "a.parquet", where=f"name = '{HALF}' or id = ?", params=[1]),
    ),
    "params": ("params", lambda at: lr.scan(at / "a.parquet", where="name = ?", params=[HALF])),
    "order_by": ("order_by", lambda at: lr.scan(at / "a.parquet", order_by=HALF)),
    "at": ("at", lambda at: lr.scan(at / "table", at=HALF)),
    "format": ("format", lambda at: lr.scan(at / "a.parquet", format=HALF)),  # type: ignore[arg-type]
    "storage_options": (
        "storage_options",
        lambda at: lr.scan("s3://b/x.parquet", storage_options={"aws_region": HALF}),
    ),
    "names of storage_options": (
        "storage_options",
        lambda at: lr.scan("s3://b/x.parquet", storage_options={HALF: "x"}),
    ),
    "schema": ("location", lambda at: lr.schema(at / NAME)),
    "check": ("location", lambda at: lr.check(at / NAME)),
    "checksum": ("location", lambda at: lr.checksum(at / NAME)),
    "target": ("target", lambda at: lr.copy(at / "a.parquet", at / NAME)),
    "copied source": ("source", lambda at: lr.copy(at / NAME, at / "b.parquet")),
    "key": ("key", lambda at: lr.copy(at / "a.parquet", f"sqlite:{at}/b.db#t", key=HALF)),
    "table_properties": (
        "table_properties",
        lambda at: lr.copy(at / "a.parquet", f"delta:{at / 'b'}", table_properties={"x": HALF}),
    ),
    "partition_by": ("partition_by", lambda at: lr.copy(at / "a.parquet", f"delta:{at / 'b'}", partition_by=HALF)),
    "null_strings": ("null_strings", lambda at: lr.scan(at / "a.csv", null_strings=[HALF])),
    "dead_letter": ("dead_letter", lambda at: lr.copy(at / "a.parquet", f"sqlite:{at}/b.db#t", dead_letter=HALF)),
    "diff": ("second", lambda at: lr.diff(at / "a.parquet", at / NAME, key="id")),
    "sync": ("target", lambda at: lr.sync(at / "table", f"sqlite:{HALF}#t", key="id")),
    "tpch": ("target", lambda at: lr.tpch(at / NAME, sf=0.001)),
    "query": ("query", lambda at: lr.sql(f"SELECT '{HALF}'")),
    "query's location": ("query", lambda at: lr.sql(f"SELECT * FROM '{at / NAME}'")),
    "table": ("location", lambda at: lr.Table(at / NAME).upsert([{"id": 1}], key="id")),
    "table's key": ("key", lambda at: lr.Table(at / "table").upsert([{"id": 1}], key=HALF)),
    "delete": ("where", lambda at: lr.Table(at / "table").delete(f"name = '{HALF}'")),
    "delete's params": ("params", lambda at: lr.Table(at / "table").delete("name = ?", params=[HALF])),
    "compact": ("where", lambda at: lr.Table(at / "table").compact(where=HALF)),
    "retain": ("retain", lambda at: lr.Table(at / "table").vacuum(retain=HALF)),
    "merge": ("merge", lambda at: lr.Table(at / "table").upsert([{"id": 1}], key="id", merge={"name": HALF})),
    "restore": ("at", lambda at: lr.Table(at / "table").restore(HALF)),
    "config": ("file", lambda at: lr.use_config(HALF)),
}


@pytest.mark.parametrize("case", CALLS)
def test_half_a_pair_of_surrogates_is_an_error_of_its_argument(tmp_path: Path, case: str) -> None:
    rows = pa.table({"id": [1], "name": ["a"]})
    pq.write_table(rows, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    lr.copy(rows, f"delta:{tmp_path / 'table'}")
    name, call = CALLS[case]
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(lr.UsageError) as error:
        call(tmp_path)
    text = str(error.value)
    assert text.startswith(f"{name}: "), text
    assert "half of a surrogate pair" in text
    assert text.encode().decode() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_value_of_a_row_that_is_half_a_pair_is_an_error_of_its_column(tmp_path: Path) -> None:
    with pytest.raises(lr.InvalidInputError, match=r"^column 'name': "):
        lr.copy([{"id": 1, "name": "a"}, {"id": 2, "name": HALF}], tmp_path / "b.parquet")


def test_an_error_of_the_callers_own_code_stays_one(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, object]]:
        yield {"id": 1}
        HALF.encode()

    with pytest.raises(UnicodeEncodeError):
        lr.copy(rows(), tmp_path / "b.parquet")


def test_names_of_open_files_can_be_printed(tmp_path: Path) -> None:
    class Named(io.BytesIO):
        name = NAME

    with pytest.raises(lr.Error) as error:
        lr.copy(Named(b"no parquet"), tmp_path / "b.parquet", format="parquet")
    assert "\\udcff.parquet" in str(error.value).encode().decode()


COLUMNS: dict[str, Callable[[], object]] = {
    "polars series": lambda: pl.Series("a", [1, 2]),
    "polars series of texts": lambda: pl.Series("a", ["x"]),
    "chunked array": lambda: pa.chunked_array([[1, 2]]),
    "array": lambda: pa.array([1, 2]),
    "pandas series": lambda: pa.chunked_array([[1, 2]]).to_pandas(),
    "numpy array": lambda: np.arange(3),
    "numpy matrix": lambda: np.zeros((2, 2)),
    "generator": lambda: (number for number in range(3)),
    "list": lambda: [1, 2, 3],
    "set": lambda: {1, 2},
    "dict of columns": lambda: {"a": [1, 2]},
    "number": lambda: 3,
}


#: The calls that take rows.
DOORS: dict[str, Callable[[Path, Any], object]] = {
    "copy": lambda at, source: lr.copy(source, at / "b.parquet"),
    "upsert": lambda at, source: lr.Table(at / "table").upsert(source, key="a"),
    "checksum": lambda at, source: lr.checksum(source),
    "sql": lambda at, source: lr.sql("SELECT * FROM rows", rows=source).to_arrow(),
}


@pytest.mark.parametrize("case", COLUMNS)
@pytest.mark.parametrize("door", DOORS)
def test_a_column_is_no_table(tmp_path: Path, case: str, door: str) -> None:
    source: Any = COLUMNS[case]()
    lr.copy(pa.table({"a": [1]}), f"delta:{tmp_path / 'table'}")
    with pytest.raises((lr.UsageError, TypeError), match=r"(frame|table|list of dicts|source of rows)") as error:
        DOORS[door](tmp_path, source)
    assert "__arrow_c_stream__" not in str(error.value) or case == "number", str(error.value)
    assert not (tmp_path / "b.parquet").exists()


def test_columns_of_structs_are_tables(tmp_path: Path) -> None:
    """A stream of structs is one of rows to the Arrow C interface, and to pyarrow."""
    rows = pa.table({"a": [1, 2], "b": ["x", "y"]})
    series = pl.from_arrow(rows).to_struct("s")  # type: ignore[union-attr]
    lr.copy(series, tmp_path / "b.parquet")
    expected = pa.RecordBatchReader.from_stream(series).read_all()
    assert lr.scan(tmp_path / "b.parquet").to_arrow().to_pylist() == expected.to_pylist() == rows.to_pylist()


NAMED: dict[str, Callable[[lr.files.Store], object]] = {
    "get": lambda store: store.get(HALF),
    "get_many": lambda store: store.get_many(["a", HALF]),
    "put": lambda store: store.put(HALF, b"x"),
    "put_many": lambda store: store.put_many({"b": b"x", HALF: b"x"}),
    "put_text": lambda store: store.put_text(HALF, "x"),
    "exists": lambda store: store.exists(HALF),
    "stat": lambda store: store.stat(HALF),
    "list": lambda store: store.list(HALF),
    "glob": lambda store: store.glob(f"{HALF}*"),
    "children": lambda store: store.children(HALF),
    "remove": lambda store: store.remove(HALF),
    "remove_tree": lambda store: store.remove_tree(HALF),
    "rename": lambda store: store.rename("a", HALF),
    "copy": lambda store: store.copy("a", HALF),
    "open": lambda store: store.open(HALF, "rb"),
    "created": lambda store: store.open(HALF, "wb"),
}


@pytest.mark.parametrize("call", NAMED)
@pytest.mark.parametrize("location", ["memory:", "store.db", "folder/"])
def test_half_a_pair_of_surrogates_is_no_name_of_a_file(tmp_path: Path, call: str, location: str) -> None:
    place = location if location == "memory:" else f"{tmp_path}/{location}"
    with lr.files.Store(place) as store:
        store.put("a", b"1")
        with pytest.raises(lr.UsageError, match=r"'x\\ud800y.*' has half of a surrogate pair"):
            NAMED[call](store)
        assert store.list() == ["a"]
