"""The progress line: on a terminal only, with a percentage where the plan knows the whole."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that take a second or more to compress at a high level."""
    path: Path = tmp_path_factory.mktemp("source") / "rows.parquet"
    pq.write_table(pa.table({"text": [os.urandom(20).hex() for _ in range(300_000)]}), path)
    return path


def on_a_terminal(*args: object) -> str:
    """What the command shows on stderr, a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command(*args), stdout=subprocess.DEVNULL, stderr=its, stdin=subprocess.DEVNULL)
    os.close(its)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:
        pass  # Linux says so when the other side is closed
    finally:
        os.close(ours)
    assert process.wait(timeout=TIMEOUT_SECONDS) == 0, shown
    return shown.decode()


def test_a_copy_shows_how_far_it_is(source: Path, tmp_path: Path) -> None:
    shown = on_a_terminal("copy", source, tmp_path / "x.parquet", "--compression", "zstd:19", "--threads", 1)
    percentages = [int(number) for number in re.findall(r"(\d+) %", shown)]
    assert percentages
    assert percentages == sorted(percentages)
    assert percentages[-1] <= 100
    assert "copied 300,000 rows" in shown


def test_no_line_where_it_is_not_wanted(source: Path, tmp_path: Path) -> None:
    assert on_a_terminal("copy", source, tmp_path / "x.parquet", "-q") == ""
    assert "%" not in run("copy", source, tmp_path / "y.parquet").err
