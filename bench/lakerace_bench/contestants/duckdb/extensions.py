"""Extensions of duckdb, from PyPI."""

from __future__ import annotations

import sys
from typing import Any

import contest


def load(connection: Any, name: str) -> None:
    """Loads one, or says that it is not there."""
    try:
        from duckdb_extensions import import_extension
    except ImportError:
        raise contest.UnableError(f"its {name} extension is not installed") from None
    connection.execute(f"SET extension_directory = '{sys.prefix}/duckdb-extensions'")
    import_extension(name, con=connection)


def use_s3(connection: Any, s3: dict[str, str]) -> str:
    """Makes it speak S3; returns the URL of the job's object."""
    load(connection, "httpfs")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{s3['access_key']}', SECRET '{s3['secret_key']}', "
        f"REGION '{s3['region']}', ENDPOINT '{s3['endpoint']}', USE_SSL false, URL_STYLE path)"
    )
    return f"s3://{s3['bucket']}/{s3['key']}"
