"""Row count, schema and checksum of a table, by duckdb, the same whatever the order of the rows.

The checksum is the sum over all rows of duckdb's 64-bit hash of the row's values, as a 128-bit integer: independent of
row order, batches, file format and Arrow string layout, and of any code of lakerace. duckdb may change its hash
between versions, so a checksum names the version, and is only compared with one of the same version.

`python verify.py` answers the question that it reads as JSON on stdin: the reference of a job
(`{"file": …, "columns": …, "where": …}`), or what a file written by a contestant holds (`{"written": …, "format": …}`).
"""

from __future__ import annotations

import json
import sys
from typing import Any

import duckdb


def held(table: Any) -> dict[str, Any]:
    """Looks at `table`: any Arrow object that duckdb scans (a pyarrow table, an Arrow stream)."""
    connection = duckdb.connect()
    return _look(connection, connection.from_arrow(table))


def reference(file: str, columns: list[str] | None, where: str | None) -> dict[str, Any]:
    """What a scan of the Parquet `file` must give, by duckdb's reader and by pyarrow's, which must agree."""
    import pyarrow.parquet as pq

    connection = duckdb.connect()
    answers = []
    for source in (connection.read_parquet(file), connection.from_arrow(pq.read_table(file))):
        kept = source.filter(where) if where else source
        answers.append(_look(connection, kept.project(_names(columns)) if columns else kept))
    if answers[0] != answers[1]:
        raise ValueError(f"duckdb and pyarrow read {file} differently: {answers}")
    return answers[0]


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


def _look(connection: duckdb.DuckDBPyConnection, relation: Any) -> dict[str, Any]:
    schema = [[name, str(kind)] for name, kind in zip(relation.columns, relation.types, strict=True)]
    row = relation.aggregate(f"count(*), sum(hash({_names(relation.columns)})::HUGEINT)").fetchall()[0]
    del connection  # the relation needs it alive until here
    return {
        "rows": row[0],
        "checksum": str(row[1]),
        "schema": schema,
        "checked_by": f"duckdb {duckdb.__version__}",
    }


def _names(columns: list[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)


def main() -> None:
    """Answers the one question on stdin."""
    question = json.load(sys.stdin)
    if "written" in question:
        answer = written(question["written"], question["format"])
    else:
        answer = reference(question["file"], question.get("columns"), question.get("where"))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
