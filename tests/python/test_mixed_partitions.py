"""Partitioned folders some of whose files have the partition's column themselves: a filter finds the rows of a scan."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok
from pyarrow import orc

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: A column that the first file lacks is not read, which is told.
pytestmark = pytest.mark.filterwarnings("ignore:.*which the first file lacks:lakerace.LakeraceWarning")

#: What a file has in its own column `c`, by the number of its folder; `None`: no column.
KINDS: dict[str, Any] = {
    "none": None,
    "same": lambda number: [number, number],
    "other": lambda number: [number % 3 + 1, None],
}
#: Mixtures of three folders.
MIXTURES = list(itertools.product(KINDS, repeat=3))
FILTERS = [
    "c = 1",
    "c = 2",
    "c IN (1, 3)",
    "c IS NULL",
    "c > 1 AND id < 5",
    "c = 9",
    "c = 1 OR id = 4",
]


def write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True)
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".orc":
            orc.write_table(table, path)
        case ".csv":
            lines = [
                ",".join("" if value is None else str(value) for value in row.values()) for row in table.to_pylist()
            ]
            path.write_text("\n".join([",".join(table.column_names), *lines]) + "\n")
        case _:
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of one file by another reader."""
    match path.suffix:
        case ".parquet":
            return pq.ParquetFile(path).read().to_pylist()
        case ".orc":
            return orc.ORCFile(path).read().to_pylist()
        case _:
            return [json.loads(line) for line in path.read_text().splitlines()]


def mixture(place: Path, kinds: tuple[str, ...], ending: str) -> list[Path]:
    files = []
    for number, kind in enumerate(kinds, 1):
        columns: dict[str, Any] = {"id": [2 * number, 2 * number + 1]}
        if KINDS[kind] is not None:
            columns["c"] = pa.array(KINDS[kind](number), pa.int32())
        files.append(place / f"c={number}" / f"x.{ending}")
        write(files[-1], pa.table(columns))
    return files


def model(files: list[Path]) -> pa.Table:
    """The rows as the guide says: the first file (of JSON lines, any file) decides whose values count."""
    rows = [(number, read(file)) for number, file in enumerate(files, 1)]
    deciding = rows if files[0].suffix in (".jsonl", ".json") else rows[:1]
    is_own = any("c" in row for _, own in deciding for row in own)
    found = []
    for number, own in rows:
        has_column = is_own and any("c" in row for row in own)
        found += [{"id": row["id"], "c": row.get("c") if has_column else number} for row in own]
    return pa.Table.from_pylist(found, schema=pa.schema({"id": pa.int64(), "c": pa.int64()}))


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize("ending", ["parquet", "orc", "jsonl"])
def test_a_filter_finds_the_rows_of_a_scan(tmp_path: Path, ending: str) -> None:
    for at, kinds in enumerate(MIXTURES):
        place = tmp_path / str(at)
        expected = model(mixture(place, kinds, ending))
        columns = ["id", "c"]
        assert ordered(lr.scan(place, columns=columns).rows()) == ordered(
            zip(*expected.to_pydict().values(), strict=True)
        )
        connection = duckdb.connect()
        connection.register("expected", expected)
        for where in FILTERS:
            wanted = ordered(connection.sql(f"SELECT id, c FROM expected WHERE {where}").fetchall())
            assert ordered(lr.scan(place, columns=columns, where=where).rows()) == wanted, (kinds, where)
            ids = lr.scan(place, columns=["id"], where=where).to_arrow()["id"].to_pylist()
            assert sorted(ids) == sorted(row[0] for row in wanted), (kinds, where)
            assert lr.scan(place, where=where).count() == len(wanted), (kinds, where)


