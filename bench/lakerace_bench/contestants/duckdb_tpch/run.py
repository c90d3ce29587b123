"""duckdb with its tpch extension: `CALL dbgen`, then `COPY` of each table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import contest
import duckdb

# Where the other contestants that are duckdb have their extensions from.
sys.path.append(str(Path(__file__).parent.parent / "duckdb"))


def generate(job: dict[str, Any]) -> contest.Prepared:
    """Makes the tables in memory, and copies them to files."""
    import extensions

    connection = duckdb.connect(config={"threads": job["threads"], "autoinstall_known_extensions": False})
    extensions.load(connection, "tpch")
    form = job["format"]
    layout = "FORMAT csv"
    if form == "parquet":
        codec = "uncompressed" if job["codec"] == "none" else job["codec"]
        layout = f"FORMAT parquet, COMPRESSION {codec}, ROW_GROUP_SIZE {job['row_group_rows']}"
    queries = [f"CALL dbgen(sf = {job['scale']})"]
    queries += [f"COPY {table} TO '{job['output']}/{table}.{form}' ({layout})" for table in job["tables"]]

    def work() -> None:
        for query in queries:
            connection.execute(query)

    return contest.Prepared(duckdb.__version__, work, {"threads": job["threads"], "queries": queries})


if __name__ == "__main__":
    contest.main({"generate": generate})
