"""Properties, column names and partitions of new Delta tables: right, or an error that names the option and the place."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run
from deltalake import DeltaTable, write_deltalake
from s3server import S3

import lakerace as lr

#: Names of the libraries below, which mean nothing to a user.
INSIDE = re.compile(r"kernel|try_|::|Generic|StructType|unwrap|panick|backtrace", re.IGNORECASE)
ERRORS = {2: lr.UsageError, 3: lr.NotFoundError, 4: lr.InvalidInputError, 6: lr.UnsupportedError}


def rows() -> pa.Table:
    return pa.table({"id": [1, 2], "text": ["a", "b"], "x": [1.5, 2.5], "raw": [b"\xff", b"a"], "list": [[1], [2]]})


def refused(
    tmp_path: Path, source: pa.Table, code: int, says: list[str], doors: tuple[str, str] = ("", ""), **options: Any
) -> None:
    """Both the command and Python refuse the copy, say all this, each in the words of its door, and leave nothing."""
    file, table = tmp_path / "source.parquet", tmp_path / "table"
    pq.write_table(source, file)
    words: list[object] = []
    for name, value in options.pop("table_properties", {}).items():
        words += ["--table-property", f"{name}={value}"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", ",".join(value)]
    done = run("copy", file, f"delta:{table}", *words, "--json")
    assert done.code == code, done.err
    texts = [done.err.splitlines()[-1]]
    if words[:1] == ["--table-property"]:
        options["table_properties"] = dict(word.split("=", 1) for word in words[1::2] if isinstance(word, str))
    with pytest.raises(ERRORS[code]) as caught:
        lr.copy(source, f"delta:{table}", **options)
    texts.append(str(caught.value))
    for text, door in zip(texts, doors, strict=True):
        assert str(table) in text
        assert door in text
        assert not INSIDE.search(text.replace(str(tmp_path), "")), text
        for word in says:
            assert word in text, text
    assert not table.exists()


@pytest.mark.parametrize(
    ("name", "value", "code", "says"),
    [
        ("lakerace.primarykey", "id", 2, "did you mean lakerace.primaryKey?"),
        ("lakerace.primaryKey", "nothing", 3, 'there is no column "nothing"'),
        ("lakerace.primaryKey", "ID", 3, 'did you mean "id"?'),
        ("lakerace.primaryKey", "x", 6, "can't be a key"),
        ("lakerace.whatever", "1", 2, "this property does not exist"),
        ("delta.enableDeletionVector", "true", 2, "did you mean delta.enableDeletionVectors?"),
        ("delta.appendonly", "true", 2, "did you mean delta.appendOnly?"),
        ("delta.appendOnly", "yes", 2, "neither true nor false"),
        ("delta.logRetentionDuration", "30 days", 2, "interval 7 days"),
        ("delta.checkpointInterval", "0", 2, "not an integer of 1 or more"),
        ("delta.dataSkippingStatsColumns", "nothing", 3, 'there is no column "nothing"'),
        ("delta.columnMapping.mode", "names", 2, "none, name, id"),
        ("delta.constraints.c", "id > 0", 6, "constraints"),
        ("delta.isolationLevel", "Serializable", 6, "can't set"),
        ("delta.feature.clustering", "supported", 4, "clustering"),
        ("delta.feature.nothing", "supported", 2, "nothing"),
    ],
)
def test_properties(tmp_path: Path, name: str, value: str, code: int, says: str) -> None:
    refused(tmp_path, rows(), code, [says], ("--table-property", "table_properties"), table_properties={name: value})


def test_properties_of_tables_that_exist(tmp_path: Path) -> None:
    lr.copy(rows(), f"delta:{tmp_path / 'table'}", table_properties={"owner": "me", "lakerace.primaryKey": "id"})
    assert lr.schema(tmp_path / "table")["properties"]["owner"] == "me"
    again = {"lakerace.primarykey": "id"}
    with pytest.raises(lr.UsageError, match=r"did you mean lakerace\.primaryKey\?"):
        lr.copy(rows(), f"delta:{tmp_path / 'table'}", mode="append", table_properties=again)
    with pytest.raises(lr.UnsupportedError, match="omit table_properties"):
        lr.copy(rows(), f"delta:{tmp_path / 'table'}", mode="append", table_properties={"owner": "you"})


@pytest.mark.parametrize("character", list(" ,;{}()\n\t="))
def test_column_names(tmp_path: Path, character: str) -> None:
    source = pa.table({f"a{character}b": [1], "s": pa.array([{"x": 1}])})
    refused(
        tmp_path,
        source,
        4,
        [],
        ("--table-property delta.columnMapping.mode=name", '{"delta.columnMapping.mode": "name"}'),
    )
    nested = pa.table({"id": [1], "s": pa.array([[{f"a{character}b": 1}]])})
    refused(tmp_path, nested, 4, ['column "s"'])
    mapped, properties = tmp_path / "mapped", {"delta.columnMapping.mode": "name"}
    if character == "\n":
        with pytest.raises(lr.InvalidInputError, match="line break"):
            lr.copy(source, f"delta:{mapped}", table_properties=properties)
        return
    lr.copy(source, f"delta:{mapped}", table_properties=properties)
    assert lr.scan(mapped).to_arrow().to_pydict() == source.to_pydict()


def test_new_columns_have_such_names_neither(tmp_path: Path) -> None:
    table = tmp_path / "table"
    lr.copy(pa.table({"id": [1], "s": pa.array([{"x": 1}])}), f"delta:{table}")
    for new in (pa.table({"id": [2], "a b": [1]}), pa.table({"id": [2], "s": pa.array([{"x": 1, "a b": 2}])})):
        with pytest.raises(lr.InvalidInputError, match=r'"a b"'):
            lr.copy(new, table, mode="append", evolve="add")
    assert lr.scan(table).count() == 1


@pytest.mark.parametrize(
    ("partition_by", "code", "says"),
    [
        (["nothing"], 3, 'there is no column "nothing"'),
        (["ID"], 3, 'did you mean "id"?'),
        (["id", "id"], 2, "given twice"),
        (["raw"], 6, '"raw" of type binary'),
        (["list"], 6, "nested"),
    ],
)
def test_partitions(tmp_path: Path, partition_by: list[str], code: int, says: str) -> None:
    doors = ("--partition-by " + ",".join(partition_by), f"partition_by={json.dumps(partition_by)}")
    refused(tmp_path, rows(), code, [says], doors, partition_by=partition_by)


def test_all_columns_are_no_partitions(tmp_path: Path) -> None:
    source = rows().select(["id", "text"])
    doors = ("--partition-by id,text", 'partition_by=["id", "text"]')
    refused(tmp_path, source, 2, [], doors, partition_by=["id", "text"])


def test_floats_divide_files(tmp_path: Path) -> None:
    values = [1.5, -0.0, 0.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, None]
    source = pa.table({"x": pa.array(values, pa.float64()), "id": range(len(values))})
    table = tmp_path / "table"
    lr.copy(source, f"delta:{table}", partition_by="x")
    assert lr.scan(table).checksum() == lr.scan(source_file(tmp_path, source)).checksum()
    by_others = DeltaTable(table).to_pyarrow_table().sort_by("id")["x"].to_pylist()
    assert [str(value) for value in by_others[3:]] == [str(value) for value in values[3:]]


def source_file(tmp_path: Path, source: pa.Table) -> Path:
    file = tmp_path / "source.parquet"
    pq.write_table(source, file)
    return file


@pytest.mark.parametrize(
    ("value", "is_fine"), [("v" * 250, True), ("v" * 300, False), ("ä" * 130, False), ("/" * 90, False)]
)
def test_long_partition_values(tmp_path: Path, value: str, is_fine: bool) -> None:
    """The name of a folder on a local disk has 255 bytes at most, `/` being three of them."""
    source = pa.table({"part": [value], "id": [1]})
    if not is_fine:
        refused(
            tmp_path,
            source,
            4,
            ['partition column "part"', "255"],
            ("--partition-by", "partition_by"),
            partition_by=["part"],
        )
        return
    lr.copy(source, f"delta:{tmp_path / 'table'}", partition_by="part")
    assert lr.scan(tmp_path / "table").to_arrow().to_pylist() == source.to_pylist()


def test_long_partition_values_on_s3(s3: S3) -> None:
    """The key of an object has 1024 bytes at most."""
    source = pa.table({"part": ["v" * 1000], "id": [1]})
    with pytest.raises(lr.InvalidInputError, match=r'partition column "part".*1024 bytes'):
        lr.copy(source, f"delta:{s3.url('long')}", partition_by="part", storage_options=s3.options)
    assert s3.keys("long") == []


def test_bytes_that_are_no_text_divide_no_files(tmp_path: Path) -> None:
    """Another tool's table may be partitioned by a binary column."""
    table = tmp_path / "table"
    write_deltalake(table, pa.table({"raw": [b"a"], "id": [1]}), partition_by=["raw"])
    with pytest.raises(lr.UnsupportedError, match=r'partition column "raw"'):
        lr.copy(pa.table({"raw": [b"\xff"], "id": [2]}), table, mode="append")
    assert DeltaTable(table).to_pyarrow_table().num_rows == 1


