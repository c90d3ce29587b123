"""The configuration file: connections with their own options, variables, defaults, mistakes, and no secrets in messages."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import s3server
from conftest import TIMEOUT_SECONDS, ok, people, run
from conftest import command as words

import lakerace as lr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from s3server import S3

SECRET = "hunter2"


@pytest.fixture(scope="module")
def other() -> Iterator[S3]:
    """Another S3 server, with other buckets."""
    with s3server.started() as server:
        yield server


def written(path: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    """A configuration file, and the environment that names it."""
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return {"LAKERACE_CONFIG": str(path)}


def connection(name: str, server: S3, prefix: str) -> str:
    """A section with the keys of a server."""
    options = "\n".join(f'{key} = "{value}"' for key, value in server.options.items())
    return f'[connection.{name}]\nurl = "{server.url(prefix)}"\n[connection.{name}.storage-options]\n{options}\n'


@pytest.fixture
def folder(tmp_path: Path, parquet: Path) -> dict[str, str]:
    """`@here` is a folder with `people.parquet`, and `@small` a database of SQLite."""
    (tmp_path / "people.parquet").write_bytes(parquet.read_bytes())
    text = f'[connection.here]\nurl = "{tmp_path}"\n[connection.small]\nurl = "sqlite://{tmp_path}/small.db"\n'
    return written(tmp_path / "config.toml", text)


def test_two_accounts_in_one_command(s3: S3, other: S3, tmp_path: Path, parquet: Path) -> None:
    env = written(tmp_path / "c.toml", connection("one", s3, "config") + connection("two", other, "config/"))
    # The environment has the keys of neither.
    env |= {"AWS_ACCESS_KEY_ID": "wrong", "AWS_SECRET_ACCESS_KEY": "wrong", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    ok("copy", parquet, "@one/people.parquet", env=env)
    report = ok("copy", "@one/people.parquet", "@two/people.parquet", "--json", env=env).json
    assert report["rows"] == 1000
    assert report["files"] == [other.url("config/people.parquet")]
    assert report["warnings"] == []
    assert s3.keys("config/") == other.keys("config/") == ["people.parquet"]
    ok("copy", "@one/people.parquet", "delta:@two/table", "--table-property", "lakerace.primaryKey=id", env=env)
    ok("upsert", "@two/table", "@one/people.parquet", env=env)
    ok("delete", "@two/table", "--where", "id < 10", env=env)
    ok("verify", "@two/table", "--deep", env=env)
    ok("compact", "@two/table", env=env)
    assert ok("schema", "@two/table", "--json", env=env).json["rows"] == 990
    assert "MERGE" in ok("history", "@two/table", env=env).out
    assert run("diff", "@one/people.parquet", "@two/table", "--key", "id", "--summary", env=env).code == 1
    assert ok("scan", "@two/*.parquet", "--count", env=env).out == "1000\n"
    assert ok("sql", "select count(*) as n from '@two/table'", "--format", "csv", env=env).out == "n\n990\n"
    assert "yes" in ok("check", "@two/", env=env).out


def test_equal_urls_of_two_servers(s3: S3, other: S3, tmp_path: Path, parquet: Path) -> None:
    """Neither is taken for the other."""
    other.pyarrow.create_dir(s3.bucket)
    twin = replace(other, bucket=s3.bucket)
    env = written(tmp_path / "c.toml", connection("one", s3, "twins") + connection("two", twin, "twins"))
    ok("copy", parquet, "@one/people.parquet", env=env)
    ok("copy", "@one/people.parquet", "@two/people.parquet", env=env)
    assert twin.keys("twins/") == ["people.parquet"]
    ok("copy", "@one/people.parquet", "@one/few.parquet", "--limit", 3, env=env)
    assert twin.keys("twins/") == ["people.parquet"]
    done = run("copy", "@one/people.parquet", "@one/people.parquet", "--mode", "overwrite", env=env)
    assert "would replace its own source" in done.err
    twin.pyarrow.delete_dir(s3.bucket)


def test_small_files_of_a_connection(s3: S3, tmp_path: Path, folder: dict[str, str]) -> None:
    env = written(tmp_path / "s3.toml", connection("one", s3, "packs"))
    (tmp_path / "a.txt").write_text("hello")
    ok("files", "put", "@one/store", "a.txt", tmp_path / "a.txt", env=env)
    assert ok("files", "ls", "@one/store", env=env).out.strip() == "a.txt"
    ok("files", "put", "@here/store.db", "a.txt", tmp_path / "a.txt", env=folder)
    assert (tmp_path / "store.db").exists()
    assert ok("files", "get", "@here/store.db", "a.txt", env=folder).out == "hello"


def test_small_files_below_a_connection_outlive_a_process_that_does_not_close(s3: S3, tmp_path: Path) -> None:
    env = written(tmp_path / "s3.toml", connection("one", s3, "left"))
    script = (
        "import pickle, lakerace.files as files\n"
        "store = files.Store('@one/store')\n"
        "store.put('a.txt', b'hello')\n"
        "again = pickle.loads(pickle.dumps(store))\n"
        "again.put('b.txt', b'world')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, **env}, cwd=tmp_path)
    assert ok("files", "ls", "@one/store", env=env).out.split() == ["a.txt", "b.txt"]
    assert ok("files", "get", "@one/store", "b.txt", env=env).out == "world"
    assert [path.name for path in tmp_path.iterdir()] == ["s3.toml"]


def test_given_options_replace_those_of_the_connection(s3: S3, tmp_path: Path, parquet: Path) -> None:
    env = written(tmp_path / "c.toml", connection("one", s3, "given"))
    ok("copy", parquet, "@one/people.parquet", env=env)
    wrong = ("--storage-option", "endpoint=http://127.0.0.1:1", "--retry-time", "0s")
    assert run("scan", "@one/people.parquet", *wrong, env=env).code == 8
    keys = ("--storage-option", "access_key_id=wrong", "--storage-option", "secret_access_key=wrong")
    assert run("scan", "@one/people.parquet", *keys, env=env).code != 0


def test_databases_have_tables_below_their_connection(folder: dict[str, str], tmp_path: Path) -> None:
    ok("copy", "@here/people.parquet", "@small/people", "--key", "id", env=folder)
    assert ok("scan", "@small/people", "--count", env=folder).out == "1000\n"
    assert ok("scan", "@small#people", "--count", env=folder).out == "1000\n"
    assert ok("scan", f"sqlite:{tmp_path}/small.db#people", "--count").out == "1000\n"
    ok("copy", "@here/people.parquet", "delta:@here/table", env=folder)
    ok("sync", "@here/table", "@small/synced", "--key", "id", env=folder)
    assert ok("sync", "@here/table", "@small/synced", "--key", "id", "--json", env=folder).json["rows"] == 0


def test_states_outlive_the_name_of_a_connection(folder: dict[str, str], tmp_path: Path) -> None:
    renamed = (tmp_path / "config.toml").read_text().replace(".here]", ".there]").replace(".small]", ".tiny]")
    other = written(tmp_path / "renamed.toml", renamed)
    options = ("--mode", "upsert", "--key", "id", "--since", "id", "--json")
    first = ok("copy", "@here/people.parquet", "@small/seen", *options, env=folder).json
    again = ok("copy", "@there/people.parquet", "@tiny/seen", *options, env=other).json
    plain = f"sqlite://{tmp_path}/small.db#seen"
    last = ok("copy", tmp_path / "people.parquet", plain, *options).json
    assert first["rows"] == 1000
    # The rows of the highest value are read again.
    assert again["rows"] <= 1
    assert last["rows"] <= 1
    ok("copy", "@here/people.parquet", "@small/loaded", "--batch-rows", 100, "--resume", env=folder)
    resumed = ok("copy", "@there/people.parquet", "@tiny/loaded", "--batch-rows", 100, "--resume", "--json", env=other)
    assert resumed.json["rows"] == 0


def test_variables_are_put_in(tmp_path: Path, parquet: Path, folder: dict[str, str]) -> None:
    env = written(tmp_path / "c.toml", '[connection.here]\nurl = "${PLACE}/."\n')
    assert ok("scan", "@here/people.parquet", "--count", env={**env, "PLACE": str(tmp_path)}).out == "1000\n"
    error = run("scan", "@here/people.parquet", "--json", env=env).error
    assert error["message"] == "the variable PLACE is not set"
    assert error["place"] == f"{tmp_path / 'c.toml'}, line 2, url of here"
    assert error["exit_code"] == 2
    # Other connections are not needed.
    ok("scan", parquet, "--count", env=env)


def test_unknown_connections_are_told_with_the_nearest(folder: dict[str, str], tmp_path: Path) -> None:
    error = run("scan", "@heer/people.parquet", "--json", env=folder).error
    assert error["message"] == 'unknown connection "heer"'
    assert error["advice"].startswith(f"did you mean @here? {tmp_path / 'config.toml'} has @here, @small;")
    (tmp_path / "@heer").mkdir()
    (tmp_path / "@heer" / "people.parquet").write_bytes((tmp_path / "people.parquet").read_bytes())
    assert ok("scan", "./@heer/people.parquet", "--count", env=folder, cwd=tmp_path).out == "1000\n"
    assert run("scan", "@here/x.parquet", env={"LAKERACE_CONFIG": ""}).code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[connection.a]\nulr = "s3://b"', 'line 2: unknown key "ulr" (did you mean url?)'),
        ('[conection.a]\nurl = "s3://b"', 'line 1: unknown section "conection"'),
        ("[connection.a]\nurl = 1", "line 2: url is a number, not a text"),
        ("[defaults]\nthread = 1", 'line 2: unknown option "thread" (did you mean threads?)'),
        ('[defaults]\nthreads = "many"', "line 2: "),
        ("[defaults]\nthreads = 0", "line 2: "),
        (f'[connection.a]\nurl = "s3://b"\n[connection.a.storage-options]\naws_key = "{SECRET}"', "line 4"),
        (f"[connection.a]\nurl = {SECRET}", "line 2: this is not valid TOML"),
    ],
)
def test_mistakes_name_file_and_line(text: str, expected: str, tmp_path: Path, parquet: Path) -> None:
    env = written(tmp_path / "c.toml", text)
    done = run("scan", parquet, "--count", env=env)
    assert done.code == 2
    assert f"{tmp_path / 'c.toml'}, {expected}" in done.err
    assert SECRET not in done.err + done.out


def test_a_file_that_is_named_must_exist(tmp_path: Path, parquet: Path) -> None:
    assert run("scan", parquet, "--config", tmp_path / "none.toml").code == 3
    assert run("scan", parquet, env={"LAKERACE_CONFIG": str(tmp_path / "none.toml")}).code == 3
    # Help and completions are there all the same.
    ok("completions", "bash", env={"LAKERACE_CONFIG": str(tmp_path / "none.toml")})


def test_the_file_is_found(folder: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKERACE_CONFIG", raising=False)
    home = tmp_path / "home" / ".config" / "lakerace"
    home.mkdir(parents=True)
    (home / "config.toml").write_text((tmp_path / "config.toml").read_text())
    assert ok("scan", "@here/people.parquet", "--count", "--config", tmp_path / "config.toml").out == "1000\n"
    for env in ({"XDG_CONFIG_HOME": str(home.parent)}, {"HOME": str(home.parents[1]), "XDG_CONFIG_HOME": ""}):
        assert ok("config", "--json", env=env).json["file"] == str(home / "config.toml")
    # One in the working directory is not read.
    (tmp_path / "lakerace.toml").write_text("[connection.here]\nurl = '/elsewhere'\n")
    assert ok("config", "--json", env={"HOME": "/nowhere", "XDG_CONFIG_HOME": ""}, cwd=tmp_path).json["file"] is None


def test_defaults_come_after_variables_and_options(tmp_path: Path, parquet: Path) -> None:
    text = '[defaults]\nmax-request-size = "1KiB"\nmin_seek_size = 0\nmemory-limit = "64MiB"\nthreads = 2\n'
    env = written(tmp_path / "c.toml", text)

    def requests(*args: object, env: dict[str, str]) -> int:
        report = ok("scan", parquet, "--json", *args, env=env).json
        return int(report["requests"]["get"])

    few = requests(env={})
    many = requests(env=env)
    assert many > few
    assert requests("--max-request-size", "1MiB", "--min-seek-size", "1MiB", env=env) <= few
    assert requests(env={**env, "LAKERACE_MAX_REQUEST_SIZE": "1MiB", "LAKERACE_MIN_SEEK_SIZE": "1MiB"}) <= few
    told = ok("config", "--json", env={**env, "LAKERACE_THREADS": "3"}).json["defaults"]
    assert {(default["option"], default["value"]) for default in told} == {
        ("max_request_size", "1KiB"),
        ("min_seek_size", "0"),
        ("memory_limit", "64MiB"),
        ("threads", "3"),
    }
    assert {default["from"] for default in told if default["option"] == "threads"} == {"LAKERACE_THREADS"}
    others = {"LAKERACE_THREAD": "3", "LAKERACE_LIMIT": "1", "LAKERACE_BENCH_DATA": "/data"}
    assert ok("config", "--json", env={**env, **others}).json["warnings"] == [
        "LAKERACE_LIMIT has no effect: variables give no default of --limit",
        "LAKERACE_THREAD has no effect: did you mean LAKERACE_THREADS?",
    ]
    error = run("scan", parquet, "--json", env={**env, "LAKERACE_THREADS": "many"}).error
    assert (error["place"], error["exit_code"]) == ("LAKERACE_THREADS", 2)


@pytest.mark.parametrize(
    "text",
    ['memory-limit = "x"', 'retry-time = "5"', "threads = 0", 'io = "fast"', 'durability = "some"', "verbose = 300"],
)
def test_each_command_names_the_place_of_a_wrong_default(tmp_path: Path, parquet: Path, text: str) -> None:
    env = written(tmp_path / "c.toml", f"[defaults]\n{text}\n")
    for command in (("scan", parquet, "--count"), ("config",)):
        error = run(*command, "--json", env=env).error
        assert (error["place"], error["exit_code"]) == (f"{tmp_path / 'c.toml'}, line 2", 2)
        assert "invalid value" in error["message"]


def test_a_default_that_a_job_refuses_is_told_with_its_place(tmp_path: Path, parquet: Path) -> None:
    env = written(tmp_path / "c.toml", "[defaults]\nmemory-limit = '1KiB'\n")
    args = ("scan", parquet, "--order-by", "id")
    for given, origin in [
        ({}, f"{tmp_path}/c.toml, line 2"),
        ({"LAKERACE_MEMORY_LIMIT": "2KiB"}, "LAKERACE_MEMORY_LIMIT"),
    ]:
        refused = run(*args, env=env | given)
        assert refused.code == 2
        value = given.get("LAKERACE_MEMORY_LIMIT", "1KiB")
        assert f'the default "{value}" of --memory-limit comes from {origin}' in refused.err
    # A limit of the command line has no other place.
    refused = run(*args, "--memory-limit", "1KiB", env=env)
    assert refused.code == 2
    assert "comes from" not in refused.err


def test_a_log_that_can_not_be_opened_is_told_with_its_place(tmp_path: Path, parquet: Path) -> None:
    # A folder that is none, and a file that is no log.
    for name in (f"{parquet}/log", str(parquet)):
        env = written(tmp_path / "c.toml", f"[defaults]\nlog-file = '{name}'\n")
        refused = run("schema", tmp_path, env=env)
        assert f'the default "{name}" of --log-file comes from {tmp_path}/c.toml, line 2' in refused.err
        refused = run("schema", tmp_path, "--log-file", name, env=env)
        assert "--log-file: " in refused.err
        assert "comes from" not in refused.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("log-file = 3", "log-file is a number, not a text"),
        ("log-file = true", "log-file is true or false, not a text"),
        ("log-format = 1.5", "log-format is a number, not a text"),
        ("durability = false", "durability is true or false, not a text"),
        ("io = 1", "io is a number, not a text"),
        ("threads = true", "threads is true or false, not a number or a text"),
        ("memory-limit = [1]", "memory-limit is a list, not a number or a text"),
        ("retry-time = false", "retry-time is true or false, not a number or a text"),
        ("quiet = 1", "quiet is a number, not true or false"),
        ('verbose = "2"', "verbose is a text, not a number, true or false"),
    ],
)
def test_defaults_of_another_kind_are_refused(tmp_path: Path, parquet: Path, text: str, problem: str) -> None:
    env = written(tmp_path / "c.toml", f"[defaults]\n{text}\n")
    error = run("scan", parquet, "--count", "--json", env=env).error
    assert (error["place"], error["exit_code"]) == (f"{tmp_path / 'c.toml'}, line 2", 2)
    assert problem in error["message"]


def test_a_default_that_only_some_commands_take_is_an_error_of_the_others(tmp_path: Path, parquet: Path) -> None:
    env = {"LAKERACE_DURABILITY": "off"}
    of_file = written(tmp_path / "c.toml", '[defaults]\ndurability = "off"\n')
    for given, place in ((env, "LAKERACE_DURABILITY"), (of_file, f"{tmp_path / 'c.toml'}, line 2")):
        ok("files", "put", tmp_path / "store.db", "people", parquet, "--mode", "overwrite", env=given)
        ok("schema", parquet, env=given)
        ok("config", env=given)
        error = run("copy", parquet, tmp_path / "out.parquet", "--json", env=given).error
        assert (error["place"], error["exit_code"]) == (place, 2)
    assert not (tmp_path / "out.parquet").exists()


def test_defaults_are_left_out_where_they_would_be_refused(
    tmp_path: Path, parquet: Path, folder: dict[str, str]
) -> None:
    text = (
        '[defaults]\nmemory-limit = "256MiB"\nthreads = 1\ndurability = "normal"\nmin-seek-size = "1KiB"\n'
        'max-request-size = "1MiB"\nmax-requests-in-flight = 2\nextra-bytes-tolerance = 0.25\nprefetch-size = "64MiB"\n'
        'io = "sync"\nretry-time = "5s"\nquiet = true\nlog-format = "json"\n'
    )
    env = written(tmp_path / "all.toml", (tmp_path / "config.toml").read_text() + text)
    assert run("copy", parquet, f"sqlite:{tmp_path}/x.db#t", "--retry-time", "5s").code == 2
    table = tmp_path / "table"
    commands: list[tuple[object, ...]] = [
        ("copy", parquet, f"sqlite:{tmp_path}/x.db#t"),
        ("copy", f"sqlite:{tmp_path}/x.db#t", tmp_path / "x.csv"),
        ("copy", parquet, tmp_path / "x.parquet", "--order-by", "id desc"),
        ("copy", parquet, f"delta:{table}", "--table-property", "lakerace.primaryKey=id"),
        ("scan", f"sqlite:{tmp_path}/x.db#t", "--count"),
        ("scan", "tpch:region?sf=1", "--count"),
        ("scan", parquet, "--order-by", "id", "--limit", 3),
        ("upsert", table, parquet),
        ("update", table, "--set", "id = id + 0", "--where", "id < 3"),
        ("delete", table, "--where", "id < 3"),
        ("delete", table, "--keys", parquet),
        ("alter", table, "--set", "delta.appendOnly=false"),
        ("compact", table),
        ("vacuum", table),
        ("verify", table),
        ("history", table),
        ("restore", table, "--at", 0),
        ("schema", table),
        ("check", table),
        ("sync", table, f"sqlite:{tmp_path}/x.db#u"),
        ("diff", table, parquet, "--key", "id", "--summary"),
        ("sql", f"select count(*) from '{table}'"),
        ("tpch", "-s", "0.01", "-o", tmp_path / "tpch", "--tables", "region"),
        ("tpch", "-s", "0.01", "-o", tmp_path / "delta", "--tables", "region", "--format", "delta"),
        ("files", "put", tmp_path / "files.db", "a", parquet),
        ("files", "ls", tmp_path / "files.db"),
        ("files", "verify", tmp_path / "files.db"),
    ]
    for command in commands:
        done = run(*command, env=env)
        assert done.code == 0, (command, done.err)


def test_secrets_are_not_shown(tmp_path: Path, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""
[connection.lake]
url = "s3://bucket/lake"
[connection.lake.storage-options]
aws_access_key_id = "{SECRET}"
aws_secret_access_key = "{SECRET}"
aws_endpoint_url = "http://127.0.0.1:1"
aws_allow_http = true
retry_time = "0s"
[connection.shop]
url = "mongodb://ann:{SECRET}@127.0.0.1:1/db?serverSelectionTimeoutMS=10"
[connection.shelf]
url = "elasticsearch://ann:{SECRET}@127.0.0.1:1"
[connection.web]
url = "http://127.0.0.1:1/data?token={SECRET}"
"""
    env = written(tmp_path / "c.toml", text, 0o644)
    log = tmp_path / "log"
    for args in (
        ("config",),
        ("config", "--json"),
        ("check", "@lake/"),
        ("scan", "@lake/a.parquet"),
        ("copy", parquet, "@lake/a.parquet"),
        ("schema", "@lake/table"),
        ("scan", "@shop/a"),
        ("copy", parquet, "@shop/a", "--key", "id"),
        ("scan", "@shop/a/b"),
        ("scan", "@shelf/a"),
        ("scan", "@shelf/a", "--explain"),
        ("scan", "@web/a.csv"),
        ("scan", "@lake/a.parquet", "-vv", "--log-file", log),
    ):
        done = run(*args, env=env)
        assert SECRET not in done.out + done.err, args
    assert SECRET not in log.read_text()
    shown = {one["name"]: one for one in ok("config", "--json", env=env).json["connections"]}
    assert shown["lake"]["storage_options"] == {
        "aws_access_key_id": "***",
        "aws_secret_access_key": "***",
        "aws_endpoint_url": "http://127.0.0.1:1",
        "aws_allow_http": "true",
        "retry_time": "0s",
    }
    assert "ann" not in shown["shop"]["url"]
    monkeypatch.setenv("LAKERACE_CONFIG", env["LAKERACE_CONFIG"])
    with pytest.raises(lr.UnavailableError) as raised:
        lr.scan("@lake/a.parquet").count()
    assert SECRET not in str(raised.value)


