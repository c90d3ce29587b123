"""Spark's own readers find by the statistics of our files what they find without them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from filter_delta import QUERIES_AT_ONCE, by_statistics
from pyspark.sql import DataFrame, SparkSession

import lakerace as lr

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from lakes import SIGNED, STATES
from pushdown import GROUP_ROWS, Filter, filters, table

#: Kinds of values. Of doubles all filters are tried, as their zeros and NaNs are easy to lose.
ORC = ("f64", "f32", "dec18", "day", "utc", "text")
PARQUET = ("f64", "f32", "dec18", "dec38", "day", "utc", "text")
PARQUET_PUSHDOWN = "spark.sql.parquet.filterPushdown"
#: Spark takes some time for each query: of the other kinds each so manyth filter is tried.
STEP = 6


def tried(kinds: tuple[str, ...]) -> list[Filter]:
    """The filters that Spark is asked: all those with a day that its old calendar skips, and some of the others."""

    def is_tried(at: int, one: Filter) -> bool:
        is_double = one.kind == "f64" and not one.nested
        return is_double or one.has_skipped_day or at % STEP == 0 or one.operator.startswith("IS")

    return [one for at, one in enumerate(filters(kinds)) if is_tried(at, one)]


def without(frame: DataFrame, conditions: list[str]) -> list[list[int]]:
    """The ids where each condition holds, by a query without conditions."""
    found: list[list[int]] = []
    for first in range(0, len(conditions), QUERIES_AT_ONCE * 4):
        part = conditions[first : first + QUERIES_AT_ONCE * 4]
        rows = frame.selectExpr("id", *(f"({condition}) AS c{n}" for n, condition in enumerate(part))).collect()
        found += [sorted(row.id for row in rows if row[1 + n]) for n in range(len(part))]
    return found


def check(name: str, frame: DataFrame, wanted: list[Filter]) -> None:
    """Fails where Spark finds other rows by statistics."""
    conditions = [one.sql("spark") for one in wanted]
    compare(f"Spark, {name}", conditions, by_statistics(frame, conditions), without(frame, conditions))


def compare(name: str, conditions: list[str], pushed: list[list[int]], expected: list[list[int]]) -> None:
    """Fails where other rows were found by statistics."""
    print(f"{name}: {len(conditions)} filters")
    lost = [
        f"{condition[:120]}: {found} by statistics, {wanted} without"
        for condition, found, wanted in zip(conditions, pushed, expected, strict=True)
        if found != wanted
    ]
    assert not lost, "\n".join(lost)


def test_orc(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows = tmp_path / "orc", table(ORC)
    folder.mkdir()
    for group in range(0, rows.num_rows, GROUP_ROWS):
        lr.copy(rows.slice(group, GROUP_ROWS), folder / f"{group:02}.orc", bloom_filter=list(ORC))
    assert spark.conf.get("spark.sql.orc.filterPushdown") == "true"
    check("ORC", spark.read.orc(str(folder)), tried(ORC))


def test_parquet(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "groups.parquet"
    # Spark leaves out what bounds, a dictionary or a bloom filter excludes.
    lr.copy(table(PARQUET), path, row_group_rows=GROUP_ROWS, bloom_filter=list(PARQUET))
    before = spark.conf.get(PARQUET_PUSHDOWN)
    spark.conf.set(PARQUET_PUSHDOWN, "true")
    try:
        check("Parquet", spark.read.parquet(str(path)), tried(PARQUET))
    finally:
        spark.conf.set(PARQUET_PUSHDOWN, before)


def test_delta(tmp_path: Path) -> None:
    """delta-spark, which leaves out files by the log's statistics, and row groups by those of the files."""
    states = ("written", "deleted", "upserted", "compacted")
    # Other filters for each state: each query makes Spark look through the log.
    asked = {state: [one.sql("spark") for one in filters(SIGNED)[first::60]] for first, state in enumerate(states)}
    for state in asked:
        STATES[state](tmp_path / state)
    questions = [{"folder": str(tmp_path / state), "conditions": asked[state]} for state in asked]
    jars = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "ivy"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("filter_delta.py"))],
        input=json.dumps({"ivy": str(jars), "questions": questions}),
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
        text=True,
    )
    answers: list[list[list[list[int]]]] = json.loads(done.stdout.splitlines()[-1])
    for state, (pushed, expected) in zip(asked, answers, strict=True):
        assert any(expected)
        compare(f"delta-spark, {state}", asked[state], pushed, expected)
