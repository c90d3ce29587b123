"""Options of stores, requests and written files are errors where no place of a job takes them, at both doors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Each option with a value that is not its default, and whether a job of local Parquet files takes it: to read, to write, in a table.
OPTIONS: dict[str, tuple[list[str], bool, bool, bool]] = {
    "retry time": (["--retry-time", "1s"], False, False, False),
    "foreign paths": (["--allow-foreign-paths"], False, False, True),
    "region": (["--storage-option", "aws_region=eu-west-1"], False, False, False),
    "key of s3fs": (["--storage-option", "key=x"], False, False, False),
    "google": (["--storage-option", "google_bearer_token=x"], False, False, False),
    "azure": (["--storage-option", "azure_storage_account_name=x"], False, False, False),
    "http": (["--storage-option", "http_user=x"], False, False, False),
    "timeout": (["--storage-option", "timeout=5s"], False, False, False),
    "seek": (["--min-seek-size", "1MiB"], True, False, True),
    "request": (["--max-request-size", "1MiB"], True, False, True),
    "requests": (["--max-requests-in-flight", "2"], True, False, True),
    "tolerance": (["--extra-bytes-tolerance", "0.5"], True, False, True),
    "prefetch": (["--prefetch-size", "1MiB"], True, False, True),
    "io": (["--io", "sync"], False, True, True),
}
DURABILITY = {"durability": (["--durability", "normal"], False, True, True)}


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A file of each format, a table, a database and a store of small files, each of one row."""
    rows = pa.table({"id": [1], "price": [1.5]})
    made = {ending: tmp_path / f"rows.{ending}" for ending in ("parquet", "orc", "csv", "jsonl", "arrow")}
    for file in made.values():
        lr.copy(rows, file)
    lr.copy(rows, f"delta:{tmp_path / 'table'}")
    lr.copy(rows, f"sqlite:{tmp_path / 'rows.db'}#rows", key="id")
    with lr.files.Store(tmp_path / "pack.db") as store:
        store.put("a", b"1")
    return {**made, "table": tmp_path / "table", "pack": tmp_path / "pack.db"}


def told(arguments: list[Any], options: list[str], takes: bool) -> None:
    """A command that takes options, or refuses them by name."""
    if takes:
        assert run(*arguments, *options).code == 0, (arguments, options)
    else:
        refused(arguments, options)


def refused(arguments: list[Any], options: list[str]) -> None:
    """A command that names the option that does not apply, and the places that it applies to."""
    done = run(*arguments, *options, "--json")
    error = json.loads(done.out)["error"]
    assert (done.code, error["kind"]) == (2, "usage"), (arguments, options, done.err)
    assert "does not apply" in error["message"], error
    assert options[-1].partition("=")[0] in error["message"] or options[0] in error["message"], error
    assert "it applies to" in error["advice"], error


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("source", ["parquet", "csv", "table"])
def test_a_scan_takes_what_its_place_reads(places: dict[str, Path], source: str, option: str) -> None:
    options, reads, _, in_table = OPTIONS[option]
    is_of_writes = option == "io"
    takes = not is_of_writes and (in_table if source == "table" else reads)
    told(["scan", places[source], "--count"], options, takes)


@pytest.mark.parametrize("option", OPTIONS | DURABILITY)
@pytest.mark.parametrize("source", ["parquet", "table"])
def test_a_query_takes_what_one_of_its_locations_does(
    places: dict[str, Path], tmp_path: Path, source: str, option: str
) -> None:
    options, reads, writes, in_table = (OPTIONS | DURABILITY)[option]
    takes = in_table and option != "io" if source == "table" else reads
    query = f"SELECT count(*) FROM '{places[source]}' JOIN more USING (id)"
    relation = ["--relation", f"more={places['csv']}"]

    def check(text: str, takes: bool, *output: Any) -> None:
        done = run("sql", text, *relation, *output, *options, "--json")
        assert (done.code, "does not apply" in done.err) == ((0, False) if takes else (2, True)), done.err

    if option not in DURABILITY:
        check(query, takes)
    # The file that gets the rows is a location, too.
    check(query, takes or writes, "-o", tmp_path / "out.csv")