def test_text_with_a_header_is_refused_or_right(tmp_path: Path) -> None:
    for at, kinds in enumerate(MIXTURES):
        place = tmp_path / str(at)
        mixture(place, kinds, "csv")
        is_own = [kind != "none" for kind in kinds]
        is_mixed = len(set(is_own)) == 2
        if is_mixed:
            with pytest.raises(lr.InvalidInputError):
                lr.scan(place).to_arrow()
        own = {number: KINDS[kind](number) if KINDS[kind] else [number] * 2 for number, kind in enumerate(kinds, 1)}
        found = [(2 * number + row, value) for number, values in own.items() for row, value in enumerate(values)]
        for wanted in (1, 2, 3):
            scan = lr.scan(place, columns=["id", "c"], where=f"c = {wanted}")
            if is_mixed and (is_own[0] or is_own[wanted - 1]):
                with pytest.raises(lr.InvalidInputError):
                    scan.to_arrow()
            elif is_mixed:
                # The first file lacks the column, and so does the only one whose folder has the value.
                assert ordered(scan.rows()) == [(2 * wanted, wanted), (2 * wanted + 1, wanted)]
            else:
                assert ordered(scan.rows()) == ordered(row for row in found if row[1] == wanted), kinds


def test_a_column_that_is_not_read_is_told(tmp_path: Path) -> None:
    mixture(tmp_path / "t", ("none", "other", "none"), "parquet")
    with pytest.warns(lr.LakeraceWarning, match="the first file lacks"):
        lr.copy(tmp_path / "t", tmp_path / "out.parquet")
    assert "the first file lacks" in ok("scan", tmp_path / "t", "--format", "csv").err


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_only_the_first_file_is_opened_besides_those_that_are_read(tmp_path: Path, ending: str) -> None:
    def opened(where: str) -> int:
        return lr.scan(place, where=where).report()["requests"]["get"]

    place = tmp_path / "few"
    for number in range(2):
        write(place / f"c={number}" / f"x.{ending}", pa.table({"id": [number]}))
    few = opened("c = 0"), opened("c = 1")
    for number in range(2, 40):
        write(place / f"c={number}" / f"x.{ending}", pa.table({"id": [number]}))
    assert (opened("c = 0"), opened("c = 1"), opened("c = 39")) == (*few, few[1])
    assert few[1] == few[0] + 1


def test_own_values_and_folders_have_a_common_type(tmp_path: Path) -> None:
    place = tmp_path / "t"
    write(place / "c=1" / "x.parquet", pa.table({"id": [1], "c": pa.array([7], pa.int32())}))
    write(place / f"c={2**40}" / "x.parquet", pa.table({"id": [2]}))
    assert ordered(lr.scan(place, columns=["id", "c"]).rows()) == [(1, 7), (2, 2**40)]
    assert ordered(lr.scan(place, columns=["id"], where=f"c = {2**40}").rows()) == [(2,)]
    write(place / "c=x" / "x.parquet", pa.table({"id": [3]}))
    with pytest.raises(lr.InvalidInputError, match="in the names of folders"):
        lr.scan(place).to_arrow()


@pytest.mark.parametrize("text", ["x", "01", "1.5", "2024-02-29", '"', "true"])
def test_lines_of_a_file_without_a_column_have_the_text_of_its_folder(tmp_path: Path, text: str) -> None:
    (tmp_path / "t" / "k=0").mkdir(parents=True)
    (tmp_path / "t" / "k=0" / "a.jsonl").write_text('{"id":1,"k":"own"}\n{"id":2}\n{"id":3,"k":null}\n')
    (tmp_path / "t" / f"k={text}").mkdir()
    (tmp_path / "t" / f"k={text}" / "a.jsonl").write_text('{"id":4}\n{"id":5}\n')
    rows = [(1, "own"), (2, None), (3, None), (4, text), (5, text)]
    assert ordered(lr.scan(tmp_path / "t", columns=["id", "k"]).rows()) == rows
    for where in ("k IS NULL", "k <> 'own'", "k = 'own'"):
        kept = {"k IS NULL": rows[1:3], "k <> 'own'": rows[3:], "k = 'own'": rows[:1]}[where]
        assert ordered(lr.scan(tmp_path / "t", columns=["id", "k"], where=where).rows()) == kept


