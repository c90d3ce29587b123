"""ORC files, ours and others', by lakerace and by pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conformance import assert_equals, corpus, rows
from conftest import people, run
from orc_tables import CODECS, TABLES, every_type
from pyarrow import orc

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


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
