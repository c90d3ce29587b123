"""Delta tables by lakerace: made, changed and compacted by its command, run in this process; scanned as an Arrow stream."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import contest


def create(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace copy` into a new table."""
    return _command(job, "copy", job["source"], _table(job))


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace upsert`."""
    return _command(job, "upsert", _table(job), job["source"], "--key", job["key"])


def compact(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace compact`."""
    return _command(job, "compact", _table(job))


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each thrown away when the next one is there."""
    import pyarrow as pa

    import lakerace as lr

    def rows() -> Any:
        found = lr.scan(_table(job), storage_options=_storage(job), threads=job["threads"])
        return pa.RecordBatchReader.from_stream(found)

    return contest.Prepared(
        lr.__version__,
        lambda: sum(batch.num_rows for batch in rows()),
        {"threads": job["threads"]},
        hold=lambda _: rows(),
    )


def generate(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace tpch`, in the setting's mode, with the files written as it says."""
    options = ["--format", job["format"], "--tables", ",".join(job["tables"]), "--mode", job["options"]["mode"]]
    if "io" in job["options"]:
        options += ["--io", job["options"]["io"]]
    if job["codec"] != "none":
        options += ["--compression", job["codec"]]
    if job["format"] == "parquet":
        options += ["--row-group-rows", str(job["row_group_rows"])]
    return _command(job, "tpch", "-s", str(job["scale"]), "-o", job["output"], *options)


def _command(job: dict[str, Any], name: str, *rest: str) -> contest.Prepared:
    """The command with what all of them take."""
    import lakerace as lr
    from lakerace import _lakerace

    def run(arguments: list[str]) -> int:
        return int(_lakerace.run(["lakerace", *arguments], lambda _: 2))

    if _quietly(run, [name, *rest, "--help"]) != 0:
        raise contest.UnableError(f"this lakerace has no command `{' '.join([name, *rest])}`")
    arguments = [name, *rest, "--threads", str(job["threads"]), "--json"]
    for setting in _storage(job).items():
        arguments += ["--storage-option", "=".join(setting)]

    def work() -> None:
        code = run(arguments)
        if code != 0:
            raise SystemExit(code)  # it has said why

    return contest.Prepared(lr.__version__, work, {"command": ["lakerace", name, *rest], "threads": job["threads"]})


def _quietly(run: Any, arguments: list[str]) -> int:
    """Runs with nothing printed by whatever is below Python."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with tempfile.TemporaryFile() as nowhere:
        try:
            for number, _ in kept:
                os.dup2(nowhere.fileno(), number)
            return int(run(arguments))
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)


def _table(job: dict[str, Any]) -> str:
    s3 = job["s3"]
    return f"delta:s3://{s3['bucket']}/{s3['key']}" if s3 else f"delta:{job['table']}"


def _storage(job: dict[str, Any]) -> dict[str, str]:
    return contest.object_store(job["s3"]) if job.get("s3") else {}
