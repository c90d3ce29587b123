"""Merges random rows into tables by delta-spark and by lakerace: a program, as its session has jars and settings of its own.

Standard input has a JSON object: `ivy`, the folder of delta-spark's jars, and `folder`, for the tables. The last line of standard output is a JSON
object: `differing`, a text for each MERGE whose outcomes differ, `compared` and `refused`, the number of merges and of those that both refuse, and
`read`, the bytes that both read of a table of many files (`delta`, `lakerace`) and the bytes of all of its files (`all`).
"""

from __future__ import annotations

import datetime
import decimal
import json
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from bucket import serving
from conftest import JAR
from filter_delta import start
from pyspark.sql import SparkSession

import lakerace as lr

#: The columns of the key, as a condition of t and s, and the types that the source has where they differ from the table's.
KEYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "long": (["id"], {}),
    "wider": (["small"], {"small": "BIGINT"}),
    "narrower": (["id"], {"id": "INT"}),
    "text": (["text"], {}),
    "decimal": (["price"], {}),
    "wider decimal": (["price"], {"price": "DECIMAL(14, 3)"}),
    "date": (["day"], {}),
    "composite": (["small", "text"], {}),
    "three": (["day", "price", "id"], {}),
}
UPDATE = "WHEN MATCHED THEN UPDATE SET note = concat('u', s.note)"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, small, text, price, day, note) VALUES (s.id, s.small, s.text, s.price, s.day, s.note)"
CLAUSES = [
    f"{UPDATE} {INSERT}",
    "WHEN MATCHED THEN DELETE",
    INSERT,
    f"WHEN MATCHED AND s.note > 'n5' THEN DELETE {UPDATE} {INSERT}",
    f"{UPDATE} {INSERT} WHEN NOT MATCHED BY SOURCE AND t.small = 3 THEN DELETE",
]
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int32()),
        ("text", pa.string()),
        ("price", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("note", pa.string()),
    ]
)
FILES, ROWS = 8, 40


