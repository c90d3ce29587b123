"""Files that benches make once and cache: a sidecar has their shape and SHA-256, which are checked before use."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def ensure(path: Path, shape: dict[str, Any], write: Callable[[Path], str]) -> Path:
    """Returns `path`, which `write` makes if it is missing or has changed; `write` returns the tool that it used."""
    problem = check(path, shape)
    if problem is None:
        return path
    if path.exists():
        print(f"bench data: {problem}; making it anew", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, shape, write)
    return path


def check(path: Path, shape: dict[str, Any]) -> str | None:
    """Returns the problem of the file at `path`, or None: its shape and SHA-256 must be the recorded ones."""
    sidecar = _sidecar(path)
    if not path.exists() or not sidecar.exists():
        return f"{path} or its {sidecar.name} is missing"
    try:
        known = json.loads(sidecar.read_text())
    except json.JSONDecodeError:
        return f"{sidecar} is not JSON"
    if known.get("shape") != shape:
        return f"{path} has another shape"
    if known.get("sha256") != sha256(path):
        return f"the SHA-256 of {path} is not the one that was written down"
    return None


def written_down(path: Path) -> str:
    """The SHA-256 that a kept file had when it was made."""
    return str(json.loads(_sidecar(path).read_text())["sha256"])


def put(path: Path, shape: dict[str, Any], write: Callable[[Path], str]) -> None:
    """Writes the file and its sidecar; the file appears when it is whole."""
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        written_by = write(partial)
        known = {
            "shape": shape,
            "bytes": partial.stat().st_size,
            "sha256": sha256(partial),
            "written_by": written_by,
        }
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    _sidecar(path).write_text(json.dumps(known, indent=1) + "\n")


def sha256(path: Path) -> str:
    """Of a file, as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
