"""The folder for temporary files of queries: nobody else may enter it, and it does not outlive its process for long."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

SPILL = "SELECT count(*) FROM (SELECT range AS i, hash(range) AS h FROM range(4000000) ORDER BY h, i OFFSET 1)"
#: Stops in the middle of the rows of a sort that does not fit into memory.
SPILLING = f"""
import os, sys
import lakerace as lr
os.umask(0)
query = {SPILL.replace("count(*)", "*")!r}
rows = iter(lr.sql(query, memory_limit="60MB", threads=2))
next(rows)
print("reads", flush=True)
sys.stdin.readline()
"""
QUERY = "import lakerace as lr; list(lr.sql('SELECT 1')); "


def started(program: str, system: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(system)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def output_of(program: str, system: Path) -> str:
    process = started(program, system)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output


def test_only_its_user_may_enter_the_folder_and_a_killed_process_leaves_it_to_the_next(tmp_path: Path) -> None:
    """The oracle is the file system: modes and names."""
    process = started(SPILLING, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "reads\n"
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith(f"lakerace-sql-{process.pid}-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path for path in folder.rglob("*") if path.is_file()]

    output_of(QUERY, tmp_path)
    assert folder.exists(), "another process removes the folder of one that runs"

    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    assert folder.exists()
    output_of(QUERY, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("program", [QUERY, f"{QUERY} query = lr.sql('SELECT 2'); next(iter(query))"])
def test_the_end_of_a_process_removes_its_folder(tmp_path: Path, program: str) -> None:
    output_of(program, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_forked_process_has_a_folder_of_its_own(tmp_path: Path) -> None:
    program = f"""{QUERY}
import os
before = os.listdir(os.environ["TMPDIR"])
if os.fork() == 0:
    list(lr.sql("SELECT 2"))
    os._exit(len(os.listdir(os.environ["TMPDIR"])))
print(len(before), os.waitstatus_to_exitcode(os.wait()[1]))
list(lr.sql("SELECT 3"))
"""
    assert output_of(program, tmp_path) == "1 2\n"
    # That of the forked process, which ended without Python's handlers.
    assert len(list(tmp_path.iterdir())) == 1
    output_of(QUERY, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_link_with_such_a_name_is_not_followed(tmp_path: Path) -> None:
    system, kept = tmp_path / "system", tmp_path / "kept"
    system.mkdir()
    kept.mkdir()
    (kept / "file").touch()
    (system / "lakerace-sql-1-abcdefgh").symlink_to(kept)
    output_of(QUERY, system)
    assert (kept / "file").exists()


def test_a_folder_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(lr.UnavailableError, match=r"missing: no folder for temporary files: No such file .*set TMPDIR"):
        list(lr.sql("SELECT 1", threads=3))
