"""Links in folders that are scanned: a model of the rows is the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ok, people, run

import lakerace as lr

ROWS = 10


@pytest.fixture(params=["csv", "jsonl", "parquet", "orc"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a file, and a link to another one."""
    ending = request.param
    lr.copy(people(ROWS), tmp_path / f"data/a.{ending}")
    lr.copy(people(ROWS), tmp_path / f"other.{ending}")
    (tmp_path / f"data/b.{ending}").symlink_to(f"../other.{ending}")
    return tmp_path / "data"


def test_a_link_to_a_file_is_a_file(folder: Path) -> None:
    assert len(lr.scan(folder)) == 2 * ROWS


def test_a_link_that_leads_nowhere_is_an_error(folder: Path) -> None:
    link = next(folder.glob("b.*"))
    link.resolve().unlink()
    for location in (folder, folder / f"*{link.suffix}", folder / f"**/*{link.suffix}"):
        error = run("copy", location, folder.parent / "out.parquet", "--json").error
        assert (error["exit_code"], Path(error["place"]).name) == (3, link.name)
        with pytest.raises(lr.NotFoundError):
            lr.scan(location).checksum()
    assert not (folder.parent / "out.parquet").exists()


def test_other_links_that_lead_nowhere_do_not_matter(folder: Path) -> None:
    link = next(folder.glob("b.*"))
    link.resolve().unlink()
    assert int(ok("scan", folder / f"a*{link.suffix}", "--count").out) == ROWS
    link.rename(folder / f"_{link.name}")
    (folder / f".{link.name}").symlink_to("nowhere")
    assert int(ok("scan", folder, "--count").out) == ROWS
