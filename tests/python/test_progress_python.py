"""`progress=True` in Python: a line on a terminal, a bar in a notebook, and nothing elsewhere."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS
from http_server import QuietHandler, serving

import lakerace as lr
from lakerace import _progress

#: Rows of the source, in this many row groups.
ROWS, ROW_GROUPS = 300_000, 3
#: A notebook's bar of a job that has read rows.
BAR = re.compile(r'<progress value="0\.\d+"></progress> <small>.* rows')


class Terminal(io.StringIO):
    """A text that says it is a terminal, and that knows when rows that have been read were shown."""

    def __init__(self, has_shown_rows: Event) -> None:
        super().__init__()
        self.has_shown_rows = has_shown_rows

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if re.search(r"[1-9]\d* %|[1-9][\d,]* rows|(?!0\.0 )\d+\.\d MB read", text):
            self.has_shown_rows.set()
        return super().write(text)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that do not come with the footer."""
    path: Path = tmp_path_factory.mktemp("source") / "rows.parquet"
    rows = pa.table({"id": range(ROWS), "text": [os.urandom(20).hex() for _ in range(ROWS)]})
    pq.write_table(rows, path, row_group_size=ROWS // ROW_GROUPS)
    return path


@pytest.fixture
def has_shown_rows() -> Event:
    """Set when rows that have been read were shown."""
    return Event()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, has_shown_rows: Event) -> Terminal:
    """Standard error as a terminal. pytest has one of its own."""
    made = Terminal(has_shown_rows)
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=made, modules=sys.modules))
    return made


@pytest.fixture
def held(source: Path, has_shown_rows: Event) -> Iterator[tuple[str, int]]:
    """The address of the source, which keeps its last row group back until rows are shown, and bytes of requests."""
    data = source.read_bytes()
    column = pq.ParquetFile(source).metadata.row_group(ROW_GROUPS - 1).column(0)
    kept_back = column.dictionary_page_offset or column.data_page_offset

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            first, end = self.asked_range(len(data)) or (0, len(data))
            if first <= kept_back < end - 1:
                assert has_shown_rows.wait(TIMEOUT_SECONDS)
            self.send(206, data[first:end], {"Content-Range": f"bytes {first}-{end - 1}/{len(data)}", "ETag": '"tag"'})

        do_HEAD = do_GET

    with serving(Handler) as address:
        yield f"{address}/rows.parquet", kept_back // (ROW_GROUPS - 1)


def percentages(shown: str) -> list[int]:
    """The percentages of a line that never goes back, never says that all is done, and is gone in the end."""
    found = [int(number) for number in re.findall(r"(\d+) %", shown)]
    assert found == sorted(found)
    assert all(number < 100 for number in found)
    assert shown.endswith("\r\x1b[K")
    return found


def test_a_copy(held: tuple[str, int], tmp_path: Path, terminal: Terminal) -> None:
    url, request_size = held
    copied = lr.copy(url, tmp_path / "x.parquet", threads=1, max_request_size=request_size, progress=True)
    assert copied.rows == ROWS
    assert percentages(terminal.getvalue())
    assert "MB read" in terminal.getvalue()


def test_a_copy_of_a_scan(held: tuple[str, int], tmp_path: Path, terminal: Terminal) -> None:
    """The rows of a scan count, though it has been opened before."""
    url, request_size = held
    scan = lr.scan(url, threads=1, max_request_size=request_size)
    lr.copy(scan, tmp_path / "x.parquet", threads=1, progress=True)
    assert " rows " in terminal.getvalue()
    assert percentages(terminal.getvalue())


def test_an_upsert(held: tuple[str, int], tmp_path: Path, terminal: Terminal) -> None:
    url, request_size = held
    scan = lr.scan(url, threads=1, max_request_size=request_size)
    table = lr.Table(f"delta:{tmp_path / 't'}", key="id")
    assert table.upsert(scan, progress=True).rows == ROWS
    assert "MB read" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_scan(held: tuple[str, int], terminal: Terminal) -> None:
    url, request_size = held
    scan = lr.scan(url, threads=1, max_request_size=request_size, progress=True)
    assert terminal.getvalue() == ""
    assert scan.to_arrow().num_rows == ROWS
    assert percentages(terminal.getvalue())
    assert scan.report()["rows"] == ROWS


def test_an_error_leaves_no_line(tmp_path: Path, terminal: Terminal) -> None:
    with pytest.raises(lr.NotFoundError):
        lr.copy(tmp_path / "nosuch.parquet", tmp_path / "x.parquet", progress=True)
    assert terminal.getvalue().rpartition("\x1b[K")[2] == ""


def test_nothing_is_drawn_elsewhere(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lr.copy(source, tmp_path / "x.parquet", progress=True)
    lr.scan(source, progress=True).to_arrow()
    assert capsys.readouterr() == ("", "")


def test_nothing_is_drawn_unless_asked_for(source: Path, tmp_path: Path, terminal: Terminal) -> None:
    lr.copy(source, tmp_path / "x.parquet")
    lr.scan(source).to_arrow()
    assert terminal.getvalue() == ""


def test_a_notebook(
    held: tuple[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_shown_rows: Event
) -> None:
    """A bar is made, updated and removed by the calls of IPython's display."""
    shown: list[str] = []
    url, request_size = held

    def update(html: str) -> None:
        shown.append(html)
        if BAR.search(html):
            has_shown_rows.set()

    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    handle = SimpleNamespace(update=update)
    modules: dict[ModuleType, dict[str, Any]] = {
        ipython: {"get_ipython": lambda: SimpleNamespace(config={"IPKernelApp": {}}), "display": display},
        display: {"HTML": str, "display": lambda html, display_id: (shown.append(html), handle)[1]},
    }
    for module, names in modules.items():
        for name, value in names.items():
            setattr(module, name, value)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    lr.copy(url, tmp_path / "x.parquet", threads=1, max_request_size=request_size, progress=True)
    assert shown[0].startswith("<progress>")
    assert any(BAR.search(html) for html in shown)
    assert shown[-1] == ""


def test_texts() -> None:
    assert _progress.progress_text(None, 1, 1_500_000, 0) == "1 row  1.5 MB read"
    assert _progress.progress_text(1.0, 5000, 2_000_000, 500_000) == " 99 %  5,000 rows  2.0 MB read  0.5 MB written"
