"""Every option exists at each door that its definition claims, and no door has one of its own that is not listed here.

The command is held against the definitions by `crates/cli/src/args/tests.rs`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lakerace as lr
from lakerace._lakerace import option_definitions
from lakerace._sql_advice import READING_OPTIONS
from lakerace.files import Store

JAVA = Path(__file__).parents[2] / "spark/src/main/java/lakerace/spark/OptionNames.java"

#: The calls that take the options of a command.
CALLS: dict[str, list[Callable[..., Any]]] = {
    "copy": [lr.copy],
    "scan": [lr.scan],
    "diff": [lr.diff],
    "sql": [lr.sql],
    "schema": [lr.schema],
    "check": [lr.check],
    "sync": [lr.sync],
    "tpch": [lr.tpch],
    "upsert": [lr.Table, lr.Table.upsert],
    "update": [lr.Table, lr.Table.update],
    "delete": [lr.Table, lr.Table.delete, lr.Table.delete_keys],
    "alter": [lr.Table, lr.Table.alter],
    "compact": [lr.Table, lr.Table.compact],
    "vacuum": [lr.Table, lr.Table.vacuum],
    "verify": [lr.Table, lr.Table.verify],
    "history": [lr.Table, lr.Table.history],
    "restore": [lr.Table, lr.Table.restore],
    "changes": [lr.Table, lr.Table.changes],
    "files-put": [Store, Store.put],
    "files-get": [Store, Store.get],
    "files-ls": [Store],
    "files-rm": [Store, Store.remove],
    "files-mv": [Store, Store.rename],
    "files-import": [Store, Store.import_tree],
    "files-export": [Store, Store.export_tree],
    "files-stat": [Store, Store.stat],
    "files-verify": [Store, Store.verify],
    "files-compact": [Store, Store.compact],
}
FILES = {job for job in CALLS if job.startswith("files-")}
TABLE = {"alter", "vacuum", "verify", "history", "restore", "changes"}

READING = "columns where params at batch_rows format timestamp_unit union_columns file_name_column flatten unflatten"
TEXTS = (
    "delimiter quote escape null_strings header schema infer_rows on_bad_row skip_rows comment date_format timestamp_format "
    "decimal_comma encoding sheet"
)

#: What Python lacks: keywords, the jobs without them, and the reason.
LACKS: list[tuple[str, set[str], str]] = [
    (
        " ".join([READING, TEXTS]),
        {"upsert"},
        "the source is a scan with these options",
    ),
    (
        f"format {TEXTS}",
        {"delete"},
        "the keys are a scan with these options",
    ),
    ("durability", {"scan", "sql", "diff", "changes"}, "rows are handed over in memory, and no file is written"),
    ("io", {"scan", "sql", "diff", "schema", "check", "history", "verify", "changes"}, "no table is written"),
    ("io", {"delete", "alter", "vacuum", "restore", "sync"} | FILES, "the writes are small"),
    ("threads", TABLE | FILES | {"schema", "check"}, "the work is small, or bound by requests"),
    (
        "min_seek_size max_request_size max_requests_in_flight extra_bytes_tolerance prefetch_size",
        TABLE | FILES | {"upsert", "update", "delete", "compact", "sync", "schema", "check", "tpch"},
        "no scan of much data, or one whose plan the job makes",
    ),
    (
        "min_seek_size max_request_size max_requests_in_flight extra_bytes_tolerance prefetch_size",
        {"sql"},
        "a relation is a scan with these options",
    ),
    ("if_exists", {"files-get"}, "contents come as bytes"),
    ("if_exists", {"files-import"}, "an import replaces the files of its names"),
]

#: What the command lacks: keywords of Python, the jobs that have them, and the reason. Positional arguments are those of the command.
OWN: list[tuple[str, set[str], str]] = [
    ("pickle_credentials", {"scan"}, "a pickle is Python's"),
    ("progress", {"copy", "scan", "upsert"}, "the command shows it on a terminal"),
    ("params", {"sql"}, "the shell puts values into the query"),
    ("key", TABLE - {"verify"} | {"compact", "update"}, "a table is opened with its key for all of its jobs"),
    (
        "key create read_only encrypt busy_timeout page_bytes wal_limit_bytes",
        FILES,
        "a store is opened once for many calls",
    ),
    ("compression pack_bytes", FILES - {"files-put", "files-import"}, "a store is opened once for many calls"),
    ("mtime_ms", {"files-put"}, "the command takes the time of the file"),
    ("folder progress", {"files-import", "files-export"}, "a folder is a positional argument, and progress a bar"),
]

#: Options of Spark that no other door has, and the reason.
SPARK_OWN = {
    **dict.fromkeys(
        [
            "startingTimestamp",
            "maxFilesPerTrigger",
            "maxBytesPerTrigger",
            "ignoreChanges",
            "ignoreDeletes",
            "skipChangeCommits",
        ],
        "Spark alone reads streams",
    ),
    "mergeSchema": "the command and Python have evolve, which names the changes",
    "overwriteSchema": "the command and Python replace the columns of a table with mode=overwrite",
    "version": "Spark's other name for versionAsOf",
    "timestampAsOf": "the command and Python have one option for versions and times",
    "timestamp": "Spark's other name for timestampAsOf",
    "distribution": "Spark shuffles rows before they are written",
    "partitionOverwriteMode": "Spark's own",
    "readChangeFeed": "Spark's name for the job `changes`",
    "txnAppId": "a stream's transactions, as in Delta",
    "txnVersion": "a stream's transactions, as in Delta",
    "max_task_bytes": "Spark reads by tasks",
}


def parameters(job: str) -> dict[str, inspect.Parameter]:
    """The parameters of a command's calls in Python."""
    return {p.name: p for call in CALLS[job] for p in inspect.signature(call).parameters.values()}


