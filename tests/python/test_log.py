"""The log: each request once, no credentials, lines of JSON for another parser, and nothing where nothing is asked for."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.csv as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, people, run
from test_progress import on_a_terminal
from test_s3 import counts, proxied

if TYPE_CHECKING:
    from s3server import S3


def events(path: Path) -> list[dict[str, Any]]:
    """The events of a log in JSON, whose lines pyarrow parses to the same number of rows."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        assert {"time", "level", "process", "target", "message"} <= line.keys()
    assert pj.read_json(path).num_rows == len(lines)
    return lines


def named(log: list[dict[str, Any]], message: str) -> list[dict[str, Any]]:
    return [event for event in log if event["message"] == message]


def logged(tmp_path: Path, *args: object, level: str = "-vv", **options: Any) -> list[dict[str, Any]]:
    """The events of a command that succeeds; they are on stderr, too."""
    path = tmp_path / "log.jsonl"
    path.unlink(missing_ok=True)
    done = ok(*args, level, "--log-format", "json", "--log-file", path, **options)
    # Threads write at the same time: the lines of two places may differ in order.
    shown = [line for line in done.err.splitlines() if line.startswith("{")]
    assert sorted(path.read_text().splitlines()) == sorted(shown)
    return events(path)


def test_nothing_is_logged_without_an_option(parquet: Path) -> None:
    assert ok("scan", parquet, "--count", "-q", env={"LAKERACE_LOG": ""}).err == ""
    assert ok("scan", parquet, "--count", "-q", env={"LAKERACE_LOG": "off"}).err == ""


def test_stdout_stays_as_it_is(parquet: Path) -> None:
    done = ok("scan", parquet, "--count", "--json", "-vv")
    assert done.json["rows"] == 1000
    assert "lakerace_io::requests: request kind=GET" in done.err
    assert ok("scan", parquet, "--count", "-vvv").out == "1000\n"


@pytest.mark.parametrize("kind", ["scan", "copy"])
def test_each_request_is_an_event(s3: S3, parquet: Path, tmp_path: Path, kind: str) -> None:
    """As many as the report and a proxy in front of the server count."""
    s3.put("logged.parquet", parquet.read_bytes())
    rest = ["--checksum"] if kind == "scan" else [f"delta:{s3.url('logged-table')}"]
    path = tmp_path / "log.jsonl"
    with proxied(s3) as front:
        log = ("-vv", "--log-format", "json", "--log-file", path)
        done = ok(kind, s3.url("logged.parquet"), *rest, "--json", *log, env=front.env)
        seen = counts(front)
    requests = named(events(path), "request")
    kinds = Counter(event["kind"].lower() for event in requests)
    assert kinds == Counter({name: n for name, n in done.json["requests"].items() if n})
    assert len(requests) == seen["requests"]
    assert all(event["status"] < 500 and event["ms"] >= 0 and "?" not in event["path"] for event in requests)
    assert any(event["path"].endswith("logged.parquet") and event.get("range") for event in requests)
    [report] = named(events(path), "report")
    assert {name: report[name] for name in done.json["requests"]} == done.json["requests"]


def test_each_file_request_is_an_event(parquet: Path, tmp_path: Path) -> None:
    target = tmp_path / "table"
    log = logged(tmp_path, "copy", parquet, f"delta:{target}")
    requests = Counter(event["kind"].lower() for event in named(log, "request"))
    [report] = named(log, "report")
    assert requests == Counter(
        {name: report[name] for name in ("get", "put", "list", "head", "delete") if report[name]}
    )


def test_retries_have_reasons(s3: S3, parquet: Path, tmp_path: Path) -> None:
    s3.put("retried.parquet", parquet.read_bytes())
    with proxied(s3, "--error-every", 3) as front:
        log = logged(tmp_path, "copy", s3.url("retried.parquet"), f"delta:{s3.url('retried')}", env=front.env)
        faults = counts(front)["faults"]
    retries = [event for event in log if event["target"] == "lakerace_io::retries"]
    assert len(retries) == faults > 0
    assert {event["level"] for event in retries} == {"INFO"}
    assert all(event["reason"].startswith("50") for event in retries)


