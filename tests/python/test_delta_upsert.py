"""Upserts and deletes against a reference that duckdb computes, read back by lakerace and by polars."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from deltalake import DeltaTable, QueryBuilder

import lakerace as lr


def test_upserts_are_what_duckdb_merges(tmp_path: Path) -> None:
    drawn = random.Random(7)
    base = pa.table({"id": range(5000), "day": ["2024"] * 5000, "v": [float(n) for n in range(5000)]})
    folder = tmp_path / "table"
    lr.copy(base, f"delta:{folder}", table_properties={"lakerace.primaryKey": "day,id"})
    table = lr.Table(folder)
    reference = duckdb.connect()
    reference.execute("CREATE TABLE t AS SELECT * FROM base")
    for number in range(6):
        keys = [(drawn.randrange(8000), drawn.choice(["2024", "2025"])) for _ in range(900)]
        rows = pa.table(
            {"v": [number + n / 1000 for n in range(900)], "id": [k for k, _ in keys], "day": [d for _, d in keys]}
        )
        changed = table.upsert(rows)
        assert changed.version == number + 1
        reference.register("s", rows.append_column("n", pa.array(range(900))))
        last = "SELECT id, day, arg_max(v, n) AS v FROM s GROUP BY id, day"
        reference.execute(f"DELETE FROM t WHERE (id, day) IN (SELECT id, day FROM ({last}))")
        reference.execute(f"INSERT INTO t SELECT id, day, v FROM ({last})")
        wanted = reference.sql("SELECT id, day, v FROM t").to_arrow_table()
        assert lr.checksum(table.scan()) == lr.checksum(wanted)
    gone = table.delete("id < 700 AND day = '2024'")
    reference.execute("DELETE FROM t WHERE id < 700 AND day = '2024'")
    assert lr.checksum(table.scan()) == lr.checksum(reference.sql("SELECT id, day, v FROM t").to_arrow_table())
    assert gone.rows == gone.rows_hidden > 0
    assert table.delete("id < 0").version is None


def test_others_see_the_same_rows(tmp_path: Path) -> None:
    import polars

    table = tmp_path / "table"
    lr.copy(pa.table({"id": range(100), "v": ["a"] * 100}), f"delta:{table}")
    lr.Table(table, key="id").upsert(pa.table({"id": range(50, 150), "v": ["b"] * 100}))
    assert lr.checksum(polars.read_delta(str(table))) == lr.checksum(lr.scan(table))


def test_streams_build_one_wide_table(tmp_path: Path) -> None:
    table = lr.Table(tmp_path / "table", key="id")
    lr.copy(
        pa.table({"id": [1, 2], "price": [1.5, 2.5], "name": ["a", "b"], "n": [1, 1]}), f"delta:{tmp_path / 'table'}"
    )
    table.upsert(pa.table({"id": [2, 3], "price": [9.0, 3.0]}))
    table.upsert(pa.table({"n": [5, 7, 1], "id": [1, 3, 1]}), merge={"n": "sum"})
    table.upsert(pa.table({"id": [1], "name": ["c"]}), merge={"name": "concat:, "})
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [tuple(row[name] for name in ("id", "price", "name", "n")) for row in rows] == [
        (1, 1.5, "a, c", 7),
        (2, 9.0, "b", 1),
        (3, 3.0, None, 7),
    ]
    with pytest.raises(lr.UsageError, match="average"):
        table.upsert(pa.table({"id": [1], "n": [1]}), merge={"n": "average"})
    kept = table.upsert(pa.table({"id": [1, 4], "n": [0, 4]}), insert_only=True)
    assert (kept.rows, kept.rows_hidden) == (1, 0)
    gone = table.delete_keys(pa.table({"id": [1, 2, 9]}))
    assert gone.rows == 2
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [3, 4]


def test_partitioned_tables_with_mapped_columns(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    rows = pa.table({"id": range(60), "a b": [f"day {n % 3}" for n in range(60)], "v;": range(60)})
    properties = {"delta.columnMapping.mode": "name", "lakerace.primaryKey": "id"}
    lr.copy(rows, f"delta:{folder}", partition_by=["a b"], table_properties=properties)
    table = lr.Table(folder)
    # To another partition, to a new one, and where they are.
    moved = table.upsert(pa.table({"v;": [-1, -2, -3], "id": [0, 1, 99], "a b": ["day 2", "day 9", None]}))
    assert (moved.rows, moved.rows_hidden) == (3, 2)
    table.upsert(pa.table({"id": [0, 3], "v;": [5, 5]}), merge={"v;": "sum"})
    wanted = {n: (f"day {n % 3}", n) for n in range(60)} | {
        0: ("day 2", 4),
        1: ("day 9", -2),
        99: (None, -3),
        3: ("day 0", 8),
    }
    found = {row["id"]: (row["a b"], row["v;"]) for row in table.scan().to_arrow().to_pylist()}
    assert found == wanted
    # The key may have the partition in it, if the table declares it so.
    with pytest.raises(lr.UsageError, match=r"primaryKey"):
        lr.Table(folder, key=["a b", "id"]).upsert(pa.table({"id": [0], "a b": ["day 2"], "v;": [7]}))
    table.alter(set={"lakerace.primaryKey": "a b,id"})
    by_both = table.upsert(pa.table({"id": [0], "a b": ["day 2"], "v;": [7]}))
    assert (by_both.rows_hidden, by_both.files_probed) == (1, 1)


def test_what_writers_must_know_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    lr.copy(pa.table({"id": [1], "x": [0.5]}), f"delta:{folder}")
    table = lr.Table(folder, key="id")
    with pytest.raises(lr.UnsupportedError, match="float64"):
        table.upsert(pa.table({"id": [1], "x": [0.5]}), key="x")
    with pytest.raises(lr.InvalidInputError, match="row 2"):
        table.upsert(pa.table({"id": [1, None], "x": [0.5, 0.5]}))
    entry = folder / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["clockwork"]}
    entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for change in (table.upsert, table.delete_keys):
        with pytest.raises(lr.UnsupportedError, match="clockwork"):
            change(pa.table({"id": [1]}))


def test_memory_limits_change_nothing_but_windows(tmp_path: Path) -> None:
    drawn = random.Random(3)
    base = pa.table({"id": [f"key {n:06}" for n in range(30_000)], "v": range(30_000)})
    more = pa.table({"id": [f"key {drawn.randrange(60_000):06}" for _ in range(40_000)], "v": range(40_000)})
    sums = []
    for number, limit in enumerate([None, 1 << 20]):
        folder = tmp_path / f"table{number}"
        lr.copy(base, f"delta:{folder}")
        changed = lr.Table(folder, key="id").upsert(more, memory_limit=limit)
        assert (changed.windows > 1) == (limit is not None)
        sums.append(lr.checksum(lr.scan(folder)))
    assert sums[0] == sums[1]


#: Upserts batches of 20 columns, 8 MB each, from a stream that holds one at a time, with 32 MB to do it in; prints
#: the windows that it took and its peak memory.
WIDE = """
import sys
import numpy, pyarrow
import lakerace
drawn = numpy.random.default_rng(1)
def batch(rows):
    columns = {f"c{n}": drawn.integers(0, 2**60, rows) for n in range(20)}
    return pyarrow.record_batch({"id": drawn.integers(0, 2**40, rows), **columns})
