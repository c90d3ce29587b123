"""Rows that are sorted: duckdb's order of the same rows is the right one."""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import pickle
import random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 6000
START = datetime.datetime(2024, 2, 29, 23, 59, 59)
#: Few values of each type, so that many rows have the same one.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small": (pa.int8(), [-128, -1, 0, 1, 127]),
    "whole": (pa.int64(), [-(2**63), -7, 0, 7, 2**63 - 1]),
    "unsigned": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "float": (pa.float64(), [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 1e-310]),
    "single": (pa.float32(), [math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 2.5, -2.5]),
    "price": (pa.decimal128(9, 2), [decimal.Decimal(text) for text in ("-0.01", "0.00", "10.00", "9.99")]),
    "wide": (pa.decimal128(38, 10), [decimal.Decimal(text) for text in ("-1e20", "0", "1e20", "0.0000000001")]),
    "text": (pa.string(), ["", "a", "A", "ä", "z", "aa", "a\0", "日本", "a text that is too long for a view"]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", b"\xff", b"a", b"bytes that are too long for a view"]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "at": (pa.timestamp("us"), [START, START + datetime.timedelta(microseconds=1), datetime.datetime(1600, 1, 1)]),
    "instant": (pa.timestamp("us", "UTC"), [START, START - datetime.timedelta(days=1)]),
    "time": (pa.time64("us"), [datetime.time(0), datetime.time(12, 30, 1, 5), datetime.time(23, 59)]),
}
DIRECTIONS = ["", " asc", " desc", " nulls first", " desc nulls first", " desc nulls last"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A column of each type, with nulls, and the number of each row."""
    numbers = random.Random(7)
    columns: dict[str, pa.Array] = {"id": pa.array(range(ROWS))}
    for name, (kind, values) in VALUES.items():
        columns[name] = pa.array(numbers.choices([None, *values], k=ROWS), kind)
    columns["s"] = pa.StructArray.from_arrays(
        [columns["small"], columns["text"]], ["b", "c"], mask=pa.array([at % 5 == 0 for at in range(ROWS)])
    )
    return pa.table(columns)


@pytest.fixture(scope="module")
def file(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table in a Parquet file of many row groups."""
    path: Path = tmp_path_factory.mktemp("order") / "rows.parquet"
    pq.write_table(table, path, row_group_size=700)
    return path


def by_duckdb(judged: pa.Table, order: str, where: str = "true", limit: int | None = None) -> list[int]:
    """The numbers of the rows in order; those that are equal in it stay as they were."""
    rest = "" if limit is None else f" LIMIT {limit}"
    rows = duckdb.sql(f"SELECT id FROM judged WHERE {where} ORDER BY {order}, id{rest}").fetchall()
    return [row[0] for row in rows]


def ids(scan: lr.Scan) -> list[int]:
    """The numbers of the rows of a scan."""
    numbers: list[int] = scan.to_arrow()["id"].to_pylist()
    return numbers


@pytest.mark.parametrize("column", VALUES)
def test_each_type_sorts_as_in_duckdb(table: pa.Table, file: Path, column: str) -> None:
    for direction in DIRECTIONS:
        order = f'"{column}"{direction}'
        expected = by_duckdb(table, order)
        assert ids(lr.scan(file, order_by=order)) == expected, order
        assert ids(lr.scan(file, columns=["id"], order_by=order, limit=100)) == expected[:100], order


def test_several_terms_sort_as_in_duckdb(table: pa.Table, file: Path) -> None:
    numbers = random.Random(11)
    for _ in range(30):
        names = numbers.sample(list(VALUES), k=numbers.randint(2, 4))
        order = ", ".join(f'"{name}"{numbers.choice(DIRECTIONS)}' for name in names)
        limit = numbers.choice([None, 1, 10, 4000, ROWS, 2 * ROWS])
        memory = numbers.choice([None, 294_912, "500kB", "10MB"])
        expected = by_duckdb(table, order, limit=limit)
        found = lr.scan(file, order_by=order, limit=limit, memory_limit=memory).to_arrow()
        assert found["id"].to_pylist() == expected, (order, limit, memory)
        wanted = {name: table[name].take(pa.array(expected)).to_pylist() for name in ("text", "bytes", "s", "price")}
        assert {name: found[name].to_pylist() for name in wanted} == wanted


def test_computed_values_sort_as_in_duckdb(table: pa.Table, file: Path) -> None:
    for order, judged in [
        ("lower(text) desc", "lower(text) desc"),
        ("length(text), text desc", "length(text), text desc"),
        ("small + 1 desc nulls first", "small::int + 1 desc nulls first"),
        ("small IS NULL, small % 2, id desc", "small IS NULL, small % 2, id desc"),
        ("coalesce(whole, 0) desc", "coalesce(whole, 0) desc"),
        ("CASE WHEN flag THEN whole ELSE 0 END", "CASE WHEN flag THEN whole ELSE 0 END"),
    ]:
        assert ids(lr.scan(file, columns=["id"], order_by=order)) == by_duckdb(table, judged), order


def test_fields_of_structs_sort_as_in_duckdb(table: pa.Table, file: Path) -> None:
    expected = by_duckdb(table, "s.b desc, s.c")
    assert ids(lr.scan(file, order_by="s.b desc, s.c")) == expected
    found = lr.scan(file, columns=["s.c", "id"], order_by="s.b desc, s.c").to_arrow()
    assert found.column_names == ["s", "id"]
    assert [field.name for field in found.schema.field("s").type] == ["c"]
    assert found["id"].to_pylist() == expected
    texts = [None if row is None else row["c"] for row in table["s"].take(pa.array(expected)).to_pylist()]
    assert [None if row is None else row["c"] for row in found["s"].to_pylist()] == texts


@pytest.mark.parametrize("name", ["a.jsonl", "a.arrow", "a.orc"])
def test_fields_of_structs_sort_where_sources_read_whole_structs(table: pa.Table, tmp_path: Path, name: str) -> None:
    rows = table.select(["id", "s"])
    lr.copy(rows, tmp_path / name)
    expected = by_duckdb(rows, "s.b desc, s.c")
    for columns in (["id"], ["id", "s"]):
        found = lr.scan(tmp_path / name, columns=columns, order_by="s.b desc, s.c").to_arrow()
        assert found.column_names == columns
        assert found["id"].to_pylist() == expected
    with pytest.raises(lr.NotFoundError, match=r"s\.x"):
        lr.scan(tmp_path / name, columns=["id"], order_by="s.x").to_arrow()


def test_columns_of_the_order_need_not_be_returned(table: pa.Table, file: Path) -> None:
    found = lr.scan(file, columns=["text", "id"], where="whole >= 0", order_by="price desc, flag", limit=50)
    assert found.columns == ["text", "id"]
    assert ids(found) == by_duckdb(table, "price desc, flag", "whole >= 0", 50)
    assert found.count() == 50
    assert len(list(found)) == 50
    assert found.head(3).to_arrow()["id"].to_pylist() == ids(found)[:3]


@pytest.mark.parametrize("limit", [0, 1, ROWS - 1, ROWS, ROWS + 1, 10**12])
def test_limits(table: pa.Table, file: Path, limit: int) -> None:
    scan = lr.scan(file, order_by="text desc, small", limit=limit)
    assert ids(scan) == by_duckdb(table, "text desc, small", limit=limit)
    assert scan.count() == min(limit, ROWS)
    filtered = lr.scan(file, where="small > 0", order_by="text", limit=limit)
    assert ids(filtered) == by_duckdb(table, "text", "small > 0", limit)
    assert filtered.count() == len(ids(filtered))


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl", "arrow"])
def test_formats(table: pa.Table, tmp_path: Path, ending: str) -> None:
    rows = table.select(["id", "price", "text", "whole", "day"])
    target = tmp_path / f"rows.{ending}"
    lr.copy(rows, target)
    read = pa.table(lr.scan(target))
    for limit in (None, 20):
        expected = by_duckdb(read, "price desc, day nulls first", limit=limit)
        found = lr.scan(
            target, columns=["id"], order_by="price desc, day nulls first", limit=limit, memory_limit="200kB"
        )
        assert ids(found) == expected, limit


def test_tables_and_databases(table: pa.Table, tmp_path: Path) -> None:
    rows = table.select(["id", "price", "text", "small"])
    lr.copy(rows, f"delta:{tmp_path / 'lake'}", partition_by="small")
    lr.copy(rows, f"sqlite:{tmp_path / 'rows.db'}#rows", key="id")
    for source in (tmp_path / "lake", f"sqlite:{tmp_path / 'rows.db'}#rows"):
        found = ids(lr.scan(source, columns=["id"], where="small > 0", order_by="text desc, small, id desc", limit=99))
        assert found == by_duckdb(table, "text desc, small, id desc", "small > 0", 99), source


@pytest.mark.parametrize("memory_limit", [None, "82kB", "2MB"])
def test_more_rows_than_memory(tmp_path: Path, memory_limit: str | None) -> None:
    count = 60_000
    numbers = random.Random(3)
    rows = pa.table(
        {
            "id": range(count),
            "k": numbers.choices(range(500), k=count),
            "text": [f"{number:x}" * 5 for number in numbers.choices(range(1 << 40), k=count)],
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=5000)
    for order in ("k desc", "text", "k, text desc"):
        expected = by_duckdb(rows, order)
        scan = lr.scan(tmp_path / "rows.parquet", order_by=order, memory_limit=memory_limit)
        found = scan.to_arrow()
        assert found["id"].to_pylist() == expected
        assert found["text"].to_pylist() == rows["text"].take(pa.array(expected)).to_pylist()
        limited = lr.scan(tmp_path / "rows.parquet", order_by=order, memory_limit=memory_limit, limit=20_000)
        assert ids(limited) == expected[:20_000]


def test_large_rows(tmp_path: Path) -> None:
    texts = [f"{number * 7919 % 41:02}" * 50_000 for number in range(40)]
    rows = pa.table({"id": range(40), "text": texts})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=8)
    for limit in (None, 3):
        scan = lr.scan(tmp_path / "rows.parquet", order_by="text desc", memory_limit="1MB", limit=limit)
        assert ids(scan) == by_duckdb(rows, "text desc", limit=limit)


def test_batches_have_the_size_that_is_asked_for(file: Path) -> None:
    sizes = [batch.num_rows for batch in lr.scan(file, order_by="text", batch_rows=2500).batches()]
    assert sizes == [2500, 2500, 1000]
    assert [batch.num_rows for batch in lr.scan(file, order_by="text", batch_rows="all").batches()] == [ROWS]


def test_engines_get_the_rows_in_order(table: pa.Table, file: Path) -> None:
    scan = lr.scan(file, order_by="price desc, text", limit=70)
    expected = by_duckdb(table, "price desc, text", limit=70)
    assert pl.DataFrame(scan)["id"].to_list() == expected
    assert scan.lazy().head(9).collect()["id"].to_list() == expected[:9]
    assert scan.lazy().filter(pl.col("id") > 1000).select("id").collect()["id"].to_list() == [
        number for number in expected if number > 1000
    ]
    assert scan.to_dataset().to_table(columns=["id"])["id"].to_pylist() == expected
    assert ids(pickle.loads(pickle.dumps(scan))) == expected
    assert scan.checksum() == lr.checksum(table.take(pa.array(expected))).checksum
    assert lr.scan(file, order_by="text").checksum() == lr.scan(file).checksum()
    done = run("scan", file, "--order-by", "text", "--checksum")
    assert (done.code, "a checksum does not depend on the order of the rows" in done.err) == (2, True)
    assert (
        ok("scan", file, "--order-by", "price desc, text", "--limit", "70", "--checksum").out.strip() == scan.checksum()
    )


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_copies_are_sorted(table: pa.Table, file: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"sorted.{ending}"
    copied = lr.copy(
        file,
        target,
        columns=["id", "text"],
        order_by="price, whole desc",
        limit=3000,
        memory_limit="100kB",
        verify=True,
    )
    assert copied.rows == 3000
    expected = by_duckdb(table, "price, whole desc", limit=3000)
    assert ids(lr.scan(target)) == expected
    planned = lr.copy(file, tmp_path / "other.parquet", order_by="price", limit=10, dry_run=True).planned
    assert planned is not None
    assert planned.rows == 10
    lr.copy(lr.scan(file, columns=["id"], order_by="price, whole desc"), tmp_path / "scan.parquet")
    assert ids(lr.scan(tmp_path / "scan.parquet")) == by_duckdb(table, "price, whole desc")


def test_a_sorted_load_is_resumed(table: pa.Table, file: Path, tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'rows.db'}#rows"
    options: dict[str, Any] = {"columns": ["id", "text"], "key": "id", "batch_rows": 1000}
    lr.copy(file, target, order_by="text, price", limit=2500, **options)
    again = lr.copy(file, target, order_by="text, price", limit=2500, resume=True, mode="append", **options)
    assert (again.rows, again.skipped) == (0, 2500)
    assert sorted(ids(lr.scan(target))) == sorted(by_duckdb(table, "text, price", limit=2500))


def test_the_command_sorts(table: pa.Table, file: Path, tmp_path: Path) -> None:
    expected = by_duckdb(table, "price desc, day", limit=5)
    printed = ok("scan", file, "--columns", "id", "--order-by", "price desc, day", "--limit", 5, "--format", "csv")
    assert printed.out.split() == ["id", *map(str, expected)]
    sort = ["--columns", "id", "--order-by", "price desc, day", "--limit", 5, "--memory-limit", "1MB"]
    ok("copy", file, tmp_path / "out.csv", *sort)
    assert ids(lr.scan(tmp_path / "out.csv", columns=["id"])) == expected
    explained = ok("scan", file, "--columns", "id", "--order-by", "price desc", "--limit", 5, "--explain").out
    assert explained.splitlines()[:3] == ["columns   id, price", "order by  price desc", "limit     5"]
    told = ok("scan", file, "--order-by", "price desc", "--explain", "--json").json["explain"]
    assert told["order_by"] == "price desc"


def test_options_that_do_not_apply_are_refused(file: Path, tmp_path: Path) -> None:
    for arguments in (["--order-by", "id", "--count"], ["--memory-limit", "1MB"]):
        assert run("scan", file, *arguments).code == 2, arguments
    target = f"delta:{tmp_path / 'lake'}"
    since = ["--mode", "upsert", "--key", "id", "--since", "id", "--order-by", "id", "--json"]
    done = run("copy", file, target, *since)
    assert (done.code, done.error["kind"]) == (2, "usage")
    assert "--order-by" in done.error["advice"]
    with pytest.raises(lr.UsageError, match="order_by"):
        lr.copy(pa.table({"a": [1]}), tmp_path / "a.parquet", order_by="a")
    with pytest.raises(lr.UsageError, match="order_by"):
        lr.scan(file, order_by="id").tasks(2)
    with pytest.raises(lr.UsageError, match="memory_limit"):
        lr.scan(file, memory_limit="1MB")
    with pytest.raises(lr.UsageError, match=r"memory_limit does not apply.*and rows that are sorted with order_by"):
        lr.copy(file, tmp_path / "a.csv", memory_limit="1MB")


@pytest.mark.parametrize("columns", [None, ["id"]])
def test_errors_name_the_column(file: Path, columns: list[str] | None) -> None:
    with pytest.raises(lr.NotFoundError, match=r'no column "prise".*"price"'):
        lr.scan(file, columns=columns, order_by="prise desc")
    with pytest.raises(lr.UnsupportedError, match="struct"):
        lr.scan(file, columns=columns, order_by="s")
    for order, message in [
        ("", "empty"),
        ("id up", "unexpected up after the end of the order"),
        ("id,", "the end of the order"),
        ("1", "same for all rows"),
        ("id % ?", "a placeholder has no value .* other options take no [?]"),
        (["id desc", "price"], "order_by is one text, not a list: write 'id desc, price'"),
    ]:
        with pytest.raises(lr.UsageError, match=message):
            lr.scan(file, columns=columns, order_by=order)  # type: ignore[arg-type]
    with pytest.raises(lr.UnsupportedError, match="the function count can't be used here"):
        lr.scan(file, columns=columns, order_by="count(*)")


def test_all_orders_of_files_that_a_filter_leaves_out(tmp_path: Path) -> None:
    for part, extra in itertools.product((1, 2), (False, True)):
        rows: dict[str, Any] = {"id": [10 * part + extra]} | ({"other": [part]} if extra else {})
        target = tmp_path / f"part={part}" / f"{extra}.parquet"
        target.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(rows), target)
    found = lr.scan(tmp_path, columns=["id"], where="part = 2", order_by="other, id desc")
    assert ids(found) == [21, 20]
    assert ids(lr.scan(tmp_path, columns=["id"], order_by="part desc, other nulls first, id")) == [20, 21, 10, 11]
    named = lr.scan(tmp_path, columns=["id"], file_name_column="file", order_by="file desc", where="part = 1")
    assert ids(named) == [11, 10]


def test_notes_of_all_rows_are_left_out(tmp_path: Path) -> None:
    frame = pa.table({"id": [3, 1, 2]}).to_pandas()
    frame.to_parquet(tmp_path / "frame.parquet")
    lr.copy(tmp_path / "frame.parquet", tmp_path / "sorted.parquet", order_by="id")
    notes = pq.read_schema(tmp_path / "sorted.parquet").pandas_metadata
    assert notes is None or all(isinstance(column, str) for column in notes["index_columns"])
    assert ids(lr.scan(tmp_path / "sorted.parquet")) == [1, 2, 3]


def test_words_of_orders_are_names_where_sql_takes_them(tmp_path: Path) -> None:
    """`nulls`, `first` and `last` are names; `asc` and `desc` are reserved, as in duckdb."""
    judged = pa.table(
        {
            "id": [0, 1, 2],
            "nulls": [2, None, 1],
            "first": [1, 2, None],
            "last": [3, 1, 2],
            "desc": [1, 3, 2],
            "asc": [3, 2, 1],
        }
    )
    lr.copy(judged, tmp_path / "words.parquet")
    names, endings = ["nulls", "first", "last"], [" asc", *DIRECTIONS]
    orders = [f"{name}{ending}" for name in [*names, '"desc"', '"asc"'] for ending in endings]
    orders += ["nulls, first", "last + 0 desc", "-nulls", "first is null, last", "nulls + first nulls first"]
    for order in orders:
        assert ids(lr.scan(tmp_path / "words.parquet", order_by=order)) == by_duckdb(judged, order), order
    for order in ("desc", "desc desc", "asc", "asc nulls first", "id, DESC", "nulls first", "nulls nulls", "id first"):
        with pytest.raises(duckdb.ParserException):
            by_duckdb(judged, order)
        with pytest.raises(lr.UsageError, match="order_by: line 1 column"):
            lr.scan(tmp_path / "words.parquet", order_by=order)
    done = run("scan", tmp_path / "words.parquet", "--order-by", "desc")
    assert done.code == 2
    assert 'desc is a direction, and no column stands before it (write "desc" in quotes' in done.err
