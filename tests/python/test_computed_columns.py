"""Columns that a scan computes: duckdb and polars compute the same of the same rows."""

from __future__ import annotations

import datetime
import decimal
import pickle
import random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 3000
#: Computed columns that duckdb reads in the same way.
ITEMS = [
    "id as number",
    "price * 1.2 as gross",
    "price + whole as total",
    "cast(price as decimal(20, 4)) as price",
    "whole % 7 as rest",
    "-whole + 1 as next",
    "float / 2 as half",
    "lower(text) as text",
    "length(text) as n",
    "concat(text, '-', cast(id as text)) as tag",
    "coalesce(whole, 0) as known",
    "case when flag then 'yes' when flag is null then 'none' else 'no' end as word",
    "date_trunc('month', moment) as month",
    "day + 1 as tomorrow",
    "price > 5 as dear",
    "text is null or whole > 0 as either",
    "text like 'A%' as has_a",
    "'web' as source",
    "try_cast(text as bigint) as digits",
]

JSON_SCHEMA = (
    "id int64, price decimal(12,2), whole int64, float float64, text utf8, flag bool, day date32, moment timestamp(us)"
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Rows of several types, with nulls."""
    numbers = random.Random(17)
    start = datetime.datetime(2024, 2, 28, 23, 59, 59)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(numbers.choices([None, *values], k=ROWS), kind)

    columns: dict[str, pa.Array] = {
        "id": pa.array(range(ROWS)),
        "price": some([decimal.Decimal(text) for text in ("0.01", "9.99", "-5.00", "123456.78")], pa.decimal128(12, 2)),
        "whole": some([-(2**40), -7, 0, 1, 9, 2**40], pa.int64()),
        "float": some([0.1, -2.5, 1e300, 7.0], pa.float64()),
        "text": some(["Ab", "A", "12", "x y", "a text that is too long for a view"], pa.string()),
        "flag": some([True, False], pa.bool_()),
        "day": some([datetime.date(2024, 2, 28), datetime.date(1969, 12, 31)], pa.date32()),
        "moment": some([start, start + datetime.timedelta(days=40)], pa.timestamp("us")),
    }
    columns["s"] = pa.StructArray.from_arrays(
        [columns["whole"], columns["text"]], ["b", "c"], mask=pa.array([at % 5 == 0 for at in range(ROWS)])
    )
    return pa.table(columns)


@pytest.fixture(scope="module")
def file(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table in a Parquet file of many row groups."""
    path: Path = tmp_path_factory.mktemp("computed") / "rows.parquet"
    pq.write_table(table, path, row_group_size=500)
    return path


def by_duckdb(judged: pa.Table, items: list[str], rest: str = "ORDER BY id") -> list[dict[str, Any]]:
    """The rows that duckdb computes."""
    rows: list[dict[str, Any]] = (
        duckdb.sql(f"SELECT {', '.join(items)} FROM judged {rest}").to_arrow_table().to_pylist()
    )
    return rows


def rows_of(scan: lr.Scan) -> list[dict[str, Any]]:
    """The rows of a scan."""
    rows: list[dict[str, Any]] = scan.to_arrow().to_pylist()
    return rows


def wanted_bytes(scan: lr.Scan) -> int:
    """Bytes that a scan plans to read."""
    return int(scan.explain().to_dict()["plan"]["requests"]["wanted_bytes"])


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl", "arrow"])
def test_formats_give_the_values_of_duckdb(table: pa.Table, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"rows.{ending}"
    lr.copy(table.drop_columns(["s"]), target)
    # In JSON, days and decimals are texts and floats.
    typed: dict[str, Any] = {"schema": JSON_SCHEMA} if ending == "jsonl" else {}
    judged = pa.table(lr.scan(target, **typed))
    found = lr.scan(target, columns=ITEMS, **typed)
    assert found.columns == [item.rsplit(" ", 1)[1] for item in ITEMS]
    assert rows_of(found) == by_duckdb(judged, ITEMS)
    some = lr.scan(
        target, columns=ITEMS, where="whole > 0 and price is not null", order_by="id desc", limit=70, **typed
    )
    expected = by_duckdb(judged, ITEMS, "WHERE whole > 0 AND price IS NOT NULL ORDER BY id DESC LIMIT 70")
    assert rows_of(some) == expected
    assert some.count() == 70


def test_tables_and_databases_give_the_values_of_duckdb(table: pa.Table, tmp_path: Path) -> None:
    lr.copy(table.drop_columns(["s"]), f"delta:{tmp_path / 'lake'}", partition_by="flag")
    lr.copy(table.select(["id", "whole", "text"]), f"sqlite:{tmp_path / 'rows.db'}#rows", key="id")
    found = lr.scan(tmp_path / "lake", columns=ITEMS, order_by="number", where="flag")
    assert rows_of(found) == by_duckdb(table, ITEMS, "WHERE flag ORDER BY id")
    items = ["whole + 1 as more", "upper(text) as text", "id as key"]
    scan = lr.scan(f"sqlite:{tmp_path / 'rows.db'}#rows", columns=items, where="whole > 0", order_by="key")
    assert rows_of(scan) == by_duckdb(table, items, "WHERE whole > 0 ORDER BY id")


def test_polars_computes_the_same(table: pa.Table, file: Path) -> None:
    frame = pl.DataFrame(table)
    expected = frame.select(
        (pl.col("whole") * 2 - pl.col("id")).alias("x"),
        pl.col("text").str.to_uppercase().alias("TEXT"),
        pl.col("price").alias("cost"),
        pl.col("s").struct.field("c").alias("c"),
        pl.col("day").dt.offset_by("3d").alias("later"),
    )
    columns = ["whole * 2 - id as x", "upper(text) as TEXT", "price as cost", "s.c as c", "day + 3 as later"]
    assert lr.scan(file, columns=columns).to_polars().equals(expected)
    assert lr.scan(file, columns=columns).lazy().collect().equals(expected)


@pytest.mark.parametrize("ending", ["parquet", "orc", "jsonl", "arrow"])
def test_fields_of_structs(table: pa.Table, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"rows.{ending}"
    lr.copy(table.select(["id", "s"]), target)
    judged = pa.table(lr.scan(target))
    items = ["s.c as name", "id", "coalesce(s.b, -1) as b", "s as whole"]
    assert rows_of(lr.scan(target, columns=items, order_by="name, id")) == by_duckdb(judged, items, "ORDER BY name, id")
    by_field = lr.scan(target, columns=["s as t", "id"], order_by="t.b desc, id", limit=9)
    assert rows_of(by_field) == by_duckdb(judged, ["s as t", "id"], "ORDER BY s.b DESC, id LIMIT 9")


def test_plain_fields_of_structs_stay_as_they_are(table: pa.Table, file: Path) -> None:
    found = lr.scan(file, columns=["s.c", "id", "s.b", "lower(s.c) as lower", "s.b + 1 as more"])
    plain = lr.scan(file, columns=["s.c", "id", "s.b"]).to_arrow()
    assert found.to_arrow().select(["s", "id"]).equals(plain)
    assert found.columns == ["s", "id", "lower", "more"]
    one = lr.scan(file, columns=["s.c", "s as all_of_it"]).to_arrow()
    assert [field.name for field in one.schema.field("s").type] == ["c"]
    assert one["all_of_it"].to_pylist() == table["s"].to_pylist()


def test_types_nulls_and_metadata(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("a", pa.int32(), nullable=False, metadata={"comment": "the key"}),
            pa.field("d", pa.decimal128(38, 2)),
            pa.field("s", pa.struct([pa.field("x", pa.int8(), nullable=False)])),
        ]
    )
    most = decimal.Decimal("9" * 36 + ".99")
    rows = pa.table(
        {"a": [1, 2], "d": pa.array([most, None], pa.decimal128(38, 2)), "s": [{"x": 3}, None]}, schema=schema
    )
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as out, pa.ipc.new_file(out, schema) as writer:
        writer.write_table(rows)
    found = lr.scan(tmp_path / "rows.arrow", columns=["a as b", "a + 0 as c", "s.x as x", "d - 1 as d", "1.50 as e"])
    fields = {field.name: field for field in found.schema}
    assert (fields["b"].type, fields["b"].nullable) == (pa.int32(), False)
    assert fields["b"].metadata == {b"comment": b"the key"}
    assert (fields["c"].type, fields["c"].nullable, fields["c"].metadata) == (pa.int64(), True, None)
    assert (fields["x"].type, fields["x"].nullable) == (pa.int8(), True)
    assert (fields["e"].type, fields["e"].nullable) == (pa.decimal128(3, 2), False)
    assert found.to_arrow()["x"].to_pylist() == [3, None]
    assert found.to_arrow()["d"].to_pylist() == [decimal.Decimal("9" * 35 + "8.99"), None]
    with pytest.raises(lr.InvalidInputError, match=r'"d \* 9 as d": '):
        lr.scan(tmp_path / "rows.arrow", columns=["d * 9 as d"]).to_arrow()


def test_field_ids_stay_those_of_one_column(tmp_path: Path) -> None:
    def field(name: str, number: int) -> pa.Field:
        return pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})

    rows = pa.table({"a": [1], "b": [2]}, schema=pa.schema([field("a", 1), field("b", 2)]))
    pq.write_table(rows, tmp_path / "rows.parquet")
    columns = ["a as first", "b as second", "a", "b as third", "a + b as sum"]
    lr.copy(tmp_path / "rows.parquet", tmp_path / "out.parquet", columns=columns)
    written = pq.read_schema(tmp_path / "out.parquet")
    ids = [(field.metadata or {}).get(b"PARQUET:field_id") for field in written]
    assert (written.names, ids) == (["first", "second", "a", "third", "sum"], [None, b"2", b"1", None, None])
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [
        {"first": 1, "second": 2, "a": 1, "third": 2, "sum": 3}
    ]


