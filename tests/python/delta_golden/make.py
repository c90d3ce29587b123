"""Writes what Spark reads from the golden tables: `NAME.jsonl`, a sorted line for each row, or `NAME.sha256` of these lines
where they are many.

Run by hand, where PySpark 3.5 is installed: `TZ=UTC python make.py ../../../../shared/conformance/delta`. Tables that
Spark refuses get no file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from rows import digest, lines
from session import session

#: Longer texts are kept as their digest.
DIGEST_CHARACTERS = 65_536


def rows_of(table: DataFrame) -> list[dict[str, Any]]:
    """The rows, by way of Arrow: Python's dicts take no maps whose keys are lists."""
    batches = table._collect_as_arrow()
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def main(golden: Path) -> None:
    spark = session()
    here = Path(__file__).parent
    for folder in sorted(path for path in golden.iterdir() if (path / "_delta_log").is_dir()):
        try:
            rows = rows_of(spark.read.format("delta").load(str(folder)))
        except Exception as error:
            print(f"{folder.name}: refused: {str(error).splitlines()[0][:200]}")
            continue
        text = "".join(f"{line}\n" for line in lines(rows))
        if len(text) > DIGEST_CHARACTERS:
            (here / f"{folder.name}.sha256").write_text(f"{digest(text)}  {len(rows)} rows\n")
        else:
            (here / f"{folder.name}.jsonl").write_text(text, encoding="utf-8")
        print(f"{folder.name}: {len(rows)} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
