"""The contestant's side of the bench's protocol, for contestants written in Python.

A contestant is a process that reads JSON lines on stdin and answers with JSON lines on stdout:

| the bench says     | the contestant does             | and answers                                          |
| ------------------ | ------------------------------- | ---------------------------------------------------- |
| the job            | imports, prepares (input)       | `{"event": "ready", "version": …, "options": …}`     |
| `{"do": "run"}`    | the measured section            | `{"event": "done", "seconds": …}`                    |
| `{"do": "verify"}` | looks at what it holds          | `{"event": "verified", "rows": …, "checksum": …, …}` |

Between the lines the process waits, so that the bench measures CPU, memory and requests of the measured section alone,
from outside. What cannot be done is answered by `{"event": "unable", "why": …}` at any point. After the last answer the
next job may come (where the contestant `stays`), or the end of stdin.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


class UnableError(Exception):
    """This contestant cannot do the job; the message says why and becomes the row in the report."""


@dataclass
class Prepared:
    """A job that is ready to run: `work` is the measured section; `hold` turns its result into Arrow to be verified."""

    version: str
    work: Callable[[], Any]
    #: The options that are in effect, as read back from the library where it can tell.
    options: dict[str, Any] = field(default_factory=dict)
    #: Gives the result as something that duckdb scans (Arrow); None for a job that writes a file.
    hold: Callable[[Any], Any] | None = None
    #: Gives the answer to `verify` itself, where the result is nothing that duckdb scans.
    look: Callable[[Any], dict[str, Any]] | None = None
    #: Asked after the work: what really ran (a plan, as text).
    plan: Callable[[], str | None] = lambda: None


def main(jobs: dict[str, Callable[[dict[str, Any]], Prepared]]) -> None:
    """Runs the jobs that stdin names; `jobs` maps a job's kind to the function that prepares it."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with the protocol

    def say(event: str, **what: Any) -> None:
        answers.write(json.dumps({"event": event, **what}) + "\n")
        answers.flush()

    while line := sys.stdin.readline():
        try:
            _serve(json.loads(line), jobs, say)
        except UnableError as why:
            say("unable", why=str(why))


def _serve(
    job: dict[str, Any], jobs: dict[str, Callable[[dict[str, Any]], Prepared]], say: Callable[..., None]
) -> None:
    prepare = jobs.get(job["kind"])
    if prepare is None:
        raise UnableError(f"has no job `{job['kind']}`")
    prepared = prepare(job)
    for _ in range(job.get("reads_before", 0)):
        prepared.work()
    say("ready", version=prepared.version, options=prepared.options)
    _expect("run")
    begin = time.perf_counter()
    result = prepared.work() if job.get("measured", True) else None
    seconds = time.perf_counter() - begin
    say("done", seconds=seconds)
    _expect("verify")
    with _all_cpus():
        plan = prepared.plan() if job.get("explain", True) else None
        if not job.get("looked_at", True):
            say("verified", plan=plan, **_count(result))
        elif prepared.look is not None:
            say("verified", plan=plan, **prepared.look(result))
        elif prepared.hold is None:
            say("verified", plan=plan)
        else:
            import verify  # loads duckdb, which must not count as the contestant's memory

            say("verified", plan=plan, **verify.held(prepared.hold(result)))


def _count(result: Any) -> dict[str, int]:
    """The rows that a read has returned, if its result has their number."""
    rows = result if isinstance(result, int) else getattr(result, "num_rows", None)
    return {} if rows is None else {"counted": rows}


def object_store(s3: dict[str, str]) -> dict[str, str]:
    """The settings of a job's S3 by the names of the Rust crate `object_store`, which many tools take."""
    return {
        "aws_access_key_id": s3["access_key"],
        "aws_secret_access_key": s3["secret_key"],
        "aws_region": s3["region"],
        "aws_endpoint_url": f"http://{s3['endpoint']}",
        "aws_allow_http": "true",
    }


@contextmanager
def _all_cpus() -> Iterator[None]:
    """Verifying may use the whole machine: it is in no number."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def _expect(what: str) -> None:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)  # the bench has gone
    if json.loads(line).get("do") != what:
        raise ValueError(f"expected {what!r}, got {line!r}")
