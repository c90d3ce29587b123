"""The commands and the Python of the pages of the guide, and what has to be there before they run."""

from __future__ import annotations

import gzip
import re
import zipfile
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
ROWS = 200

#: What begins a line for the shell. A block with another first line is Python.
SHELL = re.compile(r"(?:lakerace|curl|cat|head|ls|psql|sed|sqlite3|make|pyspark|pip|cargo|[a-z]+ <\()\b")

#: Parts of an output that differ from run to run: amounts of time, memory, bytes and requests; dollars; times of versions.
MEASURED = re.compile(
    r"\d[\d,.]* (?:ms|s|B|bytes|kB|MB|GB)(?:/s)?\b|\d+ requests?\b|\$[\d.]+|\d{4}-\d\d-\d\dT[\d:.]+Z(?=  +(?:MERGE|DELETE|CREATE))"
)


@dataclass(frozen=True)
class Block:
    """One block of code of a page."""

    #: The line of the page that it begins in, from 1.
    line: int
    text: str

    @property
    def is_shell(self) -> bool:
        """Whether the shell runs it."""
        return bool(SHELL.match(self.text.removeprefix("$ ")))


def blocks(page: Path) -> list[Block]:
    """The indented and the fenced blocks of a page, in their order."""
    found: list[Block] = []
    kept: list[str] = []
    fence: str | None = None
    start = 0
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate([*lines, ""], start=1):
        if line.startswith("```"):
            if fence is None:
                fence, kept, start = line[3:] or "text", [], number + 1
            else:
                if fence in ("console", "python", "sh"):
                    found.append(Block(start, "\n".join(kept) + "\n"))
                fence, kept = None, []
        elif fence is not None:
            kept.append(line)
        elif line.startswith("    ") and not line.lstrip().startswith("- ") and (kept or not lines[number - 2]):
            start = start if kept else number
            kept.append(line[4:])
        elif kept:
            found.append(Block(start, "\n".join(kept) + "\n"))
            kept = []
    return found


def orders(rows: int = ROWS, start: int = 1) -> pa.Table:
    """Orders under all the names that the pages use."""
    ids = range(start, start + rows)
    day = [date(2026, 11, 1) + timedelta(days=i % 3) for i in ids]
    prices = pa.array([Decimal(i * 100) for i in ids], pa.decimal128(15, 2))
    moments = [datetime(2026, 11, 1, tzinfo=timezone.utc) + timedelta(minutes=i) for i in ids]
    return pa.table(
        {
            "order_id": pa.array(ids, pa.int64()),
            "o_orderkey": pa.array(ids, pa.int64()),
            "id": pa.array(ids, pa.int64()),
            "day": pa.array(day, pa.date32()),
            "price": prices,
            "o_totalprice": prices,
            "total": prices,
            "customer": pa.array([i % 17 for i in ids], pa.int64()),
            "visits": pa.array([i % 5 for i in ids], pa.int64()),
            "status": pa.array([("open", "void", "paid")[i % 3] for i in ids]),
            "region": pa.array([("EU", "US")[i % 2] for i in ids]),
            "changed_at": pa.array(moments, pa.timestamp("ms", "UTC")),
        }
    )


def write_csv(table: pa.Table, path: Path, delimiter: str = ",") -> None:
    """A CSV file, packed if its name says so."""
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as file:
        pyarrow.csv.write_csv(table, file, options)


def files(folder: Path) -> None:
    """The files that most pages begin with."""
    pq.write_table(orders(), folder / "orders.parquet")
    pq.write_table(orders(50, ROWS + 1), folder / "more.parquet")
    pq.write_table(orders(50, ROWS - 24), folder / "changes.parquet")
    write_csv(orders(), folder / "orders.csv")
    write_csv(orders(), folder / "orders.csv.gz")
    write_csv(orders(50, ROWS - 24).select(["order_id", "visits", "price"]), folder / "visits.csv")
    write_csv(orders(50, ROWS - 24), folder / "changes.csv")
    write_csv(orders(20).select(["order_id"]), folder / "gone.csv")


def table(location: str, versions: int = 1, **options: Any) -> None:
    """A Delta table of orders with the versions 0 to `versions` - 1."""
    lr.copy(orders(), f"delta:{location}", **options)
    for _ in range(versions - 1):
        lr.Table(location).upsert(orders(5), key="order_id")


@dataclass(frozen=True)
class Step:
    """A command, or a block of Python."""

    #: The line of the page, from 1.
    line: int
    text: str
    is_shell: bool
    #: The lines that the page shows below the command; none if it shows no output.
    output: list[str] = field(default_factory=list)

    def smaller(self, numbers: dict[str, str]) -> Step:
        """The step with other numbers."""

        def changed(text: str) -> str:
            for number, other in numbers.items():
                text = text.replace(number, other)
            return text

        return replace(self, text=changed(self.text), output=[changed(line) for line in self.output])

    def shows(self, printed: str) -> bool:
        """Whether the page shows what was printed: `…` is any text in a line, and any lines where it is alone."""
        wanted, got = (
            [re.sub(" +", " ", MEASURED.sub("#", line)).strip() for line in lines]
            for lines in (self.output, printed.splitlines())
        )
        patterns = [r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in wanted]
        return re.fullmatch("".join(patterns), "".join(line + "\n" for line in got)) is not None


