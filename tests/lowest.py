"""Runs Python tests in an environment of the oldest versions that are promised, on the package that is built here.

python tests/lowest.py ENVIRONMENT TEST...
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[1]


def promised() -> dict[str, str]:
    """The lower bounds of pyproject.toml; of a package with several, the lowest: some extras need more."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = {text for extra in project["optional-dependencies"].values() for text in extra}
    bounds = [text.split(">=") for text in texts]
    bounds.sort(key=lambda bound: [int(part) for part in bound[1].split(".")], reverse=True)
    return dict(bounds)


def tried() -> dict[str, str]:
    """The versions of tests/lowest.txt."""
    lines = (ROOT / "tests" / "lowest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def main(environment: str, tests: list[str]) -> int:
    """The exit code of pytest; 1 where the two lists differ."""
    lists = (promised(), tried())
    differ = [
        name for name in lists[0] if not re.fullmatch(rf"{re.escape(lists[0][name])}(\.0)*", lists[1].get(name, ""))
    ]
    if differ:
        print(f"tests/lowest.txt has other versions than pyproject.toml promises: {sorted(differ)}", file=sys.stderr)
        return 1
    # The package is built for all versions of Python, and is found as this environment finds it.
    [site] = Path(environment).glob("lib/python*/site-packages")
    (site / "lakerace.pth").write_text(f"{ROOT / 'python'}\n{ROOT / 'bench'}\n")
    found = metadata.distribution("lakerace").locate_file("")
    for folder in Path(str(found)).glob("lakerace-*.dist-info"):
        (site / folder.name).unlink(missing_ok=True)
        (site / folder.name).symlink_to(folder)
    python = str(Path(environment) / "bin" / "python")
    command = [python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
