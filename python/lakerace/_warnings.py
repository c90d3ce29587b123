"""Warnings of jobs, issued at the line that called the package."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from lakerace._errors import LakeraceWarning
from lakerace._job import current_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from lakerace import _lakerace

#: Packages whose lines are not the caller's: this one, those that consume its streams, and those that run its calls.
_PASSED = frozenset(
    {
        "asyncio",
        "concurrent",
        "contextlib",
        "duckdb",
        "functools",
        "lakerace",
        "narwhals",
        "pandas",
        "polars",
        "pyarrow",
        "threading",
    }
)


#: A path in warnings, and the name that is put in its place.
_RENAMED: ContextVar[tuple[str, str]] = ContextVar("lakerace_renamed", default=("", ""))


#: What warnings become before they are issued.
_CHANGED: ContextVar[Callable[[str], str] | None] = ContextVar("lakerace_changed", default=None)


class CallerLine(NamedTuple):
    """A line of the caller's code."""

    file: str
    line: int
    module: str


def caller() -> CallerLine | None:
    """The innermost line that is not of this package or of one that it works for. `None` on a thread that has none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _PASSED:
            return CallerLine(frame.f_code.co_filename, frame.f_lineno, module)
        frame = frame.f_back
    return None


def issue(texts: Sequence[str], remembered: tuple[str, int, str] | None = None) -> None:
    """Issues warnings at the line of the caller: where this thread has none, at the line that was remembered."""
    issue_at(texts, caller() or remembered)


def issue_at(texts: Sequence[str], place: tuple[str, int, str] | None) -> None:
    """Issues warnings at a line of code."""
    file, line, module = place or CallerLine("lakerace", 0, "lakerace")
    registry = getattr(sys.modules.get(module), "__dict__", {}).setdefault("__warningregistry__", {})
    (path, name), change = _RENAMED.get(), _CHANGED.get()
    for text in texts:
        shown = text.replace(path, name) if path else text
        shown = shown if change is None else change(shown)
        warnings.warn_explicit(shown, LakeraceWarning, file, line, module, registry)


def issue_own(text: str) -> None:
    """Issues a warning of the package itself, or adds it to those of a job whose warnings are issued together."""
    job = current_job()
    if job is not None and job.has_reporter:
        job.add_warning(text)
    else:
        issue([text])


@contextmanager
def reported(job: _lakerace.Job) -> Iterator[None]:
    """Issues the warnings of a job when the calls within have ended. The error of a call takes precedence.

    A job of the context has its warnings issued by who made it.
    """
    if current_job() is job:
        yield
        return
    try:
        yield
    except BaseException:
        with suppress(LakeraceWarning):
            job.warn()
        raise
    job.warn()


@contextmanager
def changed_warnings(change: Callable[[str], str] | None) -> Iterator[None]:
    """Changes the texts of warnings that are issued within."""
    token = _CHANGED.set(change)
    try:
        yield
    finally:
        _CHANGED.reset(token)


@contextmanager
def renamed_in_warnings(path: str, name: str) -> Iterator[None]:
    """Puts a name in place of a path into the warnings of the calls within."""
    token = _RENAMED.set((path, name))
    try:
        yield
    finally:
        _RENAMED.reset(token)
        job = current_job()
        if job is not None and job.has_reporter:
            # They are issued later, where nothing is known of the path.
            for text in job.take_warnings():
                job.add_warning(text.replace(path, name))