def test_a_query_of_files_and_rows_in_memory_takes_no_settings_of_stores(places: dict[str, Path]) -> None:
    settings = {"aws_region": "eu-west-1"}
    rows = pa.table({"id": [1]})
    for query, relations in (
        (f"SELECT * FROM '{places['csv']}'", {}),
        ("SELECT * FROM t", {"t": rows}),
        ("SELECT 1", {}),
    ):
        with pytest.raises(lr.UsageError, match="aws_region does not apply"):
            lr.sql(query, storage_options=settings, **relations)


@pytest.mark.parametrize("option", OPTIONS | DURABILITY)
@pytest.mark.parametrize("target", ["out.parquet", "sqlite", "stdout"])
def test_a_copy_takes_what_one_of_its_places_does(
    places: dict[str, Path], tmp_path: Path, target: str, option: str
) -> None:
    options, reads, writes, _ = (OPTIONS | DURABILITY)[option]
    to: list[Any] = {
        "sqlite": [f"sqlite:{tmp_path / 'new.db'}#rows", "--key", "id"],
        "stdout": ["-", "--output-format", "csv"],
    }.get(target, [tmp_path / target])
    is_file = target.startswith("out.")
    takes_write = writes and (is_file or (target == "sqlite" and option == "durability"))
    told(["copy", places["parquet"], *to], options, reads or takes_write)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("source", ["sqlite", "tpch"])
def test_sources_without_files_take_no_option_of_files(
    places: dict[str, Path], tmp_path: Path, source: str, option: str
) -> None:
    location = {"sqlite": f"sqlite:{tmp_path / 'rows.db'}#rows", "tpch": "tpch:region?sf=0.01"}[source]
    told(["scan", location, "--count"], OPTIONS[option][0], takes=False)
    assert places


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("location", ["mongodb://127.0.0.1:1/d/c", "elasticsearch://127.0.0.1:1/i"])
def test_servers_are_not_asked_where_an_option_does_not_apply(location: str, option: str) -> None:
    told(["scan", location, "--count"], OPTIONS[option][0], takes=False)


#: Options that each kind of remote location takes.
REMOTE = {
    "s3://bucket/x.parquet": {"retry time", "foreign paths", "region", "key of s3fs", "timeout"},
    "gs://bucket/x.parquet": {"retry time", "foreign paths", "google", "timeout"},
    "az://container/x.parquet": {"retry time", "foreign paths", "azure", "timeout"},
    "http://127.0.0.1:1/x.parquet": {"retry time", "http", "timeout"},
}


@pytest.mark.parametrize(
    ("location", "option"),
    [
        (location, option)
        for location, taken in REMOTE.items()
        for option, (_, reads, _, _) in OPTIONS.items()
        if not reads and option not in taken
    ],
)
def test_a_remote_store_takes_settings_of_its_kind_alone(location: str, option: str) -> None:
    refused(["scan", location, "--count"], OPTIONS[option][0])


@pytest.mark.parametrize("option", DURABILITY | {"io": OPTIONS["io"]})
@pytest.mark.parametrize("target", ["s3://bucket/x.parquet", "delta:s3://bucket/table", "mongodb://127.0.0.1:1/d/c"])
def test_what_is_written_elsewhere_is_not_synced_here(places: dict[str, Path], target: str, option: str) -> None:
    told(["copy", places["parquet"], target], (OPTIONS | DURABILITY)[option][0], takes=False)