@dataclass(frozen=True)
class Page:
    """What a page needs."""

    #: Makes what the page begins with, in the working directory.
    prepare: Callable[[Path], None] = files
    #: Commands for the shell that run just before the one that begins so.
    before: dict[str, str] = field(default_factory=dict)
    #: The names that its Python finds.
    names: Callable[[], dict[str, Any]] = dict
    #: Commands that can't run here, by their beginnings, and why.
    elsewhere: dict[str, str] = field(default_factory=dict)
    #: Numbers of the page, and smaller ones in their place.
    smaller: dict[str, str] = field(default_factory=dict)


def _prepare_csv(folder: Path) -> None:
    files(folder)
    write_csv(orders(), folder / "orders.csv.gz", ";")
    (folder / "orders.parquet").unlink()
    umsatz = "Bericht\n\nTag;Betrag\n29.02.2024;1,5\n"
    with zipfile.ZipFile(folder / "umsatz.csv.zip", "w") as archive:
        archive.writestr("umsatz.csv", umsatz.encode("latin1"))


def _prepare_events(folder: Path) -> None:
    at = pc.strftime(orders()["changed_at"], "%Y-%m-%dT%H:%M:%SZ")
    events = pa.table({"at": at, "price": pa.array([f"{i}.50" for i in range(ROWS)]), "kind": ["click", "view"] * 100})
    tags = pa.array([["a", "b"], []] * 100, pa.list_(pa.string()))
    for name in ("events.jsonl.gz", "events.ndjson", "events.jsonl", "export.json"):
        lr.copy(events.append_column("tags", tags), folder / name)
    files(folder)


def _prepare_scans(folder: Path) -> None:
    files(folder)
    users = [{"id": n, "user": {"name": f"user {n}", "address": {"city": "Rome", "zip": n}}} for n in range(ROWS)]
    lr.copy(users, folder / "events.jsonl")


def _prepare_workbooks(folder: Path) -> None:
    (folder / "reports").mkdir()
    rows = [["order_id", "region"], *[[i, "EU"] for i in range(20)]]
    for name in ("orders.xlsx", "reports/1.xlsx", "reports/2.xlsx"):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        if name == "orders.xlsx":
            titled = book.create_sheet("Orders 2024")
            for row in [["Orders"], [], ["of 2024"], *rows]:
                titled.append(row)
        book.save(folder / name)


def _prepare_table(folder: Path, versions: int = 1, **options: Any) -> None:
    files(folder)
    table("lake/orders", versions, **options)


