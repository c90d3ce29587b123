"""Modules that `import lakerace` loads, each case in a process of its own."""

import subprocess
import sys

import pytest


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


def test_dir_names_files_before_their_first_use() -> None:
    assert printed("import lakerace; print(set(lakerace.__all__) <= set(dir(lakerace)))") == "True"


def test_unknown_names_are_attribute_errors() -> None:
    code = "import lakerace; print(hasattr(lakerace, 'no_such_name'))"
    assert printed(code) == "False"
