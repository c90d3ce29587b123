"""The scripts of examples/ run, and give what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
RESULTS: dict[str, list[object]] = {
    "files_dataset.py": [10_000, 1_000_000],
    "load_sqlite.py": ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"],
    "upsert_frames.py": [(1, 10), (2, 25), (3, 30)],
}


def test_each_example_runs(tmp_path: Path) -> None:
    scripts = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert scripts == sorted(RESULTS)
    for name in scripts:
        assert runpy.run_path(str(EXAMPLES / name))["run"](tmp_path) == RESULTS[name], name
