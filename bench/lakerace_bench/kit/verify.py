"""Row count, schema and checksum of a table, by duckdb, independent of the order of the rows.

The checksum is the sum over all rows of duckdb's 64-bit hash of the row's values, as a 128-bit integer: independent of
row order, batches, file format and Arrow string layout, and of any code of lakerace. duckdb may change its hash
between versions, so a checksum names the version, and is only compared with one of the same version.

`python verify.py` answers the question that it reads as JSON on stdin: the reference of a job
(`{"file": …, "columns": …, "where": …}`), what a file written by a contestant holds (`{"written": …, "format": …}`, or
`{"generated": …, "format": …, "schema": …, "without": …}`), or what a table must hold after each of some upserts
(`{"upserts": […], "key": …, "scratch": …}`); without a question, who asks.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import duckdb

#: Types of whole numbers.
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}
_WHO = f"duckdb {duckdb.__version__}"


def held(table: Any) -> dict[str, Any]:
    """Looks at `table`: any Arrow object that duckdb scans (a pyarrow table, an Arrow stream)."""
    connection = duckdb.connect()
    return _look(connection, connection.from_arrow(_without_offsets(table)))


def reference(file: str, columns: list[str] | None, where: str | None) -> dict[str, Any]:
    """What a scan of the Parquet `file` must give, by duckdb's reader and by pyarrow's, which must agree."""
    import pyarrow.parquet as pq

    connection = duckdb.connect()
    answers = []
    for source in (connection.read_parquet(file), connection.from_arrow(_without_offsets(pq.read_table(file)))):
        kept = source.filter(where) if where else source
        answers.append(_look(connection, kept.project(_names(columns)) if columns else kept))
    if answers[0] != answers[1]:
        raise ValueError(f"duckdb and pyarrow read {file} differently: {answers}")
    return answers[0]


def _without_offsets(table: Any) -> Any:
    """The rows of a table with nested columns copied: duckdb does not scan structs that begin within their memory."""
    import pyarrow as pa

    if not isinstance(table, pa.Table) or not any(pa.types.is_nested(field.type) for field in table.schema):
        return table
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def parquet(files: str) -> dict[str, Any]:
    """Looks at the rows of all Parquet files that a pattern names."""
    connection = duckdb.connect()
    return _look(connection, connection.read_parquet(files))


def written(file: str, format: str) -> dict[str, Any]:
    """Reads `file` back, and says how it is laid out."""
    return _written_orc(file) if format == "orc" else _written_parquet(file)


def _written_orc(file: str) -> dict[str, Any]:
    """By pyarrow, which has the ORC C++ library; duckdb reads no ORC."""
    from pyarrow import orc

    found = orc.ORCFile(file)
    answer = held(found.read())
    answer["codecs"] = ["NONE" if found.compression == "UNCOMPRESSED" else found.compression]
    answer["row_groups"] = found.nstripes
    return answer


def _written_parquet(file: str) -> dict[str, Any]:
    """By duckdb and by pyarrow."""
    import pyarrow.parquet as pq

    answer = reference(file, None, None)
    metadata = pq.ParquetFile(file).metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    answer["codecs"] = sorted({g.column(c).compression for g in groups for c in range(metadata.num_columns)})
    answer["row_groups"] = len(groups)
    answer["largest_row_group_rows"] = max((g.num_rows for g in groups), default=0)
    answer["created_by"] = metadata.created_by
    return answer


def generated(
    file: str, format: str, schema: list[list[str]] | None = None, without: str | None = None
) -> dict[str, Any]:
    """Reads a generated table back, by duckdb and, where it can, by pyarrow, which must agree; a batch at a time.

    Whole numbers of any width are equal, and columns that end in one of `without` (`_comment,_address`) are left out. Text is read with the types of `schema`.
    """
    connection = duckdb.connect()
    if format == "parquet":
        import pyarrow.parquet as pq

        found = pq.ParquetFile(file)
        batches = _reader(found.schema_arrow, found.iter_batches())
        answer = _look_wide(connection.read_parquet(file), without, connection)
        other = _look_wide(connection.from_arrow(batches), without, connection)
        if answer != other:
            raise ValueError(f"duckdb and pyarrow read {file} differently: {answer} and {other}")
        groups = [found.metadata.row_group(i) for i in range(found.metadata.num_row_groups)]
        codecs = {g.column(c).compression for g in groups for c in range(found.metadata.num_columns)}
        return answer | {"codecs": sorted(codecs), "row_groups": len(groups)}
    if format == "orc":
        from pyarrow import orc

        found = orc.ORCFile(file)
        batches = _reader(found.schema, (found.read_stripe(i) for i in range(found.nstripes)))
        answer = _look_wide(connection.from_arrow(batches), without, connection)
        return answer | {"codecs": [found.compression], "row_groups": found.nstripes}
    columns = [*(schema or []), *([["_end", "VARCHAR"]] if format == "tbl" else [])]
    types = ", ".join(f"'{name}': '{kind}'" for name, kind in columns)
    dialect = "delim = '|', header = false, quote = ''" if format == "tbl" else "delim = ',', header = true"
    text = connection.sql(f"FROM read_csv('{file}', auto_detect = false, {dialect}, columns = {{{types}}})")
    return _look_wide(text.project(_names([name for name, _ in schema or []])), without, connection)


def _reader(schema: Any, batches: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, batches)


def _look_wide(relation: Any, without: str | None, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Looks at the rows with whole numbers as BIGINT."""
    left_out = tuple(without.split(",")) if without else ()
    kept = [(name, kind) for name, kind in _schema(relation) if not name.endswith(left_out)]
    wide = [f"{_names([name])}::{'BIGINT' if kind in _WHOLE else kind} AS {_names([name])}" for name, kind in kept]
    return _look(connection, relation.project(", ".join(wide)))


