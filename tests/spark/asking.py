"""Asking Spark: it takes longer to start than to answer, so all questions go to one process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from lakerace.bench import contestant


def ask(program: str, questions: list[Any], of: str = "spark") -> list[Any]:
    """The answers of a program beside this file, which the Python of a contestant's environment runs."""
    python, session = contestant.named(of).python(), contestant.named("spark").folder
    done = subprocess.run(
        [str(python), str(Path(__file__).parent / program), str(session)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "TZ": "UTC"},
    )
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers
