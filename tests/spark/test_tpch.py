"""Generated tables of TPC-H as ORC and Parquet, read by Spark: `make test-spark`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from asking import ask, rows

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem")
SCALE = "0.001"
MODES = ("zero-copy", "true-zero-copy")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Any]:
    folder = tmp_path_factory.mktemp("tpch")
    questions = {}
    for form in ("orc", "parquet"):
        for mode in MODES:
            place: Path = folder / f"{form}-{mode}"
            arguments = ["-s", SCALE, "-o", str(place), "--format", form, "--mode", mode]
            subprocess.run([sys.executable, "-m", "lakerace", "-q", "tpch", *arguments], check=True)
            for table in TABLES:
                path = place / f"{table}.{form}"
                questions[form, mode, table] = {"path": str(path), "where": None, "format": form}
    return dict(zip(questions, ask("read_orc.py", list(questions.values())), strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["orc", "parquet"])
def test_spark_reads_generated_tables(form: str, mode: str, answers: dict[tuple[str, str, str], Any]) -> None:
    for table in TABLES:
        expected = pa.table(lr.scan(f"tpch:{table}?sf={SCALE}"))
        found = answers[form, mode, table]
        assert found["rows"] == rows(expected), table
        decimals = [f"decimal({f.type.precision},2)" for f in expected.schema if pa.types.is_decimal(f.type)]
        assert [kind for kind in found["schema"] if kind.startswith("decimal")] == decimals
