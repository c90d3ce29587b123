"""Workbooks of openpyxl, XlsxWriter, polars and pandas, judged by what openpyxl reads."""

from __future__ import annotations

import datetime
import decimal
import random
from typing import TYPE_CHECKING, Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter
from conftest import run
from openpyxl.styles import Font
from workbooks import (
    AT,
    DAY,
    HEADER,
    ROWS,
    TYPES,
    WRITERS,
    by_openpyxl,
    by_xlsxwriter,
    like_openpyxl,
    read,
    read_by_openpyxl,
)

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("since_1904", [False, True])
def test_values_are_those_that_openpyxl_reads(tmp_path: Path, write: Callable[..., Path], since_1904: bool) -> None:
    rows = [row for row in ROWS if not since_1904 or row[3] is None or row[3].year > 1904]
    path = write(tmp_path / "a.xlsx", [HEADER, *rows], since_1904=since_1904)
    table = lr.scan(path).to_arrow()
    assert table.schema.names == HEADER
    assert table.schema.types == TYPES
    header, *expected = read_by_openpyxl(path)
    assert list(header) == HEADER
    found = read(path)
    assert [tuple(map(like_openpyxl, row)) for row in found] == expected
    assert found == [tuple(row) for row in rows if any(value is not None for value in row)]


@pytest.mark.parametrize("seed", range(5))
def test_random_sheets_are_those_that_openpyxl_reads(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    kinds: list[Callable[[], Any]] = [
        lambda: dice.randint(-(2**53) + 1, 2**53 - 1),
        lambda: dice.uniform(-1e9, 1e9),
        lambda: dice.random() < 0.5,
        lambda: DAY + datetime.timedelta(days=dice.randint(-40_000, 40_000) % 40_000),
        lambda: AT.replace(microsecond=0) + datetime.timedelta(milliseconds=dice.randint(0, 10**12)),
        lambda: "".join(dice.choices("ab&<>\"'é☃ \t", k=dice.randint(1, 30))) + "z",
    ]
    kept = dice.sample(kinds, 4)
    rows = [[kind() if dice.random() < 0.8 else None for kind in kept] for _ in range(dice.randint(1, 300))]
    rows.append([kind() for kind in kept])
    write = dice.choice(WRITERS)
    path = write(tmp_path / "a.xlsx", [list("abcd"), *rows])
    expected = read_by_openpyxl(path)[1:]
    assert [tuple(map(like_openpyxl, row)) for row in read(path)] == expected
    assert read(path, batch_rows=7) == read(path)
    assert lr.scan(path, where="a is not null").count() == sum(row[0] is not None for row in expected)


def test_frames_of_polars_and_pandas_come_back(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "x": [0.5, None], "day": [DAY, None], "at": [None, AT], "s": ["a", "b"]})
    frame.write_excel(tmp_path / "polars.xlsx")
    assert lr.scan(tmp_path / "polars.xlsx").to_polars().equals(frame)
    data = pd.DataFrame(
        {"id": [1, 2], "x": [0.5, 1.5], "s": ["a", "b"], "at": pd.to_datetime(["2024-02-29 12:00", "2020-01-01 01:00"])}
    )
    data.to_excel(tmp_path / "pandas.xlsx", index=False)
    found = lr.scan(tmp_path / "pandas.xlsx").to_pandas()
    expected = pd.read_excel(tmp_path / "pandas.xlsx")
    assert found.astype(str).equals(expected.astype(str))


def test_whole_numbers_are_never_rounded_silently(tmp_path: Path) -> None:
    exact = by_openpyxl(tmp_path / "a.xlsx", [["n"], [2**53 - 1], [-(2**53) + 1], [0]])
    assert lr.scan(exact).to_arrow().to_pydict() == {"n": [2**53 - 1, -(2**53) + 1, 0]}
    rounded = by_openpyxl(tmp_path / "b.xlsx", [["n"], [1], [2**53 + 1]])
    with pytest.warns(lr.LakeraceWarning, match=r"sheet .Sheet.*column .n. has numbers of 2\^53 and more"):
        table = lr.scan(rounded).to_arrow()
    assert table.schema.types == [pa.float64()]
    with pytest.raises(lr.InvalidInputError, match=r"cell A3.*may be rounded"):
        lr.scan(rounded, schema="n int64").to_arrow()
    # Doubles of any size are no identifiers.
    floats = by_openpyxl(tmp_path / "d.xlsx", [["x", "y"], [1e300, 2.0**60], [-1e300, 0.5]])
    assert read(floats) == [(1e300, 2.0**60), (-1e300, 0.5)]
    text = by_openpyxl(tmp_path / "c.xlsx", [["n"], [str(2**63)], ["007"]])
    assert lr.scan(text).to_arrow().to_pydict() == {"n": [str(2**63), "007"]}


