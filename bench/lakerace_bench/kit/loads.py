"""The rows of `load` for contestants in Python: from Arrow in memory, or from the CSV file on S3, by batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import contest
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows of Python objects that are put into one batch, where a contestant gives rows.
_CHUNK_ROWS = 10_000


def schema(job: dict[str, Any]) -> pa.Schema:
    """The types of the job's columns."""
    return pq.read_schema(job["put"] if job.get("kind") == "follow" else job["input"]).remove_metadata()


def source(job: dict[str, Any]) -> Callable[[], Iterator[pa.Table]]:
    """What gives the batches of a `load`; rows that come from memory are there when it returns."""
    if job["origin"] == "memory":
        table = pq.read_table(job["input"])
        return lambda: batches(table.to_batches(), table.schema, job["batch_rows"])

    def read() -> Iterator[pa.Table]:
        reader = csv_reader(job)
        return batches(reader, reader.schema, job["batch_rows"])

    return read


def changed(job: dict[str, Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """Of a `follow`: the rows to put, as dicts, and the keys of rows that are gone."""
    return pq.read_table(job["put"]).to_pylist(), pq.read_table(job["gone"])[job["key"]].to_pylist()


def csv_reader(job: dict[str, Any]) -> Any:
    """The batches of the CSV file, as pyarrow streams them from S3."""
    from pyarrow import csv, fs

    s3 = job["csv"]
    store = fs.S3FileSystem(
        access_key=s3["access_key"],
        secret_key=s3["secret_key"],
        region=s3["region"],
        endpoint_override=s3["endpoint"],
        scheme="http",
    )
    types = schema(job)
    options = csv.ConvertOptions(
        column_types={field.name: field.type for field in types},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return csv.open_csv(store.open_input_stream(f"{s3['bucket']}/{s3['key']}"), convert_options=options)


def batches(arrived: Iterable[pa.RecordBatch], types: pa.Schema, rows: int | None) -> Iterator[pa.Table]:
    """Tables of `rows` rows each, the last one shorter; None: one of all rows."""
    if rows is None:
        yield pa.Table.from_batches(list(arrived), schema=types)
        return
    parts: list[pa.RecordBatch] = []
    missing = rows
    for batch in arrived:
        at = 0
        while at < batch.num_rows:
            part = batch.slice(at, missing)
            parts.append(part)
            at += part.num_rows
            missing -= part.num_rows
            if missing == 0:
                yield pa.Table.from_batches(parts, schema=types)
                parts, missing = [], rows
    if parts:
        yield pa.Table.from_batches(parts, schema=types)


def each(job: dict[str, Any], version: str, write: Callable[[pa.Table], Any], **options: Any) -> contest.Prepared:
    """A `load` by a function that is called with every batch."""
    read = source(job)

    def work() -> None:
        for batch in read():
            write(batch)

    return contest.Prepared(version, work, options | {"batch_rows": job["batch_rows"]})


def counted(
    job: dict[str, Any], version: str, read: Callable[[], int], again: Callable[[], Any], **options: Any
) -> contest.Prepared:
    """An `unload`: `read` reads all rows and counts them; `again` reads them once more, as Arrow, to be verified."""

    def look(rows: int) -> dict[str, Any]:
        import verify

        return verify.held(again()) | {"counted": rows}

    return contest.Prepared(version, read, options, look=look)


def table(rows: Iterable[dict[str, Any]], types: pa.Schema) -> pa.RecordBatchReader:
    """Rows of Python objects as Arrow. A value that is not of its column's type is an error."""

    def made() -> Iterator[pa.RecordBatch]:
        chunk: list[dict[str, Any]] = []
        for row in rows:
            chunk.append(row)
            if len(chunk) == _CHUNK_ROWS:
                yield pa.RecordBatch.from_pylist(chunk, schema=types)
                chunk = []
        if chunk:
            yield pa.RecordBatch.from_pylist(chunk, schema=types)

    return pa.RecordBatchReader.from_batches(types, made())


def exhausted(rows: Iterable[Any]) -> int:
    """The number of rows; each is dropped when the next one arrives."""
    count = 0
    for _ in rows:
        count += 1
    return count


def mapping(types: pa.Schema) -> dict[str, Any]:
    """The strict mapping of an index of Elasticsearch, as lakerace makes it."""
    return {"dynamic": "strict", "properties": {field.name: _field(field.type) for field in types}}


def _field(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_integer(kind):
        return {"type": "long", "coerce": False}
    if pa.types.is_floating(kind):
        return {"type": "double", "coerce": False}
    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    if pa.types.is_string(kind):
        return {"type": "keyword"}
    return {"type": "date"} if pa.types.is_date32(kind) else {"type": "date_nanos"}