def _prepare_dumps(folder: Path) -> None:
    """The files that psql writes of the page's table: of all rows, of those that were changed, and of all rows a day later."""

    def row(n: int, changed: str = "", status: str = "") -> str:
        seconds, half = divmod(3 * n, 2)
        moment = datetime(2026, 11, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
        at = changed or f"{moment:%Y-%m-%d %H:%M:%S}{'.5' * half}+00"
        note = ("", '""', '"says ""now"", twice"', '"two\nlines"')[n % 4] if n <= 100_000 else ""
        day = f"2026-11-{1 + n % 3:02}" if n <= 100_000 else "2026-11-30"
        total = Decimal(n * 37 % 100_000) / 100
        status = status or ("open", "paid", "void")[n % 3]
        return f"{n},{n % 977},{status},{total:.2f},{'ft'[n % 4 == 0]},{day},{at},{note}\n"

    names = "order_id,customer_id,status,total,express,placed_on,changed_at,note\n"
    old = {n: row(n) for n in range(1, 100_001)}
    changes = {n: row(n, "2026-11-30 08:00:00+00", "paid") for n in range(3, 301, 3)}
    changes |= {n: row(n, f"2026-11-30 09:00:{n - 100_000:02}+00", "open") for n in range(100_001, 100_051)}
    after = {n: text for n, text in (old | changes).items() if not 501 <= n <= 505}
    for name, rows in (("orders", old), ("changes", changes), ("all", after)):
        (folder / f"{name}.csv").write_text(names + "".join(rows.values()), encoding="utf-8")


def _prepare_examples(_: Path) -> None:
    """The files that the page on locations makes, and that other pages name."""
    names = {
        "orderkey": "order_id",
        "custkey": "customer",
        "orderdate": "day",
        "totalprice": "price",
        "orderstatus": "status",
    }
    columns = [f"o_{name} as {renamed}" for name, renamed in names.items()]
    lr.copy("tpch:orders?sf=0.01", "orders.parquet", columns=columns)
    lr.copy("tpch:orders?sf=0.01&insert=1", "more.parquet", columns=columns)


def _prepare_upserts(folder: Path) -> None:
    _prepare_table(folder, table_properties={"lakerace.primaryKey": "order_id"})


def _prepare_connections(folder: Path) -> None:
    files(folder)
    text = f'[connection.lake]\nurl = "s3://lake/tables"\n[connection.small]\nurl = "sqlite://{folder}/small.db"\n'
    (folder / "connections.toml").write_text(f"{text}[defaults]\nthreads = 2\n", encoding="utf-8")


def _named_frames() -> dict[str, Any]:
    return {"frame": orders(10).to_pandas(), "visits": orders(10).select(["order_id", "visits"])}


PAGES: dict[str, Page] = {
    "README.md": Page(
        lambda _: None,
        before={
            "import duckdb": "lakerace copy orders.parquet delta:s3://lake/orders",
        },
        elsewhere={
            "make": "these run the tests",
            "pip install": "the tests run what it installs",
            "cargo install": "the tests build the command",
        },
    ),
    "avro.md": Page(),
    "changes.md": Page(),
    "configuration.md": Page(_prepare_connections),
    "csv.md": Page(_prepare_csv),
    "damaged-logs.md": Page(_prepare_table),
    "delta.md": Page(_prepare_examples),
    "diff.md": Page(files),
    "dry-runs.md": Page(_prepare_upserts),
    "elasticsearch.md": Page(
        elsewhere={"lakerace copy elasticsearch+https:": "a host with a certificate of a public authority"}
    ),
    "excel.md": Page(_prepare_workbooks),
    "incremental.md": Page(
        before={
            "lakerace copy mongodb:": "lakerace copy orders.parquet mongodb://host/shop/orders && "
            "lakerace copy orders.parquet delta:lake/orders",
            'lakerace copy "sqlite:': "lakerace copy orders.parquet sqlite:shop.db#orders && "
            "lakerace copy orders.parquet elasticsearch://host:9200/orders --key order_id",
        },
    ),
    "json-lines.md": Page(
        _prepare_events,
        before={"lakerace copy mongodb:": "lakerace copy orders.parquet mongodb://host/shop/orders"},
    ),
    "locations.md": Page(lambda _: None),
    "log.md": Page(),
    "maintenance.md": Page(lambda folder: _prepare_table(folder, 13, partition_by="region")),
    "mongodb.md": Page(elsewhere={"lakerace copy 'mongodb+srv:": "a name service with SRV records"}),
    "orc.md": Page(),
    "pickled-scans.md": Page(before={"scan = ": "lakerace copy orders.parquet delta:s3://lake/orders"}),
    "pipes.md": Page(),
    "properties.md": Page(
        _prepare_table,
        before={"lr.Table": "lakerace alter lake/orders --set owner=finance"},
    ),
    "scans.md": Page(prepare=_prepare_scans, names=_named_frames),
    "sql.md": Page(_prepare_table, elsewhere={"pip install": "the tests run what it installs"}),
    "sqlite.md": Page(),
    "sync.md": Page(
        _prepare_table, before={"lakerace sync s3:": "lakerace copy orders.parquet delta:s3://lake/orders"}
    ),
    "tutorials/million-small-files.md": Page(
        lambda _: None, smaller={"1_000_000": "10_000", "1,000,000": "10,000", "(56.7 MB)": "(…)"}
    ),
    "tutorials/nightly-sync.md": Page(lambda _: None),
    "tutorials/one-machine-to-spark.md": Page(
        lambda _: None,
        elsewhere={"make spark": "the tests of the connector build it", "pyspark": "they run the page's Spark"},
        smaller={"1,500,000": "15,000", "1,500 rows": "15 rows"},
    ),
    "tutorials/postgresql-to-delta.md": Page(_prepare_dumps, elsewhere={"psql": "a PostgreSQL server"}),
    "tutorials/quick-start.md": Page(lambda _: None),
    "tpch.md": Page(
        lambda _: None,
    ),
    "updates.md": Page(_prepare_upserts),
    "upserts.md": Page(
        _prepare_upserts,
        before={"orders = lr.Table": "lakerace copy orders.parquet delta:s3://lake/orders"},
        names=_named_frames,
    ),
}


def path_of(name: str) -> Path:
    """The file of a page of :data:`PAGES`."""
    if name == "README.md":
        return ROOT / name
    return ROOT / "docs" / name if "/" in name else ROOT / "docs" / "guide" / name


def steps(page: Path) -> list[Step]:
    """Each command, and each block of Python as one."""
    found: list[Step] = []
    for block in blocks(page):
        if not block.is_shell:
            found.append(Step(block.line, block.text, False))
            continue
        has_prompts = block.text.startswith("$ ")
        for line in block.text.splitlines():
            if line.startswith("$ ") or (not has_prompts and SHELL.match(line)):
                found.append(Step(block.line, line.removeprefix("$ "), True))
            elif has_prompts:
                found[-1].output.append(line)
    return found
