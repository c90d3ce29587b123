"""Contestants whose tables are no good, each in one given way: `fake_table.py BEHAVIOUR`."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

import contest
import pyarrow.parquet as pq

BEHAVIOUR = sys.argv[1]


def create(job: dict[str, Any]) -> contest.Prepared:
    """Takes the source as the table."""
    if BEHAVIOUR == "dawdles":
        return contest.Prepared("1.0", lambda: time.sleep(100))
    return contest.Prepared("1.0", lambda: shutil.copy(job["source"], job["table"]))


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """Does nothing."""
    return contest.Prepared("1.0", lambda: None)


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Reads the table, where it is no riddle."""
    if BEHAVIOUR == "writes-riddles":
        raise contest.UnableError("cannot read its own writing")
    table = pq.read_table(job["table"])
    return contest.Prepared("1.0", lambda: table.num_rows, hold=lambda _: table)


if __name__ == "__main__":
    contest.main({"create": create, "upsert": upsert, "scan-table": scan})
