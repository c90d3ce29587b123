"""What docs/guide/files.md shows in Python."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lakerace.files import Store

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "files.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "files.md", "exec"), names)
    assert names["contents"] == [b"{}"] * 9_999
    assert names["text"] == "hello"
    assert Store("pack.db").get("x") == b"appears at the end"
    assert len(names["data"]) == 9_999
    assert (names["array"][:] == 1).all()


class Rot:
    """A transform."""

    def apply(self, data: bytes) -> bytes:
        """Other bytes."""
        return bytes((byte + 1) % 256 for byte in data)

    def remove(self, data: bytes) -> bytes:
        """The bytes."""
        return bytes((byte - 1) % 256 for byte in data)


def test_each_call_of_ezfs_has_an_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.partition("## Coming from ezfs")[2].partition("\n## ")[0]
    calls = [re.findall(r"`([^`]*)`", row.split(" | ")[1]) for row in section.splitlines() if row.startswith("| `")]
    assert len(calls) == 17
    for home in ("files/", "memory:", "ez.db"):
        names: dict[str, Any] = {"Store": Store, "sqlite3": sqlite3, "transform": Rot()}
        for call in calls:
            for text in call:
                if text.startswith("fs = "):
                    exec(text, names)
                    continue
                if home != "ez.db" and ("ez.db" in text or "compression" in text):
                    continue
                names.setdefault("done", []).append(text)
                names["fs"] = names.setdefault(f"at {home}", Store(home))
                exec(f"found = {text}" if not text.startswith("with") else text, names)
        fs = names["fs"]
        assert fs.list() == (["b", "d", "e"] if home == "ez.db" else ["b", "d"])
        assert (fs.get("b"), fs.get("d")) == (b"1", b"2")
        assert len(names["done"]) == (14 if home == "ez.db" else 10)
    with sqlite3.connect("ez.db") as other:
        assert other.execute("SELECT name FROM files").fetchall() == [("b",), ("d",), ("e",)]
    other.close()
