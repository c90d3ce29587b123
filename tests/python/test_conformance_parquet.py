"""Every readable Parquet file of the conformance corpus gives the rows that pyarrow gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conformance import assert_equals, corpus, rows
from summary import CORPUS

import lakerace as lr

GOOD = sorted(corpus("parquet").glob("*.parquet"))
# Listed as damaged because it once crashed a reader: a one-entry dictionary with indices of bit width 0,
# which the format allows. pyarrow and duckdb read 21,186 zeros.
READABLE = "ARROW-GH-43605.parquet"
BAD = [path for path in sorted(corpus("parquet-bad").glob("*.parquet")) if path.name != READABLE]

# Files on which the two readers differ on purpose.
EXCEPTIONS = {
    "datapage_v1-corrupt-checksum.parquet": "two pages fail their CRC; pyarrow does not verify it unless asked to",
    "rle-dict-uncompressed-corrupt-checksum.parquet": "a page fails its CRC; pyarrow does not verify it unless asked",
}


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.name)
def test_rows_equal_pyarrow(path: Path) -> None:
    if path.name in EXCEPTIONS:
        with pytest.raises(lr.CorruptDataError) as raised:
            pa.table(lr.scan(path))
        assert path.name in str(raised.value)
        return
    assert_equals(path, pq.read_table)


@pytest.mark.parametrize("path", [path for path in GOOD if path.name not in EXCEPTIONS], ids=lambda p: p.name)
def test_each_column_alone_equals_the_whole(path: Path) -> None:
    whole = pa.table(lr.scan(path))
    for name in whole.column_names[:8]:
        alone = pa.table(lr.scan(path, columns=[name], threads=1))
        assert rows(alone) == rows(whole.select([name]))


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.name)
def test_damaged_files_give_errors(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lakerace", "scan", str(path), "--checksum", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 5, done.stdout + done.stderr
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "corrupt_data"
    assert path.name in error["place"]
    assert "panicked" not in done.stderr


def test_zero_width_dictionary_indices() -> None:
    path = corpus("parquet-bad") / READABLE
    if not path.exists():
        pytest.skip(f"{CORPUS}{READABLE} is not in it")
    assert rows(pa.table(lr.scan(path))) == rows(pq.read_table(path))
