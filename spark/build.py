"""Builds the jar of the Spark connector: its classes against Spark's own jars, and the native library of this machine.

python spark/build.py                      # spark/target/lakerace-spark-VERSION.jar, with a release build of the library
python spark/build.py --profile test       # the same with a build of tests (tests/profile.toml)
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HOME = Path(__file__).resolve().parent
ROOT = HOME.parent
#: The oldest Spark that the connector runs on: its classes are compiled against.
OLDEST = "3.5.8"
#: What a class file may at most demand: the Java of Spark 3.5's users.
RELEASE = "8"
LIBRARY = {"Linux": "liblakerace_spark.so", "Darwin": "liblakerace_spark.dylib", "Windows": "lakerace_spark.dll"}
PLATFORM = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}
#: Entries of a jar have a time of their own, so that equal contents make an equal jar.
ENTRY_TIME = (1980, 1, 1, 0, 0, 0)


def environment(version: str) -> Path:
    """The Python of an environment that has this PySpark, which is made where it is absent."""
    folder = ROOT / ".cache" / "spark" / f"spark-{version}"
    python = folder / "bin" / "python"
    stamp = folder / ".made"
    wanted = (HOME / "requirements" / f"spark-{version}.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "/dev/stdin"]
        subprocess.run(command, check=True, input=wanted, text=True)
        stamp.write_text(wanted)
    return python


def jars(version: str) -> Path:
    """The folder of a PySpark's own jars."""
    command = [str(environment(version)), "-c", "import pyspark; print(pyspark.__path__[0])"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return Path(found.stdout.strip()) / "jars"


def metadata() -> tuple[str, Path]:
    """The version of the workspace, and where cargo builds."""
    import json

    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    version = next(package["version"] for package in found["packages"] if package["name"] == "lakerace-spark")
    return version, Path(found["target_directory"])


def library(profile: str, target: Path) -> Path:
    """The native library, built and stripped of what only a debugger reads."""
    tested = profile == "test"
    # For tests as the Rust tests are built, which have compiled all that it links.
    what = ["--release", "--config", "tests/profile.toml", "--workspace", "--all-features", "--lib"]
    what = what if tested else ["-p", "lakerace-spark", "--profile", profile]
    subprocess.run(["cargo", "build", "--locked", "--quiet", *what], check=True, cwd=ROOT)
    built = target / ("release" if tested else profile) / LIBRARY[platform.system()]
    if platform.system() != "Linux":
        return built
    stripped = HOME / "target" / built.name
    stripped.parent.mkdir(exist_ok=True)
    subprocess.run(["strip", "--strip-unneeded", "-o", str(stripped), str(built)], check=True)
    return stripped


def classes(folder: Path) -> None:
    """Compiles the Java sources."""
    sources = sorted(str(path) for path in (HOME / "src/main/java").rglob("*.java"))
    # Spark's class files name annotations that its jars lack.
    warnings = "-Xlint:all,-options,-classfile,-processing"
    path = f"{jars(OLDEST)}/*"
    command = ["javac", "--release", RELEASE, warnings, "-proc:none", "-d", str(folder), "-cp", path, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if "Cannot find annotation method" not in line]
    if done.returncode != 0:
        raise SystemExit("\n".join(told))


def pack(jar: Path, folders: list[Path], native: Path) -> None:
    """Writes the jar at once or not at all."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    entries = {
        str(path.relative_to(folder)): path for folder in folders for path in folder.rglob("*") if path.is_file()
    }
    entries[f"native/{PLATFORM[platform.system()]}-{machine}/{native.name}"] = native
    entries["META-INF/LICENSE"] = ROOT / "LICENSE"
    hidden = jar.with_suffix(f".{os.getpid()}.tmp")
    with zipfile.ZipFile(hidden, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in ["META-INF/MANIFEST.MF", *sorted(entries)]:
            bytes_ = entries[name].read_bytes() if name in entries else b"Manifest-Version: 1.0\n"
            archive.writestr(zipfile.ZipInfo(name, ENTRY_TIME), bytes_, zipfile.ZIP_DEFLATED)
    hidden.rename(jar)


def main() -> None:
    """Builds, and prints the jar's path."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="jar", help="jar (a stripped release build) or test")
    profile = parser.parse_args().profile
    version, target = metadata()
    folder = HOME / "target" if profile == "jar" else HOME / "target" / "test"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as compiled:
        classes(Path(compiled))
        jar = folder / f"lakerace-spark-{version}.jar"
        pack(jar, [Path(compiled), HOME / "src/main/resources"], library(profile, target))
    print(jar)


if __name__ == "__main__":
    if shutil.which("javac") is None:
        sys.exit("javac is not here: install a JDK 17")
    main()