def test_orders_see_new_names_first(table: pa.Table, file: Path) -> None:
    found = lr.scan(file, columns=["-id as id", "whole as id2"], order_by="id", limit=3)
    assert found.to_arrow()["id"].to_pylist() == [1 - ROWS, 2 - ROWS, 3 - ROWS]
    items = ["price * 2 as twice", "id"]
    for order in (
        "twice desc, id",
        "whole, id desc",
        "twice % 3, whole desc, id",
        "case when twice > 1 then id end, id",
    ):
        for memory in (None, "64KiB"):
            scan = lr.scan(file, columns=items, order_by=order, memory_limit=memory)
            assert rows_of(scan) == by_duckdb(table, items, f"ORDER BY {order.replace('twice', '(price * 2)')}"), order
    # A filter sees the columns of the source.
    filtered = lr.scan(file, columns=["-id as id"], where="id < 3", order_by="id")
    assert filtered.to_arrow()["id"].to_pylist() == [-2, -1, 0]


def test_only_needed_columns_are_read(file: Path) -> None:
    def of(*columns: str, **options: Any) -> int:
        return wanted_bytes(lr.scan(file, columns=columns, **options))

    assert of("id * 2 as x", "id + 1 as y") == of("id")
    assert of("price * whole as x", "text") == of("price", "whole", "text")
    assert of("s.b + 1 as x") == of("s.b") < of("s")
    assert of("1 as x") == of()
    assert of("id as x", order_by="x") == of("id")
    assert of("id as x", where="whole > 3") == of("id", where="whole > 3")
    # With a fixed size: by default, the measured speed of the disk decides which gaps are read.
    lists = (["lower(text) as text"], ["text"])
    computed, plain = (lr.scan(file, columns=columns, min_seek_size=0) for columns in lists)
    assert computed.to_arrow().num_rows == plain.to_arrow().num_rows == ROWS
    reports = [scan.report() for scan in (computed, plain)]
    assert reports[0]["bytes_read"] == reports[1]["bytes_read"]
    assert reports[0]["requests"] == reports[1]["requests"]


