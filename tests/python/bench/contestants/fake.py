"""Contestants that behave in one given way each, to see what the bench makes of them: `fake.py BEHAVIOUR`."""

from __future__ import annotations

import os
import sys
from typing import Any

import contest
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

BEHAVIOUR = sys.argv[1]


def scan(job: dict[str, Any]) -> contest.Prepared:
    """Reads what the job asks for, or what the behaviour makes of it."""
    if BEHAVIOUR == "unable":
        raise contest.UnableError("has lost its shoes")
    return contest.Prepared("1.0", lambda: _spoil(_read(job)), {"threads": job["threads"]}, hold=lambda table: table)


def write(job: dict[str, Any]) -> contest.Prepared:
    """Writes what the job asks for, or what the behaviour makes of it."""
    table = _spoil(pq.read_table(job["input"]))
    codec = "zstd" if BEHAVIOUR == "wrong-codec" else job["codec"]
    rows = job["row_group_rows"] * (3 if BEHAVIOUR == "wrong-row-groups" else 1)
    return contest.Prepared("1.0", lambda: pq.write_table(table, job["output"], compression=codec, row_group_size=rows))


def _read(job: dict[str, Any]) -> pa.Table:
    if BEHAVIOUR == "crashes":
        raise RuntimeError("stumbled at the first hurdle")
    if BEHAVIOUR == "killed":
        os.abort()
    if BEHAVIOUR == "babbles":
        os.write(_protocol(), b"ready? go!\n")
    condition = job["filter"]
    filters = None
    if condition and BEHAVIOUR != "ignores-filter":
        filters = (pc.field("key") >= condition["at_least"]) & (pc.field("key") < condition["below"])
    return pq.read_table(job["path"], columns=job["columns"], filters=filters)


def _spoil(table: pa.Table) -> pa.Table:
    if BEHAVIOUR == "wrong-value" and "comment" in table.column_names:
        values = table["comment"].to_pylist()
        values[len(values) // 2] = values[len(values) // 2][:-1] + "\x00"
        return table.set_column(table.column_names.index("comment"), "comment", pa.array(values))
    if BEHAVIOUR == "swaps-rows" and "comment" in table.column_names:  # each column still has the same values
        values = table["comment"].to_pylist()
        values[0], values[1] = values[1], values[0]
        return table.set_column(table.column_names.index("comment"), "comment", pa.array(values))
    if BEHAVIOUR == "wrong-type" and "day" in table.column_names:
        return table.set_column(table.column_names.index("day"), "day", table["day"].cast(pa.string()))
    if BEHAVIOUR == "loses-row":
        return table.slice(0, table.num_rows - 1)
    if BEHAVIOUR == "other-order":
        return table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    return table


def _protocol() -> int:
    """The file descriptor that the protocol is spoken on: the newest copy of stdout."""
    return max(int(number) for number in os.listdir("/proc/self/fd") if _is_pipe(int(number)))


def _is_pipe(number: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith("pipe:")
    except OSError:
        return False


if __name__ == "__main__":
    contest.main({"scan": scan, "write": write})