def test_a_file_with_secrets_that_others_can_read_is_told(s3: S3, tmp_path: Path, parquet: Path) -> None:
    path = tmp_path / "c.toml"
    env = written(path, connection("one", s3, "exposed"), 0o644)
    warning = f"{path}: other users can read this file, which has secrets: run chmod 600 {path}"
    assert ok("copy", parquet, "@one/a.parquet", "--json", env=env).json["warnings"] == [warning]
    assert f"warning: {warning}\n" in ok("config", env=env).err
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert ok("scan", "@one/a.parquet", "--json", env=env).json["warnings"] == []
    variables = connection("one", s3, "exposed").replace(f'"{s3.secret_key}"', '"${KEY}"')
    variables = variables.replace(f'"{s3.access_key}"', '"${ID}"')
    env = {**written(path, variables, 0o644), "KEY": s3.secret_key, "ID": s3.access_key}
    assert ok("scan", "@one/a.parquet", "--json", env=env).json["warnings"] == []


def test_python_takes_connections(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.toml"
    written(path, connection("one", s3, "python"))
    with pytest.raises(lr.UsageError, match="unknown connection"):
        lr.scan("@one/people.parquet")
    lr.use_config(path)
    try:
        lr.copy(people(), "@one/people.parquet")
        assert lr.scan("@one/people.parquet").count() == 1000
        table = lr.Table("@one/table", key="id")
        lr.copy(people(), "delta:@one/table")
        table.upsert(people(10))
        assert table.scan().count() == 1000
        with pytest.raises(lr.UnavailableError):
            lr.scan(
                "@one/people.parquet", storage_options={"endpoint": "http://127.0.0.1:1", "retry_time": "0s"}
            ).count()
        # A changed file is read again.
        written(path, connection("two", s3, "python"))
        os.utime(path, ns=(1, 1))
        assert lr.scan("@two/people.parquet").count() == 1000
        with pytest.raises(lr.NotFoundError):
            lr.use_config(tmp_path / "none.toml")
        assert lr.scan("@two/people.parquet").count() == 1000
    finally:
        lr.use_config(None)
    monkeypatch.setenv("LAKERACE_CONFIG", str(path))
    assert lr.scan("@two/people.parquet").count() == 1000
    assert lr.sql("select count(*) as n from '@two/people.parquet'").to_arrow().to_pylist() == [{"n": 1000}]


def test_a_path_is_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "@lake").mkdir()
    rows = Path("@lake/rows.parquet")
    lr.copy(pa.table({"id": [1, 2]}), rows)
    lr.copy(rows, Path("@lake/rows.csv"))
    assert (tmp_path / "@lake" / "rows.csv").read_text() == "id\n1\n2\n"
    assert lr.scan(rows).count() == 2
    assert not lr.diff(rows, Path("@lake/rows.csv"), key="id").is_different
    lr.copy(rows, f"delta:{tmp_path}/@lake/table")
    assert lr.Table(Path("@lake/table")).history()
    with pytest.raises(lr.UsageError, match="lake"):
        lr.scan("@lake/rows.parquet")