def test_credentials_stay_out(s3: S3, parquet: Path, tmp_path: Path) -> None:
    """Neither in the log of a command that succeeds nor of one that fails."""
    s3.put("secret.parquet", parquet.read_bytes())
    options = [word for name, value in s3.options.items() for word in ("--storage-option", f"{name}={value}")]
    path = tmp_path / "log.txt"
    log = ("--log-file", path, "-vvv")
    done = [ok("scan", s3.url("secret.parquet"), "--count", *options, *log)]
    assert done[0].out == "1000\n"
    wrong = [option.replace(s3.secret_key, "hunter2+/") for option in options]
    done.append(run("scan", s3.url("secret.parquet"), "--count", *wrong, *log))
    urls = [
        "mongodb://me:hunter2@127.0.0.1:1/d/c?serverSelectionTimeoutMS=10",
        "elasticsearch://me:hunter2@127.0.0.1:1/index?retry_seconds=0",
        "http://me:hunter2@127.0.0.1:1/x.parquet?sig=hunter2",
        "http://127.0.0.1:1/x.parquet?X-Amz-Signature=hunter2",
    ]
    for url in urls:
        done.append(run("scan", url, "--count", "--retry-time", "0s", *log))
    assert all(each.code != 0 for each in done[1:])
    text = path.read_text() + "".join(each.err for each in done)
    assert text.count("lakerace_cli::command: start") == 2 * len(done)
    for secret in (s3.secret_key, "hunter2", "Signature=h", "Credential=", "AWS4"):
        assert secret not in text


