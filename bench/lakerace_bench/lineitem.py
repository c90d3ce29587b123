"""TPC-H's lineitem, made by tpchgen, as Parquet and as ORC of every codec (by pyarrow, its defaults otherwise)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from lakerace_bench import generated, kept

#: Bump when the files change, so that cached ones are made again.
RECIPE = 1
#: Codecs that both ORC writers have, by the names of lakerace.
CODECS = ("none", "snappy", "zstd", "zlib", "lz4")
#: The levels that pyarrow's ORC writer uses with its default strategy, `speed`: everybody writes with these.
LEVELS = {"zlib": 2, "zstd": 1}
#: What others call them.
PYARROW_NAMES = {"none": "uncompressed"}


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
            return generated.generate("lineitem", self.scale, path)
        codec = kind.partition("-")[2]
        orc.write_table(pq.read_table(rows), path, compression=PYARROW_NAMES.get(codec, codec))
        return f"pyarrow {pa.__version__}"
