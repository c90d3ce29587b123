"""Loads the native module on a thread that lives as long as the process.

mimalloc, the allocator of the native module, takes the thread that loads it for the main thread, and its memory for gone when that thread
ends. A later thread may get the same identity, and would allocate from what is gone.
"""

from __future__ import annotations

import importlib
import threading

_NAME = "lakerace._lakerace"


class _Loader(threading.Thread):
    """Imports the module, and then waits for ever."""

    def __init__(self) -> None:
        super().__init__(name="lakerace-native", daemon=True)
        self.has_ended = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Imports the module."""
        try:
            importlib.import_module(_NAME)
        except BaseException as failure:
            self.failure = failure
            return
        finally:
            self.has_ended.set()
        threading.Event().wait()


def load() -> None:
    """Imports the native module: here if this is the main thread, else on a thread of its own."""
    if threading.current_thread() is threading.main_thread():
        importlib.import_module(_NAME)
        return
    loader = _Loader()
    loader.start()
    loader.has_ended.wait()
    if loader.failure is not None:
        raise loader.failure


load()
