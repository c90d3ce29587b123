"""`progress=True` in Python: a line on a terminal, a bar in a notebook, and nothing elsewhere."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr
from lakerace import _progress


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that take a second or more to compress at a high level."""
    path: Path = tmp_path_factory.mktemp("source") / "rows.parquet"
    ids = pa.array(range(300_000))
    pq.write_table(pa.table({"id": ids, "text": [os.urandom(20).hex() for _ in range(300_000)]}), path)
    return path


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal. pytest has one of its own."""
    made = Terminal()
    monkeypatch.setattr(_progress, "sys", SimpleNamespace(stderr=made, modules=sys.modules))
    return made


def percentages(shown: str) -> list[int]:
    """The percentages of a line that never goes back, never says that all is done, and is gone in the end."""
    found = [int(number) for number in re.findall(r"(\d+) %", shown)]
    assert found == sorted(found)
    assert all(number < 100 for number in found)
    assert shown.endswith("\r\x1b[K")
    return found


def test_a_copy(source: Path, tmp_path: Path, terminal: Terminal) -> None:
    copied = lr.copy(source, tmp_path / "x.parquet", compression="zstd:19", threads=1, progress=True)
    assert copied.rows == 300_000
    assert percentages(terminal.getvalue())
    assert "MB read" in terminal.getvalue()


def test_a_copy_of_a_scan(source: Path, tmp_path: Path, terminal: Terminal) -> None:
    """The rows of a scan count, though it has been opened before."""
    lr.copy(lr.scan(source), tmp_path / "x.parquet", compression="zstd:19", threads=1, progress=True)
    assert " rows " in terminal.getvalue()
    assert percentages(terminal.getvalue())


def test_an_upsert(source: Path, tmp_path: Path, terminal: Terminal) -> None:
    table = lr.Table(f"delta:{tmp_path / 't'}", key="id")
    assert table.upsert(source, progress=True).rows == 300_000
    assert "MB read" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_scan(terminal: Terminal) -> None:
    scan = lr.scan("tpch:orders?sf=0.2", progress=True)
    assert terminal.getvalue() == ""
    rows = scan.to_arrow().num_rows
    assert rows == 300_000
    assert percentages(terminal.getvalue())
    assert scan.report()["rows"] == rows


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


def test_a_notebook(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar is made, updated and removed by the calls of IPython's display."""
    shown: list[str] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    handle = SimpleNamespace(update=shown.append)
    modules: dict[ModuleType, dict[str, Any]] = {
        ipython: {"get_ipython": lambda: SimpleNamespace(config={"IPKernelApp": {}}), "display": display},
        display: {"HTML": str, "display": lambda html, display_id: (shown.append(html), handle)[1]},
    }
    for module, names in modules.items():
        for name, value in names.items():
            setattr(module, name, value)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    lr.copy(source, tmp_path / "x.parquet", compression="zstd:19", threads=1, progress=True)
    assert shown[0].startswith("<progress>")
    assert any(re.search(r'<progress value="0\.\d+"></progress> <small>.* rows', html) for html in shown)
    assert shown[-1] == ""


def test_texts() -> None:
    assert _progress.progress_text(None, 1, 1_500_000, 0) == "1 row  1.5 MB read"
    assert _progress.progress_text(1.0, 5000, 2_000_000, 500_000) == " 99 %  5,000 rows  2.0 MB read  0.5 MB written"
