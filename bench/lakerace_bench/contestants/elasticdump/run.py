"""elasticdump: JSON lines into an index."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import contest
import loads
from install import VERSION

_PROGRAM = f"{sys.prefix}/node/node_modules/.bin/elasticdump"
#: The most that Elasticsearch returns per request.
_MOST_ROWS = 10_000
#: The server of the bench, which is made of jars, does not answer `GET /`: it must not be asked for its version.
_UNASKED = "--openSearchServerless"


def load(job: dict[str, Any]) -> contest.Prepared:
    """The lines of a file into an index. The file is written before, as elasticdump itself would write it."""
    folder = tempfile.mkdtemp(dir=Path(job["input"]).parent, prefix="sample-")
    lines = Path(folder) / "rows.json"
    with lines.open("w") as file:
        for batch in loads.source(job | {"batch_rows": _MOST_ROWS})():
            for row in batch.to_pylist():
                file.write(json.dumps({"_source": row}, default=_text) + "\n")
    _make_index(job)
    rows = min(job["batch_rows"] or _MOST_ROWS, _MOST_ROWS)
    arguments = [f"--input={lines}", f"--output={_url(job)}", "--type=data", f"--limit={rows}", _UNASKED]

    def work() -> None:
        _run(arguments)
        lines.unlink()
        lines.parent.rmdir()

    return contest.Prepared(VERSION, work, {"arguments": arguments[2:]})


def _make_index(job: dict[str, Any]) -> None:
    """An empty index with the mapping that everybody has."""
    settings = {"number_of_replicas": 0, "refresh_interval": "-1"}
    body = json.dumps({"mappings": loads.mapping(loads.schema(job)), "settings": settings}).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(_url(job), body, headers, method="PUT"), timeout=60):
        pass


def _run(arguments: list[str]) -> None:
    done = subprocess.run([_PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise SystemExit(next((line for line in lines if "Error" in line), lines[-1]))


def _url(job: dict[str, Any]) -> str:
    return f"{job['place']['endpoint']}/{job['place']['index']}"


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value.isoformat())


if __name__ == "__main__":
    contest.main({"load": load})
