"""LakeSoul: `write_arrow` into a table with a primary key, merged when it is scanned."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import contest
import postgres
import pyarrow as pa
import pyarrow.parquet as pq

_NAME = "held"
_SCAN_BATCH_ROWS = 8_192


def create(job: dict[str, Any]) -> contest.Prepared:
    """A table with a primary key, and all rows of the source into it."""
    catalog = _catalog(job)

    def work() -> None:
        schema = _schema(job)
        table = catalog.create_table(_NAME, path=_path(job), schema=schema, primary_keys=[job["key"]])
        table.write_arrow(_rows(job["source"], schema), thread_num=job["threads"])

    return _prepared(job, work)


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """`write_arrow` of the source's rows."""
    catalog = _catalog(job)

    def work() -> None:
        catalog.table(_NAME).write_arrow(_rows(job["source"], _schema(job)), thread_num=job["threads"])

    return _prepared(job, work)


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives."""
    catalog = _catalog(job)

    def rows() -> Any:
        return catalog.table(_NAME).scan(batch_size=_SCAN_BATCH_ROWS, thread_count=job["threads"]).to_reader()

    return _prepared(job, lambda: sum(batch.num_rows for batch in rows()), hold=lambda _: rows())


def convert(job: dict[str, Any]) -> contest.Prepared:
    """All rows of a local Parquet file into a table without a key."""
    home = tempfile.mkdtemp(prefix="lakesoul-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    Path(home).chmod(0o755)
    catalog = _catalog(job | {"home": home})
    schema = pq.read_schema(job["path"]).remove_metadata()

    def work() -> None:
        table = catalog.create_table(_NAME, path=_path(job), schema=schema)
        # It writes Vortex by default; this case measures Parquet.
        table.write_arrow(_rows(job["path"], schema), thread_num=job["threads"], format="parquet")

    return _prepared(job, work)


def _catalog(job: dict[str, Any]) -> Any:
    from lakesoul.catalog import LakeSoulCatalog

    port = postgres.serve(Path(job["home"]) / "postgres", Path(__file__).with_name("metadata.sql"))
    return LakeSoulCatalog(
        pg_url=f"postgresql://127.0.0.1:{port}/{postgres.DATABASE}",
        pg_username=postgres.USER,
        pg_password="none",
        object_store_options=_storage(job["s3"]) if job["s3"] else {},
    )


def _storage(s3: dict[str, str]) -> dict[str, str]:
    return {
        "fs.s3a.endpoint": f"http://{s3['endpoint']}",
        "fs.s3a.endpoint.region": s3["region"],
        "fs.s3a.access.key": s3["access_key"],
        "fs.s3a.secret.key": s3["secret_key"],
        "fs.s3a.path.style.access": "true",
        "fs.s3a.bucket": s3["bucket"],
    }


def _path(job: dict[str, Any]) -> str:
    s3 = job["s3"]
    return f"s3://{s3['bucket']}/{s3['key']}" if s3 else f"file://{job['table']}"


def _schema(job: dict[str, Any]) -> pa.Schema:
    """The source's, whose key cannot be null here."""
    schema = pq.read_schema(job["source"])
    at = schema.get_field_index(job["key"])
    return schema.set(at, schema.field(at).with_nullable(False)).remove_metadata()


def _rows(file: str, schema: pa.Schema) -> pa.RecordBatchReader:
    """The batches of a Parquet file, read on demand."""
    batches = (
        pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in pq.ParquetFile(file).iter_batches()
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def _prepared(job: dict[str, Any], work: Any, hold: Any = None) -> contest.Prepared:
    return contest.Prepared(version("lakesoul"), work, {"threads": job["threads"]}, hold=hold)


if __name__ == "__main__":
    contest.main({"create": create, "upsert": upsert, "scan-table": scan, "convert": convert})
