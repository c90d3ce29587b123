"""The differential fuzz of filters: a table in some format, and conditions whose rows a plain evaluator knows.

A case draws a table of random columns, writes it with lakerace or another tool, and reads it back through random filters. The rows that
come back, their values and their order must be those of the evaluator.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc
import pyarrow.parquet as pq
from columns import KINDS, Kind, column, comparable
from evaluate import truth
from expressions import Expressions, sql
from views import without_views

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Filters for each table.
FILTERS = 12
_PLAIN = ["bool", "text", "bytes", "day", "f32", "f64", "i8", "i16", "i32", "i64"]
_UNSIGNED = ["u8", "u16", "u32", "u64"]
_DECIMALS = ["d1_0", "d5_2", "d9_9", "d18_4", "d20_0", "d38_10", "d38_0"]
_ORC = [*_PLAIN, *_DECIMALS, "near_ns", "near_ns_utc", "near_us"]
_DELTA = [*_PLAIN, *_DECIMALS, "at_us", "at_us_utc", "near_us"]
_CSV = [name for name in KINDS if name not in ("bytes", "fixed", "f16", "d60_20", "at_ns_utc", "large_text")]
_POLARS = [*_PLAIN, *_UNSIGNED, "near_us", "near_ns_utc"]
_DUCKDB = [*_PLAIN, *_UNSIGNED, "d5_2", "d18_4", "d38_10", "near_us", "near_us_utc"]
#: Types that partition a Delta table.
_PARTITIONS = ["bool", "text", "day", "i8", "i32", "i64", "d5_2", "at_us", "f64"]


#: Writers of tables in which structs are filtered by, too.
_NESTED = ("lakerace parquet", "pyarrow parquet", "lakerace orc", "lakerace delta")


class Written:
    """A table on disk: how to scan it, its rows by their ids, and the ids of those that were not deleted."""

    def __init__(self, location: Path, table: pa.Table, alive: set[int] | None = None, **options: Any) -> None:
        self.location = location
        self.table = table
        self.alive = set(range(table.num_rows)) if alive is None else alive
        self.options = options


def run(seed: int, folder: Path) -> str:
    """Runs one case; what it was is returned. Raises `AssertionError` where filter and evaluator differ."""
    drawn = random.Random(seed)
    writer = drawn.choice(list(WRITERS))
    allowed, write = WRITERS[writer]
    kinds = {f"c{i}": KINDS[drawn.choice(allowed)] for i in range(drawn.randint(1, 6))}
    rows = drawn.choice([0, 1, 7, 60, 60, 150, 150, 400, 400, 5000])
    table = pa.table({name: column(drawn, kind, rows) for name, kind in kinds.items()})
    table = table.append_column("rid", pa.array(range(rows), pa.int64()))
    kinds["rid"] = KINDS["i64"]
    if writer in _NESTED and drawn.random() < 0.3:
        table = _nested(drawn, table)
        kinds = {"c0.f": kinds.pop("c0"), **kinds}
    written = write(drawn, table, kinds, folder)
    table = written.table
    values = {name: comparable(kind, _values(table, name)) for name, kind in kinds.items()}
    whole = without_views(lr.scan(written.location, **written.options).to_arrow())
    order = whole["rid"].to_pylist()
    what = f"case {seed}, {writer}, {rows} rows of {', '.join(f'{n} {k.name}' for n, k in kinds.items())}"
    assert sorted(order) == sorted(written.alive), f"{what}: other rows without a filter"
    if "delta" not in writer:
        assert order == list(range(rows)), f"{what}: another order without a filter"
    assert lr.checksum(whole.select(table.column_names)) == lr.checksum(table.take(pa.array(order, pa.int64()))), (
        f"{what}: other values"
    )
    expressions = Expressions(drawn, kinds, values)
    for _ in range(FILTERS if rows < 1000 else FILTERS // 4):
        _check(drawn, written, whole, expressions.condition(), values, what)
    return what


def _check(
    drawn: random.Random,
    written: Written,
    whole: pa.Table,
    expr: tuple[Any, ...],
    values: Mapping[str, list[Any]],
    what: str,
) -> None:
    where = sql(expr)
    row = lambda rid: {name: column[rid] for name, column in values.items()}  # noqa: E731
    order = whole["rid"].to_pylist()
    wanted = [rid for rid in order if truth(expr, row(rid)) is True]
    options = dict(written.options)
    if drawn.random() < 0.3:
        options["threads"] = drawn.choice([1, 2])
    if drawn.random() < 0.2:
        options["batch_rows"] = drawn.choice([1, 16, "all"])
    try:
        scan = lr.scan(written.location, where=where, **options)
        found = scan.to_arrow()
    except lr.Error as error:
        raise AssertionError(f"{what}\n  {where}\n  {error}") from error
    place = f"{what}\n  {where}\n  options {options}"
    rids = found["rid"].to_pylist()
    assert rids == wanted, f"{place}\n  {_difference(rids, wanted, row)}"
    picked = whole.filter(pa.array([rid in set(wanted) for rid in order], pa.bool_()))
    assert lr.checksum(found) == lr.checksum(picked), f"{place}\n  other values"
    choice = drawn.randrange(4)
    if choice == 0:
        count = lr.scan(written.location, where=where, **options).count()
        assert count == len(wanted), f"{place}\n  counted {count}, not {len(wanted)}"
    elif choice == 1:
        alone = lr.scan(written.location, where=where, columns=["rid"], **options).to_arrow()["rid"].to_pylist()
        assert alone == wanted, f"{place}\n  the ids alone: {_difference(alone, wanted, row)}"
    elif choice == 2:
        parts = [part.to_arrow()["rid"].to_pylist() for part in scan.tasks(3)]
        together = [rid for part in parts for rid in part]
        assert sorted(together) == sorted(wanted), f"{place}\n  in tasks: {_difference(together, wanted, row)}"
    else:
        limit = drawn.randint(0, max(1, len(wanted)))
        first = lr.scan(written.location, where=where, limit=limit, **options).to_arrow()["rid"].to_pylist()
        assert first == wanted[:limit], f"{place}\n  the first {limit}: {_difference(first, wanted[:limit], row)}"


def _difference(found: list[int], wanted: list[int], row: Callable[[int], Any]) -> str:
    more, fewer = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
    if more or fewer:
        told = [f"{len(more)} rows too many {more[:5]}, {len(fewer)} missing {fewer[:5]}"]
        told += [f"row {rid}: {row(rid)}" for rid in (more[:2] + fewer[:2])]
        return "\n  ".join(told)
    return f"another order: {found[:20]}, not {wanted[:20]}"


def _nested(drawn: random.Random, table: pa.Table) -> pa.Table:
    """Puts the first column into a struct: a row whose struct is null has no value there."""
    is_null = pa.array([drawn.random() < 0.2 for _ in range(table.num_rows)], pa.bool_())
    inner = pa.StructArray.from_arrays([table["c0"].combine_chunks()], names=["f"], mask=is_null)
    return table.set_column(0, "c0", inner)


def _values(table: pa.Table, name: str) -> pa.ChunkedArray:
    root, _, field = name.partition(".")
    return pc.struct_field(table[root], field) if field else table[root]


def _blooms(drawn: random.Random, table: pa.Table) -> list[str]:
    has_none = lambda type_: type_ == pa.bool_() or pa.types.is_struct(type_)  # noqa: E731
    return [field.name for field in table.schema if drawn.random() < 0.3 and not has_none(field.type)]


def _parquet(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / "t.parquet"
    blooms = _blooms(drawn, table)
    lr.copy(
        table,
        path,
        row_group_rows=drawn.choice([7, 50, 1000]),
        compression=drawn.choice(["none", "snappy", "zstd", "lz4", "gzip", "brotli"]),
        bloom_filter=blooms or None,
    )
    return Written(path, table)


def _pyarrow_parquet(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / "t.parquet"
    pq.write_table(
        table,
        path,
        row_group_size=drawn.choice([7, 50, 1000]),
        data_page_size=drawn.choice([1, 64, 1 << 20]),
        write_batch_size=drawn.choice([1, 5, 1024]),
        data_page_version=drawn.choice(["1.0", "2.0"]),
        use_dictionary=drawn.random() < 0.5,
        compression=drawn.choice(["NONE", "SNAPPY", "ZSTD", "GZIP", "LZ4"]),
        write_statistics=drawn.random() < 0.8,
        write_page_index=drawn.random() < 0.7,
        write_page_checksum=drawn.random() < 0.3,
        store_schema=drawn.random() < 0.8 or _needs_schema(table),
        version="2.6",
    )
    return Written(path, table)


def _needs_schema(table: pa.Table) -> bool:
    """Whether a column's type is lost without the schema that Arrow's writers put beside Parquet's."""
    lost = (pa.timestamp("s"), pa.timestamp("s", "UTC"), pa.time32("s"), pa.large_string())
    return any(field.type in lost or pa.types.is_struct(field.type) for field in table.schema)


