"""Structs as columns of their fields, and back: pyarrow and polars flatten the same rows, duckdb names the same fields."""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
import random
import sqlite3
import subprocess
from typing import TYPE_CHECKING, Any

import duckdb
import fastavro
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, run
from deltalake import DeltaTable, write_deltalake
from pyarrow import orc

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3

#: Rows with nulls at each level.
ROWS: list[dict[str, Any]] = [
    {"id": 1, "user": {"name": "ann", "address": {"city": "Rome", "zip": 100}}, "tags": [{"t": 1}], "z": 1.5},
    {"id": 2, "user": None, "tags": None, "z": None},
    {"id": 3, "user": {"name": None, "address": None}, "tags": [], "z": 2.5},
    {"id": 4, "user": {"name": "dan", "address": {"city": None, "zip": 400}}, "tags": [{"t": None}], "z": 3.5},
]
NAMES = ["id", "user.name", "user.address.city", "user.address.zip", "tags", "z"]
ADDRESS = pa.struct([("city", pa.string()), ("zip", pa.int64())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("user", pa.struct([("name", pa.string()), ("address", ADDRESS)])),
        ("tags", pa.list_(pa.struct([("t", pa.int64())]))),
        ("z", pa.float64()),
    ]
)


def rows() -> pa.Table:
    """:data:`ROWS`."""
    return pa.Table.from_pylist(ROWS, SCHEMA)


