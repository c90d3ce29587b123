"""Memory that is touched before a table is changed."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from lakerace_bench import memory


def test_what_is_asked_for_is_touched_in_whole_pages() -> None:
    assert memory.touch(10 * mmap.PAGESIZE + 17) == 10 * mmap.PAGESIZE
    assert memory.touch(mmap.PAGESIZE - 1) == 0


def test_no_more_than_a_quarter_of_what_is_free_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 8 * mmap.PAGESIZE)
    assert memory.touch(1 << 40) == 2 * mmap.PAGESIZE


def test_memory_that_is_not_there_after_all_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 62)
    assert memory.touch(1 << 60) == 0


def test_free_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    source = tmp_path / "meminfo"
    source.write_text("MemTotal:       24683652 kB\nMemFree:            1234 kB\nMemAvailable:   23000000 kB\n")
    assert memory.free_bytes(source) == 1234 * 1024
    source.write_text("MemTotal: 24683652 kB\n")
    assert memory.free_bytes(source) == 0
    assert memory.free_bytes() > 0
