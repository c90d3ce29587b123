"""Values that a system keeps as text or as a number, as what they were: dates, times and truth values of SQLite and Elasticsearch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Rows that are put into one batch.
_CHUNK_ROWS = 10_000


def table(found: Iterable[Sequence[Any]], types: pa.Schema) -> pa.RecordBatchReader:
    """Rows of values, in the order of the columns, as Arrow. A value that is not of its column's type is an error."""

    def made() -> Iterator[pa.RecordBatch]:
        rows = iter(found)
        while chunk := list(islice(rows, _CHUNK_ROWS)):
            columns = zip(*chunk, strict=True)
            yield pa.RecordBatch.from_arrays(
                [_column(c, f.type) for c, f in zip(columns, types, strict=True)], schema=types
            )

    return pa.RecordBatchReader.from_batches(types, made())


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array([None if value is None else _truth(value) for value in values], kind)
    if pa.types.is_date32(kind):
        return pc.utf8_slice_codeunits(pa.array(values, pa.string()), 0, 10).cast(kind)
    if pa.types.is_timestamp(kind):
        # Without a zone, it is in UTC.
        bare = pc.replace_substring_regex(pa.array(values, pa.string()), r"(Z|\+00(:00)?)$", "")
        return bare.cast(pa.timestamp("us")).cast(kind)
    return pa.array(values, kind)


def _truth(value: Any) -> bool:
    if value not in (0, 1, "true", "false"):
        raise ValueError(f"neither true nor false: {value!r}")
    return value in (1, "true")
