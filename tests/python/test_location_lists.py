"""Several locations as one table: in the order of the list, as pyarrow, polars and duckdb read them."""

from __future__ import annotations

import asyncio
import io
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from s3server import S3

#: Names that are patterns where they stand alone.
ODD = ["{a,b}", "[x]", "a,b", "q?", "s*"]


def rows(first: int) -> pa.Table:
    """Three rows."""
    return pa.table({"id": range(first, first + 3), "text": ["a", None, "c"]})


def bytes_of(table: pa.Table, ending: str) -> bytes:
    """A file of another writer."""
    file = io.BytesIO()
    if ending == "parquet":
        pq.write_table(table, file)
    elif ending == "orc":
        po.write_table(table, file)
    elif ending == "csv":
        pc.write_csv(table, file)
    else:
        pl.DataFrame(table).write_ndjson(file)
    return file.getvalue()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files of three rows, `a` of the first ids, in each format."""
    for ending in ("parquet", "orc", "csv", "jsonl"):
        for number, name in enumerate("abc"):
            (tmp_path / f"{name}.{ending}").write_bytes(bytes_of(rows(3 * number), ending))
    return tmp_path


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl"])
def test_rows_come_in_the_order_of_the_list(files: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [files / f"{name}.{ending}" for name in "cab"]
    names = [str(path) for path in paths]
    scan = lr.scan(paths)
    found = scan.to_arrow()
    if ending == "parquet":
        expected = pl.read_parquet(names)
        assert found.to_pylist() == pq.ParquetDataset(names).read().to_pylist()
        assert found.to_pylist() == pl.read_parquet(names).to_dicts()
    elif ending == "csv":
        expected = pl.scan_csv(names).collect()
        query = f"FROM read_csv({names})"
        assert found["id"].to_pylist() == [row[0] for row in duckdb.sql(query).fetchall()]
    elif ending == "jsonl":
        expected = pl.scan_ndjson(names).collect()
    else:
        expected = pl.DataFrame(ds.dataset(names, format="orc").to_table())
    assert found["id"].to_pylist() == expected["id"].to_list() == [6, 7, 8, 0, 1, 2, 3, 4, 5]
    assert scan.count() == expected.height
    assert scan.location == names
    assert repr(names) in repr(scan)
    assert lr.scan(tuple(names), where="id >= 3", order_by="id desc", limit=2).to_arrow()["id"].to_pylist() == [8, 7]
    assert pickle.loads(pickle.dumps(scan)).to_arrow().equals(found)
    assert sum(task.count() for task in scan.tasks(2)) == 9
    assert lr.schema(paths)["files"] == 3
    assert lr.checksum(names) == lr.checksum(found)
    monkeypatch.chdir(files)
    short = [path.name for path in paths]
    assert lr.scan(short).to_arrow().equals(found)
    assert [int(line) for line in ok("scan", *short, "--columns", "id", "--format", "csv").out.split()[1:]] == [
        *(6, 7, 8, 0, 1, 2, 3, 4, 5)
    ]
    assert ok("scan", *short, "--count", cwd=files).out.strip() == "9"
    assert ok("schema", *short, "--json", cwd=files).json["files"] == 3


def test_columns_and_filters_as_of_a_folder(tmp_path: Path) -> None:
    for year in (2024, 2025):
        for part in ("a", "b"):
            target = tmp_path / "t" / f"year={year}" / f"{part}.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows(year), target)
    pq.write_table(rows(0).append_column("more", pa.array([1, 2, 3])), tmp_path / "wide.parquet")
    folders = [tmp_path / "t" / "year=2025", tmp_path / "t" / "year=2024"]
    # The folders that are named are roots; those below a named one have columns.
    assert lr.scan(folders).columns == ["id", "text"]
    both = lr.scan([tmp_path / "t", tmp_path / "wide.parquet"])
    assert sorted(both.columns) == ["id", "more", "text", "year"]
    expected = [*pl.read_parquet(tmp_path / "t" / "**" / "*.parquet", hive_partitioning=True)["year"], None, None, None]
    assert both.to_arrow()["year"].to_pylist() == expected
    assert both.to_arrow()["more"].to_pylist() == [None] * 12 + [1, 2, 3]
    assert lr.scan([tmp_path / "t", tmp_path / "wide.parquet"], where="year = 2025").count() == 6
    names = lr.scan(folders, file_name_column="file").to_arrow()["file"].to_pylist()
    assert [Path(name).parent.name for name in names] == ["year=2025"] * 6 + ["year=2024"] * 6


def test_copies_upserts_queries_and_tasks(files: Path) -> None:
    paths = [files / "b.csv", files / "a.csv"]
    table = f"delta:{files / 'table'}"
    assert lr.copy(paths, table, where="id <> 4").rows == 5
    assert lr.scan(table).to_arrow()["id"].to_pylist() == [3, 5, 0, 1, 2]
    assert lr.copy(paths, files / "planned.parquet", dry_run=True).planned is not None
    keyed = lr.Table(f"delta:{files / 'keyed'}", key="id")
    assert keyed.upsert([files / "a.parquet", files / "b.parquet"]).rows == 6
    assert keyed.explain_upsert([files / "b.parquet", files / "c.parquet"]).to_dict()["rows"] == 6
    assert keyed.delete_keys((files / "a.parquet", files / "c.parquet")).rows == 3
    assert sorted(keyed.scan().to_arrow()["id"].to_pylist()) == [3, 4, 5]
    assert ok("upsert", files / "keyed", files / "a.parquet", files / "c.parquet", "--json").json["rows"] == 6
    assert lr.scan(files / "keyed").count() == 9
    keys = ("--keys", files / "a.parquet", "--keys", files / "b.parquet")
    assert ok("delete", files / "keyed", *keys, "--dry-run", "--json").json["rows"] == 0
    assert ok("delete", files / "keyed", *keys, "--json").json["rows"] == 6
    assert pl.read_delta(str(files / "keyed"))["id"].sort().to_list() == [6, 7, 8]
    report = ok("copy", files / "c.csv", files / "a.csv", files / "out.parquet", "--json").json
    assert report["rows"] == 6
    assert pq.read_table(files / "out.parquet")["id"].to_pylist() == [6, 7, 8, 0, 1, 2]
    assert lr.sql("SELECT sum(id) AS s FROM two", two=paths).to_arrow()["s"].to_pylist() == [15]

    async def counted() -> tuple[int, int]:
        scan = await lr.aio.scan(paths)
        copied = await lr.aio.copy(paths, files / "aio.parquet")
        return await scan.count(), copied.rows

    assert asyncio.run(counted()) == (6, 6)


def test_a_copy_never_writes_to_one_of_its_sources(files: Path) -> None:
    with pytest.raises(lr.UsageError, match=r"a\.csv"):
        lr.copy([files / "b.csv", files / "a.csv"], files / "a.csv", mode="overwrite")


def test_names_of_a_list_are_literal(files: Path) -> None:
    for number, name in enumerate(ODD):
        pq.write_table(rows(3 * number), files / f"{name}.parquet")
    names = [files / f"{name}.parquet" for name in ODD]
    assert lr.scan(names).to_arrow()["id"].to_pylist() == list(range(3 * len(ODD)))
    with pytest.raises(lr.NotFoundError, match=re.escape("x*.parquet")) as caught:
        lr.scan([names[0], files / "x*.parquet"])
    assert "literal" in str(caught.value)
    with pytest.raises(lr.NotFoundError, match="literal"):
        lr.scan([files / "*.csv"])


def test_each_location_must_exist(files: Path) -> None:
    with pytest.raises(lr.NotFoundError, match=r"gone\.csv"):
        lr.scan([files / "a.csv", files / "gone.csv"])
    (files / "empty").mkdir()
    with pytest.raises(lr.NotFoundError, match="empty"):
        lr.scan([files / "a.csv", files / "empty"])
    failed = run("scan", files / "a.csv", files / "gone.csv", "--json")
    assert failed.code == 3
    assert failed.error["place"] == str(files / "gone.csv")


def test_each_name_in_braces_must_exist(files: Path) -> None:
    (files / "sub").mkdir()
    pq.write_table(rows(100), files / "sub" / "a.parquet")
    assert lr.scan(f"{files}/{{a,b}}.csv").to_arrow()["id"].to_pylist() == list(range(6))
    assert lr.scan(f"{files}/{{a,c,sub/a}}.parquet").count() == 9
    assert lr.scan(f"{files}/{{sub,a.parquet}}").count() == 6
    for pattern, missing in [
        ("{a,gone}.csv", "gone.csv"),
        ("{a,b}.{csv,txt}", "a.txt"),
        ("{a,{b,gone}}.csv", "gone.csv"),
        ("{gone,lost}.csv", "gone.csv"),
    ]:
        with pytest.raises(lr.NotFoundError, match=re.escape(f"{files}/{missing}")):
            lr.scan(f"{files}/{pattern}")
    # A wildcard may match nothing.
    assert lr.scan(f"{files}/{{a,gone}}*.csv").count() == 3


@pytest.mark.parametrize(
    ("others", "kind", "message"),
    [
        (["a.csv"], lr.UsageError, "the list names it twice"),
        (["./a.csv"], lr.UsageError, "the list names it twice"),
        (["sub/../a.csv"], lr.UsageError, "the list names it twice"),
        (["sub", "sub/x.csv"], lr.UsageError, r"sub/x\.csv: the list names it twice"),
        (["b.parquet"], lr.InvalidInputError, "different formats"),
        (["s3://bucket/a.csv"], lr.UsageError, "in one store"),
        (["memory://m/a.csv"], lr.UsageError, "in one store"),
        (["delta:table"], lr.UsageError, "a Delta table can't be one of several locations"),
        (["table"], lr.UsageError, "a Delta table can't be one of several locations"),
        (["sqlite:///a.db#t"], lr.UsageError, "a database can't be one of several locations"),
        (["tpch:nation?sf=1"], lr.UsageError, "a generated table can't be one of several locations"),
        (["-"], lr.UsageError, "a pipe can't be one of several locations"),
        (["mongo://h/d/c"], lr.UsageError, "unknown scheme.*mongodb:.*delta:FOLDER.*tpch:TABLE"),
    ],
)
def test_what_a_list_refuses(
    files: Path, others: list[str], kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    lr.copy(rows(0), "delta:table")
    lr.copy(rows(0), "sub/x.csv")
    with pytest.raises(kind, match=message):
        lr.scan(["a.csv", *others])


def test_a_list_of_one_is_that_location(files: Path) -> None:
    lr.copy(rows(0), f"delta:{files / 'table'}")
    assert lr.scan([files / "table"]).count() == lr.scan([f"delta:{files / 'table'}"], at=0).count() == 3
    assert lr.scan([files / "a.csv"]).location == str(files / "a.csv")


def test_sources_that_are_no_locations(files: Path) -> None:
    table = lr.Table(f"delta:{files / 'table'}", key="id")
    data = io.BytesIO((files / "a.csv").read_bytes())
    doors: list[tuple[Any, type[Exception], str]] = [
        (lambda: lr.scan([]), lr.UsageError, "the list of locations is empty"),
        (lambda: lr.schema([]), lr.UsageError, "the list of locations is empty"),
        (lambda: lr.scan([{"id": 1}]), TypeError, "lr.copy"),  # type: ignore[list-item]
        (lambda: lr.scan(["a.csv", {"id": 1}]), TypeError, "locations and a dict"),  # type: ignore[list-item]
        (lambda: lr.copy(["a.csv", {"id": 1}], files / "x.csv"), TypeError, "locations and a dict"),  # type: ignore[list-item]
        (lambda: lr.scan(data), TypeError, r"lr\.copy\(source, target, format"),  # type: ignore[arg-type]
        (lambda: lr.scan(b"id\n1\n"), TypeError, r"lr\.copy\(source, target, format"),  # type: ignore[arg-type]
        (lambda: lr.scan(rows(0)), TypeError, r"lr\.copy\(source, target\) takes rows"),
        (lambda: table.upsert(data), TypeError, r"lr\.copy\(source, target, format"),  # type: ignore[arg-type]
        (lambda: table.upsert(b"id\n1\n"), TypeError, r"lr\.copy\(source, target, format"),  # type: ignore[arg-type]
    ]
    for call, kind, message in doors:
        with pytest.raises(kind, match=message):
            call()
    with pytest.raises(lr.UsageError, match=r"unknown scheme.*sqlite:.*delta:FOLDER"):
        lr.scan("gopher://x/y")
    with pytest.raises(lr.UsageError, match=r"unknown scheme.*sqlite:.*delta:FOLDER"):
        lr.copy(rows(0), "gopher://x/y")


TABLE_COMMANDS = [
    ["history", "PLACE"],
    ["verify", "PLACE"],
    ["compact", "PLACE"],
    ["vacuum", "PLACE"],
    ["restore", "PLACE", "--at", "1"],
    ["alter", "PLACE", "--set", "a=b"],
    ["delete", "PLACE", "--where", "a = 1"],
    ["changes", "PLACE", "--from", "1"],
    ["upsert", "PLACE", "SOURCE", "--key", "id"],
    ["upsert", "delta:PLACE", "SOURCE", "--key", "id"],
    ["copy", "SOURCE", "PLACE"],
    ["copy", "SOURCE", "delta:PLACE"],
    ["schema", "PLACE"],
    ["scan", "PLACE"],
    ["scan", "delta:PLACE"],
]


@pytest.mark.parametrize("words", TABLE_COMMANDS, ids=" ".join)
def test_each_job_has_one_message_for_an_unknown_scheme(tmp_path: Path, words: list[str]) -> None:
    pc.write_csv(pa.table({"id": [1]}), tmp_path / "a.csv")
    command = [word.replace("PLACE", "gopher://x/y").replace("SOURCE", str(tmp_path / "a.csv")) for word in words]
    done = run(*command, "--json")
    scanned = run("scan", "gopher://x/y", "--json")
    assert (done.code, done.error) == (scanned.code, scanned.error) == (2, done.error)
    assert 'unknown scheme "gopher"' in done.error["message"]
    assert re.search("mongodb:.*sqlite:.*delta:FOLDER.*tpch:TABLE", done.error["advice"])


def test_a_table_of_a_job_for_tables_is_no_database() -> None:
    done = run("history", "mongodb://user:secret@host/db.collection", "--json")
    assert (done.code, done.error["kind"]) == (2, "usage")
    assert "this is a database" in done.error["message"]
    assert "secret" not in done.err + done.out
    for call in (lambda: lr.Table("gopher://x").history(), lambda: lr.Table("gopher://x").schema()):
        with pytest.raises(lr.UsageError, match=r"unknown scheme.*sqlite:.*delta:FOLDER"):
            call()


def test_lists_on_s3(s3: S3, files: Path) -> None:
    for ending in ("parquet", "csv"):
        for number, name in enumerate([*"ab", "{a,b}", "c d/e"]):
            s3.put(f"list/{name}.{ending}", bytes_of(rows(3 * number), ending))
        urls = [s3.url(f"list/{name}.{ending}") for name in ["{a,b}", "a", "c d/e"]]
        scan = lr.scan(urls, storage_options=s3.options)
        paths = [url.removeprefix("s3://") for url in urls]
        expected = ds.dataset(paths, format=ending, filesystem=s3.pyarrow).to_table()
        assert scan.to_arrow()["id"].to_pylist() == expected["id"].to_pylist() == [6, 7, 8, 0, 1, 2, 9, 10, 11]
        assert scan.report()["requests"]["list"] == scan.report()["requests"]["head"] == 0
        # A name may be that of a folder.
        s3.put(f"list/folder.{ending}/x.{ending}", bytes_of(rows(50), ending))
        mixed = lr.scan([urls[1], s3.url(f"list/folder.{ending}")], storage_options=s3.options)
        assert mixed.to_arrow()["id"].to_pylist() == [0, 1, 2, 50, 51, 52]
        with pytest.raises(lr.NotFoundError, match=f"gone.{ending}"):
            lr.scan([urls[1], s3.url(f"list/gone.{ending}")], storage_options=s3.options)
        with pytest.raises(lr.NotFoundError, match=f"gone.{ending}"):
            lr.scan(s3.url(f"list/{{a,gone}}.{ending}"), storage_options=s3.options)
        assert lr.scan(s3.url(f"list/{{a,b}}.{ending}"), storage_options=s3.options).count() == 6
    with pytest.raises(lr.UsageError, match="in one store"):
        lr.scan([s3.url("list/a.csv"), "s3://other-bucket/a.csv"], storage_options=s3.options)
    lr.copy([s3.url("list/b.csv"), s3.url("list/a.csv")], files / "back.parquet", storage_options=s3.options)
    assert pq.read_table(files / "back.parquet")["id"].to_pylist() == [3, 4, 5, 0, 1, 2]


def test_files_of_a_delta_table_are_not_listed(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2, 3, 4], "p": [1, 1, 2, 2]})
    deltalake.write_deltalake(tmp_path / "plain", rows)
    deltalake.write_deltalake(tmp_path / "parts", rows, partition_by=["p"])
    for table in (tmp_path / "plain", tmp_path / "parts"):
        deltalake.write_deltalake(table, rows, mode="append")
        deltalake.DeltaTable(table).delete("id = 1")
        files: Any = sorted(table.rglob("*.parquet"))
        with pytest.raises(lr.UsageError, match=r"belong to the Delta table .*read the table"):
            lr.scan(files)
        assert run("copy", *files, tmp_path / "out.parquet").code == 2
        assert not (tmp_path / "out.parquet").exists()
        # One file may be looked at, and the format says that the files themselves are meant.
        assert lr.scan(files[:1]).count() == pq.read_metadata(files[0]).num_rows
        stored = sum(pq.read_metadata(file).num_rows for file in files)
        assert (
            lr.scan(files, format="parquet").count() == stored > deltalake.DeltaTable(table).to_pyarrow_table().num_rows
        )


@pytest.mark.parametrize("writer", ["lakerace", "delta-rs"])
def test_files_of_a_delta_table_on_s3_are_not_listed(s3: S3, writer: str) -> None:
    table = s3.url(f"listed-{writer}")
    for _ in range(2):
        if writer == "lakerace":
            lr.copy(
                rows(0),
                f"delta:{table}" if not s3.keys(f"listed-{writer}/") else table,
                mode="append",
                storage_options=s3.options,
            )
        else:
            deltalake.write_deltalake(table, rows(0), mode="append", storage_options=s3.options)
    files: Any = [f"{table}/{key}" for key in s3.keys(f"listed-{writer}/") if key.endswith(".parquet")]
    assert len(files) == 2
    with pytest.raises(lr.UsageError, match=r"belong to the Delta table"):
        lr.scan(files, storage_options=s3.options)


def test_jobs_of_one_location_say_so(files: Path) -> None:
    paths: Any = [files / "a.parquet", files / "b.parquet"]
    for call in (lambda: lr.diff(paths, paths, key="id"), lambda: lr.check(paths), lambda: lr.Table(paths)):
        with pytest.raises(TypeError, match=r"one location is expected .* not a list: scan, copy, schema and upsert"):
            call()
