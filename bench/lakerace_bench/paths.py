"""The paths that bytes take in a bench: a store, and what lies between it and the contestants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Path:
    """One of them; `latency_ms` and `bytes_per_second` are those of the proxy, where there is one."""

    name: str
    title: str
    #: For narrow places.
    short: str
    is_s3: bool = False
    latency_ms: float | None = None
    #: Per connection.
    bytes_per_second: int | None = None
    #: What a contestant must know, where it is something else than files.
    needs: str = ""

    @property
    def store(self) -> str:
        """What a contestant must be able to read: `local`, `s3`, or a system of `load`."""
        return self.needs or ("s3" if self.is_s3 else "local")

    @property
    def behind_proxy(self) -> bool:
        return self.latency_ms is not None

    @property
    def latency_times_bandwidth(self) -> float | None:
        """In bytes; None if it is not set."""
        if self.latency_ms is None or self.bytes_per_second is None:
            return None
        return self.latency_ms / 1000 * self.bytes_per_second


def _proxied(name: str, latency_ms: int, bytes_per_second: int) -> Path:
    bandwidth = f"{bytes_per_second // 1_000_000} MB/s"
    title = f"S3 through {latency_ms} ms of latency, {bandwidth} per connection"
    return Path(name, title, f"S3, {latency_ms} ms, {bandwidth} a connection", True, latency_ms, bytes_per_second)


PATHS = {
    path.name: path
    for path in (
        Path("local", "local file, page cache warm", "local, page cache warm"),
        Path("disk", "local disk, page cache dropped before each read", "local disk, page cache dropped"),
        Path("s3-direct", "S3 on this machine, nothing between", "S3 on this machine", True),
        _proxied("s3", 20, 100_000_000),
        _proxied("s3-far", 100, 60_000_000),
        Path("delta", "Delta on S3 on this machine", "Delta", True, needs="delta"),
        Path("mongodb", "MongoDB on this machine", "MongoDB", True, needs="mongodb"),
        Path("elasticsearch", "Elasticsearch on this machine", "Elasticsearch", True, needs="elasticsearch"),
        Path("sqlite", "SQLite, local file", "SQLite", True, needs="sqlite"),
        Path("memory", "memory of the process", "memory", needs="memory"),
        Path("parquet", "rows of a local Parquet file", "Parquet", needs="parquet"),
    )
}


def title(name: str) -> str:
    """What reports call the path `name`."""
    return PATHS[name].title if name in PATHS else name
