"""Delta tables by lakerace: made, changed and compacted by its command, run in this process; scanned as an Arrow stream."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import contest


def create(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace copy` into a new table that knows its key, and so has its rows in the order of keys."""
    properties = [f"lakerace.primaryKey={job['key']}", "delta.enableDeletionVectors=true"]
    options = [word for name in properties for word in ("--table-property", name)]
    return _command(job, "copy", job["source"], _table(job), *options)


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace upsert`, timed with the compaction after it, or with files written according to the setting."""
    options = ["--auto-compact"] if job["options"].get("auto_compact") else []
    if "io" in job["options"]:
        if job["s3"]:
            raise contest.UnableError("how files of this machine are written is nothing to S3")
        options += ["--io", job["options"]["io"]]
        _check_io(job["options"]["io"], os.path.dirname(job["table"]))
    return _command(job, "upsert", _table(job), job["source"], "--key", job["key"], *options)


def compact(job: dict[str, Any]) -> contest.Prepared:
    """`lakerace compact`."""
    return _command(job, "compact", _table(job))


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives."""
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
    options = ["--format", job["format"], "--tables", ",".join(job["tables"])]
    if "mode" in job["options"]:
        options += ["--mode", job["options"]["mode"]]
    if "io" in job["options"]:
        way = job["options"]["io"]
        options += ["--io", way]
        _check_io(way, os.path.dirname(job["output"]))
    options += ["--compression", job["codec"]]
    if job["format"] == "parquet":
        options += ["--row-group-rows", str(job["row_group_rows"])]
    return _command(job, "tpch", "-s", str(job["scale"]), "-o", job["output"], *options)


def _command(job: dict[str, Any], name: str, *rest: str) -> contest.Prepared:
    """The command with what all of them take."""
    import lakerace as lr

    if _quietly([name, *rest, "--help"])[0] != 0:
        raise contest.UnableError(f"this lakerace has no command `{' '.join([name, *rest])}`")
    arguments = [name, *rest, "--threads", str(job["threads"]), "--json"]
    for setting in _storage(job).items():
        arguments += ["--storage-option", "=".join(setting)]

    def work() -> None:
        code = _run(arguments)
        if code != 0:
            raise SystemExit(code)  # it has said why

    return contest.Prepared(lr.__version__, work, {"command": ["lakerace", name, *rest], "threads": job["threads"]})


def _check_io(way: str, place: str) -> None:
    """Says that it cannot, where files in this folder would be written in another way than this."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        code, said = _quietly(["tpch", "-s", "0.001", "--tables", "region", "-o", folder, "--io", way, "--json"])
    if code != 0:
        raise contest.UnableError(f"this lakerace does not write by {way}")
    taken = json.loads(said.splitlines()[-1])["io"]
    if taken != way:
        raise contest.UnableError(
            f"{way} is not to be had on this file system or kernel: files would be written by {taken}"
        )


def _run(arguments: list[str]) -> int:
    from lakerace import _lakerace

    return int(_lakerace.run(["lakerace", *arguments], lambda _: 2))


def _quietly(arguments: list[str]) -> tuple[int, str]:
    """The command's exit code, and what it printed."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    with tempfile.TemporaryFile("w+") as printed:
        try:
            for number, _ in kept:
                os.dup2(printed.fileno(), number)
            code = _run(arguments)
        finally:
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)
        printed.seek(0)
        return code, printed.read()


def _table(job: dict[str, Any]) -> str:
    s3 = job["s3"]
    return f"delta:s3://{s3['bucket']}/{s3['key']}" if s3 else f"delta:{job['table']}"


def _storage(job: dict[str, Any]) -> dict[str, str]:
    return contest.object_store(job["s3"]) if job.get("s3") else {}
