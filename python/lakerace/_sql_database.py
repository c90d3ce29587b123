"""Databases of duckdb for queries. A start takes longer than a small query, so one without queries waits for the next."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
import re
import tempfile
import threading
import weakref
from typing import TYPE_CHECKING, Any

import duckdb

from lakerace._errors import UsageError
from lakerace._private_folder import private_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Threads of a query at most, as of the command.
MAX_THREADS = 1024

#: Databases that may have been started.
_DATABASES: weakref.WeakSet[QueryDatabase] = weakref.WeakSet()
#: Connections in use, by their ids.
OPEN_CONNECTIONS: dict[int, duckdb.DuckDBPyConnection] = {}
#: Started databases without queries, at most one for each set of limits.
_IDLE: dict[tuple[Any, ...], _StartedDatabase] = {}
#: Held by a thread that starts a database, and by one that forks: in the new process, a lock of duckdb that another thread
#: had would stay locked.
_STARTING = threading.RLock()
#: The number of a database in this process, which is the name of its folder.
_NUMBERS = itertools.count()

#: The kind of an error, before its message.
ERROR_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


def message_of(error: BaseException) -> str:
    """duckdb's message in one line, without its kind."""
    text = str(error).split("\n\nLINE ")[0].split("\nPossible solutions:")[0].strip()
    return " ".join(ERROR_KIND.sub("", text).split())


def _await_starts() -> None:
    """Before a fork: waits for databases that are being started, and closes those without queries."""
    _STARTING.acquire()
    close_idle_databases()


def _leave_to_parent() -> None:
    """In a forked process: a database does not work there, and closing it crashes, as its threads are in the other process.
    So it is never freed."""
    for database in _DATABASES:
        if database.started is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(database.started.connection))
            database.started = None
    for connection in OPEN_CONNECTIONS.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    OPEN_CONNECTIONS.clear()
    _STARTING.release()


def close_idle_databases() -> None:
    """Closes the databases without queries, with their threads."""
    while _IDLE:
        _, started = _IDLE.popitem()
        started.connection.close()


# Python warns of a process with threads that forks.
os.register_at_fork(before=_await_starts, after_in_parent=_STARTING.release, after_in_child=_leave_to_parent)


class _StartedDatabase:
    """A database in memory, by its first connection, and the folder for what does not fit into memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: str) -> None:
        self.connection = connection
        self.folder = folder


class QueryDatabase:
    """A database in memory for the runs of a query, which share its limits. Each run has a connection of its own."""

    def __init__(self, limits: Mapping[str, Any]) -> None:
        self._limits = limits
        self._key = (limits["threads"], limits["memory_limit"], tempfile.gettempdir())
        self._lock = threading.Lock()
        self.started: _StartedDatabase | None = None
        _DATABASES.add(self)

    def __del__(self) -> None:
        started = getattr(self, "started", None)
        # One that has written files closes now, which removes their folder.
        if started is not None and not _Ending.has_begun and not os.path.exists(started.folder):
            _IDLE.setdefault(self._key, started)

    def connected(self) -> duckdb.DuckDBPyConnection:
        """A new connection. The first one starts the database, unless one with these limits waits."""
        with self._lock:
            if self.started is None:
                self.started = _IDLE.pop(self._key, None) or self._start()
            connection = self.started.connection.cursor()
        connection.execute("SET TimeZone = 'UTC'")
        # duckdb draws on standard output.
        connection.execute("SET enable_progress_bar = false")
        return connection

    def discard(self) -> None:
        """The next connection is one of a new database: an internal error of duckdb makes the whole of one useless."""
        with self._lock:
            self.started = None

    def _start(self) -> _StartedDatabase:
        # What is read goes through lakerace: duckdb opens no files, and finds no variables of Python.
        config: dict[str, Any] = {"python_enable_replacements": False}
        if self._limits["threads"] is not None:
            if self._limits["threads"] > MAX_THREADS:
                raise UsageError(f"threads={self._limits['threads']}: at most {MAX_THREADS}")
            config["threads"] = self._limits["threads"]
        with _STARTING:
            # duckdb makes it when it has to, and removes it.
            folder = os.path.join(private_folder(), str(next(_NUMBERS)))
            connection = duckdb.connect(config=config)
        try:
            connection.execute("SET temp_directory = ?", [folder])
            self._set_memory(connection)
            connection.execute("SET enable_external_access = false")
        except BaseException:
            connection.close()
            raise
        return _StartedDatabase(connection, folder)

    def _set_memory(self, connection: duckdb.DuckDBPyConnection) -> None:
        limit = self._limits["memory_limit"]
        if limit is None:
            return
        if str(limit).isdecimal():
            limit = int(limit)
        if str(limit).strip().startswith("-") or limit == 0:
            raise UsageError(f"memory_limit={limit!r}: not above 0")
        try:
            connection.execute("SET memory_limit = ?", [f"{limit}B" if isinstance(limit, int) else limit])
        except duckdb.Error as error:
            raise UsageError(f"memory_limit={limit!r}: {message_of(error)}") from error


class _Ending:
    """The end of the program."""

    has_begun = False


def _end() -> None:
    """duckdb complains of databases that are left at the end of the program."""
    _Ending.has_begun = True
    close_idle_databases()


atexit.register(_end)
