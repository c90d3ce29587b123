"""What is raced: benches, each a list of cases; a case is one job at one place with one thread count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from lakerace_bench import data, following, generated, lineitem, paths, public_cases, small_files, typed_columns
from lakerace_bench.data import Shape
from lakerace_bench.generated import Tpch
from lakerace_bench.lineitem import Lineitem
from lakerace_bench.loads import Loads
from lakerace_bench.noise import Noise
from lakerace_bench.scan_filter import ScanFilter
from lakerace_bench.small_files import SizedFiles, SmallFiles
from lakerace_bench.upserts import Upserts
from lakerace_bench.wide import Wide

#: The selective filter keeps 1 % of the rows; `key` is uniform and unsorted, so it prunes no row group.
_ONE_PERCENT = ScanFilter("key", at_least=data.KEY_RANGE // 2, below=data.KEY_RANGE // 2 + data.KEY_RANGE // 100)
CODEC = "snappy"

_KIB, _MIB = 1 << 10, 1 << 20
#: `seek`: the bytes that are wanted on both sides of the gap, and the gaps.
SEEK_WANTED = _MIB
SEEK_GAPS = tuple(16 * _KIB << doubling for doubling in range(11))
#: `orc-seek`: a contestant that has measured for this long in one case skips its other rounds.
_PATIENCE_SECONDS = 12.0
#: `upsert`: a contestant whose upserts have taken this long in one case gets no more of them.
UPSERT_PATIENCE_SECONDS = 1_800.0


class Input(Protocol):
    """What a case works on."""

    @property
    def about(self) -> str:
        """Its size in words."""

    def files(self, folder: Path) -> dict[str, Path]:
        """Its files by format, made in `folder` if need be."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of all benches."""

    table: Shape
    narrow: Wide
    wide: Wide
    lineitem: Lineitem
    noise: Noise
    upserts: Upserts
    #: Into the same base, a few rows at a time.
    few: Upserts
    tpch: Tpch
    loads: Loads
    small_files: SmallFiles
    sized_files: SizedFiles
    #: `scan-public`: the scale of its tables.
    public_scale: float
    #: `scan-types`: the values of each of its columns.
    typed_rows: int = typed_columns.ROWS


#: Benches of upserts.
UPSERTING = ("upsert", "spark-upsert")
#: `upsert`: the sizes to choose from, each a base with large upserts, and with small ones.
UPSERTS = {
    "full": (Upserts(20_000_000, 5_000_000, 10, 1), Upserts(20_000_000, 1_000, 3, 1)),
    "small": (Upserts(2_000_000, 500_000, 3), Upserts(2_000_000, 1_000, 3)),
    "quick": (Upserts(200_000, 50_000, 2), Upserts(200_000, 1_000, 2)),
}

#: `tpch`: the scale factors to choose from.
SCALES = {"full": 10, "small": 1, "quick": 0.01}

#: `spark-scan`, `spark-write`, `spark-upsert`: the paths.
SPARK_STORES = ("s3-direct", "s3")

#: `load`: the sizes to choose from.
LOADS = {"full": Loads(1_000_000), "small": Loads(100_000), "quick": Loads(20_000)}
#: `load`: a contestant that has measured for this long in one case skips its other rounds; Spark takes that for one
#: batch size.
LOAD_PATIENCE_SECONDS = {"delta": 150.0, "mongodb": 45.0, "elasticsearch": 45.0, "sqlite": 45.0, "parquet": 45.0}
#: `load`: with so many rows, the cold start is a small part of the time.
LOAD_LONG_ROWS = 1_000_000
#: `load`: rows that change before a sync, and how it finds them.
CHANGED = following.REPLACED + following.NEW + following.GONE
SYNCS = (("feed", "the change feed"), ("comparison", "comparing versions"))
#: `files`: a contestant that has measured for this long in one case skips its other rounds.
_FILES_PATIENCE_SECONDS = 60.0
#: `files`: from this many files on, a case takes long.
_FILES_LONG = 1_000_000
_FILES_LONG_PATIENCE_SECONDS = 900.0


def full(size: str = "small") -> Inputs:
    """The inputs in words, for reports; `size` is one of `UPSERTS`."""
    noise = Noise(256 * _MIB)
    return Inputs(
        data.FULL,
        Wide(65_536, 128),
        Wide(65_536, 400),
        Lineitem(1),
        noise,
        *UPSERTS[size],
        Tpch(SCALES[size]),
        LOADS[size],
        SmallFiles(),
        SizedFiles(),
        1.0,
    )


