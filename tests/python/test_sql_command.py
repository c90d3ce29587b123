"""`lakerace sql`: rows as `scan` prints them, the plan, the bill, errors and Ctrl-C."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, people, run
from process_state import cpu_seconds

import lakerace as lr

QUERY = "SELECT id, name FROM '{}' WHERE id < 20 AND name IS NOT NULL ORDER BY id DESC"


@pytest.fixture
def expected() -> list[dict[str, object]]:
    """The rows of the query, by pyarrow."""
    table = people().select(["id", "name"]).slice(0, 20)
    return table.filter(pc.is_valid(table["name"])).to_pylist()[::-1]


def test_formats(parquet: Path, tmp_path: Path, expected: list[dict[str, object]]) -> None:
    query = QUERY.format(parquet)
    table = ok("sql", query).out.splitlines()
    assert table[0].split() == ["id", "name"]
    assert len(table) == len(expected) + 2
    jsonl = ok("sql", query, "--format", "jsonl", "-q")
    assert ([json.loads(line) for line in jsonl.out.splitlines()], jsonl.err) == (expected, "")
    rows = list(csv.DictReader(io.StringIO(ok("sql", query, "--format", "csv").out)))
    assert rows == [{name: str(value) for name, value in row.items()} for row in expected]
    ok("sql", query, "-o", tmp_path / "rows.arrow")
    with pa.ipc.open_file(tmp_path / "rows.arrow") as file:
        assert file.read_all().to_pylist() == expected
    piped = subprocess.run(command("sql", query, "--format", "arrow"), capture_output=True, check=True)
    assert pa.ipc.open_stream(piped.stdout).read_all().to_pylist() == expected
    ok("sql", query, "-o", tmp_path / "rows.csv")
    assert lr.scan(tmp_path / "rows.csv").count() == len(expected)


def test_the_report_counts_what_scans_read(parquet: Path) -> None:
    report = ok("sql", f"SELECT sum(score) FROM '{parquet}' WHERE id >= 950", "--json").json
    assert report["rows"] == 1
    # The end of the file, which has all of so small a file, and one row group of ten.
    assert 0 < report["bytes_read"] - parquet.stat().st_size < parquet.stat().st_size / 4
    assert report["requests"]["get"] > 0
    done = ok("sql", f"SELECT count(*) FROM '{parquet}'")
    assert done.err.startswith("answered 1 row: read ")


def test_explain(parquet: Path) -> None:
    query = f"SELECT sum(score) FROM '{parquet}' WHERE id >= 950"
    text = ok("sql", query, "--explain").out
    assert f"scan of {parquet}" in text
    assert 'where     ("id" >= 950)' in text
    (scan,) = ok("sql", query, "--explain", "--json").json["explain"]["scans"]
    assert (scan["columns"], scan["where"]) == (["score"], '("id" >= 950)')


def test_relations(parquet: Path) -> None:
    out = ok(
        "sql", "SELECT count(*) FROM p JOIN q USING (id)", "--relation", f"p={parquet}", "--relation", f"q={parquet}"
    )
    assert out.out.split()[-1] == "1000"
    assert run("sql", "SELECT 1", "--relation", "p", "--json").error["exit_code"] == 2
    twice = run("sql", "SELECT 1", "--relation", "p=a.csv", "--relation", "p=b.csv", "--json").error
    assert "twice" in twice["message"]


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("SELEC 1", 2, "syntax error"),
        ("SELECT nosuch FROM '{}'", 2, "nosuch"),
        ("SELECT * FROM 'nosuch.parquet'", 3, "no such file or folder"),
        ("SELECT name::INT FROM '{}'", 4, "INT32"),
        ("DROP TABLE x", 2, "only a query is supported"),
    ],
)
def test_errors(parquet: Path, query: str, code: int, message: str) -> None:
    done = run("sql", query.format(parquet), "--json")
    assert done.code == code
    assert message in done.error["message"]


def test_without_duckdb_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['duckdb'] = None; from lakerace.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "sql", "SELECT 1"], capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert 'pip install "lakerace[sql]"' in done.stderr


def test_a_reader_that_goes_away_ends_it(parquet: Path) -> None:
    line = " ".join(f"'{part}'" for part in command("sql", "SELECT * FROM range(100000000)", "--format", "csv"))
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{line} | head -2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "range\n0\n", "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM range(1000000) a, range(10000000) b WHERE (a.range * b.range) % 7 = 3",
        "SELECT l_comment FROM 'tpch:lineitem?sf=100' WHERE l_comment LIKE '%nowhere%'",
    ],
    ids=["duckdb", "scan"],
)
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_signals(query: str, by: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("sql", query, "-o", tmp_path / "rows.csv"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(by, signal.SIG_DFL),  # noqa: PLW1509  no thread of the tests holds a lock
    )
    # Imports take about half a second of it.
    while cpu_seconds(process) < 2:
        assert process.poll() is None, process.communicate()
    process.send_signal(by)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (130, ""), err
    assert "interrupted" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["parquet", "orc", "csv.gz", "jsonl.zst"])
@pytest.mark.parametrize("verb", ["sql", "scan", "diff", "changes"])
def test_a_file_that_is_not_written_is_an_error_of_its_command(
    parquet: Path, tmp_path: Path, verb: str, ending: str
) -> None:
    rows = {
        "sql": [f"SELECT * FROM '{parquet}'"],
        "diff": [parquet, parquet, "--key", "id"],
        "changes": [parquet, "--from", "0"],
    }
    done = run(verb, *rows.get(verb, [parquet]), "-o", tmp_path / f"out.{ending}")
    assert done.code == 2, done.err
    assert f"{verb} does not write .{ending.rsplit('.', maxsplit=1)[-1]} files" in done.err
    assert not list(tmp_path.glob("out.*"))


def test_errors_name_the_options_of_the_command_and_the_place_in_the_query() -> None:
    done = run("sql", "SELECT list(range) FROM range(100000000)", "--memory-limit", "20MB")
    assert done.code == 8
    assert "(raise --memory-limit, or lower --threads)" in done.err
    assert "SET " not in done.err
    done = run("sql", "SELECT 1 +\n  nosuch FROM range(3)")
    assert (done.code, "the query, line 2 column 3: " in done.err) == (2, True), done.err
    done = run("sql", "SELECT count(*) FROM nosuch")
    assert done.code == 3
    assert "(give the table nosuch as --relation nosuch=…, or name a location in quotes)" in done.err


def test_parameters_are_told(parquet: Path) -> None:
    query = f"SELECT id FROM '{parquet}' WHERE id < ? ORDER BY id"
    done = run("sql", query)
    assert done.code == 2, done.err
    assert "the query has parameters, and the command takes no values for them" in done.err
    assert "write the values in the query, or call lakerace.sql with params" in done.err
    with pytest.raises(lr.UsageError, match=r"parameters without values.*params=\["):
        lr.sql(query)
    assert list(lr.sql(query, params=[2])) == [(0,), (1,)]


@pytest.mark.parametrize(
    "location",
    [
        "s3://bucket/x.parquet",
        "people.parquet",
        "data.people.parquet",
        "./people.parquet",
        "/data/people.parquet",
        "../people.parquet",
        "data/people.parquet",
        "data/*.parquet",
        "@lake/people",
        "sqlite:app.db#people",
        "people-1.parquet",
        "https://host/people.parquet",
    ],
)
@pytest.mark.parametrize(
    "form", ["SELECT * FROM {}", "select count(*) from {} where id = 1", "SELECT 1 FROM range(3) r\nJOIN {} ON true"]
)
def test_a_location_without_quotes_is_told(location: str, form: str) -> None:
    done = run("sql", form.format(location))
    assert done.code == 2, done.err
    assert f"(put a location in quotes: FROM '{location}')" in done.err, done.err
    assert "the query, line " in done.err


def test_names_with_dots_that_are_no_locations(parquet: Path) -> None:
    """Columns by their table's name, and duckdb's own schemas, are no locations."""
    query = f"SELECT people.id, main.abs(people.id) FROM '{parquet}' AS people WHERE people.id = 3"
    assert list(lr.sql(query)) == [(3, 3)]
    assert lr.sql("SELECT count(*) FROM information_schema.tables").to_arrow().num_rows == 1
    done = run("sql", "SELECT * FROM 'x.parquet' WHERE a = = b")
    assert done.code == 2
    assert "in quotes" not in done.err
