"""A table in a database file: made by CREATE TABLE AS, changed by MERGE INTO, scanned as Arrow batches."""

from __future__ import annotations

from typing import Any

import contest
import duckdb


def create(job: dict[str, Any]) -> contest.Prepared:
    """All rows of the source into a new table."""
    return _run(job, f"CREATE TABLE held AS FROM read_parquet('{job['source']}')")


def upsert(job: dict[str, Any]) -> contest.Prepared:
    """MERGE INTO by the key."""
    key = f'"{job["key"]}"'
    return _run(
        job,
        f"MERGE INTO held USING (FROM read_parquet('{job['source']}')) AS new ON held.{key} = new.{key} "
        "WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT",
    )


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives."""
    connection = duckdb.connect(job["table"], read_only=True, config={"threads": job["threads"]})
    return contest.Prepared(
        duckdb.__version__,
        lambda: drain(connection.sql("FROM held")),
        {"threads": job["threads"]},
        hold=lambda _: connection.sql("FROM held").to_arrow_reader(),
    )


def drain(relation: Any) -> int:
    """Reads all rows of it, and keeps none."""
    return sum(batch.num_rows for batch in relation.to_arrow_reader())


def _run(job: dict[str, Any], query: str) -> contest.Prepared:
    connection = duckdb.connect(job["table"], config={"threads": job["threads"]})

    def work() -> None:
        connection.execute(query)
        connection.execute("CHECKPOINT")
        connection.close()

    return contest.Prepared(duckdb.__version__, work, {"threads": job["threads"], "query": query})
