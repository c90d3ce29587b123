"""Virtual environments for packages that must not share the bench's own: made once, and cached with its data."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from lakerace_bench import data


class NoEnvironmentError(RuntimeError):
    """An environment could not be made; the message says why."""


def python_with(requirements: tuple[str, ...], folder: Path | None = None, install: tuple[str, ...] = ()) -> Path:
    """The interpreter of an environment with `requirements`, in which `install` was then run in `folder`.

    `{python}` in `install` is replaced by that interpreter. A change of the program in `install`, or of a lock file in
    `folder`, makes a new environment.
    """
    digest = hashlib.sha256("\n".join((sys.version, *requirements)).encode())
    if folder is not None and install:
        programs = {folder / part for part in install if (folder / part).is_file()}
        for file in sorted(programs | set(folder.glob("*.lock"))):
            digest.update(file.read_bytes())
    home = data.directory() / "environments" / digest.hexdigest()[:12]
    python, made = home / "bin" / "python", home / "made"
    if made.exists():
        return python
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
        [part.replace("{python}", str(python)) for part in install],
    ]
    for step in filter(None, steps):
        try:
            subprocess.run(step, check=True, capture_output=True, text=True, cwd=folder)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or getattr(error, "stdout", None) or str(error)
            last = said.strip().splitlines()[-1]
            raise NoEnvironmentError(f"its environment ({', '.join(requirements)}) failed: {last}") from error
    made.touch()
    return python
