"""Names of a log that are no files, or that state other parts than there are: each is a finding with its name."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run

import lakerace as lr

LAST = 6
HINT = "_last_checkpoint"


def entry(version: int) -> str:
    return f"{version:020}.json"


def checkpoint(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a table by delta-rs, with a checkpoint of version 5."""
    for version in range(LAST + 1):
        deltalake.write_deltalake(tmp_path / "t", pa.table({"a": [version]}), mode="append")
        if version == 5:
            deltalake.DeltaTable(tmp_path / "t").create_checkpoint()
    return tmp_path / "t" / "_delta_log"


def loop(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)


def dead_link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def full_folder(path: Path) -> None:
    folder(path)
    (path / "x").write_text("x")


def verified(log: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    done = run("verify", log.parent, "--json", *options)
    # A table that can't be opened has findings, too: no error of the run.
    return done.code, json.loads(done.out)["findings"]


@pytest.mark.parametrize("replace", [loop, dead_link, folder, full_folder])
@pytest.mark.parametrize(
    ("name", "subject"),
    [
        (HINT, "last_checkpoint"),
        (entry(1), "entry"),
        (entry(LAST), "entry"),
        (entry(LAST + 1), "entry"),
        (checkpoint(5), "checkpoint"),
        (checkpoint(LAST), "checkpoint"),
        (f"{LAST:020}.crc", "checksum"),
    ],
)
def test_what_is_no_file_is_a_finding(log: Path, name: str, subject: str, replace: Callable[[Path], None]) -> None:
    replace(log / name)
    code, findings = verified(log)
    assert code == 5
    [found] = [finding for finding in findings if finding["place"] == str(log / name)]
    assert found["subject"] == subject
    assert ("folder" if "folder" in replace.__name__ else "link") in found["problem"]
    assert found["advice"]


@pytest.mark.parametrize("replace", [loop, dead_link])
def test_a_link_in_place_of_the_last_checkpoint_is_removed(log: Path, replace: Callable[[Path], None]) -> None:
    replace(log / HINT)
    code, findings = verified(log, "--repair")
    assert (code, [finding["subject"] for finding in findings]) == (0, ["last_checkpoint"])
    assert findings[0]["repaired"]
    assert not (log / HINT).is_symlink()
    expected = deltalake.DeltaTable(log.parent).to_pyarrow_table().sort_by("a")
    assert lr.scan(str(log.parent)).to_arrow().sort_by("a").equals(expected)


def test_a_loop_of_links_is_an_error_with_its_name(log: Path) -> None:
    loop(log / entry(LAST))
    done = run("scan", log.parent, "--json")
    assert done.code == 4, done.err
    assert entry(LAST) in done.err
    assert "symbolic link" in done.error["advice"]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [(3, "has 3 files, but it has 1 file"), (1, None), (None, None), ("x", "can't be parsed"), (0, "has 0 files")],
)
def test_parts_that_the_last_checkpoint_states(log: Path, parts: Any, problem: str | None) -> None:
    hint = json.loads((log / HINT).read_text())
    (log / HINT).write_text(json.dumps({**hint, "parts": parts}))
    code, findings = verified(log)
    if problem is None:
        assert (code, findings) == (0, [])
        return
    [found] = findings
    assert (code, found["subject"], found["place"]) == (5, "last_checkpoint", str(log / HINT))
    assert problem in found["problem"]
    assert found["advice"] == f"`lakerace verify {shlex.quote(str(log.parent))} --repair` mends it"
    assert verified(log, "--repair")[0] == 0
    assert deltalake.DeltaTable(log.parent).version() == LAST
    assert verified(log) == (0, [])


def test_parts_of_a_checkpoint_in_parts(log: Path) -> None:
    whole = log / checkpoint(5)
    actions = pq.read_table(whole)
    half = actions.num_rows // 2
    for part, rows in ((1, actions.slice(0, half)), (2, actions.slice(half))):
        pq.write_table(rows, log / f"{5:020}.checkpoint.{part:010}.{2:010}.parquet")
    whole.unlink()
    hint = json.loads((log / HINT).read_text())
    (log / HINT).write_text(json.dumps(hint))
    _, findings = verified(log)
    problem = next(finding["problem"] for finding in findings if finding["subject"] == "last_checkpoint")
    assert "has 1 file, but it has 2 files" in problem
    (log / HINT).write_text(json.dumps({**hint, "parts": 2}))
    _, findings = verified(log)
    assert all(finding["subject"] != "last_checkpoint" for finding in findings)


def test_advice_has_the_location_as_it_was_given(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (log / HINT).write_text("{")
    monkeypatch.chdir(log.parents[1])
    for given, shown in [("t", "t"), ("./t", "./t"), (str(log.parent), shlex.quote(str(log.parent))), ("delta:t", "t")]:
        findings = json.loads(run("verify", given, "--json").out)["findings"]
        assert findings[0]["advice"] == f"`lakerace verify {shown} --repair` mends it"
    [found] = lr.Table("t").verify().findings
    assert found.advice == '`Table("t").verify(repair=True)` mends it'
