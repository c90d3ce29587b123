"""Free memory is touched, and no more than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakerace.bench import memory


def test_as_much_is_touched_as_is_asked_for() -> None:
    assert memory.free_bytes() > 0
    assert memory.touch(1 << 20) == 1 << 20
    assert memory.touch(0) == 0


def test_what_is_not_free_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tmp_path / "meminfo"
    known.write_text("MemTotal: 9000 kB\nMemFree: 1000 kB\nMemAvailable: 5000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", known)
    monkeypatch.setattr(memory, "_LIMIT", (tmp_path / "nothing",) * 2)
    assert memory.touch(1 << 30) == 819_200
    limit = (tmp_path / "max", tmp_path / "current")
    monkeypatch.setattr(memory, "_LIMIT", limit)
    for most, touched in (("max", 819_200), ("500000", 80_000), ("100", 0)):
        limit[0].write_text(f"{most}\n")
        limit[1].write_text("400000\n")
        assert memory.touch(1 << 30) == touched
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "nothing")
    assert memory.touch(1 << 30) == 0
