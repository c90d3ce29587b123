"""The image: its versions are those of the other files, and what it is built from is all that the build needs."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).parents[2]


def dockerfile() -> list[str]:
    """The instructions, each on one line, without comments."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text())


def images() -> dict[str, str]:
    """The tags of the images that it is based on."""
    found = [re.fullmatch(r"FROM (\w+):(\S+)(?: AS \w+)?", line) for line in dockerfile() if line.startswith("FROM")]
    assert all(found), "an image is public, and has a tag"
    return {match[1]: match[2] for match in found if match}


def test_versions_are_those_of_the_other_files() -> None:
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    rust, _, rust_debian = images()["rust"].partition("-")
    assert rust.removesuffix(".0") == toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    assert f'RUSTUP_TOOLCHAIN: "{rust}"' in workflow
    assert f"ENV RUSTUP_TOOLCHAIN={rust}" in dockerfile()
    python, _, python_debian = images()["python"].partition("-")
    assert f'python-version: "{python}"' in workflow
    least = toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, python.split("."))) >= tuple(map(int, least.split(".")))
    # The wheel is built on the Debian that it runs on.
    assert python_debian == f"slim-{rust_debian}"


def test_the_build_is_that_of_the_package() -> None:
    lines = dockerfile()
    maturin = re.search(r"^maturin==(\S+)$", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    assert maturin
    assert any(f"maturin=={maturin[1]}" in line for line in lines)
    commands = toml("pyproject.toml")["project"]["scripts"]
    entry = next(json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRYPOINT"))
    assert entry == list(commands)
    user = next(line.removeprefix("USER ") for line in lines if line.startswith("USER"))
    assert user not in ("root", "0")
    assert lines.index(f"USER {user}") < lines.index('ENTRYPOINT ["lakerace"]')


def context() -> set[str]:
    """The files of the repository that `.dockerignore` leaves."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    kept = {name.removeprefix("!") for name in rules if name.startswith("!")}
    dropped = [name.removeprefix("**/") for name in rules if name.startswith("**/")]
    assert rules[0] == "*"
    return {
        name
        for name in listed
        if (name in kept or name.split("/")[0] in kept)
        and not any(fnmatch.fnmatch(part, rule) for rule in dropped for part in name.split("/"))
    }


def test_the_build_has_all_its_files() -> None:
    files = context()
    project = toml("pyproject.toml")
    named = {"Cargo.lock", "Cargo.toml", project["project"]["readme"], *project["project"]["license-files"]}
    named |= {"pyproject.toml", project["tool"]["maturin"]["manifest-path"]}
    named |= {f"{member}/Cargo.toml" for member in toml("Cargo.toml")["workspace"]["members"]}
    for path in ROOT.glob("crates/*/src/**/*.rs"):
        # Files of tests are not compiled.
        if path.name == "tests.rs" or "tests" in path.relative_to(ROOT).parts:
            continue
        for target in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', path.read_text()):
            named.add(str((path.parent / target).resolve().relative_to(ROOT)))
    assert named <= files, named - files
    others = {"crates", "python", "rust-toolchain.toml"}
    assert {name.split("/")[0] for name in files - named} <= others


def test_the_guide_has_the_commands() -> None:
    text = (ROOT / "docs/guide/platforms.md").read_text()
    head = (ROOT / "Dockerfile").read_text().splitlines()
    commands = [line.removeprefix("#").strip() for line in head if line.startswith("#   docker")]
    assert len(commands) == 2
    assert all(command in text for command in commands)