def test_a_log_names_no_connection(tmp_path: Path, folder: dict[str, str]) -> None:
    """A path in a table's log is data: it does not lead to a connection."""
    ok("copy", "@here/people.parquet", f"delta:{tmp_path}/table", env=folder)
    entry = tmp_path / "table" / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = "@here/people.parquet"
    entry.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for crc in entry.parent.glob("*.crc"):
        crc.unlink()
    done = run("scan", tmp_path / "table", "--checksum", env=folder)
    assert (done.code, f"{tmp_path}/table/@here/people.parquet" in done.err) == (5, True), done.err


@pytest.mark.parametrize(
    ("value", "level"), [("true", "INFO"), ("1", "INFO"), ("2", "DEBUG"), ("false", ""), ("0", "")]
)
def test_verbose_is_a_number_or_true_or_false(tmp_path: Path, parquet: Path, value: str, level: str) -> None:
    env = written(tmp_path / "c.toml", f"[defaults]\nverbose = {value}\n")
    for given in (env, {"LAKERACE_VERBOSE": value}):
        done = ok("scan", parquet, "--count", env=given)
        assert ("INFO" in done.err, "DEBUG" in done.err) == (level != "", level == "DEBUG")


@pytest.mark.parametrize("name", ["@odd.csv", "@odd", "@x y/odd.csv"])
def test_a_file_whose_name_begins_as_a_connection_is_told_how_to_be_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("a\n1\n")
    done = subprocess.run(
        [*words("scan", name, "--input-format", "csv", "--count")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert f"a local file of this name is ./{name}" in done.stderr
    assert ("is no name of a connection" in done.stderr) == ("." in name.split("/", maxsplit=1)[0] or " " in name)
    # A table of TOML with a point in its name would be another one.
    assert "[connection.odd.csv]" not in done.stderr
    advised = subprocess.run(
        [*words("scan", f"./{name}", "--input-format", "csv", "--count")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    assert advised.stdout.strip() == "1"


def test_quiet_and_verbose_are_opposites_in_the_order_of_precedence(tmp_path: Path, parquet: Path) -> None:
    def output(*options: str, file: str = "", **variables: str) -> tuple[bool, bool]:
        """Whether the summary is printed, and the log."""
        env = {**written(tmp_path / "c.toml", f"[defaults]\n{file}\n"), **variables}
        done = ok("scan", parquet, "--count", *options, env=env)
        return "counted 1,000 rows" in done.err, " report " in done.err

    assert output() == (True, False)
    assert output("-q") == (False, False)
    assert output("-v") == (True, True)
    assert output("-q", "-v") == (False, True)
    # The command line comes before variables, and these before the file.
    assert output("-q", file="verbose = 1") == (False, False)
    assert output("-q", LAKERACE_VERBOSE="2") == (False, False)
    assert output("-v", file="quiet = true") == (True, True)
    assert output("-vv", LAKERACE_QUIET="true") == (True, True)
    assert output(file="quiet = true", LAKERACE_VERBOSE="1") == (True, True)
    assert output(file="verbose = 1", LAKERACE_QUIET="true") == (False, False)
    assert output(file="quiet = true\nverbose = 1") == (False, True)
    assert output(LAKERACE_QUIET="true", LAKERACE_VERBOSE="1") == (False, True)
    # What is off opposes nothing.
    assert output("-q", file="verbose = 0") == (False, False)
    assert output(file="quiet = true\nverbose = false") == (False, False)
    assert output("-q", LAKERACE_LOG="info") == (False, True)
