"""Import circles within our crates: files whose modules use one another, so that none can be read or moved alone.

A module and those in its folder belong together: what goes between a file and its own folder is not counted. `NATURAL`
lists the circles that stand all the same. A circle of other files, or of more than these, is a fault. So is the use of
one module of `SIBLINGS` by another, and of a name by way of the crate's root, which hands it on to other crates.

python tests/circles.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Files of a circle by their crate, below its `src`, and why they know each other.
NATURAL: list[tuple[str, frozenset[str], str]] = [
    (
        "io",
        frozenset({"durability", "job", "pipe"}),
        "a job has its pipes and the folders that it has to sync, and who waits for a pipe or syncs looks at the job",
    ),
    (
        "io",
        frozenset(
            f"store/{name}"
            for name in [
                "azure",
                "error",
                "foreign_options",
                "google",
                "http",
                "kind",
                "options",
                "s3",
                "settings",
                "wrap/attempt",
                "wrap/conditional",
                "wrap/metered",
                "wrap/retrying",
            ]
        ),
        "a kind of store names the functions that read its settings and build its client, and settings, errors and clients look at the kind",
    ),
    (
        "delta",
        frozenset({"snapshot", "table"}),
        "a table opens its versions, and a version knows its table, as in the kernel",
    ),
    (
        "database",
        frozenset({"elasticsearch/sink", "elasticsearch/target"}),
        "a target begins a sink, which ends by the target's steps",
    ),
    ("database", frozenset({"mongodb/sink", "mongodb/target"}), "as of Elasticsearch"),
    ("database", frozenset({"sqlite/sink", "sqlite/target"}), "as of Elasticsearch"),
    ("database", frozenset({"mongodb/elements", "mongodb/json"}), "documents are in documents"),
    ("database", frozenset({"elasticsearch/decode/fields", "elasticsearch/decode/slot"}), "objects are in objects"),
]

#: Modules of a crate, those of them that none of the others uses, and why.
SIBLINGS: list[tuple[str, frozenset[str], frozenset[str], str]] = [
    (
        "format",
        frozenset({"text", "arrow_ipc", "avro", "csv", "excel", "json_lines", "orc", "parquet"}),
        frozenset({"arrow_ipc", "avro", "csv", "excel", "json_lines", "orc", "parquet"}),
        "formats know nothing of each other; what formats of text share is in text",
    ),
    (
        "files",
        frozenset({"directory", "memory", "packs", "sqlite"}),
        frozenset({"directory", "memory", "packs", "sqlite"}),
        "homes know nothing of each other",
    ),
    (
        "database",
        frozenset({"elasticsearch", "mongodb", "sqlite"}),
        frozenset({"elasticsearch", "mongodb", "sqlite"}),
        "databases know nothing of each other",
    ),
]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"', re.DOTALL)
_TOKEN = re.compile(r"\bmod\s+(\w+)\s*\{|\buse\s+([^;]+);|\b((?:crate|super|self)(?:::\w+)+)|([{}])")
_PATH = re.compile(r'#\[path = "([^"]+)"\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);')
_MODULE = re.compile(r"(#\[cfg\(test\)\]\s*)?(?:^|\n)\s*(?:pub(?:\([^)]*\))? )?mod (\w+);")


@dataclass
class Module:
    """A file: the names that it takes from others, and the paths that it uses."""

    path: tuple[str, ...]
    file: Path
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    globs: list[tuple[str, ...]] = field(default_factory=list)
    used: set[tuple[str, ...]] = field(default_factory=set)


def modules(root: Path) -> dict[tuple[str, ...], Module]:
    """The modules of a crate whose sources are here, without tests."""
    found: dict[tuple[str, ...], Module] = {}
    todo: list[tuple[tuple[str, ...], Path]] = [
        ((), root / name) for name in ("lib.rs", "main.rs") if (root / name).exists()
    ]
    while todo:
        path, file = todo.pop()
        found[path] = module = Module(path, file)
        text = file.read_text(encoding="utf-8")
        below = file.parent if file.stem in ("lib", "main") else file.with_suffix("")
        placed = {name: file.parent / place for place, name in _PATH.findall(text)}
        text = _COMMENT.sub("", text)
        for is_test, name in _MODULE.findall(text):
            child = placed.get(name, below / f"{name}.rs")
            if not is_test and child.exists():
                todo.append(((*path, name), child))
        _read(module, _STRING.sub('""', text))
    return found


def _read(module: Module, text: str) -> None:
    """Notes what a file uses. Modules within it are parts of it, whose `super` is another one."""
    inner: list[str | None] = []
    for match in _TOKEN.finditer(text):
        here = (*module.path, *(name for name in inner if name))
        if match[1]:
            inner.append(match[1])
        elif match[4] == "{":
            inner.append(None)
        elif match[4] == "}":
            inner[-1:] = []
        elif match[3]:
            if path := _absolute(match[3].split("::"), here):
                module.used.add(path)
        else:
            for parts, name in _expanded(match[2]):
                if not (path := _absolute(parts, here)):
                    # A path that begins with a child.
                    path = (*here, *parts)
                if name == "*":
                    module.globs.append(path)
                else:
                    module.names.setdefault(name, path)
                module.used.add(path)


def _expanded(tree: str) -> Iterator[tuple[list[str], str]]:
    """Each path of a `use` and the name that it gives."""
    tree = tree.strip()
    if (brace := tree.find("{")) < 0:
        path, _, alias = tree.partition(" as ")
        parts = [part.strip() for part in path.split("::")]
        if parts[-1] == "*":
            yield parts[:-1], "*"
        elif parts[-1] == "self":
            yield parts[:-1], alias.strip() or parts[-2]
        else:
            yield parts, alias.strip() or parts[-1]
        return
    depth, start, inside = 0, brace + 1, tree[: tree.rfind("}")]
    for at in range(brace + 1, len(inside) + 1):
        sign = inside[at] if at < len(inside) else ","
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            if part := inside[start:at].strip():
                yield from _expanded(tree[:brace] + part)
            start = at + 1


def _absolute(parts: list[str], here: tuple[str, ...]) -> tuple[str, ...] | None:
    """A path from the crate's root; `None` for one of another crate, or of a child."""
    if parts[0] == "crate":
        return tuple(parts[1:])
    if parts[0] == "self":
        return here + tuple(parts[1:])
    if parts[0] != "super":
        return None
    up = next((at for at, part in enumerate(parts) if part != "super"), len(parts))
    return here[: len(here) - up] + tuple(parts[up:])


