"""What `files` and `file-sizes` work on: files of a few sizes, or of many, put and got in the ways that a store offers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

KIB, MIB = 1 << 10, 1 << 20
#: Puts in a commit, where there are many.
GROUP = 1_000


@dataclass(frozen=True)
class Work:
    """What a case asks for."""

    title: str
    #: As the kit's `stores` names it.
    does: str
    files: int
    #: Of a content; 0: JSON of 64 to 300 bytes.
    bytes: int
    #: Of each part.
    gets: int = 0
    #: Threads that put, or processes that get.
    parts: int = 1
    durability: str = "normal"
    #: Puts in a commit, where files are put in groups.
    group: int = GROUP

    @property
    def puts(self) -> bool:
        """Whether files are put in the measured section."""
        return self.gets == 0

    @property
    def operations(self) -> int:
        """Gets or puts."""
        return self.files if self.puts else self.gets * self.parts


def _works() -> dict[str, Work]:
    small, medium, large = 64, 300_000, 2_000_000
    many = 20_000
    found = {
        "64b-get": Work("64 B: get, one by one", "get", many, small, many),
        "64b-get-snapshot": Work("64 B: get in a snapshot", "get-snapshot", many, small, many),
        "64b-get-many": Work("64 B: get 500 at once", "get-many", many, small, many),
        "64b-get-8-processes": Work("64 B: get by 8 processes", "get-processes", many, small, many, 8),
        "64b-put-normal": Work("64 B: put, a commit each", "put", 4_000, small),
        "64b-put-1000": Work("64 B: put, 1,000 a commit", "put-group", many, small),
        "64b-import": Work("64 B: sorted import", "import", many, small),
        "64b-put-full": Work("64 B: durable put, a commit each", "put", 300, small, durability="full"),
    }
    for threads, files in ((16, 8_000), (64, 19_200)):
        title = f"64 B: durable put by {threads} threads"
        found[f"64b-put-{threads}-threads-full"] = Work(title, "put-threads", files, small, 0, threads, "full")
    for name, title, size, files in (("300kb", "300 KB", medium, 100), ("2mb", "2 MB", large, 30)):
        found[f"{name}-get"] = Work(f"{title}: get, one by one", "get", files, size, 2 * files)
        found[f"{name}-put-normal"] = Work(f"{title}: put, a commit each", "put", files, size)
        found[f"{name}-put-full"] = Work(f"{title}: durable put, a commit each", "put", files, size, durability="full")
    found["10m-fill"] = Work("64 B: ten million, names in no order, 1,000 a commit", "fill", 10_000_000, small)
    found["json-put"] = Work("JSON: put, 1,000 a commit", "put-group", many, 0)
    found["json-get"] = Work("JSON: get, one by one", "get", many, 0, many)
    return found


#: By the variants of cases on the disk.
ON_DISK = _works()
#: In memory, where no put is durable.
IN_MEMORY = {
    name.replace("-put-normal", "-put"): work
    for name, work in ON_DISK.items()
    if name.endswith(("b-get", "-put-normal", "-get-many"))
}
#: On S3. Of a million, lakerace makes its table of names once and then keeps it in a file; stores with an object a file would send a
#: million requests.
ON_S3 = {
    "20k-put": Work("64 B: 20,000, durable once", "put-group", 20_000, 64),
    "20k-get": Work("64 B: get of 20,000, one by one", "get", 20_000, 64, 200),
    "20k-get-all": Work("64 B: all 20,000, in the order of names", "get-all", 20_000, 64, 20_000),
    "1m-put": Work("64 B: a million, durable once", "put-group", 1_000_000, 64),
    "1m-get": Work("64 B: get of a million, one by one", "get", 1_000_000, 64, 200),
}
#: The fewest files of a work whose tenths are timed.
_TENTHS = 10

#: `file-sizes`: bytes of a file, in doublings from 64 B to 2 MiB.
SIZES = tuple(64 << doubling for doubling in range(16))
#: `file-sizes`: puts in a commit.
COMMITS = (1, 100, GROUP)
#: `file-sizes`: bytes of all files of a case, and the least and the most of these.
_SIZED_BYTES, _LEAST_SIZED, _MOST_SIZED = 32 * MIB, 32, 5_000


def size_name(size: int) -> str:
    """A size in words, such as 4 KiB."""
    units = ((MIB, "MiB"), (KIB, "KiB"), (1, "B"))
    return next(f"{size // unit} {word}" for unit, word in units if size >= unit)


def _sized_works() -> dict[str, Work]:
    found = {}
    for size in SIZES:
        files = min(max(_SIZED_BYTES // size, _LEAST_SIZED), _MOST_SIZED)
        title = size_name(size)
        name = title.replace(" ", "")
        found[f"{name}-get"] = Work(f"{title}: get, one by one", "get", files, size, min(files, GROUP))
        found[f"{name}-put-1"] = Work(f"{title}: put, a commit each", "put", files, size)
        for group in COMMITS[1:]:
            told = f"{title}: put, {group:,} a commit"
            found[f"{name}-put-{group}"] = Work(told, "put-group", files, size, group=group)
    return found


#: By the variants of `file-sizes` on the disk.
BY_SIZE = _sized_works()
#: In memory, where no commit costs anything.
BY_SIZE_IN_MEMORY = {name: work for name, work in BY_SIZE.items() if name.endswith(("-get", "-put-1"))}

#: The works by bench and path.
WORKS = {
    ("files", "local"): ON_DISK,
    ("files", "memory"): IN_MEMORY,
    ("files", "s3"): ON_S3,
    ("file-sizes", "local"): BY_SIZE,
    ("file-sizes", "memory"): BY_SIZE_IN_MEMORY,
}


@dataclass(frozen=True)
class SmallFiles:
    """How many files there are: a share of what `Work` says."""

    share: float = 1.0

    @property
    def about(self) -> str:
        many = self.scaled(ON_DISK["64b-get"].files)
        return f"{many:,} files of 64 B, {self.scaled(100)} of 300 KB, {self.scaled(30)} of 2 MB; {many:,} JSON documents of 64 to 300 B"

    def files(self, folder: Path) -> dict[str, Path]:
        """None: contestants make the files of a round from its seed."""
        return {}

    def scaled(self, count: int) -> int:
        """So many of `count`."""
        return max(2, round(count * self.share)) if count else 0

    def job(self, work: Work, seed: str) -> dict[str, Any]:
        """The part of a job that determines the files."""
        # Each thread has some.
        files = max(self.scaled(work.files), work.parts if work.puts else 0, _TENTHS if work.does == "fill" else 0)
        return {
            "work": work.does,
            "form": "random" if work.bytes else "json",
            "bytes": work.bytes,
            "files": files,
            "operations": self.scaled(work.gets),
            "parts": work.parts,
            "group": work.group,
            "durability": work.durability,
            "seed": seed,
        }


@dataclass(frozen=True)
class SizedFiles(SmallFiles):
    """The same by size, of these sizes alone."""

    sizes: tuple[int, ...] = SIZES

    @property
    def about(self) -> str:
        most, megabytes = self.scaled(_MOST_SIZED), self.share * _SIZED_BYTES / MIB
        return f"files of {size_name(self.sizes[0])} to {size_name(self.sizes[-1])}, {megabytes:g} MiB of each size, {most:,} at most"

    def has(self, work: Work) -> bool:
        """Whether a work is of one of the sizes."""
        return work.bytes in self.sizes
