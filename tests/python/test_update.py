"""Updates: rows and counts are those of delta-rs, and other readers see them."""

from __future__ import annotations

import random
import subprocess
import threading
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from changed_tables import FEED, LAYOUTS, NO_VECTORS, Layout, drawn_rows, made, of_delta_rs, seen_by_all, told, twin
from conftest import ok, run

import lakerace as lr
from lakerace_bench import contestant

if TYPE_CHECKING:
    from collections.abc import Callable

#: Values that lakerace and delta-rs compute alike, by column.
VALUES = {
    "id": ["id + 1000", "id"],
    "part": ["'b'", "CASE WHEN qty > 3 THEN 'x' ELSE part END", "coalesce(name, part)", "NULL"],
    "qty": ["qty + 1", "qty * 3", "NULL", "7", "coalesce(qty, 0)", "length(name)", "id", "price"],
    "price": [
        "price * 1.5",
        "price - 0.25",
        "qty",
        "abs(price)",
        "CASE WHEN part = 'a' THEN price ELSE 0.5 END",
        "'2.5'",
    ],
    "amount": ["amount + 1", "qty", "NULL", "amount * 2", "'12.345'"],
    "name": ["upper(name)", "name || '!'", "'new'", "part", "NULL", "coalesce(name, 'none')", "qty"],
    "day": ["DATE '2026-03-04'", "NULL", "CASE WHEN id > 20 THEN DATE '2020-01-01' ELSE day END", "'2026-05-06'"],
}
CONDITIONS = [
    None,
    "id < 30",
    "qty IS NULL",
    "price > 3.5 AND part = 'a'",
    "name LIKE 'n1%'",
    "id IN (1, 2, 33)",
    "qty > 100000",
    "part = 'c' OR qty = 4",
    "day >= DATE '2026-02-01'",
    "NOT (price < 5)",
]


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_counts_are_those_of_delta_rs(name: str, seed: int, tmp_path: Path) -> None:
    drawn, layout = random.Random(f"{name} {seed}"), LAYOUTS[name]
    rows = drawn_rows(drawn, range(150))
    table, theirs = made(tmp_path / "mine", rows, layout), twin(tmp_path / "theirs", rows, layout.feeds)
    for _ in range(4):
        columns = drawn.sample(list(VALUES), drawn.randrange(1, 4))
        updates = {column: drawn.choice(VALUES[column]) for column in columns}
        where = drawn.choice(CONDITIONS)
        before = (table.version, theirs.version())
        with warnings.catch_warnings():
            # A key that is not checked.
            warnings.simplefilter("ignore", lr.LakeraceWarning)
            planned = table.update(updates, where=where, dry_run=True)
            changed = table.update(updates, where=where)
        metrics = theirs.update(updates=updates, predicate=where)
        said = (updates, where)
        assert changed.rows == changed.rows_hidden == metrics["num_updated_rows"], said
        assert planned.planned is not None
        assert (planned.planned.rows, planned.planned.from_version) == (changed.rows, before[0]), said
        assert changed.version == (before[0] + 1 if changed.rows else None), said
        seen_by_all(tmp_path / "mine", theirs.to_pyarrow_table(), layout)
        if layout.feeds and changed.rows:
            assert told(tmp_path / "mine", before[0] + 1) == told(tmp_path / "theirs", before[1] + 1), said


def test_duckdb_reads_updated_tables(tmp_path: Path) -> None:
    rows = drawn_rows(random.Random(5), range(90))
    folders = []
    for number, (name, layout) in enumerate(LAYOUTS.items()):
        # duckdb reads no partition column of such a table: docs/guide/readers.md.
        if name == "mapped by id, partitioned":
            continue
        table = made(tmp_path / f"t{number}", rows, layout)
        table.update({"price": "price * 2", "part": "'z'"}, where="id < 40")
        folders.append(tmp_path / f"t{number}")
    program = Path(__file__).parent / "read_duckdb.py"
    python = contestant.named("duckdb_delta").python()
    subprocess.run([str(python), str(program), *map(str, folders)], check=True, timeout=120)
    for folder in folders:
        with pa.ipc.open_file(f"{folder}.arrow") as file:
            assert lr.checksum(file.read_all()) == lr.checksum(lr.scan(folder)), folder.name


