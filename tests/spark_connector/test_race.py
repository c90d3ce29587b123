"""No upsert is lost, and no key is there twice, where Spark and lakerace write to one table at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_upserts_at_once(tmp_path: Path) -> None:
    rounds = int(os.environ.get("LAKERACE_SPARK_RACE_ROUNDS", "2"))
    command = [sys.executable, str(HERE / "race.py"), str(tmp_path), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300 + 120 * rounds)
    assert done.returncode == 0, done.stderr[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["lost"], result["double"], result["failures"]) == (0, 0, []), result
    # Each writer has made one commit a round.
    assert result["commits"] == 8 * rounds
