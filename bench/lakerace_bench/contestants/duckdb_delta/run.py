"""duckdb with its delta extension: `delta_scan` as Arrow batches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import contest
import duckdb

# The other contestant reads duckdb's own database and S3.
sys.path.append(str(Path(__file__).parent.parent / "duckdb"))


def scan(job: dict[str, Any]) -> contest.Prepared:
    """All rows as Arrow batches, each dropped when the next one arrives."""
    import extensions
    import tables

    connection = duckdb.connect(config={"threads": job["threads"], "autoinstall_known_extensions": False})
    place = job["table"]
    if job["s3"]:
        place = extensions.use_s3(connection, job["s3"])
    extensions.load(connection, "delta")
    query = f"FROM delta_scan('{place}')"
    return contest.Prepared(
        duckdb.__version__,
        lambda: tables.drain(connection.sql(query)),
        {"threads": job["threads"], "query": query},
        hold=lambda _: connection.sql(query).to_arrow_reader(),
    )


if __name__ == "__main__":
    contest.main({"scan-table": scan})
