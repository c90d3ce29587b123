"""Delta tables that lakerace writes: what is in their log, and what lakerace and others read from them."""

from __future__ import annotations

import json
import subprocess
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import command, run
from s3server import S3

import lakerace as lr


def entries(table: Path, version: int) -> list[dict[str, Any]]:
    text = (table / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def actions(table: Path, version: int, kind: str) -> list[dict[str, Any]]:
    return [entry[kind] for entry in entries(table, version) if kind in entry]


def everything() -> pa.Table:
    """Every type that a table can have, with nulls."""
    rows = 50
    columns = {
        "i8": pa.array([i % 100 - 50 for i in range(rows)], pa.int8()),
        "i16": pa.array([None if i % 7 == 0 else i * 300 for i in range(rows)], pa.int16()),
        "i32": pa.array(range(rows), pa.int32()),
        "i64": pa.array([i * 2**40 for i in range(rows)], pa.int64()),
        "f32": pa.array([i / 4 for i in range(rows)], pa.float32()),
        "f64": pa.array([float("nan") if i == 3 else -i / 3 for i in range(rows)], pa.float64()),
        "yes": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(rows)]),
        "text": pa.array([None if i % 6 == 0 else f"tëxt {i} " + "x" * i for i in range(rows)]),
        "bytes": pa.array([bytes([i]) * 3 for i in range(rows)]),
        "day": pa.array([date(1970, 1, 1) + timedelta(days=i * 400) for i in range(rows)]),
        "at": pa.array(
            [datetime(2024, 2, 29, 12, 0, 0, i, timezone.utc) for i in range(rows)], pa.timestamp("us", "UTC")
        ),
        "wall": pa.array([datetime(2024, 2, 29, 12, 0, 0, i) for i in range(rows)], pa.timestamp("us")),
        "price": pa.array([Decimal(i * 7).scaleb(-2) for i in range(rows)], pa.decimal128(12, 2)),
        "list": pa.array([None if i % 4 == 0 else list(range(i % 4)) for i in range(rows)], pa.list_(pa.int32())),
        "struct": pa.array([{"x": i, "y": f"s{i}"} for i in range(rows)]),
        "map": pa.array([[("k", i)] for i in range(rows)], pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(columns)


def test_every_type_comes_back(tmp_path: Path) -> None:
    rows = everything()
    table = tmp_path / "table"
    made = lr.copy(rows, f"delta:{table}")
    assert (made.rows, made.version) == (50, 0)
    assert lr.checksum(lr.scan(table)) == lr.checksum(rows)
    read = lr.scan(table).to_arrow()
    assert str(read.drop(["f64"]).to_pylist()) == str(rows.drop(["f64"]).to_pylist())
    (protocol,) = actions(table, 0, "protocol")
    assert protocol["readerFeatures"] == ["timestampNtz"]
    assert "invariants" not in protocol["writerFeatures"]


def test_statistics_are_those_of_the_rows(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(everything(), f"delta:{table}")
    (add,) = actions(table, 0, "add")
    assert add["dataChange"] is True
    assert add["size"] == (table / add["path"]).stat().st_size
    stats = json.loads(add["stats"])
    assert stats["numRecords"] == 50
    assert (stats["minValues"]["i8"], stats["maxValues"]["i8"]) == (-50, -1)
    assert (stats["minValues"]["day"], stats["maxValues"]["day"]) == ("1970-01-01", "2023-08-31")
    assert stats["nullCount"]["i16"] == 8
    assert stats["nullCount"]["text"] == 9
    assert stats["minValues"]["struct"] == {"x": 0, "y": "s0"}
    # Long texts are cut: the least below, the greatest above all values.
    texts = [text for text in everything()["text"].to_pylist() if text]
    assert stats["minValues"]["text"] <= min(texts)
    assert stats["maxValues"]["text"] >= max(texts)
    assert len(stats["maxValues"]["text"]) <= 33
    scan = lr.scan(table, where="i32 > 1000")
    assert "log statistics: i32 max 49" in str(scan.explain())


def test_append_overwrite_and_error(tmp_path: Path) -> None:
    table = tmp_path / "table"
    first, second = pa.table({"id": [1, 2], "text": ["a", None]}), pa.table({"text": ["c"], "id": [3]})
    lr.copy(first, f"delta:{table}")
    with pytest.raises(lr.ConflictError, match="already exists"):
        lr.copy(first, f"delta:{table}")
    assert lr.copy(second, f"delta:{table}", mode="append").version == 1
    # By now the folder itself says that it is a table.
    assert lr.copy(pa.table({"id": [4]}), table, mode="append").version == 2
    assert sorted(lr.scan(table).to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    assert lr.copy(second, table, mode="overwrite").version == 3
    assert lr.scan(table).to_arrow().to_pylist() == [{"id": 3, "text": "c"}]
    assert len(actions(table, 3, "remove")) == 3
    assert sorted(lr.scan(table, at=2).to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


def test_rows_that_do_not_fit_leave_nothing_behind(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": pa.array([1], pa.int32())}), f"delta:{table}")
    before = sorted(path.name for path in table.rglob("*"))
    for rows, error, words in (
        (pa.table({"id": ["x"]}), lr.InvalidInputError, "id"),
        (pa.table({"id": [1], "other": [2]}), lr.InvalidInputError, "other"),
        (pa.table({"id": [2**40]}), lr.InvalidInputError, "id"),
    ):
        with pytest.raises(error, match=words):
            lr.copy(rows, table, mode="append")
    assert sorted(path.name for path in table.rglob("*")) == before


def test_sources_that_fail_leave_no_table(tmp_path: Path) -> None:
    csv = tmp_path / "bad.csv"
    csv.write_text("id\n" + "".join(f"{n}\n" for n in range(300_000)) + "oops\n")
    table = tmp_path / "table"
    with pytest.raises(lr.InvalidInputError):
        lr.copy(csv, f"delta:{table}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [csv]


def test_types_that_delta_lacks_are_widened_or_refused(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "u8": pa.array([255], pa.uint8()),
            "u32": pa.array([2**32 - 1], pa.uint32()),
            "u64": pa.array([2**64 - 1], pa.uint64()),
            "ns": pa.array([1_000], pa.timestamp("ns")),
            "word": pa.array(["a"]).dictionary_encode(),
            "large": pa.array([["x"]], pa.large_list(pa.large_string())),
        }
    )
    lr.copy(rows, f"delta:{tmp_path / 'table'}")
    types = {column["name"]: column["type"] for column in lr.schema(tmp_path / "table")["columns"]}
    assert types["u8"] == "Int16"
    assert types["u64"] == "Decimal128(20, 0)"
    assert lr.scan(tmp_path / "table").to_arrow()["u64"].to_pylist() == [2**64 - 1]
    for name, column, error in (
        ("time", pa.array([1], pa.time64("us")), lr.UnsupportedError),
        ("null", pa.nulls(1), lr.UnsupportedError),
        ("nanos", pa.array([1_001], pa.timestamp("ns")), lr.InvalidInputError),
    ):
        with pytest.raises(error, match=name):
            lr.copy(pa.table({name: column}), f"delta:{tmp_path / name}")


def test_partitions_of_every_kind_of_value(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": range(6),
            "name": ["plain", "a b/c%20d:e=f", "Größe 東京 #?&", None, "plain", None],
            "day": [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None, date(2024, 2, 29), None],
            "at": pa.array([0, -1, 10**15, None, 0, None], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.50"), Decimal("-0.01"), None, None, Decimal("1.50"), None]),
            "yes": [True, False, None, None, True, None],
        }
    )
    table = tmp_path / "table"
    made = lr.copy(rows, f"delta:{table}", partition_by=["name", "day", "at", "price", "yes"])
    assert len(made.files) == 4
    read = sorted(lr.scan(table).to_arrow().to_pylist(), key=lambda row: row["id"])
    assert read == rows.to_pylist()
    assert lr.schema(table)["partition_columns"] == ["name", "day", "at", "price", "yes"]
    plan = lr.scan(table, where="name = 'plain'").explain().to_dict()["plan"]
    assert sum(any(unit["pruned"] is None for unit in file["units"]) for file in plan["files"]) == 1
    file = pq.read_schema(next(table.rglob("*.parquet")))
    assert file.names == ["id"]
    assert lr.copy(rows, table, mode="append").version == 1
    assert lr.scan(table).count() == 12
    with pytest.raises(lr.UnsupportedError, match="partitioned"):
        lr.copy(rows, table, mode="append", partition_by=["id"])
    with pytest.raises(lr.NotFoundError, match="nope"):
        lr.copy(rows, f"delta:{tmp_path / 'other'}", partition_by=["nope"])


def test_files_end_at_their_size(tmp_path: Path) -> None:
    rows = pa.table({"id": range(400_000), "text": [f"text {n * 7919 % 100_003}" for n in range(400_000)]})
    source = tmp_path / "rows.parquet"
    pq.write_table(rows, source)
    table = tmp_path / "table"
    made = lr.copy(source, f"delta:{table}", file_bytes=500_000, row_group_rows=50_000)
    assert len(made.files) > 2
    assert lr.checksum(lr.scan(table)) == lr.checksum(lr.scan(source))
    # Files are read in the order that they were written in.
    assert lr.scan(table, limit=3).to_arrow()["id"].to_pylist() == [0, 1, 2]


def test_checkpoints_every_tenth_commit(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": [0]}), f"delta:{table}")
    for number in range(1, 23):
        lr.copy(pa.table({"id": [number]}), table, mode="append")
    log = table / "_delta_log"
    assert [int(path.name.split(".")[0]) for path in sorted(log.glob("*.checkpoint.parquet"))] == [10, 20]
    assert json.loads((log / "_last_checkpoint").read_text())["version"] == 20
    assert lr.scan(table).count() == 23
    # The log behind the checkpoint is enough.
    for version in range(20):
        (log / f"{version:020}.json").unlink()
    assert sorted(lr.scan(table).to_arrow()["id"].to_pylist()) == list(range(23))


def test_properties_of_a_new_table(tmp_path: Path) -> None:
    table = tmp_path / "table"
    properties = {"lakerace.primaryKey": "id", "delta.checkpointInterval": "2", "delta.appendOnly": "true"}
    lr.copy(pa.table({"id": [1]}), f"delta:{table}", table_properties=properties)
    schema = lr.schema(table)
    assert schema["key"] == ["id"]
    assert {**schema["properties"], **properties} == schema["properties"]
    lr.copy(pa.table({"id": [2]}), table, mode="append")
    lr.copy(pa.table({"id": [3]}), table, mode="append")
    assert [path.name[:20] for path in (table / "_delta_log").glob("*.checkpoint.parquet")] == [f"{2:020}"]
    with pytest.raises(lr.InvalidInputError, match="appendOnly"):
        lr.copy(pa.table({"id": [4]}), table, mode="overwrite")
    with pytest.raises(lr.UnsupportedError, match="primaryKey"):
        lr.copy(pa.table({"id": [4]}), table, mode="append", table_properties={"lakerace.primaryKey": "other"})
    with pytest.raises(lr.UsageError, match="Delta"):
        lr.copy(pa.table({"id": [4]}), tmp_path / "x.parquet", table_properties=properties)


def test_column_mapping_of_a_new_table(tmp_path: Path) -> None:
    table = tmp_path / "table"
    rows = pa.table({"a b": [1, 2], "s": [{"x, y": 1}, {"x, y": None}], "p;": ["u", "v"]})
    properties = {"delta.columnMapping.mode": "name"}
    lr.copy(rows, f"delta:{table}", table_properties=properties, partition_by=["p;"])
    lr.copy(rows, table, mode="append")
    assert sorted(lr.scan(table).to_arrow().to_pylist(), key=str) == sorted(rows.to_pylist() * 2, key=str)
    names = pq.read_schema(next(table.rglob("*.parquet"))).names
    assert all(name.startswith("col-") for name in names)


def test_features_that_writers_must_know_are_refused_by_name(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": [1]}), f"delta:{table}")
    entry = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clockwork"]}
    entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert lr.scan(table).count() == 1
    with pytest.raises(lr.UnsupportedError, match="clockwork"):
        lr.copy(pa.table({"id": [2]}), table, mode="append")


def test_others_read_what_lakerace_wrote(tmp_path: Path) -> None:
    import deltalake

    table = tmp_path / "table"
    rows = everything()
    lr.copy(rows, f"delta:{table}", partition_by=["yes"], table_properties={"delta.enableDeletionVectors": "false"})
    lr.copy(rows, table, mode="append")
    read = deltalake.DeltaTable(str(table)).to_pyarrow_table()
    assert read.num_rows == 100
    assert lr.checksum(read.select(rows.column_names)) == lr.checksum(pa.concat_tables([rows, rows]))


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": [0]}), f"delta:{table}")
    for number in range(1, 7):
        pq.write_table(pa.table({"id": [number * 10, number * 10 + 1]}), tmp_path / f"{number}.parquet")
    for _ in range(3):
        writers = [
            subprocess.Popen(command("copy", tmp_path / f"{number}.parquet", table, "--mode", "append", "-q"))
            for number in range(1, 7)
        ]
        assert [writer.wait(60) for writer in writers] == [0] * len(writers)
    assert lr.schema(table)["version"] == 18
    ids = [0, *(3 * [number * 10 + more for number in range(1, 7) for more in (0, 1)])]
    assert sorted(lr.scan(table).to_arrow()["id"].to_pylist()) == sorted(ids)


def test_the_command_says_which_version_it_made(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "p": ["x"]}), tmp_path / "rows.parquet")
    table = tmp_path / "table"
    arguments = ("copy", tmp_path / "rows.parquet", f"delta:{table}", "--partition-by", "p", "--json")
    done = run(*arguments, "--table-property", "lakerace.primaryKey=id")
    assert done.code == 0, done.err
    assert (done.json["version"], done.json["files_added"]) == (0, 1)
    again = run(*arguments)
    assert again.code == 7
    assert again.error["kind"] == "conflict"
    schema = run("schema", table)
    assert "version: 0, key: id, partitioned by: p" in schema.out
    assert run("scan", table, "--at", "0", "--count").out.strip() == "1"


def test_tables_on_s3(tmp_path: Path, s3: S3) -> None:
    rows = everything()
    url = s3.url("delta/table")
    made = lr.copy(rows, f"delta:{url}", storage_options=s3.options)
    assert made.version == 0
    assert lr.copy(rows, url + "/", mode="append", storage_options=s3.options).version == 1
    scan = lr.scan(url, storage_options=s3.options)
    assert lr.checksum(scan) == lr.checksum(pa.concat_tables([rows, rows]))
    with pytest.raises(lr.ConflictError):
        lr.copy(rows, f"delta:{url}", storage_options=s3.options)


def of_nulls(ids: list[int], **columns: pa.Array) -> pa.Table:
    """Rows whose columns have values, but for those that are given."""
    count = len(ids)
    known = {
        "id": pa.array(ids, pa.int64()),
        "text": pa.array(["x"] * count),
        "price": pa.array([Decimal("1.25")] * count, pa.decimal128(9, 2)),
        "part": pa.array(["p"] * count),
        "pair": pa.array([{"a": 1, "b": "y"}] * count),
        "list": pa.array([[1, 2]] * count),
        "map": pa.array([[("k", 1)]] * count, pa.map_(pa.string(), pa.int64())),
    }
    return pa.table({**known, **columns})


#: Columns of nulls alone, and what the table then has.
NULLS: dict[str, tuple[Any, Any]] = {
    "text": (pa.nulls, None),
    "price": (pa.nulls, None),
    "part": (pa.nulls, None),
    "pair": (pa.nulls, None),
    "list": (pa.nulls, None),
    "map": (pa.nulls, None),
    "pair.a": (lambda n: pa.array([{"a": None, "b": "y"}] * n), {"a": None, "b": "y"}),
    "list.element": (lambda n: pa.array([[None, None]] * n), [None, None]),
    "map.value": (lambda n: pa.array([[("k", None)]] * n, pa.map_(pa.string(), pa.null())), [("k", None)]),
    "text as a dictionary": (
        lambda n: pa.DictionaryArray.from_arrays(pa.array([None] * n, pa.int8()), pa.nulls(1)),
        None,
    ),
}


@pytest.mark.parametrize("mode", ["none", "name"])
@pytest.mark.parametrize("what", NULLS)
def test_columns_of_nulls_have_the_types_of_the_table(tmp_path: Path, what: str, mode: str) -> None:
    import deltalake

    make, expected = NULLS[what]
    name = what.replace(".", " ").split(maxsplit=1)[0]
    table = tmp_path / "t"
    properties = {"lakerace.primaryKey": "id", "delta.enableDeletionVectors": "false"}
    if mode != "none":
        properties["delta.columnMapping.mode"] = mode
    lr.copy(of_nulls([1]), f"delta:{table}", partition_by=["part"], table_properties=properties)
    schema = lr.scan(table).schema
    lr.copy(of_nulls([2, 3], **{name: make(2)}), table, mode="append")
    lr.Table(table).upsert(of_nulls([3, 4], **{name: make(2)}))
    lr.Table(table).upsert(of_nulls([5], **{name: make(1)}), insert_only=True)
    lr.copy(of_nulls([6], **{name: make(1)}), table, mode="append", evolve=["add", "widen"])
    lr.copy(of_nulls([7], **{name: make(1)}, new=pa.array([1])), table, mode="append", evolve="add")
    # pyarrow writes no dictionary of nulls.
    column = pa.nulls(1) if what.endswith("dictionary") else make(1)
    pq.write_table(of_nulls([8], **{name: column}), tmp_path / "n.parquet")
    done = run("copy", tmp_path / "n.parquet", table, "--mode", "append", "--verify")
    assert done.code == 0, done.err
    found = lr.scan(table, columns=of_nulls([]).column_names)
    assert found.schema == schema
    values = {row["id"]: row[name] for row in found.to_arrow().to_pylist()}
    assert values == {1: of_nulls([1])[name].to_pylist()[0], **dict.fromkeys(range(2, 9), expected)}
    if mode == "none":
        rows = deltalake.DeltaTable(table).to_pyarrow_table().to_pylist()
        assert {row["id"]: row[name] for row in rows} == values
    lr.copy(of_nulls([9], **{name: make(1)}), table, mode="overwrite")
    assert lr.scan(table).to_arrow()[name].to_pylist() == [expected]


def test_nulls_alone_have_no_type_in_a_new_column(tmp_path: Path) -> None:
    table = tmp_path / "t"
    nulls = of_nulls([1], new=pa.nulls(1))
    with pytest.raises(lr.UnsupportedError, match='column "new": a column of only nulls has no type'):
        lr.copy(nulls, f"delta:{table}")
    lr.copy(of_nulls([1]), f"delta:{table}")
    with pytest.raises(lr.UnsupportedError, match='column "new": a column of only nulls has no type'):
        lr.copy(nulls, table, mode="append", evolve="add")
    lr.copy(of_nulls([1]).select(["id"]), f"delta:{tmp_path / 'n'}")
    assert lr.scan(table).count() == 1


def test_nulls_alone_are_refused_where_the_table_takes_none(tmp_path: Path) -> None:
    table = tmp_path / "t"
    field = pa.field("text", pa.string(), nullable=False)
    rows = pa.table({"id": [1], "text": ["a"]}, pa.schema([pa.field("id", pa.int64()), field]))
    lr.copy(rows, f"delta:{table}", keep_not_null=True)
    with pytest.raises(lr.InvalidInputError, match="text"):
        lr.copy(pa.table({"id": [2], "text": pa.nulls(1)}), table, mode="append")
    assert lr.scan(table).count() == 1
