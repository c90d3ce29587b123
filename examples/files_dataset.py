"""Keeps many small files in one, and reads them as a data set of PyTorch does: by position and in batches.

python examples/files_dataset.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Sequence


class FilesDataset:
    """The contents below a prefix: `torch.utils.data.DataLoader` takes it as it is, with any number of workers."""

    def __init__(self, location: str | Path, prefix: str = "") -> None:
        self.store = lr.files.Store(location, read_only=True)
        self.names = self.store.list(prefix)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> bytes:
        return self.store.get(self.names[index])

    def __getitems__(self, indices: Sequence[int]) -> list[bytes]:
        return list(self.store.get_many([self.names[index] for index in indices]).values())


def run(folder: Path) -> list[int]:
    """Makes the store `images.db` in `folder`; returns the number of its files, and the bytes that batches of 500 have."""
    with lr.files.Store(folder / "images.db") as store:
        store.put_many((f"train/{number:05}.raw", bytes([number % 256]) * 100) for number in range(10_000))
    data = FilesDataset(folder / "images.db", "train/")
    # DataLoader(data, batch_size=500, shuffle=True, num_workers=4) asks for batches by the same call, in worker processes.
    batches = (data.__getitems__(range(start, start + 500)) for start in range(0, len(data), 500))
    return [len(data), sum(len(content) for batch in batches for content in batch)]


if __name__ == "__main__":
    print(run(Path(sys.argv[1])))