def test_filters_leave_out_row_groups(file: Path) -> None:
    plan = lr.scan(file, columns=["id * 2 as x"], where="id >= 2500").explain().to_dict()["plan"]
    assert sum(unit["pruned"] is None for unit in plan["files"][0]["units"]) == 1
    # A value is not computed for rows that the filter leaves out.
    numbers = lr.scan(file, columns=["cast(text as int) as n"], where="text = '12'").to_arrow()["n"]
    assert set(numbers.to_pylist()) == {12}


def test_all_ways_to_take_the_rows(table: pa.Table, file: Path) -> None:
    items = ["id as key", "price * 2 as twice", "text"]
    scan = lr.scan(file, columns=items)
    expected = by_duckdb(table, items)
    assert len(scan) == scan.count() == ROWS
    assert rows_of(scan.head(4)) == expected[:4]
    assert list(scan) == [tuple(row.values()) for row in expected]
    assert list(scan.rows(named=True)) == expected
    assert [row for batch in scan.batches() for row in batch.to_pylist()] == expected
    assert rows_of(pickle.loads(pickle.dumps(scan))) == expected
    tasks = [pickle.loads(pickle.dumps(task)) for task in scan.tasks(3)]
    assert len(tasks) == 3
    assert [row for task in tasks for row in rows_of(task)] == expected
    assert sum(task.count() for task in tasks) == ROWS
    plain = pa.Table.from_pylist(expected, schema=scan.schema)
    assert scan.checksum() == lr.checksum(plain).checksum
    assert lr.scan(file, columns=items, order_by="twice").checksum() == scan.checksum()
    sizes = [batch.num_rows for batch in lr.scan(file, columns=items, batch_rows=1250).batches()]
    assert sizes == [1250, 1250, 500]
    with pytest.raises(lr.UsageError, match="order_by"):
        lr.scan(file, columns=items, order_by="twice").tasks(2)


