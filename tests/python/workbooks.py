"""Workbooks for the tests: made by openpyxl and XlsxWriter, read by openpyxl and lakerace."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow as pa
import xlsxwriter

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

DAY = datetime.date(2024, 2, 29)
AT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000)
HEADER = ["id", "price", "ok", "day", "at", "clock", "name"]
ROWS: list[list[Any]] = [
    [1, 1.5, True, DAY, AT, datetime.time(6, 30), "Ann"],
    [2, -0.25, False, datetime.date(1900, 3, 1), AT.replace(year=1996), datetime.time(0, 0, 1), "naïve ☃"],
    [None, None, None, None, None, None, None],
    [-3, 1e300, None, datetime.date(9999, 12, 31), AT.replace(microsecond=0), None, " blanks "],
]
TYPES = [
    pa.int64(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.time64("us"),
    pa.string_view(),
]


def by_openpyxl(path: Path, rows: list[list[Any]], *, since_1904: bool = False) -> Path:
    book = openpyxl.Workbook()
    if since_1904:
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def by_xlsxwriter(path: Path, rows: list[list[Any]], *, since_1904: bool = False, **options: Any) -> Path:
    """A workbook whose moments have the formats that their kinds have in openpyxl."""
    with xlsxwriter.Workbook(str(path), {"date_1904": since_1904, **options}) as book:
        sheet = book.add_worksheet()
        formats = {
            datetime.date: book.add_format({"num_format": "yyyy-mm-dd"}),
            datetime.datetime: book.add_format({"num_format": "d mmm yyyy hh:mm:ss.000"}),
            datetime.time: book.add_format({"num_format": "h:mm AM/PM"}),
            datetime.timedelta: book.add_format({"num_format": "[h]:mm:ss"}),
        }
        for at, row in enumerate(rows):
            for column, value in enumerate(row):
                if type(value) in formats:
                    sheet.write_datetime(at, column, value, formats[type(value)])
                elif value is not None:
                    sheet.write(at, column, value)
    return path


WRITERS = [by_openpyxl, by_xlsxwriter]


def read_by_openpyxl(path: Path, sheet: str | None = None) -> list[tuple[Any, ...]]:
    """All rows but those that are empty."""
    book = openpyxl.load_workbook(path, data_only=True)
    found = book[sheet] if sheet else book.worksheets[0]
    return [row for row in found.iter_rows(values_only=True) if any(value is not None for value in row)]


def like_openpyxl(value: Any) -> Any:
    """A value as openpyxl gives it, which has no dates without a time."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def read(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    table = lr.scan(path, **options).to_arrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
