"""Upserts and deletes against a reference that duckdb computes, read back by lakerace and by polars."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

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
    polars = pytest.importorskip("polars")
    pytest.importorskip("deltalake")
    table = tmp_path / "table"
    lr.copy(pa.table({"id": range(100), "v": ["a"] * 100}), f"delta:{table}")
    lr.Table(table, key="id").upsert(pa.table({"id": range(50, 150), "v": ["b"] * 100}))
    assert lr.checksum(polars.read_delta(str(table))) == lr.checksum(lr.scan(table))


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
    assert run("upsert", table, tmp_path / "more.parquet").code == 2
    assert run("upsert", tmp_path / "nope", tmp_path / "more.parquet", "--key", "id").code == 3
