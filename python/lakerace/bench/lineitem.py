"""TPC-H's lineitem, made by tpchgen, as Parquet and as ORC of every codec (by pyarrow, its defaults otherwise)."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from lakerace.bench import environment, kept

#: Bump when the files change, so that cached ones are made anew.
RECIPE = 1
#: Codecs that both ORC writers have, by the names of lakerace.
CODECS = ("none", "snappy", "zstd", "zlib", "lz4")
#: The levels that pyarrow's ORC writer uses with its default strategy, `speed`: everybody writes with these.
LEVELS = {"zlib": 2, "zstd": 1}
#: What others call them.
#: The generator, from PyPI.
GENERATOR = "tpchgen-cli==4.0.0"
PYARROW_NAMES = {"none": "uncompressed"}


class NoLineitemError(RuntimeError):
    """The table cannot be made; the message says why."""


@dataclass(frozen=True)
class Lineitem:
    """The table at a scale factor: 6 million rows at 1."""

    scale: float

    @property
    def about(self) -> str:
        return f"TPC-H lineitem at scale factor {self.scale:g}, 16 columns"

    def files(self, folder: Path) -> dict[str, Path]:
        """The table as `parquet` and as `orc-CODEC`, made if need be."""
        stem = f"lineitem-sf{self.scale:g}-v{RECIPE}"
        files = {"parquet": folder / f"{stem}.parquet"}
        files |= {f"orc-{codec}": folder / f"{stem}-{codec}.orc" for codec in CODECS}

        for kind, path in files.items():
            kept.ensure(path, asdict(self) | {"file": kind}, partial(self._write, files["parquet"], kind))
        return files

    def _write(self, rows: Path, kind: str, path: Path) -> str:
        if kind == "parquet":
            return _generate(path, self.scale)
        codec = kind.partition("-")[2]
        orc.write_table(pq.read_table(rows), path, compression=PYARROW_NAMES.get(codec, codec))
        return f"pyarrow {pa.__version__}"


def _generate(path: Path, scale: float) -> str:
    """By tpchgen, whose lineitem is that of TPC-H's own dbgen, byte for byte."""
    program = environment.python_with((GENERATOR,)).with_name("tpchgen-cli")
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        options = ["--tables=lineitem", f"--scale-factor={scale}", f"--output-dir={scratch}"]
        done = subprocess.run([str(program), "parquet", *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoLineitemError(f"{GENERATOR} failed: {done.stderr.strip().partition(chr(10))[0]}")
        made = pq.read_table(Path(scratch) / "lineitem.parquet")
    # ORC's writer in pyarrow knows no string views.
    fields = [pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type) for f in made.schema]
    pq.write_table(made.cast(pa.schema(fields)), path, compression="snappy")
    return f"{GENERATOR}, pyarrow {pa.__version__}"
