"""Reads and writes a table on S3 by lakerace's connector, while the credentials that a provider of Hadoop's gives change.

The one question on stdin has the server, the file of the credentials, the provider's class path and the connector's jar.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parents[1] / "kit")]

import session  # noqa: E402


def main() -> None:
    """Prints what came of each step."""
    [question] = json.load(sys.stdin)
    keys, jars = Path(question["file"]), [question["provider"], *map(str, session.JARS.glob("*.jar"))]
    settings = {
        "spark.hadoop.fs.s3a.endpoint": question["endpoint"],
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "FileProvider",
        "spark.hadoop.fs.s3a.test.file": str(keys),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.sql.adaptive.enabled": "false",
    }
    spark = session.start(2, settings, (question["jar"],))
    place = f"s3a://{question['bucket']}/t"

    def write(to: str) -> None:
        spark.range(0, 1000, 1, 2).write.format("lakerace").mode("append").save(to)

    def total() -> Any:
        """A query that is planned, and what it gives when it runs behind a change of the credentials."""
        query = spark.read.format("lakerace").load(place).selectExpr("sum(id)")
        query._jdf.queryExecution().executedPlan()
        return query

    def told(work: Any) -> Any:
        try:
            return work()
        except Exception as error:
            return "denied" if "denies access" in str(error) else str(error)

    good = f"{question['key']}\n{question['secret']}\n"
    keys.write_text(good)
    write(f"delta:{place}")
    planned = total()
    keys.write_text(f"{question['key']}\nexpired\n")
    answers = [told(lambda: planned.collect()[0][0]), told(lambda: write(place)), told(total)]
    keys.write_text(good)
    answers += [told(lambda: planned.selectExpr("*").collect()[0][0]), told(lambda: total().collect()[0][0])]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
