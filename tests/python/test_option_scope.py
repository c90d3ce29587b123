"""Options that nothing would read are errors, on the command line and in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lakerace", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A Parquet file of one row."""
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1], "price": [1.5]}), file)
    return file


READING = {
    "schema": ["--schema", "price decimal(10,2)"],
    "garbage": ["--schema", "price is not a schema"],
    "delimiter": ["--delimiter", ";"],
    "quote": ["--quote", "none"],
    "escape": ["--escape", "\\"],
    "null string": ["--null-string", "-"],
    "header": ["--header"],
    "no header": ["--no-header"],
    "infer rows": ["--infer-rows", "5"],
    "skip rows": ["--skip-rows", "1"],
    "comment": ["--comment", "#"],
    "date format": ["--date-format", "%d.%m.%Y"],
    "timestamp format": ["--timestamp-format", "%d.%m.%Y %H:%M"],
    "decimal comma": ["--decimal-comma"],
    "encoding": ["--encoding", "latin1"],
    "bad rows": ["--on-bad-row", "skip"],
}


@pytest.mark.parametrize("options", READING.values(), ids=READING)
@pytest.mark.parametrize("command", ["copy", "scan"])
def test_options_of_text_are_refused_for_parquet(rows: Path, tmp_path: Path, command: str, options: list[str]) -> None:
    target = tmp_path / "out.parquet"
    done = run(command, rows, *([target] if command == "copy" else []), *options)
    assert done.returncode == 2, done.stderr
    assert options[0] in done.stderr
    assert str(rows) in done.stderr
    assert not target.exists()


WRITING = {
    "bloom filter": ["--bloom-filter", "id"],
    "rows of a group": ["--row-group-rows", "5"],
    "bytes of a group": ["--row-group-bytes", "1MB"],
    "bytes of a file": ["--file-bytes", "1MB"],
    "memory": ["--memory-limit", "1MB"],
    "auto-compact": ["--auto-compact"],
    "partitions": ["--partition-by", "id"],
}


@pytest.mark.parametrize("options", WRITING.values(), ids=WRITING)
def test_options_of_writing_are_refused_for_csv(rows: Path, tmp_path: Path, options: list[str]) -> None:
    target = tmp_path / "out.csv"
    done = run("copy", rows, target, *options)
    assert done.returncode == 2, done.stderr
    assert options[0] in done.stderr
    assert not target.exists()


@pytest.mark.parametrize("options", [["--output-delimiter", ";"], ["--output-no-header"]])
def test_options_of_csv_are_refused_for_parquet_targets(rows: Path, tmp_path: Path, options: list[str]) -> None:
    done = run("copy", rows, tmp_path / "out.parquet", *options)
    assert done.returncode == 2, done.stderr
    assert options[0] in done.stderr


def test_a_csv_target_takes_the_dialect(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    assert run("copy", rows, target, "--delimiter", ";").returncode == 0
    assert target.read_text() == "id;price\n1;1.5\n"


@pytest.mark.parametrize("name", ["nonsense", "aws_regoin"])
@pytest.mark.parametrize("job", ["copy", "scan", "schema", "upsert"])
def test_unknown_storage_options_are_refused_everywhere(rows: Path, tmp_path: Path, job: str, name: str) -> None:
    more = {"copy": [rows, tmp_path / "out.parquet"], "scan": [rows], "schema": [rows]}
    lr.copy(str(rows), f"delta:{tmp_path / 'table'}")
    arguments = more.get(job, [tmp_path / "table", rows, "--key", "id"])
    done = run(job, *arguments, "--storage-option", f"{name}=x", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (2, "usage")
    assert f'unknown storage option "{name}"' in error["message"]
    if name == "aws_regoin":
        assert "aws_region" in done.stdout


def test_python_names_its_own_keywords(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(lr.UsageError, match="schema"):
        lr.scan(rows, schema="id int64").to_arrow()
    with pytest.raises(lr.UsageError, match="null_strings"):
        lr.scan(rows, null_strings=["-"]).to_arrow()
    with pytest.raises(lr.UsageError, match="bloom_filter"):
        lr.copy(rows, tmp_path / "out.csv", bloom_filter=["id"])
    with pytest.raises(lr.UsageError, match="auto_compact"):
        lr.copy(rows, tmp_path / "out.csv", auto_compact=True)
    with pytest.raises(lr.UsageError, match="aws_regoin"):
        lr.copy(rows, tmp_path / "out.csv", storage_options={"aws_regoin": "x"})


def test_columns_are_found_that_have_names_of_functions(tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    file.write_text("user,current_date\nann,1\nbob,2\n")
    assert lr.scan(file, where="user = 'ann' AND current_date = 1").to_arrow().to_pylist() == [
        {"user": "ann", "current_date": 1}
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "rows.parquet", "--count", "--memory-limit", "1MiB"),
        ("scan", "rows.parquet", "--count", "--durability", "normal"),
        ("scan", "rows.parquet", "--checksum", "--durability", "normal"),
        ("scan", "rows.parquet", "--explain", "--durability", "normal"),
        ("diff", "rows.parquet", "rows.parquet", "--key", "id", "--summary", "--durability", "normal"),
        ("sql", "select 1", "--explain", "--durability", "normal"),
        ("sync", "table", "sqlite:x.db#t", "--dry-run", "--interval", "2s"),
    ],
    ids=" ".join,
)
def test_options_of_what_another_option_excludes_are_refused(
    rows: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """The command line would not ask for the option that they need, as another one excludes it."""
    monkeypatch.chdir(rows.parent)
    done = run(*words)
    assert done.returncode == 2
    assert words[-2] in done.stderr
    # The table that sync would read does not exist.
    assert run(*words[:-2]).returncode == (3 if words[0] == "sync" else 0)