TABLE_COMMANDS: dict[str, tuple[list[str], bool]] = {
    "history": ([], False),
    "compact": ([], True),
    "update": (["--set", "price = 1", "--where", "id > 5"], True),
    "delete": (["--where", "id > 5"], True),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", TABLE_COMMANDS)
def test_jobs_of_tables(places: dict[str, Path], command: str, option: str) -> None:
    more, writes = TABLE_COMMANDS[command]
    options, _, _, takes = OPTIONS[option]
    told([command, places["table"], *more], options, takes and (writes or option != "io"))


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("command", [["ls"], ["get", "a"], ["compact"]])
def test_a_store_of_small_files_on_this_machine(places: dict[str, Path], command: list[str], option: str) -> None:
    name, *rest = command
    told(["files", name, places["pack"], *rest], OPTIONS[option][0], takes=False)


@pytest.mark.parametrize("command", ["ls", "verify"])
def test_small_files_that_are_read_are_not_synced(places: dict[str, Path], command: str) -> None:
    told(["files", command, places["pack"]], ["--durability", "full"], takes=False)


def test_a_local_table_with_foreign_paths_takes_the_settings_of_their_stores(places: dict[str, Path]) -> None:
    options = ["--allow-foreign-paths", "--storage-option", "aws_region=x", "--retry-time", "1s"]
    assert ok("scan", places["table"], "--count", *options).out.strip() == "1"
    table = lr.Table(places["table"], storage_options={"allow_foreign_paths": "true", "aws_region": "x"})
    assert table.scan().count() == 1


@pytest.mark.parametrize(
    "job",
    [
        lambda at, **options: lr.scan(at["parquet"], **options),
        lambda at, **options: lr.copy(at["parquet"], at["parquet"].parent / "out.csv", **options),
        lambda at, **options: lr.copy(pa.table({"id": [1]}), at["parquet"].parent / "out.csv", **options),
        lambda at, **options: lr.copy(lr.scan(at["parquet"]), at["parquet"].parent / "out.csv", **options),
        lambda at, **options: lr.schema(at["orc"], **options),
        lambda at, **options: lr.check(at["parquet"].parent, **options),
        lambda at, **options: lr.Table(at["table"], **options).history(),
        lambda at, **options: lr.Table(at["table"], **options).compact(),
        lambda at, **options: lr.Table(at["table"], **options).upsert(pa.table({"id": [1], "price": [2.0]})),
        lambda at, **options: lr.Table(at["table"], **options).update({"price": "1"}),
        lambda at, **options: lr.Table(at["table"], **options).merge([{"id": 1}], "id").when_matched_delete().execute(),
        lambda at, **options: lr.Table(at["table"], **options).scan(),
        lambda at, **options: lr.sync(at["table"], f"sqlite:{at['table']}.db#t", key="id", **options),
        lambda at, **options: lr.tpch(at["table"].parent / "tpch", sf=0.001, **options),
        lambda at, **options: lr.files.Store(at["pack"], **options),
        lambda at, **options: lr.sql("SELECT * FROM t", t=at["parquet"], **options),
    ],
)
def test_python_refuses_settings_of_stores_that_no_place_is_on(
    places: dict[str, Path], job: Callable[..., object]
) -> None:
    for name in ("aws_region", "retry_time", "timeout"):
        with pytest.raises(lr.UsageError, match=f"{name}.* does not apply"):
            job(places, storage_options={name: "5s"})


def test_a_python_scan_keeps_the_way_of_writing_for_those_who_write_it(places: dict[str, Path], tmp_path: Path) -> None:
    scan = lr.scan(places["parquet"], max_request_size="1MiB")
    assert lr.copy(scan, tmp_path / "again.parquet", io="sync").rows == 1
    with pytest.raises(lr.UsageError, match="max_request_size"):
        lr.copy(pa.table({"id": [1]}), tmp_path / "x.csv", max_request_size="1MiB")


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_a_unit_of_timestamps_says_that_there_are_none(places: dict[str, Path], ending: str) -> None:
    done = ok("scan", places[ending], "--count", "--timestamp-unit", "ms", "--json")
    assert [warning for warning in done.json["warnings"] if "--timestamp-unit has no effect" in warning]
