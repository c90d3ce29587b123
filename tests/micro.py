"""Runs the benches of crates and prints a table for the design notes: `ours` over `plain`, by the medians, and where and when that was.

python tests/micro.py [CRATE...] [-- WORD]  all crates, or some of them: format io orc delta
python tests/micro.py --read OUTPUT...      of what `cargo bench` has printed before
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_ROW = re.compile(r"^(?P<tree>[│├╰─ ]*)(?P<name>\S.*?)\s{2,}(?P<cells>[^│]*│.*)$")
_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def medians(output: str) -> Iterator[tuple[tuple[str, ...], float, str]]:
    """Each bench by its path with its median, in seconds and as it was printed."""
    path: list[str] = []
    for line in output.splitlines():
        if not (row := _ROW.match(line)) or row["tree"] == "" or "│" not in row["cells"]:
            continue
        depth = len(row["tree"]) // 3
        path = [*path[: depth - 1], row["name"].strip()]
        cells = [cell.strip() for cell in row["cells"].split("│")]
        if len(cells) > 2 and (value := cells[2]):
            number, unit = value.split()
            yield tuple(path), float(number) * _UNITS[unit], value


def table(output: str) -> list[str]:
    """A line for each pair."""
    found = {path: (seconds, shown) for path, seconds, shown in medians(output)}
    lines = []
    for path, (seconds, shown) in found.items():
        at = next((at for at, name in enumerate(path) if "ours" in name), None)
        if at is None:
            continue
        plain = path[at].replace("ours", "plain")
        for other, (other_seconds, other_shown) in found.items():
            same = other[:at] == path[:at] and (other[at + 1 :] in (path[at + 1 :], ()))
            if same and len(other) > at and (other[at] == plain or other[at].startswith(f"{plain}_")):
                name = " ".join(part for part in (*path[:at], path[at].replace("ours", "").strip("_")) if part)
                case = ", ".join(
                    [*path[at + 1 :], *([other[at].removeprefix(f"{plain}_")] if other[at] != plain else [])]
                )
                lines.append(f"| {name} | {case} | {shown} | {other_shown} | {seconds / other_seconds:.2f} |")
    return lines


def place() -> str:
    """The machine, the day and the commit."""
    model = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return (
        f"{model[1] if model else 'a processor'}, {os.cpu_count()} cores; {time.strftime('%Y-%m-%d')}; commit {commit}"
    )


def main(arguments: list[str]) -> int:
    """Prints the table; the exit code of the first bench that fails."""
    lines: list[str] = []
    if arguments[:1] == ["--read"]:
        lines = [line for name in arguments[1:] for line in table(Path(name).read_text(encoding="utf-8"))]
    else:
        words = arguments[arguments.index("--") :] if "--" in arguments else []
        crates = [part for crate in arguments[: len(arguments) - len(words)] for part in ("-p", f"lakerace-{crate}")]
        # The whole workspace shares its dependencies with `make build`.
        chosen = crates or ["--workspace", "--all-features"]
        command = ["cargo", "bench", "--locked", "--quiet", *chosen, "--bench", "micro", *words]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            return done.returncode
        lines = table(done.stdout)
    print(f"{place()}\n\n| bench | case | ours | plain | ratio |\n| --- | --- | --: | --: | --: |", *lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
