"""Loads a generated table into SQLite, checks what arrived, and reads it row by row.

python examples/load_sqlite.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import lakerace as lr


def run(folder: Path) -> list[str]:
    """Makes the database `tpch.db` in `folder`; returns the names of its regions."""
    target = f"sqlite:///{folder.resolve() / 'tpch.db'}#region"
    lr.copy("tpch:region?sf=1", target, mode="overwrite", verify=True)
    return [row["r_name"] for row in lr.scan(target, columns=["r_name"]).rows(named=True)]


if __name__ == "__main__":
    print(run(Path(sys.argv[1])))
