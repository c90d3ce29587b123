"""Records the pictures of this folder: `terminal.png`, commands in a pseudo-terminal, and `notebook.png`, cells of a notebook.

Needs chromium, a Python with lakerace, and `pip install rich pillow nbconvert ipykernel` next to it:

    python docs/pictures/record.py
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import nbformat
from nbconvert import HTMLExporter
from nbconvert.preprocessors import ExecutePreprocessor
from PIL import Image, ImageChops
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
COLUMNS = 116

COMMANDS = [
    'lakerace copy "tpch:orders?sf=0.1" orders.parquet --columns "o_orderkey as id, o_orderdate as day, o_totalprice as price"',
    'lakerace scan orders.parquet --where "price > 400000" --order-by "price desc" --limit 5',
    'lakerace scan orders.parquet --where "price > 400000" --explain',
    "lakerace copy orders.parquet delta:lake/orders --quiet",
    'lakerace upsert lake/orders "tpch:orders?sf=0.1&insert=1" --key id --columns "o_orderkey as id, o_orderdate as day, o_totalprice as price"',
    "lakerace history lake/orders",
    "lakerace diff orders.parquet lake/orders --key id --summary",
    "lakerace scan ordres.parquet",
]

CELLS = [
    'from datetime import date\nfrom decimal import Decimal\n\nimport lakerace as lr\n\nscan = lr.scan("orders.parquet", columns=["id", "day", "price * 1.2 as gross"], where="price > 400000")\nscan.explain()',
    "scan.head(3)",
    'orders = lr.Table("lake/orders", key="id")\norders.upsert([{"id": 7, "day": date(2026, 11, 30), "price": Decimal("12.50")}])\norders.head(3)',
    'lr.sql("SELECT year(day) AS year, count(*) AS orders, max(price) AS highest FROM orders GROUP BY ALL ORDER BY ALL LIMIT 3", orders=orders)',
    'lr.diff("orders.parquet", "lake/orders", key="id")',
]


def terminal_text(command: str, folder: Path) -> str:
    """The output of a command, as a terminal shows it: of a line that is drawn again, the last state."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        ["bash", "-c", command], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment
    )
    os.close(theirs)
    pieces = []
    # Linux ends a pseudo-terminal with an error.
    while (piece := _read(ours)) != b"":
        pieces.append(piece)
    process.wait()
    text = b"".join(pieces).decode().replace("\r\n", "\n")
    return "\n".join(line.rsplit("\r", 1)[-1] for line in text.split("\n"))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""


def session(folder: Path) -> str:
    """The commands and their output as SVG, with fonts of the system."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for command in COMMANDS:
        console.print(Text(f"$ {command}", style="bold"))
        console.print(Text.from_ansi(terminal_text(command, folder)), end="")
    return re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="lakerace"), flags=re.DOTALL)


def notebook(folder: Path) -> str:
    """The executed cells as HTML."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(book, {"metadata": {"path": str(folder)}})
    page, _ = HTMLExporter().from_notebook_node(book)
    return str(page)


def photograph(page: str, ending: str, target: Path) -> None:
    """Draws a page with chromium, and cuts off its margins."""
    with tempfile.TemporaryDirectory() as folder:
        source, drawn = Path(folder) / f"page{ending}", Path(folder) / "page.png"
        source.write_text(page, encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
        ]
        sizes = [f"--user-data-dir={folder}/profile", "--window-size=1200,2400", f"--screenshot={drawn}"]
        subprocess.run(["chromium", *options, *sizes, source.as_uri()], check=True, stderr=subprocess.DEVNULL)
        picture = Image.open(drawn).convert("RGB")
        margins = Image.new("RGB", picture.size, "white")
        picture.crop(ImageChops.difference(picture, margins).getbbox()).quantize(64).save(target, optimize=True)


def main() -> None:
    """Records both."""
    with tempfile.TemporaryDirectory() as folder:
        photograph(session(Path(folder)), ".svg", HERE / "terminal.png")
        photograph(notebook(Path(folder)), ".html", HERE / "notebook.png")


main()
