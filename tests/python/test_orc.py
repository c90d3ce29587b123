"""ORC files, ours and others', by lakerace and by pyarrow."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conformance import rows
from conftest import ok, people, run
from orc_tables import CODECS, TABLES, every_type, nested
from pyarrow import orc

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", TABLES)
def test_pyarrow_reads_what_we_write(name: str, codec: str, tmp_path: Path) -> None:
    target = tmp_path / "a.orc"
    table = TABLES[name]()
    lr.copy(table, target, compression=codec, row_group_bytes=16 << 10)
    file = orc.ORCFile(target)
    assert file.compression == ("UNCOMPRESSED" if codec == "none" else codec.upper())
    if table.num_rows > 1000:
        assert file.nstripes > 1
    assert file.schema.remove_metadata() == table.schema
    assert rows(file.read()) == rows(table)
    assert lr.scan(target).checksum() == lr.checksum(table).checksum


def test_pyarrow_reads_files_with_bloom_filters_and_unused_dictionaries(tmp_path: Path) -> None:
    target = tmp_path / "a.orc"
    table = every_type()
    blooms = [name for name in table.column_names if name != "bool"]
    lr.copy(table, target, bloom_filter=blooms)
    assert rows(orc.read_table(target)) == rows(table)
    wanted = pa.table(lr.scan(target, where="text = 'größer 7 🦀' and i64 is not null"))
    assert rows(wanted) == rows(table.filter((pc.field("text") == "größer 7 🦀") & ~pc.field("i64").is_null()))
    assert wanted.num_rows > 0


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("name", ["every_type", "nested"])
def test_we_read_what_pyarrow_writes(name: str, codec: str, tmp_path: Path) -> None:
    source = tmp_path / "a.orc"
    table = TABLES[name]()
    orc.write_table(table, source, compression=codec, stripe_size=64 << 10, dictionary_key_size_threshold=0.5)
    assert rows(pa.table(lr.scan(source))) == rows(table)
    assert lr.scan(source).checksum() == lr.checksum(table).checksum


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
    assert 'column "t"' in run("copy", source, target, "--json").error["place"]
    assert not target.exists()


def test_explain_tells_the_row_groups(tmp_path: Path) -> None:
    source = tmp_path / "a.orc"
    lr.copy(people(50_000), source, bloom_filter=["name"])
    text = str(lr.scan(source, where="id >= 45000").explain())
    assert "10,000 rows in 1 of 5 row groups; not the others: row group statistics: id max 9999 < 45000" in text
    units = ok("scan", source, "--where", "name = 'name 12345'", "--explain", "--json").json["explain"]["plan"][
        "files"
    ][0]["units"]
    assert units[0]["row_groups"]["kept"] < 5
    assert pa.table(lr.scan(source, where="name = 'name 12345'")).column("id").to_pylist() == [12345]
    assert pa.table(lr.scan(source, where="name = 'nobody'")).num_rows == 0


@pytest.mark.parametrize("ending", ["orc", "parquet"])
def test_fields_of_structs(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"a.{ending}"
    table = nested()
    {"orc": orc.write_table, "parquet": pq.write_table}[ending](table, source)
    ours = pa.table(lr.scan(source, columns=["struct.b", "list"], where='"struct".a > 100'))
    assert [field.name for field in ours.schema.field("struct").type] == ["b"]
    whole = [row for row in table.column("struct").to_pylist() if row and row["a"] and row["a"] > 100]
    assert ours.column("struct").to_pylist() == [{"b": row["b"]} for row in whole]
    done = ok("scan", source, "--columns", "struct.a", "--limit", "2", "--format", "jsonl")
    assert done.out.splitlines()[1] == '{"struct":{"a":1}}'
    with pytest.raises(lr.NotFoundError, match=r"struct\.a"):
        lr.scan(source, columns=["struct.aa"])


#: Columns of numbers that do not compress: a small likeness of 65,536 rows x 128 columns.
WIDE = 128


def wide(path: Path) -> pa.Table:
    """Writes the table, in three stripes or more."""
    table = pa.table(
        {f"c{at}": [(i * (2 * at + 3) * 0x9E3779B97F4A7C15) % 2**63 for i in range(4096)] for at in range(WIDE)}
    )
    lr.copy(table, path, compression="none", row_group_bytes=1 << 20)
    return table


def test_alternate_columns_on_s3_take_three_requests(s3: S3, tmp_path: Path) -> None:
    path = tmp_path / "wide.orc"
    table = wide(path)
    s3.put("orc/wide.orc", path.read_bytes())
    url, names = s3.url("orc/wide.orc"), [f"c{at}" for at in range(0, WIDE, 2)]
    stripes = orc.ORCFile(path).nstripes

    def read(min_seek_size: str | int) -> int:
        scan = lr.scan(
            url, columns=names, min_seek_size=min_seek_size, max_request_size=128 << 20, storage_options=s3.options
        )
        assert pa.table(scan).equals(table.select(names))
        get: int = scan.report()["requests"]["get"]
        return get

    assert read("4MiB") <= 3
    # A stream for each column and stripe, the tail, and the footers of stripes.
    assert 0 <= read(0) - stripes * len(names) - 1 <= stripes
    assert read("auto") <= read(0) / 5


def test_orc_on_s3_that_changes_or_is_cut(s3: S3, tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    lr.copy(people(20_000), path, compression="none")
    assert path.stat().st_size > 64 << 10  # a smaller one is known whole from the read of its tail
    url = s3.url("orc/a.orc")
    s3.put("orc/a.orc", path.read_bytes())
    scan = lr.scan(url, storage_options=s3.options)
    lr.copy(people(30_000), path, mode="overwrite")
    s3.put("orc/a.orc", path.read_bytes())
    with pytest.raises(lr.ConflictError, match=r"a\.orc"):
        pa.table(scan)
    s3.put("orc/a.orc", path.read_bytes()[:-100])
    with pytest.raises(lr.CorruptDataError, match=r"a\.orc"):
        lr.scan(url, storage_options=s3.options)


def test_small_files_on_s3_that_change_are_read_as_they_were(s3: S3, tmp_path: Path) -> None:
    for ending in ("orc", "parquet"):
        path = tmp_path / f"a.{ending}"
        lr.copy(people(200), path)
        s3.put(f"small/a.{ending}", path.read_bytes())
        scan = lr.scan(s3.url(f"small/a.{ending}"), storage_options=s3.options)
        lr.copy(people(300), path, mode="overwrite")
        s3.put(f"small/a.{ending}", path.read_bytes())
        assert pa.table(scan).to_pylist() == people(200).to_pylist()
        assert scan.report()["requests"]["get"] == 1


#: Writes batches of 400 columns, 6 MB each, from a stream that holds one at a time, and prints its peak memory.
WRITE_WIDE = """
import sys
import numpy, pyarrow
import lakerace
numbers = numpy.random.default_rng(1).integers(0, 2**44, (400, 2000))
batch = pyarrow.record_batch([pyarrow.array(column) for column in numbers], [f"c{i}" for i in range(400)])
stream = pyarrow.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(int(sys.argv[2]))))
done = lakerace.copy(stream, sys.argv[1], compression="none", row_group_bytes=4 << 20, threads=1)
print(done.peak_rss_bytes)
"""


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    def peak(batches: int) -> int:
        command = [sys.executable, "-c", WRITE_WIDE, str(tmp_path / f"{batches}.orc"), str(batches)]
        return int(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout)

    # 32 MB of values, and 256 MB.
    assert peak(40) < peak(5) + (64 << 20)
    assert orc.ORCFile(tmp_path / "40.orc").nstripes > 20
