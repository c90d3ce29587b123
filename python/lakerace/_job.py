"""The job of the calls that run now: what cancels them, and what tells their progress."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakerace import _lakerace

_CURRENT: ContextVar[_lakerace.Job | None] = ContextVar("lakerace_job", default=None)


@contextmanager
def job_scope(job: _lakerace.Job) -> Iterator[None]:
    """Gives a job to all native calls of this context."""
    token = _CURRENT.set(job)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_job() -> _lakerace.Job | None:
    """The job of this context."""
    return _CURRENT.get()


def with_job(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a native call, with the job of this context."""
    job = _CURRENT.get()
    return dict(options) if job is None else {**options, "job": job}