def keywords(job: str) -> dict[str, Any]:
    """The names of a command's options in Python, with their defaults."""
    found = parameters(job).values()
    return {p.name: p.default for p in found if p.default is not p.empty or p.kind is p.KEYWORD_ONLY}


def expanded(rows: list[tuple[str, set[str], str]]) -> set[tuple[str, str]]:
    """Each keyword with each of its jobs."""
    assert all(reason for _, _, reason in rows)
    return {(keyword, job) for names, jobs, _ in rows for keyword in names.split() for job in jobs}


def test_queries_give_advice_on_all_options_for_reading_texts() -> None:
    assert sorted(READING_OPTIONS) == sorted(TEXTS.split())


def test_python_has_the_options_of_the_command() -> None:
    defined = {
        (option["keyword"], job) for option in option_definitions() for job in option["jobs"] if option["keyword"]
    }
    defined = {(keyword, job) for keyword, job in defined if job in CALLS}
    # What has a flag in the command may be positional in Python.
    named = {(name, job) for job in CALLS for name in parameters(job)}
    assert defined - named == expanded(LACKS)
    found = {(keyword, job) for job in CALLS for keyword in keywords(job)}
    assert found - defined == expanded(OWN)


def test_defaults_are_the_same() -> None:
    seen = 0
    for option in option_definitions():
        for job in set(option["jobs"]) & set(CALLS):
            default = keywords(job).get(option["keyword"])
            if option["default"] is None or default is None or default is inspect.Parameter.empty:
                continue
            seconds = re.fullmatch(r"([0-9]+)s", option["default"])
            expected = float(seconds[1]) if seconds else option["default"]
            assert default == expected, (job, option["id"])
            seen += 1
    assert seen == 4


def test_settings_of_stores_are_known() -> None:
    settings = {option["setting"] for option in option_definitions() if option["setting"]}
    assert settings == {"allow_foreign_paths", "retry_time"}


def test_spark_has_the_options_that_it_claims() -> None:
    text = JAVA.read_text(encoding="utf-8")
    known = re.search(r"KNOWN = Arrays\.asList\((.*?)\);", text, re.DOTALL)
    assert known
    names = set(re.findall(r'"(\w+)"', known[1]))
    claimed = {option["spark"] for option in option_definitions() if option["spark"]}
    prefixes = {name for name in claimed if "." in name}
    assert claimed - prefixes == names - SPARK_OWN.keys()
    assert {name.split(".")[0] for name in prefixes} == {"table", "storage"}
    assert set(SPARK_OWN) <= names


def test_each_door_says_it_in_its_words(tmp_path: Path) -> None:
    """One error, by the command and in Python."""
    from conftest import run

    (tmp_path / "a.csv").write_text("a\n1\n")
    lr.copy(tmp_path / "a.csv", tmp_path / "b.parquet")
    done = run("copy", tmp_path / "a.csv", tmp_path / "b.parquet", "--json")
    assert done.error["advice"].endswith("replace it with --mode overwrite")
    try:
        lr.copy(tmp_path / "a.csv", tmp_path / "b.parquet")
    except lr.ConflictError as error:
        assert str(error).endswith('replace it with mode="overwrite")')
    else:
        raise AssertionError
