"""`python -m lakerace_bench.readback FILE`: what lakerace reads from a file that a contestant has written, as JSON."""

from __future__ import annotations

import json
import sys

import pyarrow as pa

import lakerace as lr
from lakerace_bench.contestant import KIT


def main() -> None:
    """Prints row count, schema and checksum, as `kit/verify.py` gives them."""
    sys.path.insert(0, str(KIT))
    import verify

    table = pa.RecordBatchReader.from_stream(lr.scan(sys.argv[1])).read_all()
    json.dump(verify.held(table), sys.stdout)


if __name__ == "__main__":
    main()
