"""Executors in processes of their own: what crosses between them is serialised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lakerace as lr

HERE = Path(__file__).parent


def test_local_cluster(tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=1000)
    command = [sys.executable, str(HERE / "cluster.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split()[-2:] == ["15000", "2"]


@pytest.mark.parametrize("what", ["killed", "twins", "again"])
def test_a_write_counts_once(tmp_path: Path, what: str) -> None:
    command = [sys.executable, str(HERE / "faults.py"), str(tmp_path), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    rows = 40_000
    assert done.stdout.split()[-3:] == [str(rows), "0", str(rows * (rows - 1) // 2)]
    marks = {"killed": ["killed"], "twins": ["second"], "again": []}[what]
    assert all((tmp_path / mark).exists() for mark in marks)
    # The empty table, and one commit.
    assert len(lr.Table(tmp_path / "t").history()) == 2


def test_keys_that_expire_in_a_job_are_replaced(tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=200, compression="none")
    command = [sys.executable, str(HERE / "credentials.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split()[-3:] == ["15000", "True", "0"]
