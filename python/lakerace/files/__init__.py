"""Small files by the million in one file.

A path names a SQLite file. A path that ends in `/` or is a directory names a directory, and `memory:` is in memory.

Examples:
    >>> import lakerace as lr
    >>> store = lr.files.Store("new.db")
    >>> store.put("a/b.txt", b"hello")
    >>> with store.open("a/c.txt", "w") as file:
    ...     length = file.write("text")
    >>> store.get_many(["a/b.txt", "a/c.txt"])
    {'a/b.txt': b'hello', 'a/c.txt': b'text'}
"""

from lakerace.files._batch import Batch
from lakerace.files._path import Path
from lakerace.files._store import Snapshot, Store
from lakerace.files._store_results import Compacted, Damage, Stat, Verified

__all__ = ["Batch", "Compacted", "Damage", "Path", "Snapshot", "Stat", "Store", "Verified"]
