"""Scans in other engines: polars and duckdb ask for columns and rows of a query, Dask and pools of processes take its tasks."""

from __future__ import annotations

import datetime
import decimal
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import lakerace as lr
from lakerace import _dataset, _lazy

DAY = datetime.date(2020, 1, 1)
NOON = datetime.datetime(2020, 1, 1, 12)
UTC = datetime.timezone.utc


def rows() -> pa.Table:
    numbers = range(1000)
    return pa.table(
        {
            "n": pa.array([None if n % 50 == 49 else n for n in numbers], pa.int64()),
            "small": pa.array([n % 100 for n in numbers], pa.int8()),
            "f": pa.array([float("nan") if n % 100 == 3 else n / 2 for n in numbers]),
            "t": [None if n % 70 == 1 else f"it's {n}" for n in numbers],
            "d": pa.array([decimal.Decimal(n) / 4 for n in numbers], pa.decimal128(9, 2)),
            "b": [None if n % 7 == 0 else n % 2 == 0 for n in numbers],
            "day": pa.array([DAY + datetime.timedelta(n) for n in numbers]),
            "us": pa.array([NOON + datetime.timedelta(hours=n) for n in numbers], pa.timestamp("us")),
            "ns": pa.array([NOON + datetime.timedelta(hours=n) for n in numbers], pa.timestamp("ns")),
            "utc": pa.array([NOON + datetime.timedelta(hours=n) for n in numbers], pa.timestamp("ms", "UTC")),
            "word": pa.array([f"w{n % 3}" for n in numbers]).dictionary_encode(),
            "s": [{"q": n, "r": str(n)} for n in numbers],
            "l": [[str(n), None] for n in numbers],
            "a name": numbers,
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(rows(), tmp_path / "t.parquet", row_group_size=100)
    return tmp_path / "t.parquet"


C = pl.col
#: Filters of polars, and whether lakerace gets a part of them.
PREDICATES: list[tuple[pl.Expr, bool]] = [
    (C("n") == 5, True),
    (C("n") != 5, True),
    (C("small") >= 98, True),
    (C("n").is_in([1, 3, 49]), True),
    (~C("n").is_in([1, 3, 49]), True),
    (C("t").is_in(["it's 7", "nobody"]), True),
    (C("n").is_null(), True),
    (C("t").is_not_null() & (C("t") > "it's 98"), True),
    (~(C("n") < 990), True),
    (C("n").is_between(990, 995, closed="left"), True),
    (C("f") > 490, False),
    (C("f").is_nan(), False),
    ((C("f") > 490) & (C("n") < 995), True),
    ((C("f") > 490) | (C("n") < 5), False),
    (C("d") == decimal.Decimal("1.5"), True),
    (C("d") < decimal.Decimal("-0.005"), False),
    (C("d") == 1.5, False),
    (C("b"), True),
    (~C("b"), True),
    (C("day") >= datetime.date(2022, 9, 1), True),
    (C("us") == NOON, True),
    (C("us") > datetime.datetime(2020, 2, 11, 2, 59, 59, 999999), True),
    (C("ns") > datetime.datetime(2020, 2, 11, 2, 59, 59, 999999), True),
    (C("utc") > datetime.datetime(2020, 2, 11, tzinfo=UTC), True),
    (C("word") == "w1", True),
    (C("n") + 1 == 6, False),
    (C("n").eq_missing(None), True),
    (C("a name") == 7, False),
    (C("s").struct.field("q") == 7, False),
    (C("t").str.ends_with("99"), False),
]


@pytest.mark.parametrize(("predicate", "is_pushed"), PREDICATES, ids=[str(predicate) for predicate, _ in PREDICATES])
def test_polars_filters(path: Path, predicate: pl.Expr, is_pushed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[str | None] = []
    of = _lazy.filter_text
    monkeypatch.setattr(_lazy, "filter_text", lambda *given: (pushed.append(of(*given)), pushed[-1])[1])
    scan = lr.scan(path)
    found = scan.lazy().filter(predicate).select("a name").collect()
    assert found.equals(scan.to_polars().filter(predicate).select("a name"))
    assert [text is not None for text in pushed] == [is_pushed]


def test_polars_reads_what_a_query_needs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    narrowed = lr.Scan._narrowed
    monkeypatch.setattr(lr.Scan, "_narrowed", lambda self, *given: (asked.append(given), narrowed(self, *given))[1])
    scan = lr.scan(path)
    frame = scan.lazy()
    assert frame.collect_schema() == scan.to_polars().schema
    assert asked == []
    assert frame.collect().equals(scan.to_polars())
    assert frame.filter(C("n") < 7).select(C("small").sum()).collect().item() == 21
    assert sorted(asked[-1][0]) == ["n", "small"]
    assert asked[-1][1] == '("n" < 7)'
    assert frame.head(3).collect()["a name"].to_list() == [0, 1, 2]
    assert asked[-1][2] == 3
    assert frame.head(10).filter(C("n") > 7).collect().height == 2
    assert frame.filter(C("n") > 7).head(2).collect()["n"].to_list() == [8, 9]
    assert frame.select(pl.len()).collect().item() == 1000
    assert frame.filter(C("n") > 5000).collect().schema == scan.to_polars().schema
    assert frame.filter(C("n") > 5).join(frame.filter(C("n") < 9), on="n").collect().height == 3


def test_a_narrow_scan_stays_narrow(path: Path) -> None:
    narrow = lr.scan(path, columns=["s.q", "n", "t"], where="n >= 10", limit=20).lazy()
    names = narrow.collect_schema().names()
    assert len(names) == 3
    assert narrow.collect().equals(lr.scan(path, columns=["s.q", "n", "t"], where="n >= 10", limit=20).to_polars())
    # The rows are limited first.
    assert narrow.filter(C("n") >= 25).select("n").collect()["n"].to_list() == [25, 26, 27, 28, 29]
    assert narrow.select(names[0]).head(2).collect().to_series().to_list() == [{"q": 10}, {"q": 11}]
    part = lr.scan(path).tasks(3)[1].lazy()
    whole = part.collect()
    assert 0 < whole.height < 1000
    assert (
        part.filter(C("n") > 350).select("t").head(5).collect().equals(whole.filter(C("n") > 350).select("t").head(5))
    )


def test_errors_of_a_lazy_frame_name_the_file(path: Path) -> None:
    frame = lr.scan(path).lazy()
    path.unlink()
    with pytest.raises(Exception, match=r"t\.parquet"):
        frame.collect()


F = ds.field
#: Filters of pyarrow, and whether lakerace gets them.
EXPRESSIONS: list[tuple[ds.Expression, bool]] = [
    (F("n") == 5, True),
    ((F("n") > 5) & (F("t") == "it's 7"), True),
    ((F("n") > 995) | (F("small") == 3), True),
    (~(F("n") > 5), True),
    (F("n").isin([1, 3, 49]), True),
    (~F("n").isin([1, 3, 49]), True),
    (F("t").isin(["it's 7", "nobody"]), True),
    (F("n").isin([1, None]), False),
    (F("n").isin(range(100)), False),
    (F("n").is_null(), True),
    (F("n").is_valid(), True),
    (F("n") == 5.5, False),
    (F("f") > 490.0, False),
    (F("t") == 'a "quote"', False),
    (F("d") < decimal.Decimal("3.25"), True),
    (F("b") == True, True),  # noqa: E712
    (F("day") >= datetime.date(2022, 9, 1), True),
    (F("us") > NOON, True),
    (F("utc") > NOON.replace(tzinfo=UTC), True),
    (ds.field("s", "q") == 7, False),
    (F("n") + 1 == 6, False),
]


@pytest.mark.parametrize(("expression", "is_pushed"), EXPRESSIONS, ids=[str(e) for e, _ in EXPRESSIONS])
def test_dataset_filters(path: Path, expression: ds.Expression, is_pushed: bool) -> None:
    data = lr.scan(path, columns=[name for name in rows().schema.names if name != "a name"]).to_dataset()
    text = _dataset.filter_text(expression, data.schema)
    assert (text is not None) == is_pushed, text
    wanted = ds.dataset(path).to_table(filter=expression, columns=["t", "small"])
    assert data.to_table(filter=expression, columns=["t", "small"]).equals(wanted)
    assert data.count_rows(filter=expression) == wanted.num_rows


@pytest.mark.parametrize(
    "value", ["a" * 81, "a" * 99, "b" * 300, "é" * 70, "日" * 100, "\U0010ffff" * 90, "(... 1 chars omitted)"]
)
def test_lists_of_long_texts(tmp_path: Path, value: str) -> None:
    """pyarrow shows a list with its long values cut, and says nothing else of them."""
    table = pa.table({"t": [value, value[:-1], "x", None]})
    pq.write_table(table, tmp_path / "a.parquet")
    data = lr.scan(tmp_path / "a.parquet").to_dataset()
    for expression in (ds.field("t").isin([value]), ds.field("t").isin([value, "x"]), ~ds.field("t").isin([value])):
        assert data.to_table(filter=expression).to_pydict() == ds.dataset(table).to_table(filter=expression).to_pydict()
        assert data.count_rows(filter=expression) == ds.dataset(table).count_rows(filter=expression)
    found = duckdb.execute("SELECT count(*) FROM data WHERE t IN (?, 'none')", [value]).fetchall()
    assert found == [(1,)]


def test_dataset(path: Path) -> None:
    scan = lr.scan(path)
    data = scan.to_dataset()
    assert data.count_rows() == 1000
    assert data.to_table().to_pylist() == scan.to_arrow().to_pylist() or data.to_table().num_rows == 1000
    assert data.to_table(columns=["t"]).column_names == ["t"]
    assert data.to_table(columns={"twice": F("n") * 2})["twice"].to_pylist()[:3] == [0, 2, 4]
    assert data.head(3)["a name"].to_pylist() == [0, 1, 2]
    assert pickle.loads(pickle.dumps(data)).count_rows(filter=F("n") < 5) == 5
    # A name that reads like a part of an expression.
    assert _dataset.filter_text(F("n") == 5, data.schema) is None
    for call in (data.get_fragments, lambda: data.filter(F("n") == 1), lambda: data.replace_schema(data.schema)):
        with pytest.raises(NotImplementedError):
            call()


#: What stands behind WHERE, and whether lakerace gets a part of it.
CONDITIONS: list[tuple[str, bool]] = [
    ("n = 5", True),
    ("n > 5 AND t = 'it''s 7'", True),
    ("n IN (1, 3, 49)", True),
    ("n IS NULL", True),
    ("small BETWEEN 97 AND 98", True),
    ("d < 3.25", True),
    ("day >= DATE '2022-09-01'", True),
    ("us > TIMESTAMP '2020-02-11 00:00:00.5'", True),
    ("utc > TIMESTAMPTZ '2020-02-11 00:00:00+00'", True),
    ("f > 490", False),
    ("t LIKE '%99'", False),
    ("n + small = 10", False),
    ("s.q = 7", False),
    ("n = 1 OR small = 7", None),
]


@pytest.mark.parametrize(("condition", "is_pushed"), CONDITIONS)
def test_duckdb_asks_a_dataset(
    path: Path, condition: str, is_pushed: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []
    narrowed = lr.Scan._narrowed
    monkeypatch.setattr(lr.Scan, "_narrowed", lambda self, *given: (asked.append(given), narrowed(self, *given))[1])
    # duckdb gives no filter to a dataset with nanoseconds or dictionaries.
    names = ["n", "small", "f", "t", "d", "day", "us", "utc", "s"]
    data = lr.scan(path, columns=names).to_dataset()
    query = "SELECT count(*), sum(small), min(t) FROM {} WHERE {}"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("data", data)
        found = connection.sql(query.format("data", condition)).fetchall()
        columns, where, _ = asked[-1]
        # duckdb finds no NaN in a Parquet file that it leaves out by its statistics.
        connection.register("plain", data.to_table())
        assert found == connection.sql(query.format("plain", condition)).fetchall()
    assert {"small", "t"} <= set(columns)
    assert "utc" not in columns or "utc" in condition
    assert is_pushed is None or (where is not None) == is_pushed


def total(part: lr.Scan) -> int:
    return int(part.to_polars()["a name"].sum())


def test_tasks_go_to_other_processes(path: Path) -> None:
    tasks = lr.scan(path).tasks(4)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert sum(pool.map(total, tasks)) == sum(range(1000))


def partitioned(folder: Path) -> Path:
    """A folder whose partitions have other columns and narrower types."""
    parts = [{"a": pa.array([1], pa.int32())}, {"a": pa.array([2], pa.int64()), "c": ["x"]}]
    for number, part in enumerate(parts, 1):
        (folder / f"p={number}").mkdir(parents=True)
        pq.write_table(pa.table(part), folder / f"p={number}" / "a.parquet")
    return folder


def test_columns_do_not_depend_on_the_partitions_that_a_filter_keeps(tmp_path: Path) -> None:
    scan = lr.scan(partitioned(tmp_path / "t"))
    frame = scan.lazy().filter(C("p") == 1).collect()
    assert frame.equals(scan.to_polars().filter(C("p") == 1))
    data = scan.to_dataset()
    assert data.to_table(filter=ds.field("p") == 1).to_pylist() == [{"a": 1, "c": None, "p": 1}]
    assert duckdb.sql("SELECT * FROM data WHERE p = 1").fetchall() == [(1, None, 1)]
    for where in ("p = 1", "p = 1 AND c IS NULL"):
        tasks = lr.scan(tmp_path / "t", columns=["a", "c"], where=where).tasks(2)
        again = pickle.loads(pickle.dumps(tasks))
        assert [row for task in again for row in task.rows()] == [(1, None)]


def test_dask(path: Path) -> None:
    import dask.dataframe as dd

    scan = lr.scan(path, columns=["n", "small", "t"])
    frame = dd.from_map(lr.Scan.to_pandas, scan.tasks(4))
    assert frame.npartitions == 4
    assert int(frame["small"].sum().compute(scheduler="threads")) == sum(n % 100 for n in range(1000))
    assert len(frame) == 1000


def test_the_examples_of_the_guide_run() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "engines.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "engines.md", "exec"), names)
    assert names["late"].item() == names["total"][0][0]
    assert names["rows"] == names["counted"] == 15_000
