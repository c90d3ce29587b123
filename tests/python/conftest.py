"""What the tests share: the command, a few tables, and an S3 server."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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
