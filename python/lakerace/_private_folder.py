"""A folder for temporary files that only its user may enter, and that the next process removes if this one is killed."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import shutil
import tempfile

from lakerace._errors import UnavailableError, told

#: How the folders are called, before the id of the process.
PRIVATE_PREFIX = "lakerace-sql-"

#: The name of such a folder, as `tempfile` completes it.
_NAME = re.compile(rf"{PRIVATE_PREFIX}[0-9]+-[a-z0-9_]{{8}}")

#: The folders of this process, by the system's folder that they are in, each with the descriptor that holds its lock.
_FOLDERS: dict[str, tuple[str, int]] = {}


def private_folder() -> str:
    """The folder of this process in the system's folder for temporary files. The umask does not change who may enter it.

    The first call in a process removes the folders of this user's processes that were killed. One thread calls it at a time.

    Raises:
        UnavailableError: The folder cannot be made.
    """
    system = tempfile.gettempdir()
    path, descriptor = _FOLDERS.get(system, ("", -1))
    if os.path.isdir(path):
        return path
    try:
        if descriptor >= 0:
            os.close(descriptor)
            del _FOLDERS[system]
        _remove_left_folders(system)
        _FOLDERS[system] = _locked_folder(system)
    except OSError as error:
        message = f"no folder for temporary files: {error.strerror}"
        raise told(UnavailableError, message, system, "set TMPDIR to a folder that can be written to") from error
    return _FOLDERS[system][0]


def _locked_folder(system: str) -> tuple[str, int]:
    """A new folder in `system`, and the descriptor that holds its lock until the process ends."""
    while True:
        path = tempfile.mkdtemp(prefix=f"{PRIVATE_PREFIX}{os.getpid()}-", dir=system)
        # Another process may take a folder without a lock for one that was left, and remove it.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            if _is_locked(descriptor) and os.path.isdir(path):
                return path, descriptor
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Takes the lock of a folder, which no other process has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_left_folders(system: str) -> None:
    """Removes the folders in `system` of this user's processes that have ended."""
    with os.scandir(system) as entries:
        left = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
    for path in left:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.getuid() and _is_locked(descriptor):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _leave_to_parent() -> None:
    """In a forked process: the folders are the parent's."""
    for _, descriptor in _FOLDERS.values():
        os.close(descriptor)
    _FOLDERS.clear()


def _remove_private_folders() -> None:
    """Removes the folders of this process, except one that has files."""
    while _FOLDERS:
        _, (path, descriptor) = _FOLDERS.popitem()
        with contextlib.suppress(OSError):
            os.rmdir(path)
        os.close(descriptor)


os.register_at_fork(after_in_child=_leave_to_parent)
atexit.register(_remove_private_folders)