def test_durations_are_texts_and_times_past_midnight_are_kept(tmp_path: Path) -> None:
    hours = [datetime.timedelta(hours=26, minutes=30), datetime.timedelta(seconds=0.25)]
    path = by_openpyxl(tmp_path / "a.xlsx", [["long"], *[[value] for value in hours]])
    assert lr.scan(path).to_arrow().to_pydict() == {"long": ["26:30:00", "00:00:00.250"]}
    with xlsxwriter.Workbook(str(tmp_path / "b.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["day", "clock"])
        # What a format does not show is not lost.
        sheet.write_number(1, 0, 45351.75, book.add_format({"num_format": "yyyy-mm-dd"}))
        sheet.write_number(1, 1, 45351.75, book.add_format({"num_format": "h:mm"}))
    evening = datetime.datetime(2024, 2, 29, 18)
    assert read(tmp_path / "b.xlsx") == [(evening, evening)]


def test_dates_that_never_were_are_bad_rows(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(str(tmp_path / "a.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "day")
        for row, serial in enumerate([59, 60, 61, -1, 2958466], 1):
            sheet.write_number(row, 0, serial, book.add_format({"num_format": "yyyy-mm-dd"}))
    with pytest.raises(lr.InvalidInputError, match=r"cell A3.*the number 60, which is no date"):
        lr.scan(tmp_path / "a.xlsx").to_arrow()
    found = lr.scan(tmp_path / "a.xlsx", on_bad_row="null").to_arrow().to_pydict()
    assert found == {"day": [datetime.date(1900, 2, 28), None, datetime.date(1900, 3, 1), None, None]}


ERRORS = ["#N/A", "#DIV/0!", "#REF!", "#NAME?", "#NULL!", "#NUM!", "#VALUE!"]


@pytest.mark.parametrize("error", ERRORS)
def test_errors_are_bad_rows_with_their_cell(tmp_path: Path, error: str) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["id", "x"], [1, 2.5], [2, error], [3, 1]])
    with pytest.raises(
        lr.InvalidInputError, match=r"sheet .Sheet., cell B3, column .x.*the cell has the error"
    ) as raised:
        lr.scan(path).to_arrow()
    assert error in str(raised.value)
    assert read(path, on_bad_row="null") == [(1, 2.5), (2, None), (3, 1.0)]
    assert read(path, on_bad_row="skip") == [(1, 2.5), (3, 1.0)]
    assert read(path, null_strings=["", error]) == [(1, 2.5), (2, None), (3, 1.0)]
    # Neither the column nor the row is asked for.
    assert read(path, columns=["id"]) == [(1,), (2,), (3,)]
    assert read(path, limit=1) == [(1, 2.5)]
    done = run("scan", path, "--json")
    assert done.error["exit_code"] == 4 or done.code != 0
    assert "--on-bad-row" in done.err


def test_formulas_have_their_stored_values(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(str(tmp_path / "a.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["n", "s", "e"])
        for row in range(1, 4):
            sheet.write_formula(row, 0, f"=1+{row}", None, row + 1)
            sheet.write_formula(row, 1, '="x"', None, "x")
            sheet.write_formula(row, 2, "=TRUE", None, True)
    expected = read_by_openpyxl(tmp_path / "a.xlsx")[1:]
    found = read(tmp_path / "a.xlsx")
    assert [row[0] for row in found] == [row[0] for row in expected] == [2, 3, 4]
    assert [row[1:] for row in found] == [("x", True)] * 3
    # openpyxl calculates nothing: to read nulls would lose what Excel shows.
    path = by_openpyxl(tmp_path / "b.xlsx", [["id", "n"], [1, "=A2+1"], [2, 5]])
    with pytest.raises(lr.InvalidInputError, match=r"cell B2.*a formula without a stored value"):
        lr.scan(path).to_arrow()
    assert read(path, on_bad_row="null") == [(1, None), (2, 5)]
    assert read_by_openpyxl(path)[1:] == [(1, None), (2, 5)]


def test_columns_of_several_kinds_are_texts(tmp_path: Path) -> None:
    path = by_openpyxl(
        tmp_path / "a.xlsx",
        [["v", "w"], [1, 1], [2.5, "x"], ["x", 2], [True, None], [DAY, 3], [AT, None], [datetime.time(1, 2, 3), None]],
    )
    expected = ["1", "2.5", "x", "true", "2024-02-29", "2024-02-29T12:30:15.250", "01:02:03"]
    assert lr.scan(path).to_arrow().to_pydict() == {"v": expected, "w": ["1", "x", "2", None, "3", None, None]}


def test_merged_cells_have_one_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["a", "b", "c"], [1, 2, 3], [4, 5, 6]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.active.merge_cells("B2:C2")
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx") == read_by_openpyxl(tmp_path / "a.xlsx")[1:] == [(1, 2, None), (None, 5, 6)]


def test_texts_are_shared_inline_and_rich(tmp_path: Path) -> None:
    texts = ["a", "  two  ", "line\nend", "<&>\"'", "é☃😀", "x" * 32_767]
    rows = [[text, text] for text in texts]
    path = by_openpyxl(tmp_path / "a.xlsx", [["s", "t"], *rows])
    assert read(path) == read_by_openpyxl(path)[1:]
    inline = by_xlsxwriter(tmp_path / "b.xlsx", [["s", "t"], *rows], constant_memory=True)
    assert read(inline) == [tuple(row) for row in rows] == read_by_openpyxl(inline)[1:]
    # openpyxl leaves the escapes of Excel as they are.
    escaped = by_xlsxwriter(tmp_path / "d.xlsx", [["s"], ["_x0041_"], ["a\x01b"]])
    assert read(escaped) == [("_x0041_",), ("a\x01b",)]
    with xlsxwriter.Workbook(str(tmp_path / "c.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "rich")
        sheet.write_rich_string(1, 0, "plain ", book.add_format({"bold": True}), "bold", " end")
    assert read(tmp_path / "c.xlsx") == [("plain bold end",)]


def test_empty_rows_and_columns_are_left_out(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for cell, value in {"C4": "id", "E4": "name", "C6": 1, "D6": "x", "E6": "a", "C9": 2}.items():
        sheet[cell] = value
    # Formats alone are no values.
    sheet["A1"].font = sheet["K30"].font = Font(bold=True)
    book.save(tmp_path / "a.xlsx")
    table = lr.scan(tmp_path / "a.xlsx").to_arrow()
    assert table.to_pydict() == {"id": [1, 2], "column_4": ["x", None], "name": ["a", None]}
    one = by_openpyxl(tmp_path / "b.xlsx", [["v"], [1], [None], [2]])
    assert lr.scan(one).to_arrow().to_pydict() == {"v": [1, None, 2]}


def test_empty_rows_below_the_header_of_one_column_are_nulls_as_in_csv(tmp_path: Path) -> None:
    for rows in [
        [["v"], [None], [None], ["y"], [None], ["z"]],
        [["v"], ["y"]],
        [["v"], [None], ["y"]],
        [[], ["v"], [None], ["y"]],
    ]:
        path = by_openpyxl(tmp_path / "a.xlsx", rows)
        header = rows.index(["v"])
        (tmp_path / "a.csv").write_text("".join(f"{row[0] or ''}\n" for row in rows[header:]))
        found = read(path)
        assert found == read(tmp_path / "a.csv")
        assert found == list(openpyxl.load_workbook(path).active.iter_rows(min_row=header + 2, values_only=True))
        assert found == [tuple(row) for row in rows[header + 1 :]]
    # An error after an empty row names its cell.
    path = by_openpyxl(tmp_path / "b.xlsx", [["v"], [None], [1], ["#N/A"]])
    with pytest.raises(lr.InvalidInputError, match="cell A4"):
        lr.scan(path).to_arrow()


def test_headers_are_named_as_in_csv(tmp_path: Path) -> None:
    header = ["id", "id", None, "id_2", 2024, True, DAY, " "]
    path = by_openpyxl(tmp_path / "a.xlsx", [header, list(range(8))])
    names = lr.scan(path).to_arrow().schema.names
    (tmp_path / "a.csv").write_text("id,id,,id_2,2024,true,2024-02-29, \n0,1,2,3,4,5,6,7\n")
    assert names == lr.scan(tmp_path / "a.csv").to_arrow().schema.names
    with pytest.raises(lr.InvalidInputError, match=r"cell B1.*the name of a column is the error #N/A"):
        lr.scan(by_openpyxl(tmp_path / "b.xlsx", [["a", "#N/A"], [1, 2]]))


def test_rows_without_a_header_and_after_a_title(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["Sales of 2024"], [], ["id", "x"], [1, 2.5], [2, 3]])
    assert lr.scan(path, skip_rows=2).to_arrow().to_pydict() == {"id": [1, 2], "x": [2.5, 3.0]}
    bare = lr.scan(path, skip_rows=3, header=False).to_arrow()
    assert bare.to_pydict() == {"column_1": [1, 2], "column_2": [2.5, 3.0]}
    typed = lr.scan(path, skip_rows=3, header=False, schema="a int32 not null, b decimal(5,2), c utf8").to_arrow()
    assert typed.to_pydict() == {"a": [1, 2], "b": [decimal.Decimal("2.50"), decimal.Decimal("3.00")], "c": [None] * 2}
    with pytest.raises(lr.InvalidInputError, match="column B has values"):
        lr.scan(path, skip_rows=3, header=False, schema="a int32")
    with pytest.raises(lr.InvalidInputError, match="the sheet is empty"):
        lr.scan(path, skip_rows=30)


def test_a_schema_gives_types(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["id", "code", "v"], ["1", 7, 1.5], ["2", 8, None]])
    table = lr.scan(path, schema="id int64, code utf8").to_arrow()
    assert table.to_pydict() == {"id": [1, 2], "code": ["7", "8"], "v": [1.5, None]}
    with pytest.raises(lr.InvalidInputError, match=r"cell C2, column .v.*\"1.5\" is not a value of type int64"):
        lr.scan(path, schema="v int64").to_arrow()
    with pytest.raises(lr.InvalidInputError, match=r"cell C3.*not null"):
        lr.scan(path, schema="v float64 not null").to_arrow()
    with pytest.raises(lr.NotFoundError, match=r"there is no column .nmae"):
        lr.scan(path, schema="nmae utf8")
    with pytest.raises(lr.UnsupportedError, match="can't be list"):
        lr.scan(path, schema="v list(int64)")
