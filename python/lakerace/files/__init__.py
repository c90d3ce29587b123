"""Small files by the million in one file.

    import lakerace as lr

    store = lr.files.Store("pack.db")
    store.put("a/b.txt", b"hello")
    with store.open("a/c.txt", "w") as file:
        file.write("text")
    store.get_many(["a/b.txt", "a/c.txt"])

A path names a SQLite file. A path that ends in `/` or is a directory names a directory, and `memory:` is in memory.
"""

from lakerace.files._path import Path
from lakerace.files._store import Batch, Compacted, Damage, Snapshot, Stat, Store, Verified

__all__ = ["Batch", "Compacted", "Damage", "Path", "Snapshot", "Stat", "Store", "Verified"]
