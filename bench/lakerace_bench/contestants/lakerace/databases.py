"""Loads by lakerace: `lr.copy` from Arrow in memory or from the CSV file on S3, `lr.scan` into Arrow or into Python's rows."""

from __future__ import annotations

from typing import Any

import contest
import loads


def load(job: dict[str, Any]) -> contest.Prepared:
    """Copies all rows, acknowledged by batches."""
    import lakerace as lr

    options = {"batch_rows": job["batch_rows"] or "all", "threads": job["threads"]}
    source: Any
    if job["origin"] == "memory":
        import pyarrow.parquet as pq

        source = pq.read_table(job["input"])
    else:
        source = f"s3://{job['csv']['bucket']}/{job['csv']['key']}"
        options["schema"] = ", ".join(f"{field.name} {_type(str(field.type))}" for field in loads.schema(job))
    storage = _storage(job, is_on_s3=job["origin"] != "memory")

    def work() -> None:
        lr.copy(source, _location(job), storage_options=storage, **options)

    return contest.Prepared(lr.__version__, work, options)


def unload(job: dict[str, Any]) -> contest.Prepared:
    """All rows as one table, as tuples or as dicts."""
    import pyarrow as pa

    import lakerace as lr

    options = {"storage_options": _storage(job), "threads": job["threads"]}
    place, types = _location(job), loads.schema(job)

    def scan() -> Any:
        return lr.scan(place, columns=types.names, **options)

    def read() -> int:
        if job["how"] == "arrow":
            return int(pa.RecordBatchReader.from_stream(scan()).read_all().num_rows)
        return loads.exhausted(scan().rows(named=job["how"] == "named"))

    def again() -> Any:
        if job["how"] == "arrow":
            return pa.RecordBatchReader.from_stream(scan())
        return loads.table(scan().rows(named=True), types)

    return loads.counted(job, lr.__version__, read, again, threads=job["threads"])


def change(job: dict[str, Any]) -> contest.Prepared:
    """Makes the Delta table that a database will follow, or changes rows of it."""
    import pyarrow.parquet as pq

    import lakerace as lr

    place, storage = _delta(job["table"]), contest.object_store(job["table"])

    def work() -> None:
        if "all" in job:
            feed = str(job["has_feed"]).lower()
            lr.copy(
                job["all"],
                f"delta:{place}",
                storage_options=storage,
                table_properties={"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": feed},
            )
            return
        table = lr.Table(place, key="id", storage_options=storage)
        table.upsert(pq.read_table(job["put"]))
        table.delete_keys(pq.read_table(job["gone"]))

    return contest.Prepared(lr.__version__, work)


def follow(job: dict[str, Any]) -> contest.Prepared:
    """Brings a database to the last version of the Delta table that it follows."""
    import lakerace as lr

    options = {"key": job["key"], "threads": job["threads"]}
    storage = contest.object_store(job["table"])

    def work() -> Any:
        return lr.sync(_delta(job["table"]), _location(job), storage_options=storage, **options)

    def look(done: Any) -> dict[str, Any]:
        return {"told": {"upserted": done.upserted, "deleted": done.deleted}}

    return contest.Prepared(lr.__version__, work, options, look=look)


def _storage(job: dict[str, Any], *, is_on_s3: bool = False) -> dict[str, str]:
    """The settings of S3, if a location of the job is on S3: lakerace refuses them elsewhere."""
    return contest.object_store(job["csv"]) if job["csv"] and (is_on_s3 or job["target"] == "delta") else {}


def _delta(s3: dict[str, str]) -> str:
    return f"s3://{s3['bucket']}/{s3['key']}"


def _type(name: str) -> str:
    """A type of Arrow by the name that lakerace's schemas have for it."""
    return {"double": "float64", "date32[day]": "date32", "timestamp[us, tz=UTC]": "timestamp(us, UTC)"}.get(name, name)


def _location(job: dict[str, Any]) -> str:
    place = job["place"]
    if job["target"] == "delta":
        return f"delta:s3://{place['bucket']}/{place['key']}"
    if job["target"] == "mongodb":
        return f"{place['url']}/{place['database']}/{place['collection']}"
    if job["target"] == "elasticsearch":
        return f"{place['endpoint'].replace('http://', 'elasticsearch://')}/{place['index']}"
    return str(place["path"]) if job["target"] == "parquet" else f"sqlite:{place['path']}#{place['table']}"
