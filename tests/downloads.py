"""Downloads what the tests need beside the packages of their environment: `make test` does so while its crates compile.

What is absent when a test needs it is downloaded then.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("spark", "tests/servers", "tests/spark_connector")]

import azurite  # noqa: E402
import build  # noqa: E402
import elastic  # noqa: E402
import run  # noqa: E402


def main() -> int:
    """Fills the folders of .cache."""
    for version in run.VERSIONS:
        build.environment(version)
    elastic.install(elastic.SERVERS["elasticsearch-8"])
    azurite.install()
    return 0


if __name__ == "__main__":
    sys.exit(main())
