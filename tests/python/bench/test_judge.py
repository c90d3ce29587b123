"""What the bench's own judge says of tables that contestants hold."""

import datetime
import importlib.util
from types import ModuleType

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from lakerace_bench.contestant import KIT


@pytest.fixture
def verify() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify", KIT / "verify.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_times_of_polars_are_those_of_others(verify: ModuleType) -> None:
    times = [datetime.time(1, 2, 3, 4), None, datetime.time(23, 59, 59, 999_999)]
    connection = duckdb.connect()
    of_polars = verify._look(connection, connection.from_arrow(pl.DataFrame({"value": times}).to_arrow()))
    of_pyarrow = verify._look(connection, connection.from_arrow(pa.table({"value": pa.array(times, pa.time64("us"))})))
    assert of_polars == of_pyarrow


def test_times_with_more_digits_are_others(verify: ModuleType) -> None:
    connection = duckdb.connect()
    exact = pa.table({"value": pa.array([1_000], pa.time64("ns"))})
    finer = pa.table({"value": pa.array([1_001], pa.time64("ns"))})
    answers = [verify._look(connection, connection.from_arrow(table)) for table in (exact, finer)]
    assert [answer["schema"] for answer in answers] == [[["value", "TIME"]], [["value", "TIME_NS"]]]
    assert answers[0]["checksum"] != answers[1]["checksum"]
