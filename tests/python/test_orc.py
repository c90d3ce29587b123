"""ORC files, ours and others', by lakerace and by pyarrow."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conformance import assert_equals, corpus, rows
from conftest import ok, people, run
from pyarrow import orc

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

CODECS = ["none", "zlib", "snappy", "lz4", "zstd"]


def every_type(count: int = 3000) -> pa.Table:
    """A table of all types that pyarrow.orc and Parquet both have, with nulls."""

    def column(make: object, kind: pa.DataType) -> pa.Array:
        assert callable(make)
        return pa.array([None if i % 11 == 3 else make(i) for i in range(count)], kind)

    start = datetime.datetime(1999, 12, 31, 23, 59, 58)
    return pa.table(
        {
            "bool": column(lambda i: i % 3 == 0, pa.bool_()),
            "i8": column(lambda i: i % 256 - 128, pa.int8()),
            "i16": column(lambda i: i * 7 - 9000, pa.int16()),
            "i32": column(lambda i: i * 70001 - 2**30, pa.int32()),
            "i64": column(lambda i: i * 2**48 - 2**55, pa.int64()),
            "f32": column(lambda i: i / 3, pa.float32()),
            "f64": column(lambda i: -i / 7, pa.float64()),
            "text": column(lambda i: f"größer {i % 500} 🦀", pa.string()),
            "bytes": column(lambda i: bytes([i % 256]) * (i % 9), pa.binary()),
            "day": column(lambda i: datetime.date(1600, 1, 1) + datetime.timedelta(days=i * 60), pa.date32()),
            "at": column(lambda i: start + datetime.timedelta(hours=i, microseconds=i), pa.timestamp("ns")),
            "instant": column(lambda i: start + datetime.timedelta(days=i), pa.timestamp("ns", "UTC")),
            "money": column(lambda i: decimal.Decimal(i * 37 - 500).scaleb(-2), pa.decimal128(12, 2)),
            "huge": column(lambda i: decimal.Decimal(i) * 10**30, pa.decimal128(38, 0)),
            "list": column(lambda i: [i, None, -i][: i % 4], pa.list_(pa.int64())),
            "map": column(lambda i: [(f"k{i}", i)] * (i % 2), pa.map_(pa.string(), pa.int32())),
            "struct": column(lambda i: {"a": i, "b": f"{i}"}, pa.struct([("a", pa.int32()), ("b", pa.string())])),
        }
    )


@pytest.mark.parametrize("codec", CODECS)
def test_pyarrow_reads_what_we_write(codec: str, tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "a.orc"
    table = every_type()
    pq.write_table(table, source)
    ok("copy", source, target, "--compression", codec, "--row-group-bytes", "64KiB")
    file = orc.ORCFile(target)
    assert file.compression == ("UNCOMPRESSED" if codec == "none" else codec.upper())
    assert file.nstripes > 1
    assert rows(file.read()) == rows(table)
    assert lr.scan(target).checksum() == lr.scan(source).checksum()


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_we_read_what_pyarrow_writes(codec: str, tmp_path: Path) -> None:
    source, parquet = tmp_path / "a.orc", tmp_path / "a.parquet"
    table = every_type()
    orc.write_table(table, source, compression=codec, stripe_size=64 << 10, dictionary_key_size_threshold=0.5)
    pq.write_table(table, parquet)
    assert rows(pa.table(lr.scan(source))) == rows(table)
    assert lr.scan(source).checksum() == lr.scan(parquet).checksum()


def test_filters_columns_and_limits(tmp_path: Path) -> None:
    source = tmp_path / "a.orc"
    table = people(50_000)
    orc.write_table(table, source, stripe_size=64 << 10)
    scan = lr.scan(source, columns=["name", "id"], where="id >= 49990 and score is not null")
    wanted = [i for i in range(49_990, 50_000) if i % 5]
    assert pa.table(scan).column("id").to_pylist() == wanted
    assert pa.table(lr.scan(source, limit=7)).column("id").to_pylist() == list(range(7))
    assert pa.table(lr.scan(source, where="id < 0")).num_rows == 0
    with pytest.raises(lr.NotFoundError, match="score"):
        lr.scan(source, columns=["scores"])


def far_times() -> pa.Table:
    """Times before 1582 and after 2262, and near ones with nanoseconds."""
    far = [-62_135_596_800_000_000, None, -12_219_292_800_000_001, 0, 253_402_300_799_999_999]
    near = [1, -5_000_000_000, None, 1_700_000_000_123_456_789, 7]
    return pa.table({"far": pa.array(far, pa.timestamp("us")), "near": pa.array(near, pa.timestamp("ns"))})


def test_times_of_any_year(tmp_path: Path) -> None:
    theirs, ours, near = tmp_path / "a.orc", tmp_path / "b.orc", tmp_path / "c.orc"
    orc.write_table(far_times(), theirs)
    lr.copy(theirs, ours)
    for path in (theirs, ours):
        table = pa.table(lr.scan(path))
        assert table.schema == far_times().schema
        assert table.equals(far_times())
        assert pa.table(lr.scan(path, where="far < timestamp '1582-10-15'")).num_rows == 2
        with pytest.raises(lr.InvalidInputError, match=r'"far".*row 0.*0001-01-01') as raised:
            pa.table(lr.scan(path, timestamp_unit="ns"))
        assert "timestamp_unit" in str(raised.value)
        assert pa.table(lr.scan(path, columns=["near"], timestamp_unit="ms")).column(0).type == pa.timestamp("ms")
    # One file with far times decides for all of them.
    orc.write_table(far_times().set_column(0, "far", pa.array([0] * 5, pa.timestamp("us"))), near)
    assert pa.table(lr.scan(near)).schema.field("far").type == pa.timestamp("ns")
    assert pa.table(lr.scan(tmp_path, format="orc")).schema.field("far").type == pa.timestamp("us")
    assert lr.checksum(lr.scan(theirs)).checksum == lr.checksum(far_times()).checksum
    done = run("scan", theirs, "--columns", "far", "--timestamp-unit", "ns", "--json")
    assert (done.code, "--timestamp-unit" in done.error["advice"]) == (4, True)
    with pytest.raises(lr.UsageError, match="minutes"):
        lr.scan(theirs, timestamp_unit="minutes")  # type: ignore[arg-type]


def test_folders_and_names_without_an_ending(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    table = people(1000)
    lr.copy(table, f"{folder}/", output_format="orc")
    assert [path.suffix for path in folder.glob("*.orc")] == [".orc"]
    assert pa.table(lr.scan(f"{folder}/")).equals(pa.table(lr.scan(next(folder.glob("*.orc")))))
    plain = tmp_path / "plain"
    next(folder.glob("*.orc")).rename(plain)
    assert lr.scan(plain, format="orc").checksum() == lr.checksum(table).checksum


def test_what_orc_lacks_is_refused(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "a.orc"
    pq.write_table(people(10), source)
    assert "zstd" in run("copy", source, target, "--compression", "brotli", "--json").error["advice"]
    assert run("copy", source, target, "--row-group-rows", "100", "--json").code == 2
    pq.write_table(pa.table({"t": pa.array([1], pa.time64("us"))}), source)
    assert "column t" in run("copy", source, target, "--json").error["place"]
    assert not target.exists()


def corpus_files(name: str) -> list[Path]:
    return sorted(corpus(name).glob("*.orc"))


@pytest.mark.parametrize("path", corpus_files("orc"), ids=lambda p: p.name)
def test_rows_equal_pyarrow(path: Path) -> None:
    assert_equals(path, orc.read_table)


@pytest.mark.parametrize("path", corpus_files("orc/corrupt"), ids=lambda p: p.name)
def test_damaged_files_give_errors(path: Path) -> None:
    done = run("scan", path, "--checksum", "--json")
    assert done.code in (5, 6), done.out + done.err
    assert path.name in done.error["place"]
    assert "Traceback" not in done.err