def test_a_value_of_a_folder_that_lines_can_not_have(tmp_path: Path) -> None:
    for name, line in (("k=1", '{"id":1,"k":1}\n'), ("k=x", '{"id":2}\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_text(line)
    with pytest.raises(lr.InvalidInputError, match="is not a value of type int64"):
        lr.scan(tmp_path).to_arrow()
    assert ordered(lr.scan(tmp_path, columns=["id", "k"], schema="id int64, k utf8").rows()) == [(1, "1"), (2, "x")]


@pytest.mark.parametrize(
    ("folder", "values", "condition"),
    [
        ("1.5", pa.array([1.5, 2.5]), "c = 1.5"),
        ("1.50", pa.array([Decimal("1.50"), Decimal("7.25")], pa.decimal128(9, 2)), "c > 2"),
        ("true", pa.array([True, False]), "NOT c"),
        ("1", pa.array([True, None]), "c"),
        ("a", pa.array([1, 5]), "c BETWEEN 2 AND 9"),
        ("1", pa.array(["01", "abc"]), "c LIKE '0%'"),
        ("2020-01-01", pa.array(["20210101", "x"]), "c = '20210101'"),
        (
            "2020-01-01 00%3A00%3A00",
            pa.array([datetime(2020, 1, 1), datetime(1970, 1, 1)]),
            "c < TIMESTAMP '1980-01-01 00:00:00'",
        ),
    ],
)
def test_a_filter_is_judged_by_the_type_in_the_files(
    tmp_path: Path, folder: str, values: pa.Array, condition: str
) -> None:
    """The name of a folder is a text, and the guess of its type may be another than the files have."""
    written = pa.table({"id": [1, 2], "c": values})
    write(tmp_path / "t" / f"c={folder}" / "a.parquet", written)
    expected = duckdb.sql(f"SELECT id FROM written WHERE {condition}").fetchall()
    assert expected
    rows = pa.table(lr.scan(str(tmp_path / "t"), where=condition)).to_pylist()
    assert [(row["id"],) for row in rows] == expected
    assert lr.scan(str(tmp_path / "t"), where=condition).count() == len(expected)


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_rows_of_files_with_metadata_are_counted(tmp_path: Path, suffix: str) -> None:
    """Such as pandas writes. A plan to count rows has no columns, and so no metadata."""
    table = pa.table({"id": [1, 2, 3]}).replace_schema_metadata({"pandas": "{}", "other": "x"})
    pq.write_table(table, tmp_path / "a.parquet")
    path = tmp_path / f"b.{suffix}"
    lr.copy(str(tmp_path / "a.parquet"), str(path))
    for source in [tmp_path / "a.parquet", path]:
        for condition, count in [("id > 1", 2), ("true", 3), ("id = 9", 0)]:
            assert lr.scan(str(source), where=condition).count() == count
            assert ok("scan", source, "--where", condition, "--count").out.split() == [str(count)]


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_a_condition_on_another_folder_column_leaves_the_right_file(tmp_path: Path, ending: str) -> None:
    """The column `c` is in the files, `land` in the names of folders alone."""
    for place in ["t", "u"]:
        parts = []
        for number, land in enumerate(["a", "b", "c"]):
            own = pa.table({"id": [number * 2, number * 2 + 1], "c": [number, 9] if place == "t" else [9, 9]})
            write(tmp_path / place / f"c={number}" / f"land={land}" / f"x.{ending}", own)
            parts.append(own.append_column("land", pa.array([land] * 2)))
        rows = pa.concat_tables(parts)  # noqa: F841 (duckdb finds it by its name)
        for where in ["c = 9 AND land = 'b'", "c = 9 AND land = 'a'", "land = 'c' AND c <> 9", "c = 7 AND land = 'b'"]:
            wanted = duckdb.sql(f"SELECT id FROM rows WHERE {where} ORDER BY id").fetchall()
            found = lr.scan(tmp_path / place, columns=["id"], where=where).to_arrow()["id"].to_pylist()
            assert sorted(found) == [row[0] for row in wanted], (place, where)
            assert lr.scan(tmp_path / place, where=where).count() == len(wanted), (place, where)


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_a_hidden_column_of_another_type_stops_no_read(tmp_path: Path, ending: str) -> None:
    """The first file lacks the column, so that the folders' numbers count, and not the texts in the second file."""
    write(tmp_path / "t" / "c=1" / f"a.{ending}", pa.table({"id": [1]}))
    write(tmp_path / "t" / "c=2" / f"b.{ending}", pa.table({"id": [2], "c": ["x"]}))
    assert sorted(lr.scan(tmp_path / "t", columns=["id", "c"]).rows()) == [(1, 1), (2, 2)]
    assert sorted(lr.scan(tmp_path / "t", columns=["id"]).rows()) == [(1,), (2,)]
    assert lr.scan(tmp_path / "t", columns=["id"], where="id = 2").count() == 1
