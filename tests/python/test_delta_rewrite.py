"""Tables as delta-rs and polars make them, without deletion vectors: changed by lakerace, read by all."""

from __future__ import annotations

import json
import random
from pathlib import Path

import deltalake
import duckdb
import polars
import pyarrow as pa
import pytest
from conftest import ok

import lakerace as lr


def seen_by_all(folder: Path, rows: pa.Table) -> None:
    """Each reader sees these rows."""
    wanted = lr.checksum(rows)
    assert lr.checksum(lr.scan(folder)) == wanted
    assert lr.checksum(deltalake.DeltaTable(str(folder)).to_pyarrow_table()) == wanted
    assert lr.checksum(polars.read_delta(str(folder))) == wanted


@pytest.mark.parametrize("partitions", [None, ["day"]])
def test_changes_of_a_table_of_delta_rs_are_what_duckdb_merges(tmp_path: Path, partitions: list[str] | None) -> None:
    drawn = random.Random(11)
    days = [f"2024-01-0{1 + n % 3}" for n in range(3000)]
    base = pa.table({"id": range(3000), "day": days, "v": [float(n) for n in range(3000)]})
    folder = tmp_path / "table"
    for part in range(3):
        rows = base.slice(part * 1000, 1000)
        deltalake.write_deltalake(str(folder), rows, mode="append", partition_by=partitions)
    reference = duckdb.connect()
    reference.execute("CREATE TABLE t AS SELECT * FROM base")
    table = lr.Table(folder, key="id")
    for number in range(4):
        ids = drawn.sample(range(1000 * number, 1000 * number + 1500), 200)
        rows = pa.table({"id": ids, "day": [days[0]] * 200, "v": [number + n / 1000 for n in range(200)]})
        changed = table.upsert(rows)
        assert changed.vectors == 0
        assert changed.files_rewritten > 0 or number == 3
        reference.register("s", rows)
        reference.execute("DELETE FROM t WHERE id IN (SELECT id FROM s)")
        reference.execute("INSERT INTO t SELECT * FROM s")
        seen_by_all(folder, reference.sql("SELECT * FROM t").to_arrow_table())
    gone = table.delete("id < 1500 AND v > 3")
    reference.execute("DELETE FROM t WHERE id < 1500 AND v > 3")
    assert gone.rows == gone.rows_hidden > 0
    table.delete_keys(pa.table({"id": range(2000, 2300)}))
    reference.execute("DELETE FROM t WHERE id >= 2000 AND id < 2300")
    seen_by_all(folder, reference.sql("SELECT * FROM t").to_arrow_table())
    # The other writer goes on.
    deltalake.DeltaTable(str(folder)).delete("id < 100")
    reference.execute("DELETE FROM t WHERE id < 100")
    seen_by_all(folder, reference.sql("SELECT * FROM t").to_arrow_table())


def test_a_table_of_polars_is_told_as_rewritten(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    polars.DataFrame({"id": range(100), "v": ["a"] * 100}).write_delta(str(folder))
    polars.DataFrame({"id": range(100, 200), "v": ["a"] * 100}).write_delta(str(folder), mode="append")
    rows = pa.table({"id": [7, 300], "v": ["b", "b"]})
    source = tmp_path / "rows.parquet"
    lr.copy(rows, source)
    told = ok("upsert", folder, source, "--key", "id", "--explain").out
    assert "rewrite: at most 1 file" in told
    assert "--enable-deletion-vectors" in told
    plan = lr.Table(folder, key="id").explain_upsert(rows).to_dict()
    assert (plan["rewrites_at_most"], plan["vectors_at_most"]) == (1, 0)
    done = ok("upsert", folder, source, "--key", "id", "--json").json
    assert (done["rows"], done["rows_hidden"], done["files_rewritten"], done["vectors"]) == (2, 1, 1, 0)
    assert done["bytes_replaced"] == plan["rewritten_bytes_at_most"] > 0
    assert done["bytes_rewritten"] > 0
    done = ok("delete", folder, "--where", "id >= 100", "--json").json
    assert (done["rows"], done["files_removed"], done["files_rewritten"]) == (101, 1, 1)
    expected = pa.table({"id": range(100), "v": ["b" if n == 7 else "a" for n in range(100)]})
    seen_by_all(folder, expected)


def test_a_feed_of_rewritten_files_is_read_by_delta_rs(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
    lr.copy(pa.table({"id": range(10), "v": ["a"] * 10}), f"delta:{folder}", table_properties=properties)
    table = lr.Table(folder, key="id")
    table.upsert(pa.table({"id": [3, 20], "v": ["b", "b"]}))
    table.delete("id < 2")
    feed = pa.table(deltalake.DeltaTable(str(folder)).load_cdf(starting_version=1).read_all())
    columns = ("_commit_version", "_change_type", "id", "v")
    told = sorted(zip(*(feed[name].to_pylist() for name in columns), strict=True))
    assert told == [
        (1, "insert", 20, "b"),
        (1, "update_postimage", 3, "b"),
        (1, "update_preimage", 3, "a"),
        (2, "delete", 0, "a"),
        (2, "delete", 1, "a"),
    ]
    ours = pa.table(table.changes(1))
    assert sorted(zip(*(ours[name].to_pylist() for name in columns), strict=True)) == told


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_tables_without_statistics(tmp_path: Path, vectors: str) -> None:
    folder = tmp_path / "table"
    configuration = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableDeletionVectors": vectors}
    deltalake.write_deltalake(str(folder), pa.table({"id": range(10), "v": [1] * 10}), configuration=configuration)
    deltalake.write_deltalake(str(folder), pa.table({"id": range(10, 20), "v": [1] * 10}), mode="append")
    for entry in (folder / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in entry.read_text().splitlines()]
        for line in lines:
            line.get("add", {}).pop("stats", None)
        entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ok("schema", folder, "--json").json["rows"] == 20
    assert ok("scan", folder, "--count").out.strip() == "20"
    table = lr.Table(folder, key="id")
    assert table.upsert(pa.table({"id": [3, 30], "v": [2, 2]})).rows_hidden == 1
    assert table.delete("id = 4").rows == 1
    table.compact()
    ids = [n for n in range(20) if n not in (3, 4)] + [3, 30]
    expected = pa.table({"id": ids, "v": [1] * 18 + [2, 2]})
    assert lr.checksum(lr.scan(folder)) == lr.checksum(expected)
    assert ok("schema", folder, "--json").json["rows"] == 20
