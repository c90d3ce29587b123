"""Workbooks at every door: sheets, options, targets, folders, pipes, stores, and files that are none."""

from __future__ import annotations

import decimal
import io
import random
import re
import struct
import subprocess
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import xlsxwriter
from conftest import TIMEOUT_SECONDS, command, ok, run
from workbooks import DAY, HEADER, ROWS, WRITERS, by_openpyxl, by_xlsxwriter, read_by_openpyxl

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import s3server


@pytest.fixture
def sheets(tmp_path: Path) -> Path:
    """A workbook with a hidden sheet, two that are shown, an empty one and a chart."""
    with xlsxwriter.Workbook(str(tmp_path / "sheets.xlsx")) as book:
        for name in ["Old", "Orders", "Items", "Notes"]:
            sheet = book.add_worksheet(name)
            if name != "Notes":
                sheet.write_row(0, 0, [name, "n"])
                sheet.write_row(1, 0, ["x", 1])
            if name == "Old":
                sheet.hide()
            if name == "Orders":
                sheet.activate()
                sheet.set_first_sheet()
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": "=Items!$B$2:$B$2"})
        book.add_chartsheet("Chart").set_chart(chart)
    return tmp_path / "sheets.xlsx"


def test_another_sheet_with_values_is_never_hidden(sheets: Path) -> None:
    with pytest.warns(
        lr.LakeraceWarning, match="only the first sheet, .Orders., is read; .Items. has values, too"
    ) as caught:
        table = lr.scan(sheets).to_arrow()
    assert len(caught) == 1
    assert table.schema.names == ["Orders", "n"]
    assert [tuple(row) for row in [table.schema.names]] == read_by_openpyxl(sheets, "Orders")[:1]
    done = ok("scan", sheets, "--count")
    assert "only the first sheet" in done.err
    assert "--sheet" in done.err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ["Orders", "Items", "items", "Old"]:
            assert lr.scan(sheets, sheet=name).to_arrow().schema.names[0].lower() == name.lower()
    assert ok("scan", sheets, "--sheet", "Items", "--count").err.count("sheet") == 0
    assert lr.schema(sheets, sheet="Items")["columns"][0]["name"] == "Items"


def test_unknown_sheets_list_those_that_exist(sheets: Path) -> None:
    with pytest.raises(
        lr.NotFoundError,
        match=r"there is no sheet .Order.*did you mean .Orders.*the sheets are .Old., .Orders., .Items., .Notes. and .Chart.",
    ):
        lr.scan(sheets, sheet="Order")
    with pytest.raises(lr.UsageError, match="has no cells"):
        lr.scan(sheets, sheet="Chart")
    with pytest.raises(lr.InvalidInputError, match="the sheet is empty"):
        lr.scan(sheets, sheet="Notes")


