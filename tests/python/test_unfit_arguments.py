"""Arguments of other names and kinds than the functions take: each error says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lakerace as lr


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    rows = [{"order_id": number, "price": float(number)} for number in range(5)]
    lr.copy(rows, f"delta:{tmp_path}/orders")
    lr.copy(rows, tmp_path / "orders.parquet")
    return tmp_path / "orders.parquet"


def message(kind: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


def test_names_in_one_text(orders: Path) -> None:
    start = "columns is a list of names, not one text: write "
    for columns, listed in {
        "price, order_id": "['price', 'order_id']",
        " a.b ,c": "['a.b', 'c']",
        "price": "['price']",
        "coalesce(price, 1) as b": "['coalesce(price, 1) as b']",
        '"a, b"': "['\"a, b\"']",
    }.items():
        assert message(lr.UsageError, lambda columns=columns: lr.scan(orders, columns=columns)) == start + listed
    text = message(lr.UsageError, lambda: lr.scan(orders, null_strings="NA,none"))
    assert text == "null_strings is a list of names, not one text: write ['NA,none']"


def test_conditions_of_other_packages(orders: Path) -> None:
    start = 'where: a text is expected, such as "price > 1", not '
    table = lr.Table(orders.with_name("orders"))
    for call in (lambda where: lr.scan(orders, where=where), table.delete, lambda where: table.compact(where=where)):
        text = message(TypeError, lambda call=call: call(pl.col("price") > 1))
        assert text == f"{start}Expr; scan.lazy().filter(…) takes expressions of polars"
        text = message(TypeError, lambda call=call: call(pc.field("price") > 1))
        assert text == f"{start}Expression; scan.to_dataset().to_table(filter=…) takes expressions of pyarrow"
        assert message(TypeError, lambda call=call: call(True)) == f"{start}bool"
    assert lr.scan(orders).lazy().filter(pl.col("price") > 1).collect().height == 3
    assert lr.scan(orders).to_dataset().to_table(filter=pc.field("price") > 1).num_rows == 3


def test_types_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("price\n1\n")
    for call in (lr.scan, lr.schema, lambda path, schema: lr.copy(path, tmp_path / "a.parquet", schema=schema)):
        text = message(
            TypeError, lambda call=call: call(tmp_path / "a.csv", schema={"price": "float64", "day": "date32"})
        )
        assert text == "schema: a text is expected, such as 'price float64, day date32', not dict"
        text = message(
            TypeError, lambda call=call: call(tmp_path / "a.csv", schema=pa.schema([("price", pa.float64())]))
        )
        assert text == "schema: a text is expected, such as 'price float64, day date32', not Schema"
    assert lr.schema(tmp_path / "a.csv", schema="price float64")["columns"][0]["type"] == "Float64"


def test_unknown_arguments(orders: Path) -> None:
    table = lr.Table(orders.with_name("orders"))
    merge = table.merge(orders, on="order_id")
    updates = {"price": "1"}
    for call, name, meant in (
        (lambda: lr.copy(orders, "x.parquet", compresion="zstd"), "compresion", "compression"),  # type: ignore[call-overload]
        (lambda: lr.scan(orders, colums=["price"]), "colums", "columns"),
        (lambda: table.scan(colums=["price"]), "colums", "columns"),
        (lambda: lr.Table(orders, keys="order_id"), "keys", "key"),
        (lambda: table.update(updates=updates, predicate="price = 1"), "predicate", "where"),
        (lambda: table.delete(predicate="price = 1"), "predicate", "where"),
        (lambda: merge.when_matched_update(set=updates), "set", "updates"),
        (lambda: merge.when_not_matched_insert(set=updates), "set", "updates"),
    ):
        end = f"() got an unexpected keyword argument '{name}': did you mean {meant}?"
        assert message(TypeError, call).endswith(end)  # type: ignore[arg-type]
    text = message(TypeError, lambda: lr.scan(orders, xyzzy=1))
    assert text.endswith("scan() got an unexpected keyword argument 'xyzzy'")
    text = message(TypeError, table.delete)
    assert text.endswith("delete() missing 1 required positional argument: 'where': \"true\" is true of all rows")
    assert table.delete("true").rows == 5


def test_errors_of_other_calls_are_kept(orders: Path) -> None:
    """A function of the caller that fails within a call has its own message."""

    def rows() -> Any:
        yield {"order_id": 1}
        dict.fromkeys(compresion=1)  # type: ignore[call-overload]

    text = message(TypeError, lambda: lr.copy(rows(), orders.with_name("x.parquet")))
    assert "did you mean" not in text


def test_a_condition_in_place_of_columns(orders: Path) -> None:
    table = lr.Table(orders.with_name("orders"))
    condition = "target.order_id = source.order_id"
    text = message(lr.NotFoundError, lambda: table.merge(orders, condition).when_matched_delete().execute())
    assert text.endswith(
        f'there is no column "{condition}" (`on` takes names of columns: pass a condition as predicate=)'
    )
    text = message(lr.NotFoundError, lambda: table.merge(orders, "nope").when_matched_delete().execute())
    assert text.endswith('there is no column "nope" (the columns are "order_id", "price")')
    assert table.merge(orders, predicate=condition).when_matched_delete().execute().deleted == 5
