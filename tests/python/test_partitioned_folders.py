"""Folders of files that are divided by columns: what Hive, Spark, pyarrow, polars and duckdb make of them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3

NAMES = ["a b", "x/y", "a=b", "50%", "é", "'", "c:d", "#", "[1]", None, "+", "%20", "..", "e\nf", "*?", "a\\b"]


def rows(count: int = 10_000) -> pa.Table:
    names = [NAMES[i % len(NAMES)] for i in range(count)]
    day = [None if i % 11 == 0 else datetime.date(2024, 2, 27 + i % 3) for i in range(count)]
    return pa.table(
        {"id": range(count), "name": names, "day": pa.array(day, pa.date32()), "text": [f"t{i}" for i in range(count)]}
    )


def sums(table: pa.Table) -> dict[Any, int]:
    """The sum of ids of each name and day."""
    groups = table.group_by(["name", "day"]).aggregate([("id", "sum")])
    return {(row["name"], str(row["day"])): row["id_sum"] for row in groups.to_pylist()}


def test_other_readers_find_all_rows_and_values(tmp_path: Path) -> None:
    table, folder = rows(), tmp_path / "out"
    result = lr.copy(table, f"{folder}/", output_format="parquet", partition_by=["name", "day"])
    assert result.rows == table.num_rows
    files = sorted(folder.rglob("*.parquet"))
    assert len(files) == len(sums(table)) == len(result.files)
    assert (folder / "name=__HIVE_DEFAULT_PARTITION__").is_dir()
    assert (folder / "name=x%2Fy" / "day=__HIVE_DEFAULT_PARTITION__").is_dir()
    hive = ds.partitioning(pa.schema([("name", pa.string()), ("day", pa.date32())]), flavor="hive")
    assert sums(ds.dataset(folder, partitioning=hive).to_table()) == sums(table)
    frame = pl.read_parquet(
        f"{folder}/**/*.parquet", hive_partitioning=True, hive_schema={"name": pl.String, "day": pl.Date}
    )
    assert sums(
        frame.to_arrow().cast(pa.schema([(f.name, table.schema.field(f.name).type) for f in frame.to_arrow().schema]))
    ) == sums(table)
    duck = duckdb.sql(
        f"select name, day, sum(id) from read_parquet('{folder}/**/*.parquet', hive_partitioning=true, "
        "hive_types={'name': VARCHAR, 'day': DATE}) group by all"
    ).fetchall()
    assert {(name, str(day)): total for name, day, total in duck} == sums(table)
    assert sums(lr.scan(folder).to_arrow()) == sums(table)
    assert lr.scan(folder, where="name = 'x/y'").to_arrow().num_rows == pc.sum(pc.equal(table["name"], "x/y")).as_py()


def test_names_of_folders_are_those_of_pyarrow_for_all_types(tmp_path: Path) -> None:
    at = datetime.datetime(2024, 2, 29, 13, 45, 1, 250_000)
    values: dict[str, tuple[pa.Array, str]] = {
        "i": (pa.array([-5]), "i=-5"),
        "u": (pa.array([2**64 - 1], pa.uint64()), f"u={2**64 - 1}"),
        "b": (pa.array([True]), "b=true"),
        "d": (pa.array([Decimal("1.50")]), "d=1.50"),
        "t": (pa.array([datetime.date(1, 2, 3)]), "t=0001-02-03"),
        "s": (pa.array([at], pa.timestamp("us")), "s=2024-02-29 13%3A45%3A01.250"),
        "k": (pa.array(["x"]).dictionary_encode(), "k=x"),
    }
    for name, (array, folder) in values.items():
        target = tmp_path / name
        lr.copy(pa.table({name: array, "id": [1]}), f"{target}/", output_format="parquet", partition_by=name)
        assert [path.name for path in target.iterdir()] == [folder]
        if name == "d":
            # pyarrow makes no decimals of names.
            continue
        read = ds.dataset(
            target,
            partitioning=ds.partitioning(
                pa.schema([(name, array.type if name != "k" else pa.string())]), flavor="hive"
            ),
        )
        assert str(read.to_table()[name][0].as_py()) == str(array[0].as_py())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "orc", "tsv", "json"])
def test_every_format_has_partitions(tmp_path: Path, ending: str) -> None:
    table = rows(1000).select(["id", "name"])
    lr.copy(table, f"{tmp_path}/out/", output_format=ending, partition_by="name")
    found = lr.scan(tmp_path / "out").to_arrow()
    assert sorted(map(str, found.select(["id", "name"]).to_pylist())) == sorted(map(str, table.to_pylist()))


def test_modes_and_the_command(tmp_path: Path) -> None:
    table, folder = rows(100), tmp_path / "out"
    source = tmp_path / "in.parquet"
    lr.copy(table, source)
    ok("copy", source, f"{folder}/", "--partition-by", "day", "-q")
    assert run("copy", source, f"{folder}/", "--partition-by", "day").code == 7
    ok("copy", source, f"{folder}/", "--partition-by", "day", "--mode", "append", "-q")
    assert lr.scan(folder).to_arrow().num_rows == 200
    ok("copy", source, f"{folder}/", "--partition-by", "day", "--mode", "overwrite", "-q")
    assert lr.scan(folder).to_arrow().num_rows == 100
    for arguments, code, word in (
        (("copy", source, tmp_path / "a.parquet", "--partition-by", "day"), 2, "name a folder"),
        (("copy", source, f"{tmp_path}/b/", "--partition-by", "dya"), 3, "day"),
        (("copy", source, f"{tmp_path}/b/", "--partition-by", "day,day"), 2, "twice"),
        (("copy", source, f"{tmp_path}/b/", "--partition-by", "id,name,day,text"), 2, "no column is left"),
        (("copy", source, f"{tmp_path}/b/", "--partition-by", "day", "--verify"), 6, "--verify"),
    ):
        done = run(*arguments)
        assert (done.code, word in done.err) == (code, True), done.err
        assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["_day", "~$day", "#day", "day of", "d=y", "dáy", "_"])
def test_folders_of_columns_with_odd_names_are_read(tmp_path: Path, name: str) -> None:
    table = pa.table({name: [1, 2, 2], "id": [10, 20, 30]})
    lr.copy(table, f"{tmp_path}/out/", output_format="parquet", partition_by=name)
    of_duckdb = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path}/out/**/*.parquet', hive_partitioning = true)")
    assert sorted(of_duckdb.fetchall()) == [(10, 1), (20, 2), (30, 2)]
    assert sorted(lr.scan(f"{tmp_path}/out/", columns=["id", name]).rows()) == [(10, 1), (20, 2), (30, 2)]


def test_folders_that_every_reader_would_hide_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lr.UnsupportedError, match="hidden from every reader"):
        lr.copy(pa.table({".day": [1], "id": [1]}), f"{tmp_path}/out/", output_format="parquet", partition_by=".day")
    assert not (tmp_path / "out").exists()


def test_texts_that_would_be_read_as_null_are_refused(tmp_path: Path) -> None:
    for text in ("", "__HIVE_DEFAULT_PARTITION__"):
        with pytest.raises(lr.UnsupportedError, match="read as null"):
            lr.copy(
                pa.table({"a": ["x", text], "id": [1, 2]}),
                f"{tmp_path}/out/",
                output_format="parquet",
                partition_by="a",
            )
        assert not (tmp_path / "out").exists()


def test_no_rows_keep_their_columns(tmp_path: Path) -> None:
    lr.copy(rows(0), f"{tmp_path}/out/", output_format="parquet", partition_by="day")
    assert lr.scan(tmp_path / "out").to_arrow().num_rows == 0


def test_thousands_of_folders_take_little_memory_and_few_files(tmp_path: Path) -> None:
    count = 3_000_000
    source = tmp_path / "in.parquet"
    ids = pa.array(range(count))
    lr.copy(
        pa.table(
            {
                "id": ids,
                "part": pc.bit_wise_and(pc.multiply(ids, 2654435761), 2047),
                "text": pa.array(["x" * 100] * count),
            }
        ),
        source,
    )
    report = ok("copy", source, f"{tmp_path}/out/", "--partition-by", "part", "--json", "--threads", "2").json
    assert report["rows"] == count
    assert report["peak_rss_bytes"] < 1_200_000_000
    assert len(list((tmp_path / "out").iterdir())) == 2048
    total = duckdb.sql(
        f"select count(*), sum(id), count(distinct part) from read_parquet('{tmp_path}/out/**/*.parquet', hive_partitioning=true)"
    ).fetchall()
    assert total == [(count, count * (count - 1) // 2, 2048)]


def test_folders_on_s3_are_those_of_local_disks(s3: S3) -> None:
    table, url = rows(2000), s3.url("by-name/")
    for mode, count in (("error", 2000), ("append", 4000), ("overwrite", 2000)):
        lr.copy(
            table, url, output_format="parquet", partition_by=["name", "day"], mode=mode, storage_options=s3.options
        )
        found = lr.scan(url, storage_options=s3.options).to_arrow()
        assert found.num_rows == count
        assert sums(found) == {key: total * (count // 2000) for key, total in sums(table).items()}


def folder_of_own_values(folder: Path, ending: str) -> pa.Table:
    """A folder whose files have the column of their folders' names, with other values in some rows."""
    parts = [("a", ["a", "b"]), ("c", ["a", "c"]), ("d", ["d", "d"])]
    for number, (name, values) in enumerate(parts):
        target = folder / f"region={name}" / f"part.{ending}"
        target.parent.mkdir(parents=True)
        lr.copy(pa.table({"id": [2 * number, 2 * number + 1], "region": values}), target)
    return pa.table({"id": range(6), "region": [value for _, values in parts for value in values]})


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl", "json"])
@pytest.mark.parametrize(
    "where", ["region = 'a'", "region IN ('c', 'd')", "region = 'b'", "region <> 'a' AND id < 5", "region = 'z'"]
)
def test_a_filter_goes_by_the_values_that_a_scan_returns(tmp_path: Path, ending: str, where: str) -> None:
    table = folder_of_own_values(tmp_path / "in", ending)
    connection = duckdb.connect()
    connection.register("rows", table)
    expected = connection.sql(f"SELECT id, region FROM rows WHERE {where} ORDER BY id").fetchall()
    assert sorted(lr.scan(tmp_path / "in", where=where).rows()) == expected
    assert lr.scan(tmp_path / "in", where=where).count() == len(expected)
    ids = lr.scan(tmp_path / "in", columns=["id"], where=where).to_arrow()["id"].to_pylist()
    assert sorted(ids) == [number for number, _ in expected]
    # The files alone, without their folders, have the same rows.
    files = [str(path) for path in sorted((tmp_path / "in").rglob(f"*.{ending}"))]
    alone = [row for file in files for row in lr.scan(file, where=where).rows()]
    assert sorted(alone) == expected
    if ending == "parquet":
        read = pl.concat([pl.read_parquet(file, hive_partitioning=False) for file in files])
        assert (
            sorted(pl.SQLContext(rows=read).execute(f"SELECT id, region FROM rows WHERE {where}").collect().rows())
            == expected
        )


