"""Digits of numbers in texts: kept by the type that is inferred, or said. Judged by `decimal` and by other readers."""

from __future__ import annotations

import csv
import decimal
import json
import math
import random
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS = 600


def is_kept(text: str) -> bool:
    """Whether the nearest double, rounded to the digits of the text, is the text."""
    number, double = decimal.Decimal(text), float(text)
    if math.isinf(double) or double == 0:
        return double == number
    digits = max(len(number.as_tuple().digits), 1)
    with decimal.localcontext() as context:
        context.prec, context.rounding = digits, decimal.ROUND_HALF_EVEN
        context.Emin, context.Emax = decimal.MIN_EMIN, decimal.MAX_EMAX
        stripped = number.normalize()
        context.prec = max(len(stripped.as_tuple().digits), 1)
        return +decimal.Decimal(double) == number


def numbers(seed: int) -> list[str]:
    """Texts of decimals and of doubles, and texts next to those of doubles."""
    pick = random.Random(seed)
    texts = []
    while len(texts) < COLUMNS:
        double = pick.choice([pick.random(), pick.gauss(0, 1e6), pick.random() * 10.0 ** pick.randint(-320, 308)])
        digits = pick.randint(1, 22)
        text = pick.choice(
            [
                f"{pick.randint(0, 10 ** pick.randint(1, 20))}.{pick.randint(0, 10**digits - 1):0{digits}}",
                f"{pick.randint(1, 9)}.{pick.randint(0, 10**digits - 1):0{digits}}e{pick.randint(-330, 310)}",
                f"{double:.{digits}e}",
                repr(double),
                f"{decimal.Decimal(repr(double)) * 1000 + 1:e}",
            ]
        )
        if not text.lstrip("-").isdigit():
            texts.append(pick.choice(["", "-"]) * (not text.startswith("-")) + text)
    return texts


@pytest.mark.parametrize("seed", range(8))
def test_csv_infers_floats_where_no_digit_is_lost(tmp_path: Path, seed: int) -> None:
    texts = numbers(seed)
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{i}" for i in range(COLUMNS)) + "\n" + ",".join(texts) + "\n")
    read = lr.scan(path).to_arrow()
    others = [
        pa.csv.read_csv(
            path, convert_options=pa.csv.ConvertOptions(column_types={f"c{i}": pa.float64() for i in range(COLUMNS)})
        ),
        pl.read_csv(path, schema_overrides=[pl.Float64] * COLUMNS).to_arrow(),
        duckdb.read_csv(str(path), dtype={f"c{i}": "DOUBLE" for i in range(COLUMNS)}).to_arrow_table(),
    ]
    kept = 0
    for i, text in enumerate(texts):
        [found] = read[f"c{i}"].to_pylist()
        if is_kept(text):
            kept += 1
            assert isinstance(found, float), text
            assert found == float(text), text
            assert [other[f"c{i}"].to_pylist() for other in others] == [[found]] * len(others), text
        else:
            assert found == text
    assert 0 < kept < COLUMNS
    # A type that is stated is what was asked for.
    stated = lr.scan(
        path, schema=", ".join(f"c{i} float64" for i, text in enumerate(texts) if math.isfinite(float(text)))
    )
    for name, column in zip(stated.schema.names, stated.to_arrow().columns, strict=True):
        text = texts[int(name[1:])]
        assert column.to_pylist() == [float(text) if pa.types.is_floating(column.type) else text]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("value", ["{}", "[{}]", '{{"a":{{"b":{}}}}}'])
def test_json_lines_infer_floats_where_no_digit_is_lost(tmp_path: Path, seed: int, value: str) -> None:
    texts = numbers(seed)[:150]
    path = tmp_path / "a.jsonl"
    path.write_text("{" + ",".join(f'"c{i}":{value.format(text)}' for i, text in enumerate(texts)) + "}\n")
    [line] = path.read_text().splitlines()
    kept = [f"c{i}" for i, text in enumerate(texts) if is_kept(text)]
    assert lr.scan(path, columns=kept).to_arrow().to_pylist() == [{name: json.loads(line)[name] for name in kept}]
    lost = [f"c{i}" for i, text in enumerate(texts) if not is_kept(text)]
    assert lost
    for name in lost:
        with pytest.raises(
            lr.InvalidInputError, match=rf'"{name}.*" has no type that can hold all of its values: numbers'
        ):
            lr.scan(path, columns=[name]).to_arrow()
    as_text = lr.scan(path, columns=lost, schema=", ".join(f"{name} utf8" for name in lost)).to_arrow()
    assert as_text.to_pylist() == [{f"c{i}": value.format(t) for i, t in enumerate(texts) if not is_kept(t)}]