def _polars_parquet(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    import polars

    path = folder / "t.parquet"
    frame = polars.DataFrame(table)
    frame.write_parquet(
        path,
        row_group_size=drawn.choice([7, 50, 1000]),
        data_page_size=drawn.choice([64, 1024, 1 << 20]),
        statistics=drawn.choice([True, "full", False]),
        compression=drawn.choice(["uncompressed", "snappy", "zstd"]),
    )
    return Written(path, table)


def _orc(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / "t.orc"
    blooms = _blooms(drawn, table)
    codec = drawn.choice(["none", "zlib", "snappy", "lz4", "zstd"])
    lr.copy(table, path, row_group_bytes=drawn.choice([1024, 1 << 20]), compression=codec, bloom_filter=blooms or None)
    return Written(path, table, timestamp_unit=drawn.choice([None, "ns"]))


def _pyarrow_orc(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / "t.orc"
    pyarrow.orc.write_table(
        table,
        path,
        batch_size=drawn.choice([16, 1024]),
        stripe_size=drawn.choice([1024, 1 << 20]),
        compression=drawn.choice(["uncompressed", "zlib", "snappy", "lz4", "zstd"]),
        row_index_stride=drawn.choice([16, 10000]),
        dictionary_key_size_threshold=drawn.choice([0.0, 0.9]),
        bloom_filter_columns=[i for i in range(table.num_columns) if drawn.random() < 0.3] or None,
    )
    return Written(path, table)


def _csv(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / ("t.csv" + drawn.choice(["", ".gz", ".zst"]))
    lr.copy(table, path)
    types = {"string": "utf8", "double": "float64", "float": "float32"}
    schema = ", ".join(f"{f.name} {_type_text(f.type, types)}" for f in table.schema)
    return Written(path, table, schema=schema)


def _type_text(type_: pa.DataType, types: Mapping[str, str]) -> str:
    if pa.types.is_timestamp(type_):
        return f"timestamp({type_.unit}{', UTC' if type_.tz else ''})"
    if pa.types.is_time(type_):
        return f"time{type_.bit_width}({type_.unit})"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_date32(type_):
        return "date32"
    return types.get(str(type_), str(type_))


def _delta(drawn: random.Random, table: pa.Table, kinds: Mapping[str, Kind], folder: Path) -> Written:
    partitions = [
        n for n, k in kinds.items() if k.name in _PARTITIONS and n != "rid" and "." not in n and drawn.random() < 0.3
    ]
    for name in (n for n in partitions if kinds[n].name == "text"):
        # A table's partitions have no empty text: it is null there.
        filled = pc.if_else(pc.equal(table[name], ""), None, table[name])
        table = table.set_column(table.schema.get_field_index(name), name, filled)
    properties = {"delta.enableDeletionVectors": drawn.choice(["true", "false"]), "delta.enableTypeWidening": "true"}
    if drawn.random() < 0.3:
        properties["delta.dataSkippingNumIndexedCols"] = drawn.choice(["0", "1"])
    if drawn.random() < 0.3:
        properties["delta.checkpointInterval"] = "2"
    if drawn.random() < 0.2:
        properties["delta.columnMapping.mode"] = drawn.choice(["name", "id"])
    location = folder / "table"
    cut = sorted(drawn.randint(0, table.num_rows) for _ in range(drawn.randint(0, 4)))
    free = [name for name in kinds if name not in ("rid", *partitions) and "." not in name]
    # The first file lacks these. Times without a zone need a feature that a table gets when it is made.
    late = [name for name in free if cut and drawn.random() < 0.2 and kinds[name].type != pa.timestamp("us")]
    table = _without(table, late, cut[0] if cut else 0)
    first = table.slice(0, cut[0] if cut else None).drop_columns(late)
    # One more part, though it may be empty, has all columns in their types.
    cut = cut or [table.num_rows]
    for name in (n for n in free if n not in late and drawn.random() < 0.5):
        first = _narrower(first, name, kinds[name])
    lr.copy(first, f"delta:{location}", partition_by=partitions or None, table_properties=properties)
    for start, end in zip(cut, [*cut[1:], table.num_rows], strict=True):
        rows = table.slice(start, end - start)
        lr.copy(rows, location, mode="append", row_group_rows=drawn.choice([None, 20]), evolve=["add", "widen"])
    alive = set(range(table.num_rows))
    for _ in range(drawn.randint(0, 3)):
        if alive:
            gone = set(drawn.sample(sorted(alive), drawn.randint(1, min(40, len(alive)))))
            lr.Table(location).delete(f"rid IN ({', '.join(map(str, gone))})")
            alive -= gone
    return Written(location, table, alive)


def _narrower(table: pa.Table, name: str, kind: Kind) -> pa.Table:
    """The table with a column in the next narrower type, where all of its values fit: later files widen it."""
    type_ = {"i16": pa.int8(), "i32": pa.int16(), "i64": pa.int32()}.get(kind.name)
    if type_ is None:
        return table
    try:
        return table.set_column(table.schema.get_field_index(name), name, table[name].cast(type_))
    except pa.ArrowInvalid:
        return table


def _delta_rs(drawn: random.Random, table: pa.Table, kinds: Mapping[str, Kind], folder: Path) -> Written:
    partitions = [
        n for n, k in kinds.items() if k.name in ("day", "i8", "i32", "bool") and n != "rid" and drawn.random() < 0.3
    ]
    location = folder / "table"
    cut = sorted(drawn.randint(0, table.num_rows) for _ in range(drawn.randint(0, 3)))
    for start, end in zip([0, *cut], [*cut, table.num_rows], strict=True):
        rows = table.slice(start, end - start)
        deltalake.write_deltalake(str(location), rows, mode="append", partition_by=partitions or None)
    return Written(location, table)


def _duckdb_parquet(drawn: random.Random, table: pa.Table, _: Mapping[str, Kind], folder: Path) -> Written:
    path = folder / "t.parquet"
    with duckdb.connect() as connection:
        connection.register("t", table)
        codec, version = drawn.choice(["SNAPPY", "ZSTD", "UNCOMPRESSED"]), drawn.choice(["V1", "V2"])
        size = drawn.choice([2048, 100_000])
        options = f"FORMAT parquet, CODEC {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE {size}"
        connection.execute(f"COPY (SELECT * FROM t) TO '{path}' ({options})")
    return Written(path, table)


def _many(drawn: random.Random, table: pa.Table, kinds: Mapping[str, Kind], folder: Path) -> Written:
    """Files of one folder, each with some of the rows; the first may lack columns, and the others order them anew."""
    place = folder / "many"
    place.mkdir()
    cut = sorted(drawn.randint(0, table.num_rows) for _ in range(drawn.randint(1, 4)))
    late = [name for name in kinds if name != "rid" and drawn.random() < 0.3 and len(kinds) > 2][: len(kinds) // 2]
    table = _without(table, late, cut[0])
    for number, (start, end) in enumerate(zip([0, *cut], [*cut, table.num_rows], strict=True)):
        rows = table.slice(start, end - start)
        names = [name for name in table.column_names if number or name not in late]
        if number:
            drawn.shuffle(names)
        pq.write_table(rows.select(names), place / f"{number}.parquet", row_group_size=drawn.choice([7, 1000]))
    return Written(place, table)


def _without(table: pa.Table, names: list[str], rows: int) -> pa.Table:
    """The table with nulls in these columns in its first rows."""
    for name in names:
        values = pa.concat_arrays([pa.nulls(rows, table[name].type), *table[name].slice(rows).chunks])
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table


#: By who writes what: the kinds of columns that go there, and how.
WRITERS: dict[str, tuple[list[str], Callable[[random.Random, pa.Table, Mapping[str, Kind], Path], Written]]] = {
    "lakerace parquet": (list(KINDS), _parquet),
    "pyarrow parquet": (list(KINDS), _pyarrow_parquet),
    "polars parquet": (_POLARS, _polars_parquet),
    "lakerace orc": (_ORC, _orc),
    "pyarrow orc": (_ORC, _pyarrow_orc),
    "lakerace csv": (_CSV, _csv),
    "lakerace delta": (_DELTA, _delta),
    "delta-rs": ([name for name in _DELTA if not name.startswith("d")], _delta_rs),
    "duckdb parquet": (_DUCKDB, _duckdb_parquet),
    "many files": (_POLARS, _many),
}
