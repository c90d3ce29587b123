"""delta-rs: tables written by `write_deltalake` and changed by `DeltaTable.merge`, scanned by `QueryBuilder`."""

from __future__ import annotations

from typing import Any

import contest
import deltalake
import loads
import pyarrow as pa
import pyarrow.parquet as pq


def create(job: dict[str, Any]) -> contest.Prepared:
    """All rows of the source into a new table."""
    place, storage = _place(job)

    def work() -> None:
        deltalake.write_deltalake(place, _rows(job["source"]), storage_options=storage)

    return _prepared(work)


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """`merge` by the key."""
    place, storage = _place(job)
    key = job["key"]

    def work() -> None:
        table = deltalake.DeltaTable(place, storage_options=storage)
        merger = table.merge(
            _rows(job["source"]), predicate=f"held.{key} = new.{key}", source_alias="new", target_alias="held"
        )
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    return _prepared(work)


def compact(job: dict[str, Any]) -> contest.Prepared:
    """`optimize.compact`."""
    place, storage = _place(job)

    def work() -> None:
        deltalake.DeltaTable(place, storage_options=storage).optimize.compact()

    return _prepared(work)


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives."""
    place, storage = _place(job)

    def rows() -> Any:
        table = deltalake.DeltaTable(place, storage_options=storage)
        return pa.RecordBatchReader.from_stream(_query(table, "SELECT * FROM held"))

    return contest.Prepared(
        deltalake.__version__, lambda: sum(batch.num_rows for batch in rows()), hold=lambda _: rows()
    )


def load(job: dict[str, Any]) -> contest.Prepared:
    """Appends each batch, one commit each; one stream, where there is one batch."""
    place = f"s3://{job['place']['bucket']}/{job['place']['key']}"
    storage = contest.object_store(job["place"])
    if job["batch_rows"] is None and job["origin"] == "csv":
        return _prepared(lambda: deltalake.write_deltalake(place, loads.csv_reader(job), storage_options=storage))

    def write(batch: pa.Table) -> None:
        deltalake.write_deltalake(place, batch, mode="append", storage_options=storage)

    return loads.each(job, deltalake.__version__, write)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All rows as one table."""
    place = f"s3://{job['place']['bucket']}/{job['place']['key']}"
    names = ", ".join(f'"{name}"' for name in loads.schema(job).names)

    def read() -> Any:
        table = deltalake.DeltaTable(place, storage_options=contest.object_store(job["place"]))
        return pa.RecordBatchReader.from_stream(_query(table, f"SELECT {names} FROM held"))

    return loads.counted(job, deltalake.__version__, lambda: read().read_all().num_rows, read)


def _query(table: deltalake.DeltaTable, query: str) -> Any:
    return deltalake.QueryBuilder().register("held", table).execute(query)


def _rows(file: str) -> pa.RecordBatchReader:
    """The batches of a Parquet file, read on demand."""
    source = pq.ParquetFile(file)
    return pa.RecordBatchReader.from_batches(source.schema_arrow, source.iter_batches())


def _prepared(work: Any) -> contest.Prepared:
    return contest.Prepared(deltalake.__version__, work)


def _place(job: dict[str, Any]) -> tuple[str, dict[str, str] | None]:
    s3 = job["s3"]
    if s3 is None:
        return job["table"], None
    return f"s3://{s3['bucket']}/{s3['key']}", contest.object_store(s3)


if __name__ == "__main__":
    jobs = {"create": create, "upsert": upsert, "compact": compact, "scan-table": scan}
    contest.main({**jobs, "load": load, "unload": unload})