def row(chance: random.Random, numbers: range) -> dict[str, Any]:
    """A row whose columns depend on one number, or are null."""
    at = chance.choice(numbers)
    values = {
        "id": at - 50,
        "small": at // 7,
        "text": f"te'xt {at // 3}",
        "price": decimal.Decimal(at) / 4,
        "day": datetime.date(1999, 12, 1) + datetime.timedelta(at // 2),
    }
    return {name: None if chance.random() < 0.05 else value for name, value in values.items()}


def table(chance: random.Random, numbers: range, count: int, note: str) -> pa.Table:
    rows = [row(chance, numbers) | {"note": f"{note}{at}"} for at in range(count)]
    return pa.Table.from_pylist(rows, SCHEMA)


def outcome(spark: SparkSession, name: str, statement: str) -> tuple[bool, list[str]]:
    """Whether a statement is done, and the rows after it."""
    try:
        spark.sql(statement).collect()
        done = True
    except Exception as error:
        # A row that two rows of the source match is an error of both; others are not.
        assert "MULTIPLE_SOURCE_ROW" in str(error).upper() or "CARDINALITY" in str(error).upper(), error
        done = False
    return done, sorted(map(str, spark.sql(f"SELECT * FROM {name}").collect()))


def counted_rows(place: Path) -> list[str]:
    """The rows that the entry after those of the files says to be inserted, updated and deleted."""
    entry = place / "_delta_log" / f"{FILES:020}.json"
    if not entry.exists():
        return ["0", "0", "0"]
    actions = map(json.loads, entry.read_text(encoding="utf-8").splitlines())
    [info] = [action["commitInfo"] for action in actions if "commitInfo" in action]
    metrics = info["operationMetrics"]
    # Spark makes an append of a MERGE that only inserts.
    if info["operation"] == "WRITE":
        return [metrics["numOutputRows"], "0", "0"]
    return [metrics.get(f"numTargetRows{change}", "0") for change in ("Inserted", "Updated", "Deleted")]


def compare(spark: SparkSession, folder: Path, seed: int) -> tuple[str, bool]:
    """A text where a MERGE has two outcomes, and whether it is refused."""
    chance = random.Random(seed)
    key, (columns, types) = list(KEYS.items())[seed % len(KEYS)]
    clauses = CLAUSES[seed % len(CLAUSES)]
    places = {"delta": folder / f"delta{seed}", "lake": folder / f"lake{seed}"}
    files = [table(chance, range(at * ROWS, at * ROWS + ROWS), ROWS, "n") for at in range(FILES)]
    vectors = {"delta.enableDeletionVectors": str(chance.random() < 0.5).lower()}
    for place in places.values():
        for part in files:
            lr.copy(part, f"delta:{place}", mode="append", **({} if place.exists() else {"table_properties": vectors}))
    source = table(chance, range(chance.randrange(FILES) * ROWS + ROWS * 2), chance.choice([0, 1, 4, 12]), "s")
    path = folder / f"source{seed}.parquet"
    lr.copy(source, str(path))
    casts = [f"CAST({name} AS {types[name]}) AS {name}" if name in types else name for name in SCHEMA.names]
    spark.read.parquet(str(path)).selectExpr(*casts).createOrReplaceTempView("source")
    if chance.random() < 0.7:
        spark.table("source").dropDuplicates(columns).createOrReplaceTempView("source")
    condition = " AND ".join(f"t.{name} = s.{name}" for name in columns)
    found = {}
    for catalog, place in places.items():
        name = f"{catalog}.`{place}`"
        done, rows = outcome(spark, name, f"MERGE INTO {name} t USING source s ON {condition} {clauses}")
        found[catalog] = (done, rows, counted_rows(place))
    same = found["delta"] == found["lake"]
    return "" if same else f"seed {seed}, key {key}, {clauses}: {found}", not found["delta"][0]


def read_bytes(spark: SparkSession, folder: Path) -> dict[str, int]:
    """The bytes that a MERGE of ten keys reads of a table of many files."""
    many = [
        pa.table({"id": range(at, at + 1000), "text": [f"{n * 7919:012}" for n in range(at, at + 1000)]})
        for at in range(0, 40_000, 1000)
    ]
    spark.sql(
        "SELECT id FROM VALUES (3), (4), (5000), (5001), (5002), (39001), (39002), (7), (8), (100000) AS v(id)"
    ).write.parquet(str(folder / "ten"))
    spark.read.parquet(str(folder / "ten")).createOrReplaceTempView("ten")
    statement = "MERGE INTO {} t USING ten s ON t.id = s.id WHEN MATCHED THEN UPDATE SET text = 'new' WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.id, 'in')"
    for part in many:
        lr.copy(part, f"delta:{folder / 'many'}", mode="append")

    def input_bytes() -> int:
        return sum(some.totalInputBytes() for some in executors(spark))

    before = input_bytes()
    spark.sql(statement.format(f"delta.`{folder / 'many'}`")).collect()
    found = {"delta": input_bytes() - before}
    with serving() as bucket:
        storage = {
            "aws_endpoint_url": bucket.endpoint,
            "aws_allow_http": "true",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        }
        for part in many:
            lr.copy(part, "delta:s3://bucket/many", mode="append", storage_options=storage)
        spark.conf.set("spark.sql.catalog.counted", "lakerace.spark.LakeraceCatalog")
        for name, value in storage.items():
            spark.conf.set(f"spark.sql.catalog.counted.storage.{name}", value)
        is_data = "many/part-"
        found["all"] = sum(len(data) for key, data in bucket.objects.items() if key.startswith(is_data))
        first = len(bucket.sent)
        spark.sql(statement.format("counted.`s3://bucket/many`")).collect()
        found["lakerace"] = sum(length for key, length in bucket.sent[first:] if key.startswith(is_data))
        rows = [
            sorted(map(tuple, spark.sql(f"SELECT * FROM {name}").collect()))
            for name in (f"delta.`{folder / 'many'}`", "counted.`s3://bucket/many`")
        ]
        assert rows[0] == rows[1]
    return found


def executors(spark: SparkSession) -> list[Any]:
    """What Spark knows of its executors."""
    # Numbers of tasks come after their jobs.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return [found.apply(at) for at in range(found.size())]


def main() -> None:
    """Compares all, in one session."""
    asked: dict[str, Any] = json.load(sys.stdin)
    settings = {
        "spark.jars": JAR,
        "spark.sql.catalog.lake": "lakerace.spark.LakeraceCatalog",
        # Spark's own plans, with which it writes.
        "spark.sql.adaptive.enabled": "true",
    }
    spark = start(asked["ivy"], **settings)
    folder = Path(asked["folder"])
    outcomes = [compare(spark, folder, seed) for seed in range(asked["merges"])]
    told = {
        "differing": [text for text, _ in outcomes if text],
        "compared": len(outcomes),
        "refused": sum(refused for _, refused in outcomes),
        "read": read_bytes(spark, folder),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
