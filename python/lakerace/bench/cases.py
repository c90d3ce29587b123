"""What is raced: benches, each a list of cases; a case is one job at one place with one thread count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakerace.bench import data

#: The selective filter keeps 1 % of the rows; `key` is uniform and unsorted, so it prunes no row group.
_ONE_PERCENT = {"column": "key", "at_least": data.KEY_RANGE // 2, "below": data.KEY_RANGE // 2 + data.KEY_RANGE // 100}
CODEC = "snappy"


@dataclass(frozen=True)
class Case:
    """One scenario: contestants are compared within it, never across."""

    bench: str
    store: str
    variant: str
    threads: int
    title: str
    columns: tuple[str, ...] | None = None
    filter: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """Such as `scan/local/all/t1`."""
        return f"{self.bench}/{self.store}/{self.variant}/t{self.threads}"

    @property
    def where(self) -> str | None:
        """The filter in SQL."""
        if self.filter is None:
            return None
        column = f'"{self.filter["column"]}"'
        return f"{column} >= {self.filter['at_least']} AND {column} < {self.filter['below']}"


BENCHES = {
    "scan": "Parquet to Arrow in memory: all columns, 2 of 8, a filter that keeps 1 %; local (page cache) and S3 "
    "through 20 ms of latency and 100 MB/s per connection",
    "write": f"the same table from memory to a local Parquet file, {CODEC}, the same rows per row group",
}


def all_cases(threads: list[int]) -> list[Case]:
    """Every case of every bench for these thread counts, in the order in which they run."""
    cases = []
    for store in ("local", "s3"):
        for count in threads:
            cases += [
                Case("scan", store, "all", count, "all 8 columns"),
                Case("scan", store, "two", count, "2 of 8 columns", columns=("key", "price")),
                Case("scan", store, "filter", count, "1 % filter", filter=_ONE_PERCENT),
            ]
    cases += [Case("write", "local", CODEC, count, f"all 8 columns, {CODEC}") for count in threads]
    return cases


def select(names: list[str], threads: list[int]) -> list[Case]:
    """The cases whose name is one of `names` or lies below it (`scan`, `scan/s3`, `scan/local/all`)."""
    cases = all_cases(threads)
    unknown = [name for name in names if not any(_below(case, name) for case in cases)]
    if unknown:
        raise ValueError(f"no bench is called {', '.join(unknown)}: see `lakerace bench list`")
    return [case for case in cases if any(_below(case, name) for name in names)]


def _below(case: Case, name: str) -> bool:
    return f"{case.name}/".startswith(f"{name.rstrip('/')}/")
