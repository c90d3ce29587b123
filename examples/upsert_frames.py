"""Keeps a Delta table in step with frames, and reads it back by duckdb.

python examples/upsert_frames.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
import polars as pl

import lakerace as lr


def run(folder: Path) -> list[tuple[int, int]]:
    """Makes the table `lake` in `folder`; returns its rows."""
    table = lr.Table(f"delta:{folder / 'lake'}", key="id")
    table.upsert(pl.DataFrame({"id": [1, 2], "price": [10, 20]}))
    table.upsert(pl.DataFrame({"id": [2, 3], "price": [25, 30]}))
    scan = lr.scan(folder / "lake", columns=["id", "price"])  # noqa: F841 (duckdb finds it by its name)
    return duckdb.sql("SELECT id, price FROM scan ORDER BY id").fetchall()


if __name__ == "__main__":
    print(run(Path(sys.argv[1])))