def test_values_are_of_the_row_as_it_was(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2], "b": [10, 20], "s": [{"x": 1, "y": "p"}, None], "t": [{"x": 3, "y": "q"}] * 2})
    lr.copy(rows, f"delta:{tmp_path / 't'}")
    table = lr.Table(tmp_path / "t")
    table.update({"a": "b", "b": "a", "s": "t"})
    assert table.to_arrow().to_pylist() == [
        {"a": 10, "b": 1, "s": {"x": 3, "y": "q"}, "t": {"x": 3, "y": "q"}},
        {"a": 20, "b": 2, "s": {"x": 3, "y": "q"}, "t": {"x": 3, "y": "q"}},
    ]
    table.update({"b": "s.x * 2"}, where="s.y = 'q' AND a = 10")
    assert table.to_arrow().sort_by("a")["b"].to_pylist() == [6, 2]


def bad_values() -> list[tuple[dict[str, str], type[lr.Error], str]]:
    """Updates that are refused, and a part of each message."""
    return [
        ({"qty": "qty * 1000000000"}, lr.InvalidInputError, "qty = qty"),
        ({"qty": "name"}, lr.InvalidInputError, "can't be cast"),
        ({"amount": "99999999999"}, lr.InvalidInputError, "amount"),
        ({"day": "'no day'"}, lr.InvalidInputError, "day"),
        ({"day": "id"}, lr.InvalidInputError, "CAST"),
        ({"id": "NULL"}, lr.InvalidInputError, "NOT NULL"),
        ({"id": "qty"}, lr.InvalidInputError, "NOT NULL"),
        ({"price": "-1"}, lr.InvalidInputError, "constraint positive"),
        ({"price": "CASE WHEN id = 99 THEN -1 ELSE 1 END"}, lr.InvalidInputError, "constraint positive"),
        ({"gone": "1"}, lr.NotFoundError, "gone"),
        ({"qty": "gone"}, lr.NotFoundError, "gone"),
        ({"qty": "sum(qty)"}, lr.UnsupportedError, "sum"),
        ({"qty": "qty +"}, lr.UsageError, "updates"),
        ({}, lr.UsageError, "no column"),
    ]


@pytest.mark.parametrize("layout", [Layout(), Layout(NO_VECTORS), Layout(FEED)])
def test_refused_updates_leave_the_table(layout: Layout, tmp_path: Path) -> None:
    rows = drawn_rows(random.Random(1), range(100))
    rows = rows.set_column(3, "price", pc.add(pc.fill_null(rows["price"], 1.0), 1.0))
    fields = [field.with_nullable(field.name != "id") for field in rows.schema]
    lr.copy(
        rows.cast(pa.schema(fields)), f"delta:{tmp_path / 't'}", table_properties=layout.properties, keep_not_null=True
    )
    table = lr.Table(tmp_path / "t")
    table.alter(constraints={"positive": "price > 0"})
    names = sorted(path.name for path in (tmp_path / "t").rglob("*"))
    for updates, error, part in bad_values():
        for dry_run in (True, False):
            with pytest.raises(error, match=part):
                table.update(updates, dry_run=dry_run)
    assert table.version == 1
    assert sorted(path.name for path in (tmp_path / "t").rglob("*")) == names
    assert lr.checksum(table.scan()) == lr.checksum(rows)
    # A value that fits, and TRY_CAST where one does not.
    assert table.update({"qty": "TRY_CAST(name AS int)", "price": "price + 1"}).rows == 100
    assert table.to_arrow()["qty"].null_count == 100


