"""Modules that `import lakerace` loads, each case in a process of its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lakerace


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_loads_neither_files_nor_other_libraries() -> None:
    heavy = ("lakerace.files", "pyarrow", "polars", "pandas", "numpy")
    assert printed(f"import sys, lakerace; print([name for name in {heavy} if name in sys.modules])") == "[]"


@pytest.mark.parametrize(
    "code",
    [
        "import lakerace; print(lakerace.files.__name__)",
        "from lakerace import files; print(files.__name__)",
        "import lakerace.files; print(lakerace.files.__name__)",
        "from lakerace import *; print(files.__name__)",
    ],
)
def test_files_are_imported_at_their_first_use(code: str) -> None:
    assert printed(code) == "lakerace.files"


def test_import_loads_the_native_module_alone() -> None:
    code = "import sys, lakerace; print(sorted(name for name in sys.modules if name.startswith('lakerace.')))"
    assert printed(code) == "['lakerace._lakerace', 'lakerace._library']"


def test_each_public_name_is_there_and_type_checkers_know_it() -> None:
    for name in lakerace.__all__:
        assert getattr(lakerace, name) is not None
    source = ast.parse(Path(lakerace.__file__).read_text())
    imports = [node for node in ast.walk(source) if isinstance(node, ast.ImportFrom) and node.module]
    of_checkers = {
        (node.module, alias.name) for node in imports if node.module.startswith("lakerace._") for alias in node.names
    }
    of_users = {(f"lakerace.{module}", name) for module, names in lakerace._MODULES.items() for name in names}
    assert of_checkers == of_users | {("lakerace._lakerace", "__version__")}
    assert {name for _, name in of_checkers} | {"aio", "files"} == set(lakerace.__all__)


def test_dir_names_files_before_their_first_use() -> None:
    assert printed("import lakerace; print(set(lakerace.__all__) <= set(dir(lakerace)))") == "True"


def test_unknown_names_are_attribute_errors() -> None:
    code = "import lakerace; print(hasattr(lakerace, 'no_such_name'))"
    assert printed(code) == "False"
