"""Filters Delta tables by duckdb's extension: run by the Python of the bench's environment that has it.

Standard input has a JSON list of `{"folder": ..., "conditions": [...]}`. The last line of standard output is the list of answers: by
condition, the ids that a query of its own finds, and those where it holds in a query without conditions.
"""

from __future__ import annotations

import json
import sys

import duckdb
from duckdb_extensions import import_extension


def answer(connection: duckdb.DuckDBPyConnection, folder: str, conditions: list[str]) -> list[list[list[int]]]:
    """What is found by statistics, and without."""
    # The log is read once, and each query still leaves out files by their statistics.
    connection.execute(f"ATTACH '{folder}' AS pinned (TYPE delta, PIN_SNAPSHOT)")
    found = [
        sorted(row[0] for row in connection.sql(f"SELECT id FROM pinned WHERE {condition}").fetchall())
        for condition in conditions
    ]
    columns = ", ".join(f"({condition})" for condition in conditions)
    rows = connection.sql(f"SELECT id, {columns} FROM pinned").fetchall()
    connection.execute("DETACH pinned")
    return [found, [sorted(row[0] for row in rows if row[1 + at]) for at in range(len(conditions))]]


def main() -> None:
    """Answers all questions in one connection."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    connection.execute(f"SET extension_directory = '{sys.prefix}/duckdb-extensions'")
    import_extension("delta", con=connection)
    connection.execute("SET TimeZone = 'UTC'")
    answers = [answer(connection, question["folder"], question["conditions"]) for question in json.load(sys.stdin)]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