def quick() -> Inputs:
    """Small inputs for a check that everything works."""
    noise = Noise(96 * _MIB)
    return Inputs(
        data.QUICK,
        Wide(8_192, 128),
        Wide(8_192, 400),
        Lineitem(0.1),
        noise,
        *UPSERTS["quick"],
        Tpch(SCALES["quick"]),
        LOADS["quick"],
        SmallFiles(0.05),
        SizedFiles(0.02, (small_files.SIZES[0], small_files.SIZES[-1])),
        0.02,
        100_000,
    )


@dataclass(frozen=True)
class Case:
    """One scenario: contestants are compared within it, never across."""

    bench: str
    #: The name of one of the paths.
    store: str
    variant: str
    threads: int
    title: str
    input: Input
    #: What contestants are asked to do: `scan`, `write`, `ranges`, `upsert`, `generate`, `load`, `files`, `query` or `convert`.
    kind: str = "scan"
    #: Which of the input's files is read; a contestant's setting may name another one.
    format: str = "parquet"
    columns: tuple[str, ...] | None = None
    filter: ScanFilter | None = None
    #: Reads of the same process before the one that is measured.
    reads_before: int = 0
    #: What is written.
    codec: str | None = None
    #: `ranges`: bytes between the two that are wanted.
    gap: int | None = None
    #: Rounds of this case for each round of the run: more than one for cases that take little time.
    turns: int = 1
    patience_seconds: float = float("inf")
    #: Whether a round comes before those that count.
    warm_up: bool = True

    @property
    def name(self) -> str:
        """Such as `scan/local/all/t1`."""
        return f"{self.bench}/{self.store}/{self.variant}/t{self.threads}"

    @property
    def path(self) -> paths.Path:
        return paths.PATHS[self.store]

    @property
    def where(self) -> str | None:
        """The filter in SQL."""
        return self.filter.sql if self.filter else None


BENCHES = {
    "scan": "Parquet to Arrow in memory: all columns, 2 of 8, a filter that keeps 1 %; local (page cache) and S3 "
    "through 20 ms of latency and 100 MB/s per connection",
    "scan-public": "Parquet to Arrow in memory, of tables that nobody tuned for: TPC-H as five writers leave it, a web log, taxi trips, "
    "nested events, 10,000 columns; the first read of a process (cold) and a later one (warm)",
    "scan-types": "Parquet to Arrow in memory, one column: each type in each encoding, then other codecs, nulls and orders; "
    "10 million values, the first read of a process (cold) and a later one (warm)",
    "write-public": "the TPC-H tables, the web log and the taxi trips of `scan-public` from memory to a local Parquet file, snappy and zstd",
    "write": f"the same table from memory to a local Parquet file, {CODEC}, the same rows per row group",
    "orc-seek": "ORC (and Parquet) of 128 and of 400 columns, all of them and every second one, by settings of the "
    "smallest gap that is not read through; local and S3 at 20 and at 100 ms",
    "seek": "two ranges with a gap between: as two requests or as one, by the size of the gap, on each path",
    "orc-codec": "TPC-H lineitem from and to ORC, one thread, each codec",
    "upsert": "rows by key into a table, half of them new, time after time, and scans of what has become of it; "
    "and 1,000 rows at a time; local and S3 (`--size full`: 5 million into 20 million)",
    "tpch": "the tables of TPC-H, all at once and each alone, into Parquet, ORC, CSV and TBL (`--size full`: scale "
    "factor 10 instead of 1)",
    "spark-scan": "sums over all 8 columns of Parquet on S3 in Spark, one core: Spark's own reader, Comet, lakerace's connector; plain and "
    "through 20 ms of latency",
    "spark-write": "the same table from a local Parquet file to S3 in Spark, one core",
    "spark-upsert": "rows by key into a table on S3, one core: delta-spark, LakeSoul, lakerace's connector",
    "load": "50 columns into Delta, MongoDB, Elasticsearch and SQLite by batches, from memory and from CSV on S3, and back "
    "as Arrow and row by row; rows of Parquet (`--size full`: a million rows instead of 100,000)",
    "files": "files of 64 B, 300 KB and 2 MB, and small JSON documents: put and got one by one, in transactions, in bulk, by threads "
    "and by processes; on the disk, in memory and on S3",
    "file-sizes": "files of each size from 64 B to 2 MiB, in doublings: got, and put by 1, 100 and 1,000 a commit; on the disk and in memory",
}