def test_start_and_end(parquet: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    arguments = ("scan", tmp_path / "missing.parquet", "--log-file", path, "--log-format", "json")
    done = run(*arguments)
    assert done.code == 3
    start, error, end = events(path)
    assert start["arguments"].split() == [str(word) for word in arguments]
    assert start["program_version"] == ok("--version").out.split()[1]
    assert (error["level"], error["kind"]) == ("ERROR", "not_found")
    assert error["message"] in done.err
    assert (end["exit_code"], end["message"]) == (3, "end")


def test_plans_tell_what_is_pruned(parquet: Path, tmp_path: Path) -> None:
    """As many row groups as pyarrow's statistics exclude."""
    condition = "id >= 850 and id % 2 = 0"
    log = logged(tmp_path, "scan", parquet, "--columns", "id", "--where", condition, "--checksum")
    metadata = pq.read_metadata(parquet)
    highest = [metadata.row_group(n).column(0).statistics.max for n in range(metadata.num_row_groups)]
    [plan] = named(log, "plan")
    kept = sum(value >= 850 for value in highest)
    assert (plan["files"], plan["files_read"], plan["parts"], plan["parts_read"]) == (1, 1, 10, kept)
    assert (plan["columns"], plan["columns_of_source"], plan["filter"]) == (1, 3, condition)
    pruned = named(log, "pruned")
    assert [event["part"] for event in pruned] == list(range(10 - kept))
    assert all("statistics" in event["reason"] for event in pruned)
    [by_row] = [event for event in log if event["message"].startswith("no statistics")]
    assert "id % 2 = 0" in by_row["conditions"]


def test_commits_have_versions(tmp_path: Path) -> None:
    table, source = tmp_path / "table", tmp_path / "x.parquet"
    commits = []
    for rows in (10, 20):
        pq.write_table(people(rows), source)
        log = logged(tmp_path, "upsert", f"delta:{table}", source, "--key", "id")
        commits += [(commit["table"], commit["version"], commit["attempt"]) for commit in named(log, "committed")]
    versions = range(len(list((table / "_delta_log").glob("*.json"))))
    assert commits == [(str(table), version, 1) for version in versions]


def test_commits_have_the_operations_of_the_history(tmp_path: Path) -> None:
    table, source = tmp_path / "table", tmp_path / "x.parquet"
    pq.write_table(people(10), source)
    operations = []
    for job in (
        ("copy", source, f"delta:{table}"),
        ("copy", source, table, "--mode", "append"),
        ("upsert", table, source, "--key", "id"),
        ("delete", table, "--where", "id < 3"),
        ("update", table, "--set", "name = 'x'", "--where", "id = 4"),
        ("alter", table, "--set", "owner=finance"),
    ):
        operations += [commit["operation"] for commit in named(logged(tmp_path, *job), "committed")]
    entries = sorted((table / "_delta_log").glob("*.json"))
    infos = [json.loads(line).get("commitInfo") for entry in entries for line in entry.read_text().splitlines()]
    assert operations == [info["operation"] for info in infos if info]


def test_warnings_are_events(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("a\n" + "1\n" * 10)
    log = logged(tmp_path, "scan", source, "--schema", "a int", "--on-bad-row", "skip", "--count", level="-v")
    assert not [event for event in log if event["level"] == "WARN"]
    source.write_text("a\n1\nx\n2\n")
    log = logged(tmp_path, "scan", source, "--schema", "a int", "--on-bad-row", "skip", "--checksum", level="-v")
    assert [event["level"] for event in log].count("WARN") == 1


def test_the_variable_has_levels(parquet: Path) -> None:
    done = ok("scan", parquet, "--count", "-q", env={"LAKERACE_LOG": "lakerace_cli=info"})
    assert {line.split()[3] for line in done.err.splitlines()} == {"lakerace_cli::command:"}
    assert "DEBUG" in ok("scan", parquet, "--count", env={"LAKERACE_LOG": "lakerace_io=debug"}).err
    assert "DEBUG" not in ok("scan", parquet, "--count", "-v", env={"LAKERACE_LOG": "debug"}).err


def test_a_bad_directive_is_an_error(parquet: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    error = run("copy", parquet, target, "--json", env={"LAKERACE_LOG": "info,loud"}).error
    assert error["exit_code"] == 2
    assert 'LAKERACE_LOG: "loud"' in error["message"]
    assert not target.exists()
    for text in (",,,", "\n", " "):
        done = run("copy", parquet, target, env={"LAKERACE_LOG": text})
        assert done.code == 2
        assert "is not a valid log directive" in done.err
        assert not target.exists()


def test_a_file_without_a_log_is_told(parquet: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    for text in ("off", "lakerace_io=off"):
        done = ok("scan", parquet, "--count", "-q", "--log-file", path, env={"LAKERACE_LOG": text})
        assert done.err == f"warning: LAKERACE_LOG switches the log off: {path} is not written\n"
        assert not path.exists()
    # -v is above the variable.
    assert ok("scan", parquet, "--count", "-v", "--log-file", path, env={"LAKERACE_LOG": "off"}).out == "1000\n"
    assert path.read_text().count("\n") >= 3


@pytest.mark.parametrize(("name", "code"), [("missing/log", 3), ("", 4)])
def test_a_log_that_cannot_be_opened_is_an_error(parquet: Path, tmp_path: Path, name: str, code: int) -> None:
    target = tmp_path / "x.csv"
    error = run("copy", parquet, target, "--json", "--log-file", tmp_path / name).error
    assert error["exit_code"] == code
    assert str(tmp_path) in error["place"]
    assert not target.exists()


def test_a_full_disk_is_told_once(parquet: Path) -> None:
    done = ok("scan", parquet, "--checksum", "--log-file", "/dev/full")
    assert [line for line in done.err.splitlines() if "/dev/full" in line] == [
        "warning: the log /dev/full has gaps (the command continues): No space left on device (os error 28)"
    ]
    assert done.out == ok("scan", parquet, "--checksum").out


def test_processes_share_a_file(parquet: Path, tmp_path: Path) -> None:
    path = tmp_path / "log"
    arguments = command("scan", parquet, "--checksum", "-vv", "--log-file", path, "--log-format", "json")
    jobs = [subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [job.wait(timeout=TIMEOUT_SECONDS) for job in jobs] == [0] * 4
    made = Counter(event["process"] for event in events(path))
    assert len(made) == 4
    assert len(set(made.values())) == 1


def test_lines_stand_above_the_progress(tmp_path: Path) -> None:
    source = tmp_path / "x.parquet"
    pq.write_table(people(50_000), source, row_group_size=1000)
    shown = on_a_terminal("copy", source, tmp_path / "y.csv", "-vv", "--threads", 1)
    log = [line for line in shown.replace("\x1b[2K", "\n").splitlines() if "lakerace_io::requests" in line]
    assert log
    assert "\x1b[2K" in shown
    assert all(line.lstrip("\r").startswith("20") for line in log)
    assert pc.read_csv(tmp_path / "y.csv").num_rows == 50_000


def test_a_format_without_a_log_is_refused(parquet: Path) -> None:
    done = run("scan", parquet, "--count", "--log-format", "json", env={"LAKERACE_LOG": ""})
    assert (done.code, done.out) == (2, "")
    assert "--log-file" in done.err
    # A variable that switches the log off is an answer.
    assert ok("scan", parquet, "--count", "-q", "--log-format", "json", env={"LAKERACE_LOG": "off"}).err == ""


@pytest.mark.parametrize("kind", ["source", "link", "target", "output", "sqlite", "table"])
def test_a_log_never_goes_to_a_file_of_the_command(parquet: Path, tmp_path: Path, kind: str) -> None:
    link, target = tmp_path / "link", tmp_path / "target.csv"
    link.symlink_to(parquet)
    words: tuple[object, ...] = {
        "source": ("scan", parquet, "--log-file", f"{parquet.parent}/./{parquet.name}"),
        "link": ("scan", parquet, "--log-file", link),
        "target": ("copy", parquet, target, "--log-file", target),
        "output": ("scan", parquet, "-o", target, "--log-file", target),
        "sqlite": ("copy", parquet, f"sqlite:{target}#t", "--log-file", target),
        "table": ("copy", parquet, f"delta:{target}", "--log-file", target),
    }[kind]
    before = parquet.read_bytes()
    done = run(*words)
    assert done.code == 2
    assert "--log-file: the command reads or writes this file" in done.err
    assert parquet.read_bytes() == before
    assert not target.exists()


def test_a_log_is_never_appended_to_data(parquet: Path, tmp_path: Path) -> None:
    """Files that the command finds by itself, and files that it has nothing to do with."""
    table, text = tmp_path / "table", tmp_path / "x.csv"
    ok("copy", parquet, f"delta:{table}")
    text.write_text("2026-01-02T03:04:05Z,1\n")
    files = [parquet, text, *(path for path in table.rglob("*") if path.is_file())]
    assert any(path.suffix == ".json" for path in files)
    before = [path.read_bytes() for path in files]
    for path in files:
        for words in (("scan", table, "--count"), ("history", table), ("scan", tmp_path / "*.csv", "--count")):
            done = run(*words, "--log-file", path, "--json")
            assert done.code == 2
            assert done.error["place"] == str(path)
            assert "name a separate file for the log" in done.err
    assert [path.read_bytes() for path in files] == before
    assert ok("scan", table, "--count").out == "1000\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_is_appended_to_a_log(parquet: Path, tmp_path: Path, form: str) -> None:
    """One of either format, and an empty file."""
    path = tmp_path / "log"
    path.touch()
    ok("scan", parquet, "--count", "--log-file", path, "--log-format", form)
    first = path.read_text()
    assert first.count("\n") >= 3
    for other in ("text", "json"):
        ok("scan", parquet, "--count", "--log-file", path, "--log-format", other)
    assert path.read_text().startswith(first)
    assert path.read_text().count("exit_code") == 3


def test_a_log_on_standard_error_in_a_file(parquet: Path, tmp_path: Path) -> None:
    path = tmp_path / "errors"
    path.write_text("an earlier line\n")
    with path.open("a") as errors:
        words = command("scan", parquet, "--count", "--log-file", "/dev/stderr")
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=errors, timeout=TIMEOUT_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, b"1000\n")
    assert path.read_text().startswith("an earlier line\n")
    assert "lakerace_cli::command: end exit_code=0" in path.read_text()


def test_the_last_attempt_is_not_said_to_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    done = run("scan", "http://127.0.0.1:1/x.parquet", "--count", "--log-file", path, "--log-format", "json")
    assert done.code == 8
    attempts = [event["message"] for event in events(path) if event["message"].startswith("attempt failed")]
    assert [message.endswith("is not repeated") for message in attempts] == [False] * (len(attempts) - 1) + [True]
    assert len(attempts) == len(named(events(path), "request is repeated")) + 1


def test_written_files_have_their_paths(parquet: Path, tmp_path: Path) -> None:
    """Those of the files that are there afterwards."""
    target = tmp_path / "table"
    log = logged(tmp_path, "copy", parquet, f"delta:{target}")
    puts = {"/" + event["path"] for event in named(log, "request") if event["kind"] == "PUT"}
    assert puts == {str(path) for path in target.rglob("*") if path.is_file()}


def test_the_targets_of_directives_are_those_of_the_events() -> None:
    """An event of another target could not be asked for: its name would be refused."""
    crates = Path(__file__).parents[2] / "crates"
    named = re.compile(r'"(lakerace[a-z_]*::[a-z_]+)"')
    directives = crates / "cli" / "src" / "log" / "directives.rs"
    sources = [path for path in crates.glob("*/src/**/*.rs") if path != directives and path.name != "tests.rs"]
    found = {name for path in sources for name in named.findall(path.read_text())}
    assert len(found) > 3
    assert found == set(named.findall(directives.read_text()))
