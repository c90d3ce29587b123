"""The fuzz of damaged files: rows or a sensible error are right; a panic, a hang, or memory without end is not.

Where a checksum covers what was changed, other rows without an error are wrong, too.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mutate
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
from columns import KINDS, column
from views import without_views

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bytes that a case may take, of files of a few kilobytes.
MEMORY = 512 << 20
#: Tables that Spark wrote, with checkpoints of all kinds.
GOLDEN = Path(__file__).parents[1] / "delta_golden" / "tables"
_KINDS = ["bool", "text", "bytes", "day", "f32", "f64", "i8", "i32", "i64", "d5_2", "d38_10", "near_us"]
#: What a damaged file may be called. Not: an internal error, a conflict, wrong usage, a store that is away.
_SENSIBLE = (lr.CorruptDataError, lr.InvalidInputError, lr.NotFoundError, lr.UnsupportedError)


def _table(rows: int = 120) -> pa.Table:
    drawn = random.Random(5)
    columns = {f"c{i}": column(drawn, KINDS[name], rows) for i, name in enumerate(_KINDS)}
    lists = pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in range(rows)], pa.list_(pa.int32()))
    return pa.table({"rid": range(rows), **columns, "list": lists})


def _flat(rows: int = 120) -> pa.Table:
    return _table(rows).drop_columns(["list", "c2"])


class Seed:
    """An undamaged file and the rows that it has."""

    def __init__(self, name: str, data: bytes, covered: list[tuple[int, int]], rows: Counter[str]) -> None:
        self.name = name
        self.data = data
        #: The ranges that a checksum covers.
        self.covered = covered
        self.rows = rows


def rows_of(table: pa.Table) -> Counter[str]:
    """Rows in a form that can be compared."""
    table = without_views(table)
    # Digits beyond a decimal's precision are the file's; all else that a reader gives is valid.
    whole = [field.name for field in table.schema if not pa.types.is_decimal(field.type)]
    table.select(whole).validate(full=True)
    for number, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            # Python's own times do not reach as far.
            width = pa.int32() if field.type.bit_width == 32 else pa.int64()
            table = table.set_column(number, field.name, table.column(number).cast(width))
    return Counter(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def _written(name: str, write: Callable[[Path], Any]) -> Seed:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        data = path.read_bytes()
        covered: list[tuple[int, int]] = []
        if name.startswith("checked"):
            covered = mutate.page_bodies(data)
        elif name.endswith(".gz") or (name.endswith(".zst") and data[4] & 4):
            covered = [(0, len(data))]
        return Seed(name, data, covered, rows_of(lr.scan(path).to_arrow()))


@cache
def seeds() -> list[Seed]:
    """Files of each format, by lakerace and by others."""
    table, plain = _table(), _flat()
    # JSON has no numbers that are not finite.
    finite = plain.drop_columns(["c4", "c5"])
    made: dict[str, Callable[[Path], Any]] = {
        "checked-v1.parquet": lambda path: pq.write_table(
            table,
            path,
            row_group_size=50,
            data_page_size=100,
            write_batch_size=10,
            write_page_checksum=True,
            compression="NONE",
        ),
        "checked-v2.parquet": lambda path: pq.write_table(
            table, path, write_page_checksum=True, data_page_version="2.0", compression="ZSTD", write_page_index=True
        ),
        "plain.parquet": lambda path: pq.write_table(
            table, path, use_dictionary=False, column_encoding=None, compression="SNAPPY", write_page_index=True
        ),
        "ours.parquet": lambda path: lr.copy(table, path, row_group_rows=50, bloom_filter=["rid", "c1"]),
        "ours-zstd.parquet": lambda path: lr.copy(table, path, compression="zstd"),
        "ours.orc": lambda path: lr.copy(table, path, compression="zstd", bloom_filter=["rid", "c1"]),
        "ours-none.orc": lambda path: lr.copy(table, path, compression="none", row_group_bytes=2000),
        "pyarrow-zlib.orc": lambda path: pyarrow.orc.write_table(table, path, compression="zlib", row_index_stride=16),
        "pyarrow.orc": lambda path: pyarrow.orc.write_table(table, path, compression="uncompressed"),
        "ours.csv": lambda path: lr.copy(plain, path),
        "ours.csv.gz": lambda path: lr.copy(plain, path),
        "ours.csv.zst": lambda path: lr.copy(plain, path),
        "ours.jsonl": lambda path: lr.copy(finite, path),
        "ours.jsonl.zst": lambda path: lr.copy(finite, path),
        "ours.arrow": lambda path: lr.copy(table, path),
        "file.arrow": lambda path: _ipc(table, path),
        "ours.avro": lambda path: lr.copy(plain, path),
        "ours-none.avro": lambda path: lr.copy(plain, path, compression="none"),
    }
    return [_written(name, write) for name, write in made.items()]


def _ipc(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)


class Folder:
    """An undamaged Delta table: the folder that it is copied from, and its rows."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.rows = rows_of(lr.scan(folder).to_arrow())


@cache
def folders() -> list[Folder]:
    """Delta tables, those of Spark and one of lakerace."""
    ours = Path(tempfile.mkdtemp(prefix="lakerace-fuzz-")) / "ours"
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.enableChangeDataFeed": "true",
        "delta.checkpointInterval": "3",
        "lakerace.primaryKey": "rid",
    }
    rows = _flat()
    lr.copy(rows.slice(0, 60), f"delta:{ours}", table_properties=properties)
    lr.copy(rows.slice(60), ours, mode="append")
    table = lr.Table(ours)
    table.upsert(rows.slice(50, 20))
    table.delete("rid < 20")
    table.upsert(rows.slice(0, 5))
    found = [path for path in sorted(GOLDEN.iterdir()) if (path / "_delta_log").is_dir()]
    return [Folder(path.name, path) for path in [*found, ours, ours, ours]]


