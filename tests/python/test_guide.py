"""The commands and the Python of the guide run as they stand, but for the names of servers and the size of TPC-H."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import guide_pages
import pytest
from conftest import TIMEOUT_SECONDS
from guide_pages import PAGES, ROOT
from http_server import serving_folder
from pyarrow import fs

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator

    import mongoserver
    import s3server

#: Pages whose commands other tests run: those of small files and of engines here, those of Spark in the tests of the connector.
ELSEWHERE = {"engines.md", "files.md", "spark.md"}

#: What `--follow` would never end by itself.
FOLLOW_SECONDS = 8


def test_each_page_with_commands_is_run() -> None:
    """A page is here, or has no command."""
    with_blocks = {page.name for page in (ROOT / "docs" / "guide").glob("*.md") if guide_pages.blocks(page)}
    tutorials = {f"tutorials/{page.name}" for page in (ROOT / "docs" / "tutorials").glob("*.md")}
    assert (with_blocks - ELSEWHERE - {"requests.md"}) | tutorials == set(PAGES) - {"README.md"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with `lakerace` in the path."""
    monkeypatch.chdir(tmp_path)
    program = tmp_path / ".bin" / "lakerace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lakerace "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def web(place: Path) -> Iterator[str]:
    """The address of the working directory over HTTP."""
    with serving_folder(place) as address:
        yield address


@pytest.fixture
def lake(s3: s3server.S3, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings of a server with an empty bucket `lake`."""
    for name, value in s3.env.items():
        monkeypatch.setenv(name, value)
    if s3.pyarrow.get_file_info("lake").type.name != "NotFound":
        # Folders last: a server may keep one that is not empty.
        there = s3.pyarrow.get_file_info(fs.FileSelector("lake", recursive=True))
        for info in sorted(there, key=lambda info: len(info.path), reverse=True):
            (s3.pyarrow.delete_file if info.is_file else s3.pyarrow.delete_dir)(info.path)
        s3.pyarrow.delete_dir("lake")
    s3.pyarrow.create_dir("lake")
    return s3.options


def _shell(command: str, place: Path) -> str:
    """Runs a command, and returns what it has printed: standard output, then standard error."""
    following = "--follow" in command
    text = f"timeout --signal=INT {FOLLOW_SECONDS} {command}" if following else command
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    # `timeout` gives 124 where it had to interrupt the command.
    assert done.returncode == (124 if following else 0), f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@dataclass
class Servers:
    """Stands for the hosts that a page names."""

    request: pytest.FixtureRequest
    place: Path
    page: str

    def named(self, text: str) -> str:
        """The text with servers of the tests in place of the hosts, folders of the test, and 1/100 of TPC-H."""
        name = Path(self.page).stem.lower()
        if "mongodb://host" in text:
            mongo: mongoserver.MongoServer = self.request.getfixturevalue("mongo")
            text = re.sub(r"mongodb://host(:27017)?/shop/", mongo.location(f"{name}-"), text)
        if "elasticsearch://" in text:
            index = self.request.getfixturevalue("index")
            text = re.sub(r"elasticsearch://\w+:9200/", f"{index}{name}-", text)
        if "https://example.org" in text:
            text = text.replace("https://example.org", self.request.getfixturevalue("web"))
        text = re.sub(r"sqlite:///(data|var)/", f"sqlite://{self.place}/", text)
        return re.sub(r"(-s |\bsf=)(\d+)(?![\d.])", lambda found: f"{found[1]}{int(found[2]) / 100}", text)


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_run(name: str, place: Path, lake: dict[str, str], request: pytest.FixtureRequest) -> None:
    page = PAGES[name]
    page.prepare(place)
    names: dict[str, Any] = {"lr": lr, "settings": lake, **page.names()}
    servers = Servers(request, place, name)
    path = guide_pages.path_of(name)
    used = set()
    for written in guide_pages.steps(path):
        step = written.smaller(page.smaller)
        text = step.text
        starts = {start for start in (*page.elsewhere, *page.before) if text.startswith(start)}
        used |= starts
        if starts & page.elsewhere.keys():
            continue
        for start in starts:
            _shell(servers.named(page.before[start]), place)
        if step.is_shell:
            printed = _shell(servers.named(text), place)
            assert not step.output or step.shows(printed), f"{path}:{step.line}: {text}\n{printed}"
        else:
            exec(compile("\n" * (step.line - 1) + servers.named(text), str(path), "exec"), names)
    assert used == {*page.elsewhere, *page.before}, f"{name} has other commands"
