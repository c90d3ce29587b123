"""The outcomes of a store's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    StatTuple: TypeAlias = tuple[str, int, int, int | None, str, str | None]


class Stat(NamedTuple):
    """A file's properties.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> stat = store.stat("a/b.txt")
        >>> stat.name, stat.size, stat.metadata
        ('a/b.txt', 5, None)
    """

    #: Its name, with `/` between folders.
    name: str
    #: The content's length in bytes.
    size: int
    #: When the content was put, in milliseconds since 1970-01-01 UTC.
    mtime_ms: int
    #: XXH3-64 of the content; of the stored bytes where it went through transforms. None in a directory.
    checksum: int | None
    #: How the content is stored: a codec, then transforms, `; ` between them.
    encoding: str
    #: The file's metadata, any value that JSON has.
    metadata: Any

    @property
    def mtime(self) -> float:
        """When the content was put, in seconds since 1970-01-01 UTC.

        Examples:
            >>> store = lr.files.Store("pack.db")
            >>> store.put("d.txt", b"dated", mtime_ms=1_767_225_600_000)
            >>> store.stat("d.txt").mtime
            1767225600.0
        """
        return self.mtime_ms / 1000


class Damage(NamedTuple):
    """A part of a store that is damaged.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> for damage in store.verify().damage:
        ...     print(damage.name, damage.problem)
    """

    #: The file, where its name is known.
    name: str | None
    #: The last name before the damage and the first one after it, if names themselves are lost.
    between: tuple[str | None, str | None] | None
    #: What is wrong.
    problem: str


class Verified(NamedTuple):
    """The outcome of :meth:`Store.verify`.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> verified = store.verify()
        >>> verified.files, verified.bytes, verified.damage
        (3, 16, [])
    """

    #: Files whose names could be read.
    files: int
    #: Bytes of the contents that are right.
    bytes: int
    #: Files that could only be held against the checksum of their stored bytes, as a key or a transform is missing.
    undecoded: int
    #: What is damaged.
    damage: list[Damage]
    #: Names that differ from their composed form (NFC), which is another file's name.
    alike: list[tuple[str, str]]


class Compacted(NamedTuple):
    """The outcome of :meth:`Store.compact`.

    Examples:
        >>> store = lr.files.Store("pack.db")
        >>> compacted = store.compact()
        >>> compacted.bytes_after <= compacted.bytes_before
        True
    """

    #: The store's bytes before.
    bytes_before: int
    #: The store's bytes now.
    bytes_after: int
    #: Contents that were encoded again, or moved to other blocks.
    rewritten: int
    #: Contents that no file referenced.
    orphans: int


def stat_from_tuple(values: StatTuple) -> Stat:
    """The properties of a file as the native store gives them, with the metadata parsed."""
    name, size, mtime_ms, checksum, encoding, metadata = values
    import json

    return Stat(name, size, mtime_ms, checksum, encoding, None if metadata is None else json.loads(metadata))
