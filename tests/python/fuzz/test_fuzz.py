"""The fuzzers, some cases of each; soak.py runs as many as one likes.

The seed is that of the other random tests (`PROPTEST_RNG_SEED`), where one is given.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent / "soak.py"


@pytest.mark.parametrize(("name", "cases"), [("filters", 60), ("tables", 25), ("damage", 400)])
def test_cases_of_fuzzers(name: str, cases: int) -> None:
    seed = os.environ.get("PROPTEST_RNG_SEED")
    command = [sys.executable, str(SOAK), name, "--cases", str(cases), *(["--seed", seed] if seed else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: {cases} cases" in done.stdout
