"""ORC files of other implementations: the rows that pyarrow reads from them, and an error for each that is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import assert_equals, corpus
from conftest import run
from pyarrow import orc


def corpus_files(name: str) -> list[Path]:
    return sorted(corpus(name).glob("*.orc"))


@pytest.mark.parametrize("path", corpus_files("orc"), ids=lambda p: p.name)
def test_rows_equal_pyarrow(path: Path) -> None:
    assert_equals(path, orc.read_table)


@pytest.mark.parametrize("path", corpus_files("orc/corrupt"), ids=lambda p: p.name)
def test_damaged_files_give_errors(path: Path) -> None:
    done = run("scan", path, "--checksum", "--json")
    assert done.code in (5, 6), done.out + done.err
    assert path.name in done.error["place"]
    assert "Traceback" not in done.err
