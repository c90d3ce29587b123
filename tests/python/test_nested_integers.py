"""Integers beyond the exact ones of a float, in lists and structs: all digits, or an error."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conftest import empty_place

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

BEYOND = 9007199254740993
ROWS = [
    {"id": 1, "list": [BEYOND, -BEYOND, 2**63 - 1], "struct": {"a": BEYOND, "deep": [{"b": BEYOND}, {"b": -(2**63)}]}},
    {"id": 2, "list": [], "struct": {"a": None, "deep": []}},
    {"id": 3, "list": [1, None], "struct": {"a": BEYOND + 2, "deep": [{"b": 0}]}},
]


@pytest.fixture(params=["mongodb", "elasticsearch", "sqlite", "delta"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each kind."""
    return empty_place(request, tmp_path)


def rows_of(source: Any) -> list[dict[str, Any]]:
    return sorted(lr.scan(source, columns=["id", "list", "struct"]).to_arrow().to_pylist(), key=lambda row: row["id"])


def test_nested_integers_keep_their_digits_from_lines_to_lines(place: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert rows_of(tmp_path / "a.jsonl") == ROWS
    lr.copy(
        tmp_path / "a.jsonl",
        place,
        mode="overwrite",
        **({} if place.startswith("delta") else {"key": "id"}),
        verify=True,
    )
    assert rows_of(place) == ROWS
    lr.copy(place, tmp_path / "b.jsonl", columns=["id", "list", "struct"])
    lines = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert sorted(lines, key=lambda row: row["id"]) == ROWS


def test_texts_of_another_program_keep_their_digits(tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(pa.Table.from_pylist(ROWS), target, key="id")
    text = json.dumps({"deep": [{"b": BEYOND}], "a": BEYOND}, indent=1)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("UPDATE t SET struct = ?, list = ? WHERE id = 2", (text, f" [ {BEYOND} , {2**63 - 1}] "))
        database.commit()
        assert rows_of(target)[1] == {
            "id": 2,
            "list": [BEYOND, 2**63 - 1],
            "struct": {"a": BEYOND, "deep": [{"b": BEYOND}]},
        }
        for wrong in [f"[{BEYOND}.5]", "[1.5]", f"[{2**63}]", "[1e400]", '["x"]', "[1", "[1] [2]", '{"a": 1}']:
            database.execute("UPDATE t SET list = ? WHERE id = 2", (wrong,))
            database.commit()
            with pytest.raises(lr.InvalidInputError, match='column "list"'):
                rows_of(target)


def test_nested_floats_take_no_integer_that_they_would_round(tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    lr.copy(pa.table({"id": [1], "list": [[0.5, 2.0**53]]}), target, key="id")
    assert lr.scan(target).to_arrow()["list"].to_pylist() == [[0.5, 2.0**53]]
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        database.execute("UPDATE t SET list = ?", (f"[{BEYOND}]",))
        database.commit()
    with pytest.raises(lr.InvalidInputError, match=str(BEYOND)):
        lr.scan(target).to_arrow()
