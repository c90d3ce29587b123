"""Merges with clauses: rows and counts are those of delta-rs, and other readers see them."""

from __future__ import annotations

import random
import subprocess
import threading
import warnings
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from changed_tables import FEED, LAYOUTS, NO_VECTORS, SCHEMA, Layout, drawn_rows, made, seen_by_all, told, twin

import lakerace as lr
from lakerace_bench import contestant

if TYPE_CHECKING:
    from collections.abc import Callable

MATCHED_VALUES = {
    "part": ["source.part", "'m'", "CASE WHEN target.qty > 3 THEN target.part ELSE source.part END"],
    "qty": ["source.qty + coalesce(target.qty, 0)", "NULL", "source.id", "source.price"],
    "price": ["source.price", "target.price + source.price", "1.5"],
    "amount": ["source.amount", "target.amount + 1", "source.qty"],
    "name": ["target.name || source.name", "upper(source.name)", "'seen'"],
    "day": ["source.day", "DATE '2026-09-09'"],
}
MATCHED_CONDITIONS = [
    None,
    "source.qty > 4",
    "target.price < source.price",
    "source.name LIKE 'n1%' OR target.name IS NULL",
    "target.part = source.part AND source.price > 3",
    "target.qty > 1000",
]
INSERT_VALUES = [
    {"id": "source.id", "part": "source.part", "qty": "source.qty * 2"},
    {"id": "source.id + 1000", "part": "'new'", "name": "upper(source.name)", "price": "source.qty"},
]
INSERT_CONDITIONS = [None, "source.qty > 3", "source.id IS NOT NULL", "source.id IS NULL", "source.price < 0"]
UNMATCHED_VALUES = [
    {"qty": "0"},
    {"name": "target.name || 'x'", "part": "'gone'"},
    {"price": "target.price * 2", "day": "NULL"},
]
UNMATCHED_CONDITIONS = [
    None,
    "target.qty > 3",
    "target.id < 40",
    "target.part = 'a' AND target.price > 5",
    "target.id IS NULL",
]


@dataclass
class Clauses:
    """The clauses of a merge, in their order: the method's name and its arguments."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def applied(self, merge: Any) -> Any:
        """A merge of lakerace or of delta-rs with the clauses."""
        for name, arguments in self.calls:
            merge = getattr(merge, name)(**arguments)
        return merge


def drawn_clauses(drawn: random.Random) -> Clauses:
    """Clauses of all kinds, at least one."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for _ in range(drawn.randrange(4)):
        condition = drawn.choice(MATCHED_CONDITIONS)
        kind = drawn.choice(["update", "update", "update_all", "delete"])
        arguments: dict[str, Any] = {"predicate": condition}
        if kind == "update":
            columns = drawn.sample(list(MATCHED_VALUES), drawn.randrange(1, 4))
            arguments["updates"] = {column: drawn.choice(MATCHED_VALUES[column]) for column in columns}
        elif kind == "update_all":
            arguments["except_cols"] = drawn.choice([None, ["price"], ["qty", "day"]])
        calls.append((f"when_matched_{kind}", arguments))
    for _ in range(drawn.randrange(3)):
        condition = drawn.choice(INSERT_CONDITIONS)
        if drawn.random() < 0.5:
            arguments = {"predicate": condition, "except_cols": drawn.choice([None, ["name"]])}
            calls.append(("when_not_matched_insert_all", arguments))
        else:
            calls.append(("when_not_matched_insert", {"predicate": condition, "updates": drawn.choice(INSERT_VALUES)}))
    for _ in range(drawn.randrange(3)):
        condition = drawn.choice(UNMATCHED_CONDITIONS)
        if drawn.random() < 0.5:
            calls.append(("when_not_matched_by_source_delete", {"predicate": condition}))
        else:
            arguments = {"predicate": condition, "updates": drawn.choice(UNMATCHED_VALUES)}
            calls.append(("when_not_matched_by_source_update", arguments))
    return Clauses(calls) if calls else drawn_clauses(drawn)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_rows_and_counts_are_those_of_delta_rs(name: str, seed: int, tmp_path: Path) -> None:
    drawn, layout = random.Random(f"{name} {seed}"), LAYOUTS[name]
    rows = drawn_rows(drawn, [*range(150), *([] if name == "keyed" else [None, None])])
    table, theirs = made(tmp_path / "mine", rows, layout), twin(tmp_path / "theirs", rows, layout.feeds)
    for turn in range(3):
        on = ["id", "part"] if turn == 2 else ["id"]
        ids = [*drawn.sample(range(220), drawn.choice([0, 30, 80])), None, None]
        source = drawn_rows(drawn, ids).select(drawn.sample(SCHEMA.names, len(SCHEMA)))
        clauses = drawn_clauses(drawn)
        before = (table.version, theirs.version())
        with warnings.catch_warnings():
            # A key that is not checked.
            warnings.simplefilter("ignore", lr.LakeraceWarning)
            planned = clauses.applied(table.merge(source, on)).execute(dry_run=True)
            merged = clauses.applied(table.merge(source, on)).execute()
        joined = " and ".join(f"target.{column} = source.{column}" for column in on)
        merge = theirs.merge(source, joined, source_alias="source", target_alias="target")
        metrics = clauses.applied(merge).execute()
        theirs = deltalake.DeltaTable(str(tmp_path / "theirs"))
        found = (merged.inserted, merged.updated, merged.deleted)
        counts = ("num_target_rows_inserted", "num_target_rows_updated", "num_target_rows_deleted")
        assert found == tuple(metrics[count] for count in counts), clauses
        assert (planned.inserted, planned.updated, planned.deleted) == found
        assert planned.version is None
        assert merged.source_rows == source.num_rows
        assert merged.version == (before[0] + 1 if merged.rows else None), clauses
        seen_by_all(tmp_path / "mine", theirs.to_pyarrow_table(), layout)
        if layout.feeds and merged.rows:
            assert told(tmp_path / "mine", before[0] + 1) == told(tmp_path / "theirs", before[1] + 1), clauses