def after_upserts(files: list[str], key: str, scratch: str) -> list[dict[str, Any]]:
    """What a table of the first of these Parquet files must hold, and what after the rows of each other one.

    A row lasts until the next file that has its key. So the rows of each number of files are those that came before and
    last longer.
    """
    connection = duckdb.connect(config={"memory_limit": "6GB", "temp_directory": scratch})
    parts = []
    for number, file in enumerate(files):
        columns = _names(connection.read_parquet(file).columns)
        hashed = f"{_names([key])} AS key, {number} AS begins, hash({columns})::HUGEINT AS hash"
        parts.append(f"SELECT {hashed} FROM read_parquet('{file}')")
    lasting = connection.sql(
        "SELECT begins, ends, count(*), sum(hash) FROM ("
        "SELECT begins, lead(begins) OVER (PARTITION BY key ORDER BY begins) AS ends, hash "
        f"FROM ({' UNION ALL '.join(parts)})) GROUP BY ALL"
    ).fetchall()
    schema = _schema(connection.read_parquet(files[0]))
    answers = []
    for now in range(len(files)):
        alive = [
            (rows, total) for begins, ends, rows, total in lasting if begins <= now and (ends is None or ends > now)
        ]
        answers.append(_answer(sum(rows for rows, _ in alive), sum(total for _, total in alive), schema))
    return answers


def _look(connection: duckdb.DuckDBPyConnection, relation: Any) -> dict[str, Any]:
    relation = _in_microseconds(relation)
    schema = _schema(relation)
    row = relation.aggregate(f"count(*), sum(hash({_names(relation.columns)})::HUGEINT)").fetchall()[0]
    del connection  # the relation needs it alive until here
    return _answer(row[0], row[1], schema)


def _answer(rows: int, checksum: int, schema: list[list[str]]) -> dict[str, Any]:
    return {"rows": rows, "checksum": str(checksum), "schema": schema, "checked_by": _WHO}


def _in_microseconds(relation: Any) -> Any:
    """Times of day in nanoseconds as those in microseconds, unless they would lose digits: polars has no others."""
    times = [name for name, kind in _schema(relation) if kind == "TIME_NS"]
    if not times:
        return relation
    exact = [f"bool_and({_names([name])}::TIME::TIME_NS IS NOT DISTINCT FROM {_names([name])})" for name in times]
    if not all(relation.aggregate(", ".join(exact)).fetchall()[0]):
        return relation
    text = [
        f"{_names([name])}::TIME AS {_names([name])}" if name in times else _names([name]) for name in relation.columns
    ]
    return relation.project(", ".join(text))


def _schema(relation: Any) -> list[list[str]]:
    return [[name, str(kind)] for name, kind in zip(relation.columns, relation.types, strict=True)]


def _names(columns: list[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)


def main() -> None:
    """Answers the one question on stdin."""
    question = json.load(sys.stdin)
    answer: Any
    if not question:
        answer = _WHO
    elif "upserts" in question:
        answer = after_upserts(question["upserts"], question["key"], question["scratch"])
    elif "generated" in question:
        answer = generated(question["generated"], question["format"], question["schema"], question["without"])
    elif "parquet" in question:
        answer = parquet(question["parquet"])
    elif "written" in question:
        answer = written(question["written"], question["format"])
    else:
        answer = reference(question["file"], question.get("columns"), question.get("where"))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
