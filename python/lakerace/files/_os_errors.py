"""Errors of files as the operating system would raise them."""

from __future__ import annotations

import os


def os_error(number: int, name: object) -> OSError:
    """The error of an `errno`, in Python's class for it, with the name of its file."""
    return OSError(number, os.strerror(number), name)