def small(folder: Path, **properties: str) -> lr.Table:
    rows = pa.table({"id": [1, 2, 3, 4], "v": ["a", "b", "c", "d"], "n": [10, 20, 30, 40]})
    lr.copy(rows, f"delta:{folder}", table_properties=properties)
    return lr.Table(folder)


def found(table: lr.Table) -> list[tuple[Any, ...]]:
    rows = table.to_arrow().select(["id", "v", "n"]).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=str)


def test_the_first_clause_that_applies_decides(tmp_path: Path) -> None:
    table = small(tmp_path / "t", **{"lakerace.primaryKey": "id"})
    source = [{"id": 1, "v": "x"}, {"id": 2, "v": "y"}, {"id": 3, "v": "z"}, {"id": 9, "v": "w"}]
    merge = table.merge(source)
    merge = merge.when_matched_update({"n": "n + 1"}, "source.v = 'x'").when_matched_delete("target.id = 2")
    merge = merge.when_matched_update({"v": "source.v"}).when_matched_delete().when_not_matched_insert_all()
    merge = merge.when_not_matched_by_source_update({"v": "'left'", "n": "n * 2"}, "n > 30")
    merged = merge.execute()
    assert (merged.inserted, merged.updated, merged.deleted, merged.rows) == (1, 3, 1, 5)
    assert (merged.version, merged.rows_hidden, merged.source_rows) == (1, 4, 4)
    assert found(table) == [(1, "a", 11), (3, "z", 30), (4, "left", 80), (9, "w", None)]
    last = table.history(1)[0]
    assert last.operation == "MERGE"
    assert last.metrics["numTargetRowsNotMatchedBySourceUpdated"] == "1"
    told_by_delta_rs = deltalake.DeltaTable(str(tmp_path / "t")).history(1)[0]
    assert told_by_delta_rs["operationParameters"]["predicate"] == '["target.id = source.id"]'


