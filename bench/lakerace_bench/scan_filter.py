"""Filters of scans, which each contestant says in its own way: a range, one value, some values or a pattern of one column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Value = int | float | str


@dataclass(frozen=True)
class ScanFilter:
    """Rows whose column passes all that is set here, and then `further`."""

    column: str
    at_least: int | None = None
    below: int | None = None
    equals: Value | None = None
    one_of: tuple[Value, ...] = ()
    #: In SQL's `LIKE`: `%` matches any text.
    like: str | None = None
    further: ScanFilter | None = None

    @property
    def sql(self) -> str:
        """The filter in SQL, as duckdb, lakerace and the reference take it."""
        name = f'"{self.column}"'
        parts = [] if self.at_least is None else [f"{name} >= {self.at_least}"]
        parts += [] if self.below is None else [f"{name} < {self.below}"]
        parts += [] if self.equals is None else [f"{name} = {_literal(self.equals)}"]
        parts += [f"{name} IN ({', '.join(map(_literal, self.one_of))})"] if self.one_of else []
        parts += [] if self.like is None else [f"{name} LIKE {_literal(self.like)}"]
        return " AND ".join([*parts, *([self.further.sql] if self.further else [])])

    @property
    def job(self) -> dict[str, Any]:
        """The filter as contestants get it."""
        return asdict(self) | {"sql": self.sql, "further": self.further.job if self.further else None}


def _literal(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
