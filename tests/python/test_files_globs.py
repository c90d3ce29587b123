"""Patterns of names that are not ASCII, in stores and in scans: `pathlib` is the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from conftest import ok

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

    from s3server import S3

pytestmark = pytest.mark.filterwarnings("ignore:.*composed form:lakerace.LakeraceWarning")

#: Names whose characters take one to four bytes, composed and not.
NAMES = ["é", "x", "日", "aé", "axb", "aéb", "a日b", "😀", "a😀b", "e\u0301", "ß", "ab", "Ä.b", "[x]", "a-b"]

PATTERNS = [
    "?",
    "??",
    "a?b",
    "[é]",
    "[à-ü]",
    "[!x]",
    "a[!x]b",
    "a?",
    "a*b",
    "[日]",
    "é",
    "[éx]",
    "*",
    "[😀-😂]",
    "?́",
    "[!a-z]*",
    "[[]x]",
    "a[--.]b",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_store_finds_what_a_folder_has(tmp_path: Path, pattern: str) -> None:
    for name in NAMES:
        (tmp_path / name).write_bytes(b"1")
    store = lr.files.Store("memory:")
    store.put_many(dict.fromkeys(NAMES, b"1"))
    expected = sorted((path.name for path in tmp_path.glob(pattern)), key=str.encode)
    assert store.glob(pattern) == expected
    below = lr.files.Store("memory:")
    below.put_many({f"ü/{name}/é": b"1" for name in NAMES})
    assert below.glob(f"?/{pattern}/?") == [f"ü/{name}/é" for name in expected]
    assert below.glob(f"**/{pattern}/*") == [f"ü/{name}/é" for name in expected]


def test_alternatives(tmp_path: Path) -> None:
    store = lr.files.Store(tmp_path / "s.db")
    store.put_many(dict.fromkeys(NAMES, b"1"))
    assert store.glob("{é,x}") == ["x", "é"]
    assert store.glob("a{é,日,😀}b") == ["aéb", "a日b", "a😀b"]
    assert ok("files", "ls", tmp_path / "s.db", "a?b").out.splitlines() == ["a-b", "axb", "aéb", "a日b", "a😀b"]


@pytest.mark.parametrize("pattern", ["?.csv", "[!x].csv", "[é日].csv", "{é,日,😀}.csv", "*.csv"])
def test_a_scan_reads_all_files_of_a_pattern(tmp_path: Path, pattern: str) -> None:
    for number, name in enumerate(["é", "日", "😀", "xx", "a/ü", "a/日本"]):
        path = tmp_path / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"n\n{number}\n")
    braced = pattern.startswith("{")
    expected = sorted(
        int(path.read_text().split()[1])
        for one in (["é.csv", "日.csv", "😀.csv"] if braced else [pattern])
        for path in tmp_path.glob(one)
    )
    got = lr.scan(f"{tmp_path}/{pattern}").to_arrow()
    assert sorted(got["n"].to_pylist()) == expected
    assert lr.scan(f"{tmp_path}/?/?.csv").to_arrow()["n"].to_pylist() == [4]
    assert lr.scan(f"{tmp_path}/**/??.csv").count() == 2


def test_a_scan_of_objects_reads_all_of_a_pattern(s3: S3) -> None:
    for number, name in enumerate(["é", "日", "😀", "xx"]):
        s3.put(f"globs/{name}.csv", f"n\n{number}\n".encode())
    got = lr.scan(s3.url("globs/?.csv"), storage_options=s3.options).to_arrow()
    assert sorted(got["n"].to_pylist()) == [0, 1, 2]
    got = lr.scan(s3.url("globs/[à-ü😀].csv"), storage_options=s3.options).to_arrow()
    assert sorted(got["n"].to_pylist()) == [0, 2]
