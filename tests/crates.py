"""Checks the crates that the build takes: licences, versions that stand side by side, the oldest Rust that is promised, files that nothing
compiles, features that have a crate compiled twice, and pages that a published crate lacks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

#: Licences that a program under Apache-2.0 may take in.
LICENCES = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
}

#: Crates of which two versions are built, as the crates that need them have not moved yet. None of their types crosses our interfaces.
TWICE = {
    "base64",
    "core-foundation",
    "crypto-common",
    "digest",
    "getrandom",
    "itertools",
    "quick-xml",
    "r-efi",
    "rand",
    "rand_core",
    "syn",
    "windows-sys",
}


_MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", re.MULTILINE)
_PATH = re.compile(r'path = "([^"]+)"')


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression leaves a choice of :data:`LICENCES` alone."""
    names = re.split(r"\s*(\(|\)|\bOR\b|\bAND\b|/)\s*", expression)
    words = {"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}
    code = " ".join(words.get(name, str(name in LICENCES)) for name in names if name.strip())
    return bool(eval(code, {"__builtins__": {}}))


def faults(packages: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the crates, a line each."""
    found, versions = [], defaultdict(set)
    for package in packages:
        versions[package["name"]].add(package["version"])
        if not is_allowed(package["license"] or ""):
            found.append(f"{package['name']} {package['version']}: licence {package['license']!r} is not on the list")
        if not package["repository"] and package["source"] is None:
            found.append(f"{package['manifest_path']}: repository is not set")
    twice = {name for name, all_ in versions.items() if len(all_) > 1}
    found += [f"{name} is built in versions {sorted(versions[name])}" for name in sorted(twice - TWICE)]
    found += [f"{name} is built once: take it off the list in tests/crates.py" for name in sorted(TWICE - twice)]
    return found


def oldest_rust(packages: list[dict[str, Any]]) -> list[str]:
    """In CI, the compiler is the oldest that Cargo.toml promises: what builds there builds with all that it promises."""
    promised = {package["rust_version"] for package in packages if package["source"] is None}
    here = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if not os.environ.get("CI") or promised == {here.rpartition(".")[0]}:
        return []
    return [f"rustc {here} builds here, and Cargo.toml promises {sorted(promised)}: take that one, or promise less"]


def unnamed_sources(packages: list[dict[str, Any]]) -> list[str]:
    """Files of Rust in a crate of ours that no `mod` names: nothing compiles them."""
    found = []
    for package in packages:
        root = Path(package["manifest_path"]).parent / "src"
        if package["source"] is None and root.is_dir():
            todo, named = [root / "lib.rs", root / "main.rs"], set()
            while todo:
                file = todo.pop()
                if file in named or not file.exists():
                    continue
                named.add(file)
                text = file.read_text(encoding="utf-8")
                below = file.parent if file.stem in ("lib", "main") else file.with_suffix("")
                todo += [below / f"{name}.rs" for name in _MODULE.findall(text)]
                todo += [file.parent / path for path in _PATH.findall(text)]
            found += [f"{file}: no module names it" for file in sorted(set(root.rglob("*.rs")) - named)]
    return found


def unreadable_packages(packages: list[dict[str, Any]]) -> list[str]:
    """Crates that are published without a README or the licence, which `cargo package` takes from their folder."""
    published = [package for package in packages if package["source"] is None and package["publish"] is None]
    wanted = [
        Path(package["manifest_path"]).parent / name for package in published for name in ("README.md", "LICENSE")
    ]
    return [f"{path}: a published crate needs it" for path in wanted if not path.is_file()]


def unlisted_in_tests(packages: list[dict[str, Any]]) -> list[str]:
    """Crates of ours that tests/profile.toml does not name: their tests would run without assertions."""
    profile = (Path(__file__).parent / "profile.toml").read_text(encoding="utf-8")
    ours = {package["name"] for package in packages if package["source"] is None}
    listed = set(re.findall(r"^\[profile\.release\.package\.([\w-]+)\]", profile, re.MULTILINE))
    return [f"{name}: stands in one of Cargo.toml and tests/profile.toml alone" for name in sorted(ours ^ listed)]


def compiled_twice() -> list[str]:
    """Crates whose features differ between the package and its tests: `make test` would compile them, and what needs them, twice."""
    package = _features("--manifest-path", "crates/python/Cargo.toml", "--features", "workspace-dependencies")
    workspace = _features("--workspace", "--all-features", kinds="normal,build,dev")
    return [
        f"{name}: the tests have other features of it than the package; add them to workspace-dependencies in crates/python/Cargo.toml"
        for name, features in sorted(package.items())
        if not features <= workspace.get(name, set())
    ]


def _features(*chosen: str, kinds: str = "normal,build") -> dict[str, set[str]]:
    """The sets of features of each crate of others that a build takes, by name and version."""
    command = ["cargo", "tree", "--locked", *chosen, "--edges", kinds, "--prefix", "none", "--format", "{p}|{f}"]
    found = defaultdict(set)
    for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines():
        name, _, features = line.removesuffix(" (*)").partition("|")
        if name and "(/" not in name:
            found[name].add(features)
    return found


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["packages"]
    found = faults(packages) + oldest_rust(packages) + unnamed_sources(packages)
    found += unreadable_packages(packages) + unlisted_in_tests(packages) + compiled_twice()
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(packages)} crates: {len(found)} faults in licences, versions, manifests, modules and features")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
