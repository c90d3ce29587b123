"""Ranges of bytes by the planner of a scan, as the bench reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import lakerace as lr
from lakerace import _lakerace

BYTES = bytes(range(256)) * 4096


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "bytes.bin"
    path.write_bytes(BYTES)
    return str(path)


@pytest.mark.parametrize(("min_seek_size", "requests"), [("0", 2), ("1MiB", 1)])
def test_the_setting_decides_on_requests_and_never_on_bytes(place: str, min_seek_size: str, requests: int) -> None:
    source = _lakerace.Ranges(place, {"min_seek_size": min_seek_size})
    wanted = [(1_000, 2_000), (500_000, 500_100)]
    plan = source.plan(wanted)
    assert len(plan["requests"]) == requests
    assert plan["wanted_bytes"] == 1_100
    assert plan["path"]["latency_ms"] > 0
    assert source.read(wanted) == BYTES[1_000:2_000] + BYTES[500_000:500_100]


def test_ranges_that_are_none(place: str) -> None:
    source = _lakerace.Ranges(place, {})
    assert source.read([]) == b""
    with pytest.raises(lr.UsageError, match="ends before it starts"):
        source.plan([(5, 3)])
    with pytest.raises(lr.CorruptDataError):
        source.read([(0, len(BYTES) + 1)])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(lr.NotFoundError, match=r"nothing\.bin"):
        _lakerace.Ranges(str(tmp_path / "nothing.bin"), {}).read([(0, 1)])
