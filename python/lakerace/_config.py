"""The configuration file, which names connections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakerace import _lakerace
from lakerace._arguments import checked_arguments

if TYPE_CHECKING:
    from lakerace._api import Location


@checked_arguments
def use_config(file: Location | None) -> None:
    """Chooses the configuration file of this process, whose connections are locations such as `@lake/orders`.

    Without a call, and after one with `None`, it is that of the variable `LAKERACE_CONFIG`, else `lakerace/config.toml` in
    `XDG_CONFIG_HOME` or `~/.config`. A changed file is read again. Defaults of options are for the command alone.

    Args:
        file: A file in TOML.

    Raises:
        NotFoundError: It does not exist.
        UsageError: It is not valid. The message has file and line.

    Examples:
        >>> from pathlib import Path
        >>> with open("connections.toml", "w") as file:
        ...     _ = file.write(f"[connection.here]\\nurl = '{Path.cwd()}'")
        >>> lr.use_config("connections.toml")
        >>> lr.scan("@here/orders.parquet").count()
        4
        >>> lr.use_config(None)
    """
    _lakerace.use_config(None if file is None else os.fspath(file))
