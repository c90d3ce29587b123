"""The Python and the SQL of the guide's page run as they stand, but for the places of tables."""

from __future__ import annotations

import os
import re
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakerace as lr

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "guide" / "spark.md"
TUTORIAL = DOCS / "tutorials" / "one-machine-to-spark.md"

#: Blocks of the page that run here. `make test-spark` has run those for the shell in its way, or they need another machine.
BLOCK = re.compile(r"```(?:python|sql)\n(.*?)```", re.DOTALL)
ASSIGNMENT = re.compile(r"\w+ = ")
SQL = ("MERGE ", "UPDATE ", "DELETE ", "SELECT ")


def code(page: str) -> list[str]:
    """The lines of the blocks of Python and SQL."""
    return [line for block in BLOCK.findall(page) for line in block.splitlines() if line]


def orders(rows: int) -> pa.Table:
    """Orders under all the names that the page uses."""
    ids = pa.array(range(rows), pa.int64())
    days = pa.array([date(2026, 11, 20 + at % 4) for at in range(rows)])
    prices = pa.array([Decimal(at - 5) for at in range(rows)], pa.decimal128(15, 2))
    status = pa.array([("F", "O")[at % 2] for at in range(rows)])
    return pa.table(
        {"order_id": ids, "id": ids, "day": days, "o_orderdate": days, "o_orderstatus": status, "price": prices}
    )


def make_table(place: Path, versions: int) -> None:
    """A table whose versions were made before the time that the page names."""
    feed = {"delta.enableChangeDataFeed": "true"}
    lr.copy(orders(40), f"delta:{place}", table_properties=feed)
    for _ in range(versions - 1):
        lr.Table(str(place)).upsert(orders(3), key="order_id")
    for entry in (place / "_delta_log").glob("*.json"):
        os.utime(entry, (0, datetime(2026, 11, 1, tzinfo=timezone.utc).timestamp()))


def test_the_page(own_session: SparkSession, tmp_path: Path) -> None:
    # Other tests have settled what the catalog of their session is.
    session = own_session
    make_table(tmp_path / "orders", 13)
    make_table(tmp_path / "sales" / "orders", 4)
    types = "order_id long, id long, day date, o_orderdate date, o_orderstatus string, price decimal(15,2)"
    changes = session.createDataFrame(orders(60).slice(30).to_pylist(), types)
    changes.createOrReplaceTempView("changes")
    names: dict[str, Any] = {"spark": session, "changes": changes}
    ran = []
    for line in code(PAGE.read_text(encoding="utf-8")):
        here = line.replace("s3://lake", str(tmp_path)).replace("/out/", f"{tmp_path}/out/").replace("sf=1", "sf=0.01")
        if line.startswith(SQL):
            session.sql(here).collect()
        else:
            exec(f"done = {here}" if not ASSIGNMENT.match(here) else here, names)
            if isinstance(names.get("done"), DataFrame):
                # Nothing is read before the rows are asked for.
                names.pop("done").count()
        ran.append(line)
    assert len(ran) == 19
    table = {
        row.order_id: row.price for row in session.read.format("lakerace").load(str(tmp_path / "orders")).collect()
    }
    assert len(table) == 60
    assert table[0] == Decimal(-5)
    # The page doubles the prices of one day.
    assert table[42] == Decimal(37 * 2)
    sales = {row.id for row in session.read.format("lakerace").load(str(tmp_path / "sales" / "orders")).collect()}
    assert sales == set(range(5, 60))
    assert session.read.format("lakerace").load(f"{tmp_path}/out/orders/").count() > 0


def test_the_tutorial(own_session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The page has version 0 by a copy, and version 1 by an upsert.
    table = f"{tmp_path}/orders"
    columns = ["o_orderkey", "o_custkey", "o_orderstatus", "o_totalprice", "o_orderdate"]
    properties = {"lakerace.primaryKey": "o_orderkey"}
    lr.copy("tpch:orders?sf=0.01", f"delta:{table}", columns=columns, table_properties=properties)
    lr.Table(table).upsert(lr.scan("tpch:orders?sf=0.01&insert=1", columns=columns))
    session = own_session
    session.conf.set("spark.sql.catalog.lake", "lakerace.spark.LakeraceCatalog")
    names: dict[str, Any] = {"spark": session}
    blocks = re.findall(r"```python spark\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block.replace("s3://lake", str(tmp_path)), names)
    assert "15000" in capsys.readouterr().out
    rows = lr.Table(table)
    assert rows.version == 3
    assert rows.scan(where="o_orderstatus = 'P' OR o_orderdate < DATE '1992-02-01'").count() == 0
