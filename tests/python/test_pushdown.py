"""Statistics are promises to every reader: each engine finds by those that we write what it finds without them."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from lakes import SIGNED, STATES, made
from pushdown import GROUP_ROWS, KINDS, LONG, PAGE_ROWS, STRIDE_ROWS, Filter, filters, stretched, table

import lakerace as lr
from lakerace_bench import contestant

#: By filter, the rows that an engine finds by statistics and without.
Found = tuple[list[list[int]], list[list[int]]]


def in_sql(run: Callable[[str], pa.Table], source: str, conditions: Sequence[str]) -> Found:
    """A query of its own for each condition, and one of no condition that says where each holds."""
    found = [sorted(run(f"SELECT id FROM {source} WHERE {condition}")["id"].to_pylist()) for condition in conditions]
    columns = ", ".join(f"({condition}) AS c{number}" for number, condition in enumerate(conditions))
    whole = run(f"SELECT id, {columns} FROM {source}").sort_by("id")
    return found, [matching(whole, f"c{number}") for number in range(len(conditions))]


def matching(whole: pa.Table, column: str) -> list[int]:
    """The rows where a condition holds."""
    return [number for number, holds in zip(whole["id"].to_pylist(), whole[column].to_pylist(), strict=True) if holds]


def of_duckdb(path: Path, wanted: Sequence[Filter]) -> Found:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    source = f"read_parquet('{path}')"
    return in_sql(lambda sql: connection.sql(sql).to_arrow_table(), source, [f.sql("duckdb") for f in wanted])


def of_datafusion(path: Path, wanted: Sequence[Filter]) -> Found:
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return in_sql(lambda sql: pa.table(builder.execute(sql)), "t", [f.sql("datafusion") for f in wanted])


def in_zone(value: Any, data_type: pa.DataType) -> Any:
    """A value as Python's engines take it."""
    if pa.types.is_timestamp(data_type) and data_type.tz:
        return value.replace(tzinfo=datetime.timezone.utc)
    return value


def combined(column: Any, wanted: Filter, values: list[Any], is_in: Callable[[Any, list[Any]], Any]) -> Any:
    """A condition of an engine whose columns have Python's operators."""
    match wanted.operator:
        case "=":
            return column == values[0]
        case "<>":
            return column != values[0]
        case "<":
            return column < values[0]
        case "<=":
            return column <= values[0]
        case ">":
            return column > values[0]
        case ">=":
            return column >= values[0]
        case "BETWEEN":
            return (column >= values[0]) & (column <= values[1])
        case "IN":
            return is_in(column, values)
    return column.is_null() if wanted.operator == "IS NULL" else ~column.is_null()


def for_polars(wanted: Filter) -> pl.Expr:
    column = pl.col("s").struct.field(wanted.kind) if wanted.nested else pl.col(wanted.kind)
    kind = pl.Series("empty", pa.array([], wanted.data_type)).dtype
    literals = [pl.lit(in_zone(value, wanted.data_type), dtype=kind) for value in wanted.values]
    expression: pl.Expr = combined(
        column, wanted, literals, lambda column, values: (column == values[0]) | (column == values[1])
    )
    return expression


def of_polars(scan: pl.LazyFrame, wanted: Sequence[Filter]) -> Found:
    expressions = [for_polars(f) for f in wanted]
    found = [scan.filter(expression).select("id").collect() for expression in expressions]
    whole = scan.collect().select("id", *(e.alias(f"c{number}") for number, e in enumerate(expressions)))
    without = whole.to_arrow().sort_by("id")
    return (
        [sorted(frame["id"].to_list()) for frame in found],
        [matching(without, f"c{number}") for number in range(len(expressions))],
    )


def for_pyarrow(wanted: Filter) -> pc.Expression:
    column = pc.field("s", wanted.kind) if wanted.nested else pc.field(wanted.kind)
    values = [pa.scalar(in_zone(value, wanted.data_type), wanted.data_type) for value in wanted.values]
    expression: pc.Expression = combined(column, wanted, values, lambda column, values: column.isin(values))
    return expression


def of_pyarrow(dataset: ds.Dataset, wanted: Sequence[Filter]) -> Found:
    whole = dataset.to_table()
    found, without = [], []
    for expression in map(for_pyarrow, wanted):
        found.append(sorted(dataset.to_table(columns=["id"], filter=expression)["id"].to_pylist()))
        without.append(sorted(whole.filter(expression)["id"].to_pylist()))
    return found, without


