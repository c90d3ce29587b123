"""The progress line: on a terminal only, with a percentage where the plan knows the whole."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from threading import Event
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, run
from http_server import QuietHandler, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


#: Rows of the source, in this many row groups.
ROWS, ROW_GROUPS = 300_000, 3


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that do not come with the footer."""
    path: Path = tmp_path_factory.mktemp("source") / "rows.parquet"
    texts = [os.urandom(20).hex() for _ in range(ROWS)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=ROWS // ROW_GROUPS)
    return path


def on_a_terminal(*args: object, watch: Callable[[bytes], None] = lambda _: None) -> str:
    """What the command shows on stderr, a terminal. Whatever has been shown is given to `watch`, time and again."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command(*args), stdout=subprocess.DEVNULL, stderr=its, stdin=subprocess.DEVNULL)
    os.close(its)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
            watch(shown)
    except OSError:
        pass  # Linux says so when the other side is closed
    finally:
        os.close(ours)
    assert process.wait(timeout=TIMEOUT_SECONDS) == 0, shown
    return shown.decode()


def percentages(shown: bytes) -> list[int]:
    """The percentages that were shown, in order."""
    return [int(number) for number in re.findall(rb"(\d+) %", shown)]


def test_a_copy_shows_how_far_it_is(source: Path, tmp_path: Path) -> None:
    """The source keeps its last row group back until the terminal shows a percentage above zero, made by the others."""
    data, is_shown = source.read_bytes(), Event()
    column = pq.ParquetFile(source).metadata.row_group(ROW_GROUPS - 1).column(0)
    kept_back = column.dictionary_page_offset or column.data_page_offset

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            first, end = self.asked_range(len(data)) or (0, len(data))
            if first <= kept_back < end - 1:
                assert is_shown.wait(TIMEOUT_SECONDS)
            self.send(206, data[first:end], {"Content-Range": f"bytes {first}-{end - 1}/{len(data)}", "ETag": '"tag"'})

        do_HEAD = do_GET

    def watch(shown: bytes) -> None:
        if any(percentages(shown)):
            is_shown.set()

    with serving(Handler) as address:
        request_size = kept_back // (ROW_GROUPS - 1)
        arguments = (f"{address}/rows.parquet", tmp_path / "x.parquet", "--max-request-size", request_size)
        shown = on_a_terminal("copy", *arguments, "--threads", 1, watch=watch)
    found = percentages(shown.encode())
    assert found == sorted(found)
    assert 0 < found[-1] < 100
    assert f"copied {ROWS:,} rows" in shown


def test_no_line_where_it_is_not_wanted(source: Path, tmp_path: Path) -> None:
    assert on_a_terminal("copy", source, tmp_path / "x.parquet", "-q") == ""
    assert "%" not in run("copy", source, tmp_path / "y.parquet").err