def test_engines_filter_the_new_columns(table: pa.Table, file: Path) -> None:
    # The names are those of other columns of the source.
    items = ["id as whole", "whole as id", "price * 2 as price", "text"]
    scan = lr.scan(file, columns=items)
    expected = by_duckdb(table, ["id", "price * 2 as price"], "WHERE id > 2990 AND price * 2 > 0 ORDER BY id")
    frame = scan.lazy().filter(pl.col("whole") > 2990, pl.col("price") > 0).select("whole", "price").collect()
    assert frame.rows() == [tuple(row.values()) for row in expected]
    data = scan.to_dataset()
    query = "SELECT whole, price FROM {} WHERE whole > 2990 AND price > 0 ORDER BY whole"
    assert duckdb.sql(query.format("data")).fetchall() == frame.rows()
    found = data.to_table(columns=["price"], filter=pc.field("whole") > 2990)["price"].to_pylist()
    assert found == [None if price is None else price * 2 for price in table["price"].to_pylist()[2991:]]
    assert data.count_rows(filter=pc.field("whole") > 2990) == 9
    assert [tuple(row.values()) for row in lr.sql(query.format("t"), t=scan).to_arrow().to_pylist()] == frame.rows()
    # An engine reads the columns that it needs, and no others.
    assert wanted_bytes(scan._narrowed(["whole"], None, None)) == wanted_bytes(lr.scan(file, columns=["id"]))
    assert scan.lazy().head(3).select("id").collect()["id"].to_list() == table["whole"].to_pylist()[:3]


def test_fields_of_one_struct_reach_engines(file: Path) -> None:
    for columns in (["s.c", "s.b", "id"], ["s.c", "id as key", "s.b", "lower(s.c) as s2"]):
        scan = lr.scan(file, columns=columns)
        assert scan.lazy().select("s").collect()["s"].struct.fields == ["b", "c"]
        assert scan.to_dataset().to_table(columns=["s"])["s"].to_pylist() == scan.to_arrow()["s"].to_pylist()