@pytest.mark.parametrize("target", ["delta:{}/table", "{}/file.orc"])
def test_uuids_become_bytes_and_the_user_hears_of_it(tmp_path: Path, target: str) -> None:
    kind = pa.binary(16)
    nested = pa.array([[{"v": bytes(range(16))}]], pa.list_(pa.struct([("v", kind)])))
    source = pa.table({"id": [1], "u": pa.array([bytes(16)], kind), "list": nested})
    name = target.format(tmp_path)
    with pytest.warns(lr.LakeraceWarning, match=r'column "u" \(16 bytes\), column "list\.\w+\.v" \(16 bytes\) have'):
        lr.copy(source, name)
    file = source_file(tmp_path, source)
    assert lr.scan(name.removeprefix("delta:")).checksum() == lr.scan(file).checksum()
    done = run("copy", file, name, "--mode", "overwrite", "--json")
    assert done.code == 0
    assert len(done.json["warnings"]) == (0 if name.startswith("delta:") else 1)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (-99_999_999_999_999_999, pa.timestamp("us"), "-1199-"),
        (253_402_300_800_000_000, pa.timestamp("us", "UTC"), "+10000-01-01"),
        (2_932_897, pa.date32(), "+10000-01-01"),
    ],
)
def test_partitions_hold_years_of_four_digits(tmp_path: Path, value: int, kind: pa.DataType, text: str) -> None:
    source = pa.table({"id": [1, 2], "t": pa.array([0, value], kind)})
    refused(tmp_path, source, 4, ['"t"', text, "years 0 to 9999"], partition_by=["t"])
    near = pa.table({"id": [1], "t": pa.array([253_402_300_799_999_999 if kind != pa.date32() else 2_932_896], kind)})
    table = tmp_path / "near"
    lr.copy(near, f"delta:{table}", partition_by=["t"])
    assert lr.scan(table).to_arrow().column("t").cast(kind).equals(near.column("t"))
    with pytest.raises(lr.InvalidInputError, match="years 0 to 9999"):
        lr.Table(table).upsert(source, key=["id", "t"])
    assert lr.scan(table).count() == 1


def test_a_struct_without_fields_names_its_column(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "s": pa.array([[{}]], pa.list_(pa.struct([])))})
    with pytest.raises(lr.UnsupportedError, match=r'column "s": .*struct without fields'):
        lr.copy(rows, f"delta:{tmp_path}/t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("name", ["delta:{}", "{}"])
def test_upserts_follow_options_of_new_tables_or_refuse_them(tmp_path: Path, name: str) -> None:
    table = tmp_path / "table"
    properties = {"lakerace.primaryKey": "id", "delta.appendOnly": "false"}
    source = pa.table({"id": [1, 2], "day": ["a", "b"]})
    lr.copy(source, f"delta:{table}", partition_by="day", table_properties=properties)
    upserted = lr.Table(name.format(table)).upsert(source, partition_by="day", table_properties=properties)
    assert upserted.rows == 2
    with pytest.raises(lr.UnsupportedError, match="is partitioned by day, but partition_by names id"):
        lr.Table(name.format(table)).upsert(source, partition_by="id")
    with pytest.raises(lr.UnsupportedError, match=r"lacks the property delta\.appendOnly=true"):
        lr.Table(name.format(table)).upsert(source, table_properties={"delta.appendOnly": "true"})
    assert DeltaTable(table).version() == 1
