"""Tables in the shape of public ones, as their usual writers leave them: TPC-H, a web log, taxi trips, nested events, many columns.

Nothing in them is tuned for anybody. TPC-H's rows come from tpchgen, and are written again by pyarrow, duckdb and polars by their defaults. The others
are made here from a seed, and written by pyarrow by its defaults.

| table | shape |
| --- | --- |
| `lineitem-WRITER`, `orders`, `part` | TPC-H; WRITER is `tpchgen`, `pyarrow`, `pyarrow-zstd`, `duckdb` or `polars` |
| `weblog` | 105 columns in the shape of ClickBench's `hits`: many flags, small whole numbers and texts that are mostly empty |
| `taxi` | the 19 columns of New York's yellow taxi trips: cents as doubles, timestamps, some nulls |
| `events` | structs in structs, lists of texts, doubles and structs, a map |
| `wide` | 10,000 columns of small whole numbers and of doubles |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lakerace_bench import generated, kept
from lakerace_bench.data import ALPHABET, below, offsets_of, strings

#: Bump when the rows or the files change, so that cached ones are made again.
RECIPE = 1
#: Writers of `lineitem`.
LINEITEM_WRITERS = ("tpchgen", "pyarrow", "pyarrow-zstd", "duckdb", "polars")
#: Rows of the tables that are made here, at scale 1.
ROWS = {"weblog": 1_000_000, "taxi": 3_000_000, "events": 1_000_000, "wide": 5_000}
WIDE_COLUMNS = 10_000

_FIRST_SECOND = 1_372_636_800  # 2013-07-01
_MONTH_SECONDS = 30 * 86_400


@dataclass(frozen=True)
class PublicTable:
    """One of the tables; `scale` multiplies its rows."""

    name: str
    scale: float = 1.0
    seed: int = 20_130_701

    @property
    def about(self) -> str:
        if self.name in ROWS:
            return f"{self.name}, {self.rows:,} rows"
        return f"TPC-H {self.name} at scale factor {self.scale:g}"

    @property
    def rows(self) -> int:
        """Rows of a table that is made here."""
        return max(1, int(ROWS[self.name] * (1 if self.name == "wide" else self.scale)))

    @property
    def row_group_rows(self) -> int:
        """Rows of a row group where it is written: pyarrow's default."""
        return 1 << 20

    def files(self, folder: Path) -> dict[str, Path]:
        """Its file, made if need be."""
        path = folder / f"public-{self.name}-{self.scale:g}-v{RECIPE}-{self.seed}.parquet"
        return {"parquet": kept.ensure(path, asdict(self), partial(_write, self, folder))}


def _write(table: PublicTable, folder: Path, path: Path) -> str:
    if table.name not in ROWS:
        return _write_tpch(table, folder, path)
    rows = _MADE[table.name](np.random.PCG64(table.seed), table.rows)
    pq.write_table(rows, path)
    return f"pyarrow {pa.__version__}"


def _write_tpch(table: PublicTable, folder: Path, path: Path) -> str:
    name, _, writer = table.name.partition("-")
    if writer == "tpchgen":
        return generated.generate(name, table.scale, path)
    if writer == "":
        source = path.with_name(f"{path.name}.source")
        try:
            generated.generate(name, table.scale, source)
            return _rewrite("pyarrow", source, path)
        finally:
            source.unlink(missing_ok=True)
    source = PublicTable(f"{name}-tpchgen", table.scale, table.seed).files(folder)["parquet"]
    return _rewrite(writer, source, path)


def _rewrite(writer: str, source: Path, path: Path) -> str:
    """Writes the rows of a file again by the defaults of a writer; says by what."""
    if writer == "duckdb":
        import duckdb

        duckdb.sql(f"COPY (FROM read_parquet('{source}')) TO '{path}' (FORMAT parquet)")
        return f"duckdb {duckdb.__version__}"
    if writer == "polars":
        import polars as pl

        pl.read_parquet(source).write_parquet(path)
        return f"polars {pl.__version__}"
    codec = writer.partition("-")[2] or "snappy"
    pq.write_table(_plain_texts(pq.read_table(source)), path, compression=codec)
    return f"pyarrow {pa.__version__}"