def test_sides_have_the_names_that_they_are_given(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    source = pa.table({"key": [1, 7], "v": ["x", "y"], "m": [5, 6]})
    merge = table.merge(source, predicate="s.key = t.id", source_alias="s", target_alias="t")
    merge = merge.when_matched_update({"`v`": "s.v || t.v", "t.n": "m + n"})
    merged = merge.when_not_matched_insert({"id": "s.`key`", "t.v": "v"}).execute()
    assert (merged.inserted, merged.updated) == (1, 1)
    assert found(table)[0] == (1, "xa", 15)
    assert found(table)[-1] == (7, "y", None)


def test_parameters_are_values_and_no_text_of_the_clause(tmp_path: Path) -> None:
    place = str(tmp_path / "table")
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "o'b", "c"], "price": [1.0, 2.0, 3.0]})
    lr.copy(rows, f"delta:{place}", table_properties={"lakerace.primaryKey": "id"})
    source = pa.table({"id": [2, 3, 9], "name": ["x", "y", "z"], "price": [20.0, 30.0, 90.0]})
    merge = (
        lr.Table(place)
        .merge(source)
        .when_matched_update({"name": "?", "price": "source.price * ?"}, "target.name = ?", ["it's ? or --", 2, "o'b"])
        .when_matched_delete("target.price >= ?", params=[Decimal("3")])
        .when_not_matched_insert({"id": "id", "name": "?", "price": "?"}, "price > ?", params=["new", None, 50])
        .when_not_matched_by_source_update({"price": "?"}, "target.id IN (?, ?)", params=[0.5, 1, 7])
    )
    merged = merge.execute()
    assert (merged.updated, merged.deleted, merged.inserted) == (2, 1, 1)
    found = sorted(deltalake.DeltaTable(place).to_pyarrow_table().to_pylist(), key=itemgetter("id"))
    assert found == [
        {"id": 1, "name": "a", "price": 0.5},
        {"id": 2, "name": "it's ? or --", "price": 40.0},
        {"id": 9, "name": "new", "price": None},
    ]
    with pytest.raises(lr.UsageError, match="1 placeholder"):
        merge.when_matched_delete("target.id = ?", params=[1, 2])
    with pytest.raises(lr.UsageError, match="params"):
        merge.when_matched_delete("target.id = ?").execute()
    with pytest.raises(lr.UsageError, match="not a SQL expression") as raised:
        merge.when_matched_update({"price": 2})  # type: ignore[dict-item]
    assert raised.value.advice == "write {'price': \"?\"} and params=[2]"


def test_sources_are_locations_scans_frames_and_lists(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 9], "v": ["x", "y"], "n": [5, 6]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("id,v,n\n1,x,5\n9,y,6\n")
    sources: list[Any] = [
        rows,
        rows.to_pylist(),
        rows.to_pandas(),
        tmp_path / "rows.parquet",
        str(tmp_path / "rows.csv"),
        lr.scan(tmp_path / "rows.parquet", where="id > 0"),
        [tmp_path / "rows.parquet"],
    ]
    for number, source in enumerate(sources):
        table = small(tmp_path / f"t{number}", **{"lakerace.primaryKey": "id"})
        merged = table.merge(source).when_matched_update_all().when_not_matched_insert_all().execute()
        assert (merged.inserted, merged.updated, merged.source_rows) == (1, 1, 2)
        assert found(table) == [(1, "x", 5), (2, "b", 20), (3, "c", 30), (4, "d", 40), (9, "y", 6)]
    # A builder can run again: its rows then all match.
    table = small(tmp_path / "again", **{"lakerace.primaryKey": "id"})
    merge = table.merge(rows).when_matched_update({"n": "target.n + 1"}).when_not_matched_insert_all()
    assert (merge.execute().inserted, merge.execute().updated) == (1, 2)


