"""Batches of writes of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from lakerace.files._store import IfExists, Store


class Batch:
    """Writes that become visible together, by :meth:`commit` or at the end of a `with`.

    They are kept in memory up to 8 MiB. More of them take the store for writing: others wait until the batch ends.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> with store.batch() as batch:
        ...     batch.put("d.txt", b"1")
        ...     batch.put("e.txt", b"2")
        >>> store.exists("e.txt")
        True
    """

    def __init__(self, store: Store) -> None:
        held = store._batch()
        self._held = held
        self.put: Callable[..., None] = held.put
        self.put_many: Callable[..., int] = held.put_many
        self.remove: Callable[[str], None] = held.remove

    def rename(self, source: str, target: str, *, if_exists: IfExists = "replace") -> None:
        """Renames a file, which must exist when the batch is committed.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> with store.batch() as batch:
            ...     batch.rename("notes.md", "README.md")
            >>> store.list()
            ['README.md', 'a/b.txt', 'a/c.txt']
        """
        self._held.rename(source, target, if_exists=if_exists)

    def commit(self) -> None:
        """Makes all of it visible.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> batch = store.batch()
            >>> batch.put("d.txt", b"1")
            >>> batch.commit()
            >>> store.get("d.txt")
            b'1'
        """
        self._held.commit()

    def discard(self) -> None:
        """Leaves the store as it was.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> batch = store.batch()
            >>> batch.remove("a/b.txt")
            >>> batch.discard()
            >>> store.exists("a/b.txt")
            True
        """
        self._held.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()
