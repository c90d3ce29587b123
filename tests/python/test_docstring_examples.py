"""The examples in docstrings of the Python package run, and give the results that they show."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import importlib
import inspect
import io
import shutil
import sqlite3
import sys
from datetime import date
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[2] / "python" / "lakerace"
#: The modules that programs import.
PUBLIC_MODULES = ("lakerace", "lakerace.aio", "lakerace.files", "lakerace.files.fsspec", "lakerace.files.zarr")
HEADING = "Examples:"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PARSER = doctest.DocTestParser()
CHECKER = doctest.OutputChecker()


class Documented(NamedTuple):
    """A docstring and the name that it belongs to."""

    name: str
    text: str

    @property
    def statements(self) -> list[doctest.Example]:
        """Its statements, in order."""
        return PARSER.get_examples(inspect.cleandoc(self.text), self.name)

    @property
    def statements_to_run(self) -> list[doctest.Example]:
        """Those that are not marked with `# doctest: +SKIP`."""
        return [one for one in self.statements if not one.options.get(doctest.SKIP)]


def documented(node: ast.AST, name: str) -> Iterator[Documented]:
    """The docstrings of a module, class or function and of all below it."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        text = ast.get_docstring(node)
        if text is not None:
            yield Documented(name, text)
    for child in ast.iter_child_nodes(node):
        yield from documented(child, f"{name}.{child.name}" if hasattr(child, "name") else name)


DOCSTRINGS = [
    found
    for path in sorted(PACKAGE.rglob("*.py"))
    for found in documented(ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(PACKAGE)))
]
EXAMPLES = [found for found in DOCSTRINGS if found.statements]
RUN = [found for found in EXAMPLES if found.statements_to_run]


def orders() -> pa.Table:
    """The table that most examples read."""
    return pa.table(
        {
            "order_id": [1, 2, 3, 4],
            "day": [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 2), date(2026, 1, 3)],
            "customer": ["ann", "bob", "ann", "eve"],
            "price": [120.0, 9500.0, 40.0, 12000.0],
        }
    )


def changes() -> pa.Table:
    """A changed order and a new one."""
    return pa.table(
        {
            "order_id": [2, 5],
            "day": [date(2026, 1, 2), date(2026, 1, 4)],
            "customer": ["bob", "dan"],
            "price": [9000.0, 75.5],
        }
    )


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name."""
    folder: Path = tmp_path_factory.mktemp("examples")
    pq.write_table(orders(), folder / "orders.parquet")
    pc.write_csv(orders(), folder / "orders.csv")
    pc.write_csv(changes(), folder / "changes.csv")
    with contextlib.closing(sqlite3.connect(folder / "events.db")) as database, database:
        database.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL)")
        database.executemany("INSERT INTO events VALUES (?, ?)", [(1, "click"), (2, "view"), (3, "click")])
    table = lr.Table(f"delta:{folder / 'lake' / 'orders'}", key="order_id")
    table.upsert(orders(), table_properties={"delta.enableChangeDataFeed": "true"})
    with lr.files.Store(folder / "pack.db") as store:
        store.put_many({"a/b.txt": b"hello", "a/c.txt": b"text", "notes.md": b"# Notes"})
    (folder / "site" / "css").mkdir(parents=True)
    (folder / "site" / "index.html").write_text("<h1>Orders</h1>")
    (folder / "site" / "css" / "main.css").write_text("h1 { color: teal }")
    return folder


@pytest.fixture
def in_folder(made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of these files as the working directory."""
    shutil.copytree(made_folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def compiled(statement: doctest.Example, name: str) -> CodeType:
    """A statement as a prompt runs it, with `await` as in `python -m asyncio`."""
    code = compile(statement.source, name, "single", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    assert isinstance(code, CodeType)
    return code


def shown(code: CodeType, names: dict[str, Any], loop: asyncio.AbstractEventLoop) -> str:
    """The output of a statement."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "displayhook", sys.__displayhook__)
        if code.co_flags & inspect.CO_COROUTINE:
            loop.run_until_complete(FunctionType(code, names)())
        else:
            exec(code, names)
    return output.getvalue()


@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("example", RUN, ids=lambda found: found.name)
def test_example_gives_the_results_that_it_shows(example: Documented) -> None:
    names: dict[str, Any] = {"lr": lr, "__name__": "__main__"}
    loop = asyncio.new_event_loop()
    try:
        for statement in example.statements_to_run:
            output = shown(compiled(statement, example.name), names, loop)
            assert CHECKER.check_output(statement.want, output, FLAGS), (
                f"{example.name}: {statement.source}shows\n{output}and the docstring has\n{statement.want}"
            )
    finally:
        loop.close()


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are written in the package's Python code."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        is_ours = isinstance(function, FunctionType) and function.__module__.startswith("lakerace.")
        if not name.startswith("_") and is_ours:
            yield name, function


def public() -> Iterator[tuple[str, Any]]:
    """All public functions, methods, properties and classes, and the modules that have them."""
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        yield module_name, module
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name]
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                yield f"{module_name}.{name}", value
            if not name.startswith("_") and inspect.isclass(value):
                yield from ((f"{module_name}.{name}.{member}", function) for member, function in members(value))


def test_all_public_names_have_an_example() -> None:
    names = dict(public())
    assert names
    # An override without a docstring shows that of the class of fsspec that it overrides.
    documented_names = {name: value.__doc__ for name, value in names.items() if value.__doc__ is not None}
    assert {name for name in names if name not in documented_names and ".LakeraceFileSystem." not in name} == set()
    assert [name for name, text in documented_names.items() if not PARSER.get_examples(text)] == []


def test_examples_have_one_form() -> None:
    assert [found.name for found in EXAMPLES if HEADING not in found.text.splitlines()] == []
    assert [found.name for found in DOCSTRINGS if "Example:" in found.text or "```" in found.text] == []
    assert [found.name for found in DOCSTRINGS if HEADING in found.text.splitlines() and not found.statements] == []


def test_only_what_needs_a_server_is_skipped() -> None:
    skipped = [found.name for found in EXAMPLES for one in found.statements if one.options.get(doctest.SKIP)]
    assert skipped == ["__init__.py", "_sync.py.sync"]
