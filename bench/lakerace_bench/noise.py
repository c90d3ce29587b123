"""A file of bytes that mean nothing: for benches of reading alone."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from lakerace_bench import kept

_CHUNK = 1 << 23


@dataclass(frozen=True)
class Noise:
    """How large it is, in bytes: a multiple of 8."""

    size: int
    seed: int = 8_128

    @property
    def about(self) -> str:
        return f"a file of {self.size / 1e6:,.0f} MB"

    def files(self, folder: Path) -> dict[str, Path]:
        """The file as `bytes`, made if need be."""
        path = folder / f"noise-{self.size}-{self.seed}.bin"
        return {"bytes": kept.ensure(path, asdict(self), self._write)}

    def _write(self, path: Path) -> str:
        bits = np.random.PCG64(self.seed)
        with path.open("wb") as file:
            for at in range(0, self.size, _CHUNK):
                file.write(bits.random_raw(min(_CHUNK, self.size - at) // 8).tobytes())
            file.flush()
            os.fsync(file.fileno())  # only then can the page cache be told to drop it
        return f"numpy {np.__version__}"


def digest(file: Path, ranges: list[list[int]]) -> str:
    """SHA-256 of these ranges (begin and end) of `file`, one after the other."""
    found = hashlib.sha256()
    with file.open("rb") as stream:
        for begin, end in ranges:
            stream.seek(begin)
            found.update(stream.read(end - begin))
    return found.hexdigest()
