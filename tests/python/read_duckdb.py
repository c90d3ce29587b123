"""Reads Delta tables by duckdb's extension: run by the Python of the bench's environment that has it.

The arguments are folders of tables. What is read of each goes to `FOLDER.arrow`; of those that are refused, nothing.
"""

from __future__ import annotations

import sys

import duckdb
import pyarrow as pa
from duckdb_extensions import import_extension


def main() -> None:
    """Reads one table after the other."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    connection.execute(f"SET extension_directory = '{sys.prefix}/duckdb-extensions'")
    import_extension("delta", con=connection)
    for folder in sys.argv[1:]:
        try:
            found = connection.sql(f"FROM delta_scan('{folder}')")
            # Arrow gets no variants of duckdb's: their texts tell them.
            texts = ["::VARCHAR" if str(kind) == "VARIANT" else "" for kind in found.types]
            columns = [f'"{name}"{text} AS "{name}"' for name, text in zip(found.columns, texts, strict=True)]
            rows = found.project(", ".join(columns)).to_arrow_table()
        except duckdb.Error as error:
            print(folder, error)
            continue
        with pa.ipc.new_file(f"{folder}.arrow", rows.schema) as writer:
            writer.write_table(rows)


if __name__ == "__main__":
    main()
