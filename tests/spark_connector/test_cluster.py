"""Executors in processes of their own: what crosses between them is serialised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import lakerace as lr

HERE = Path(__file__).parent


def test_local_cluster(tmp_path: Path) -> None:
    lr.copy("tpch:orders?sf=0.01", tmp_path / "o.parquet", row_group_rows=1000)
    command = [sys.executable, str(HERE / "cluster.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split()[-2:] == ["15000", "2"]