def all_cases(threads: list[int], inputs: Inputs) -> list[Case]:
    """Every case of every bench for these thread counts, in the order in which they run."""
    few = (*_orc_seek(inputs), *_seek(inputs), *_orc_codec(inputs))
    return [
        *_scan(threads, inputs),
        *_scan_public(threads, inputs),
        *_scan_types(threads, inputs),
        *_write_public(threads, inputs),
        *few,
        *_upsert(threads, inputs),
        *_tpch(threads, inputs),
        *_load(threads, inputs),
        *_files(threads, inputs),
        *_spark(inputs),
    ]


def _scan(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for store in ("local", "s3"):
        for count in threads:
            cases += [
                Case("scan", store, "all", count, "all 8 columns", inputs.table),
                Case("scan", store, "two", count, "2 of 8 columns", inputs.table, columns=("key", "price")),
                Case("scan", store, "filter", count, "1 % filter", inputs.table, filter=_ONE_PERCENT),
            ]
    for count in threads:
        title = f"all 8 columns, {CODEC}"
        cases.append(Case("write", "local", CODEC, count, title, inputs.table, "write", codec=CODEC))
    return cases


def _scan_public(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for name, table, (columns, where) in public_cases.reads(inputs.public_scale):
        for count in threads:
            case = Case("scan-public", "local", name, count, name, table, columns=columns, filter=where)
            cases += _cold_and_warm(case)
    return cases


def _scan_types(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for column in typed_columns.columns(inputs.typed_rows):
        for count in threads:
            cases += _cold_and_warm(Case("scan-types", "local", column.name, count, column.name, column))
    return cases


def _write_public(threads: list[int], inputs: Inputs) -> list[Case]:
    return [
        Case("write-public", "local", f"{name}-{codec}", count, f"{name}, {codec}", table, "write", codec=codec)
        for name, table in public_cases.written(inputs.public_scale)
        for codec in ("snappy", "zstd")
        for count in threads
    ]


def _cold_and_warm(case: Case) -> list[Case]:
    """The first read of a process, and a later one."""
    return [
        replace(
            case,
            variant=f"{case.variant}-{state}",
            title=f"{case.title}, {state}",
            reads_before=before,
            warm_up=False,
        )
        for state, before in public_cases.READS_BEFORE.items()
    ]


def _orc_seek(inputs: Inputs) -> list[Case]:
    cases = []
    for store in ("local", "s3", "s3-far"):
        for table in (inputs.narrow, inputs.wide):
            half = table.alternate
            for variant, columns, title in (
                (f"{table.columns}-alternate", half, f"{len(half)} of {table.columns} columns"),
                (f"{table.columns}-all", None, f"all {table.columns} columns"),
            ):
                case = Case("orc-seek", store, variant, 1, title, table, format="orc", columns=columns)
                cases.append(replace(case, patience_seconds=_PATIENCE_SECONDS))
    return cases


def _seek(inputs: Inputs) -> list[Case]:
    cases = []
    for store in ("disk", "s3-direct", "s3", "s3-far"):
        turns = 1 if paths.PATHS[store].behind_proxy else 3
        for gap in SEEK_GAPS:
            size = f"{gap // _MIB} MiB" if gap >= _MIB else f"{gap // _KIB} KiB"
            case = Case("seek", store, size.replace(" ", ""), 1, f"gap of {size}", inputs.noise, "ranges", "bytes")
            cases.append(replace(case, gap=gap, turns=turns))
    return cases


def _orc_codec(inputs: Inputs) -> list[Case]:
    table = inputs.lineitem
    decode = [
        Case("orc-codec", "local", f"decode-{codec}", 1, f"decode {codec}", table, format=f"orc-{codec}")
        for codec in lineitem.CODECS
    ]
    encode = [
        Case("orc-codec", "local", f"encode-{codec}", 1, f"encode {codec}", table, "write", "orc", codec=codec)
        for codec in lineitem.CODECS
    ]
    return decode + encode


def _upsert(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for store in ("local", "s3"):
        for variant, table in (("many", inputs.upserts), ("few", inputs.few)):
            title = f"{table.rows:,} rows into {table.base_rows:,}"
            case = Case("upsert", store, variant, max(threads), title, table, "upsert", "delta")
            cases.append(replace(case, patience_seconds=UPSERT_PATIENCE_SECONDS))
    return cases


def _tpch(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for ending, form in generated.FORMS.items():
        for table in form.tables:
            title = f"{'all tables' if table == generated.ALL else table} as {form.title}"
            variant = f"{table}-{ending}"
            case = Case("tpch", "local", variant, max(threads), title, inputs.tpch, "generate", form.format)
            cases.append(replace(case, codec=form.codec))
    return cases


def _load(threads: list[int], inputs: Inputs) -> list[Case]:
    cases = []
    for store in ("delta", "mongodb", "elasticsearch", "sqlite"):
        for batch in (*inputs.loads.batches, None):
            size = "all at once" if batch is None else f"{batch:,} a batch"
            name = "all" if batch is None else str(batch)
            cases.append((store, f"{name}-write", f"from memory, {size}"))
            cases.append((store, f"{name}-csv", f"from CSV on S3, {size}"))
        cases.append((store, "arrow-read", "into Arrow"))
        cases.append((store, "rows-read", "row by row"))
        cases += [
            (store, f"{how}-sync", f"{CHANGED:,} changed rows, by {way}") for how, way in SYNCS if store != "delta"
        ]
        cases += _tenths(store, [variant for at, variant, _ in cases if at == store])
    cases += [("parquet", "rows-read", "tuples"), ("parquet", "named-read", "named rows")]
    return [
        Case(
            "load",
            store,
            variant,
            max(threads),
            title,
            inputs.loads.tenth if variant.endswith("-tenth") else inputs.loads,
            "load",
            patience_seconds=LOAD_PATIENCE_SECONDS[store],
            warm_up=inputs.loads.rows < LOAD_LONG_ROWS,
        )
        for store, variant, title in cases
    ]


def _tenths(store: str, variants: list[str]) -> list[tuple[str, str, str]]:
    """lakerace alone with a tenth of the rows: whether its memory grows with them."""
    found = []
    for variant in variants:
        what, _, verb = variant.partition("-")
        if verb == "csv" or what == "rows":
            found.append((store, f"{what}-tenth", f"a tenth of the rows, {what} {verb}"))
    return found


def _files(threads: list[int], inputs: Inputs) -> list[Case]:
    of_bench = {"files": inputs.small_files, "file-sizes": inputs.sized_files}
    works = [(*path, *one) for path, works in small_files.WORKS.items() for one in works.items()]
    found = []
    for bench, store, variant, work in works:
        files = of_bench[bench]
        if isinstance(files, SizedFiles) and not files.has(work):
            continue
        count = max(threads) if work.parts > 1 else 1
        case = Case(bench, store, variant, count, work.title, files, "files")
        # A contestant that puts a million or more files does so in each round, and gains nothing from a warm-up.
        takes_long = work.files >= _FILES_LONG
        patience = _FILES_LONG_PATIENCE_SECONDS if takes_long else _FILES_PATIENCE_SECONDS
        found.append(replace(case, patience_seconds=patience, warm_up=not takes_long))
    return found


def _spark(inputs: Inputs) -> list[Case]:
    """One core each, as in the experiments that these repeat."""
    cases = []
    for bench, kind, title in (
        ("spark-scan", "query", "sums over all 8 columns"),
        ("spark-write", "convert", f"all 8 columns, {CODEC}"),
    ):
        cases += [Case(bench, store, "all", 1, title, inputs.table, kind) for store in SPARK_STORES]
    title = f"{inputs.upserts.rows:,} rows into {inputs.upserts.base_rows:,}"
    for store in SPARK_STORES:
        case = Case("spark-upsert", store, "many", 1, title, inputs.upserts, "upsert", "delta")
        cases.append(replace(case, patience_seconds=UPSERT_PATIENCE_SECONDS))
    return cases


def select(names: list[str], threads: list[int], inputs: Inputs) -> list[Case]:
    """The cases whose name is one of `names` or lies below it (`scan`, `scan/s3`, `scan/local/all`)."""
    cases = all_cases(threads, inputs)
    unknown = [name for name in names if not any(_below(case, name) for case in cases)]
    if unknown:
        raise ValueError(f"no bench is called {', '.join(unknown)}: see `lakerace bench list`")
    return [case for case in cases if any(_below(case, name) for name in names)]


def _below(case: Case, name: str) -> bool:
    return f"{case.name}/".startswith(f"{name.rstrip('/')}/")
