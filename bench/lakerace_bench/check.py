"""Did everybody do the same work? What a contestant holds or has written, against a reference made by other tools."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakerace_bench import kept, upserts
from lakerace_bench.contestant import KIT

if TYPE_CHECKING:
    from lakerace_bench.cases import Case


class CheckError(RuntimeError):
    """The reference itself could not be made, or its two readers disagree."""


class References:
    """What each case's result must be, asked once of duckdb and pyarrow."""

    def __init__(self, file_of: Callable[[Case], Path]) -> None:
        self._file_of = file_of
        self._known: dict[tuple[Any, ...], Any] = {}

    def of(self, case: Case, python: Path) -> dict[str, Any]:
        """The reference of `case`, by the duckdb of `python`, an interpreter (checksums differ between versions)."""
        table = self._file_of(case)
        key = (table, case.columns, case.where, python)
        if key not in self._known:
            columns = list(case.columns) if case.columns else None
            self._known[key] = ask(python, {"file": str(table), "columns": columns, "where": case.where})
        found: dict[str, Any] = self._known[key]
        return found

    def after_upserts(self, files: dict[str, Path], python: Path) -> list[dict[str, Any]]:
        """What a table must hold before the first and after each of `files`, by the duckdb of `python`.

        This takes a while, and is cached next to the files.
        """
        by = ask(python, {})
        sources = list(files.values())
        name = f"{sources[-1].stem}-after-{by.replace(' ', '-')}.json"
        shape = {"of": [kept.written_down(file) for file in sources], "by": by}

        def write(path: Path) -> str:
            question = {"upserts": [str(file) for file in sources], "key": upserts.KEY, "scratch": str(path.parent)}
            path.write_text(json.dumps(ask(python, question)))
            return str(by)

        key = ("upserts", sources[-1], python)
        if key not in self._known:
            path = kept.ensure(sources[0].with_name(name), shape, write)
            self._known[key] = json.loads(path.read_text())
        found: list[dict[str, Any]] = self._known[key]
        return found


def read_back(file: Path) -> dict[str, Any]:
    """The rows that lakerace reads from `file`, in a separate process."""
    found: dict[str, Any] = answer([sys.executable, "-m", "lakerace_bench.readback", str(file)], "")
    return found


def ask(python: Path, question: dict[str, Any]) -> Any:
    """Asks `kit/verify.py`, in a separate process."""
    return answer([str(python), str(KIT / "verify.py")], json.dumps(question))


def answer(command: list[str], question: str) -> Any:
    """What a program answers to a question on its stdin, as JSON."""
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["nothing on stderr"]
        raise CheckError(lines[-1])
    return json.loads(done.stdout)


def disagreement(reference: dict[str, Any], held: dict[str, Any]) -> str | None:
    """Returns how `held` differs from `reference`, or None where rows, types and checksum are the same."""
    for what in ("rows", "schema", "checked_by", "checksum"):
        if held.get(what) != reference.get(what):
            return f"{what}: {_short(held.get(what))} instead of {_short(reference.get(what))}"
    return None


def wrong_layout(written: dict[str, Any], codec: str, row_group_rows: int | None) -> str | None:
    """Returns how a written file's layout is not what was asked for, or None.

    Row groups may be up to a tenth larger than asked for (some writers round to their batches), not more. The stripes
    of ORC files are bounded in bytes, by each writer's own default.
    """
    if written["codecs"] != [codec.upper()]:
        return f"codecs: {', '.join(written['codecs'])} instead of {codec.upper()}"
    if row_group_rows is not None and written["largest_row_group_rows"] > row_group_rows * 1.1:
        return f"row groups: up to {written['largest_row_group_rows']} rows instead of {row_group_rows}"
    return None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