def _home(path: tuple[str, ...], crate: dict[tuple[str, ...], Module], depth: int = 0) -> tuple[str, ...] | None:
    """The module that has what a path leads to, past names that others hand on."""
    if depth > 8:
        return None
    at: tuple[str, ...] = ()
    for number, name in enumerate(path):
        if (*at, name) in crate:
            at = (*at, name)
            continue
        module = crate.get(at)
        if module and (target := module.names.get(name)) and target != path[: number + 1]:
            return _home((*target, *path[number + 1 :]), crate, depth + 1)
        for glob in module.globs if module else ():
            if glob in crate and name in crate[glob].names:
                return _home((*glob, *path[number:]), crate, depth + 1)
        return at
    return at


def _edges(crate: dict[tuple[str, ...], Module]) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    edges = {}
    for path, module in crate.items():
        homes = {home for used in module.used if (home := _home(used, crate)) is not None}
        # The crate's root is above all; a parent and its child belong together.
        edges[path] = {
            home for home in homes if home and path and home[: len(path)] != path and path[: len(home)] != home
        }
    return edges


def circles(edges: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
    """Strongly connected components of more than one module (Tarjan)."""
    index: dict[tuple[str, ...], int] = {}
    low: dict[tuple[str, ...], int] = {}
    stack: list[tuple[str, ...]] = []
    found = []

    def visit(node: tuple[str, ...]) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for node in edges:
        if node not in index:
            visit(node)
    return found


def is_allowed(crate: str, circle: list[tuple[str, ...]]) -> bool:
    """Whether all files of a circle are those of one on the list."""
    names = {"/".join(path) for path in circle}
    return any(crate == of and names <= known for of, known, _ in NATURAL)


def forbidden(crate: str, edges: dict[tuple[str, ...], set[tuple[str, ...]]]) -> Iterator[str]:
    """Uses of one sibling by another."""
    for name, users, unused, why in SIBLINGS:
        if name != crate:
            continue
        if missing := (users | unused) - {path[0] for path in edges if path}:
            yield f"crates/{crate}: SIBLINGS names modules that do not exist: {', '.join(sorted(missing))}"
        for path, others in sorted(edges.items()):
            for other in sorted(others):
                if path[0] in users and other[0] in unused - {path[0]}:
                    yield f"crates/{crate}: {'/'.join(path)} uses {'/'.join(other)}: {why}"


def past_the_root(name: str, crate: dict[tuple[str, ...], Module]) -> Iterator[str]:
    """Names of a module that other modules of the crate take from its root, which is above all of them."""
    root = crate.get(())
    names = {} if root is None else root.names
    handed_on = {known: path for known, path in names.items() if (known,) not in crate and path[:1] in crate}
    for path, module in sorted(crate.items()):
        for used in sorted(module.used if path else ()):
            if used and used[0] in handed_on:
                home = "::".join(handed_on[used[0]])
                yield f"crates/{name}: {'/'.join(path)} uses crate::{used[0]}: write crate::{home}"


def main() -> int:
    """Prints circles that are not on the list, each edge in them, uses among siblings, and uses of the root's names; 1 if
    there are any."""
    faults: list[str] = []
    files, allowed = 0, 0
    for root in sorted(Path(__file__).parents[1].glob("crates/*/src")):
        name, crate = root.parent.name, modules(root)
        files += len(crate)
        edges = _edges(crate)
        faults += forbidden(name, edges)
        faults += past_the_root(name, crate)
        for circle in circles(edges):
            if is_allowed(name, circle):
                allowed += 1
                continue
            inside = [f"{'/'.join(a)} -> {'/'.join(b)}" for a in circle for b in sorted(edges[a]) if b in circle]
            faults.append(f"crates/{name}: {len(circle)} files use one another: {', '.join(inside)}")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{files} modules: {len(faults)} faults, and {allowed} circles that tests/circles.py knows")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
