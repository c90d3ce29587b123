"""The progress of a call: a line on a terminal, or a bar in a notebook."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakerace import _lakerace
from lakerace._job import current_job, job_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds between two looks at the job.
_LOOK_SECONDS = 0.1
_BAR_CHARACTERS = 24


@contextmanager
def progress_shown(is_wanted: bool, job: _lakerace.Job | None = None) -> Iterator[None]:
    """Shows the progress of a job until the calls within end: of `job`, which a scan was opened with, else of one that they get. Where
    standard error is neither a terminal nor a notebook's, nothing is drawn."""
    display = _display() if is_wanted else None
    if display is None:
        yield
        return
    shown = job or current_job() or _lakerace.Job()
    has_ended = threading.Event()

    def draw() -> None:
        while not has_ended.wait(_LOOK_SECONDS):
            display.show(*shown.progress())

    thread = threading.Thread(target=draw, name="lakerace-progress", daemon=True)
    thread.start()
    try:
        if job is None:
            with job_scope(shown):
                yield
        else:
            yield
    finally:
        has_ended.set()
        thread.join()
        display.clear()


def _display() -> NotebookBar | TerminalLine | None:
    shell = sys.modules.get("IPython")
    if shell is not None:
        ipython = shell.get_ipython()
        if ipython is not None and "IPKernelApp" in ipython.config:
            return NotebookBar()
    return TerminalLine() if sys.stderr.isatty() else None


def progress_text(share: float | None, rows: int, bytes_read: int, bytes_written: int) -> str:
    """`12 %  5,000 rows  1.2 MB read  0.5 MB written`. The end of the rows is not that of the call, so it is never 100 %."""
    parts = [] if share is None else [f"{min(int(share * 100), 99):3} %"]
    parts.append(f"{rows:,} row{'' if rows == 1 else 's'}")
    parts.append(f"{bytes_read / 1e6:,.1f} MB read")
    if bytes_written:
        parts.append(f"{bytes_written / 1e6:,.1f} MB written")
    return "  ".join(parts)


class TerminalLine:
    """A line on standard error that is drawn again and again."""

    def __init__(self) -> None:
        self._is_drawn = False

    def show(self, share: float | None, rows: int, bytes_read: int, bytes_written: int) -> None:
        """Draws the line."""
        done = 0 if share is None else min(int(share * _BAR_CHARACTERS), _BAR_CHARACTERS - 1)
        bar = "" if share is None else f"{'█' * done}{'░' * (_BAR_CHARACTERS - done)} "
        sys.stderr.write(f"\r\x1b[K{bar}{progress_text(share, rows, bytes_read, bytes_written)}")
        sys.stderr.flush()
        self._is_drawn = True

    def clear(self) -> None:
        """Removes the line."""
        if self._is_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class NotebookBar:
    """A bar below the cell of a notebook."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display(self._html(None, ""), display_id=True)

    @staticmethod
    def _html(share: float | None, text: str) -> Any:
        from IPython.display import HTML

        value = "" if share is None else f' value="{min(share, 0.99):.3f}"'
        return HTML(f"<progress{value}></progress> <small>{text}</small>")

    def show(self, share: float | None, rows: int, bytes_read: int, bytes_written: int) -> None:
        """Draws the bar."""
        self._handle.update(self._html(share, progress_text(share, rows, bytes_read, bytes_written)))

    def clear(self) -> None:
        """Removes the bar."""
        from IPython.display import HTML

        self._handle.update(HTML(""))
