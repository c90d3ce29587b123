"""Functions, casts, branches and parameters in filters, held against duckdb over the same rows."""

from __future__ import annotations

import decimal
import itertools
import operator
import sqlite3
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

TEXTS = [
    "",
    " ",
    "a",
    "Ab c",
    " padded ",
    "xxay",
    "ÄÖ ü",
    "日本語テキスト",
    "😀 smile",
    "it's",
    "a%b_c",
    None,
    "NULL",
    "2024-02-29",
    "12",
]
NUMBERS = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 10**12, -(10**12), None, 3, 5, 100, -100, 42]
FLOATS = [0.0, -0.0, 1.5, -1.5, 2.5, -2.5, 1e15, -1e15, 0.1, None, 3.0, 1e-9, -0.49, 0.51, 7.0]
DECIMALS = [
    "0.00",
    "1.05",
    "-1.05",
    "99999999.99",
    "-99999999.99",
    None,
    "0.01",
    "-0.01",
    "12.30",
    "5.00",
    "7.50",
    "-7.50",
    "2.00",
    "3.33",
    "4.44",
]
TIMES = [
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1968, 2, 29, 12, 30, 15, 500_000),
    datetime(1900, 1, 1),
    datetime(1582, 10, 15),
    datetime(1, 1, 1),
    datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime(2024, 12, 30),
    datetime(2025, 1, 1),
    datetime(2021, 1, 3, 23, 0),
    None,
    datetime(2038, 1, 19, 3, 14, 8),
    datetime(9999, 12, 31, 23, 59, 59),
    datetime(2000, 1, 31),
    datetime(2000, 3, 31, 4, 5, 6),
]

ROWS = pa.table(
    {
        "id": pa.array(range(len(TEXTS))),
        "s": pa.array(TEXTS),
        "n": pa.array(NUMBERS, pa.int64()),
        "i": pa.array([None if n is None else n % 100 for n in NUMBERS], pa.int32()),
        "f": pa.array(FLOATS),
        "d": pa.array([None if text is None else decimal.Decimal(text) for text in DECIMALS], pa.decimal128(12, 2)),
        "t": pa.array(TIMES, pa.timestamp("us")),
        "day": pa.array([None if at is None else at.date() for at in TIMES], pa.date32()),
        "b": pa.array([None if k % 3 == 0 else k % 2 == 0 for k in range(len(TEXTS))]),
        "user": pa.array([{"name": text, "age": k} if k % 4 else None for k, text in enumerate(TEXTS)]),
        "current_date": pa.array(TEXTS),
    }
)

