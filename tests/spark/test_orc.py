"""ORC files that lakerace wrote, read by Spark: `make test-spark`.

The bench's Spark environment is made where it is absent, which downloads about 400 MB; Java 17 must be there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from asking import ask, rows
from orc_tables import CODECS, DAYS, TABLES, calendar

import lakerace as lr

TABLES_FOR_SPARK = {**TABLES, "calendar": lambda: calendar(DAYS, "us")}
FILTERED_ROWS = 100_000


def scattered(i: int) -> int:
    """Another number for each of 2^31, near ones far from each other."""
    return i * 2_654_435_761 % 2**31


WANTED = scattered(77_777)
CONDITIONS = {
    "n": f"n = {WANTED}",
    "t": f"t = 'text {WANTED}'",
    "d": f"d = {WANTED / 7!r}D",
    "day": f"day = date_add(date'1970-01-01', {WANTED % 1_000_003})",
    "sorted": "sorted = 77777",
}


def filtered() -> pa.Table:
    """Ten row groups whose bounds say nothing: only bloom filters tell which one has a value."""
    numbers = [scattered(i) for i in range(FILTERED_ROWS)]
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "t": pa.array([f"text {n}" for n in numbers], pa.string()),
            "d": pa.array([n / 7 for n in numbers], pa.float64()),
            "day": pa.array([n % 1_000_003 for n in numbers], pa.int32()).cast(pa.date32()),
            "sorted": pa.array(range(FILTERED_ROWS), pa.int64()),
        }
    )


class Answers:
    """What Spark says, asked all at once: it takes longer to start than to answer."""

    def __init__(self, folder: Path) -> None:
        self.expected: dict[str, pa.Table] = {}
        questions: dict[str, dict[str, Any]] = {}
        for name, make in TABLES_FOR_SPARK.items():
            for codec in CODECS:
                key = f"{name}-{codec}"
                path = folder / f"{key}.orc"
                self.expected[key] = make()
                lr.copy(self.expected[key], path, compression=codec, row_group_bytes=16 << 10)
                questions[key] = {"path": str(path), "where": None}
        table = filtered()
        for key, blooms in (("with", ["n", "t", "d", "day"]), ("without", None)):
            path = folder / f"{key}.orc"
            lr.copy(table, path, bloom_filter=blooms)
            for column, condition in CONDITIONS.items():
                questions[f"{key}-{column}"] = {"path": str(path), "where": condition}
        self.answers = dict(zip(questions, ask("read_orc.py", list(questions.values())), strict=True))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return Answers(tmp_path_factory.mktemp("orc"))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", TABLES_FOR_SPARK)
def test_spark_reads_what_we_write(name: str, codec: str, answers: Answers) -> None:
    key = f"{name}-{codec}"
    table = answers.expected[key]
    assert answers.answers[key]["rows"] == rows(table)
    kinds = [kind for kind in answers.answers[key]["schema"] if kind.startswith("decimal")]
    expected = [field.type for field in table.schema if pa.types.is_decimal(field.type)]
    assert kinds == [f"decimal({kind.precision},{kind.scale})" for kind in expected]


@pytest.mark.parametrize("column", CONDITIONS)
def test_spark_skips_row_groups_by_our_indexes(column: str, answers: Answers) -> None:
    found, plain = answers.answers[f"with-{column}"], answers.answers[f"without-{column}"]
    assert found["rows"] == plain["rows"]
    assert [row[-1] for row in found["rows"]].count(77_777) == 1
    # A row group has 10,000 rows. Bounds alone leave all of them but where rows are sorted.
    assert plain["scanned"] == (10_000 if column == "sorted" else FILTERED_ROWS)
    assert 10_000 <= found["scanned"] < FILTERED_ROWS / 2
