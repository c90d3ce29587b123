"""The package is used by threads that come and go."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from conftest import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
import threading

import pyarrow.parquet


def load():
    import lakerace


def count():
    import lakerace as lr
    counted.append(lr.scan(sys.argv[1]).count())


counted = []
for work in (load, count, count, count):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(counted)
"""


def test_a_thread_that_imports_the_package_may_end(parquet: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(parquet)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, "[1000, 1000, 1000]\n"), done.stderr
