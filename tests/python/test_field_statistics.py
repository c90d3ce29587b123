"""Conditions on fields of structs leave out row groups and pages, with the rows of pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lakerace as lr

ROWS = 20_000
GROUP_ROWS = 2_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Ages that ascend, some of them null, in structs of which some are null."""
    numbers = np.random.default_rng(3)
    ages = pa.array(np.arange(ROWS), mask=numbers.random(ROWS) < 0.1)
    names = pa.array([f"name {number:06}" for number in range(ROWS)])
    place = pa.StructArray.from_arrays([names], ["city"], mask=pa.array(numbers.random(ROWS) < 0.1))
    user = pa.StructArray.from_arrays(
        [names, ages, place], ["name", "age", "place"], mask=pa.array(numbers.random(ROWS) < 0.2)
    )
    return pa.table(
        {"before": pa.array(np.arange(ROWS)[::-1]), "user": user, "age": pa.array(numbers.integers(9, size=ROWS))}
    )


CONDITIONS = {
    "user.age > 19500": pc.field("user", "age") > 19500,
    "user.age = 4321": pc.field("user", "age") == 4321,
    "user.age < 10": pc.field("user", "age") < 10,
    "user.age in (3, 7777)": pc.field("user", "age").isin([3, 7777]),
    "user.place.city = 'name 012345'": pc.field("user", "place", "city") == "name 012345",
    "user.name like 'name 0000%'": pc.starts_with(pc.field("user", "name"), "name 0000"),
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("writer", ["groups", "pages"])
def test_parts_that_no_field_can_match_are_not_read(
    tmp_path: Path, table: pa.Table, condition: str, writer: str
) -> None:
    path = str(tmp_path / "users.parquet")
    if writer == "groups":
        pq.write_table(table, path, row_group_size=GROUP_ROWS)
    else:
        pq.write_table(table, path, data_page_size=4096, write_page_index=True, write_batch_size=512)
    expected = table.filter(CONDITIONS[condition])
    assert expected.num_rows > 0 or condition.startswith("user.age = ")
    scan = lr.scan(path, where=condition)
    assert pa.table(scan).cast(table.schema).equals(expected)
    if writer == "groups":
        whole = lr.scan(path)
        pa.table(whole)
        assert scan.report()["bytes_read"] < whole.report()["bytes_read"] / 2


@pytest.mark.parametrize(
    "condition", ["user.age is null", "user.age is not null", "user.place is null", "user.place.city is null"]
)
def test_nulls_of_fields_are_all_found(tmp_path: Path, table: pa.Table, condition: str) -> None:
    path = str(tmp_path / "users.parquet")
    pq.write_table(table, path, row_group_size=GROUP_ROWS, data_page_size=4096, write_page_index=True)
    names = condition.partition(" is ")[0].split(".")
    field = pc.field(*names)
    expected = table.filter(field.is_valid() if "not" in condition else field.is_null())
    assert pa.table(lr.scan(path, where=condition)).cast(table.schema).equals(expected)
