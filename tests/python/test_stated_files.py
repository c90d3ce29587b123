"""Entries of other writers that lack files which their `commitInfo` counts: sound ones have no finding, and each cut one has."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from conftest import run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def rows(first: int, last: int) -> pa.Table:
    ids = range(first, last)
    return pa.table({"id": ids, "part": [i % 3 for i in ids], "text": [f"row {i}" for i in ids]})


def entry(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020}.json"


def lines(folder: Path, version: int) -> list[str]:
    return entry(folder, version).read_text().splitlines()


def count(folder: Path, version: int, *kinds: str) -> int:
    return sum(kind in json.loads(line) for line in lines(folder, version) for kind in kinds)


def merge(folder: Path) -> None:
    merger = deltalake.DeltaTable(folder).merge(rows(8, 12), "s.id = t.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()


OPERATIONS: list[Callable[[Path], Any]] = [
    lambda folder: deltalake.write_deltalake(folder, rows(10, 20), mode="append"),
    lambda folder: deltalake.write_deltalake(folder, rows(0, 0), mode="append"),
    lambda folder: deltalake.DeltaTable(folder).delete("id = 4"),
    lambda folder: deltalake.DeltaTable(folder).delete("id = 4000"),
    lambda folder: deltalake.DeltaTable(folder).delete("part = 2"),
    lambda folder: deltalake.DeltaTable(folder).update(updates={"text": "'new'"}, predicate="id = 6"),
    merge,
    lambda folder: deltalake.DeltaTable(folder).optimize.compact(),
    lambda folder: deltalake.write_deltalake(folder, rows(0, 9), mode="overwrite"),
    lambda folder: deltalake.DeltaTable(folder).restore(1),
    lambda folder: deltalake.DeltaTable(folder).alter.set_table_properties({"delta.appendOnly": "false"}),
    lambda folder: deltalake.DeltaTable(folder).vacuum(dry_run=False),
    lambda folder: deltalake.DeltaTable(folder).delete(),
]


@pytest.mark.parametrize("partition_by", [None, ["part"]])
@pytest.mark.parametrize("feed", ["false", "true"])
def test_each_cut_of_an_entry_of_delta_rs_is_found(tmp_path: Path, partition_by: list[str] | None, feed: str) -> None:
    whole = tmp_path / "whole"
    properties = {"delta.enableChangeDataFeed": feed}
    deltalake.write_deltalake(whole, rows(0, 10), partition_by=partition_by, configuration=properties)
    for change in OPERATIONS:
        change(whole)
    last = deltalake.DeltaTable(whole).version()
    assert last >= 9
    report = lr.Table(whole).verify(deep=True)
    assert (report.findings, report.version) == ([], last)
    cuts = 0
    for version in range(1, last + 1):
        actions = lines(whole, version)
        # Without its files of one kind. Those that delta-rs counts come after the line commitInfo.
        for kept in range(1, len(actions)):
            folder = tmp_path / f"{version}-{kept}"
            shutil.copytree(whole, folder)
            entry(folder, version).write_text("\n".join(actions[:kept]) + "\n")
            lost = [json.loads(line) for line in actions[kept:]]
            # Change files are counted by some operations only.
            if not any("add" in action or "remove" in action for action in lost):
                continue
            cuts += 1
            found = [finding for finding in lr.Table(folder).verify().findings if "commitInfo" in finding.problem]
            assert [finding.subject for finding in found] == ["entry"], (version, kept)
            assert str(entry(folder, version)) in found[0].place
            # Where no file is left, readers refuse the entry.
            is_refused = count(folder, version, "add", "remove", "cdc") == 0
            done = run("scan", folder, "--at", version, "--count")
            assert (done.code == 5) == is_refused, (version, kept, done.err)
            shutil.rmtree(folder)
    assert cuts >= 15