def test_values_of_sources_get_the_types_of_the_table(tmp_path: Path) -> None:
    schema = pa.schema(
        {
            "id": pa.int64(),
            "kind": pa.string(),
            "n": pa.int16(),
            "at": pa.timestamp("us", "UTC"),
            "s": pa.struct({"a": pa.int64(), "b": pa.string()}),
            "l": pa.list_(pa.string()),
        }
    )
    moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
    row = {"id": 1, "kind": "x", "n": 1, "at": moment, "s": {"a": 1, "b": "p"}, "l": ["q"]}
    lr.copy(pa.Table.from_pylist([row, {**row, "id": 2}], schema), f"delta:{tmp_path / 't'}")
    table = lr.Table(tmp_path / "t")
    source = pa.table(
        {
            "l": pa.array([["r", None], None], pa.large_list(pa.large_string())),
            "s": pa.array([{"a": 7, "b": None}, None], pa.struct({"a": pa.int32(), "b": pa.string()})),
            "at": pa.array([moment, None], pa.timestamp("ms", "UTC")),
            "n": pa.array([200, 3], pa.uint8()),
            "kind": pa.array(["new", None]).dictionary_encode(),
            "id": pa.array([1, 5], pa.int32()),
        }
    )
    merged = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert (merged.updated, merged.inserted) == (1, 1)
    assert sorted(table.to_arrow().to_pylist(), key=itemgetter("id")) == [
        {"id": 1, "kind": "new", "n": 200, "at": moment, "s": {"a": 7, "b": None}, "l": ["r", None]},
        {**row, "id": 2},
        {"id": 5, "kind": None, "n": 3, "at": None, "s": None, "l": None},
    ]
    merge = table.merge(source, "id").when_matched_update(
        {"n": "source.s.a + target.s.a", "kind": "s.b || 'x'"}, "id > 1"
    )
    with pytest.raises(lr.UsageError, match="both"):
        merge.execute()
    merge = table.merge(source, "id").when_matched_update({"n": "source.s.a + target.s.a", "kind": "source.kind"})
    assert merge.execute().updated == 2
    assert sorted(table.to_arrow()["n"].to_pylist(), key=str) == [1, 14, None]


def test_duckdb_reads_merged_tables(tmp_path: Path) -> None:
    rows, source = drawn_rows(random.Random(5), range(90)), drawn_rows(random.Random(6), range(60, 120))
    folders = []
    for number, (name, layout) in enumerate(LAYOUTS.items()):
        # duckdb reads no partition column of such a table: docs/guide/readers.md.
        if name == "mapped by id, partitioned":
            continue
        merge = made(tmp_path / f"t{number}", rows, layout).merge(source, "id")
        merge = merge.when_matched_delete("source.qty > 6").when_matched_update({"price": "source.price"})
        merge = merge.when_not_matched_insert_all().when_not_matched_by_source_update({"part": "'z'"}, "qty < 4")
        assert merge.execute().rows > 60
        folders.append(tmp_path / f"t{number}")
    program = Path(__file__).parent / "read_duckdb.py"
    python = contestant.named("duckdb_delta").python()
    subprocess.run([str(python), str(program), *map(str, folders)], check=True, timeout=120)
    for folder in folders:
        with pa.ipc.open_file(f"{folder}.arrow") as file:
            assert lr.checksum(file.read_all()) == lr.checksum(lr.scan(folder)), folder.name


def refused(table: lr.Table, source: pa.Table) -> list[tuple[Callable[[], Any], type[lr.Error], str]]:
    """Merges that are refused, and a part of each message."""
    merge = table.merge
    return [
        (lambda: merge(source, "id"), lr.UsageError, "no clause"),
        (lambda: merge(source).when_matched_delete(), lr.UsageError, "no key"),
        (lambda: merge(source, "gone").when_matched_delete(), lr.NotFoundError, "gone"),
        (lambda: merge(source, "extra").when_matched_delete(), lr.NotFoundError, "extra"),
        (lambda: merge(source, ["id", "id"]).when_matched_delete(), lr.UsageError, "twice"),
        (lambda: merge(source, "id").when_matched_update_all(), lr.NotFoundError, "extra"),
        (lambda: merge(source, "id").when_matched_update_all(except_cols="gone"), lr.NotFoundError, "gone"),
        (lambda: merge(source, "id").when_matched_update({"n": "n"}), lr.UsageError, "both"),
        (lambda: merge(source, "id").when_matched_update({"n": "other.n"}), lr.NotFoundError, "other.n"),
        (lambda: merge(source, "id").when_matched_update({"gone": "1"}), lr.NotFoundError, "gone"),
        (lambda: merge(source, "id").when_matched_update({"n": "source.v"}), lr.InvalidInputError, "can't be cast"),
        (lambda: merge(source, "id").when_matched_delete("source.n +"), lr.UsageError, "source.n"),
        (lambda: merge(source, "id").when_matched_delete("source.n"), lr.InvalidInputError, "source.n"),
        (lambda: merge(source, "id").when_not_matched_insert({"n": "target.n"}), lr.UsageError, "no row of the table"),
        (
            lambda: merge(source, "id").when_not_matched_by_source_update({"n": "source.n"}),
            lr.UsageError,
            "no row of the source",
        ),
        (
            lambda: merge(source, predicate="target.id > source.id").when_matched_delete(),
            lr.UnsupportedError,
            "equalities",
        ),
        (
            lambda: merge(source, "id", predicate="target.id = source.id").when_matched_delete(),
            lr.UsageError,
            "not by both",
        ),
        (
            lambda: merge(source, "id", source_alias="t", target_alias="t").when_matched_delete(),
            lr.UsageError,
            "its own name",
        ),
        (lambda: merge(source, "f").when_matched_delete(), lr.UnsupportedError, "can't be a key"),
        # The first constraint fails in a row that is updated, the second in one that is inserted, the third in one without a match.
        (lambda: merge(source, "id").when_matched_update({"n": "-1"}), lr.InvalidInputError, "constraint positive"),
        (
            lambda: merge(source, "id").when_not_matched_insert({"id": "id", "n": "-1"}),
            lr.InvalidInputError,
            "constraint positive",
        ),
        (
            lambda: merge(source, "id").when_not_matched_by_source_update({"n": "0 - n"}),
            lr.InvalidInputError,
            "constraint positive",
        ),
        (lambda: merge(source, "id").when_not_matched_insert({"n": "1"}), lr.InvalidInputError, "NOT NULL"),
        (lambda: merge(source, "id").when_matched_update({"id": "NULL"}), lr.InvalidInputError, "NOT NULL"),
    ]