def test_folders_of_files_without_the_column_are_still_skipped(tmp_path: Path) -> None:
    lr.copy(
        pa.table({"id": range(100), "day": [i % 10 for i in range(100)]}),
        f"{tmp_path}/out/",
        output_format="parquet",
        partition_by="day",
    )
    scan = lr.scan(tmp_path / "out", where="day = 3")
    assert scan.count() == 10
    plan = scan.explain()
    assert str(plan).count("partition") >= 9, str(plan)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "+05:30"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_instants_in_names_are_read_as_the_same_instants(tmp_path: Path, zone: str, unit: str) -> None:
    at = [datetime.datetime(2024, 10, 27, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1, 2)]
    at.append(datetime.datetime(1969, 12, 31, 23, 59, 58, tzinfo=datetime.UTC))
    table = pa.table({"t": pa.array(at, pa.timestamp(unit, zone)), "id": range(4)})
    lr.copy(table, f"{tmp_path}/out/", output_format="parquet", partition_by="t")
    assert len(list((tmp_path / "out").iterdir())) == 4
    expected = [(number, int(value.timestamp() * 1e6)) for number, value in enumerate(at)]

    def pairs(ids: list[int], values: list[datetime.datetime]) -> list[tuple[int, int]]:
        return sorted((number, int(value.timestamp() * 1e6)) for number, value in zip(ids, values, strict=True))

    hive = ds.partitioning(pa.schema([("t", pa.timestamp("us", zone))]), flavor="hive")
    read = ds.dataset(tmp_path / "out", partitioning=hive).to_table()
    assert pairs(read["id"].to_pylist(), read["t"].cast(pa.timestamp("us", "UTC")).to_pylist()) == expected
    frame = pl.read_parquet(
        f"{tmp_path}/out/**/*.parquet", hive_partitioning=True, hive_schema={"t": pl.Datetime("us", "UTC")}
    )
    assert pairs(frame["id"].to_list(), frame["t"].to_list()) == expected
    duck = duckdb.sql(
        f"select id, epoch_us(t) from read_parquet('{tmp_path}/out/**/*.parquet', hive_partitioning=true, hive_types={{'t': TIMESTAMPTZ}}) order by id"
    ).fetchall()
    assert duck == expected


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_files_of_partitions_have_the_wanted_size(tmp_path: Path, is_one_batch: bool) -> None:
    count = 400_000
    texts = pa.array([f"{(i * 2654435761) % 2**32:010d}{(i * 40503) % 2**32:010d}" for i in range(count)])
    table = pa.table({"part": pa.array([i % 2 for i in range(count)]), "id": range(count), "text": texts})
    source = pa.Table.from_batches(table.combine_chunks().to_batches(None if is_one_batch else 10_000))
    lr.copy(source, f"{tmp_path}/out/", output_format="csv", partition_by="part", file_bytes=1_000_000)
    files = sorted((tmp_path / "out").rglob("*.csv"))
    sizes = [file.stat().st_size for file in files]
    # The rows are about 11 MB; the last file of each folder may be small.
    assert 10 <= len(files) <= 24, sizes
    assert max(sizes) < 1_500_000, sizes
    total = duckdb.sql(
        f"select count(*), sum(id), count(distinct part) from read_csv('{tmp_path}/out/**/*.csv', hive_partitioning=true)"
    ).fetchall()
    assert total == [(count, count * (count - 1) // 2, 2)]
