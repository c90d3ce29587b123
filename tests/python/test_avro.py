"""Avro files: those that fastavro and polars write, those that they read, and what Avro can't hold."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import random
import subprocess
import uuid
from typing import TYPE_CHECKING, Any

import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from avro_files import numbered, rows_of, with_schema, write
from conftest import TIMEOUT_SECONDS, command, ok, people, run
from test_round_trip import EVERY, plain, table

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3

UTC = datetime.timezone.utc
#: The codecs of the format, by what `--compression` calls those that are written.
CODECS = {"none": "null", "gzip": "deflate", "snappy": "snappy", "zstd": "zstandard"}
READ_CODECS = [*CODECS.values(), "bzip2", "xz"]


def header_of(path: Path) -> dict[str, str]:
    """The metadata of a file."""
    with path.open("rb") as file:
        return dict(fastavro.reader(file).metadata)


@pytest.mark.parametrize("codec", READ_CODECS)
def test_each_codec_of_fastavro_is_read(tmp_path: Path, codec: str) -> None:
    fields, rows = numbered(5000)
    path = write(tmp_path / "a.avro", fields, rows, codec=codec)
    found = lr.scan(path).to_arrow()
    assert found.to_pylist() == rows
    assert found.schema == pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("part", pa.float64())]
    )
    assert lr.scan(path, threads=1, batch_rows=100).to_arrow().to_pylist() == rows


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_is_read_by_fastavro(tmp_path: Path, codec: str) -> None:
    made = people(50_000)
    path = tmp_path / "a.avro"
    report = lr.copy(made, path, compression=codec)
    assert (report.rows, report.file_bytes) == (50_000, path.stat().st_size)
    assert header_of(path)["avro.codec"] == CODECS[codec]
    assert rows_of(path) == made.to_pylist()
    assert lr.checksum(path) == lr.checksum(made)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
def test_each_codec_of_polars_goes_both_ways(tmp_path: Path, codec: str) -> None:
    made = people(10_000)
    ours, theirs = tmp_path / "ours.avro", tmp_path / "theirs.avro"
    lr.copy(made, ours, compression=codec)
    assert pl.read_avro(ours).to_arrow().to_pylist() == made.to_pylist()
    names: dict[str, Any] = {"none": "uncompressed", "gzip": "deflate", "snappy": "snappy"}
    pl.DataFrame(made).write_avro(theirs, compression=names[codec])
    assert lr.scan(theirs).to_arrow().to_pylist() == made.to_pylist()


def test_the_default_codec_is_one_that_every_reader_has(tmp_path: Path) -> None:
    lr.copy(people(), tmp_path / "a.avro")
    assert header_of(tmp_path / "a.avro")["avro.codec"] == "deflate"


@pytest.mark.parametrize("codec", ["lz4", "brotli"])
def test_codecs_that_avro_lacks_are_refused(tmp_path: Path, codec: str) -> None:
    with pytest.raises(lr.UsageError, match="deflate"):
        lr.copy(people(), tmp_path / "a.avro", compression=codec)
    assert list(tmp_path.iterdir()) == []


def test_levels_change_the_size(tmp_path: Path) -> None:
    made = pa.table({"t": [f"{i * i} some text" for i in range(50_000)]})
    sizes = [lr.copy(made, tmp_path / f"{level}.avro", compression=f"gzip:{level}").file_bytes for level in (1, 9)]
    assert sizes[1] < sizes[0]


#: The types of the format: as fastavro writes them, its values, and the type that is read.
LOGICAL: dict[str, tuple[Any, list[Any], pa.DataType]] = {
    "boolean": ("boolean", [True, False], pa.bool_()),
    "int": ("int", [-(2**31), 2**31 - 1], pa.int32()),
    "long": ("long", [-(2**63), 2**63 - 1, 0], pa.int64()),
    "float": ("float", [1.5, float("inf")], pa.float32()),
    "double": ("double", [0.1, -1e300], pa.float64()),
    "bytes": ("bytes", [b"", b"\xff\x00"], pa.binary()),
    "string": ("string", ["", "ä€😀"], pa.string()),
    "date": (
        {"type": "int", "logicalType": "date"},
        [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
        pa.date32(),
    ),
    "time_ms": ({"type": "int", "logicalType": "time-millis"}, [datetime.time(23, 59, 59, 999000)], pa.time32("ms")),
    "time_us": ({"type": "long", "logicalType": "time-micros"}, [datetime.time(1, 2, 3, 456789)], pa.time64("us")),
    "ts_ms": (
        {"type": "long", "logicalType": "timestamp-millis"},
        [datetime.datetime(2024, 2, 29, 1, 2, 3, 4000, UTC), datetime.datetime(1900, 1, 1, tzinfo=UTC)],
        pa.timestamp("ms", "UTC"),
    ),
    "ts_us": (
        {"type": "long", "logicalType": "timestamp-micros"},
        [datetime.datetime(2024, 2, 29, 1, 2, 3, 4, UTC)],
        pa.timestamp("us", "UTC"),
    ),
    "local_ms": (
        {"type": "long", "logicalType": "local-timestamp-millis"},
        [datetime.datetime(2024, 2, 29, 1, 2, 3, 4000)],
        pa.timestamp("ms"),
    ),
    "local_us": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)],
        pa.timestamp("us"),
    ),
    "decimal_bytes": (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
        [decimal.Decimal("-1234567890123456789012345678.0123456789"), decimal.Decimal("0E-10")],
        pa.decimal128(38, 10),
    ),
    "decimal_fixed": (
        {"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 2},
        [decimal.Decimal("-9999999.99"), decimal.Decimal("1.25")],
        pa.decimal128(9, 2),
    ),
    "decimal_wide": (
        {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 0},
        [decimal.Decimal("9" * 60), decimal.Decimal("-" + "9" * 60)],
        pa.decimal256(60, 0),
    ),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, [b"abc"], pa.binary(3)),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"}, ["B", "A"], pa.string()),
    "array": ({"type": "array", "items": ["null", "int"]}, [[], [1, None, 3]], pa.list_(pa.int32())),
    "map": ({"type": "map", "values": "string"}, [{}, {"a": "x", "b": "y"}], pa.map_(pa.string(), pa.string())),
    "record": (
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "x", "type": ["null", {"type": "array", "items": "long"}]}],
        },
        [{"x": None}, {"x": [1, 2]}],
        pa.struct([("x", pa.list_(pa.int64()))]),
    ),
}


@pytest.mark.parametrize("kind", LOGICAL)
@pytest.mark.parametrize("null", ["never", "first", "last"])
def test_each_type_of_fastavro_is_read(tmp_path: Path, kind: str, null: str) -> None:
    avro, values, arrow = LOGICAL[kind]
    field = {"never": avro, "first": ["null", avro], "last": [avro, "null"]}[null]
    given = values if null == "never" else [*values, None, *values]
    path = write(tmp_path / "a.avro", [{"name": "c", "type": field}], [{"c": value} for value in given])
    found = lr.scan(path).to_arrow()
    read = [dict(value) if kind == "map" and value is not None else value for value in found["c"].to_pylist()]
    assert read == given
    assert found.schema.field("c").nullable == (null != "never")
    # Names and nullability within differ.
    assert found["c"].type == arrow or kind in {"array", "map", "record"}
    # What is read is written, and fastavro reads the same again.
    lr.copy(path, tmp_path / "b.avro")
    assert rows_of(tmp_path / "b.avro") == [{"c": value} for value in given]
    lr.copy(path, tmp_path / "c.parquet")
    assert lr.checksum(tmp_path / "c.parquet") == lr.checksum(path)


def test_a_uuid_is_read_as_its_text(tmp_path: Path) -> None:
    value = uuid.uuid4()
    field = {"name": "id", "type": {"type": "string", "logicalType": "uuid"}}
    path = write(tmp_path / "a.avro", [field], [{"id": value}])
    assert lr.scan(path).to_arrow().to_pylist() == [{"id": str(value)}]
    assert lr.scan(path, where=f"id = '{value}'").count() == 1


def test_nanoseconds_are_read(tmp_path: Path) -> None:
    fields = [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-nanos"}},
    ]
    path = write(tmp_path / "a.avro", fields, [{"at": 1_700_000_000_123_456_789, "local": 1}])
    found = lr.scan(path).to_arrow()
    assert found.schema.types == [pa.timestamp("ns", "UTC"), pa.timestamp("ns")]
    assert found["at"].cast(pa.int64()).to_pylist() == [1_700_000_000_123_456_789]
    with pytest.raises(lr.UnsupportedError, match=r'column "at".*microseconds'):
        lr.copy(path, tmp_path / "b.avro")


def test_an_unknown_logical_type_is_the_type_below(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "a", "type": {"type": "long", "logicalType": "ticks"}},
            {"name": "b", "type": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 5}},
        ],
    }
    path = tmp_path / "a.avro"
    plain_fields = [{"name": "a", "type": "long"}, {"name": "b", "type": "bytes"}]
    write(path, plain_fields, [{"a": 5, "b": b"\x01"}], codec="null")
    replaced = with_schema(path.read_bytes(), schema)
    path.write_bytes(replaced)
    assert lr.scan(path).to_arrow().to_pylist() == [{"a": 5, "b": b"\x01"}]


def test_documentation_defaults_aliases_and_namespaces_change_nothing(tmp_path: Path) -> None:
    fixed = {"type": "fixed", "name": "Hash", "namespace": "org.other", "size": 2, "aliases": ["Md2"]}
    fields: list[dict[str, Any]] = [
        {"name": "a", "type": ["null", "int"], "default": None, "doc": "a number", "aliases": ["old_a"]},
        {"name": "b", "type": "string", "default": "none", "order": "descending"},
        {"name": "h", "type": fixed},
        {"name": "again", "type": {"type": "array", "items": "org.other.Hash"}},
        {
            "name": "inner",
            "type": {"type": "record", "name": "Inner", "fields": [{"name": "b", "type": ["null", "org.other.Hash"]}]},
        },
        {"name": "twin", "type": {"type": "map", "values": "Inner"}},
    ]
    rows = [{"a": 1, "b": "x", "h": b"ab", "again": [b"cd"], "inner": {"b": None}, "twin": {"k": {"b": b"ef"}}}]
    path = write(tmp_path / "a.avro", fields, rows)
    found = lr.scan(path).to_arrow()
    assert [{**row, "twin": dict(row["twin"])} for row in found.to_pylist()] == rows
    assert not any(field.metadata for field in found.schema)
    assert lr.scan(path, columns=["again"]).to_arrow().to_pylist() == [{"again": [b"cd"]}]


def test_a_union_of_several_types_is_one_of_arrow(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "int"}, {"name": "u", "type": ["null", "int", "string"]}]
    rows = [{"id": i, "u": value} for i, value in enumerate([None, 5, "x", 7])]
    path = write(tmp_path / "a.avro", fields, rows)
    assert lr.scan(path).to_arrow().to_pylist() == rows
    assert lr.scan(path, where="id > 1").to_arrow().to_pylist() == rows[2:]
    assert lr.scan(path, columns=["id"]).to_arrow()["id"].to_pylist() == [0, 1, 2, 3]
    with pytest.raises(lr.UnsupportedError, match=r'column "u".*column of its own'):
        lr.copy(path, tmp_path / "b.avro")


def test_a_type_that_contains_itself_is_refused(tmp_path: Path) -> None:
    fields = [{"name": "n", "type": {"type": "record", "name": "Node", "fields": [
        {"name": "next", "type": ["null", "Node"]}]}}]  # fmt: skip
    path = write(tmp_path / "a.avro", fields, [{"n": {"next": {"next": None}}}])
    with pytest.raises(lr.UnsupportedError, match=r'column "n".*"org\.example\.Node" contains itself'):
        lr.scan(path)


@pytest.mark.parametrize("rows", [0, 1, 2500])
def test_random_tables_of_all_types(tmp_path: Path, rows: int) -> None:
    lacking = {"uint64", "timestamp_ns"}
    made = table("avro", {kind: made for kind, made in EVERY.items() if kind not in lacking}, rows)
    made = made.rename_columns([name.replace(" ", "_") for name in made.schema.names])
    path = tmp_path / "x.avro"
    assert lr.copy(made, path).rows == rows
    back = lr.scan(path).to_arrow()
    assert plain(back) == plain(made)
    assert lr.checksum(path) == lr.checksum(made)
    theirs = [
        {**row, **{key: list(value.items()) for key, value in row.items() if isinstance(value, dict) and "map" in key}}
        for row in rows_of(path)
    ]
    utc = {name for name in made.schema.names if name.startswith("timestamp_us_utc")}
    ours = [
        {key: value.astimezone(UTC) if key in utc and value else value for key, value in row.items()}
        for row in plain(made)
    ]
    assert theirs == ours


#: Columns that Avro can't hold, and what the error says.
REFUSED: dict[str, tuple[pa.Array, str]] = {
    "uint64": (pa.array([2**64 - 1], pa.uint64()), "bigint"),
    "null": (pa.nulls(2), "nulls only"),
    "time_ns": (pa.array([1], pa.time64("ns")), "microseconds"),
    "timestamp_ns": (pa.array([1], pa.timestamp("ns")), "microseconds"),
    "timestamp_ns_utc": (pa.array([1], pa.timestamp("ns", "UTC")), "microseconds"),
    "duration": (pa.array([1], pa.duration("s")), "bigint"),
    "interval": (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "text"),
    "empty_struct": (pa.array([{}], pa.struct([])), "omit the column"),
    "list_of_nulls": (pa.array([[None]], pa.list_(pa.null())), "nulls only"),
    "list_of_uint64": (pa.array([[1]], pa.list_(pa.uint64())), "_elem"),
    "map_of_ints": (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), "keys of text"),
    "negative_scale": (pa.array([decimal.Decimal("100")], pa.decimal128(5, -2)), "scale"),
    "union": (
        pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
        "column of its own",
    ),
    "dictionary": (pa.array([2**64 - 1], pa.uint64()).dictionary_encode(), "bigint"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_avro_lacks_is_refused_with_its_column(tmp_path: Path, kind: str) -> None:
    column, says = REFUSED[kind]
    with pytest.raises(lr.UnsupportedError, match=f'column "{kind}') as raised:
        lr.copy(pa.table({kind: column}), tmp_path / "a.avro")
    assert says in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "other"), [("order id", "order_id"), ("1st", "_1st"), ("a.b", "a_b"), ("é", "_")])
def test_names_that_avro_lacks_are_refused_with_another(tmp_path: Path, name: str, other: str) -> None:
    made, path = pa.table({name: [1, 2]}), tmp_path / "a.avro"
    with pytest.raises(lr.UnsupportedError, match=f"for example to {other};"):
        lr.copy(made, path)
    with pytest.raises(lr.UnsupportedError, match="for example to"):
        lr.copy(pa.table({"s": [{name: 1}]}), path)
    pq.write_table(made, tmp_path / "a.parquet")
    lr.copy(tmp_path / "a.parquet", path, columns=[f'"{name}" as {other}'])
    assert rows_of(path) == [{other: 1}, {other: 2}]


def test_the_advice_of_an_error_works(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"u": pa.array([1, 2**64 - 1], pa.uint64()), "n": pa.nulls(2)}), source)
    error = run("copy", source, tmp_path / "a.avro", "--json")
    assert (error.code, error.error["kind"]) == (6, "unsupported")
    ok("copy", source, tmp_path / "a.avro", "--columns", "cast(u as decimal(20,0)) as u")
    assert rows_of(tmp_path / "a.avro") == [{"u": decimal.Decimal(1)}, {"u": decimal.Decimal(2**64 - 1)}]


def test_a_map_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    made = pa.table({"m": pa.array([[("a", 1)], [("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(lr.InvalidInputError, match=r'column "m".*row 2.*"k" twice'):
        lr.copy(made, tmp_path / "a.avro")
    assert list(tmp_path.iterdir()) == []


def test_dates_of_64_bits_are_whole_days(tmp_path: Path) -> None:
    made = pa.table({"d": pa.array([datetime.date(1960, 2, 29), None], pa.date64())})
    lr.copy(made, tmp_path / "a.avro")
    assert rows_of(tmp_path / "a.avro") == made.to_pylist()
    odd = pa.table({"d": pa.array([-1], pa.int64()).view(pa.date64())})
    with pytest.raises(lr.InvalidInputError, match='column "d": the date64 value -1 ms'):
        lr.copy(odd, tmp_path / "b.avro")


def test_small_types_are_written_as_the_next_larger(tmp_path: Path) -> None:
    made = pa.table(
        {
            "u32": pa.array([2**32 - 1, None], pa.uint32()),
            "i8": pa.array([-128, 127], pa.int8()),
            "f16": pa.array([1.5, None], pa.float16()),
            "s": pa.array([1, None], pa.timestamp("s")),
            "t": pa.array([1, None], pa.time32("s")),
            "zone": pa.array([0, None], pa.timestamp("us", "Europe/Berlin")),
            "fixed": pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
            "views": pa.array(["x", None], pa.string_view()),
            "large": pa.array([["x"], None], pa.large_list(pa.large_string())),
            "ends": pa.RunEndEncodedArray.from_arrays([2], ["x"]),
        }
    )
    lr.copy(made, tmp_path / "a.avro")
    first = {
        "u32": 2**32 - 1,
        "i8": -128,
        "f16": 1.5,
        "s": datetime.datetime(1970, 1, 1, 0, 0, 1),
        "t": datetime.time(0, 0, 1),
        "zone": datetime.datetime(1970, 1, 1, tzinfo=UTC),
        "fixed": [1, 2],
        "views": "x",
        "large": ["x"],
        "ends": "x",
    }
    second: dict[str, Any] = {**dict.fromkeys(first), "i8": 127, "ends": "x"}
    assert rows_of(tmp_path / "a.avro") == [first, second]


def test_the_schema_is_one_of_records_with_unique_names(tmp_path: Path) -> None:
    inner = pa.struct([pa.field("x", pa.binary(2), nullable=False), ("s", pa.struct([("x", pa.binary(2))]))])
    lr.copy(pa.table({"s": pa.array([{"x": b"ab", "s": {"x": b"cd"}}], inner)}), tmp_path / "a.avro")
    schema = json.loads(header_of(tmp_path / "a.avro")["avro.schema"])
    assert schema["name"] == "topLevelRecord"
    assert schema["fields"][0]["type"][0] == "null"
    assert [field["type"][1]["type"] for field in schema["fields"]] == ["record"]
    assert rows_of(tmp_path / "a.avro") == [{"s": {"x": b"ab", "s": {"x": b"cd"}}}]


def test_notes_travel_in_the_header(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({"mine": "ä", "avro.codec": "lzo"}), source)
    lr.copy(source, tmp_path / "b.avro")
    assert {key: header_of(tmp_path / "b.avro").get(key) for key in ("mine", "avro.codec")} == {
        "mine": "ä",
        "avro.codec": "deflate",
    }
    lr.copy(tmp_path / "b.avro", tmp_path / "c.parquet")
    assert pq.read_schema(tmp_path / "c.parquet").metadata[b"mine"] == "ä".encode()


def test_filters_columns_and_limits(tmp_path: Path) -> None:
    fields, rows = numbered(20_000)
    path = write(tmp_path / "a.avro", fields, rows, codec="snappy")
    found = lr.scan(path, columns=["part", "id"], where="id >= 12345 AND name IS NOT NULL", limit=10).to_arrow()
    wanted = [row for row in rows if row["id"] >= 12345 and row["name"] is not None][:10]
    assert found.to_pylist() == [{"part": row["part"], "id": row["id"]} for row in wanted]
    assert lr.scan(path).count() == 20_000
    assert lr.scan(path, where="part > 100").count() == sum(
        1 for row in rows if row["part"] is not None and row["part"] > 100
    )
    assert lr.scan(path, order_by="id desc", limit=2).to_arrow()["id"].to_pylist() == [19_999, 19_998]
    with pytest.raises(lr.NotFoundError, match="name"):
        lr.scan(path, columns=["nam"]).to_arrow()


def test_the_command_reads_and_writes(tmp_path: Path, parquet: Path) -> None:
    path = tmp_path / "a.avro"
    report = ok("copy", parquet, path, "--json", "--verify").json
    assert (report["rows"], report.get("format", "avro")) == (1000, "avro")
    assert ok("scan", path, "--checksum").out == ok("scan", parquet, "--checksum").out
    assert ok("scan", path, "--count").out.strip() == "1000"
    assert "name" in ok("schema", path).out
    assert "score" in ok("scan", path, "--explain", "--where", "score > 3").out
    ok("copy", path, tmp_path / "back.parquet")
    assert pq.read_table(tmp_path / "back.parquet").to_pylist() == people().to_pylist()
    done = run("copy", parquet, tmp_path / "b.avro", "--row-group-rows", "5", "--json")
    assert (done.code, done.error["kind"]) == (2, "usage")


def test_the_format_is_told_by_the_first_bytes(tmp_path: Path, parquet: Path) -> None:
    lr.copy(parquet, tmp_path / "a.avro")
    given = (tmp_path / "a.avro").read_bytes()
    unnamed = tmp_path / "rows.data"
    unnamed.write_bytes(given)
    assert lr.scan(unnamed).count() == 1000
    piped = subprocess.run(
        command("scan", "-", "--where", "id >= 998", "--columns", "id", "--format", "csv"),
        input=given, capture_output=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    assert (piped.returncode, piped.stdout) == (0, b"id\n998\n999\n"), piped.stderr
    assert b"temporary file" not in piped.stderr
    out = subprocess.run(
        command("copy", parquet, "-", "--output-format", "avro"),
        capture_output=True, timeout=TIMEOUT_SECONDS, check=True,
    ).stdout  # fmt: skip
    assert list(fastavro.reader(io.BytesIO(out))) == people().to_pylist()


def test_rows_are_upserted_and_loaded(tmp_path: Path) -> None:
    fields, rows = numbered(3000)
    path = write(tmp_path / "a.avro", fields, rows[1000:])
    lr.copy(pa.table({"id": range(1500), "name": ["old"] * 1500, "part": [0.0] * 1500}), f"delta:{tmp_path}/lake")
    lr.Table(tmp_path / "lake").upsert(path, key="id")
    found = lr.scan(tmp_path / "lake", order_by="id").to_arrow().to_pylist()
    old = [{"id": i, "name": "old", "part": 0.0} for i in range(1000)]
    assert found == old + rows[1000:]
    lr.copy(path, f"sqlite:{tmp_path}/t.db#rows")
    assert lr.scan(f"sqlite:{tmp_path}/t.db#rows").count() == 2000
    lr.copy(tmp_path / "lake", tmp_path / "back.avro")
    assert len(rows_of(tmp_path / "back.avro")) == 3000


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    fields, rows = numbered(300)
    for number in range(3):
        folder = tmp_path / "t" / f"day={number}"
        folder.mkdir(parents=True)
        write(folder / "x.avro", fields, rows[number * 100 : number * 100 + 100])
    found = lr.scan(tmp_path / "t", where="day > 0", order_by="id")
    assert found.to_arrow().to_pylist() == [{**row, "day": row["id"] // 100} for row in rows[100:]]
    named = lr.scan(f"{tmp_path}/t/**/*.avro", file_name_column="file", columns=["file"]).to_arrow()
    assert len(set(named["file"].to_pylist())) == 3
    write(tmp_path / "t" / "day=1" / "y.avro", fields[:2], [{"id": 1, "name": "x"}])
    with pytest.raises(lr.UnsupportedError, match=r"y\.avro.*same columns"):
        lr.scan(tmp_path / "t")


def test_a_folder_is_written(tmp_path: Path) -> None:
    lr.copy(people(4), f"{tmp_path}/out/", output_format="avro", partition_by=["name"])
    paths = sorted((tmp_path / "out").rglob("*.avro"))
    assert len(paths) == 4
    assert sorted(row["id"] for path in paths for row in rows_of(path)) == [0, 1, 2, 3]


def test_s3_is_read_with_few_requests(s3: S3, tmp_path: Path) -> None:
    r = random.Random(1)
    rows = [{"id": i, "data": r.randbytes(100)} for i in range(200_000)]
    path = write(tmp_path / "a.avro", [{"name": "id", "type": "long"}, {"name": "data", "type": "bytes"}], rows)
    s3.put("avro/a.avro", path.read_bytes())
    scan = lr.scan(s3.url("avro/a.avro"), storage_options=s3.options)
    assert scan.to_arrow()["id"].to_pylist() == list(range(200_000))
    report = scan.report()
    size = path.stat().st_size
    assert size > 20_000_000
    assert report["requests"]["get"] <= 2 + size // (4 << 20) + 1
    assert size <= report["bytes_read"] <= size * 1.1
    lr.copy(scan, s3.url("avro/b.avro"), storage_options=s3.options)
    written = lr.scan(s3.url("avro/b.avro"), storage_options=s3.options)
    assert written.checksum() == lr.checksum(path).checksum
