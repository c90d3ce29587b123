"""What ran in `make test`, and what was left out and why: each part of it writes its numbers down, and this prints them all.

python tests/python/summary.py
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".cache" / "test-summary"

#: How a reason begins that lets a test be left out in CI: files of other implementations lie beside the repository.
CORPUS = "corpus: "


@dataclass
class Numbers:
    """What the tests of one language came to."""

    passed: int = 0
    failed: int = 0
    #: Why a test was left out, an entry a test.
    left_out: list[str] = field(default_factory=list)

    def line(self, name: str) -> str:
        """One line for a person."""
        return f"{name}: {self.passed} passed, {self.failed} failed, {len(self.left_out)} left out"


def write(name: str, numbers: Numbers) -> None:
    """Keeps the numbers of one part for the end."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(asdict(numbers)))


def main() -> int:
    """Prints all parts, and their sum as the last line."""
    total = Numbers()
    for path in sorted(FOLDER.glob("*.json")):
        part = Numbers(**json.loads(path.read_text()))
        path.unlink()
        print(part.line(path.stem))
        for reason, count in Counter(part.left_out).most_common():
            print(f"  left out, {count}: {reason}")
        total.passed += part.passed
        total.failed += part.failed
        total.left_out += part.left_out
    print(f"{total.passed} passed, {total.failed} failed, {len(total.left_out)} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