def flattened(table: pa.Table) -> pa.Table:
    """A table without structs, as pyarrow makes it."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def unnested(frame: pl.DataFrame, separator: str) -> pl.DataFrame:
    """A frame without structs, as polars makes it."""
    while names := [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]:
        frame = frame.unnest(names, separator=separator)
    return frame


def same(found: pa.Table, expected: pa.Table) -> None:
    """Fails unless both have the same names, types and values; views of texts count as texts."""
    assert found.column_names == expected.column_names
    plain = pa.table(pl.from_arrow(found))  # type: ignore[arg-type]
    like = pa.table(pl.from_arrow(expected))  # type: ignore[arg-type]
    assert plain.schema.types == like.schema.types
    assert found.to_pylist() == expected.to_pylist()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """:func:`rows` in each format with structs, written by others."""
    table = rows()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    orc.write_table(table, tmp_path / "a.orc")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "a.json").write_text(json.dumps(ROWS))
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    null = "null"
    address = {"type": "record", "name": "A", "fields": [
        {"name": "city", "type": [null, "string"]}, {"name": "zip", "type": [null, "long"]}]}  # fmt: skip
    user = {"type": "record", "name": "U", "fields": [
        {"name": "name", "type": [null, "string"]}, {"name": "address", "type": [null, address]}]}  # fmt: skip
    tag = {"type": "record", "name": "T", "fields": [{"name": "t", "type": [null, "long"]}]}
    record = {"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "long"}, {"name": "user", "type": [null, user]},
        {"name": "tags", "type": [null, {"type": "array", "items": tag}]}, {"name": "z", "type": [null, "double"]}]}  # fmt: skip
    with (tmp_path / "a.avro").open("wb") as out:
        fastavro.writer(out, record, ROWS)
    write_deltalake(str(tmp_path / "lake"), table)
    names = ["a.parquet", "a.orc", "a.jsonl", "a.json", "a.arrow", "a.avro", "lake"]
    return {name: str(tmp_path / name) for name in names}


FORMATS = ["a.parquet", "a.orc", "a.jsonl", "a.json", "a.arrow", "a.avro", "lake"]


@pytest.mark.parametrize("name", FORMATS)
def test_fields_take_the_place_of_their_struct(files: dict[str, str], name: str) -> None:
    found = lr.scan(files[name], flatten=True).to_arrow()
    expected = flattened(rows())
    assert found.column_names == expected.column_names == NAMES
    same(found, expected)
    frame = unnested(pl.from_arrow(rows()), "__")  # type: ignore[arg-type]
    assert lr.scan(files[name], flatten="__").to_polars().equals(frame)
    assert [column["name"] for column in lr.schema(files[name], flatten="__")["columns"]] == frame.columns
    assert lr.scan(files[name], flatten=False).to_arrow().to_pylist() == ROWS


@pytest.mark.parametrize("name", FORMATS)
def test_columns_conditions_order_and_limit_name_the_source(files: dict[str, str], name: str) -> None:
    scan = lr.scan(
        files[name],
        columns=["z", "user.address", "id as key", "user.name"],
        where="user.address.zip >= 100 or z = 2.5",
        order_by="user.address.zip desc nulls first",
        limit=2,
        flatten=True,
    )
    found = scan.to_arrow()
    own = ["user.address.city", "user.address.zip"]
    assert found.column_names == ["z", *own, "key", "user.name"]
    query = 'select z, "user".address.city as city, "user".address.zip as zip, id as key from rows_of '
    query += 'where "user".address.zip >= 100 or z = 2.5 order by zip desc nulls first limit 2'
    expected = duckdb.sql(query, connection=duckdb.connect().register("rows_of", rows())).fetchall()
    assert found.select(["z", *own, "key"]).to_pylist() == [
        dict(zip(["z", *own, "key"], row, strict=True)) for row in expected
    ]
    assert lr.scan(files[name], where="user.name is null", flatten=True).count() == 2
    few = lr.scan(files[name], columns=["user.address.zip", "id", "user.name"], flatten="_")
    assert few.to_arrow().column_names == ["user_address_zip", "id", "user_name"]
    assert [row for task in few.tasks(2) for row in pickle.loads(pickle.dumps(task)).rows()] == list(few.rows())
    assert few.count() == 4
    assert scan.schema.names == found.column_names


def test_what_is_not_selected_is_not_read(tmp_path: Path) -> None:
    text = ["x" * 1000 + str(number) for number in range(2000)]
    table = pa.table({"s": pa.StructArray.from_arrays([pa.array(range(2000)), pa.array(text)], ["a", "b"])})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, compression="none")
    few = lr.scan(tmp_path / "a.parquet", columns=["s.a"], flatten="_")
    assert few.to_arrow().column_names == ["s_a"]
    whole = lr.scan(tmp_path / "a.parquet", flatten=True)
    assert len(whole.to_arrow()) == 2000
    assert 10 * few.report()["bytes_read"] < whole.report()["bytes_read"]


def test_the_command_says_the_same(files: dict[str, str], tmp_path: Path) -> None:
    source = files["a.parquet"]
    done = ok("scan", source, "--flatten", "--format", "jsonl", "--columns", "user,id")
    assert [json.loads(line) for line in done.out.splitlines()] == flattened(rows()).select(
        ["user.name", "user.address.city", "user.address.zip", "id"]
    ).to_pylist()
    ok("scan", "--flatten=_", source, "-o", tmp_path / "rows.csv", "--columns", "id,user")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0] == "id,user_name,user_address_city,user_address_zip"
    assert ok("scan", source, "--count", "--flatten").out == "4\n"
    assert ok("scan", source, "--checksum", "--flatten").out.split()[0] == lr.checksum(flattened(rows())).checksum
    plan = ok("scan", source, "--explain", "--flatten").out
    assert f"returns   {', '.join(NAMES)}\n" in plan
    assert lr.scan(source, flatten=True).explain().to_dict()["returned"] == NAMES
    assert "returns" not in ok("scan", source, "--explain").out
    assert [name for name in NAMES if name in ok("schema", source, "--flatten").out] == NAMES
    columns = json.loads(ok("schema", source, "--flatten", "--json").out)["columns"]
    assert [column["name"] for column in columns] == NAMES
    ok("copy", source, tmp_path / "flat.parquet", "--flatten")
    same(pq.read_table(tmp_path / "flat.parquet"), flattened(rows()))
    ok("copy", tmp_path / "flat.parquet", tmp_path / "back.parquet", "--unflatten")
    assert [
        column["name"] for column in lr.schema(tmp_path / "flat.parquet", unflatten=True)["columns"]
    ] == SCHEMA.names


@pytest.mark.parametrize("name", FORMATS)
def test_rows_go_to_csv_and_back(files: dict[str, str], tmp_path: Path, name: str) -> None:
    columns = ["id", "user", "z"]
    lr.copy(files[name], tmp_path / "out.csv", columns=columns, flatten=True)
    table = rows().select(columns)
    frame = pd.read_csv(tmp_path / "out.csv")
    # pandas names the fields of dicts, too, but not those of a null.
    assert set(frame.columns) >= set(pd.json_normalize(table.to_pylist()[:1]).columns)
    assert frame.columns.to_list() == flattened(table).column_names
    assert frame["id"].to_list() == [1, 2, 3, 4]
    lr.copy(tmp_path / "out.csv", f"delta:{tmp_path / 'new'}", unflatten=True)
    # A struct of nulls is null.
    expected = [row if row["id"] != 3 else {**row, "user": None} for row in table.to_pylist()]
    assert DeltaTable(str(tmp_path / "new")).to_pyarrow_table().to_pylist() == expected
    # The types of the table are those of the text.
    with (tmp_path / "more.csv").open("w") as out:
        out.write("id,user.name,user.address.city,user.address.zip,z\n5,007,,,1\n")
    lr.copy(tmp_path / "more.csv", f"delta:{tmp_path / 'new'}", unflatten=True, mode="append")
    added = {"id": 5, "user": {"name": "007", "address": None}, "z": 1.0}
    assert added in DeltaTable(str(tmp_path / "new")).to_pyarrow_table().to_pylist()


def test_rows_go_to_databases_and_back(files: dict[str, str], tmp_path: Path) -> None:
    database = tmp_path / "rows.db"
    lr.copy(files["a.jsonl"], f"sqlite:{database}#rows", columns=["id", "user", "z"], flatten="_")
    with sqlite3.connect(database) as connection:
        cursor = connection.execute("select * from rows order by id")
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor]
    flat = flattened(rows().select(["id", "user", "z"]))
    expected = flat.rename_columns([name.replace(".", "_") for name in flat.column_names])
    assert names == expected.column_names
    assert found == expected.to_pylist()
    lr.copy(f"sqlite:{database}#rows", tmp_path / "back.jsonl", unflatten="_")
    back = [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()]
    assert back[0] == {"id": 1, "user": {"name": "ann", "address": {"city": "Rome", "zip": 100}}, "z": 1.5}
    assert back[1].get("user") is None
    assert back[3]["user"]["address"]["zip"] == 400


def test_loads_that_are_resumed_and_verified(files: dict[str, str], tmp_path: Path) -> None:
    table = f"delta:{tmp_path / 'lake2'}"
    source = {"columns": ["id", "user"], "flatten": True, "batch_rows": 2}
    assert lr.copy(files["a.parquet"], table, **source, verify=True).rows == 4  # type: ignore[arg-type]
    resumed = lr.copy(files["a.parquet"], table, **source, mode="append", resume=True)  # type: ignore[arg-type]
    assert (resumed.rows, resumed.skipped) == (0, 4)
    assert lr.scan(tmp_path / "lake2").count() == 4
    # Other columns of the source make another load.
    for other in ({"columns": ["id", "user.name"]}, {"flatten": "_"}):
        with pytest.raises(lr.ConflictError, match="no record of an unfinished load of these rows"):
            lr.copy(files["a.parquet"], table, **{**source, **other}, mode="append", resume=True)  # type: ignore[arg-type]


def test_upserts_take_flat_and_nested_rows(files: dict[str, str], tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    chosen = ("--columns", "id,user", "--where", "user.name is not null")
    ok("upsert", f"delta:{flat}", files["a.parquet"], "--flatten=_", "--key", "user_name,id", *chosen)
    ok("upsert", flat, files["a.jsonl"], "--flatten=_", *chosen)
    found = DeltaTable(str(flat)).to_pyarrow_table().sort_by("id")
    assert found.column_names == ["id", "user_name", "user_address_city", "user_address_zip"]
    kept = flattened(rows().select(["id", "user"])).take([0, 3])
    assert list(found.to_pydict().values()) == list(kept.to_pydict().values())
    nested = tmp_path / "nested"
    lr.Table(f"delta:{nested}", key="id").upsert(lr.scan(flat, unflatten="_"))
    (tmp_path / "more.csv").write_text("id,user.address.city,user.name,user.address.zip\n1,,new,7\n9,Bonn,nine,9\n")
    ok("upsert", nested, tmp_path / "more.csv", "--unflatten")
    table = pl.DataFrame(lr.scan(nested, order_by="id")).to_dicts()
    assert [row["user"]["name"] for row in table] == ["new", "dan", "nine"]
    assert table[0]["user"]["address"] == {"city": None, "zip": 7}


def test_an_upsert_reads_flat_keys_ahead(tmp_path: Path) -> None:
    number = pa.array(range(200_000))
    text = pa.array([f"text {at * 7919 % 200_000:06}" + "x" * 100 for at in range(200_000)])
    key = pa.StructArray.from_arrays([number, text], ["a", "b"])
    pq.write_table(pa.table({"c": text, "s": key}), tmp_path / "a.parquet")
    target = f"delta:{tmp_path / 'lake'}"
    for _ in range(2):
        scan = lr.scan(tmp_path / "a.parquet", flatten=True)
        changed = lr.Table(target, key=["s.b", "s.a"]).upsert(scan, memory_limit="64MiB")
        assert changed.rows == 200_000
    same(
        lr.scan(tmp_path / "lake", order_by="s.a").to_arrow(), lr.scan(tmp_path / "a.parquet", flatten=True).to_arrow()
    )


def test_rows_for_a_table_have_its_types(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("id", pa.int32()),
            ("u_day", pa.date32()),
            ("u_v_at", pa.timestamp("us", "UTC")),
            ("u_n", pa.decimal128(9, 2)),
        ]
    )
    write_deltalake(str(tmp_path / "flat"), schema.empty_table())
    row = {"id": 1, "u": {"day": "2024-02-29", "v": {"at": "2024-02-29T01:02:03Z"}, "n": 1.5, "z": None}}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    lr.copy(
        tmp_path / "a.jsonl",
        f"delta:{tmp_path / 'flat'}",
        columns=["id", "u.day", "u.v", "u.n"],
        flatten="_",
        mode="append",
    )
    found = DeltaTable(str(tmp_path / "flat")).to_pyarrow_table()
    assert found.schema == schema
    moment = datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.timezone.utc)
    expected = {"id": 1, "u_day": moment.date(), "u_v_at": moment, "u_n": decimal.Decimal("1.50")}
    assert found.to_pylist() == [expected]

    fields = [pa.field(field.name.removeprefix("u_"), field.type) for field in list(schema)[1:]]
    nested = pa.schema([("id", pa.int32()), ("u", pa.struct(fields))])
    write_deltalake(str(tmp_path / "nested"), nested.empty_table())
    (tmp_path / "a.csv").write_text("id,u.day,u.v_at,u.n\n1,2024-02-29,2024-02-29T01:02:03Z,1.5\n")
    lr.copy(tmp_path / "a.csv", f"delta:{tmp_path / 'nested'}", unflatten=True, mode="append")
    found = DeltaTable(str(tmp_path / "nested")).to_pyarrow_table()
    assert found.schema == nested
    assert found.to_pylist() == [{"id": 1, "u": {"day": moment.date(), "v_at": moment, "n": decimal.Decimal("1.50")}}]


def test_queries_read_what_they_need(tmp_path: Path) -> None:
    text = pa.array(["x" * 1000 + str(number) for number in range(2000)])
    struct = pa.StructArray.from_arrays([pa.array(range(2000)), text], ["a", "b"])
    pq.write_table(pa.table({"s": struct, "a b": text}), tmp_path / "a.parquet", use_dictionary=False)
    small = lr.scan(tmp_path / "a.parquet", flatten=True)
    assert small.lazy().select(pl.col("s.a").sum()).collect().item() == 1999 * 1000
    assert lr.sql('select sum("s.a") from t where "s.a" > 10', t=small).rows() is not None
    data = small.to_dataset()
    query = 'select "s.a" from data where "s.a" < 3 order by 1 desc'
    assert duckdb.sql(query, connection=duckdb.connect().register("data", data)).fetchall() == [(2,), (1,), (0,)]
    assert small.report()["bytes_read"] < 1_000_000
    whole = data.to_table()
    assert whole.column_names == ["s.a", "s.b", "a b"]
    assert data.to_table(columns=["a b", "s.a"]).equals(whole.select(["a b", "s.a"]))
    for options in ({"flatten": "_"}, {"flatten": True, "columns": ["a b", "s"]}):
        scan = lr.scan(tmp_path / "a.parquet", **options)  # type: ignore[arg-type]
        names = [name for name in scan.schema.names if name.endswith("a")]
        assert scan.lazy().select(names).collect().to_series().to_list() == list(range(2000))


def test_incremental_copies_need_a_column_of_the_source(files: dict[str, str], tmp_path: Path) -> None:
    target = f"delta:{tmp_path / 'unloaded'}"
    options: dict[str, Any] = {"mode": "upsert", "key": "id", "flatten": "_", "columns": ["id", "user", "z"]}
    assert lr.copy(files["a.parquet"], target, since="id", **options).rows == 4
    assert lr.copy(files["a.parquet"], target, since="id", **options).rows == 0
    with pytest.raises(lr.UsageError, match="is not a column of the source itself"):
        lr.copy(files["a.parquet"], f"{target}2", since="user_address_zip", **options)


def test_streams_of_others(tmp_path: Path) -> None:
    table = rows()
    lr.copy(table, tmp_path / "flat.parquet", flatten=True)
    same(pq.read_table(tmp_path / "flat.parquet"), flattened(table))
    lr.copy(pl.from_arrow(table), tmp_path / "flat.arrow", flatten="/")
    assert pa.ipc.open_file(tmp_path / "flat.arrow").read_all().column_names[1] == "user/name"
    nested = lr.copy(lr.scan(tmp_path / "flat.parquet"), tmp_path / "nested.parquet", unflatten=True)
    assert nested.rows == 4
    assert pq.read_schema(tmp_path / "nested.parquet").names == SCHEMA.names
    would = lr.copy(table, f"delta:{tmp_path / 'lake'}", flatten=True, partition_by="user.name", dry_run=True)
    assert would.planned is not None


def test_consumers_see_the_columns_that_come(files: dict[str, str]) -> None:
    scan = lr.scan(files["a.parquet"], flatten="_")
    expected = unnested(pl.from_arrow(rows()), "_")  # type: ignore[arg-type]
    assert scan.schema.names == expected.columns
    lazy = scan.lazy().filter(pl.col("user_address_zip") > 100).select("user_name", "id").collect()
    assert lazy.equals(expected.filter(pl.col("user_address_zip") > 100).select("user_name", "id"))
    data = scan.to_dataset()
    assert duckdb.sql("select z, user_name from data where id = 4").fetchall() == [(3.5, "dan")], data
    assert data.count_rows() == 4
    assert lr.sql("select user_name from t where user_address_zip is not null order by id", t=scan).to_arrow()[
        "user_name"
    ].to_pylist() == ["ann", "dan"]
    assert lr.sql("select count(*) as n from t", t=scan).to_arrow()["n"].to_pylist() == [4]
    assert pa.table(scan.head(2)).column_names == expected.columns
    copies = [pickle.loads(pickle.dumps(task)) for task in scan.tasks(2)]
    assert sorted(row[0] for task in copies for row in task.rows()) == [1, 2, 3, 4]
    assert next(iter(scan.rows(named=True)))["user_address_city"] == "Rome"
    assert "flatten" not in repr(lr.scan(files["a.parquet"]))
    files_of_one = lr.scan(files["a.parquet"], flatten=True, file_name_column="file").to_arrow()
    assert files_of_one.column_names == [*NAMES, "file"]


def test_names_that_meet(tmp_path: Path) -> None:
    struct = pa.array([{"b": 1, "c.d": 2}])
    pq.write_table(pa.table({"a": struct, "a.b": [3], "a.c": [{"d": 4}]}), tmp_path / "a.parquet")
    with pytest.raises(lr.UsageError, match=r'two columns would have the name "a.b": "b" of "a", and "a.b"'):
        lr.scan(tmp_path / "a.parquet", flatten=True)
    done = run("scan", tmp_path / "a.parquet", "--flatten", "--count", "--json")
    assert done.code == 2
    assert done.error["advice"] == "choose another separator, or omit or rename one of them with --columns"
    # Names with dots are kept.
    found = lr.scan(tmp_path / "a.parquet", flatten="/").to_arrow()
    assert found.to_pylist() == [{"a/b": 1, "a/c.d": 2, "a.b": 3, "a.c/d": 4}]
    renamed = lr.scan(tmp_path / "a.parquet", columns=["a as x", "a.b", "a.c"], flatten=True).to_arrow()
    assert renamed.to_pylist() == [{"x.b": 1, "x.c.d": 2, "a.b": 3, "a.c.d": 4}]
    with pytest.raises(lr.UsageError, match=r'column "a" can\'t be the struct of column "a\.b", too'):
        lr.schema(tmp_path / "a.parquet", unflatten=True)
    lr.copy(pa.table({"No.": [1], "a..b": [2], "c.d": [3]}), tmp_path / "b.jsonl", unflatten=True)
    assert json.loads((tmp_path / "b.jsonl").read_text()) == {"No.": 1, "a..b": 2, "c": {"d": 3}}


def test_wrong_options(files: dict[str, str], tmp_path: Path) -> None:
    source = files["a.parquet"]
    for options in ({"flatten": True, "unflatten": True}, {"flatten": ""}, {"unflatten": ""}):
        with pytest.raises(lr.UsageError):
            lr.scan(source, **options)  # type: ignore[arg-type]
    with pytest.raises((TypeError, lr.UsageError)):
        lr.scan(source, flatten=3)  # type: ignore[arg-type]
    assert run("scan", source, "--flatten", "--unflatten").code == 2
    assert run("scan", source, "--flatten=").code == 2
    done = run("copy", source, tmp_path / "a.csv", "--columns", "id,user", "--json")
    assert "write its fields as columns with --flatten" in done.error["advice"]
    with pytest.raises(lr.UnsupportedError, match="flatten=True"):
        lr.copy(source, tmp_path / "a.csv", columns=["id", "user"])


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_source_without_structs_stays(tmp_path: Path, name: str) -> None:
    lr.copy(pa.table({"a": [1, 2], "b": ["x", None]}), tmp_path / name)
    plain = lr.scan(tmp_path / name)
    for options in ({"flatten": True}, {"unflatten": True}):
        changed = lr.scan(tmp_path / name, **options)  # type: ignore[arg-type]
        assert changed.to_arrow() == plain.to_arrow()
        assert str(changed.explain()) == str(plain.explain())


def test_tables_without_rows_and_structs_without_fields(tmp_path: Path) -> None:
    table = rows().slice(0, 0)
    pq.write_table(table, tmp_path / "none.parquet")
    same(lr.scan(tmp_path / "none.parquet", flatten=True).to_arrow(), flattened(table))
    lr.copy(tmp_path / "none.parquet", tmp_path / "flat.parquet", flatten=True)
    same(lr.scan(tmp_path / "flat.parquet", unflatten=True).to_arrow(), table)
    empty = pa.table({"a": [1, 2], "e": pa.array([{}, None], pa.struct([]))})
    lr.copy(empty, tmp_path / "e.arrow")
    assert lr.scan(tmp_path / "e.arrow", flatten=True).to_arrow().to_pydict() == {"a": [1, 2]}
    assert flattened(empty).to_pydict() == {"a": [1, 2]}


def test_deep_and_wide_rows(tmp_path: Path) -> None:
    def deep(levels: int) -> dict[str, Any]:
        return {"s": deep(levels - 1)} if levels else {"leaf": 7}

    (tmp_path / "deep.jsonl").write_text(json.dumps(deep(59)) + "\n")
    found = lr.scan(tmp_path / "deep.jsonl", flatten=True).to_arrow()
    assert found.to_pylist() == [{"s." * 59 + "leaf": 7}]
    lr.copy(tmp_path / "deep.jsonl", tmp_path / "deep.csv", flatten=True)
    lr.copy(tmp_path / "deep.csv", tmp_path / "back.jsonl", unflatten=True)
    assert json.loads((tmp_path / "back.jsonl").read_text()) == deep(59)
    with pytest.raises(lr.UnsupportedError, match="deeper than 60 levels"):
        lr.copy(pa.table({"s." * 64 + "leaf": [7]}), tmp_path / "too_deep.jsonl", unflatten=True)
    with pytest.raises(lr.UnsupportedError, match="deeper than 60 levels"):
        lr.copy(pa.Table.from_pylist([deep(64)]), tmp_path / "too_deep.jsonl", flatten=True)

    names = [f"f{number}" for number in range(5000)]
    struct = pa.StructArray.from_arrays(
        [pa.array([number, None]) for number in range(5000)], names, mask=pa.array([False, True])
    )
    wide = pa.table({"s": struct})
    pq.write_table(wide, tmp_path / "wide.parquet")
    found = lr.scan(tmp_path / "wide.parquet", flatten=True).to_arrow()
    assert found.equals(flattened(wide))
    lr.copy(found, tmp_path / "again.parquet", unflatten=True)
    assert pq.read_table(tmp_path / "again.parquet").equals(wide)


def some_type(numbers: random.Random, depth: int) -> pa.DataType:
    """A type with structs up to a depth."""
    if depth and numbers.random() < 0.5:
        return pa.struct([(f"f{at}", some_type(numbers, depth - 1)) for at in range(numbers.randint(1, 4))])
    if depth and numbers.random() < 0.2:
        return pa.list_(some_type(numbers, depth - 1))
    return numbers.choice([pa.int32(), pa.string(), pa.float64(), pa.bool_(), pa.date32()])


def some_value(numbers: random.Random, kind: pa.DataType) -> Any:
    """A value of a type. A struct that is there has a field that is not null, so that it is one after it was flat, too."""
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        row = {field.name: None if numbers.random() < 0.3 else some_value(numbers, field.type) for field in fields}
        if all(value is None for value in row.values()):
            row[fields[0].name] = some_value(numbers, fields[0].type)
        return row
    if pa.types.is_list(kind):
        return [some_value(numbers, kind.value_type) for _ in range(numbers.randint(0, 3))]
    if pa.types.is_date32(kind):
        return pa.scalar(numbers.randint(0, 20000), pa.int32()).cast(pa.date32()).as_py()
    return {
        pa.int32(): numbers.randint(-9, 9),
        pa.string(): numbers.choice(["", "a", "é"]),
        pa.float64(): numbers.random(),
        pa.bool_(): numbers.random() < 0.5,
    }[kind]


@pytest.mark.parametrize("seed", range(40))
def test_flat_rows_become_the_same_structs(tmp_path: Path, seed: int) -> None:
    numbers = random.Random(seed)
    schema = pa.schema([(f"c{at}", some_type(numbers, 4)) for at in range(numbers.randint(1, 6))])
    count = numbers.randint(0, 50)
    nested = [
        {field.name: None if numbers.random() < 0.2 else some_value(numbers, field.type) for field in schema}
        for _ in range(count)
    ]
    table = pa.Table.from_pylist(nested, schema)
    pq.write_table(table, tmp_path / "nested.parquet", row_group_size=7)
    separator = numbers.choice([".", "_", "::"])
    found = lr.scan(tmp_path / "nested.parquet", flatten=separator).to_arrow()
    expected = flattened(table)
    assert found.column_names == [name.replace(".", separator) for name in expected.column_names]
    same(found.rename_columns(expected.column_names), expected)
    target = tmp_path / ("flat.parquet" if seed % 2 else "flat.arrow")
    lr.copy(tmp_path / "nested.parquet", target, flatten=separator)
    back = lr.scan(target, unflatten=separator)
    same(back.to_arrow(), table)
    assert back.checksum() == lr.checksum(table).checksum


def test_object_stores_and_pipes(s3: S3) -> None:
    text = "".join(json.dumps(row) + "\n" for row in ROWS)
    s3.put("flat/a.jsonl", text.encode())
    lr.copy(s3.url("flat/a.jsonl"), s3.url("flat/b.parquet"), flatten=True, storage_options=s3.options)
    found = pq.read_table(f"{s3.bucket}/flat/b.parquet", filesystem=s3.pyarrow)
    same(found, flattened(rows()))
    piped = subprocess.run(
        command(
            "copy", "-", "-", "--input-format", "jsonl", "--output-format", "csv", "--flatten", "--columns", "id,user"
        ),
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    assert piped.stdout.splitlines()[:2] == ["id,user.name,user.address.city,user.address.zip", "1,ann,Rome,100"]
