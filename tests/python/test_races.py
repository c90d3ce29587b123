"""Racing writers, in a few rounds; races.py runs as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest
import races
from s3server import S3

WRITERS = 16
ROUNDS = 3


def check(location: str, feed: bool = False, rewrite: bool = False) -> None:
    figures = races.race(location, WRITERS, ROUNDS, feed, rewrite)
    assert (figures.lost_updates, figures.duplicate_keys) == (0, 0)
    # Those that find nothing to change make no version.
    assert WRITERS * ROUNDS // 2 < figures.changes <= WRITERS * ROUNDS


def test_writers_on_a_disk_lose_nothing(tmp_path: Path) -> None:
    check(str(tmp_path / "table"))


def test_writers_tell_each_change_once(tmp_path: Path) -> None:
    check(str(tmp_path / "table"), feed=True)


def test_writers_that_rewrite_files_lose_nothing(tmp_path: Path) -> None:
    check(str(tmp_path / "table"), rewrite=True)


def test_writers_that_rewrite_files_tell_each_change_once(tmp_path: Path) -> None:
    check(str(tmp_path / "table"), feed=True, rewrite=True)


def test_writers_on_s3_lose_nothing(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.env.items():
        monkeypatch.setenv(name, value)
    check(s3.url("races/table"))
