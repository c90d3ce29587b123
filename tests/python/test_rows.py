"""Rows one by one: the same objects that pyarrow makes."""

from __future__ import annotations

import datetime
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import people
from test_sqlite import every_type

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path


def test_rows_are_what_pyarrow_makes_of_them(tmp_path: Path) -> None:
    table = every_type().drop_columns(["ns"])
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(table, target)
    expected = table.to_pylist()
    named = list(lr.scan(target).rows(named=True))
    assert named == expected
    assert [{k: type(v) for k, v in row.items()} for row in named] == [
        {k: type(v) for k, v in row.items()} for row in expected
    ]
    assert list(lr.scan(target).rows()) == [tuple(row.values()) for row in expected]


def test_rows_come_in_order_and_may_be_left(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(people(10_000), path, row_group_size=999)
    expected = [tuple(row.values()) for row in people(10_000).to_pylist()]
    assert list(lr.scan(path).rows()) == expected
    rows = lr.scan(path, limit=700, columns=["id"]).rows()
    assert next(rows) == expected[0][:1]
    assert sum(1 for _ in rows) == 699
    assert list(lr.scan(path, where="id < 0").rows()) == []


def test_time_zones_and_nanoseconds(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"at": pa.array([0, 1_700_000_000_000_000, None], pa.timestamp("us", "Europe/Zurich"))})
    pq.write_table(table, path)
    found = [at for (at,) in lr.scan(path).rows()]
    assert found == table["at"].to_pylist()
    assert [str(at) for at in found] == [str(at) for at in table["at"].to_pylist()]
    pq.write_table(pa.table({"at": pa.array([1001], pa.timestamp("ns"))}), path)
    with pytest.raises(ValueError, match="nanoseconds"):
        list(lr.scan(path).rows())


#: Prints rows of a file, and the types of their values, where the module `datetime` is not what it mostly is.
FALLBACK = """
import datetime, sys
{change}
import lakerace as lr
for row in lr.scan(sys.argv[1]).rows():
    print([type(value).__name__ for value in row], [str(value) for value in row])
"""
SUBCLASSES = """
for name in ("date", "datetime", "time", "timedelta"):
    setattr(datetime, name, type("My" + name, (getattr(datetime, name),), {}))
"""


@pytest.mark.parametrize(
    ("change", "prefix"), [("del datetime.datetime_CAPI", ""), (SUBCLASSES, "My")], ids=["no table", "other classes"]
)
def test_times_without_the_table_of_c_functions(tmp_path: Path, change: str, prefix: str) -> None:
    at = datetime.datetime(1969, 2, 28, 23, 59, 58, 7, datetime.timezone.utc)
    values = [at.date(), at, at.replace(tzinfo=None), at.time(), datetime.timedelta(-3, 5, 9)]
    kinds = [pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.time64("us"), pa.duration("us")]
    columns = [pa.array([value, None], kind) for value, kind in zip(values, kinds, strict=True)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns, names=list("abcde")), path)
    command = [sys.executable, "-c", FALLBACK.format(change=change), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    types = [prefix + type(value).__name__ for value in values]
    assert found == [f"{types} {[str(value) for value in values]}", f"{['NoneType'] * 5} {['None'] * 5}"]


def test_threads_take_rows_of_one_iterator(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(20_000)}), path, row_group_size=1000)
    rows = lr.scan(path).rows()
    with ThreadPoolExecutor(4) as pool:
        found = sorted(n for part in pool.map(lambda _: [n for (n,) in rows], range(4)) for n in part)
    assert found == list(range(20_000))