@pytest.mark.parametrize("properties", [{}, NO_VECTORS, FEED])
def test_refused_merges_leave_the_table(properties: dict[str, str], tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), False), ("v", pa.string()), ("n", pa.int64()), ("f", pa.float64())])
    rows = pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"], "n": [1, 2, 3], "f": [1.0, 2.0, 3.0]}, schema)
    lr.copy(rows, f"delta:{tmp_path / 't'}", table_properties=properties, keep_not_null=True)
    table = lr.Table(tmp_path / "t")
    table.alter(constraints={"positive": "n > 0"})
    names = sorted(path.name for path in (tmp_path / "t").rglob("*"))
    source = pa.table({"id": [1, 2, 7], "v": ["x", "y", "z"], "n": [5, 6, 7], "f": [1.0, 2.0, 7.0], "extra": [0, 0, 0]})
    for make, error, part in refused(table, source):
        for dry_run in (True, False):
            with pytest.raises(error, match=part):
                make().execute(dry_run=dry_run)
    assert sorted(path.name for path in (tmp_path / "t").rglob("*")) == names
    assert lr.checksum(table.scan()) == lr.checksum(rows)


def test_several_rows_of_the_source_for_one_row(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    source = pa.table({"id": [1, 1, 2, 8, 8], "v": ["x", "y", "z", "p", "q"], "n": [1, 2, 3, 4, 5]})
    for clause in (
        lambda merge: merge.when_matched_update_all(),
        lambda merge: merge.when_matched_delete("source.n > 0"),
        lambda merge: merge.when_matched_update({"n": "1"}, "source.v = 'x'").when_matched_delete(),
    ):
        with pytest.raises(lr.InvalidInputError, match=r"several rows of the source .*id = 1"):
            clause(table.merge(source, "id")).execute()
    assert table.version == 0
    # One of them changes the row, and rows that are not matched are all inserted.
    merge = table.merge(source, "id").when_matched_update_all("source.v <> 'x'").when_not_matched_insert_all()
    merged = merge.execute()
    assert (merged.updated, merged.inserted) == (2, 2)
    assert found(table) == [(1, "y", 2), (2, "z", 3), (3, "c", 30), (4, "d", 40), (8, "p", 4), (8, "q", 5)]
    # Rows of the table with one key are all changed by one row of the source.
    merged = table.merge([{"id": 8, "v": "r"}], "id").when_matched_update({"v": "source.v || target.v"}).execute()
    assert merged.updated == 2
    merged = table.merge(source, "id").when_matched_delete().execute()
    assert (merged.deleted, merged.updated) == (4, 0)
    assert found(table) == [(3, "c", 30), (4, "d", 40)]


def test_an_empty_source(tmp_path: Path) -> None:
    table = small(tmp_path / "t")
    none = pa.table({"id": pa.array([], pa.int64()), "v": pa.array([], pa.string())})
    merge = table.merge(none, "id").when_matched_update_all().when_not_matched_insert_all()
    assert (merge.execute().version, merge.execute().rows) == (None, 0)
    merged = merge.when_not_matched_by_source_delete("target.n > 20").execute()
    assert (merged.deleted, merged.source_rows) == (2, 0)
    assert [row[0] for row in found(table)] == [1, 2]


def test_only_files_that_may_have_the_rows_are_read(tmp_path: Path) -> None:
    rows = drawn_rows(random.Random(4), range(1000))
    table = made(tmp_path / "t", rows, Layout(), parts=10)
    source = drawn_rows(random.Random(5), [5, 6, 733])
    merged = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert (merged.updated, merged.files_probed, merged.vectors) == (3, 2, 2)
    merge = table.merge(source, "id").when_not_matched_by_source_delete("id < 150")
    merged = merge.execute()
    assert merged.deleted == 148
    # The files of the keys, one of which has new rows, and those of the condition.
    assert merged.files_probed <= 5
    inserted = table.merge(drawn_rows(random.Random(6), [5000]), "id").when_not_matched_insert_all().execute()
    assert (inserted.inserted, inserted.files_probed) == (1, 0)


def test_merges_of_several_writers_are_all_there(tmp_path: Path) -> None:
    rows = pa.table({"id": range(40), "n": pa.array([0] * 40, pa.int64())})
    for name, properties in {"vectors": {}, "rewritten": NO_VECTORS, "feed": FEED}.items():
        lr.copy(rows, f"delta:{tmp_path / name}", table_properties=properties)

        def work(folder: Path, writer: int, failures: list[BaseException]) -> None:
            try:
                for turn in range(4):
                    # Rows of all writers, and a row of its own.
                    ids = [0, 1, 10 + writer, 100 + 10 * writer + turn]
                    merge = lr.Table(folder).merge(pa.table({"id": ids, "n": [1] * 4}), "id")
                    merge = merge.when_matched_update({"n": "target.n + source.n"})
                    merge.when_not_matched_insert_all().execute()
            except BaseException as error:
                failures.append(error)

        failures: list[BaseException] = []
        threads = [threading.Thread(target=work, args=(tmp_path / name, n, failures)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        sums = dict(zip(*lr.scan(tmp_path / name).to_arrow().to_pydict().values(), strict=True))
        assert {number: sums[number] for number in (0, 1, 10, 11, 12)} == {0: 12, 1: 12, 10: 4, 11: 4, 12: 4}, name
        assert len(sums) == 40 + 3 * 4
        assert lr.Table(tmp_path / name).verify(deep=True).sound


@pytest.mark.parametrize("properties", [{}, {"lakerace.primaryKey": "id"}, {**FEED, **NO_VECTORS}])
def test_sources_beyond_the_memory(properties: dict[str, str], tmp_path: Path) -> None:
    count = 60_000
    ids = [number * 7919 % count for number in range(count)]
    rows = pa.table({"id": ids, "v": [f"value {number}" for number in ids]})
    lr.copy(rows.slice(0, count // 2), f"delta:{tmp_path / 't'}", table_properties=properties)
    table = lr.Table(tmp_path / "t")
    nulls = pa.table({"id": pa.array([None] * 1000, pa.int64()), "v": ["null"] * 1000})
    source = pa.concat_tables([rows.set_column(1, "v", pc.utf8_upper(rows["v"])), nulls])
    merge = table.merge(source, "id", memory_limit="2MB")
    merge = merge.when_matched_update({"v": "source.v || target.v"}).when_not_matched_insert_all()
    merged = merge.execute()
    assert (merged.updated, merged.inserted) == (count // 2, count // 2 + 1000)
    assert merged.windows > 1
    known = set(ids[: count // 2])
    texts = [f"VALUE {n}value {n}" if n in known else f"VALUE {n}" for n in ids]
    expected = pa.concat_tables([pa.table({"id": ids, "v": texts}), nulls])
    assert lr.checksum(table.scan()) == lr.checksum(expected)
    with pytest.raises(lr.UsageError, match="memory"):
        table.merge(source, "id", memory_limit="1kB").when_matched_delete().execute()


def test_a_key_that_is_not_checked_is_warned_of(tmp_path: Path) -> None:
    table = small(tmp_path / "t", **{"lakerace.primaryKey": "id"})
    source = pa.table({"id": [1], "v": ["a"], "n": [5]})
    with pytest.warns(lr.LakeraceWarning, match="key"):
        table.merge(source, "v").when_matched_update({"id": "source.n"}).execute(dry_run=True)
    with pytest.warns(lr.LakeraceWarning, match="key"):
        table.merge(source, "v").when_not_matched_insert_all().execute(dry_run=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.merge(source).when_matched_update_all().when_not_matched_insert_all().execute(dry_run=True)


def test_tables_of_which_nothing_may_go(tmp_path: Path) -> None:
    table = small(tmp_path / "t", **{"delta.appendOnly": "true"})
    source = pa.table({"id": [1, 9], "v": ["x", "y"], "n": [5, 6]})
    assert table.merge(source, "id").when_not_matched_insert_all().execute().inserted == 1
    with pytest.raises(lr.InvalidInputError, match="appendOnly"):
        table.merge(source, "id").when_matched_update_all().execute()
    with pytest.raises(lr.InvalidInputError, match="appendOnly"):
        table.update({"n": "1"})


def _streams(rows: pa.Table) -> list[tuple[Any, bool]]:
    """Sources of the same rows, and whether their rows are gone once they were read."""
    frame = pl.DataFrame(rows)
    sources = [
        (rows, False),
        (frame, False),
        (frame.lazy(), False),
        (frame.to_pandas(), False),
        (rows.to_pylist(), False),
    ]
    return [
        *sources,
        (duckdb.from_arrow(rows), False),
        (rows.to_reader(), True),
        (duckdb.from_arrow(rows).to_arrow_reader(), True),
    ]


@pytest.mark.parametrize("number", range(8))
def test_a_stream_is_not_taken_for_a_source_without_rows_in_a_second_run(tmp_path: Path, number: int) -> None:
    deltalake.write_deltalake(tmp_path / "t", pa.table({"id": [1, 2, 3], "v": [10, 20, 30]}))
    source, is_gone = _streams(pa.table({"id": [1, 2], "v": [1, 2]}))[number]
    merge = (
        lr.Table(tmp_path / "t").merge(source, on="id").when_matched_update_all().when_not_matched_by_source_delete()
    )
    assert merge.execute(dry_run=True).updated == 2
    if is_gone:
        with pytest.raises(lr.UsageError, match="a stream that this merge has read"):
            merge.execute()
        assert deltalake.DeltaTable(tmp_path / "t").version() == 0
    else:
        merged = merge.execute()
        assert (merged.updated, merged.deleted) == (2, 1)


def test_a_condition_is_not_asked_of_rows_that_an_earlier_clause_has_decided(tmp_path: Path) -> None:
    source = pa.table({"id": [1, 2, 3], "t": ["5", "bad", "1"]})
    seen = []
    for name in ("ours", "theirs"):
        deltalake.write_deltalake(tmp_path / name, pa.table({"id": [1, 2, 3], "v": [10, 20, 30]}))
    merge = lr.Table(tmp_path / "ours").merge(source, on="id").when_matched_delete("t = 'bad'")
    merge.when_matched_update({"v": "1"}, "CAST(t AS bigint) > 3").execute()
    theirs = deltalake.DeltaTable(tmp_path / "theirs").merge(source, "target.id = source.id", "source", "target")
    theirs = theirs.when_matched_delete("source.t = 'bad'")
    theirs.when_matched_update({"v": "1"}, "CAST(source.t AS bigint) > 3").execute()
    for name in ("ours", "theirs"):
        rows = deltalake.DeltaTable(tmp_path / name).to_pyarrow_table().sort_by("id")
        seen.append(rows.to_pylist())
    assert seen[0] == seen[1] == [{"id": 1, "v": 1}, {"id": 3, "v": 30}]