def write_numpy(path: Path, doubles: np.ndarray) -> None:
    np.savetxt(path, doubles, delimiter=",", header="a,b", comments="")


def write_17_digits(path: Path, doubles: np.ndarray) -> None:
    np.savetxt(path, doubles, fmt="%.17g", delimiter=",", header="a,b", comments="")


def write_repr(path: Path, doubles: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *doubles.tolist()])


def write_pyarrow(path: Path, doubles: np.ndarray) -> None:
    pa.csv.write_csv(pa.table({"a": doubles[:, 0], "b": doubles[:, 1]}), path)


def write_polars(path: Path, doubles: np.ndarray) -> None:
    pl.DataFrame({"a": doubles[:, 0], "b": doubles[:, 1]}).write_csv(path)


def write_duckdb(path: Path, doubles: np.ndarray) -> None:
    table = pa.table({"a": doubles[:, 0], "b": doubles[:, 1]})
    duckdb.from_arrow(table).write_csv(str(path))


def write_lakerace(path: Path, doubles: np.ndarray) -> None:
    lr.copy(pa.table({"a": doubles[:, 0], "b": doubles[:, 1]}), path)


@pytest.mark.parametrize(
    "write", [write_numpy, write_17_digits, write_repr, write_pyarrow, write_polars, write_duckdb, write_lakerace]
)
def test_doubles_of_other_programs_stay_doubles(tmp_path: Path, write: Callable[[Path, np.ndarray], None]) -> None:
    make = np.random.default_rng(5)
    doubles = np.concatenate(
        [
            make.random((8000, 2)),
            make.normal(size=(8000, 2)) * 1e6,
            make.random((8000, 2)) * 10.0 ** make.integers(-300, 300, size=(8000, 2)),
            [[5e-324, 1.7976931348623157e308], [2.2250738585072014e-308, -0.1], [1e22, 1e23]],
        ]
    )
    path = tmp_path / "a.csv"
    write(path, doubles)
    read = lr.scan(path).to_arrow()
    assert read.schema.types == [pa.float64(), pa.float64()]
    assert np.array_equal(np.column_stack([read["a"], read["b"]]), doubles)


LOST = ["12345678901234567.89", "0.12345678901234567890", "-1.2345678901234567e-7", "1e400", "1e-400"]


@pytest.mark.parametrize("late", LOST)
def test_a_later_number_that_would_lose_digits_is_named(tmp_path: Path, late: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("price\n" + "1.25\n" * 20_000 + late + "\n")
    done = run("scan", path)
    assert done.code == 4
    assert f"{path}, line 20002" in done.err
    assert late in done.err
    assert "--schema 'price utf8'" in done.err
    assert lr.scan(path, on_bad_row="skip").to_arrow().num_rows == 20_000
    nulls = lr.scan(path, on_bad_row="null")
    assert nulls.to_arrow()["price"].null_count == 1
    assert nulls.report()["bad_rows"] == 1
    assert lr.scan(path, schema="price utf8").to_arrow()["price"].to_pylist()[-1] == late
    if "e" not in late:
        exact = lr.scan(path, schema="price decimal(38,20)").to_arrow()["price"].to_pylist()[-1]
        assert exact == decimal.Decimal(late)
    if "00" not in late:
        assert lr.scan(path, schema="price float64").to_arrow()["price"].to_pylist()[-1] == float(late)


def test_a_table_with_floats_takes_the_nearest_ones(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.csv", tmp_path / "t"
    path.write_text(f"id,price\n1,{LOST[0]}\n")
    lr.copy(pa.table({"id": pa.array([0], pa.int64()), "price": [0.5]}), f"delta:{folder}")
    lr.Table(folder, key="id").upsert(path)
    assert sorted(lr.scan(folder).to_arrow()["price"].to_pylist()) == [0.5, float(LOST[0])]
    ok("copy", path, f"delta:{tmp_path / 'new'}")
    assert lr.scan(tmp_path / "new").to_arrow()["price"].to_pylist() == [LOST[0]]
