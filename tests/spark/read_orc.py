"""Reads ORC (and Parquet) files with Spark: run by the Python of the bench's Spark environment, which has no lakerace.

Standard input has a JSON list of `{"path": ..., "where": null or a condition}`, with `"format": "parquet"` where it is not ORC; the last line of standard output is the list
of answers, each with the schema, the rows and the count of rows that Spark read from the file to find them.
"""

from __future__ import annotations

import datetime
import decimal
import json
import sys
from typing import Any


def scalar(value: Any) -> Any:
    """A value that is no list, map or struct, as JSON that compares equal where it is the same."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return repr(value) if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return scalar(value)


def _answer(spark: Any, question: dict[str, Any]) -> dict[str, Any]:
    frame = spark.read.format(question.get("format", "orc")).load(question["path"])
    if question["where"]:
        frame = frame.where(question["where"])
    schema = [field.dataType.simpleString() for field in frame.schema]
    # As microseconds from 1970: Python's own times do not reach as far as Spark's.
    times = zip(frame.columns, schema, strict=True)
    frame = frame.selectExpr(*(f"unix_micros({name})" if kind == "timestamp" else name for name, kind in times))
    rows = [_plain(row) for row in frame.collect()]
    # The same execution's plan: its only leaf is the scan.
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    scanned = scan.metrics().get("numOutputRows").get().value()
    return {"schema": schema, "rows": rows, "scanned": scanned}


def main() -> None:
    """Answers all questions in one session."""
    sys.path.insert(0, sys.argv[1])
    import session

    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.adaptive.enabled": "false",
    }
    spark = session.start(1, settings)
    answers = [_answer(spark, question) for question in json.load(sys.stdin)]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
