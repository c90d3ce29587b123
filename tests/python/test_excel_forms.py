"""Workbooks in rarer forms: moments in ISO 8601, odd numbers and other encodings, judged by openpyxl and pandas."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from typing import TYPE_CHECKING, Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from workbooks import AT, DAY, HEADER, ROWS, TYPES, by_openpyxl, by_xlsxwriter, read, read_by_openpyxl

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def change_parts(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """The workbook with other contents of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))
    return path


def with_values(path: Path, values: dict[str, str]) -> Path:
    """The workbook with other elements of cells in its first sheet, by the cells' names."""

    def change(name: str, content: bytes) -> bytes:
        if not name.endswith("sheet1.xml"):
            return content
        text = content.decode()
        for cell, element in values.items():
            text, changed = re.subn(rf'<c r="{cell}".*?</c>', lambda _, element=element: element, text, count=1)
            assert changed == 1, cell
        return text.encode()

    return change_parts(path, change)


def iso_workbook(path: Path, rows: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.iso_dates = True
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_moments_in_iso_8601_are_those_of_openpyxl(tmp_path: Path) -> None:
    path = iso_workbook(tmp_path / "a.xlsx", [HEADER, *ROWS])
    with zipfile.ZipFile(path) as archive:
        assert archive.read("xl/worksheets/sheet1.xml").count(b't="d"') == 8
    table = lr.scan(path).to_arrow()
    assert table.schema.types == TYPES
    assert read(path) == read_by_openpyxl(path)[1:] == [tuple(row) for row in ROWS if any(row)]
    # The same values as numbers with formats.
    assert lr.checksum(path) == lr.checksum(by_openpyxl(tmp_path / "b.xlsx", [HEADER, *ROWS]))


def test_other_moments_in_iso_8601(tmp_path: Path) -> None:
    rows = [["day", "at", "long"], [DAY, AT, datetime.timedelta(hours=26, minutes=30)]]
    path = iso_workbook(tmp_path / "a.xlsx", rows)
    assert read(path) == [(DAY, AT, "26:30:00")]
    values = {
        "A2": '<c r="A2" t="d"><v>2024-02-29</v></c>',
        "B2": '<c r="B2" t="d"><v>2024-02-29T12:34:56.789Z</v></c>',
    }
    with_values(path, values)
    at = datetime.datetime(2024, 2, 29, 12, 34, 56, 789_000)
    assert read(path)[0][:2] == read_by_openpyxl(path)[1][:2] == (DAY, at)
    for text in ["2024-02-30", "x", "2024-02-29T12:00:00+02:00", "25:00:00"]:
        with_values(path, {"B2": f'<c r="B2" t="d"><v>{text}</v></c>'})
        with pytest.raises(lr.InvalidInputError, match=r"cell B2, column .at.*none of ISO 8601") as raised:
            lr.scan(path).to_arrow()
        assert text in str(raised.value)
        assert read(path, on_bad_row="null") == [(DAY, None, "26:30:00")]
        assert read(path, null_strings=[text]) == [(DAY, None, "26:30:00")]


@pytest.mark.parametrize("attribute", ["", ' t="n"'])
@pytest.mark.parametrize("style", ["", ' s="1"'])
@pytest.mark.parametrize("text", ["NaN", "INF", "-INF", "1e999", "0x10", "1,5", "1 000", "seven"])
def test_numbers_that_are_none_are_bad_cells(tmp_path: Path, text: str, style: str, attribute: str) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["n", "day"], [1, DAY], [2, DAY]])
    with_values(path, {"A2": f'<c r="A2"{style}{attribute}><v>{text}</v></c>'})
    with pytest.raises(lr.InvalidInputError, match=r"cell A2, column .n.*is not finite, or none") as raised:
        lr.scan(path).to_arrow()
    assert text in str(raised.value)
    table = lr.scan(path, on_bad_row="null").to_arrow()
    assert table.to_pydict() == {"n": [None, 2], "day": [DAY, DAY]}
    assert table.schema.types == [pa.int64(), pa.date32()]
    assert read(path, null_strings=[text]) == [(None, DAY), (2, DAY)]
    if not style and text != "1e999":
        with pytest.raises(ValueError, match="could not read worksheets"):
            openpyxl.load_workbook(io.BytesIO(path.read_bytes()))


def test_numbers_lose_blanks_and_texts_keep_them(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["n", "s"], *[[i, "x"] for i in range(5)]])
    cells = [
        "<v> 7 </v>",
        '<v xml:space="preserve">\n8</v>',
        "<v>&#57;</v>",
        "<v>+10</v>",
        "<v><![CDATA[11]]></v>",
    ]
    texts = [" 7 ", "0x10", "NaN", "1e999", "INF"]
    values = {f"A{at}": f'<c r="A{at}">{cell}</c>' for at, cell in enumerate(cells, 2)}
    values |= {f"B{at}": f'<c r="B{at}" t="str"><v>{text}</v></c>' for at, text in enumerate(texts, 2)}
    with_values(path, values)
    assert read(path) == read_by_openpyxl(path)[1:] == list(zip([7, 8, 9, 10, 11], texts, strict=True))
    assert lr.scan(path).to_arrow()["n"].to_pylist() == pd.read_excel(path)["n"].tolist()
    assert lr.scan(path, columns=["n"]).to_arrow().schema.types == [pa.int64()]


@pytest.mark.parametrize("write", [by_openpyxl, by_xlsxwriter])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "iso-8859-1", "windows-1252", "us-ascii"])
def test_parts_in_other_encodings_are_read(tmp_path: Path, write: Callable[..., Path], encoding: str) -> None:
    rows = [["id", "naïve"], [1, "é" * 50], [2, "ÿ€" if encoding.startswith(("utf", "win")) else "ÿ"]]
    path = write(tmp_path / "a.xlsx", rows)

    def encode(_: str, content: bytes) -> bytes:
        text = re.sub(r"<\?xml.*?\?>\s*", "", content.decode())
        declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-be")}"?>{text}'
        mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
        return mark + declared.encode(encoding, "xmlcharrefreplace")

    change_parts(path, encode)
    assert read(path) == read_by_openpyxl(path)[1:] == [tuple(row) for row in rows[1:]]
    assert lr.scan(path).to_arrow().schema.names == rows[0] == list(pd.read_excel(path).columns)
    if encoding == "utf-16":
        return
    unknown = change_parts(path, lambda _, content: re.sub(rb'encoding=".*?"', b'encoding="EBCDIC-X"', content))
    if encoding != "utf-16-be":
        with pytest.raises(lr.UnsupportedError, match=r"has the encoding .EBCDIC-X.*save it as .xlsx"):
            lr.scan(unknown)
