"""What `spark-scan` and `spark-write` ask for, and what must come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lakerace_bench import check, data, kept, process, s3

#: One row about all values of all columns, by functions that take little time themselves: Spark's `length` of texts, say, would take more
#: than the scan. The same text for everybody.
SQL = (
    "SELECT count(*), sum(id), sum(key), min(price), max(price), sum(quantity), min(day), max(day), min(rows.at), max(rows.at), "
    "sum(octet_length(name)), sum(octet_length(comment)) FROM rows"
)
#: The same for DuckDB, whose function of this name takes no texts.
DUCKDB_SQL = SQL.replace("octet_length", "strlen")
#: Of all rows, in any order; asked for once, after what is measured.
HASH_SQL = "SELECT bit_xor(xxhash64(id, key, price, quantity, day, at, name, comment)) FROM rows"
CHECKED_BY = "duckdb: sums of all columns; XXH64 of all rows by numpy, in the first round"
#: What a session that writes is warmed up with.
WARM_UP = data.QUICK


def reference(table: Path) -> dict[str, Any]:
    """What a query must give; it takes a while, and is kept beside the table."""

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
    """How a query's answer differs from what it must be; the hash of rows counts where it was asked for."""
    if "hash" not in held:
        wanted = {name: value for name, value in wanted.items() if name != "hash"}
    elif held["hash"] != wanted["hash"]:
        return f"XXH64 of all rows: {held['hash']} instead of {wanted['hash']}"
    return check.disagreement(wanted, held)


def seen(held: dict[str, Any]) -> dict[str, Any]:
    """The fields of a sample about what was looked at."""
    return {name: held.get(name) for name in ("rows", "checksum", "checked_by")}


def job(hashed: bool) -> dict[str, Any]:
    """The part of a query's job that is about the query."""
    return {"sql": SQL, "duckdb_sql": DUCKDB_SQL, "hash_sql": HASH_SQL if hashed else None, "checked_by": CHECKED_BY}


@contextmanager
def brought(server: s3.S3, key: str, folder: Path) -> Iterator[str]:
    """The Parquet files of a folder of the bucket as local ones, past the proxies: a pattern that names them. The bucket's go then."""
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
