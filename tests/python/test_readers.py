"""The matrix of `docs/guide/readers.md`: each table is made by lakerace and read by each tool, and the page is what came of it."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake
import polars
import pyarrow as pa
import readers

import lakerace as lr
from lakerace_bench import contestant

if TYPE_CHECKING:
    from collections.abc import Callable


def of_pandas(folder: Path) -> pa.Table:
    """Frames have fewer types: the table's own are those that the values are held against."""
    types = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    schema = lr.scan(folder).schema
    frame = deltalake.DeltaTable(str(folder)).to_pandas()
    fields = [schema.field(name) for name in frame.columns]
    return pa.Table.from_pandas(frame, pa.schema([f.with_type(types.get(f.type, f.type)) for f in fields]))


def of_datafusion(folder: Path) -> pa.Table:
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(folder)))
    return pa.table(builder.execute("SELECT * FROM t").read_all())


def of_duckdb(folder: Path) -> pa.Table:
    """What `read_duckdb` has read; variants are texts there."""
    with pa.ipc.open_file(f"{folder}.arrow") as file:
        rows = file.read_all()
    if "v" in rows.column_names and rows["v"].type == pa.string():
        assert rows.sort_by("id")["v"].to_pylist() == readers.VARIANT_TEXTS
        return lr.scan(folder).to_arrow()
    return rows


#: By the headings of the page's matrix.
READERS: dict[str, Callable[[Path], pa.Table]] = {
    "lakerace": lambda folder: lr.scan(folder).to_arrow(),
    "delta-rs, DataFusion": of_datafusion,
    "delta-rs, `to_pyarrow_table`": lambda folder: deltalake.DeltaTable(str(folder)).to_pyarrow_table(),
    "delta-rs, `to_pandas`": of_pandas,
    "polars, `scan_delta`": lambda folder: polars.scan_delta(str(folder)).collect().to_arrow(),
    "duckdb, `delta_scan`": of_duckdb,
}
REFUSALS = (
    lr.UnsupportedError,
    deltalake.exceptions.DeltaError,
    deltalake.exceptions.DeltaProtocolError,
    FileNotFoundError,
)


def outcome(read: Callable[[Path], pa.Table], folder: Path, wanted: pa.Table) -> str:
    """`yes` where all rows are read; other rows without an error are a fault that the page must not call `no`."""
    try:
        rows = read(folder)
    except REFUSALS:
        return "no"
    assert lr.checksum(rows) == lr.checksum(wanted), f"{folder.name}: other rows"
    return "yes"


def test_the_matrix_is_what_the_readers_read(tmp_path: Path) -> None:
    folders = {name: tmp_path / f"t{number}" for number, name in enumerate(readers.TABLES)}
    for name, folder in folders.items():
        readers.TABLES[name](folder)
    program = Path(__file__).parent / "read_duckdb.py"
    python = contestant.named("duckdb_delta").python()
    subprocess.run([str(python), str(program), *map(str, folders.values())], check=True, timeout=120)
    found: dict[str, dict[str, str]] = {}
    for name, folder in folders.items():
        wanted = lr.scan(folder).to_arrow()
        found[name] = {"asks of its readers": readers.asked(folder)}
        found[name] |= {reader: outcome(read, folder, wanted) for reader, read in READERS.items()}
    assert found == readers.matrix("Tables"), readers.printed(found)


def test_what_lakerace_reads_is_what_was_written(tmp_path: Path) -> None:
    """The rows that the others' are held against."""
    readers.TABLES["after an upsert or a delete"](tmp_path / "changed")
    kept = readers.ROWS.filter([2 <= n < 15 for n in range(20)])
    assert lr.checksum(lr.scan(tmp_path / "changed")) == lr.checksum(pa.concat_tables([kept, readers.NEWER]))


def told(stream: Any) -> Counter[tuple[Any, ...]]:
    feed = pa.table(stream)
    columns = ("_commit_version", "_change_type", "id", "day", "v")
    return Counter(zip(*(feed[name].to_pylist() for name in columns), strict=True))


def test_the_matrix_of_change_feeds(tmp_path: Path) -> None:
    tables = {
        "with deletion vectors": {},
        "`delta.enableDeletionVectors=false`": readers.NO_VECTORS,
    }
    found = {}
    for number, (name, properties) in enumerate(tables.items()):
        folder = tmp_path / f"t{number}"
        readers.changed(folder, **readers.FEED, **properties)
        ours = told(lr.Table(folder).changes(0))
        assert ours.total() == 20 + 2 * 5 + 5 + 2
        feed = deltalake.DeltaTable(str(folder)).load_cdf(starting_version=0).read_all()
        found[name] = {"lakerace, `changes`": "yes", "delta-rs, `load_cdf`": "yes" if told(feed) == ours else "wrong"}
    assert found == readers.matrix("Change feeds"), readers.printed(found)


def test_deletion_vectors_of_files_with_encoded_paths(tmp_path: Path) -> None:
    """Readers that return deleted rows are those that the page names."""
    values = ["a b", "a%b", "a=b", "\u00e4", "a:b", "plain"]
    folder = tmp_path / "encoded"
    made = pa.table({"id": range(24), "day": [values[n % len(values)] for n in range(24)]})
    lr.copy(made, f"delta:{folder}", partition_by="day")
    lr.Table(folder, key="id").delete("id < 6")
    wanted = made.slice(6)
    assert lr.checksum(lr.scan(folder)) == lr.checksum(wanted)
    program = Path(__file__).parent / "read_duckdb.py"
    python = contestant.named("duckdb_delta").python()
    subprocess.run([str(python), str(program), str(folder)], check=True, timeout=120)
    found = {}
    for reader in ("delta-rs, DataFusion", "polars, `scan_delta`", "duckdb, `delta_scan`"):
        rows = READERS[reader](folder)
        found[reader] = sorted(rows["id"].to_pylist()) == wanted["id"].to_pylist()
    assert found == {"delta-rs, DataFusion": True, "polars, `scan_delta`": False, "duckdb, `delta_scan`": True}
    deleted = set(READERS["polars, `scan_delta`"](folder)["id"].to_pylist()) - set(wanted["id"].to_pylist())
    # Of the paths that are not encoded, polars applies the vectors.
    assert deleted == set(range(5))
    faults = readers.PAGE.read_text().split("## Faults of readers")[1]
    assert f"polars {polars.__version__}, `scan_delta`" in faults