def test_columns_with_as_in_their_names(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2], "a as b": [3, 4], "c": [5, 6]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    scan = lr.scan(tmp_path / "rows.parquet")
    assert scan.lazy().filter(pl.col("a as b") > 3).select("a as b").collect().rows() == [(4,)]
    assert scan.to_dataset().to_table(columns=["a as b"])["a as b"].to_pylist() == [3, 4]
    quoted = lr.scan(tmp_path / "rows.parquet", columns=['"a as b" as "a as b"', "a as b"]).to_arrow()
    assert quoted.to_pydict() == {"a as b": [3, 4], "b": [1, 2]}
    printed = ok("scan", tmp_path / "rows.parquet", "--columns", '"a as b",a as b', "--format", "csv").out
    assert printed.splitlines() == ["a as b,b", "3,1", "4,2"]


@pytest.mark.parametrize(
    "target", ["out.parquet", "out.orc", "out.csv", "out.jsonl", "out.arrow", "delta:lake", "sqlite:out.db#rows"]
)
def test_copies_have_the_computed_columns(table: pa.Table, file: Path, tmp_path: Path, target: str) -> None:
    kind, _, name = target.rpartition(":")
    place = f"{kind}:{tmp_path / name}" if kind else str(tmp_path / name)
    items = ["id as key", "price * 2 as price", "upper(text) as word", "s.b as b", "'web' as source"]
    options: dict[str, Any] = {"key": "key"} if kind == "sqlite" else {}
    copied = lr.copy(file, place, columns=items, where="id < 500", order_by="key desc", verify=True, **options)
    assert copied.rows == 500
    found = lr.scan(place, order_by="key").to_arrow()
    assert found.column_names == ["key", "price", "word", "b", "source"]
    judged = found.set_column(1, "price", found["price"].cast(pa.decimal128(14, 2)))
    assert judged.to_pylist() == by_duckdb(table, items, "WHERE id < 500 ORDER BY id")


def test_a_scan_is_copied_and_planned(table: pa.Table, file: Path, tmp_path: Path) -> None:
    scan = lr.scan(file, columns=["id as key", "price / 2 as half"], where="id < 9")
    lr.copy(scan, tmp_path / "out.parquet")
    assert rows_of(lr.scan(tmp_path / "out.parquet")) == rows_of(scan)
    planned = lr.copy(file, f"delta:{tmp_path / 'lake'}", columns=["id as key"], limit=10, dry_run=True).planned
    assert planned is not None
    assert planned.rows == 10
    lr.copy(file, f"delta:{tmp_path / 'lake'}", columns=["id as key", "flag as part"], partition_by="part")
    assert lr.scan(tmp_path / "lake", where="part").count() == table["flag"].to_pylist().count(True)


def test_upserts_from_a_source_with_other_names(tmp_path: Path) -> None:
    lake = f"delta:{tmp_path / 'lake'}"
    table = lr.Table(lake, key="id")
    table.upsert(pa.table({"id": ["001", "002"], "price": pa.array([1, 2], pa.decimal128(10, 2)), "note": ["a", "b"]}))
    (tmp_path / "new.csv").write_text("number,cost,price\n002,7.125,free\n003,8.5,dear\n")
    columns = ["number as id", "cast(cost as decimal(10, 2)) * 2 as price", "upper(price) as note"]
    listed = ", ".join(columns)
    ok("upsert", tmp_path / "lake", tmp_path / "new.csv", "--key", "id", "--columns", listed)
    # The renamed column is read in the type of the table's column: a text.
    expected = [
        {"id": "001", "price": decimal.Decimal("1.00"), "note": "a"},
        {"id": "002", "price": decimal.Decimal("14.26"), "note": "FREE"},
        {"id": "003", "price": decimal.Decimal("17.00"), "note": "DEAR"},
    ]
    assert rows_of(lr.scan(lake, order_by="id")) == expected
    lr.copy(lr.scan(lake), tmp_path / "source.parquet")
    changed = lr.scan(tmp_path / "source.parquet", columns=["concat('9', id) as id", "price", "lower(note) as note"])
    table.upsert(changed)
    assert [row["note"] for row in rows_of(lr.scan(lake, order_by="id"))] == ["a", "FREE", "DEAR", "a", "free", "dear"]
    gone = lr.scan(lake, columns=["concat('9', id) as id"], where="length(id) = 3")
    assert table.delete_keys(gone).rows == 3


