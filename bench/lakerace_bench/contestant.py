"""Contestants: folders with a `manifest.json` and a program that speaks the bench's protocol.

`python -m lakerace_bench.contestant NAME` makes the environment of one, if need be, and prints its interpreter.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakerace_bench import environment

HERE = Path(__file__).parent
#: The folder that is added to the PYTHONPATH of contestants' processes.
KIT = HERE / "kit"
#: More folders of contestants, as in PATH.
FOLDERS_VARIABLE = "LAKERACE_BENCH_CONTESTANTS"
_KEYS = {"title", "about", "languages", "jobs", "stores", "command"}
_OPTIONAL_KEYS = {"requirements", "install", "settings", "stays", "subject", "table", "checks"}
#: When a reader checks a table that others have made: after each change, or after the last one.
_CHECKS = ("each", "last")


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names the file and what to change."""


@dataclass(frozen=True)
class Contestant:
    """One tool in the race, as its manifest describes it."""

    name: str
    folder: Path
    title: str
    about: str
    languages: tuple[str, ...]
    #: The benches that it enters: `scan`, `write`, …; `compact` is not a bench, but a step of `upsert`.
    jobs: tuple[str, ...]
    #: The stores that it supports: `local`, `s3`.
    stores: tuple[str, ...]
    #: The command to run in its folder; `{python}` is the interpreter of its environment.
    command: tuple[str, ...]
    #: Python requirements that it needs in a separate environment; empty: the bench's environment.
    requirements: tuple[str, ...] = ()
    #: A command that is run once in its folder, when that environment has been made; `{python}` as in `command`.
    install: tuple[str, ...] = ()
    #: By bench, the settings that it enters with, each as a separate entrant: `name`, `title`, `options`.
    settings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: Benches in which one process serves all samples, instead of one each.
    stays: tuple[str, ...] = ()
    #: True for the tool under test: ratios are relative to it.
    subject: bool = False
    #: The format of the tables that it reads, and makes if it enters `upsert`: `delta`, or a format of the tool.
    table: str = ""
    #: When it reads a table back to check it: after each change, or only after the last one.
    checks: str = "each"

    def python(self) -> Path:
        """The interpreter of its environment, which is made at the first call."""
        if not self.requirements:
            return Path(sys.executable)
        return environment.python_with(self.requirements, self.folder, self.install)


def load(folder: Path) -> Contestant:
    """Reads the manifest in `folder`."""
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise ManifestError(f"{path}: not JSON: {error}") from error
    missing = _KEYS - manifest.keys()
    unknown = manifest.keys() - _KEYS - _OPTIONAL_KEYS
    if missing or unknown:
        raise ManifestError(f"{path}: missing keys {sorted(missing)}, unknown keys {sorted(unknown)}")
    if manifest.get("checks", "each") not in _CHECKS:
        raise ManifestError(f"{path}: `checks` is one of {', '.join(_CHECKS)}")
    return Contestant(
        name=folder.name,
        folder=folder,
        title=manifest["title"],
        about=manifest["about"],
        languages=tuple(manifest["languages"]),
        jobs=tuple(manifest["jobs"]),
        stores=tuple(manifest["stores"]),
        command=tuple(manifest["command"]),
        requirements=_requirements(folder, manifest.get("requirements", [])),
        install=tuple(manifest.get("install", ())),
        settings=manifest.get("settings", {}),
        stays=tuple(manifest.get("stays", ())),
        subject=bool(manifest.get("subject", False)),
        table=manifest.get("table", ""),
        checks=manifest.get("checks", "each"),
    )


def discover(folders: list[Path] | None = None) -> list[Contestant]:
    """All contestants, the subject first, then by name."""
    if folders is None:
        more = os.environ.get(FOLDERS_VARIABLE, "")
        folders = [HERE / "contestants", *(Path(part) for part in more.split(os.pathsep) if part)]
    found = [load(path.parent) for folder in folders for path in folder.glob("*/manifest.json")]
    return sorted(found, key=lambda one: (not one.subject, one.name))


def named(name: str) -> Contestant:
    """The contestant called `name`."""
    for contestant in discover():
        if contestant.name == name:
            return contestant
    raise ValueError(f"no contestant is called {name}: see `lakerace bench list`")


def _requirements(folder: Path, given: list[str] | str) -> tuple[str, ...]:
    """The lines of a lock file, where the manifest names one."""
    if not isinstance(given, str):
        return tuple(given)
    try:
        lines = (folder / given).read_text().splitlines()
    except OSError as error:
        raise ManifestError(f"{folder / given}: {error.strerror}") from error
    return tuple(line for line in lines if line and not line.startswith("#"))


if __name__ == "__main__":
    print(named(sys.argv[1]).python())
