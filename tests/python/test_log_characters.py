"""Logs in which characters are written as two escapes, as `json.dumps` does: the same rows as delta-rs reads."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import lakerace as lr

#: A character of each of the planes 1, 2, 3 and 16.
TEXTS = ["a", "\U0001f600", "\U00020000b", "\U00030000", "\U0010ffff", "é"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A table of delta-rs with statistics and a partition, whose log has escapes in place of all such characters."""
    location = tmp_path / "table"
    rows = pa.table({"id": range(len(TEXTS)), "part": TEXTS, "text": TEXTS})
    deltalake.write_deltalake(location, rows, partition_by=["part"])
    entry = location / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["stats"] = json.dumps(json.loads(action["add"]["stats"]))
    entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
    assert "\\ud840\\udc00" in entry.read_text()
    return str(location)


def texts_of(scan: lr.Scan) -> list[tuple[str, str]]:
    rows = sorted(pa.table(scan).to_pylist(), key=lambda row: row["id"])
    return [(row["part"], row["text"]) for row in rows]


def test_values_and_partitions_are_those_that_were_written(table: str) -> None:
    assert texts_of(lr.scan(table)) == [(text, text) for text in TEXTS]


@pytest.mark.parametrize("column", ["part", "text"])
@pytest.mark.parametrize("text", TEXTS)
def test_filters_find_each_of_them(table: str, column: str, text: str) -> None:
    assert texts_of(lr.scan(table, where=f"{column} = ?", params=[text])) == [(text, text)]


def test_verify_finds_no_damage(table: str) -> None:
    assert lr.Table(table).verify(deep=True).sound


def test_statistics_of_checkpoints_have_them(table: str) -> None:
    # delta-rs copies the statistics, and reads partition values as other characters.
    deltalake.DeltaTable(table).create_checkpoint()
    for text in TEXTS:
        found = pa.table(lr.scan(table, columns=["text"], where="text = ?", params=[text]))
        assert found["text"].to_pylist() == [text]


def test_upserts_find_the_rows_of_such_keys(table: str) -> None:
    rows = pa.table({"id": range(len(TEXTS)), "part": TEXTS, "text": [f"{text} again" for text in TEXTS]})
    lr.Table(table).upsert(rows, key=["part", "id"])
    assert texts_of(lr.scan(table)) == [(text, f"{text} again") for text in TEXTS]
