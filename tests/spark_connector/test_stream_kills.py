"""Streams whose process is killed lose no row, and write none twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_killed_streams(tmp_path: Path) -> None:
    kills = int(os.environ.get("LAKERACE_STREAM_KILLS", "2"))
    command = [sys.executable, str(HERE / "stream_kills.py"), str(tmp_path), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600 + 60 * kills)
    assert done.returncode == 0, done.stderr[-4000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["kills"] == kills
    for name in ("appended", "upserted"):
        assert (result[name]["lost"], result[name]["more"]) == (0, 0), result