first = batch(1000)
lakerace.copy(first, "delta:" + sys.argv[1])
stream = pyarrow.RecordBatchReader.from_batches(first.schema, (batch(50_000) for _ in range(int(sys.argv[2]))))
done = lakerace.Table(sys.argv[1], key="id").upsert(stream, memory_limit=32 << 20)
print(done.windows, done.peak_rss_bytes)
"""


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    def peak(batches: int) -> tuple[int, int]:
        command = [sys.executable, "-c", WIDE, str(tmp_path / f"table{batches}"), str(batches)]
        out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        windows, peak_bytes = map(int, out.split())
        return windows, peak_bytes

    # 32 MB of values, and 256 MB.
    (few, small), (many, large) = peak(4), peak(32)
    assert 1 <= few < many
    assert large < small + (64 << 20)


def test_large_files_are_written_in_runs_while_they_are_read(tmp_path: Path) -> None:
    drawn = random.Random(4)
    base = pa.table({"id": range(30_000), "v": [f"base {n}" for n in range(30_000)]})
    ids = [drawn.randrange(60_000) for _ in range(25_000)]
    more = pa.table({"id": ids, "v": [f"{drawn.random()}" * 6 for _ in ids]})
    pq.write_table(more, tmp_path / "more.parquet", compression="none")
    # A file whose keys can be read ahead of its rows, a stream of the same rows, and a file whose rows have to be filtered.
    file = tmp_path / "more.parquet"
    sources = [file, lr.scan(file), pq.read_table(file), lr.scan(file, where="id >= 0")]
    files, sums, windows = [], [], []
    for number, source in enumerate(sources):
        folder = tmp_path / f"table{number}"
        lr.copy(base, f"delta:{folder}")
        changed = lr.Table(folder, key="id").upsert(source, memory_limit=8 << 20)
        assert changed.rows == len(set(ids))
        windows.append(changed.windows)
        sums.append(lr.checksum(lr.scan(folder)))
        new = pq.read_table(max(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns))["id"].to_pylist()
        files.append(sum(one > other for one, other in itertools.pairwise(new)))
    assert len({str(total) for total in sums}) == 1
    assert (windows[:2], files[2:]) == ([1, 1], [0, 0])
    assert all(0 < falls < 20 for falls in files[:2])


#: Upserts a Parquet file of keys and 1 KB texts with 32 MB to do it in; prints the windows that it took and its peak memory.
FILE = """
import sys
import numpy, pyarrow, pyarrow.parquet
import lakerace
drawn, rows = numpy.random.default_rng(1), int(sys.argv[2])
texts = pyarrow.array([drawn.bytes(512).hex() for _ in range(1000)])
first = pyarrow.table({"id": [1], "text": ["a"]})
path = sys.argv[1] + ".parquet"
with pyarrow.parquet.ParquetWriter(path, first.schema, use_dictionary=False, compression="none") as writer:
    for _ in range(rows // 1000):
        writer.write_table(pyarrow.table({"id": drawn.integers(0, 2**40, 1000), "text": texts}))
lakerace.copy(first, "delta:" + sys.argv[1])
del texts
done = lakerace.Table(sys.argv[1], key="id").upsert(path, memory_limit=32 << 20)
print(done.windows, done.peak_rss_bytes)
"""


def test_memory_does_not_grow_with_rows_of_a_file(tmp_path: Path) -> None:
    def peak(rows: int) -> int:
        command = [sys.executable, "-c", FILE, str(tmp_path / f"table{rows}"), str(rows)]
        out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        windows, peak_bytes = map(int, out.split())
        # The keys fit, whatever the rows take.
        assert windows == 1
        return peak_bytes

    # 15 MB of rows, and 100 MB.
    assert peak(100_000) < peak(15_000) + (64 << 20)


def test_plans(tmp_path: Path) -> None:
    table = lr.Table(tmp_path / "table", key="id")
    lr.copy(pa.table({"id": range(100), "v": ["a"] * 100}), f"delta:{tmp_path / 'table'}")
    table.upsert(pa.table({"id": range(100, 200), "v": ["a"] * 100}))
    plan = table.explain_upsert(pa.table({"id": [150], "v": ["b"]}))
    assert "keys of 1 of 2 files" in str(plan)
    assert [file["pruned"] is None for file in plan.to_dict()["files"]] == [False, True]
    assert table.schema()["version"] == 1


def test_the_commands(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(10), "v": ["a"] * 10}), tmp_path / "base.parquet")
    pq.write_table(pa.table({"id": [3, 30], "v": ["b", "b"]}), tmp_path / "more.parquet")
    table = tmp_path / "table"
    ok("copy", tmp_path / "base.parquet", f"delta:{table}")
    done = ok("upsert", table, tmp_path / "more.parquet", "--key", "id", "--json").json
    assert (done["version"], done["rows"], done["rows_hidden"], done["vectors"]) == (1, 2, 1, 1)
    gone = ok("delete", table, "--where", "id >= 5", "--json").json
    assert (gone["version"], gone["rows"], gone["rows_hidden"]) == (2, 6, 6)
    assert sorted(lr.scan(table).to_arrow()["id"].to_pylist()) == [0, 1, 2, 3, 4]
    merged = ok("upsert", table, tmp_path / "more.parquet", "--key", "id", "--merge", "v=concat:+", "--json").json
    assert (merged["rows"], merged["rows_hidden"]) == (2, 1)
    plan = ok("upsert", table, tmp_path / "more.parquet", "--key", "id", "--explain", "--json").json
    assert plan["explain"]["rows"] == 2
    keys = ok("delete", table, "--keys", tmp_path / "more.parquet", "--key", "id", "--json").json
    assert (keys["rows"], keys["version"]) == (2, 4)
    assert run("delete", table).code == 2
    assert run("upsert", table, tmp_path / "more.parquet", "--key", "id", "--merge", "v=average").code == 2
    assert run("upsert", table, tmp_path / "more.parquet").code == 2
    assert run("upsert", tmp_path / "nope", tmp_path / "more.parquet", "--key", "id").code == 3


def test_a_key_beside_the_declared_one_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    rows = pa.table({"id": [1, 2], "code": ["a", "b"]})
    lr.copy(rows, f"delta:{folder}", table_properties={"lakerace.primaryKey": "id"})
    for call in [
        lambda: lr.Table(folder, key="code").upsert(rows),
        lambda: lr.Table(folder).upsert(rows, key=["id", "code"]),
        lambda: lr.Table(f"delta:{tmp_path / 'new'}", key="code").upsert(
            rows, table_properties={"lakerace.primaryKey": "id"}
        ),
    ]:
        with pytest.raises(lr.UsageError, match=r"key of the upsert is .*code.*, and the table's is id"):
            call()
    assert lr.Table(folder).version == 0
    assert not (tmp_path / "new").exists()
    # Rows may be deleted by any column.
    lr.Table(folder).delete_keys(rows.select(["code"]).slice(1), key="code")
    lr.Table(folder).alter(set={"lakerace.primaryKey": "code"})
    lr.Table(folder, key="code").upsert(pa.table({"id": [5], "code": ["a"]}))
    found = QueryBuilder().register("t", DeltaTable(folder)).execute("SELECT id, code FROM t")
    assert pa.table(found).to_pylist() == [{"id": 5, "code": "a"}]