def test_text_is_computed_in_the_types_of_the_table(tmp_path: Path) -> None:
    table = lr.Table(f"delta:{tmp_path / 'lake'}", key="code")
    price = pa.array([decimal.Decimal("1.10")], pa.decimal128(10, 2))
    table.upsert(pa.table({"code": ["a01"], "price": price}))
    (tmp_path / "new.csv").write_text("code,price\n007,1.10\n")
    ok("upsert", tmp_path / "lake", tmp_path / "new.csv", "--columns", "concat('b', code) as code,price * 3 as price")
    assert lr.scan(tmp_path / "lake", where="code = 'b007' and price = 3.30").count() == 1


def test_other_values_are_another_load(file: Path, tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'rows.db'}#rows"
    options: dict[str, Any] = {"key": "id", "batch_rows": 100, "limit": 500}
    lr.copy(file, target, columns=["id", "whole + 1 as n"], **options)
    again = lr.copy(file, target, columns=["id", "whole + 1 as n"], resume=True, mode="append", **options)
    assert (again.rows, again.skipped) == (0, 500)
    other = lr.copy(file, target, columns=["id", "whole + 2 as n"], resume=True, mode="upsert", **options)
    assert (other.rows, other.skipped) == (500, 0)
    assert rows_of(lr.scan(target, order_by="id")) == rows_of(
        lr.scan(file, columns=["id", "whole + 2 as n"], limit=500)
    )


def test_incremental_copies(file: Path, tmp_path: Path) -> None:
    lake = f"delta:{tmp_path / 'lake'}"
    options: dict[str, Any] = {"since": "id", "mode": "upsert", "key": "id"}
    assert lr.copy(file, lake, columns=["id", "price * 2 as twice"], **options).rows == ROWS
    assert lr.copy(file, lake, columns=["id", "price * 2 as twice"], **options).rows == 0
    assert lr.copy(file, lake, columns=["id", "price * 4 as twice"], **options).rows == ROWS
    with pytest.raises(lr.UsageError, match="is computed, but rows are read from the highest value"):
        lr.copy(file, lake, columns=["id + 1 as id", "price"], **options)


def test_differences_of_computed_columns(file: Path, tmp_path: Path) -> None:
    lr.copy(file, tmp_path / "other.parquet", columns=["id", "case when id = 7 then -1 else whole end as whole"])
    items = "id as key, whole * 2 as twice"
    done = run("diff", file, tmp_path / "other.parquet", "--key", "key", "--columns", items, "--format", "csv")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0] == "_change_type,key,twice,_changed_columns"
    assert [line.split(",")[1:3] for line in lines[2:]] == [["7", "-2"]]


def test_the_command_shows_what_is_computed_and_read(file: Path) -> None:
    arguments = ["scan", file, "--columns", "coalesce(whole, 0) as w, id", "--where", "id < 3", "--order-by", "w"]
    explained = ok(*arguments, "--explain").out.splitlines()
    assert explained[:2] == ["columns   coalesce(whole, 0) as w, id", "reads     id, whole"]
    told = ok(*arguments, "--explain", "--json").json["explain"]
    assert told["columns"] == ["coalesce(whole, 0) as w", "id"]
    assert told["plan"]["request"]["columns"] == ["id", "whole"]
    assert "columns" not in ok("scan", file, "--columns", "id", "--explain", "--json").json["explain"]
    assert ok(*arguments, "--format", "csv").out.splitlines()[0] == "w,id"
    assert ok("scan", file, "--columns", "cast(text as int) as n", "--count").out == f"{ROWS}\n"


