"""Keys that `verify` finds in several rows, null, or in damaged columns."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changed_tables import of_delta_rs
from conftest import run

import lakerace as lr


def test_a_key_in_many_rows_names_some_of_them(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path, pa.table({"id": [7] * 100 + [8]}))
    (finding,) = lr.Table(tmp_path).verify(key="id").findings
    assert finding.problem.startswith("1 key stands in more than one row: id=7 in ")
    assert (finding.problem.count(" row "), finding.problem.endswith(" and 90 more")) == (10, True)


@pytest.mark.parametrize("limit", [None, 65_536])
def test_rows_without_a_key_are_named(tmp_path: Path, limit: int | None) -> None:
    place = tmp_path / "t"
    keys = pa.table({"id": pa.array(range(6_000), pa.int64()), "day": [f"d{n % 3}" for n in range(6_000)]})
    lr.copy(keys, f"delta:{place}", table_properties={"lakerace.primaryKey": "id,day"})
    table = lr.Table(place)
    assert table.verify(memory_limit=limit).sound
    with pytest.warns(lr.LakeraceWarning, match="stay distinct and not null; .* finds such rows"):
        table.update({"id": "NULL"}, where="id IN (3, 5)")
    with pytest.warns(lr.LakeraceWarning, match="not check"):
        lr.copy(
            pa.table({"id": pa.array([7] * 20, pa.int64()), "day": pa.array([None] * 20, pa.string())}),
            place,
            mode="append",
        )
    (finding,) = table.verify(memory_limit=limit).findings
    assert finding.subject == "key"
    assert finding.problem.startswith("22 rows have no key (id or day is null): ")
    assert (finding.problem.count(" row "), finding.problem.endswith(" and 12 more")) == (10, True)
    assert run("verify", place).code == 5
    assert table.delete("id IS NULL OR day IS NULL").rows == 22
    assert table.verify(memory_limit=limit).sound
    assert of_delta_rs(place).num_rows == 5_998


def damage_column(file: Path, column: int) -> None:
    """Overwrites the middle of a column's pages; the footer stays."""
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(column)
    at = chunk.data_page_offset + chunk.total_compressed_size // 2
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(b"\xff" * 8)


def test_a_damaged_key_column_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    place = tmp_path / "t"
    for start in (0, 5_000):
        part = pa.table(
            {"id": [str(n * 7919) for n in range(start, start + 5_000)], "v": [str(n * 104_729) for n in range(5_000)]}
        )
        lr.copy(
            part,
            f"delta:{place}",
            mode="append",
            table_properties={"lakerace.primaryKey": "id"} if start == 0 else None,
        )
    first, second = sorted(place.glob("*.parquet"))
    damage_column(first, 0)
    damage_column(second, 1)
    done = run("verify", place, "--json")
    assert done.code == 5
    told = json.loads(done.out)
    (finding,) = told["findings"]
    assert finding["place"].startswith(f"{first}: row group 0, column")
    assert not told["sound"]
    assert not told["keys_checked"]
    assert "keys are not checked: their columns can't be read" in told["notes"]
    found = lr.Table(place).verify(deep=True).findings
    assert sorted(finding.place.partition(":")[0] for finding in found) == [str(first), str(second)]
    assert all(finding.advice for finding in found)
