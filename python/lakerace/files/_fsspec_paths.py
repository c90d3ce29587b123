"""Calls of fsspec that take names, folders and patterns, and act on many files."""

from __future__ import annotations

import errno
import os
from glob import has_magic
from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.implementations.local import LocalFileSystem, make_path_posix
from fsspec.utils import check_contained, other_paths

from lakerace._errors import UsageError
from lakerace.files._os_errors import os_error

if TYPE_CHECKING:
    from lakerace.files._store import Store

#: Contents that one `get_many` reads.
BULK = 1000


class PathCalls(AbstractFileSystem):  # type: ignore[misc]
    """What names, folders and patterns stand for. A name that exists is no pattern, whatever characters it has.

    Nothing is removed that was not moved: a folder does not go into itself, and files are renamed together.
    """

    store: Store
    _folders: set[str]

    def _is_folder(self, path: str) -> bool:
        raise NotImplementedError

    def _is_pattern(self, path: Any) -> bool:
        name = self._strip_protocol(path)
        return has_magic(name) and not self.exists(name)

    def _missing(self, name: str) -> OSError:
        """The error for a name that no file has."""
        return os_error(errno.EISDIR if self._is_folder(name) else errno.ENOENT, name)

    def expand_path(
        self,
        path: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        assume_literal: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """The names of files and folders that paths stand for: patterns, unless a file or folder has the name.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.expand_path("a/*.txt")
            ['a/b.txt', 'a/c.txt']
        """
        found: set[str] = set()
        for one in [path] if isinstance(path, (str, os.PathLike)) else path:
            is_literal = assume_literal or not self._is_pattern(one)
            try:
                found.update(super().expand_path([one], recursive, maxdepth, assume_literal=is_literal, **kwargs))
            except FileNotFoundError:
                continue
        if not found:
            raise os_error(errno.ENOENT, path)
        return sorted(found)

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        """The content of a name; those of a list, a pattern or a folder as a dict, read in bulk.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.cat("a/b.txt")
            b'hello'
            >>> fs.cat("a/*.txt")
            {'a/b.txt': b'hello', 'a/c.txt': b'text'}
        """
        if kwargs or not (isinstance(path, list) or recursive or self._is_pattern(path)):
            return super().cat(path, recursive=recursive, on_error=on_error, **kwargs)
        names = self.expand_path(path, recursive=recursive) if path != [] else []
        names = [name for name in names if self.store.exists(name)] if recursive else names
        found: dict[str, Any] = {}
        for at in range(0, len(names), BULK):
            part = names[at : at + BULK]
            got = self.store.get_many(part, missing="skip")
            for name in part:
                if name in got:
                    found[name] = got[name]
                elif on_error == "raise":
                    raise self._missing(name)
                elif on_error == "return":
                    found[name] = self._missing(name)
        return found

    def copy(
        self,
        path1: Any,
        path2: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        on_error: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Copies files in the store; folders by `recursive`.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.copy("a/", "copy", recursive=True)
            >>> fs.find("copy")
            ['copy/b.txt', 'copy/c.txt']
        """
        if not (isinstance(path1, list) and isinstance(path2, list)):
            # A pattern and a folder may name files that go meanwhile; those of a list are wanted.
            on_error = on_error or ("ignore" if recursive else "raise")
            path2 = os.fspath(path2) if isinstance(path2, os.PathLike) else path2
            is_folder = isinstance(path2, str) and self._names_folder(path2)
            path1, path2 = self._pairs(path1, path2, is_folder=is_folder, recursive=recursive, maxdepth=maxdepth)
            path2 = [self._strip_protocol(one) for one in path2]
        super().copy(path1, path2, on_error=on_error, **kwargs)

    def get(
        self,
        rpath: Any,
        lpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Copies files to local ones; folders by `recursive`.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.get("a/b.txt", "b.txt")
            >>> with open("b.txt") as file:
            ...     file.read()
            'hello'
        """
        if not (isinstance(rpath, list) and isinstance(lpath, list)):
            local = make_path_posix(os.fspath(lpath)) if isinstance(lpath, (str, os.PathLike)) else lpath
            is_folder = isinstance(local, str) and (local.endswith("/") or os.path.isdir(local))
            rpath, lpath = self._pairs(rpath, local, is_folder=is_folder, recursive=recursive, maxdepth=maxdepth)
            if isinstance(local, str):
                check_contained(local, lpath)
        super().get(rpath, lpath, callback=callback, **kwargs)

    def _pairs(
        self, source: Any, target: Any, *, is_folder: bool, recursive: bool, maxdepth: int | None
    ) -> tuple[list[str], list[str]]:
        """What a source stands for, and where each of it goes."""
        is_one = isinstance(source, (str, os.PathLike))
        is_pattern = is_one and self._is_pattern(source)
        sources = self.expand_path(source, recursive=recursive, maxdepth=maxdepth)
        if is_one and (not recursive or maxdepth is not None):
            sources = [name for name in sources if not self.isdir(name)]
        if not sources:
            return [], []
        goes_into = (
            len(sources) == 1 if is_pattern else is_folder and not os.fspath(source).endswith("/") if is_one else False
        )
        # With a slash in front, names of the root have a folder in common, too.
        found = other_paths([f"/{name}" for name in sources], target, exists=goes_into, flatten=not is_one)
        return sources, list(found)

    def put(
        self,
        lpath: Any,
        rpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Copies local files to the store; folders by `recursive`.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.put("site", "pages", recursive=True)
            >>> fs.find("pages")
            ['pages/css/main.css', 'pages/index.html']
        """
        if isinstance(lpath, str) and isinstance(rpath, str) and has_magic(lpath) and os.path.exists(lpath):
            local = LocalFileSystem()
            sources = local.expand_path([lpath], recursive=recursive, maxdepth=maxdepth, assume_literal=True)
            sources = sources if recursive and maxdepth is None else [one for one in sources if not os.path.isdir(one)]
            targets = _targets(sources, lpath, rpath, is_folder=self._names_folder(rpath))
            lpath, rpath = sources, [self._strip_protocol(one) for one in targets]
        super().put(lpath, rpath, recursive=recursive, callback=callback, maxdepth=maxdepth, **kwargs)

    def rm_file(self, path: str) -> None:
        """Removes a file.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.rm_file("a/b.txt")
            >>> fs.exists("a/b.txt")
            False
        """
        name = self._strip_protocol(path)
        if not name or not self.store.exists(name):
            raise self._missing(name)
        self.store.remove(name)

    def _rm(self, path: str) -> None:
        self.rm_file(path)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes files; folders with all that they hold, by `recursive`.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.rm("a", recursive=True)
            >>> fs.find("")
            ['notes.md']
        """
        for one in path if isinstance(path, list) else [path]:
            names = self.expand_path(one) if self._is_pattern(one) else [self._strip_protocol(one)]
            for name in names:
                if self._is_folder(name):
                    if not recursive:
                        raise IsAFolderError(errno.EISDIR, "a folder is removed with recursive=True only", name)
                elif not self.store.exists(name):
                    raise os_error(errno.ENOENT, name)
            for name in names:
                self._remove(name, recursive=recursive, maxdepth=maxdepth)

    def _remove(self, name: str, *, recursive: bool, maxdepth: int | None) -> None:
        if recursive and maxdepth is not None:
            for one in reversed(self.expand_path(name, recursive=True, maxdepth=maxdepth, assume_literal=True)):
                if one and self.store.exists(one):
                    self.store.remove(one)
                elif not self.store._list(f"{one}/", "", 1):
                    self._folders.discard(one)
            return
        if recursive and self._is_folder(name):
            self.store.remove_tree(name)
            self._folders = {one for one in tuple(self._folders) if not _is_below(one, name)}
        if name and self.store.exists(name):
            self.store.remove(name)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **kwargs: Any) -> None:
        """Renames files and folders, whose times and metadata stay; what is renamed by one call is renamed together.

        A folder goes with all that it holds, as on a local disk, whatever `recursive` says. A target that is a folder, or ends with `/`, is what
        the source goes into: a file or folder that has its name there already is an error. Only a source that ends with `/`, too, gets the name of
        a target that does not exist. A file that has the name of the target is replaced.

        Examples:
            >>> import fsspec
            >>> fs = fsspec.filesystem("lrfiles", store="pack.db")
            >>> fs.mv("a", "b")
            >>> fs.find("b")
            ['b/b.txt', 'b/c.txt']
        """
        if maxdepth is not None:
            raise UsageError("a folder is moved with all of its content (omit maxdepth)")
        pairs = [pair for pair in self._moves(path1, path2) if pair[0] != pair[1]]
        for source, target in pairs:
            if self._is_folder(source):
                self._check_folder_move(source, target)
        with self.store.batch() as batch:
            for source, target in pairs:
                for name in self._names_of(source):
                    batch.rename(name, target + name[len(source) :])
        for source, target in pairs:
            self._folders = {
                target + one[len(source) :] if _is_below(one, source) else one for one in tuple(self._folders)
            }

    def _moves(self, path1: Any, path2: Any) -> list[tuple[str, str]]:
        """Sources with their targets."""
        if isinstance(path1, list) and isinstance(path2, list):
            if len(path1) != len(path2):
                raise UsageError(f"{len(path1)} names to move, but {len(path2)} to move them to")
            sources = [self._strip_protocol(one) for one in path1]
            return [(self._known(one), self._strip_protocol(two)) for one, two in zip(sources, path2, strict=True)]
        target = self._strip_protocol(path2)
        is_many = isinstance(path1, list) or self._is_pattern(path1)
        if not is_many:
            source = self._known(self._strip_protocol(path1))
            if source == target:
                return []
            is_new_name = os.fspath(path1).endswith("/") and not self.exists(target)
            if is_new_name or not self._names_folder(path2):
                return [(source, target)]
            sources = [source]
        elif isinstance(path1, list):
            sources = [
                name
                for one in path1
                for name in (self.expand_path(one) if self._is_pattern(one) else [self._strip_protocol(one)])
            ]
        else:
            sources = self.expand_path(path1)
        sources = [self._known(one) for one in sources]
        # What is below a folder that is moved goes with it.
        sources = [one for one in sources if not any(one != other and _is_below(one, other) for other in sources)]
        start = f"{target}/" if target else ""
        pairs = [(one, f"{start}{one.rpartition('/')[2]}") for one in sources]
        for source, new in pairs:
            if source != new and self.exists(new):
                raise FileExistsError(errno.EEXIST, "the folder already has a file or folder with this name", new)
        if len({new for _, new in pairs}) < len(pairs):
            raise UsageError(f"{target}: files with the same name can't go into one folder")
        return pairs

    def _known(self, name: str) -> str:
        if not self.exists(name):
            raise os_error(errno.ENOENT, name)
        return name

    def _check_folder_move(self, source: str, target: str) -> None:
        if _is_below(target, source):
            raise OSError(errno.EINVAL, "a folder can't be moved into itself", source, None, target)
        if self.store.exists(target):
            raise os_error(errno.ENOTDIR, target)

    def _names_of(self, source: str) -> list[str]:
        """The files that go with a name: of it, and below it."""
        names: list[str] = self.store.list(f"{source}/")
        return [source, *names] if self.store.exists(source) else names

    def _names_folder(self, path: Any) -> bool:
        """Whether files go into a target, and not to its name."""
        return bool(os.fspath(path).endswith("/") or self._is_folder(self._strip_protocol(path)))


class IsAFolderError(IsADirectoryError, ValueError):
    """A folder was given where a file was meant."""


def _is_below(name: str, folder: str) -> bool:
    """Whether a name is the folder's or one below it."""
    return not folder or name == folder or name.startswith(f"{folder}/")


def _targets(sources: list[str], source: str, target: str, *, is_folder: bool) -> list[str]:
    """Where the files of one literal source go."""
    found: list[str] = other_paths(sources, target, exists=is_folder and not source.endswith("/"))
    return found