def test_an_empty_first_sheet_names_the_others(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(str(tmp_path / "a.xlsx")) as book:
        book.add_worksheet("Cover")
        book.add_worksheet("Data").write_row(0, 0, ["a"])
    with pytest.raises(
        lr.InvalidInputError, match=r"the first sheet, .Cover., is empty; .Data. has values.*sheet=.Data."
    ):
        lr.scan(tmp_path / "a.xlsx")


def test_options_that_do_not_apply_are_refused(sheets: Path, tmp_path: Path) -> None:
    given = {
        "delimiter": ";",
        "quote": "'",
        "escape": "\\",
        "infer_rows": 5,
        "comment": "#",
        "date_format": "%d",
        "timestamp_format": "%d",
        "decimal_comma": True,
        "encoding": "latin1",
        "timestamp_unit": "ms",
        "union_columns": True,
    }
    for name, value in given.items():
        with pytest.raises(lr.UsageError, match=f"{name}[^ ]* does not apply: this is a file in format excel"):
            lr.scan(sheets, sheet="Items", **{name: value})
    csv = tmp_path / "a.csv"
    csv.write_text("a\n1\n")
    lr.copy(csv, tmp_path / "a.parquet")
    for path in [csv, tmp_path / "a.parquet", tmp_path]:
        if path != tmp_path:
            for call in (lr.scan, lr.schema):
                with pytest.raises(lr.UsageError, match=r"sheet does not apply.*it applies to Excel"):
                    call(path, sheet="x")
    with pytest.raises(lr.UsageError, match="sheet does not apply"):
        lr.copy(csv, tmp_path / "b.csv", sheet="x")
    with pytest.raises(lr.UsageError, match="sheet does not apply"):
        lr.diff(csv, csv, key="a", sheet="x")
    with pytest.raises(lr.UsageError, match="sheet: only a location"):
        lr.copy(pa.table({"a": [1]}), tmp_path / "b.csv", sheet="x")
    assert "--sheet does not apply" in run("scan", csv, "--sheet", "x").err


def test_workbooks_are_never_written(tmp_path: Path, parquet: Path) -> None:
    target = by_openpyxl(tmp_path / "a.xlsx", [["v"], [1]])
    before = target.read_bytes()
    message = r"Excel files are read, and never written.*write CSV"
    calls: list[Callable[[], object]] = [
        lambda: lr.copy(parquet, target),
        lambda: lr.copy(parquet, target, mode="overwrite"),
        lambda: lr.copy(parquet, tmp_path / "b.xlsm"),
        lambda: lr.copy(parquet, tmp_path / "b.bin", output_format="excel"),  # type: ignore[arg-type]
        lambda: lr.copy(parquet, f"{tmp_path}/folder/", output_format="excel"),  # type: ignore[arg-type]
        lambda: lr.copy(parquet, f"{tmp_path}/folder/", output_format="excel", partition_by="id"),  # type: ignore[arg-type]
        lambda: lr.copy(parquet, f"{tmp_path}/folder/", output_format="excel", file_bytes=1000),  # type: ignore[arg-type]
        lambda: lr.copy(target, f"{tmp_path}/folder/"),
        lambda: lr.copy(parquet, target, mode="overwrite", dry_run=True),
        lambda: lr.copy(pa.table({"a": [1]}), tmp_path / "c.xlsx"),
        lambda: lr.copy(parquet, "s3://bucket/a.xlsx", storage_options={"aws_region": "x"}),
    ]
    for call in calls:
        with pytest.raises(lr.UsageError, match=message):
            call()
    for args in [
        ["copy", parquet, tmp_path / "c.xlsx"],
        ["scan", parquet, "-o", tmp_path / "c.xlsx"],
        ["copy", target, "-"],
    ]:
        done = run(*args)
        assert done.code == 2, done.err
        assert "Excel files are read, and never written" in done.err
    assert (
        "excel" not in run("copy", parquet, tmp_path / "c", "--output-format", "excel").err.split("possible values")[1]
    )
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xlsx"]


@pytest.mark.parametrize(
    "name", ["b.parquet", "b.orc", "b.csv", "b.tsv", "b.jsonl", "b.json", "b.arrow", "folder/", "delta:t"]
)
def test_copies_have_the_rows(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    header, rows = (HEADER[:5], [row[:5] for row in ROWS]) if name in ("b.orc", "delta:t") else (HEADER, ROWS)
    path = by_openpyxl(tmp_path / "a.xlsx", [header, *rows])
    expected = lr.checksum(lr.scan(path))
    options: dict[str, Any] = {"output_format": "parquet"} if name == "folder/" else {}
    assert lr.copy(path, name, verify=True, **options).rows == 3
    if name not in ("b.json", "b.jsonl", "b.csv", "b.tsv"):
        assert lr.checksum(lr.scan(name.removeprefix("delta:"))) == expected


def test_rows_become_those_of_a_table_with_other_types(tmp_path: Path) -> None:
    table = lr.Table(f"delta:{tmp_path}/t", key="id")
    schema = pa.schema([("id", pa.int32()), ("price", pa.decimal128(9, 2)), ("code", pa.string())])
    table.upsert(pa.table({"id": [1, 2], "price": [decimal.Decimal("1.00")] * 2, "code": ["a", "b"]}, schema=schema))
    path = by_openpyxl(tmp_path / "a.xlsx", [["id", "price", "code"], [2, 2.5, 7], [3, 3, "x"]])
    table.upsert(path)
    ok("upsert", tmp_path / "t", path, "--key", "id")
    found = sorted(lr.scan(tmp_path / "t").to_arrow().to_pylist(), key=lambda row: row["id"])
    assert [row["code"] for row in found] == ["a", "7", "x"]
    assert found[1]["price"] == decimal.Decimal("2.50")
    (tmp_path / "keys").mkdir()
    keys = by_openpyxl(tmp_path / "keys/k.xlsx", [["id"], [3]])
    ok("delete", tmp_path / "t", "--keys", keys, "--key", "id")
    assert lr.scan(tmp_path / "t").count() == 2


def test_rows_are_loaded_into_a_database(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [["id", "name"], *[[i, f"n{i}"] for i in range(500)]])
    assert lr.copy(path, f"sqlite:///{tmp_path}/a.db#rows", verify=True).rows == 500


def test_folders_and_globs_are_one_table(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"d/year={year}").mkdir(parents=True)
        for part in range(2):
            header = ["id", "x"] if part else ["x", "id"]
            by_openpyxl(tmp_path / f"d/year={year}/{part}.xlsx", [header, [year, year] if part else [part, year]])
    assert lr.scan(tmp_path / "d").count() == 4
    found = lr.scan(tmp_path / "d", where="year = 2024", columns=["id", "year"]).to_arrow().to_pydict()
    assert found == {"id": [2024, 2024], "year": [2024, 2024]}
    named = lr.scan(f"{tmp_path}/d/**/*.xlsx", file_name_column="file").to_arrow()
    assert [name.rpartition("/d/")[2] for name in named["file"].to_pylist()][:2] == [
        "year=2023/0.xlsx",
        "year=2023/1.xlsx",
    ]
    by_openpyxl(tmp_path / "d/year=2024/2.xlsx", [["id", "y"], [1, 2]])
    with pytest.raises(lr.InvalidInputError, match=r"2\.xlsx.*the header has a column .y."):
        lr.scan(tmp_path / "d").to_arrow()


def test_types_are_those_of_the_first_workbook_with_rows(tmp_path: Path) -> None:
    header = ["id", "price", "day", "name"]
    rows: list[list[Any]] = [[1, 1.5, DAY, "a"], [2, None, DAY, "b"]]
    (tmp_path / "d").mkdir()
    (tmp_path / "e").mkdir()
    for number, some in enumerate([[], [], rows, [[3, 4, DAY, "c"]]]):
        by_openpyxl(tmp_path / f"d/{number}.xlsx", [header, *some])
    scan = lr.scan(tmp_path / "d")
    expected = pa.table(
        {"id": [1, 2, 3], "price": [1.5, None, 4.0], "day": [DAY] * 3, "name": ["a", "b", "c"]},
        pa.schema([("id", pa.int64()), ("price", pa.float64()), ("day", pa.date32()), ("name", pa.string_view())]),
    )
    assert scan.to_arrow() == expected
    assert lr.scan(tmp_path / "d", where="price > 2").to_arrow()["id"].to_pylist() == [3]
    # Given types come first, and without any row all columns are texts.
    assert lr.scan(tmp_path / "d", schema="id utf8").to_arrow()["id"].to_pylist() == ["1", "2", "3"]
    by_openpyxl(tmp_path / "e/0.xlsx", [header])
    assert set(map(str, lr.scan(tmp_path / "e").to_arrow().schema.types)) == {"string_view"}


def test_a_pipe_is_read(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [HEADER, *ROWS])
    for options in [[], ["--input-format", "excel"]]:
        done = subprocess.run(
            command("copy", "-", "-", "--output-format", "csv", *options),
            input=path.read_bytes(),
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode().splitlines()[0] == ",".join(HEADER)
        assert len(done.stdout.splitlines()) == 4


def test_s3_takes_a_request(tmp_path: Path, s3: s3server.S3) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [HEADER, *ROWS])
    s3.put("excel/a.xlsx", path.read_bytes())
    url = s3.url("excel/a.xlsx")
    report = ok("scan", url, "--json", env=s3.env).json
    assert report["rows"] == 3
    assert sum(report["requests"][kind] for kind in ("get", "head", "list")) <= 2, report["requests"]
    scan = lr.scan(url, storage_options=s3.options)
    assert scan.to_arrow().equals(lr.scan(path).to_arrow())


def test_bytes_and_files_are_copied(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", [HEADER, *ROWS])
    expected = lr.checksum(lr.scan(path))
    with path.open("rb") as file:
        sources: list[Any] = [path.read_bytes(), io.BytesIO(path.read_bytes()), file]
        for at, source in enumerate(sources):
            lr.copy(source, tmp_path / f"{at}.parquet", format="excel")
            assert lr.checksum(tmp_path / f"{at}.parquet") == expected
    with pytest.raises(lr.CorruptDataError, match="the bytes"):
        lr.copy(path.read_bytes()[:-30], tmp_path / "x.parquet", format="excel")


def test_names_without_an_ending_are_known_by_their_content(tmp_path: Path) -> None:
    for write in WRITERS:
        path = write(tmp_path / "book", [HEADER, *ROWS])
        assert lr.scan(path).count() == 3
    # An archive of one file is still that file.
    with zipfile.ZipFile(tmp_path / "rows.csv.zip", "w") as archive:
        archive.writestr("rows.csv", "a\n1\n")
    (tmp_path / "zipped").write_bytes((tmp_path / "rows.csv.zip").read_bytes())
    assert lr.scan(tmp_path / "rows.csv.zip").count() == lr.scan(tmp_path / "zipped").count() == 1
    with zipfile.ZipFile(tmp_path / "book.zip", "w") as archive:
        archive.write(tmp_path / "book", "book.xlsx")
    with pytest.raises(lr.UnsupportedError, match="file is compressed as a whole"):
        lr.scan(tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    with pytest.raises(lr.InvalidInputError, match="no Excel workbook"):
        lr.scan(tmp_path / "a.docx")


def test_other_spreadsheets_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    (tmp_path / "b.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"))
    with zipfile.ZipFile(tmp_path / "c.xlsb", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/workbook.bin", "")
    with zipfile.ZipFile(tmp_path / "d.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", "")
    for name, message in {
        "a.xls": "save it as .xlsx",
        "b.xlsx": "password",
        "c.xlsb": "save it as .xlsx",
        "d.ods": "save it as .xlsx",
    }.items():
        with pytest.raises(lr.UnsupportedError, match=message):
            lr.scan(tmp_path / name)
    macros = by_openpyxl(tmp_path / "e.xlsm", [["v"], [1]])
    assert lr.scan(macros).count() == 1


def test_damaged_workbooks_are_errors(tmp_path: Path) -> None:
    whole = by_openpyxl(tmp_path / "a.xlsx", [HEADER, *ROWS]).read_bytes()
    dice = random.Random(1)
    damaged = tmp_path / "b.xlsx"
    kinds = (lr.CorruptDataError, lr.InvalidInputError, lr.UnsupportedError)
    for _ in range(60):
        damaged.write_bytes(whole[: dice.randrange(len(whole))])
        with pytest.raises(kinds, match=r"b.xlsx"):
            lr.scan(damaged)
    refused = 0
    for _ in range(200):
        changed = bytearray(whole)
        for _ in range(3):
            changed[dice.randrange(len(whole))] = dice.randrange(256)
        damaged.write_bytes(bytes(changed))
        try:
            lr.scan(damaged).to_arrow()
        except lr.Error as error:
            assert "panic" not in str(error)
            refused += 1
    assert refused > 100


def bomb(path: Path, sheet: bytes, times: int, stated: int | None = None) -> Path:
    """A workbook whose sheet has a text many times, and states another size."""
    by_openpyxl(path, [["v"], [1]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in parts.items():
            if not name.endswith("sheet1.xml"):
                archive.writestr(name, content)
        with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part:
            part.write(b"<worksheet><sheetData>")
            for _ in range(times):
                part.write(sheet)
    if stated is not None:
        data = bytearray(path.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        data[at + 24 : at + 28] = struct.pack("<I", stated)
        path.write_bytes(bytes(data))
    return path


def test_bombs_take_no_memory(tmp_path: Path) -> None:
    blanks = b" " * (1 << 20)
    stated = bomb(tmp_path / "a.xlsx", blanks, 1100)
    hidden = bomb(tmp_path / "b.xlsx", blanks, 1100, stated=1000)
    claimed = bomb(tmp_path / "c.xlsx", b"", 0, stated=0xFFFFFFF0)
    assert stated.stat().st_size < 4 << 20
    script = (
        "import resource, sys, lakerace as lr\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    lr.scan(sys.argv[1])\n"
        "except lr.Error as error:\n    print(type(error).__name__, error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    for path, expected in [
        (stated, "UnsupportedError.*more than 1024 MiB"),
        (hidden, "CorruptDataError.*sheet1.xml.*larger than its declared uncompressed size"),
        (claimed, "UnsupportedError.*more than 1024 MiB"),
    ]:
        done = subprocess.run(
            [command()[0], "-c", script, str(path)], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True
        )
        message, megabytes = done.stdout.splitlines()
        assert re.search(expected, message), message
        assert int(megabytes) < 100, done.stdout


def test_many_rows_come_in_batches(tmp_path: Path) -> None:
    rows = 150_000
    path = by_xlsxwriter(
        tmp_path / "a.xlsx", [["id", "s"], *[[i, f"text {i % 100}"] for i in range(rows)]], constant_memory=True
    )
    scan = lr.scan(path)
    assert scan.count() == rows
    table = scan.to_arrow()
    assert table["id"].to_pylist() == list(range(rows))
    assert table["s"].to_pylist()[-1] == f"text {(rows - 1) % 100}"
    assert len(table.to_batches()) > 1
    assert lr.scan(path, where="id >= 149990", columns=["s"], limit=3).count() == 3


def test_locks_of_office_are_no_workbooks(tmp_path: Path) -> None:
    by_xlsxwriter(tmp_path / "x.xlsx", [HEADER, *ROWS])
    (tmp_path / "below").mkdir()
    by_xlsxwriter(tmp_path / "below" / "y.xlsx", [HEADER, *ROWS])
    one = lr.scan(tmp_path / "x.xlsx").count()
    for lock in (tmp_path / "~$x.xlsx", tmp_path / "below" / "~$y.xlsx"):
        lock.write_bytes(b"\x03ann".ljust(165, b" "))
    assert lr.scan(tmp_path).count() == 2 * one
    assert lr.scan(str(tmp_path / "*.xlsx")).count() == one
    assert lr.scan(str(tmp_path / "**/*.xlsx")).count() == 2 * one
    assert ok("scan", f"{tmp_path}/", "--count").out.strip() == str(2 * one)
    # By its own name, it is asked for.
    for name in ("~$x.xlsx", "~$*.xlsx"):
        assert run("scan", tmp_path / name, "--count").code == 4
