"""Names in a store as paths."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakerace.files._store import Store
    from lakerace.files._store_results import Stat


class Path:
    """A name in a store, with what :class:`pathlib.Path` has. Folders are there while files are in them.

    Examples:
        >>> path = lr.files.Store("pack.db") / "a"
        >>> (path / "b.txt").read_text()
        'hello'
    """

    __slots__ = ("_pure", "store")

    def __init__(self, store: Store, name: str | PurePosixPath = "") -> None:
        self.store = store
        self._pure = PurePosixPath(name)

    def __truediv__(self, part: str) -> Path:
        return Path(self.store, self._pure / part)

    def __str__(self) -> str:
        name = str(self._pure)
        return "" if name == "." else name

    def __repr__(self) -> str:
        return f"Path({self.store!r}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and (self.store, self._pure) == (other.store, other._pure)

    def __hash__(self) -> int:
        return hash((id(self.store), self._pure))

    def __lt__(self, other: Path) -> bool:
        return self._pure < other._pure

    @property
    def name(self) -> str:
        """The last part.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.name
            'b.txt'
        """
        return self._pure.name

    @property
    def stem(self) -> str:
        """The last part without its ending.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.stem
            'b'
        """
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The ending of the last part.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.suffix
            '.txt'
        """
        return self._pure.suffix

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.parts
            ('a', 'b.txt')
        """
        return self._pure.parts

    @property
    def parent(self) -> Path:
        """The folder that it is in.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> str(path.parent)
            'a'
        """
        return Path(self.store, self._pure.parent)

    def with_name(self, name: str) -> Path:
        """The same with another last part.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> str(path.with_name("c.txt"))
            'a/c.txt'
        """
        return Path(self.store, self._pure.with_name(name))

    def with_suffix(self, suffix: str) -> Path:
        """The same with another ending.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> str(path.with_suffix(".md"))
            'a/b.md'
        """
        return Path(self.store, self._pure.with_suffix(suffix))

    def joinpath(self, *parts: str) -> Path:
        """The same with more parts.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> str(path.joinpath("x", "y.txt"))
            'a/x/y.txt'
        """
        return Path(self.store, self._pure.joinpath(*parts))

    def exists(self) -> bool:
        """Whether there is a file or a folder of this name.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> path.exists()
            True
        """
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether there is a file of this name.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> path.is_file(), (path / "b.txt").is_file()
            (False, True)
        """
        return self.store.exists(str(self))

    def is_dir(self) -> bool:
        """Whether files are below this name; the root always is a folder.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> path.is_dir(), (path / "b.txt").is_dir()
            (True, False)
        """
        return not str(self) or bool(self.store._list(f"{self}/", "", 1))

    def stat(self) -> Stat:
        """The file's properties.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.stat().size
            5
        """
        return self.store.stat(str(self))

    def read_bytes(self) -> bytes:
        """The content.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.read_bytes()
            b'hello'
        """
        return self.store.get(str(self))

    def read_text(self, encoding: str = "utf-8") -> str:
        """The content as text.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.read_text()
            'hello'
        """
        return self.store.read_text(str(self), encoding)

    def write_bytes(self, data: bytes) -> int:
        """Puts a content; gives its length.

        Examples:
            >>> path = lr.files.Store("pack.db") / "d.bin"
            >>> path.write_bytes(b"1234")
            4
        """
        self.store.put(str(self), data)
        return len(data)

    def write_text(self, text: str, encoding: str = "utf-8") -> int:
        """Puts a text; gives its length in characters.

        Examples:
            >>> path = lr.files.Store("pack.db") / "d.txt"
            >>> path.write_text("text")
            4
        """
        self.store.put_text(str(self), text, encoding)
        return len(text)

    def open(self, mode: str = "r", buffering: int = -1, encoding: str | None = None, **options: Any) -> IO[Any]:
        """Opens the file as :meth:`Store.open` does.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> with path.open() as file:
            ...     file.read()
            'hello'
        """
        return self.store.open(str(self), mode, buffering, encoding, **options)

    def iterdir(self) -> Iterator[Path]:
        """What is directly in the folder.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> [str(one) for one in path.iterdir()]
            ['a/b.txt', 'a/c.txt']
        """
        return (Path(self.store, name) for name, _ in self.store.children(str(self)))

    def glob(self, pattern: str) -> Iterator[Path]:
        """The files below of a pattern.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a"
            >>> [one.name for one in path.glob("*.txt")]
            ['b.txt', 'c.txt']
        """
        start = re.sub(r"[\[\]*?{}\\]", r"\\\g<0>", f"{self}/") if str(self) else ""
        return (Path(self.store, name) for name in self.store.glob(start + pattern))

    def rglob(self, pattern: str) -> Iterator[Path]:
        """The files below, in any folder, of a pattern.

        Examples:
            >>> path = lr.files.Store("pack.db").path()
            >>> [str(one) for one in path.rglob("*.txt")]
            ['a/b.txt', 'a/c.txt']
        """
        return self.glob(f"**/{pattern}")

    def unlink(self, missing_ok: bool = False) -> None:
        """Removes the file.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> path.unlink()
            >>> path.exists()
            False
        """
        if not missing_ok or self.is_file():
            self.store.remove(str(self))

    def rename(self, target: str | Path) -> Path:
        """Renames the file; one that has the name is replaced.

        Examples:
            >>> path = lr.files.Store("pack.db") / "a/b.txt"
            >>> str(path.rename("a/d.txt"))
            'a/d.txt'
        """
        made = target if isinstance(target, Path) else Path(self.store, target)
        self.store.rename(str(self), str(made))
        return made

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Does nothing: a folder exists while files are in it.

        Examples:
            >>> path = lr.files.Store("pack.db") / "new"
            >>> path.mkdir()
            >>> path.exists()
            False
        """
