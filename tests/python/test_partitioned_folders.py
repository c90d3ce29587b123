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
