"""SIGTERM as an exception, which ends all started processes; delayed while a process is not yet registered."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Termination:
    """The number of blocks that delay the exception, and the signal that came during them."""

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
