"""Warnings of copies into Delta tables that do another thing than one may expect."""

import warnings
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok
from s3server import S3

import lakerace as lr

ROWS = pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def ids(folder: Path) -> list[int]:
    found: list[int] = deltalake.DeltaTable(folder).to_pyarrow_table()["id"].to_pylist()
    return sorted(found)


def test_an_append_to_a_table_with_a_key_says_that_keys_are_not_checked(tmp_path: Path, source: Path) -> None:
    table = tmp_path / "t"
    ok("upsert", f"delta:{table}", source, "--key", "id")
    for command in (["--dry-run"], []):
        done = ok("copy", source, table, "--mode", "append", *command, "--json")
        assert done.err.count("an append does not check the key of the table (id)") == 1
        assert f"`lakerace upsert {table} SOURCE`" in done.err
    # The rows are there twice, as they say.
    assert ids(table) == [1, 1, 2, 2, 3, 3]
    with pytest.warns(lr.LakeraceWarning, match=r"does not check the key.*Table\(.*\)\.upsert\(\)"):
        lr.copy(ROWS, str(table), mode="append")
    # Batches are commits of their own, and one append.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lr.copy(source, str(table), mode="append", batch_rows=1)
    assert [str(warning.message).count("does not check the key") for warning in caught] == [1]


def test_other_writes_are_not_told_about_keys(tmp_path: Path, source: Path) -> None:
    keyed, plain = tmp_path / "keyed", tmp_path / "plain"
    ok("upsert", f"delta:{keyed}", source, "--key", "id")
    ok("copy", source, f"delta:{plain}")
    for arguments in (
        ("upsert", keyed, source),
        ("copy", source, keyed, "--mode", "overwrite"),
        ("copy", source, plain, "--mode", "append"),
        ("copy", source, f"delta:{tmp_path / 'new'}", "--mode", "append", "--table-property", "lakerace.primaryKey=id"),
    ):
        assert "warning" not in ok(*arguments).err, arguments
    assert ids(keyed) == [1, 2, 3]


@pytest.mark.parametrize("is_dry", [True, False])
def test_an_overwrite_by_a_condition_of_partitions_says_that_all_is_replaced(
    tmp_path: Path, source: Path, is_dry: bool
) -> None:
    table = tmp_path / "t"
    ok("copy", source, f"delta:{table}", "--partition-by", "day")
    more = ["--dry-run"] if is_dry else []
    done = ok("copy", source, table, "--mode", "overwrite", "--where", "day = 'b'", *more)
    assert done.err.count("the overwrite replaces the whole table") == 1
    assert "--replace-where 'day = '\\''b'\\'''" in done.err
    expected = duckdb.sql(f"SELECT id FROM '{source}'" + ("" if is_dry else " WHERE day = 'b'")).fetchall()
    assert ids(table) == [row[0] for row in expected]
    # As advised: no warning, and other partitions stay.
    ok("copy", source, table, "--mode", "overwrite")
    done = ok("copy", source, table, "--mode", "overwrite", "--where", "day = 'b'", "--replace-where", "day = 'b'")
    assert "warning" not in done.err
    assert ids(table) == [1, 2, 3]


def test_other_overwrites_are_not_told_about_partitions(tmp_path: Path, source: Path) -> None:
    divided, plain = tmp_path / "divided", tmp_path / "plain"
    for arguments in (
        ("copy", source, f"delta:{divided}", "--partition-by", "day", "--mode", "overwrite", "--where", "day = 'b'"),
        ("copy", source, f"delta:{plain}"),
        ("copy", source, divided, "--mode", "overwrite"),
        ("copy", source, divided, "--mode", "append", "--where", "day = 'b'"),
        ("copy", source, divided, "--mode", "overwrite", "--where", "id = 1"),
        ("copy", source, divided, "--mode", "overwrite", "--where", "id = 1 and day = 'a'"),
        ("copy", source, plain, "--mode", "overwrite", "--where", "day = 'b'"),
        ("copy", source, tmp_path / "x.parquet", "--mode", "overwrite", "--where", "day = 'b'"),
    ):
        assert "warning" not in ok(*arguments).err, arguments


def test_the_advice_on_partitions_takes_no_request(tmp_path: Path, source: Path, s3: S3) -> None:
    """The log is opened once: an overwrite with a filter of partitions sends what one without any does."""
    requests = {}
    for name, options in {"all": {}, "some": {"where": "day >= 'a'"}, "other": {"where": "id > 0"}}.items():
        table = s3.url(f"{tmp_path.name}/{name}")
        lr.copy(source, f"delta:{table}", partition_by="day", storage_options=s3.options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            copied = lr.copy(source, table, mode="overwrite", storage_options=s3.options, **options)  # type: ignore[arg-type]
        requests[name] = copied.requests
        told = [str(warning.message) for warning in caught if "replaces the whole table" in str(warning.message)]
        assert len(told) == (name == "some")
    assert requests["some"] == requests["other"] == requests["all"]
