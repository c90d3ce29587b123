"""Spark's own readers find by the statistics of our files what they find without them."""

from __future__ import annotations

import datetime
import functools
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from filter_delta import QUERIES_AT_ONCE, by_statistics
from pyspark.sql import DataFrame, SparkSession

import lakerace as lr

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import sparse_lakes
from pushdown import GROUP_ROWS, Filter, filters, table
from sparse_lakes import STATES

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


#: Kinds of which Spark takes extremes from footers. It says itself where a footer has none.
EXTREMES = ("f64", "f32", "i8", "i16", "i32", "i64", "day", "flag")
NO_EXTREMES = "No min/max (value )?found|getMinMaxFromColumnStatistics"


def extremes(spark: SparkSession, file_format: str, paths: dict[Path, list[str]], pushed: bool) -> list[list[str]]:
    """The least, the greatest and the count of values of columns of each file, by footers or by the rows."""
    spark.conf.set(f"spark.sql.{file_format}.aggregatePushdown", str(pushed).lower())
    queries = []
    for number, (path, kinds) in enumerate(paths.items()):
        fields = [(name, kind) for kind in kinds for name in ("min", "max", "count")]
        texts = [f"'{name} {kind}', CAST({name}({kind}) AS STRING)" for name, kind in fields]
        queries.append(
            spark.read.format(file_format)
            .load(str(path))
            .selectExpr(f"{number} AS number", f"map({', '.join(texts)}) AS found")
        )
    query = functools.reduce(DataFrame.unionAll, queries)
    plan = query._jdf.queryExecution().executedPlan().toString()
    assert plan.count("PushedAggregation: [MIN") == (len(queries) if pushed else 0)
    # The zeros are equal: a bound of both is the one of the sign that includes them.
    rows = {row.number: sorted(row.found.items()) for row in query.collect()}
    return [[f"{name} {'0.0' if text == '-0.0' else text}" for name, text in rows[at]] for at in range(len(queries))]


@pytest.mark.parametrize("file_format", ["orc", "parquet"])
def test_extremes_of_footers(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    rows = table(EXTREMES)
    files: dict[Path, list[str]] = {}
    left_out: dict[Path, list[str]] = {}
    for first in [*range(0, rows.num_rows, GROUP_ROWS), rows.num_rows]:
        path = tmp_path / f"{first}.{file_format}"
        group = rows.slice(first, GROUP_ROWS) if first < rows.num_rows else rows
        lr.copy(group, path)
        kinds = {kind: has_extremes(group[kind], file_format) for kind in EXTREMES}
        files[path] = [kind for kind in EXTREMES if kinds[kind]]
        left_out[path] = [kind for kind in EXTREMES if not kinds[kind]]
    files = {path: kinds for path, kinds in files.items() if kinds}
    settings = {"sources.useV1SourceList": "", "codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN"}
    try:
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.{name}", value)
        pushed, plain = (extremes(spark, file_format, files, pushed) for pushed in (True, False))
        assert pushed == plain
        refused = [(path, kind) for path, kinds in left_out.items() for kind in kinds]
        for path, kind in refused:
            with pytest.raises(Exception, match=NO_EXTREMES):
                extremes(spark, file_format, {path: [kind]}, pushed=True)
    finally:
        for name in (*settings, f"{file_format}.aggregatePushdown"):
            spark.conf.unset(f"spark.sql.{name}")
    print(f"{file_format}: {sum(map(len, pushed))} extremes and counts by footers, {len(refused)} left out")
    assert sum(map(len, files.values())) == {"orc": 72, "parquet": 61}[file_format]


def has_extremes(column: pa.ChunkedArray, file_format: str) -> bool:
    """Whether a footer has extremes that all engines agree on."""
    values = [value for value in column.to_pylist() if value is not None]
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        return False
    if file_format == "orc":
        return True
    # Spark filters Parquet files by their footers: bounds include what it looks for in place of days that its calendar skips.
    return bool(values) and not (isinstance(values[0], datetime.date) and is_doubtful(max(values)))


def is_doubtful(day: datetime.date) -> bool:
    """Whether Java's old calendar skips a day, or has it in place of another."""
    return datetime.date(1582, 10, 5) <= day < datetime.date(1582, 10, 25)


def test_delta(tmp_path: Path) -> None:
    """delta-spark, which leaves out files by the log's statistics, and row groups by those of the files."""
    # Each query is asked in one state: it makes Spark look through the log.
    asked = {state: sparse_lakes.queries()[first :: len(STATES)] for first, state in enumerate(STATES)}
    for state, make in STATES.items():
        make(tmp_path / state)
    questions = [
        {"folder": str(tmp_path / state), "queries": [query.sql() for query in some]} for state, some in asked.items()
    ]
    jars = Path(__file__).resolve().parents[2] / ".cache" / "spark" / "ivy"
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("filter_delta.py"))],
        input=json.dumps({"ivy": str(jars), "questions": questions}),
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
        text=True,
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    compared = 0
    lost: list[str] = []
    for (state, some), answer in zip(asked.items(), answers, strict=True):
        rows = sparse_lakes.visible(state)
        count = 0
        for query, found, held in zip(some, answer["found"], answer["held"], strict=True):
            for one, plain in zip(query.conditions, held, strict=True):
                pushed = [at for at in found if (rows[at].kind, rows[at].nested) == (one.kind, one.nested)]
                model = [at for at, row in rows.items() if sparse_lakes.holds(one, row)]
                count += 1
                if not pushed == plain == model:
                    lost.append(
                        f"{state}, {one.sql('spark')[:120]}: {pushed} by statistics, {plain} without, {model} are"
                    )
        files = answer["files"] * len(some)
        print(f"delta-spark, {state}: {count} conditions, {len(some)} queries, {answer['read_files']} of {files} files")
        assert answer["read_files"] < files
        compared += count
    print(f"delta-spark: {compared} comparisons")
    assert not lost, "\n".join(lost[:40])
