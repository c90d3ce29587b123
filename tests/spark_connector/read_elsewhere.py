"""Reads Delta tables with delta-rs and polars: a program, as these are in the environment of other tests.

python read_elsewhere.py TABLE…

Prints a JSON object: by each reader the tables, and of each its columns and its rows as texts, sorted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa

#: Rows as dicts, by the name of the reader.
READERS: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "delta-rs": lambda table: pa.table(
        deltalake.QueryBuilder().register("t", deltalake.DeltaTable(table)).execute("SELECT * FROM t").read_all()
    ).to_pylist(),
    "polars": lambda table: pl.scan_delta(table).collect().to_dicts(),
}


def main(tables: list[str]) -> None:
    """Reads all tables with all readers."""
    told: dict[str, list[Any]] = {}
    for name, read in READERS.items():
        told[name] = []
        for table in tables:
            try:
                rows = read(table)
                told[name].append(sorted(json.dumps(row, default=str, sort_keys=True) for row in rows))
            except Exception as error:
                told[name].append(f"{type(error).__name__}: {error}")
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
