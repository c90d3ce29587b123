"""Asking Spark: it takes longer to start than to answer, so all questions go to one process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import read_orc

from lakerace_bench import contestant


def ask(program: str, questions: list[Any], of: str = "spark") -> list[Any]:
    """The answers of a program beside this file, which the Python of a contestant's environment runs."""
    python, session = contestant.named(of).python(), contestant.named("spark").folder
    done = subprocess.run(
        [str(python), str(Path(__file__).parent / program), str(session)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "TZ": "UTC"},
    )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def plain(value: Any, kind: pa.DataType) -> Any:
    """A value of pyarrow's as `read_orc` gives Spark's."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [plain(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return [[plain(key, kind.key_type), plain(item, kind.item_type)] for key, item in value]
    if pa.types.is_struct(kind):
        return [plain(value[field.name], field.type) for field in kind]
    return read_orc.scalar(value)


def rows(table: pa.Table) -> list[list[Any]]:
    """The rows of a table as `read_orc` gives Spark's."""
    columns = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_timestamp(kind):
            kind = pa.int64()
            column = column.cast(pa.timestamp("us"), safe=False).cast(kind)  # noqa: PLW2901
        columns.append([plain(value, kind) for value in column.to_pylist()])
    return [list(row) for row in zip(*columns, strict=True)]
