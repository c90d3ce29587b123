"""The benches in Spark, as far as they need no Spark: the check of rows, and what reports make of samples."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakerace_bench import cases, markdown, spark_hash, spark_jobs, tables
from lakerace_bench.contestant import discover
from lakerace_bench.data import Shape
from lakerace_bench.entrant import entrants, readers
from lakerace_bench.samples import RIGHT, Run, Sample

TINY = Shape(rows=5_000, row_group_rows=1_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"", 0xEF46DB3751D8E999), (b"abc", 0x44BC2CF5AD770999), (b"a" * 100, 0x375041E8B1DECFB3)],
)
def test_texts_have_the_hashes_of_the_reference_implementation(text: bytes, expected: int) -> None:
    data = np.frombuffer(text + bytes(8), dtype=np.uint8)
    seed = np.zeros(1, dtype=np.uint64)
    assert spark_hash.texts_hash(data, np.array([0]), np.array([len(text)]), seed)[0] == expected


def test_the_hash_of_rows_is_of_their_values_in_any_order(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([1, 2, 3]), "b": ["x" * 40, "", "yz"]})
    found = []
    for number, order in enumerate(([0, 1, 2], [2, 0, 1])):
        pq.write_table(table.take(order), path := tmp_path / f"{number}.parquet")
        found.append(spark_hash.xor_of(path))
    swapped = table.set_column(0, "a", pa.array([2, 1, 3]))
    pq.write_table(swapped, path)
    assert found[0] == found[1] != spark_hash.xor_of(path)


def test_a_query_that_gives_other_sums_or_hashes_is_wrong(tmp_path: Path) -> None:
    wanted = spark_jobs.reference(TINY.files(tmp_path)["parquet"])
    assert wanted["rows"] == TINY.rows
    held = dict(wanted)
    assert spark_jobs.disagreement(wanted, held) is None
    assert "XXH64" in str(spark_jobs.disagreement(wanted, held | {"hash": "1"}))
    del held["hash"]
    assert spark_jobs.disagreement(wanted, held) is None
    assert "checksum" in str(spark_jobs.disagreement(wanted, held | {"checksum": "1"}))


def test_who_makes_tables_in_spark_alone_reads_no_others() -> None:
    found = discover()
    chosen = {case.bench: case for case in cases.all_cases([1], cases.quick()) if case.kind == "upsert"}
    names = {bench: {one.name for one in readers(found) if one.reads(case)} for bench, case in chosen.items()}
    assert "spark" in names["spark-upsert"] - names["upsert"]
    assert "delta_rs" in names["upsert"] - names["spark-upsert"]
    assert {"lakerace", "delta_spark", "duckdb_delta"} <= names["upsert"] & names["spark-upsert"]


def test_ratios_are_those_within_a_version_of_spark() -> None:
    seconds = {"spark/builtin": 6.0, "spark/lakerace": 2.0, "spark_4_1/builtin": 9.0, "spark_4_1/lakerace": 3.0}
    seconds["lakerace/alone"] = 1.5
    chosen = {one.name: one.about for one in entrants(discover(), "spark-scan") if one.name in seconds}
    machine = {"cpu": "one", "cpus": 2, "memory_bytes": 2**30, "system": "Linux", "kernel": "6", "python": "3.11"}
    run = Run(str(datetime.date(2026, 1, 1)), machine | {"load_before": 0.0}, {"rows": 10, "codec": "snappy"}, chosen)
    samples = [
        Sample(
            case="spark-scan/s3/all/t1",
            bench="spark-scan",
            store="s3",
            title="sums",
            threads=1,
            contestant=name,
            round=number,
            verdict=RIGHT,
            seconds=value,
            cpu_seconds=value / 2,
        )
        for number in (0, 1)
        for name, value in seconds.items()
    ]
    [panel] = (document := tables.document(run, samples)).panels
    gains, boundary = panel.sections
    assert [row.cells[:3] for row in gains.table.rows] == [
        ("lakerace, Spark 3.5.8", "Spark 3.5.8", "3.00"),
        ("lakerace, Spark 4.1.4", "Spark 4.1.4", "3.00"),
    ]
    assert [row.cells[-1] for row in boundary.table.rows] == ["0.250", "0.750"]
    assert "The same Spark by lakerace and without" in markdown.render(document, {})
