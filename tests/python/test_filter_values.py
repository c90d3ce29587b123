"""Values of filters at the edges of their types: floats that are no numbers, signs of zero, the time of a run; and texts that are nested."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run

import lakerace as lr

NAN, INF = float("nan"), float("inf")
FLOATS = [NAN, -INF, INF, 0.0, -0.0, 1.5, -1.5, 5e-324, 1.7976931348623157e308]
#: Comparisons by IEEE 754, as the guide says; those of duckdb and Spark have NaN as the greatest number.
COMPARISONS = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@pytest.fixture
def floats(tmp_path: Path) -> Path:
    with np.errstate(over="ignore"):
        single = np.array(FLOATS, np.float32)
    columns = {
        "id": pa.array(range(len(FLOATS))),
        "f": pa.array(FLOATS),
        "single": pa.array(single),
        "whole": pa.array(range(len(FLOATS))),
        "price": pa.array([Decimal(f"{number}.25") for number in range(len(FLOATS))]),
    }
    pq.write_table(pa.table(columns), tmp_path / "floats.parquet")
    return tmp_path / "floats.parquet"


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize("column", ["f", "single", "whole", "price"])
def test_parameters_that_are_not_finite(floats: Path, operator: str, column: str) -> None:
    stored = pq.read_table(floats)[column].to_pylist()
    values = np.array([float(value) for value in stored])
    parameters = [NAN, INF, -INF, np.float32("nan"), np.float64("-inf"), Decimal("NaN"), Decimal("-Infinity")]
    for parameter in parameters:
        expected = np.flatnonzero(COMPARISONS[operator](values, float(parameter))).tolist()
        for where in (f"{column} {operator} ?", f"NOT NOT ({column} {operator} ?)"):
            scan = lr.scan(floats, columns=["id"], where=where, params=[parameter])
            assert scan.to_arrow()["id"].to_pylist() == expected, (where, parameter)


def test_infinite_parameters_as_in_duckdb(floats: Path) -> None:
    finite = "f = f and abs(f) < cast('inf' as double)"
    for operator in COMPARISONS:
        for parameter in (INF, -INF):
            query = f"SELECT id FROM '{floats}' WHERE NOT isnan(f) AND f {operator} ? ORDER BY id"
            expected = [row[0] for row in duckdb.execute(query, [parameter]).fetchall()]
            scan = lr.scan(floats, columns=["id"], where=f"f = f AND f {operator} ?", params=[parameter])
            assert scan.to_arrow()["id"].to_pylist() == expected
    found = lr.scan(floats, columns=["f"], where=finite).to_arrow()["f"].to_pylist()
    assert found == [value for value in FLOATS if math.isfinite(value)]


def test_a_minus_changes_the_sign_of_zero(floats: Path, tmp_path: Path) -> None:
    """As duckdb has it, in the values, in files and in texts."""
    columns = [
        "-f as f",
        "-single as single",
        "-whole as whole",
        "-price as price",
        "-(-f) as twice",
        "-(f + 0) as sum",
        "0 - f as difference",
    ]
    found = lr.scan(floats, columns=columns).to_arrow()
    expected = duckdb.sql(f"SELECT {', '.join(columns)} FROM '{floats}'").to_arrow_table()
    for name in found.column_names:
        assert found[name].to_pylist() == pytest.approx(expected[name].to_pylist(), nan_ok=True, rel=0, abs=0), name
    for name in ("f", "single", "twice", "sum", "difference"):
        ours, theirs = (np.signbit(table[name].to_numpy()) for table in (found, expected))
        numbers = ~np.isnan(found[name].to_numpy())
        assert (ours == theirs)[numbers].all(), name
    assert found.schema.field("single").type == pa.float32()
    assert found.schema.field("price").type == expected.schema.field("price").type
    printed = ok("scan", floats, "--columns=-f as f", "--where", "f = 0", "--format", "csv").out.split()
    assert printed == ["f", "-0.0", "0.0"]
    lr.copy(floats, tmp_path / "signs.parquet", columns=["-f as f"], where="f = 0")
    assert np.signbit(pq.read_table(tmp_path / "signs.parquet")["f"].to_numpy()).tolist() == [True, False]
    # A minus in a condition.
    assert (
        lr.scan(floats, where="-f > 1").count()
        == duckdb.sql(f"SELECT 1 FROM '{floats}' WHERE NOT isnan(f) AND -f > 1").to_arrow_table().num_rows
    )


def test_a_minus_of_other_values(tmp_path: Path) -> None:
    least = -(2**63)
    pq.write_table(
        pa.table({"least": pa.array([least]), "text": ["x"], "none": pa.array([None], pa.int32())}),
        tmp_path / "a.parquet",
    )
    with pytest.raises(lr.InvalidInputError, match="out of range"):
        lr.scan(tmp_path / "a.parquet", columns=["-least as a"]).to_arrow()
    with pytest.raises(lr.InvalidInputError, match='not column "text"'):
        lr.scan(tmp_path / "a.parquet", columns=["-text as a"])
    assert lr.scan(tmp_path / "a.parquet", columns=["-none as a", "-NULL as b"]).to_arrow().to_pylist() == [
        {"a": None, "b": None}
    ]


DEEP = 3000
NESTED = {
    "case else": "CASE WHEN id = 1 THEN 1 ELSE " * DEEP + "2" + " END" * DEEP + " = 2",
    "case when": "CASE WHEN " * DEEP + "id = 1" + " THEN true ELSE false END" * DEEP,
    "case operand": "CASE " * DEEP + "id" + " WHEN 1 THEN 2 ELSE 3 END" * DEEP + " = 2",
    "case that does not end": "CASE WHEN id = 1 THEN " * DEEP + "1",
    "parentheses": "(" * DEEP + "id" + ")" * DEEP + " = 1",
    "calls": "abs(" * DEEP + "id" + ")" * DEEP + " = 1",
    "casts": "CAST(" * DEEP + "id" + " AS bigint)" * DEEP + " = 1",
    "tries": "TRY_CAST(" * DEEP + "id" + " AS bigint)" * DEEP + " = 1",
    "not": "NOT " * DEEP + "id = 1",
    "minus": "- " * DEEP + "id = 1",
    "brackets": "[" * DEEP + "id" + "]" * DEEP + " = 1",
    "braces": "{" * DEEP + "}" * DEEP,
    "intervals": "INTERVAL " * DEEP + "'1 day' = id",
    "not in parentheses": "NOT (" * DEEP + "id = 1" + ")" * DEEP,
}
CHAINS = {
    "sum": "id" + " + 1" * 10_000 + " = 10001",
    "product": "id" + " * 1" * 10_000 + " = 1",
    "texts": "'a'" + " || 'a'" * 10_000 + " = 'a'",
    "casts": "id" + "::bigint" * 10_000 + " = 1",
    "comparisons": "true" + " = true" * 10_000,
    "is null": "id" + " IS NULL" * 10_000,
    "between": "id" + " BETWEEN 1 AND 2" * 10_000,
    "like": "id" + " LIKE 'x'" * 10_000,
    "fields": "a" + ".b" * 10_000 + " = 1",
}


@pytest.mark.parametrize("text", [*NESTED.values()], ids=[*NESTED])
def test_deep_nesting_is_told(tmp_path: Path, text: str) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(lr.UnsupportedError, match=r"nested deeper than 100 levels"):
        lr.scan(tmp_path / "a.parquet", where=text)
    with pytest.raises(lr.UnsupportedError, match=r"nested deeper than 100 levels"):
        lr.scan(tmp_path / "a.parquet", columns=[f"{text} as a"])
    with pytest.raises(lr.UnsupportedError, match=r"nested deeper than 100 levels"):
        lr.scan(tmp_path / "a.parquet", order_by=text)


@pytest.mark.parametrize("text", [*CHAINS.values()], ids=[*CHAINS])
def test_long_chains_are_told(tmp_path: Path, text: str) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    for options in ({"where": text}, {"columns": [f"{text} as a"]}, {"order_by": text}):
        with pytest.raises(lr.Error) as error:
            lr.scan(tmp_path / "a.parquet", **options).count()  # type: ignore[arg-type]
        assert error.value.kind in {"unsupported", "not_found", "invalid_input"}, error.value
        assert len(str(error.value)) < 100_000


def test_shallow_nesting_and_flat_chains_are_as_in_duckdb(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(100), "end": range(100)}), tmp_path / "a.parquet")
    texts = [
        "CASE WHEN id = 1 THEN 1 ELSE " * 40 + "2" + " END" * 40 + " = 2",
        "id IN (" + ", ".join(map(str, range(0, 100, 3))) + ")",
        " OR ".join(f"id = {number}" for number in range(0, 600, 2)),
        " AND ".join(f"id <> {number}" for number in range(0, 600, 2)),
        " OR ".join(f"(id = {number} AND id > 0)" for number in range(300)),
        '"end" = 5 OR (CASE WHEN id > 5 THEN id ELSE -id END) = 7',
    ]
    for text in texts:
        connection = duckdb.connect()
        connection.execute("SET max_expression_depth = 100000")
        expected = connection.execute(f"SELECT id FROM '{tmp_path / 'a.parquet'}' WHERE {text} ORDER BY id").fetchall()
        found = lr.scan(tmp_path / "a.parquet", columns=["id"], where=text).to_arrow()["id"].to_pylist()
        assert found == [row[0] for row in expected], text[:60]


def test_a_run_has_one_time(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(10)}), tmp_path / "a.parquet")
    columns = [f"now() as t{number}" for number in range(200)]
    rows = (
        lr.scan(tmp_path / "a.parquet", columns=columns, where="now() > TIMESTAMP '2020-01-01'").to_arrow().to_pylist()
    )
    assert len({value for row in rows for value in row.values()}) == 1
    # duckdb has one, too.
    names = ", ".join(f"now() AS t{number}" for number in range(200))
    theirs = (
        duckdb.sql(f"SELECT {names} FROM range(10)")
        .to_arrow_table()
        .cast(pa.schema([(f"t{number}", pa.int64()) for number in range(200)]))
    )
    assert len({value for column in theirs.columns for value in column.to_pylist()}) == 1
    printed = ok("scan", tmp_path / "a.parquet", "--columns", "now() as a, now() as b", "--format", "csv", "--limit", 1)
    first, second = printed.out.splitlines()[1].split(",")
    assert first == second
    # A copy is such a run, too.
    lr.copy(tmp_path / "a.parquet", tmp_path / "b.parquet", columns=columns)
    copied = pq.read_table(tmp_path / "b.parquet").to_pylist()
    assert len({value for row in copied for value in row.values()}) == 1


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_the_plan_of_a_count_has_the_bytes_of_its_filter(tmp_path: Path, ending: str) -> None:
    """Those of the file's own metadata: the columns of the filter alone are read."""
    rng = np.random.default_rng(1)
    rows = pa.table(
        {"id": rng.integers(0, 2**60, 20_000), "text": [f"{n:064d}" for n in rng.integers(0, 2**60, 20_000)]}
    )
    source = tmp_path / f"a.{ending}"
    lr.copy(rows, source)
    plan = ok("scan", source, "--count", "--where", "id > 5", "--explain", "--json").json["explain"]
    alone = ok("scan", source, "--columns", "id", "--where", "id > 5", "--explain", "--json").json["explain"]
    units = [unit["wanted_bytes"] for file in plan["plan"]["files"] for unit in file["units"]]
    assert units == [unit["wanted_bytes"] for file in alone["plan"]["files"] for unit in file["units"]]
    if ending == "parquet":
        groups = pq.ParquetFile(source).metadata
        assert sum(units) == sum(
            groups.row_group(n).column(0).total_compressed_size for n in range(groups.num_row_groups)
        )
    text = ok("scan", source, "--count", "--where", "id > 5", "--explain").out
    assert "columns   none: rows are counted" in text.splitlines()
    assert all(line == line.rstrip() for line in text.splitlines())
    done = run("scan", source, "--count", "--where", "id > 5", "--json").json
    assert done["bytes_read"] < source.stat().st_size * 0.7
