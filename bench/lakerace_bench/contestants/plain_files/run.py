"""A file each, by the built-in `open`."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stores


class Files(stores.Store):
    """Files in a directory."""

    version = platform.python_version()

    def __init__(self, folder: str, is_durable: bool) -> None:
        self._root = f"{folder}/files"
        self._is_durable = is_durable
        os.makedirs(self._root, exist_ok=True)
        for number in range(256):
            os.makedirs(f"{self._root}/{number:02x}", exist_ok=True)

    def get_each(self, names: Sequence[str]) -> list[bytes]:
        root, found = self._root, []
        for name in names:
            with open(f"{root}/{name}", "rb") as file:
                found.append(file.read())
        return found

    def put_each(self, files: stores.Pairs) -> None:
        root = self._root
        for name, content in files:
            path = f"{root}/{name}"
            with open(path, "wb") as file:
                file.write(content)
                if self._is_durable:
                    file.flush()
                    os.fsync(file.fileno())
            if self._is_durable:
                _sync(os.path.dirname(path))

    def names(self) -> list[str]:
        root = Path(self._root)
        return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]


def _sync(folder: str) -> None:
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)


def opened(job: dict[str, Any], is_read: bool) -> Files:
    """The files of a job."""
    return Files(job["place"], job["durability"] == "full" and not is_read)


if __name__ == "__main__":
    stores.main(opened)