def test_a_column_only_in_files_that_a_filter_leaves_out(tmp_path: Path) -> None:
    for part, rows in ((1, {"id": [1], "extra": [5]}), (2, {"id": [2]})):
        (tmp_path / f"part={part}").mkdir()
        pq.write_table(pa.table(rows), tmp_path / f"part={part}" / "rows.parquet")
    found = lr.scan(tmp_path, columns=["coalesce(extra, 0) as extra", "part * 10 as part"], where="part = 2")
    assert rows_of(found) == [{"extra": 0, "part": 20}]
    named = lr.scan(tmp_path, columns=["length(file) > 5 as has_name"], file_name_column="file")
    assert rows_of(named) == [{"has_name": True}] * 2


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (
            ["prise * 2 as p"],
            lr.NotFoundError,
            r'rows\.parquet: "prise \* 2 as p": there is no column "prise".*"price"',
        ),
        (["price * 2"], lr.NotFoundError, r'give a value its name, as in columns=\["price \* 2 as name"\]'),
        (["id as my number"], lr.NotFoundError, "double quotes"),
        (["s.x as x"], lr.NotFoundError, r"s\.x"),
        (["*"], lr.UsageError, r"rows\.parquet: columns: \* is not a column .*omit columns"),
        (["* as x"], lr.UsageError, "stands for all columns"),
        (["sum(price) as s"], lr.UnsupportedError, r"columns: .*the function sum can't be used here .*`sql\(\)`"),
        (["count(*) as n"], lr.UnsupportedError, "aggregates rows"),
        (["id", "whole as id"], lr.UsageError, 'several columns have the name "id"'),
        (["id", "id", "whole as w"], lr.UsageError, 'several columns have the name "id"'),
        (["s", "s.b", "whole as w"], lr.UsageError, 'several columns have the name "s"'),
        (["id as a", "whole as a"], lr.UsageError, 'several columns have the name "a"'),
        (["price * as p"], lr.UsageError, r'columns: "price \* as p": line 1'),
        (["id + ? as x"], lr.UsageError, "placeholder"),
        (['id as ""'], lr.UsageError, "the name after AS is empty"),
        (["lower(price) as x"], lr.InvalidInputError, r'rows\.parquet: "lower\(price\) as x": lower takes text'),
        (["cast(text as int) as n"], lr.InvalidInputError, r'"cast\(text as int\) as n": .*TRY_CAST'),
    ],
)
def test_errors_name_the_column_and_what_to_do(
    file: Path, columns: list[str], error: type[lr.Error], message: str
) -> None:
    with pytest.raises(error, match=message):
        lr.scan(file, columns=columns).to_arrow()
    with pytest.raises(error):
        lr.copy(file, file.parent / "never.parquet", columns=columns)
    assert not (file.parent / "never.parquet").exists()


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl", "arrow"])
def test_columns_whose_values_do_not_matter(tmp_path: Path, ending: str) -> None:
    rows = pa.table({"id": [1, 2], "y": pa.array([3, None], pa.int64()), "f": [1.5, 2.5]})
    source = tmp_path / f"rows.{ending}"
    lr.copy(rows, source)
    values = [
        "CASE WHEN y = NULL THEN 1 ELSE 2 END",
        "y = NULL",
        "coalesce(y > NULL, f > 2)",
        "CASE y WHEN NULL THEN 1 ELSE 2 END",
        "CASE WHEN y = CAST(NULL AS bigint) THEN 1 ELSE 2 END",
    ]
    for value in values:
        found = lr.scan(source, columns=[f"{value} as z"]).to_arrow()["z"].to_pylist()
        assert found == duckdb.sql(f"SELECT {value} AS z FROM rows").to_arrow_table()["z"].to_pylist(), value