def of_lakerace(path: Path, bare: Path, wanted: Sequence[Filter]) -> Found:
    def ids(place: Path, condition: str) -> list[int]:
        return sorted(lr.scan(place, columns=["id"], where=condition).to_arrow()["id"].to_pylist())

    conditions = [f.sql("lakerace") for f in wanted]
    return [ids(path, condition) for condition in conditions], [ids(bare, condition) for condition in conditions]


def without_nan(wanted: Sequence[Filter]) -> list[Filter]:
    """The filters that lakerace has a text for."""
    return [f for f in wanted if not any(isinstance(v, float) and v != v for v in f.values)]  # noqa: PLR0124


class Compared:
    """What engines found, and how often they were asked."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.lost: list[str] = []

    def note(self, engine: str, wanted: Sequence[Filter], found: Found) -> None:
        """Holds what an engine found by statistics against what it found without."""
        assert len(found[0]) == len(found[1]) == len(wanted)
        self.counts[engine] = self.counts.get(engine, 0) + len(wanted)
        for one, by_statistics, without in zip(wanted, *found, strict=True):
            if by_statistics != without:
                text = one.sql("duckdb")[:120]
                self.lost.append(f"{engine}: {text}: {by_statistics} by statistics, {without} without")

    def check(self) -> None:
        """Fails where any row was lost."""
        print(" · ".join(f"{engine}: {count} filters" for engine, count in self.counts.items()))
        assert self.counts
        assert not self.lost, "\n".join(self.lost)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The rows in a file without statistics."""
    path = tmp_path / "bare.parquet"
    pq.write_table(table(), path, write_statistics=False, store_schema=True)
    return path


def flat(kinds: Sequence[str]) -> list[str]:
    """The columns that can have a bloom filter."""
    return [name for name in kinds if name != "flag"]


def test_parquet(tmp_path: Path, bare: Path) -> None:
    path, rows, wanted = tmp_path / "t.parquet", table(), filters()
    lr.copy(rows, path, row_group_rows=GROUP_ROWS, bloom_filter=flat(rows.column_names[1:-1]))
    compared = Compared()
    compared.note("duckdb", wanted, of_duckdb(path, wanted))
    compared.note("polars", wanted, of_polars(pl.scan_parquet(path), wanted))
    compared.note("pyarrow", wanted, of_pyarrow(ds.dataset(path), wanted))
    ours = without_nan(wanted)
    compared.note("lakerace", ours, of_lakerace(path, bare, ours))
    compared.check()


def test_orc(tmp_path: Path, bare: Path) -> None:
    folder, rows, wanted = tmp_path / "orc", table(SIGNED), filters(SIGNED)
    folder.mkdir()
    for group in range(0, rows.num_rows, GROUP_ROWS):
        blooms = flat(rows.column_names[1:-1])
        lr.copy(rows.slice(group, GROUP_ROWS), folder / f"{group:02}.orc", bloom_filter=blooms)
    compared, ours = Compared(), without_nan(wanted)
    compared.note("lakerace", ours, of_lakerace(folder, bare, ours))
    # pyarrow reads times as nanoseconds, which do not reach as far.
    near = tuple(name for name in SIGNED if name not in ("utc", "ntz"))
    lr.copy(table(near), tmp_path / "near.orc")
    compared.note("pyarrow", filters(near), of_pyarrow(ds.dataset(tmp_path / "near.orc", format="orc"), filters(near)))
    compared.check()


