"""`tpch`: tables from generators in several formats. tpchgen defines the rows, and other tools read them back."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakerace_bench import check, environment, kept
from lakerace_bench.numbers import count, times
from lakerace_bench.samples import RIGHT
from lakerace_bench.statistics import Entry, Result
from lakerace_bench.table import Row, Section, Table

#: Bump when the files change, so that cached ones are made again.
RECIPE = 1
TABLES = ("lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region")
#: A case of all tables.
ALL = "all"


@dataclass(frozen=True)
class Form:
    """The format of generated tables."""

    title: str
    format: str
    codec: str
    #: Each table alone, or all together.
    tables: tuple[str, ...] = (ALL, *TABLES)


#: By the endings of cases' names.
FORMS = {
    "parquet": Form("parquet", "parquet", "snappy"),
    "parquet-none": Form("uncompressed parquet", "parquet", "none", (ALL, "lineitem")),
    "orc": Form("orc", "orc", "snappy"),
    "csv": Form("csv", "csv", "none"),
    "tbl": Form("tbl", "tbl", "none"),
}
#: Rows in a row group of Parquet, and the option of tpchgen-cli with which `lineitem` has approximately as many.
ROW_GROUP_ROWS = 1_000_000
ROW_GROUP_BYTES = "90MB"
#: The generator, from PyPI.
GENERATOR = "tpchgen-cli==4.0.0"


class NoTablesError(RuntimeError):
    """A table cannot be made; the message says why."""


@dataclass(frozen=True)
class Tpch:
    """All tables at a scale factor."""

    scale: float

    @property
    def about(self) -> str:
        return f"TPC-H at scale factor {self.scale:g}, a file per table"

    def files(self, folder: Path) -> dict[str, Path]:
        """The tables as Parquet, by name, made by tpchgen if need be: what all others are compared with."""
        files = {name: folder / f"tpch-{name}-sf{self.scale:g}-v{RECIPE}.parquet" for name in TABLES}
        for name, path in files.items():
            kept.ensure(path, asdict(self) | {"table": name}, partial(generate, name, self.scale))
        return files


def generate(table: str, scale: float, path: Path) -> str:
    """Makes a table by tpchgen, whose rows are those of TPC-H's own dbgen, byte for byte; says what made it."""
    program = environment.python_with((GENERATOR,)).with_name("tpchgen-cli")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        options = [f"--tables={table}", f"--scale-factor={scale}", f"--output-dir={scratch}"]
        done = subprocess.run([str(program), "parquet", *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoTablesError(f"{GENERATOR} failed: {done.stderr.strip().partition(chr(10))[0]}")
        made = pq.ParquetFile(Path(scratch) / f"{table}.parquet")
        # ORC's writer in pyarrow knows no string views.
        fields = [
            pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type) for f in made.schema_arrow
        ]
        schema = pa.schema(fields)
        with pq.ParquetWriter(path, schema, compression="snappy") as writer:
            for batch in made.iter_batches(batch_size=ROW_GROUP_ROWS):
                writer.write_table(pa.Table.from_batches([batch]).cast(schema), row_group_size=ROW_GROUP_ROWS)
    return f"{GENERATOR}, pyarrow {pa.__version__}"


def tables_of(variant: str) -> list[str]:
    """The tables of a case: `all-csv`, `orders-parquet`."""
    name = variant.partition("-")[0]
    return list(TABLES) if name == ALL else [name]


def form_of(variant: str) -> Form:
    """The format of a case's tables."""
    return FORMS[variant.partition("-")[2]]


def job(variant: str, scale: float, files: dict[str, Path], output: Path) -> dict[str, Any]:
    """The fields of a contestant's job, in addition to those that all jobs have."""
    return {
        "tables": tables_of(variant),
        "scale": scale,
        "codec": form_of(variant).codec,
        "row_group_rows": ROW_GROUP_ROWS,
        "row_group_bytes": ROW_GROUP_BYTES,
        "inputs": {table: str(files[table]) for table in tables_of(variant)},
        "output": str(output),
    }


class Umpire:
    """Reads tables back, the same bytes only once, and checks their contents."""

    def __init__(self, python: Path) -> None:
        self._python = python
        self._references: dict[tuple[Path, str | None], dict[str, Any]] = {}
        self._seen: dict[tuple[str, ...], dict[str, Any]] = {}

    def verdict(self, variant: str, files: dict[str, Path], output: Path, without: str | None = None) -> dict[str, Any]:
        """The verdict on the files in a folder, as fields of a sample; columns that end in one of `without` may hold anything."""
        form = form_of(variant)
        name = form.format
        wanted = {table: self._reference(files[table], without) for table in tables_of(variant)}
        made = {table: output / f"{table}.{name}" for table in wanted}
        missing = [file.name for file in made.values() if not file.is_file()]
        if missing:
            return {"verdict": "wrong", "why": f"did not write {', '.join(missing)}"}
        key = (variant, str(without), *(kept.sha256(file) for file in made.values()))
        if key not in self._seen:
            schemas = {table: self._reference(files[table], None)["schema"] for table in wanted}
            self._seen[key] = {table: self._read(made[table], name, schemas[table], without) for table in wanted}
        held = self._seen[key]
        wrong = [found for table in wanted if (found := _wrong(table, wanted[table], held[table], form.codec))]
        return {
            "verdict": "wrong" if wrong else RIGHT,
            "why": wrong[0] if wrong else None,
            "output_bytes": sum(file.stat().st_size for file in made.values()),
            "row_groups": sum(one["row_groups"] for one in held.values()) if "row_groups" in held[max(held)] else None,
            "rows": sum(one["rows"] for one in held.values()),
            "checksum": str(sum(int(one["checksum"]) for one in held.values())),
            "checked_by": held[max(held)]["checked_by"],
        }

    def _reference(self, file: Path, without: str | None) -> dict[str, Any]:
        if (file, without) not in self._references:
            self._references[file, without] = self._read(file, "parquet", None, without)
        return self._references[file, without]

    def _read(self, file: Path, name: str, schema: list[list[str]] | None, without: str | None) -> dict[str, Any]:
        question = {"generated": str(file), "format": name, "schema": schema, "without": without}
        found: dict[str, Any] = check.ask(self._python, question)
        return found


def _wrong(table: str, wanted: dict[str, Any], held: dict[str, Any], codec: str) -> str | None:
    why = check.disagreement(wanted, held)
    codec = "UNCOMPRESSED" if codec == "none" else codec.upper()
    if why is None and held.get("codecs", [codec]) != [codec]:
        why = f"codecs: {', '.join(held['codecs'])} instead of {codec}"
    return f"{table}: {why}" if why else None


def entered(results: list[Result], names: dict[str, str]) -> list[str]:
    """The entrants that have a time in any of the cases: the subject first, then by title."""
    found = dict.fromkeys(entry.contestant for result in results for entry in result.entries if entry.seconds)
    subject = next((result.subject for result in results if result.subject), None)
    return sorted(found, key=lambda name: (name != subject, names[name]))


def rate(entry: Entry | None) -> float | None:
    """Thousands of rows a second, by the median time."""
    if entry is None or entry.seconds is None or not entry.samples or entry.samples[0].rows is None:
        return None
    return entry.samples[0].rows / entry.seconds.median / 1000


def sections(results: list[Result], names: dict[str, str], who: str) -> tuple[Section, ...]:
    """Thousands of rows a second: a line per table, a column per entrant."""
    columns = entered(results, names)
    subject = next((result.subject for result in results if result.subject), None)
    rows = []
    for result in results:
        own = result.entry(result.subject)
        total = next((entry.samples[0].rows for entry in result.entries if entry.samples), None)
        rates = [rate(result.entry(name)) for name in columns]
        peers = [ratio for ratio in result.ratios if ratio.peer.partition("/")[0] != (subject or "").partition("/")[0]]
        fastest = result.fastest({ratio.peer for ratio in peers})
        ratio = f"{times(fastest.wall.median)} of {names[fastest.peer]}" if fastest else ""
        rows.append(
            Row(
                (
                    result.title.partition(" as ")[0],
                    count(total),
                    *(count(one) for one in rates),
                    ratio,
                ),
                "subject" if own else "peer",
            )
        )
    headings = ("table", "rows", *(names[name] for name in columns), f"{who or 'subject'}'s time")
    about = (
        "Thousands of rows a second, by the median time; the last column is "
        f"{who or 'subject'}'s time divided by that of the fastest peer"
    )
    return (Section("K rows/s", about, Table(headings, tuple(rows), numbers_from=1, grouped_by=1)),)