def test_the_command_updates(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    made(folder, drawn_rows(random.Random(2), range(60)), Layout())
    line = ("update", folder, "--set", "price = ?", "--set", "name = 'it''s'", "--where", "id < ? or id = 59")
    values = ("--param", "7.5", "--param", "5")
    dry = ok(*line, *values, "--dry-run", "--json").json
    assert (dry["dry_run"], dry["planned"]["rows"], dry["planned"]["from_version"]) == (True, 6, 2)
    assert dry["planned"]["would"] == f"would update 6 rows of {folder}"
    done = ok(*line, *values, "--json").json
    assert (done["rows"], done["rows_hidden"], done["version"]) == (6, 6, 3)
    found = ok("scan", folder, "--where", "name = 'it''s' and price = 7.5", "--count").out
    assert found.strip() == "6"
    assert "updated 0 rows" in ok("update", folder, "--set", "qty = 1", "--where", "id > 100").err
    assert ok("update", folder, "--set", "qty = 1", "--where", "id > 100", "--json").json["version"] is None
    last = lr.Table(folder).history(1)[0]
    assert (last.version, last.operation, last.metrics["numUpdatedRows"]) == (3, "UPDATE", "6")
    assert deltalake.DeltaTable(str(folder)).history(1)[0]["operationParameters"]["predicate"] == (
        "[\"id < '5' or id = 59\"]"
    )
    for arguments, code, part in [
        (("--where", "id = 1"), 2, "--set"),
        (("--set", "qty"), 2, "write a column and its value"),
        (("--set", "qty = 1", "--set", "qty = 2"), 2, "set twice"),
        (("--set", "qty = ?"), 2, "1 placeholder"),
        (("--set", "qty = ?", "--param", "1", "--param", "2"), 2, "2 values"),
        (
            (
                "--set",
                "qty = 'x'",
            ),
            4,
            "can't be cast",
        ),
        (
            (
                "--set",
                "qtty = 1",
            ),
            3,
            "qty",
        ),
    ]:
        refused = run("update", folder, *arguments)
        assert refused.code == code, refused.err
        assert part in refused.err, refused.err
    assert lr.Table(folder).version == 3


def test_parameters_are_in_the_order_of_the_statement(tmp_path: Path) -> None:
    table = made(tmp_path / "t", drawn_rows(random.Random(3), range(20)), Layout())
    values: list[object] = [4, "it's", None, 3]
    table.update({"qty": "?", "name": "?", "day": "?"}, where="id = ?", params=values)
    (row,) = table.scan(where="id = 3").to_arrow().to_pylist()
    assert (row["qty"], row["name"], row["day"]) == (4, "it's", None)
    with pytest.raises(lr.UsageError, match="1 placeholder"):
        table.update({"qty": "?"}, where="id = 3", params=[1, 2])
    with pytest.raises(lr.UsageError, match="params"):
        table.update({"qty": "?"})
    with pytest.raises(lr.UsageError, match="not a SQL expression"):
        table.update({"qty": 5})  # type: ignore[dict-item]


def test_only_files_that_may_have_the_rows_are_read(tmp_path: Path) -> None:
    rows = drawn_rows(random.Random(4), range(1000))
    table = made(tmp_path / "t", rows, Layout(), parts=10)
    changed = table.update({"qty": "1"}, where="id >= 250 AND id < 310")
    assert (changed.rows, changed.files_probed, changed.vectors) == (60, 2, 2)
    changed = table.update({"qty": "2"}, where="id = 5000")
    assert (changed.rows, changed.files_probed, changed.version) == (0, 0, None)
    parted = made(tmp_path / "p", rows, Layout(partition_by=["part"]), parts=1)
    changed = parted.update({"qty": "3"}, where="part = 'a'")
    assert changed.files_probed == 1
    assert changed.rows == rows.filter(pc.field("part") == "a").num_rows
    assert parted.update({"part": "'d'"}, where="part = 'a'").rows == changed.rows
    assert parted.scan(where="part = 'a'").count() == 0


def test_updates_of_several_writers_are_all_there(tmp_path: Path) -> None:
    rows = pa.table({"id": range(40), "n": pa.array([0] * 40, pa.int64())})
    for name, properties in {"vectors": {}, "rewritten": NO_VECTORS, "feed": FEED}.items():
        lr.copy(rows, f"delta:{tmp_path / name}", table_properties=properties)

        def work(folder: Path, writer: int, failures: list[BaseException]) -> None:
            try:
                for turn in range(4):
                    lr.Table(folder).update({"n": "n + 1"}, where=f"id % 4 = {writer} OR id < {4 + turn}")
            except BaseException as error:
                failures.append(error)

        failures: list[BaseException] = []
        threads = [threading.Thread(target=work, args=(tmp_path / name, n, failures)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        found = lr.scan(tmp_path / name).to_arrow().sort_by("id")["n"].to_pylist()
        # A row below 8 has the turns of all writers in which it is low enough, and the own writer's others.
        low = [max(0, 4 - max(0, number - 3)) for number in range(8)]
        assert found == [4 + 3 * low[number] if number < 8 else 4 for number in range(40)], name
        assert lr.Table(tmp_path / name).verify(deep=True).sound


def test_a_key_that_is_set_is_warned_of(tmp_path: Path) -> None:
    table = made(tmp_path / "t", drawn_rows(random.Random(6), range(20)), LAYOUTS["keyed"])
    with pytest.warns(lr.LakeraceWarning, match="key"):
        assert table.update({"id": "id + 10"}, where="id < 5").rows == 5
    assert not table.verify().sound
    assert table.to_arrow()["id"].to_pylist().count(12) == 2


def large(rows: int) -> pa.Table:
    """Rows that no file has in order."""
    ids = [number * 7919 % rows for number in range(rows)]
    return pa.table({"id": ids, "v": [f"value {number}" for number in ids]})


@pytest.mark.parametrize("check", [lambda table: table.update({"v": "upper(v)"}, memory_limit="1MB")])
def test_new_rows_are_sorted_within_the_memory(check: Callable[[lr.Table], Any], tmp_path: Path) -> None:
    rows = large(50_000)
    lr.copy(rows, f"delta:{tmp_path / 't'}", table_properties={"lakerace.primaryKey": "id"})
    table = lr.Table(tmp_path / "t")
    assert check(table).rows == 50_000
    expected = rows.set_column(1, "v", pc.utf8_upper(rows["v"]))
    assert lr.checksum(table.scan()) == lr.checksum(expected)
    with pytest.raises(lr.UsageError, match="memory"):
        table.update({"v": "v"}, memory_limit="1kB")


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ("price = 2", "updates: a value of type str is no dict"),
        ([("price", "2")], "updates: a value of type list is no dict"),
        ({}, "updates: no column is set"),
        ({1: "2"}, "updates: 1 is no name of a column"),
        ({"price": 2}, "updates: the value of 'price' is not a SQL expression, but of type int"),
    ],
)
def test_updates_that_are_none_are_refused(updates: Any, message: str) -> None:
    table = lr.Table("no/such/table")
    for call in (table.update, table.merge([{"id": 1}], "id").when_matched_update):
        with pytest.raises(lr.UsageError) as raised:
            call(updates)
        assert str(raised.value).startswith(message)
        assert raised.value.advice


def test_times_of_expressions_reach_as_far_as_those_of_the_table(tmp_path: Path) -> None:
    place = tmp_path / "table"
    last = datetime(9999, 12, 31, tzinfo=timezone.utc)
    now = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone.utc)
    times = pa.array([last, None], pa.timestamp("us", "UTC"))
    lr.copy(pa.table({"id": [1, 2], "valid_to": times}), f"delta:{place}")
    table = lr.Table(place)
    before = datetime.now(timezone.utc)
    assert table.update({"valid_to": "coalesce(valid_to, now())"}).rows == 2
    first, second = of_delta_rs(place).sort_by("id")["valid_to"].to_pylist()
    assert first == last
    assert before.replace(microsecond=0) <= second <= datetime.now(timezone.utc)
    for value in ("coalesce(valid_to, ?)", "CASE WHEN id = 1 THEN valid_to ELSE ? END"):
        assert table.update({"valid_to": "NULL"}, where="id = 2").rows == 1
        assert table.update({"valid_to": value}, params=[now]).rows == 2
        assert table.scan(columns=["id", "valid_to"], order_by="id").to_arrow()["valid_to"].to_pylist() == [last, now]
