"""Packages that some calls need and that are not installed with lakerace."""

from __future__ import annotations

import importlib
from typing import Any

#: The extra of lakerace that brings a package.
EXTRAS = {"pyarrow": "arrow", "polars": "polars", "pandas": "pandas", "duckdb": "duckdb"}


def needed(package: str, *, extra: str | None = None) -> Any:
    """Imports a package.

    Raises:
        ModuleNotFoundError: The package is not installed; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        extra = extra or EXTRAS[package]
        advice = f'pip install "lakerace[{extra}]"'
        raise ModuleNotFoundError(f"this call needs {package}: {advice}", name=package) from None
