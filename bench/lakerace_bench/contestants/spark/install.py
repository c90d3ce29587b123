"""Brings the jars that a contestant needs beside PySpark's own, once: the bench runs this in an environment just made.

Spark's own resolver (Ivy) fetches what a lock file names from Maven Central (the one beside this program, or the one that it is
told); every file must have the SHA-256 written there.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import session

LOCK = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("jars.lock")


def main() -> None:
    """Fetches, checks, and puts the jars where `session.open` looks for them."""
    locked = [line.split() for line in LOCK.read_text().splitlines() if line and not line.startswith("#")]
    with tempfile.TemporaryDirectory(dir=sys.prefix) as scratch:
        coordinates = ",".join(coordinate for coordinate, _ in locked)
        spark = session.start(1, {"spark.jars.packages": coordinates, "spark.jars.ivy": scratch})
        spark.stop()
        found = {path.name: path for path in (Path(scratch) / "jars").glob("*.jar")}
        expected = {f"{group}_{artifact}-{version}.jar": digest for group, artifact, version, digest in _parts(locked)}
        if found.keys() != expected.keys():
            sys.exit(f"{LOCK} names {sorted(expected)}, and Ivy brought {sorted(found)}")
        for name, path in found.items():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest != expected[name]:
                sys.exit(f"{name} has the SHA-256 {digest}, which is not the one in {LOCK}")
        shutil.rmtree(session.JARS, ignore_errors=True)
        shutil.move(Path(scratch) / "jars", session.JARS)


def _parts(locked: list[list[str]]) -> list[tuple[str, str, str, str]]:
    parts = []
    for coordinate, digest in locked:
        group, artifact, version = coordinate.split(":")
        parts.append((group, artifact, version, digest))
    return parts


if __name__ == "__main__":
    main()
