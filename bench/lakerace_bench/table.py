"""Tables of a report, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of a table; `kind` is `subject`, `peer` or `bad`."""

    cells: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class Table:
    """A table; columns from `numbers_from` on hold numbers."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers_from: int
    #: Rows with the same first cells, so many, belong together.
    grouped_by: int = 2


@dataclass(frozen=True)
class Section:
    """A separate table with a heading."""

    title: str
    about: str
    table: Table
