"""Moves tables between files, Delta tables and databases.

Scans are read by all consumers of the Arrow PyCapsule interface. Errors are subclasses of :class:`Error`, one for each reaction of the
caller.

Examples:
    >>> import lakerace as lr
    >>> copied = lr.copy("orders.csv", "lake/orders.parquet")
    >>> scan = lr.scan("lake/orders.parquet", columns=["day", "price"], where="price > 9000")
    >>> plan = scan.explain()  # the plan and its price; no data was read
    >>> scan.to_polars().shape
    (2, 2)
    >>> copied = lr.copy(scan, "s3://lake/orders.parquet")  # doctest: +SKIP
"""

import lakerace._library  # noqa: F401 (before all that needs the native module)  # isort: skip
from lakerace._lakerace import __version__

#: As `typing` has it; the import of `typing` takes a third of the time of this module's.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lakerace import aio, files
    from lakerace._api import Checksum, CopyResult, DryRun, Requests, check, checksum, copy, scan, schema
    from lakerace._config import use_config
    from lakerace._diff import Diff, diff
    from lakerace._errors import (
        ConflictError,
        CorruptDataError,
        Error,
        InternalError,
        InvalidInputError,
        LakeraceWarning,
        NotFoundError,
        UnavailableError,
        UnsupportedError,
        UsageError,
    )
    from lakerace._merge import MergeBuilder, Merged
    from lakerace._scan import PUBLIC_SETTINGS, Explain, Scan
    from lakerace._sql import SqlExplain, SqlRows, sql
    from lakerace._sync import SyncResult, sync
    from lakerace._table import Table
    from lakerace._table_results import (
        Altered,
        Changed,
        Compacted,
        Finding,
        Restored,
        UpsertPlan,
        Vacuumed,
        Verified,
        Version,
    )
    from lakerace._tpch import Generated, GeneratedTable, tpch

__all__ = [
    "PUBLIC_SETTINGS",
    "Altered",
    "Changed",
    "Checksum",
    "Compacted",
    "ConflictError",
    "CopyResult",
    "CorruptDataError",
    "Diff",
    "DryRun",
    "Error",
    "Explain",
    "Finding",
    "Generated",
    "GeneratedTable",
    "InternalError",
    "InvalidInputError",
    "LakeraceWarning",
    "MergeBuilder",
    "Merged",
    "NotFoundError",
    "Requests",
    "Restored",
    "Scan",
    "SqlExplain",
    "SqlRows",
    "SyncResult",
    "Table",
    "UnavailableError",
    "UnsupportedError",
    "UpsertPlan",
    "UsageError",
    "Vacuumed",
    "Verified",
    "Version",
    "__version__",
    "aio",
    "check",
    "checksum",
    "copy",
    "diff",
    "files",
    "scan",
    "schema",
    "sql",
    "sync",
    "tpch",
    "use_config",
]


#: The modules of the public names, each of which is imported at the first use of one: a command needs few of them.
_MODULES = {
    "_api": ("Checksum", "CopyResult", "DryRun", "Requests", "check", "checksum", "copy", "scan", "schema"),
    "_config": ("use_config",),
    "_diff": ("Diff", "diff"),
    "_errors": (
        "ConflictError",
        "CorruptDataError",
        "Error",
        "InternalError",
        "InvalidInputError",
        "LakeraceWarning",
        "NotFoundError",
        "UnavailableError",
        "UnsupportedError",
        "UsageError",
    ),
    "_merge": ("MergeBuilder", "Merged"),
    "_scan": ("PUBLIC_SETTINGS", "Explain", "Scan"),
    "_sql": ("SqlExplain", "SqlRows", "sql"),
    "_sync": ("SyncResult", "sync"),
    "_table": ("Table",),
    "_table_results": (
        "Altered",
        "Changed",
        "Compacted",
        "Finding",
        "Restored",
        "UpsertPlan",
        "Vacuumed",
        "Verified",
        "Version",
    ),
    "_tpch": ("Generated", "GeneratedTable", "tpch"),
}


def __getattr__(name: str) -> "Any":
    """Imports the module of a public name at its first use."""
    from importlib import import_module

    if name in {"aio", "files"}:
        return import_module(f"lakerace.{name}")
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(f"lakerace.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