@pytest.mark.parametrize(("name", "rows"), [("t.parquet", PAGE_ROWS), ("t.orc", STRIDE_ROWS)])
def test_pages_and_row_groups(tmp_path: Path, bare: Path, name: str, rows: int) -> None:
    lr.copy(stretched(LONG, rows), tmp_path / name)
    for one in without_nan(filters(LONG)):
        where = one.sql("lakerace")
        wanted = lr.scan(bare, where=where).count() * (rows // GROUP_ROWS)
        assert lr.scan(tmp_path / name, where=where).count() == wanted, where


def widened(folder: Path) -> None:
    """Files with narrower values than the columns have."""
    narrow = table(("f32", "i32"))
    lr.copy(narrow.slice(0, GROUP_ROWS), f"delta:{folder}", table_properties={"delta.enableTypeWidening": "true"})
    for group in range(GROUP_ROWS, narrow.num_rows, GROUP_ROWS):
        lr.copy(narrow.slice(group, GROUP_ROWS), folder, mode="append")
    wide = narrow.set_column(1, "f32", narrow["f32"].cast(pa.float64())).set_column(
        2, "i32", pa.array(range(narrow.num_rows), pa.int64())
    )
    wide = wide.set_column(0, "id", pa.array(range(100, 100 + wide.num_rows), pa.int64()))
    lr.copy(wide, folder, mode="append", evolve="widen")


#: Filters over a table whose columns were widened. 0.1 as a float of 32 bits is another number in 64; that duckdb finds it by the
#: shorter text, too, is not for statistics to say.
WIDENED = [
    f"f32 {operator} CAST('{value!r}' AS DOUBLE)"
    for value in (0.10000000149011612, 0.0, -0.0, 0.5, 1e300)
    for operator in ("=", "<", "<=", ">", ">=")
] + [f"i32 {operator} {value}" for value in (-(2**31), 7, 2**31 - 1, 2**40) for operator in ("=", "<=", ">=")]


def in_duckdb(questions: list[dict[str, Any]]) -> list[Found]:
    """What duckdb's extension finds in Delta tables."""
    program = Path(__file__).parent / "filter_duckdb.py"
    python = contestant.named("duckdb_delta").python()
    done = subprocess.run(
        [str(python), str(program)],
        input=json.dumps(questions),
        check=True,
        timeout=900,
        stdout=subprocess.PIPE,
        text=True,
    )
    answers: list[Found] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Delta table in each state."""
    folders = {name: tmp_path_factory.mktemp("lakes") / name for name in (*STATES, "widened")}
    for name, state in STATES.items():
        state(folders[name])
    widened(folders["widened"])
    return folders


def for_state(state: str) -> list[Filter]:
    """All filters for a table with deletion vectors; of the others each third one."""
    return filters(SIGNED)[:: 1 if state == "deleted" else 3]


@pytest.mark.parametrize("state", STATES)
def test_delta(lakes: dict[str, Path], tmp_path: Path, state: str) -> None:
    folder, wanted = lakes[state], for_state(state)
    compared = Compared()
    compared.note("delta-rs, DataFusion", wanted, of_datafusion(folder, wanted))
    compared.note("polars", wanted, of_polars(pl.scan_delta(str(folder)), wanted))
    lake = deltalake.DeltaTable(str(folder))
    if not lake.protocol().reader_features:
        compared.note("delta-rs, pyarrow", wanted, of_pyarrow(lake.to_pyarrow_dataset(), wanted))
    ours, rows = without_nan(wanted)[::3], tmp_path / "rows.parquet"
    pq.write_table(lr.scan(folder).to_arrow(), rows, write_statistics=False)
    compared.note("lakerace", ours, of_lakerace(folder, rows, ours))
    compared.check()


def test_bounds_of_booleans(tmp_path: Path) -> None:
    """delta-rs, for pyarrow, leaves out each file of which it does not know a column's bounds."""
    folder, wanted = tmp_path / "t", filters(("flag", "i32"))
    made(folder, ("flag", "i32"), **{"delta.enableDeletionVectors": "false"})
    compared, lake = Compared(), deltalake.DeltaTable(folder)
    assert not lake.protocol().reader_features
    compared.note("delta-rs, pyarrow", wanted, of_pyarrow(lake.to_pyarrow_dataset(), wanted))
    compared.note("delta-rs, DataFusion", wanted, of_datafusion(folder, wanted))
    compared.note("polars", wanted, of_polars(pl.scan_delta(str(folder)), wanted))
    compared.check()
    lr.Table(folder).compact()
    compared.note("delta-rs, pyarrow", wanted, of_pyarrow(deltalake.DeltaTable(folder).to_pyarrow_dataset(), wanted))
    compared.check()


def test_delta_in_duckdb(lakes: dict[str, Path]) -> None:
    """All tables at once: its environment takes longer to start than to answer."""
    compared = Compared()
    wanted = {state: for_state(state) for state in STATES}
    conditions = {state: [f.sql("duckdb") for f in some] for state, some in wanted.items()}
    questions = [{"folder": str(lakes[state]), "conditions": conditions[state]} for state in STATES]
    for state, found in zip(STATES, in_duckdb(questions), strict=True):
        compared.note("duckdb, delta", wanted[state], found)
    compared.check()


def test_widened_columns(lakes: dict[str, Path], tmp_path: Path) -> None:
    folder, rows = lakes["widened"], tmp_path / "rows.parquet"
    pq.write_table(lr.scan(folder).to_arrow(), rows, write_statistics=False)
    [found] = in_duckdb([{"folder": str(folder), "conditions": WIDENED}])
    assert found[0] == found[1]
    for condition in WIDENED:
        where = re.sub(r"CAST\('(.*)' AS DOUBLE\)", r"\1", condition)
        assert lr.scan(folder, where=where).count() == lr.scan(rows, where=where).count(), where


@pytest.mark.parametrize("name", ["t.parquet", "t.orc", "delta:t"])
def test_verify_finds_all_values_by_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = SIGNED if name != "t.parquet" else tuple(KINDS)
    assert lr.copy(table(kinds), name, verify=True).checksum == lr.checksum(table(kinds)).checksum


def test_verify_tells_of_wrong_statistics(tmp_path: Path) -> None:
    """Those of a file that was there before: the rows are there, and a filter does not find them."""
    lr.copy(pa.table({"n": [1, 2, 3]}), f"delta:{tmp_path}/t")
    entry = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    stated = entry.read_text()
    entry.write_text(stated.replace(r"\"maxValues\":{\"n\":3}", r"\"maxValues\":{\"n\":2}"))
    assert entry.read_text() != stated
    with pytest.raises(lr.CorruptDataError, match='0 rows where "n" = 3, of 1'):
        lr.copy(pa.table({"n": [0]}), tmp_path / "t", mode="append", verify=True)


def engines_rows(scan: lr.Scan, column: str) -> list[list[Any]]:
    """The values of a column as each engine reads it, without other columns."""
    data = scan.to_dataset()
    return [
        scan.lazy().select(column).collect()[column].to_list(),
        data.to_table(columns=[column])[column].to_pylist(),
        [row[0] for row in duckdb.sql(f"select {column} from data").fetchall()],
        [row[0] for row in lr.sql(f"select {column} from scanned", scanned=scan).rows()],
    ]


def test_an_order_by_a_computed_column_holds_for_each_subset(tmp_path: Path) -> None:
    rows = pl.DataFrame({"id": range(500), "a": [number * 7 % 500 for number in range(500)]})
    rows.write_parquet(tmp_path / "rows.parquet")
    for name in ("a", "b"):
        scan = lr.scan(tmp_path / "rows.parquet", columns=[f"-id as {name}", "id"], order_by=name, limit=4)
        assert engines_rows(scan, "id") == [[499, 498, 497, 496]] * 4
        assert engines_rows(scan, name) == [[-499, -498, -497, -496]] * 4


@pytest.mark.parametrize("columns", [None, ["id", "v"], ["id", "v + 1 as v"]])
def test_bad_rows_are_left_out_whatever_an_engine_reads(tmp_path: Path, columns: list[str] | None) -> None:
    (tmp_path / "rows.csv").write_text("id,v,s\n1,2,a\n2,xx,b\n3,4,c,d\n4,,e\n5,6,f\n")
    scan = lr.scan(tmp_path / "rows.csv", schema="id int64, v int64, s utf8", on_bad_row="skip", columns=columns)
    assert scan.to_arrow()["id"].to_pylist() == [1, 4, 5]
    assert engines_rows(scan, "id") == [[1, 4, 5]] * 4
    data = scan.to_dataset()
    assert scan.lazy().select(pl.len()).collect().item() == 3
    assert duckdb.sql("select count(*) from data").fetchall() == [(3,)]
    assert list(lr.sql("select count(*) from scanned", scanned=scan).rows()) == [(3,)]
    assert data.to_table(columns=["id"], filter=ds.field("id") > 1)["id"].to_pylist() == [4, 5]
    assert scan.lazy().filter(pl.col("id") > 1).select("id").collect()["id"].to_list() == [4, 5]
    assert list(lr.sql("select id from scanned where id > 1", scanned=scan).rows()) == [(4,), (5,)]