def clean_up() -> None:
    """Removes what the seeds were made from."""
    if folders.cache_info().currsize:
        for made in folders():
            if made.name == "ours":
                shutil.rmtree(made.folder.parent, ignore_errors=True)


def run(seed: int, folder: Path) -> str:
    """Runs one case; what it was is returned. Raises `AssertionError` where the outcome is not right."""
    drawn = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _file(drawn, seed, folder) if drawn.random() < 0.5 else _delta(drawn, seed, folder)


def _file(drawn: random.Random, number: int, folder: Path) -> str:
    seed = drawn.choice(seeds())
    is_covered = bool(seed.covered) and drawn.random() < 0.6
    data = mutate.in_place(drawn, seed.data, seed.covered) if is_covered else mutate.anywhere(drawn, seed.data)
    # The checksum of a compressed text covers the whole, so that no change of it goes unseen.
    is_covered |= seed.name.endswith(".gz") and bool(seed.covered)
    path = folder / seed.name
    path.write_bytes(data)
    what = f"case {number}, {seed.name}{', below a checksum' if is_covered else ''}"
    filters = [None, "rid > 50 AND rid < 90", "c1 = 'abc' OR c1 LIKE 'a%'", "c5 > 1 AND c0 IS NOT NULL", "c9 < 10"]
    outcomes = [_outcome(what, lambda: _scanned(path, None))]
    if is_covered and outcomes[0] is not None:
        assert outcomes[0] == seed.rows, f"{what}: other rows without an error"
    for where in drawn.sample(filters, 2):
        _outcome(what, lambda where=where: _scanned(path, where))
    _outcome(what, lambda: lr.schema(path))
    _outcome(what, lambda: lr.scan(path).count())
    if drawn.random() < 0.2:
        _outcome(what, lambda: lr.copy(path, folder / "copy.parquet", mode="overwrite"))
    return what


def _scanned(path: Path, where: str | None) -> Counter[str]:
    return rows_of(lr.scan(path, where=where).to_arrow())


def _outcome(what: str, call: Callable[[], Any]) -> Any:
    """What a call gives, or None where it raised what it may."""
    try:
        return call()
    except _SENSIBLE:
        return None
    except BaseException as error:
        # `BaseException`: a panic that crosses is one.
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


def _delta(drawn: random.Random, number: int, folder: Path) -> str:
    seed = drawn.choice(folders())
    place = folder / "table"
    shutil.copytree(seed.folder, place)
    log = place / "_delta_log"
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and not path.name.endswith(".crc")]
    kinds: dict[str, list[Path]] = {}
    for path in files:
        kinds.setdefault(_kind(path), []).append(path)
    kind = drawn.choice(sorted(kinds))
    path = drawn.choice(kinds[kind])
    if kind in ("checkpoint", "sidecar", "hint") and drawn.random() < 0.5:
        _remove_entries(log)
    data = path.read_bytes()
    changed = _changed(drawn, kind, data)
    path.write_bytes(changed)
    what = f"case {number}, {kind} {path.relative_to(place)} of {seed.name}"
    found = _outcome(what, lambda: rows_of(lr.scan(place).to_arrow()))
    if kind == "vectors" and found is not None:
        assert found == seed.rows, f"{what}: other rows without an error"
    table = lr.Table(place, key="rid")
    jobs: list[Callable[[], Any]] = [
        lambda: lr.schema(place),
        lambda: rows_of(lr.scan(place, where="rid > 40" if seed.name == "ours" else "id > 1").to_arrow()),
        table.history,
        lambda: lr.scan(place, at=drawn.randrange(6)).to_arrow(),
        lambda: lr.scan(place).count(),
        lambda: _read_changes(table, drawn.randrange(3)),
        lambda: table.vacuum(dry_run=True),
        lambda: table.explain_upsert(_flat(10)),
        lambda: table.upsert(_flat(10)),
        lambda: table.delete("rid < 30" if seed.name == "ours" else "id < 1"),
        table.compact,
        lambda: table.restore(drawn.randrange(4)),
        lambda: lr.copy(_flat(10), place, mode="append"),
    ]
    reads, writes = jobs[:8], jobs[8:]
    for job in [*drawn.sample(reads, 3), drawn.choice(writes)]:
        _outcome(what, job)
    return what


def _read_changes(table: lr.Table, first: int) -> None:
    stream: Any = table.changes(first)
    try:
        pa.table(stream)
    except (pa.ArrowException, OSError) as error:
        raise stream.exception() or error from error


def _kind(path: Path) -> str:
    if path.parent.name == "_sidecars":
        return "sidecar"
    if path.name == "_last_checkpoint":
        return "hint"
    if ".checkpoint" in path.name:
        return "checkpoint"
    if path.parent.name == "_delta_log":
        return "entry"
    return "vectors" if path.suffix == ".bin" else "data"


def _changed(drawn: random.Random, kind: str, data: bytes) -> bytes:
    if kind in ("entry", "hint") or data[:1] == b"{":
        return mutate.of_json(drawn, data) if drawn.random() < 0.6 else mutate.anywhere(drawn, data)
    if kind in ("checkpoint", "sidecar") and drawn.random() < 0.5:
        return mutate.of_checkpoint(drawn, data)
    return mutate.anywhere(drawn, data)


def _remove_entries(log: Path) -> None:
    """Removes the entries that the last checkpoint stands for."""
    versions = [int(path.name[:20]) for path in log.glob("*.checkpoint*")]
    for entry in log.glob("*.json"):
        if ".checkpoint" not in entry.name and versions and int(entry.name[:20]) <= max(versions):
            entry.unlink()