def _plain_texts(table: pa.Table) -> pa.Table:
    """Texts as `string`: views are no default of pyarrow."""
    fields = [pa.field(f.name, pa.string()) if pa.types.is_string_view(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


def _skewed(bits: np.random.PCG64, rows: int, values: int) -> npt.NDArray[np.int64]:
    """Whole numbers below `values`, the small ones far more often, as visitors and addresses are."""
    uniform = (bits.random_raw(rows) >> np.uint64(11)).astype(np.float64) / 2**53
    picked: npt.NDArray[np.int64] = (uniform**4 * values).astype(np.int64)
    return picked


def _pool(bits: np.random.PCG64, texts: int, shortest: int, longest: int, before: bytes = b"") -> pa.Array:
    """Different texts of letters, each with the same beginning."""
    lengths = shortest + below(bits, texts, longest - shortest + 1).astype(np.int64)
    total = int(lengths.sum())
    letters = ALPHABET[bits.random_raw((total + 7) // 8).view(np.uint8)[:total] & 63]
    body = strings(offsets_of(lengths), letters)
    return pa.array([before.decode() + text for text in body.to_pylist()])


def _texts(bits: np.random.PCG64, rows: int, pool: pa.Array, empty_percent: int = 0) -> pa.Array:
    """Texts of a pool, some of them empty."""
    picks = _skewed(bits, rows, len(pool) - 1) + 1
    if empty_percent:
        picks = np.where(below(bits, rows, 100) < empty_percent, 0, picks)
    pool = pa.concat_arrays([pa.array([""]), pool.slice(1)])
    return pool.take(pa.array(picks))


def _weblog(bits: np.random.PCG64, rows: int) -> pa.Table:
    """In order of time within counters, as the log is."""
    columns: dict[str, pa.Array] = {}
    counters = np.sort(_skewed(bits, rows, 500))
    seconds = _FIRST_SECOND + below(bits, rows, _MONTH_SECONDS).astype(np.int64)
    columns["WatchID"] = pa.array(bits.random_raw(rows).view(np.int64))
    columns["JavaEnable"] = pa.array((below(bits, rows, 10) < 8).astype(np.int16))
    columns["Title"] = _texts(bits, rows, _pool(bits, 30_000, 20, 120), 10)
    columns["GoodEvent"] = pa.array(np.ones(rows, dtype=np.int16))
    columns["EventTime"] = pa.array(seconds).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    columns["EventDate"] = pa.array((seconds // 86_400).astype(np.int32)).view(pa.date32())
    columns["CounterID"] = pa.array(counters.astype(np.int32))
    columns["ClientIP"] = pa.array(_skewed(bits, rows, 2**31 - 1).astype(np.int32))
    columns["RegionID"] = pa.array(_skewed(bits, rows, 5_000).astype(np.int32))
    columns["UserID"] = pa.array(_skewed(bits, rows, 300_000) * 2_654_435_761)
    columns["URL"] = _texts(bits, rows, _pool(bits, 200_000, 20, 140, b"http://example.com/"))
    columns["Referer"] = _texts(bits, rows, _pool(bits, 150_000, 20, 160, b"http://google.example/"), 40)
    columns["SearchPhrase"] = _texts(bits, rows, _pool(bits, 50_000, 8, 50), 87)
    columns["ResolutionWidth"] = pa.array((320 + 40 * _skewed(bits, rows, 40)).astype(np.int16))
    columns["Duration"] = pa.array(_skewed(bits, rows, 100_000).astype(np.int32))
    words = _pool(bits, 64, 2, 12)
    for number in range(50):
        # Most of them are hardly ever set.
        often = (1, 1, 5, 50)[number % 4]
        columns[f"Is{number}"] = pa.array((below(bits, rows, 100) < often).astype(np.int16))
    for number in range(25):
        kind = (np.int16, np.int32)[number % 2]
        columns[f"Code{number}"] = pa.array(_skewed(bits, rows, 4 << (number % 12)).astype(kind))
    for number in range(15):
        columns[f"Tag{number}"] = _texts(bits, rows, words, (99, 90, 50)[number % 3])
    return pa.table(columns)


def _taxi(bits: np.random.PCG64, rows: int) -> pa.Table:
    """Trips in order of their begin, nearly."""
    begin = np.sort(_FIRST_SECOND + below(bits, rows, _MONTH_SECONDS).astype(np.int64))
    begin += below(bits, rows, 600).astype(np.int64)
    minutes = 60 + _skewed(bits, rows, 7_200)

    def cents(most: int) -> pa.Array:
        return pa.array(_skewed(bits, rows, most).astype(np.float64) / 100)

    def moment(seconds: npt.NDArray[np.int64]) -> pa.Array:
        return pa.array(seconds * 1_000_000).cast(pa.timestamp("us"))

    unknown = below(bits, rows, 100) < 4
    passengers = (1 + _skewed(bits, rows, 6)).astype(np.float64)
    flags = pa.array(["N", "Y"]).take(pa.array((below(bits, rows, 100) < 1).astype(np.int8), mask=unknown))
    columns = {
        "VendorID": pa.array(1 + below(bits, rows, 2).astype(np.int64)),
        "tpep_pickup_datetime": moment(begin),
        "tpep_dropoff_datetime": moment(begin + minutes),
        "passenger_count": pa.array(passengers, mask=unknown),
        "trip_distance": cents(4_000),
        "RatecodeID": pa.array((1 + _skewed(bits, rows, 6)).astype(np.float64), mask=unknown),
        "store_and_fwd_flag": flags,
        "PULocationID": pa.array(1 + _skewed(bits, rows, 265)),
        "DOLocationID": pa.array(1 + _skewed(bits, rows, 265)),
        "payment_type": pa.array(1 + _skewed(bits, rows, 5)),
        "fare_amount": cents(20_000),
        "extra": pa.array(np.array([0.0, 0.5, 1.0, 2.5])[below(bits, rows, 4)]),
        "mta_tax": pa.array(np.where(below(bits, rows, 100) < 2, 0.0, 0.5)),
        "tip_amount": cents(3_000),
        "tolls_amount": pa.array(np.where(below(bits, rows, 100) < 6, 6.55, 0.0)),
        "improvement_surcharge": pa.array(np.full(rows, 0.3)),
        "total_amount": cents(30_000),
        "congestion_surcharge": pa.array(np.where(below(bits, rows, 10) < 9, 2.5, 0.0), mask=unknown),
        "airport_fee": pa.array(np.where(below(bits, rows, 100) < 8, 1.25, 0.0), mask=unknown),
    }
    return pa.table(columns)


def _lists(bits: np.random.PCG64, values: Callable[[int], pa.Array], rows: int, longest: int) -> pa.ListArray:
    lengths = below(bits, rows, longest + 1).astype(np.int64)
    offsets = offsets_of(lengths).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values(int(offsets[-1])))


def _events(bits: np.random.PCG64, rows: int) -> pa.Table:
    """Events of a shop."""
    names, cities = _pool(bits, 20_000, 6, 24), _pool(bits, 2_000, 4, 20)
    tags, keys = _pool(bits, 300, 3, 12), _pool(bits, 40, 3, 10)
    address = pa.StructArray.from_arrays(
        [_texts(bits, rows, cities), pa.array(_skewed(bits, rows, 99_999).astype(np.int32))], ["city", "zip"]
    )
    user = pa.StructArray.from_arrays(
        [pa.array(_skewed(bits, rows, 500_000)), _texts(bits, rows, names), address], ["id", "name", "address"]
    )

    def items(count: int) -> pa.Array:
        price = pa.array(_skewed(bits, count, 10_000).astype(np.float64) / 100)
        quantity = pa.array(1 + _skewed(bits, count, 9).astype(np.int32))
        return pa.StructArray.from_arrays([_texts(bits, count, tags), quantity, price], ["sku", "quantity", "price"])

    lengths = below(bits, rows, 4).astype(np.int64)
    total = int(lengths.sum())
    # A map's keys are different: they follow one another.
    first = np.repeat(below(bits, rows, len(keys) - 4).astype(np.int64), lengths)
    step = np.arange(total) - np.repeat(offsets_of(lengths)[:-1], lengths)
    attributes = pa.MapArray.from_arrays(
        pa.array(offsets_of(lengths).astype(np.int32)), keys.take(pa.array(first + step)), _texts(bits, total, tags)
    )
    return pa.table(
        {
            "id": pa.array(np.arange(rows, dtype=np.int64)),
            "at": pa.array((_FIRST_SECOND + np.arange(rows)) * 1_000_000).cast(pa.timestamp("us", "UTC")),
            "user": user,
            "tags": _lists(bits, lambda count: _texts(bits, count, tags), rows, 5),
            "scores": _lists(bits, lambda count: pa.array(below(bits, count, 10_000).astype(np.float64) / 7), rows, 4),
            "items": _lists(bits, items, rows, 3),
            "attributes": attributes,
        }
    )


def _wide(bits: np.random.PCG64, rows: int) -> pa.Table:
    def column(number: int) -> pa.Array:
        if number % 2:
            return pa.array(_skewed(bits, rows, 1_000_000).astype(np.float64) / 100)
        return pa.array(_skewed(bits, rows, 1_000).astype(np.int32))

    return pa.table({f"c{number}": column(number) for number in range(WIDE_COLUMNS)})


_MADE = {"weblog": _weblog, "taxi": _taxi, "events": _events, "wide": _wide}
