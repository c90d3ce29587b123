"""SIGTERM as an exception, which ends what has been started; it waits while something is started that nobody knows of yet."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Termination:
    """How many blocks hold the exception back, and the signal that came meanwhile."""

    def __init__(self) -> None:
        self.holders = 0
        self.asked: int | None = None

    def on_signal(self, number: int, _: FrameType | None) -> None:
        self.asked = number
        self.end_if_asked()

    def end_if_asked(self) -> None:
        if self.asked is not None and not self.holders:
            number, self.asked = self.asked, None
            sys.exit(128 + number)


_TERMINATION = _Termination()


def raises() -> None:
    """From now on, SIGTERM raises `SystemExit` in the main thread (whose call this must be)."""
    signal.signal(signal.SIGTERM, _TERMINATION.on_signal)


@contextmanager
def held() -> Iterator[None]:
    """Keeps the exception back until the end of the block.

    Without it, what a call has just made (a process, a folder) would be lost between the call and the assignment of its
    result. The block is to be short, and inside the `try` whose `finally` ends what was made.
    """
    _TERMINATION.holders += 1
    try:
        yield
    finally:
        _TERMINATION.holders -= 1
        _TERMINATION.end_if_asked()
