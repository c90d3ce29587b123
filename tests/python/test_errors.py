"""What errors say: the file or table, the place in it, and the option by which to mend it, in its two spellings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr


def write(path: Path, rows: pa.Table) -> Path:
    pq.write_table(rows, path)
    return path


def deltas(tmp_path: Path, rows: pa.Table) -> Path:
    lr.copy(rows, f"delta:{tmp_path / 'table'}", table_properties={"lakerace.primaryKey": "id"})
    return tmp_path / "table"


def said(code: int, *args: object) -> str:
    done = run(*args)
    assert done.code == code, done.err
    return [line for line in done.err.splitlines() if line.startswith("error: ")][-1]


def test_files_that_the_log_names_and_that_are_gone_are_damage(tmp_path: Path) -> None:
    """Whatever is to be changed: scans, too, end with exit code 5. The table and its version are named."""
    rows = pa.table({"id": [1, 2], "text": ["a", "b"]})
    table, source = deltas(tmp_path, rows), write(tmp_path / "source.parquet", rows)
    lr.copy(rows, table, mode="append")
    gone = sorted(table.glob("*.parquet"))[0]
    gone.unlink()
    before = sorted(path.name for path in table.glob("**/*"))
    for args in (
        ["scan", table],
        ["upsert", table, source],
        ["upsert", table, source, "--merge", "text=max"],
        ["upsert", table, source, "--insert-only"],
        ["upsert", table, source, "--explain"],
        ["update", table, "--set", "text = 'b'"],
        ["update", table, "--set", "text = 'b'", "--where", "text = 'a'"],
        ["delete", table, "--keys", source],
        ["delete", table, "--where", "text = 'a'"],
        ["compact", table],
    ):
        text = said(5, *args)
        assert f"{table}: version 1" in text, text
        assert gone.name in text, text
        assert "lakerace restore" in text, text
    assert sorted(path.name for path in table.glob("**/*")) == before
    with pytest.raises(lr.CorruptDataError, match="version 1"):
        lr.Table(table).upsert(rows)
    with pytest.raises(lr.CorruptDataError, match="version 1"):
        lr.Table(table).merge(rows).when_matched_update({"text": "target.text || source.text"}).execute()


def test_a_vector_that_is_gone_is_damage(tmp_path: Path) -> None:
    rows = pa.table({"id": range(100), "text": ["a"] * 100})
    table = deltas(tmp_path, rows)
    lr.Table(table).delete("id % 3 = 0")
    for vector in table.glob("**/deletion_vector_*.bin"):
        vector.unlink()
    source = write(tmp_path / "source.parquet", rows.slice(0, 10))
    for args in (
        ["upsert", table, source],
        ["upsert", table, source, "--merge", "text=max"],
        ["update", table, "--set", "text = 'b'", "--where", "id = 1"],
        ["delete", table, "--where", "id = 1"],
    ):
        text = said(5, *args)
        assert f"{table}: version 1" in text, text


def test_rows_are_named_by_their_source(tmp_path: Path) -> None:
    table = deltas(tmp_path, pa.table({"id": [1], "text": ["a"]}))
    source = write(tmp_path / "nulls.parquet", pa.table({"id": [5, None], "text": ["a", "b"]}))
    text = said(4, "upsert", table, source)
    assert f'{source}: the key column "id" is null in row 2' in text
    assert "--where" in text
    twice = write(tmp_path / "twice.parquet", pa.table({"id": [7, 7], "text": ["a", "b"]}))
    text = said(4, "upsert", table, twice, "--on-duplicate", "error")
    assert f"{twice}: rows 1 and 2 have the same key" in text
    assert "keep the last one with --on-duplicate last)" in text
    with pytest.raises(lr.InvalidInputError, match=r"table: the key column"):
        lr.Table(table).upsert(pa.table({"id": pa.array([None], pa.int64()), "text": ["a"]}))


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["copy", "rows.parquet", "there.parquet"], 7, "--mode overwrite"),
        (["copy", "rows.parquet", "folder/"], 7, "--mode append or --mode overwrite"),
        (["copy", "rows.parquet", "delta:table"], 7, "--mode append or --mode overwrite"),
        (["copy", "rows.parquet", "x.orc", "--row-group-rows", "9"], 2, "--row-group-rows does not apply"),
        (["copy", "rows.parquet", "x.csv", "--partition-by", "id"], 2, "--partition-by: a file has no partitions"),
        (
            ["copy", "rows.parquet", "x.csv", "--columns", "id", "--compression", "snappy"],
            2,
            "--compression to gzip, zstd or none",
        ),
        (["copy", "rows.parquet", "x.csv", "--columns", "list"], 6, "with --columns, or write Parquet"),
        (["copy", "more.parquet", "table", "--mode", "append"], 4, "--evolve add"),
        (["scan", "rows.parquet", "--at", "1"], 6, "omit --at"),
        (["scan", "rows.parquet", "--where", ""], 2, "--where"),
        (["scan", "table", "--input-format", "parquet"], 2, "omit --input-format"),
        (["scan", "empty.csv"], 4, "no header with --no-header"),
        (["scan", "ragged.csv"], 4, "--on-bad-row"),
        (["scan", "open.csv"], 4, "or none with --quote"),
        (["scan", "rows.csv", "--delimiter", ";", "--quote", ";"], 2, "give --delimiter, --quote and --escape three"),
        (["scan", "none.parquet"], 3, "check the name: the whole path is /"),
        (["scan", "table", "--at", "9"], 3, "`lakerace history` lists the versions"),
        (["history", "none"], 3, "the folder that has _delta_log"),
        (["copy", "rows.parquet", "out"], 2, "write delta:out for a Delta table, or out/ for a folder of files"),
        (["copy", "rows.parquet", "http://127.0.0.1:1/x.parquet"], 6, "write to a local path or to an object store"),
        (["scan", "rows.parquet", "--io", "uring"], 2, "rows.parquet is only read"),
        (["scan", "rows.parquet", "--allow-foreign-paths"], 2, "rows.parquet is no Delta table"),
        (["scan", "table", "--columns", "nope"], 3, 'table: there is no column "nope"'),
        (["scan", "table", "--where", "nope = 1"], 3, 'table: there is no column "nope"'),
        (
            ["scan", "table", "--where", "id >"],
            2,
            "table: filter: expected: an expression, found: the end of the filter",
        ),
        (["scan", "table", "--where", "id = 'x'"], 4, 'table: column "id": it is int64'),
        (["scan", "table", "--where", "id = ?"], 2, "1 placeholder (?), but 0 values are given"),
        (["scan", "table", "--where", "id = 1", "--param", "3"], 2, "but 1 value is given (write a ? for each value"),
        (["copy", "unsigned.parquet", "x.orc"], 6, "cast it to int64 if its values fit, or to decimal(20,0)"),
        (["upsert", "keyless", "rows.parquet"], 2, "--key A,B"),
        (["compact", "table", "--where", "id = 1"], 2, "--where: "),
        (["vacuum", "table", "--retain", "1h"], 2, "allow it with --allow-short-retention"),
        (["vacuum", "table", "--allow-short-retention"], 2, "give a retention with --retain, or omit it"),
        (["scan", "days.csv", "--schema", "d date"], 4, "say how dates are written with --date-format"),
        (["scan", "days.csv", "--schema", "d timestamp(us)"], 4, "timestamps are written with --timestamp-format"),
        (["scan", "rows.csv", "--schema", "c int64"], 3, "if the file has no header, use --no-header"),
        (["scan", "rows.csv", "--log-file", "none/log"], 3, "none/log: --log-file: No such file"),
        (["scan", "rows.csv", "--log-file", "none/log"], 3, "create its folder first"),
        (
            ["files", "put", "none/store", "rows", "rows.csv"],
            3,
            "none/store: its folder does not exist (create the folder first",
        ),
    ],
)
def test_advice_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pa.table({"id": [1, 2], "text": ["a", "b"], "list": [[1], [2]]})
    write(tmp_path / "rows.parquet", rows)
    write(tmp_path / "more.parquet", rows.append_column("more", pa.array([1, 2])))
    write(tmp_path / "unsigned.parquet", pa.table({"id": pa.array([1], pa.uint64())}))
    shutil.copy("rows.parquet", "there.parquet")
    (tmp_path / "folder").mkdir()
    shutil.copy("rows.parquet", "folder/rows.parquet")
    deltas(tmp_path, rows)
    lr.copy(rows, "delta:keyless")
    for name, text in {
        "empty": "",
        "ragged": "a,b\n1,2\n3\n",
        "open": 'a,b\n1,"2\n',
        "rows": "a,b\n1,2\n",
        "days": "d\n31.12.2024\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert says in said(code, *args)


def test_an_explained_upsert_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    lr.copy(
        pa.table({"id": [1, 2]}),
        f"delta:{tmp_path / 'table'}",
        table_properties={"delta.enableDeletionVectors": "false"},
    )
    table = lr.Table(tmp_path / "table", key="id")
    rows = pa.table({"id": [2, 3]})
    assert table.explain_upsert(rows).to_dict()["rewrites_at_most"] == 1
    assert table.explain_upsert(rows, enable_deletion_vectors=True).to_dict()["rewrites_at_most"] == 0


def test_advice_on_names_that_exist_is_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    source, store = tmp_path / "a.csv", tmp_path / "pack.db"
    tpch = ["tpch", "-s", "0.001", "--tables", "region", "-o"]
    calls = [
        (["copy", source, tmp_path / "b.csv"], "--mode overwrite"),
        (["copy", source, f"delta:{tmp_path / 'table'}"], "--mode append or --mode overwrite"),
        ([*tpch, tmp_path / "files"], " --overwrite)"),
        ([*tpch, tmp_path / "parts", "--parts", "2"], " --overwrite)"),
        ([*tpch, tmp_path / "tables", "--format", "delta"], " --overwrite)"),
        (["files", "put", store, "a", source, "--mode", "error"], "--mode overwrite"),
        (["files", "export", store, tmp_path / "out"], "--mode overwrite"),
        (["files", "export", store, tmp_path / "out.tar"], "--mode overwrite"),
        (["files", "import", store, tmp_path / "out", "in", "--mode", "error"], "--mode overwrite"),
    ]
    for arguments, option in calls:
        ok(*arguments)
        again = run(*arguments)
        assert again.code == 7
        assert option in again.err
        assert "tpch" not in again.err.split(": ", 1)[1].replace(str(tmp_path), "")
        assert ("--mode" in again.err) == ("--mode" in option)