CONDITIONS = [
    # Texts.
    "lower(s) = 'ab c'", "upper(s) = 'ÄÖ Ü'", "lower(s) LIKE '%b%'", "upper(s) ILIKE 'ab%'", "length(s) = 7", "length(s) > 4",
    "length(s) = 0", "trim(s) = 'padded'", "ltrim(s) = 'padded '", "rtrim(s) = ' padded'", "trim(s, 'x') = 'ay'",
    "trim(BOTH 'x' FROM s) = 'ay'", "trim(LEADING 'x' FROM s) = 'ay'", "trim(s) = ''", "substr(s, 2) = 'b c'",
    "substr(s, 1, 2) = 'Ab'", "substr(s, -2) = 'ay'", "substr(s, 2, 1) = '本'", "substring(s FROM 3 FOR 1) = ' '",
    "substr(s, 99) = ''", "substr(s, 0, 2) = 'x'", "substr(s, i, 2) = 'a'", "s || '!' = 'a!'", "concat(s, 'z') = 'az'",
    "concat(n, '!') = '-7!'", "concat(d, s) LIKE '12.3%'", "concat(b, 'x') = 'truex'", "concat(day, n) LIKE '19%'",
    "coalesce(s, 'none') = 'none'", "coalesce(nullif(s, ''), 'empty') = 'empty'", "regexp_matches(s, '^[A-Z]')",
    "regexp_matches(s, 'x{2}')", "NOT regexp_matches(s, 'a')", "s ILIKE '%AB%'", "s NOT ILIKE '%a%'", "lower(s) IN ('a', 'ab c')",
    "lower(s) BETWEEN 'a' AND 'b'", "coalesce(s, current_date) IS NULL", "\"current_date\" = 'a'", "length(s) IS NULL",
    # Numbers.
    "n + 1 = 8", "n * 2 < -10", "-n = 7", "n % 3 = 1", "n / 2 = 3.5", "i + n > 0", "f * 2 = 3", "f + n < 0", "d * 2 = 2.10",
    "d + 1 = 13.30", "d - n > 0", "coalesce(n, 0) = 0", "coalesce(n, d, 1) = 1", "coalesce(f, n) > 1", "coalesce(d, 0) = 0",
    "nullif(n, 0) IS NULL", "n = '7'", "d = '12.30'",
    "abs(n) = 7", "abs(i) > 50", "abs(f) = 1.5", "abs(d) = 7.50", "abs(f) = 0", "abs(n - 3) < 5", "abs(NULL) IS NULL", "abs(d) * 2 = 15",
    "round(f) = 2", "round(f) = -3", "round(f) = 3", "round(f, 1) = 0.5", "round(f) = 0", "round(d) = 8", "round(d) = -8", "round(d, 1) = 1.1",
    "round(d, 1) = 100000000.0", "round(d, 5) = 1.05", "round(n) = 7", "round(n, 2) = 7", "round(n, -1) = 10", "round(n, -1) = -10",
    "round(n, -2) = 100", "round(n, -1) = 2147483650", "round(f, -1) = 10", "round(d, -1) = 10", "round(i, -1) = 0", "round(n * 1.5, 0) = 11",
    "round(f * 3, 1) = 4.5", "round(NULL) IS NULL", "round(CAST(f AS real), 1) = 0.5", "abs(CAST(f AS real)) > 2", "round(-2.5) = -3",
    "ceil(f) = 2", "ceil(f) = -1", "ceiling(f) = 1", "floor(f) = 1", "floor(f) = -2", "floor(f) = -1", "ceil(d) = 2", "floor(d) = -2", "ceil(n) = 7",
    "floor(i) = 42", "ceil(d) = 100000000", "ceil(CAST(f AS real)) = 1", "floor(f * 1e10) > 1e9", "ceil(NULL) IS NULL", "ceil(f) = 0", "floor(n / 2) = 3",
    "greatest(n, i) = 7", "least(n, i, 5) = 3", "greatest(n, d) = 12.30", "greatest(s, 'b') = 'b'", "least(day, DATE '1970-01-01') < DATE '1900-01-02'",
    "greatest(n, NULL) = 7", "least(NULL, n) = 7", "greatest(n, i) IS NULL", "least('nan'::double, f) = 1.5", "greatest(n) = 7",
    "left(s, 2) = 'Ab'", "left(s, 0) = ''", "left(s, 99) = 'xxay'", "right(s, 2) = 'ay'", "right(s, 0) = ''", "right(s, 99) = 'a'", "right(s, 1) = '）' OR left(s, 1) = '日'",
    # Casts.
    "CAST(n AS VARCHAR) = '-7'", "CAST(d AS double) = 12.3", "CAST(i AS bigint) = 42", "CAST(f AS VARCHAR) = '1.5'", "n::text LIKE '-%'",
    "TRY_CAST(s AS int) = 12", "TRY_CAST(s AS date) = DATE '2024-02-29'", "CAST(t AS date) = DATE '1970-01-01'",
    "CAST(day AS timestamp) < TIMESTAMP '1970-01-01'", "CAST(n AS decimal(20,2)) = 7", "CAST(b AS int) = 1", "CAST(n AS double) > 1e11",
    "TRY_CAST(n AS int) IS NULL", "TRY_CAST(f * 1e100 AS real) IS NULL", "TRY_CAST(f * 1e-100 AS real) = 0", "TRY_CAST(d AS real) > 1e7", "CAST(t AS VARCHAR) = '2024-02-29 01:02:03.000004'",
    # Branches.
    "CASE WHEN n > 0 THEN 'up' WHEN n < 0 THEN 'down' ELSE 'zero' END = 'zero'", "CASE WHEN b THEN n END = 7",
    "CASE i WHEN 1 THEN 'one' WHEN 7 THEN 'seven' END IS NOT NULL", "CASE WHEN s IS NULL THEN true ELSE b END",
    "CASE WHEN n > 0 THEN n ELSE d END < 0", "CASE WHEN b THEN day ELSE t END < TIMESTAMP '1970-01-01'",
    # A value is computed for the rows that take its branch: casts of others would fail.
    "CASE WHEN s = '12' THEN CAST(s AS int) END = 12", "CASE WHEN regexp_matches(s, '^[0-9]+$') THEN CAST(s AS int) ELSE -1 END >= -1",
    "CASE WHEN s = '2024-02-29' THEN CAST(s AS date) WHEN id > 100 THEN CAST(s AS date) END = DATE '2024-02-29'",
    "CASE WHEN s <> '12' THEN id WHEN s = '12' THEN CAST(s AS bigint) ELSE n END = 12",
    "coalesce(id, CAST(s AS int)) >= 0", "coalesce(CASE WHEN id < 99 THEN id END, CAST(s AS int), 5) < 5",
    "coalesce(CASE WHEN s = '12' THEN CAST(s AS int) END, -1) = -1", "lower(CASE WHEN s = '12' THEN CAST(CAST(s AS int) AS VARCHAR) END) = '12'",
    # Null as an argument.
    "lower(NULL) IS NULL", "length(NULL) = 1", "substr(s, NULL) = 'a'", "substr(NULL, 1, 2) = 'a'", "trim(NULL) = ''", "trim(s, NULL) = 'a'",
    "regexp_matches(s, NULL)", "regexp_matches(NULL, 'a')", "extract(year FROM NULL::timestamp) = 1", "date_trunc('day', NULL::date) = t",
    "coalesce(NULL, NULL) IS NULL", "coalesce(NULL, s) = 'a'", "CASE WHEN b THEN NULL END IS NULL", "CASE WHEN NULL THEN 1 ELSE 2 END = 2",
    "NULL || s = 'a'",
    # Times.
    *[f"date_trunc('{unit}', t) = date_trunc('{unit}', TIMESTAMP '1968-02-29 13:00:00')" for unit in ("day", "week", "month", "quarter", "year")],
    *[f"date_trunc('{unit}', t) = TIMESTAMP '1969-12-31 23:59:59'" for unit in ("second", "minute", "hour")],
    "date_trunc('month', day) = DATE '2024-12-01'", "date_trunc('week', day) = DATE '2024-12-30'",
    *[f"extract({part} FROM t) = {value}" for part, value in
      [("year", 1968), ("month", 12), ("day", 31), ("hour", 23), ("minute", 30), ("second", 59), ("quarter", 1), ("week", 1), ("dow", 0),
       ("isodow", 7), ("doy", 60), ("year", 1), ("week", 53)]],
    "year(t) = 1968", "quarter(t) = 1", "month(day) = 2", "week(t) = 1", "day(t) = 31", "hour(t) = 23", "minute(t) = 30", "second(t) = 59", "year(NULL::date) = 1",
    "day < today()", "today() - day > 9000", "CAST(now() AS date) = today()", "year(today()) >= 2026",
    "extract(year FROM day) < 1970", "date_part('month', day) = 2", "extract(epoch FROM t) < 0",
    "t + INTERVAL '1 day' > TIMESTAMP '2038-01-20'", "t - INTERVAL 1 MONTH < TIMESTAMP '1900-01-01'", "day + INTERVAL '1 month' = TIMESTAMP '2000-02-29'",
    "t > TIMESTAMP '2025-01-01' - INTERVAL '3 days'", "t > now() - INTERVAL '30 years'", "t < now()", "day + 1 = DATE '1970-01-02'",
    # Fields of structs, and columns that are called like functions.
    "user.name = 'a'", "lower(user.name) = 'ab c'", "user.age + 1 = 3", "\"user\".age % 2 = 0", "user IS NULL", "user.name IS NULL",
    "coalesce(user.name, s) = ' '", "length(current_date) = 1",
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filters") / "rows.parquet"
    pq.write_table(ROWS, path, row_group_size=4)
    return path


def ours(place: Path, where: str, params: Sequence[object] | None = None) -> list[int]:
    return lr.scan(place, where=where, params=params, columns=["id"]).to_arrow().column("id").to_pylist()


def theirs(where: str) -> list[int]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("found", ROWS)
    # Names that are functions to duckdb alone are written in quotes.
    for name in ("user", "current_date"):
        where = where.replace(f'"{name}"', name).replace(name, f'"{name}"')
    return [row[0] for row in connection.sql(f"SELECT id FROM found WHERE {where} ORDER BY id").fetchall()]


@pytest.mark.parametrize("where", CONDITIONS)
def test_as_duckdb_finds_them(place: Path, where: str) -> None:
    wanted = theirs(where)
    assert ours(place, where) == wanted
    # Of the rows that a condition is false of, too: null is neither.
    assert ours(place, f"NOT ({where})") == theirs(f"NOT ({where})")
    assert ours(place, f"({where}) IS NULL") == theirs(f"({where}) IS NULL")


@pytest.mark.parametrize(
    ("where", "params", "same"),
    [
        ("n > ? AND s <> ?", [1, "it's"], "n > 1 AND s <> 'it''s'"),
        ("s = ?", ["it's"], "s = 'it''s'"),
        ("s = ?", ["' OR 1 = 1 --"], "s = ''' OR 1 = 1 --'"),
        ("s = '?' OR n = ?", [7], "n = 7"),
        ("n -? = -8", [-1], "n = -9"),
        ("n = ? OR n = ?", [-7, decimal.Decimal("3.00")], "n = -7 OR n = 3"),
        ("f = ?", [1.5], "f = 1.5"),
        ("f > ?", [1e14], "f > 1e14"),
        ("d = ?", [decimal.Decimal("12.30")], "d = 12.3"),
        ("b = ?", [True], "b"),
        ("day = ?", [date(1970, 1, 1)], "day = DATE '1970-01-01'"),
        ("t >= ?", [datetime(1969, 12, 31, 23, 59, 59, 999_999)], "t >= TIMESTAMP '1969-12-31 23:59:59.999999'"),
        ("t = ?", [datetime(1970, 1, 1, tzinfo=UTC)], "t = TIMESTAMP '1970-01-01'"),
        ("n > ?", [None], "false"),
        ("n IN (?, ?)", ["7", 42], "n IN (7, 42)"),
        ("user.name = ?\n  OR s = -- a ?\n ?", ["a", "日本語テキスト"], "user.name = 'a' OR s = '日本語テキスト'"),
        ("s LIKE ?", ["a%"], "s LIKE 'a%'"),
    ],
)
def test_parameters(place: Path, where: str, params: list[Any], same: str) -> None:
    assert ours(place, where, params) == theirs(same)


def test_parameters_that_do_not_fit(place: Path) -> None:
    for where, params in [
        ("n > ?", []),
        ("n > 1", [1]),
        ("n > ? AND n < ?", [1]),
        ("n > ?", None),
        ("n > ?", [1j]),
        ("n = ?", ["x"]),
    ]:
        with pytest.raises((lr.UsageError, lr.InvalidInputError)):
            ours(place, where, params)
    with pytest.raises(lr.UsageError, match="list of values"):
        ours(place, "s = ?", "abc")
    with pytest.raises(lr.UsageError, match="no filter"):
        lr.scan(place, params=[1])
    with pytest.raises(lr.UsageError, match="timedelta"):
        ours(place, "n = ?", [timedelta(1)])
    assert ours(place, "t > ? AND n = 7", [time(1).isoformat() and datetime(1900, 1, 1)]) == theirs(
        "n = 7 AND t > DATE '1900-01-01'"
    )


def test_the_command_takes_parameters(place: Path) -> None:
    from test_delta_alter import command

    done = command(
        "scan",
        place,
        "--where",
        "s = ? AND n <= ?",
        "--param",
        "it's",
        "--param",
        "-7",
        "--columns",
        "id",
        "--format",
        "csv",
    )
    assert done.stdout.decode().split() == ["id", *map(str, theirs("s = 'it''s' AND n <= -7"))], done.stderr
    assert command("scan", place, "--where", "n > ?").returncode == 2
    assert command("scan", place, "--param", "1").returncode == 2


@pytest.mark.parametrize(
    ("where", "error", "told"),
    [
        ("lower(n) = 'a'", lr.InvalidInputError, "takes text"),
        ("lower(s, s) = 'a'", lr.UsageError, "2 arguments"),
        ("sqrt(n) = 1", lr.UnsupportedError, "supported functions are"),
        ("coalesce(s, n) = 1", lr.InvalidInputError, "different types"),
        ("CAST(s AS int) = 1", lr.InvalidInputError, "TRY_CAST"),
        ("CAST(s AS nothing) = 1", lr.UsageError, "unknown type"),
        ("CAST('x' AS int) = n", lr.InvalidInputError, "cast"),
        ("date_trunc('century', t) = t", lr.UsageError, "not a unit of time"),
        ("date_trunc(s, t) = t", lr.UnsupportedError, "must be a text constant"),
        ("extract(year FROM s) = 1", lr.InvalidInputError, "takes a date"),
        ("regexp_like(s, '(')", lr.UsageError, "regular expression"),
        ("round(s) = 1", lr.InvalidInputError, "takes a number"),
        ("round(n, i) = 1", lr.UnsupportedError, "constant integer"),
        ("round(n, 1.5) = 1", lr.UnsupportedError, "constant integer"),
        ("abs(t) = 1", lr.InvalidInputError, "takes a number"),
        ("replace(s, 'a') = s", lr.UsageError, "replace has 2 arguments"),
        ("starts_with(n, 'a')", lr.InvalidInputError, "text"),
        ("regexp_like(s, s)", lr.UnsupportedError, "must be a text constant"),
        ("t > INTERVAL '1 day'", lr.InvalidInputError, "compared"),
        ("t + INTERVAL 'a day' > t", lr.UsageError, "not an interval"),
        ("length(s)", lr.InvalidInputError, "not a condition"),
        ("CASE WHEN n THEN 1 END = 1", lr.InvalidInputError, "not a condition"),
        ("count(n) > 1", lr.UnsupportedError, "count"),
        ("users.name = 'a'", lr.NotFoundError, "users.name"),
    ],
)
def test_what_is_no_filter(place: Path, where: str, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        ours(place, where)


def test_conditions_of_constants_are_held_against_statistics(place: Path) -> None:
    plan = str(lr.scan(place, where="id > 10 + 1").explain())
    assert plan.count("statistics: id max") == 3, plan
    plan = str(lr.scan(place, where="id > CAST('11' AS bigint) AND lower(s) <> 'a'").explain())
    assert plan.count("statistics: id max") == 3, plan
    assert "by row    lower(s) <> 'a'" in plan
    plan = str(lr.scan(place, where="lower(s) = 'zzz'").explain())
    assert "statistics: " not in plan
    assert "by row    lower(s) = 'zzz'" in plan
    assert "by row" not in str(lr.scan(place, where="id > 3 AND s LIKE 'a%'").explain())


def test_filters_of_tables_use_the_same_language(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    lr.copy(ROWS, f"delta:{folder}")
    table = lr.Table(folder)
    wanted = theirs("NOT coalesce(lower(s) = 'ab c' OR n = 7, false)")
    table.delete("lower(s) = ? OR n = ?", params=["ab c", 7])
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == wanted


def test_a_float_of_32_bits_is_found_by_the_number_that_python_prints(tmp_path: Path) -> None:
    values = pa.array([0.1, 1 / 3, 2 / 3, 0.5, 1.0, 100 / 3, 1e-40, 3.4e38], pa.float32())
    pq.write_table(pa.table({"g": values}), tmp_path / "g.parquet")
    for value in values.to_pylist():
        for sign, compare in {"=": operator.eq, "<": operator.lt, ">=": operator.ge, "<>": operator.ne}.items():
            expected = sum(compare(other, value) for other in values.to_pylist())
            assert lr.scan(tmp_path / "g.parquet", where=f"g {sign} ?", params=[value]).count() == expected


def test_null_is_a_date_too(place: Path) -> None:
    every = list(range(len(TEXTS)))
    assert ours(place, "date_part('year', NULL) IS NULL") == every
    assert ours(place, "date_trunc('day', NULL) IS NULL") == every


def test_instants_of_several_zones_have_one_type_in_utc(tmp_path: Path) -> None:
    hours = range(0, 48, 5)
    at = [datetime(2024, 10, 26, tzinfo=UTC) + timedelta(hours=hour) for hour in hours]
    wall = [value.replace(tzinfo=None) for value in at]
    table = pa.table(
        {
            "id": range(len(at)),
            "berlin": pa.array(
                [None if k % 3 else value for k, value in enumerate(at)], pa.timestamp("us", "Europe/Berlin")
            ),
            "tokyo": pa.array(at, pa.timestamp("ms", "Asia/Tokyo")),
            "wall": pa.array(wall, pa.timestamp("us")),
        }
    )
    path = tmp_path / "zones.parquet"
    pq.write_table(table, path)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("zones", table)
    values = [
        "coalesce(berlin, tokyo)",
        "coalesce(berlin, wall)",
        "coalesce(wall, berlin)",
        "CASE WHEN id % 2 = 0 THEN tokyo ELSE wall END",
        # Berlin has a day of 25 hours.
        "berlin + INTERVAL '1 day'",
        "tokyo - INTERVAL '1 month' + INTERVAL '31 days'",
    ]
    for value in [*values, "coalesce(berlin, berlin)"]:
        for moment in wall:
            where = f"{value} >= TIMESTAMP '{moment}'"
            expected = connection.execute(f"SELECT id FROM zones WHERE {where} ORDER BY id").fetchall()
            assert ours(path, where) == [number for (number,) in expected], where


def test_nested_functions_are_bound_in_time_that_grows_with_them(place: Path) -> None:
    nested = "s"
    for _ in range(40):
        nested = f"coalesce(lower({nested}), upper(s))"
    assert ours(place, f"{nested} = 'ab c'") == theirs("lower(s) = 'ab c'")
    # A value that can't be cast is met once, and not twice at each level.
    nested = "CAST(s AS int)"
    for _ in range(40):
        nested = f"CASE WHEN id >= 0 THEN {nested} END"
    with pytest.raises(lr.InvalidInputError, match="TRY_CAST"):
        ours(place, f"{nested} = 1")
    assert ours(place, f"CASE WHEN s = '12' THEN {nested} END = 12") == theirs("s = '12'")


def test_current_times_are_functions_with_parentheses_and_columns_without(place: Path) -> None:
    # A column has this name.
    assert ours(place, "current_date = 'a'") == theirs("\"current_date\" = 'a'")
    assert ours(place, "day < current_date()") == ours(place, "day < today()") == theirs("day < today()")
    assert ours(place, "t < current_timestamp()") == theirs("t < now()")


@pytest.mark.parametrize(
    "condition",
    ["left(s, -1) = 'a'", "left(s, i) = 'a'", "greatest() = 1", "year(t, t) = 1", "ceil(n, 1) = 1", "right(s) = 'a'"],
)
def test_other_arguments_are_refused(place: Path, condition: str) -> None:
    with pytest.raises((lr.UnsupportedError, lr.UsageError)):
        ours(place, condition)


SHORT_TEXTS = ["", "a", "ab", "héllo", "日本語", "e\u0301😀x", None]
SMALL_PLACES = [0, 1, -1, 2, -2, 3, -3, 6, -6, 100, -100, None]


def sliced(path: Path, engine: Any, places: Sequence[int | None]) -> None:
    """Holds `substr` of all texts, positions and lengths against another engine's."""
    arguments = list(itertools.product(SHORT_TEXTS, places, places))
    query = "SELECT substr(?, ?, ?), substr(?, ?)"
    wanted = [engine.execute(query, (*row, *row[:2])).fetchall()[0] for row in arguments]
    rows = pa.table(
        {
            "id": range(len(arguments)),
            "s": [row[0] for row in arguments],
            "start": pa.array([row[1] for row in arguments], pa.int64()),
            "length": pa.array([row[2] for row in arguments], pa.int64()),
            "part": [row[0] for row in wanted],
            "rest": [row[1] for row in wanted],
        }
    )
    pq.write_table(rows, path)
    for call, found in (("substr(s, start, length)", "part"), ("substr(s, start)", "rest")):
        assert ours(path, f"{call} <> {found} OR ({call} IS NULL) <> ({found} IS NULL)") == []
        assert ours(path, f"{call} = {found}") == [
            k for k, value in enumerate(rows[found].to_pylist()) if value is not None
        ]


def test_slices_of_texts_as_duckdb_and_sqlite_have_them(tmp_path: Path) -> None:
    sliced(tmp_path / "duckdb.parquet", duckdb.connect(), [*SMALL_PLACES, 2**31, 1 - 2**31])
    sliced(tmp_path / "sqlite.parquet", sqlite3.connect(":memory:"), SMALL_PLACES)


def test_rules_that_differ_from_those_of_duckdb(tmp_path: Path) -> None:
    texts = ["ß", "ẞ", "ΑΣ", "ΣΑ", "ﬁ", "İ", "ǅ", "é", " a ", "\u00a0a\u00a0", "\ta\n", "  "]
    path = tmp_path / "a.parquet"
    rows = {"s": texts, "upper": [text.upper() for text in texts], "lower": [text.lower() for text in texts]}
    trimmed = [sqlite3.connect(":memory:").execute("SELECT trim(?)", (text,)).fetchall()[0][0] for text in texts]
    pq.write_table(pa.table({"id": range(len(texts)), **rows, "trimmed": trimmed}), path)
    for where in ("upper(s) = upper", "lower(s) = lower", "trim(s) = trimmed", "id / 0 IS NULL", "id % 0 IS NULL"):
        assert ours(path, where) == list(range(len(texts))), where


def test_slices_far_outside_of_a_text(place: Path) -> None:
    least, most = "(-9223372036854775807 - 1)", "9223372036854775807"
    texts = [k for k, text in enumerate(TEXTS) if text is not None]
    for call in (
        f"substr(s, {least}, 5)",
        f"substr(s, {most}, 5)",
        f"substr(s, 1, {least})",
        f"substr(s, {least}, {least})",
    ):
        assert ours(place, f"{call} = ''") == texts, call
    for call in (
        f"substr(s, {least})",
        f"substr(s, 1, {most})",
        f"substr(s, -99, {most})",
        f"substr(s, {most}, {least})",
    ):
        assert ours(place, f"{call} = s") == texts, call


@pytest.mark.parametrize("text", ["1.5", "2.5", "-0.5", "1.0", "1e2", "1.", "x", "", "9223372036854775808"])
def test_a_text_with_a_fraction_is_no_integer(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [0], "s": [text]}), path)
    assert ours(path, "TRY_CAST(s AS bigint) IS NULL") == [0]
    with pytest.raises(lr.InvalidInputError, match="TRY_CAST"):
        ours(path, "CAST(s AS bigint) = 1")
    if text == "1.5":
        assert ours(path, "CAST(CAST(s AS double) AS bigint) = 1") == [0]


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv", "jsonl"])
def test_a_value_that_does_not_cast_names_its_file(tmp_path: Path, ending: str) -> None:
    """A folder has the value in one file only, which the error names."""
    for number, text in enumerate(["1", "2", "x"]):
        rows = pa.table({"a": pa.array([text], pa.string())})
        lr.copy(rows, tmp_path / "t" / f"{number}.{ending}")
    options = {"schema": "a utf8"} if ending in ("csv", "jsonl") else {}
    with pytest.raises(lr.InvalidInputError, match="can't be cast to int32") as caught:
        list(lr.scan(tmp_path / "t", where="cast(a as int) = 1", **options).rows())  # type: ignore[arg-type]
    assert f"2.{ending}" in str(caught.value)
    assert f"0.{ending}" not in str(caught.value)


def test_now_is_one_time_in_a_filter(place: Path) -> None:
    rows = lr.scan(place).count()
    assert lr.scan(place, where="now() = now()").count() == rows
    assert lr.scan(place, where="now() < now() OR now() > now()").count() == 0
    assert lr.scan(place, where="now() BETWEEN now() AND now()").count() == rows
    [same] = set(lr.scan(place, columns=["now() = now() as same"]).to_arrow()["same"].to_pylist())
    assert same


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_integers_beside_large_floats(tmp_path: Path, kind: str) -> None:
    """Their order is that of exact arithmetic; a float equals its value and its shortest text."""
    digits = 24 if kind == "f4" else 53
    floats = [
        sign * np.dtype(kind).type(2.0**power)
        for power in (digits - 1, digits, digits + 3, 31, 62, 63)
        for sign in (1, -1)
    ]
    for at, value in enumerate(floats):
        pq.write_table(pa.table({"x": np.array([value], kind)}), tmp_path / f"{at}.parquet")
        exact = int(value)
        shortest = int(decimal.Decimal(np.format_float_positional(value, unique=True, trim="-")))
        for number in {exact + step for step in (-1000, -3, -1, 0, 1, 3, 1000)} - {shortest} | {exact}:
            for op, holds in (
                ("<", exact < number),
                ("<=", exact <= number),
                ("=", exact == number),
                (">", exact > number),
            ):
                where = f"x {op} {number}"
                found = lr.scan(tmp_path / f"{at}.parquet", where=where).count()
                assert found == holds, f"{exact}: {where}"


def test_case_is_ignored_character_by_character(tmp_path: Path) -> None:
    texts = ["İ", "i", "I", "ı", "ß", "ẞ", "Σ", "ς", "σ", "ΟΔΟΣ", "K", "ſ", "a", None]
    rows = pa.table({"id": range(len(texts)), "s": texts})
    pq.write_table(rows, tmp_path / "a.parquet")
    for where in ("s ILIKE '_'", "s ILIKE 'İ'", "s ILIKE 'οδοσ'", "s ILIKE '____'", "s NOT ILIKE '_'"):
        found = lr.scan(tmp_path / "a.parquet", where=where).to_arrow()["id"].to_pylist()
        assert found == [row[0] for row in duckdb.sql(f"SELECT id FROM rows WHERE {where} ORDER BY id").fetchall()], (
            where
        )
