"""The queries of `spark-scan` and `spark-write`, and their expected results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lakerace_bench import check, data, kept, process, s3

#: One row over all values of all columns, by functions that take little time themselves: for example, Spark's `length`
#: of texts would take longer than the scan. All contestants get the same text.
SQL = (
    "SELECT count(*), sum(id), sum(key), min(price), max(price), sum(quantity), min(day), max(day), min(rows.at), max(rows.at), "
    "sum(octet_length(name)), sum(octet_length(comment)) FROM rows"
)
#: The same for DuckDB, where the function of this name does not accept texts.
DUCKDB_SQL = SQL.replace("octet_length", "strlen")
#: A hash of all rows, in any order; computed once, after the measurement.
HASH_SQL = "SELECT bit_xor(xxhash64(id, key, price, quantity, day, at, name, comment)) FROM rows"
CHECKED_BY = "duckdb: sums of all columns; XXH64 of all rows by numpy, in the first round"
#: The rows that warm up a session that writes.
WARM_UP = data.QUICK


def reference(table: Path) -> dict[str, Any]:
    """The expected result of a query; it takes a while, and is cached next to the table."""

    def write(path: Path) -> str:
        path.write_text(json.dumps(_look(table)))
        return "duckdb and numpy"

    shape = {"of": kept.written_down(table), "sql": SQL, "hash": HASH_SQL}
    found: dict[str, Any] = json.loads(
        kept.ensure(table.with_name(f"{table.stem}-sums.json"), shape, write).read_text()
    )
    return found


def _look(table: Path) -> dict[str, Any]:
    import duckdb

    from lakerace_bench import spark_hash

    connection = duckdb.connect()
    connection.register("rows", connection.read_parquet(str(table)))
    [row] = connection.execute(DUCKDB_SQL).fetchall()
    return {"rows": row[0], "checksum": _text(row), "checked_by": CHECKED_BY, "hash": str(spark_hash.xor_of(table))}


def _text(row: tuple[Any, ...]) -> str:
    return " ".join(str(value) for value in row)


def disagreement(wanted: dict[str, Any], held: dict[str, Any]) -> str | None:
    """The difference between a query's answer and the expected one; the hash of rows counts where it was requested."""
    if "hash" not in held:
        wanted = {name: value for name, value in wanted.items() if name != "hash"}
    elif held["hash"] != wanted["hash"]:
        return f"XXH64 of all rows: {held['hash']} instead of {wanted['hash']}"
    return check.disagreement(wanted, held)


def seen(held: dict[str, Any]) -> dict[str, Any]:
    """The fields of a sample with the checked results."""
    return {name: held.get(name) for name in ("rows", "checksum", "checked_by")}


def job(hashed: bool) -> dict[str, Any]:
    """The part of a query's job with the query."""
    return {"sql": SQL, "duckdb_sql": DUCKDB_SQL, "hash_sql": HASH_SQL if hashed else None, "checked_by": CHECKED_BY}


@contextmanager
def brought(server: s3.S3, key: str, folder: Path) -> Iterator[str]:
    """Copies the Parquet files of a folder of the bucket, past the proxies, and yields a pattern of the copies."""
    from pyarrow import fs

    store = server.make_bucket()
    prefix = f"{s3.BUCKET}/{key}"
    with process.scratch(folder) as home:
        try:
            for info in store.get_file_info(fs.FileSelector(prefix, recursive=True, allow_not_found=True)):
                name = info.path.removeprefix(f"{prefix}/")
                if name.endswith(".parquet") and not name.startswith("_"):
                    fs.copy_files(info.path, str(home / name.replace("/", "-")), store, fs.LocalFileSystem())
            yield f"{home}/*.parquet"
        finally:
            for place in (key, f"{key}-warm-up"):
                server.remove(place)
