"""Flags of the command in texts of crates that know no command.

A text names an option by its definition in `crates/io/src/option`, and each door shows it in its own words. A flag in a string
below `crates/cli` would be wrong for users of Python and Spark. Tests may have them, and flags of other programs stand in `OTHERS`.

python tests/flags.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: The command, which has flags.
COMMAND = "cli"

#: Commands of other programs, with their flags.
OTHERS = (
    "aws configure export-credentials --profile {name} --format env",
    "aws configure --profile {name}",
    "aws configure sso --profile {}",
    "aws sso login --profile {}",
    "tar --format=gnu, or without --sparse",
    "--device /dev/fuse --cap-add SYS_ADMIN",
    "--cap-add SYS_ADMIN",
)

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<fence>#*)".*?"(?P=fence)|b?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""", re.DOTALL
)
_FLAG = re.compile(r"(?<![-\w])--[a-z][a-z-]+")


def flags(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each flag in a string."""
    for token in _TOKEN.finditer(source):
        text = token[0]
        if text.startswith(("//", "/*", "'")):
            continue
        for other in OTHERS:
            text = text.replace(other, " " * len(other))
        for flag in _FLAG.finditer(text):
            yield source.count("\n", 0, token.start() + flag.start()) + 1, flag[0]


def is_product(file: Path) -> bool:
    """Whether a file is no test."""
    return file.stem != "tests" and "tests" not in file.parts[:-1]


def main() -> int:
    """Prints each flag; 1 if there are any."""
    root = Path(__file__).parents[1]
    faults = []
    for crate in sorted((root / "crates").iterdir()):
        if crate.name == COMMAND:
            continue
        for file in filter(is_product, sorted(path.relative_to(root) for path in (crate / "src").rglob("*.rs"))):
            found = flags((root / file).read_text(encoding="utf-8"))
            faults += [f"{file}:{line}: {flag}: name the option of lakerace_io::option" for line, flag in found]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(faults)} flags in strings below crates/{COMMAND}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
