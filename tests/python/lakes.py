"""Delta tables of the rows whose statistics are easy to get wrong, in each state that a table may be in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from pushdown import GROUP_ROWS, KINDS, UNSIGNED, table

import lakerace as lr

SIGNED = tuple(name for name in KINDS if name not in UNSIGNED)


def made(folder: Path, kinds: tuple[str, ...] = SIGNED, **properties: str) -> lr.Table:
    """A Delta table with a file for each group."""
    rows = table(kinds)
    properties = {"delta.checkpointInterval": "4", **properties}
    lr.copy(rows.slice(0, GROUP_ROWS), f"delta:{folder}", table_properties=properties)
    for group in range(GROUP_ROWS, rows.num_rows, GROUP_ROWS):
        lr.copy(rows.slice(group, GROUP_ROWS), folder, mode="append")
    return lr.Table(folder, key="id")


def deleted(folder: Path) -> None:
    """The last row of each group is hidden."""
    made(folder).delete(f"id % {GROUP_ROWS} = {GROUP_ROWS - 1}")


def upserted(folder: Path) -> None:
    """Each second row is replaced by itself, so that all files have hidden rows."""
    rows = table(SIGNED)
    made(folder).upsert(rows.filter(pc.equal(pc.bit_wise_and(rows["id"], 1), 1)))


def restored(folder: Path) -> None:
    """A table with deleted rows goes back to half of its files, and forth."""
    deleted(folder)
    lake = lr.Table(folder)
    lake.restore(4)
    lake.restore(9)


def compacted(folder: Path) -> None:
    """One file has all rows."""
    upserted(folder)
    lr.Table(folder).compact()


def rewritten(folder: Path) -> None:
    """Files are written again without their last rows."""
    lake = made(folder, **{"delta.enableDeletionVectors": "false"})
    lake.delete(f"id % {GROUP_ROWS} = {GROUP_ROWS - 1}")


STATES: dict[str, Callable[[Path], Any]] = {
    "written": made,
    "deleted": deleted,
    "upserted": upserted,
    "restored": restored,
    "compacted": compacted,
    "rewritten": rewritten,
}
