"""What scans and tables have in common: rows that Python and other libraries take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakerace._errors import UsageError
from lakerace._packages import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pandas
    import polars
    import pyarrow

    from lakerace._dataset import ScanDataset
    from lakerace._scan import Scan

#: Rows that a notebook shows.
SHOWN_ROWS = 10
#: Characters of a value that a notebook shows.
SHOWN_CHARACTERS = 100


class ShownRows:
    """Rows that notebooks show."""

    __slots__ = ()

    def head(self, rows: int = 5) -> Any:
        """The first rows."""
        raise NotImplementedError

    def _caption(self) -> str:
        """What a notebook says of the rows."""
        raise NotImplementedError

    def _schema_shown(self) -> pyarrow.Schema:
        """The columns that a notebook shows."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        """Always true: whether there are rows is told by `len()`, which may read."""
        return True

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        from html import escape

        # One row more tells whether there are more.
        shown = self.head(SHOWN_ROWS + 1).to_arrow()
        rows = list(zip(*(_texts(column) for column in shown.columns), strict=True))
        schema = self._schema_shown()
        # Notebooks put all cells to the right, where only numbers belong.
        sides = ["" if _is_number(field.type) else ' style="text-align: left"' for field in schema]
        names = "".join(
            f"<th{sides[at]}>{escape(name)}<br><small>{escape(str(schema.field(at).type))}</small></th>"
            for at, name in enumerate(schema.names)
        )
        lines = "".join(
            "<tr>"
            + "".join(f"<td{side}>{escape(value)}</td>" for side, value in zip(sides, row, strict=True))
            + "</tr>"
            for row in rows[:SHOWN_ROWS]
        )
        more = f"the first {SHOWN_ROWS} rows" if len(rows) > SHOWN_ROWS else _counted(len(rows), "row")
        return (
            f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
            f"<small>{escape(self._caption())}: {more}, {_counted(len(schema.names), 'column')}</small>"
        )


class ReadableRows(ShownRows):
    """Rows of a scan, which each call reads again. A table's scan is of its last version."""

    __slots__ = ()

    def _scanned(self) -> Scan:
        """The scan that gives the rows. `Scan` itself implements what others hand to it."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order (needs pyarrow).

        Examples:
            >>> lr.scan("orders.parquet").columns
            ['order_id', 'day', 'customer', 'price']
        """
        names: list[str] = self._scanned().schema.names
        return names

    def __len__(self) -> int:
        """The number of rows: from metadata where that is exact, else all rows are read for it."""
        return self._scanned().count()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, as tuples of Python values: see :meth:`Scan.rows`."""
        return self._scanned().rows()

    def head(self, rows: int = 5) -> Scan:
        """A scan of the first rows; of a table, of some rows.

        Examples:
            >>> lr.scan("orders.parquet").head(2).count()
            2
        """
        if rows < 0:
            raise UsageError(f"rows={rows}: not a number of rows")
        return self._scanned()._limited(rows)

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a `pyarrow.Table` (needs pyarrow).

        Examples:
            >>> lr.Table("lake/orders").to_arrow().num_rows
            4
        """
        return self._scanned().to_arrow()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a `polars.DataFrame` (needs polars).

        Examples:
            >>> lr.Table("lake/orders").to_polars()["price"].max()
            12000.0
        """
        return self._scanned().to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a `pandas.DataFrame` (needs pyarrow and pandas).

        Examples:
            >>> lr.Table("lake/orders").to_pandas().shape
            (4, 4)
        """
        return self._scanned().to_pandas()

    def lazy(self) -> polars.LazyFrame:
        """The rows as a `polars.LazyFrame`, which reads what a query needs: see :meth:`Scan.lazy`.

        Examples:
            >>> import polars as pl
            >>> lr.Table("lake/orders").lazy().filter(pl.col("customer") == "ann").collect().height
            2
        """
        return self._scanned().lazy()

    def to_dataset(self) -> ScanDataset:
        """The rows as a `pyarrow.dataset.Dataset`, by which engines ask for columns and filters: see :meth:`Scan.to_dataset`.

        Examples:
            >>> lr.Table("lake/orders").to_dataset().count_rows()
            4
        """
        return self._scanned().to_dataset()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an `arrow_array_stream` capsule: see :meth:`Scan.__arrow_c_stream__`."""
        return self._scanned().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns and types as an `arrow_schema` capsule."""
        return self._scanned().__arrow_c_schema__()

    def to_reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a `pyarrow.RecordBatchReader` (needs pyarrow), which is read once and batch by batch.

        Examples:
            >>> reader = lr.scan("orders.parquet").to_reader()
            >>> sum(batch.num_rows for batch in reader)
            4
        """
        return needed("pyarrow").RecordBatchReader.from_stream(self._scanned())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of duckdb (needs duckdb and pyarrow). Columns and filters of a query on it are read alone.

        Args:
            connection: The connection of the relation; duckdb's default one if it is left out.

        Examples:
            >>> lr.scan("orders.parquet").to_duckdb().filter("price > 9000").aggregate("max(price)").fetchall()
            [(12000.0,)]
        """
        relations = needed("duckdb") if connection is None else connection
        relation: duckdb.DuckDBPyRelation = relations.from_arrow(self._scanned().to_dataset())
        return relation

    def _caption(self) -> str:
        location = self._scanned().location
        return location if isinstance(location, str) else ", ".join(location)

    def _schema_shown(self) -> pyarrow.Schema:
        return self._scanned().schema


def _is_number(data_type: pyarrow.DataType) -> bool:
    types = needed("pyarrow").types
    return bool(types.is_integer(data_type) or types.is_floating(data_type) or types.is_decimal(data_type))


def _texts(column: pyarrow.ChunkedArray) -> list[str]:
    """Values as texts. Times of more digits than Python's have are those of Arrow."""
    try:
        values = column.to_pylist()
    except ValueError:
        values = column.cast("string").to_pylist()
    return [_shortened("null" if value is None else str(value)) for value in values]


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
