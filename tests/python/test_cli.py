"""The command: what it prints where, its outputs, its exit codes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from conftest import TIMEOUT_SECONDS, command, ok, people, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

REPORT = {
    "rows": int,
    "bad_rows": int,
    "bytes_read": int,
    "bytes_written": int,
    "bytes_past_cache": int,
    "requests": dict,
    "wall_seconds": float,
    "cpu_seconds": float,
    "peak_rss_bytes": int,
    "cost_usd": float,
}


def check_report(report: dict[str, object]) -> None:
    for name, kind in REPORT.items():
        assert isinstance(report[name], (kind, int) if kind is float else kind), name
    requests = report["requests"]
    assert isinstance(requests, dict)
    assert set(requests) == {"get", "put", "list", "head", "delete"}
    assert report["peak_rss_bytes"] > 1_000_000  # type: ignore[operator]


def test_version() -> None:
    done = ok("--version")
    assert done.out == f"lakerace {lr.__version__}\n"
    assert not done.err


def test_importing_the_package_imports_no_heavy_library() -> None:
    heavy = "{'pyarrow', 'numpy', 'pandas', 'polars', 'duckdb', 'json', 'dataclasses'}"
    code = f"import lakerace, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", _with_path(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_reading_into_arrow_imports_no_pandas(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("a\n1\n")
    code = f"import lakerace, sys; print(lakerace.scan({str(source)!r}).to_arrow().num_rows, 'pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", _with_path(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 False\n"


def _with_path(code: str) -> str:
    """Without site, so that what editable installs import does not count; with the same places to import from."""
    return f"import sys; sys.path[:0] = {sys.path!r}; {code}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan"],
        ["scan", "--nonsense", "x.parquet"],
        ["nonsense"],
        ["copy", "a.csv"],
        ["copy", "a.csv", "b.parquet", "--compression", "lzma"],
        ["copy", "a.csv", "b.parquet", "--compression", "zstd:99"],
        ["copy", "a.csv", "b.parquet", "--mode", "replace"],
        ["copy", "a.csv", "b.parquet", "--batch-rows", "0"],
        ["scan", "x.parquet", "--threads", "0"],
        ["scan", "x.parquet", "--min-seek-size", "many"],
        ["scan", "x.parquet", "--extra-bytes-tolerance", "-1"],
        ["scan", "x.parquet", "--columns", "a,,b"],
        ["scan", "x.parquet", "--count", "--checksum"],
        ["scan", "x.parquet", "--checksum", "--explain"],
        ["scan", "x.csv", "--delimiter", "ab"],
        ["scan", "ftp://host/x.csv"],
        ["scan", "x.parquet", "--storage-option", "secret"],
        ["update", "table"],
        ["update", "table", "--where", "a = 1"],
        ["delete", "table"],
        ["delete", "table", "--where", "a = 1", "--keys", "gone.csv"],
    ],
    ids=" ".join,
)
def test_usage_errors(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.code == 2, done.err
    assert not done.out
    assert done.err.startswith("error: ")
    in_json = run(*arguments, "--json")
    assert in_json.code == 2
    assert in_json.error["kind"] == "usage"
    if "secret" in arguments:
        assert "secret" not in done.err.replace("--storage-option", "").split("\n")[0].split("'secret'")[-1]


def test_no_arguments_print_help_and_fail() -> None:
    done = run()
    assert done.code == 2
    assert "Usage: lakerace" in done.err
    assert "Usage: lakerace" in ok("--help").out


def test_scan_as_table(parquet: Path) -> None:
    done = ok("scan", parquet, "--limit", 3)
    lines = done.out.splitlines()
    assert lines[0].split() == ["id", "name", "score"]
    assert set(lines[1]) == {"─", " "}
    assert lines[2].split() == ["0", "null", "null"]
    assert lines[3].split() == ["1", "name", "1", "0.25"]
    assert len(lines) == 5
    assert done.err.startswith("scanned 3 rows: read ")
    assert not ok("scan", parquet, "--limit", 3, "-q").err


def test_scan_as_csv(parquet: Path) -> None:
    done = ok("scan", parquet, "--format", "csv", "--columns", "name,id", "--where", "id BETWEEN 6 AND 8")
    assert list(csv.reader(io.StringIO(done.out))) == [["name", "id"], ["name 6", "6"], ["", "7"], ["name 8", "8"]]


def test_scan_as_json_lines(parquet: Path) -> None:
    done = ok("scan", parquet, "--format", "jsonl", "--limit", 2)
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"id": 0, "name": None, "score": None},
        {"id": 1, "name": "name 1", "score": 0.25},
    ]


def test_scan_as_arrow(parquet: Path) -> None:
    done = subprocess.run(
        command("scan", parquet, "--format", "arrow"), capture_output=True, timeout=TIMEOUT_SECONDS, check=True
    )
    table = pa.ipc.open_stream(done.stdout).read_all()
    assert table.to_pylist() == people().to_pylist()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "arrow", "txt"])
def test_scan_to_a_file_replaces_it_whole(parquet: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_text("old")
    done = ok("scan", parquet, "-o", target, "--json")
    assert done.json["rows"] == 1000
    assert [p.name for p in tmp_path.iterdir()] == [target.name]
    if ending == "arrow":
        assert pa.ipc.open_file(target).read_all().to_pylist() == people().to_pylist()
    else:
        assert len(target.read_text().splitlines()) == 1000 + {"csv": 1, "jsonl": 0, "txt": 2}[ending]


def test_a_failed_scan_to_a_file_leaves_the_old_one(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("a\n" + "1\n" * 50_000 + "x\n")
    target = tmp_path / "out.csv"
    target.write_text("old")
    assert run("scan", bad, "-o", target).code == 4
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv", "out.csv"]


@pytest.mark.parametrize("name", ["x.parquet", "x.unknown", "x"])
def test_scan_to_a_file_of_unknown_format(parquet: Path, tmp_path: Path, name: str) -> None:
    done = run("scan", parquet, "-o", tmp_path / name, "--json")
    assert done.code == 2
    assert name in done.error["place"]
    assert not list(tmp_path.iterdir())


def test_count_checksum_and_json(parquet: Path) -> None:
    assert ok("scan", parquet, "--count").out == "1000\n"
    assert ok("scan", parquet, "--count", "--where", "score IS NULL").out == "200\n"
    assert ok("scan", parquet, "--count", "--limit", 7).out == "7\n"
    checksum = ok("scan", parquet, "--checksum").out.strip()
    assert len(bytes.fromhex(checksum)) == 16
    report = ok("scan", parquet, "--checksum", "--json").json
    check_report(report)
    assert report["checksum"] == checksum
    assert report["rows"] == 1000
    report = ok("scan", parquet, "--count", "--json").json
    check_report(report)
    assert report["rows"] == 1000
    done = ok("scan", parquet, "--json", "--where", "id < 10")
    check_report(done.json)
    assert done.json["rows"] == 10
    assert "not printed" in done.err


def test_explain_says_what_is_pruned(parquet: Path) -> None:
    text = ok("scan", parquet, "--where", "id >= 950", "--explain").out
    assert "id" in text
    assert "statistics" in text
    report = ok("scan", parquet, "--where", "id >= 950", "--explain", "--json").json
    check_report(report)
    units = report["explain"]["plan"]["files"][0]["units"]
    assert [unit["pruned"] is None for unit in units] == [False] * 9 + [True]
    wanted = report["explain"]["plan"]["requests"]["wanted_bytes"]
    everything = ok("scan", parquet, "--explain", "--json").json["explain"]["plan"]["requests"]["wanted_bytes"]
    assert 0 < wanted < everything


def test_versions_of_files_are_refused(parquet: Path) -> None:
    done = run("scan", parquet, "--at", "3", "--json")
    assert done.code == 6
    assert done.error["kind"] == "unsupported"


def test_schema(parquet: Path) -> None:
    text = ok("schema", parquet).out
    assert "id" in text
    assert "Int64" in text
    assert "rows: 1,000" in text
    report = ok("schema", parquet, "--json").json
    check_report(report)
    assert [column["name"] for column in report["columns"]] == ["id", "name", "score"]
    assert (report["format"], report["rows"], report["files"]) == ("parquet", 1000, 1)
    assert report["bytes"] == parquet.stat().st_size
    assert report["units"] == 10


def test_copy_reports_what_it_made(parquet: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    done = ok("copy", parquet, target, "--columns", "score,id", "--where", "id % 2 = 0", "--json")
    report = done.json
    check_report(report)
    assert report["rows"] == 500
    assert report["files_added"] == 1
    assert report["file_bytes"] == target.stat().st_size == report["bytes_written"]
    assert pq.read_table(target).column_names == ["score", "id"]
    assert pq.read_table(target)["id"].to_pylist() == list(range(0, 1000, 2))


def test_copy_modes(parquet: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    ok("copy", parquet, target)
    before = target.read_bytes()
    done = run("copy", parquet, target, "--limit-is-no-option")
    assert done.code == 2
    done = run("copy", parquet, target, "--json")
    assert done.code == 7
    assert done.error["kind"] == "conflict"
    assert target.read_bytes() == before
    ok("copy", parquet, target, "--mode", "overwrite", "--where", "id < 5")
    assert pq.read_table(target).num_rows == 5
    folder = tmp_path / "folder"
    for _ in range(2):
        ok("copy", parquet, f"{folder}/", "--mode", "append", "--output-format", "parquet")
    assert ok("scan", f"{folder}/", "--count").out == "2000\n"


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip:9", "brotli:4", "lz4", "zstd", "zstd:19"])
def test_copy_options_reach_the_file(parquet: Path, tmp_path: Path, codec: str) -> None:
    target = tmp_path / "out.parquet"
    ok("copy", parquet, target, "--compression", codec, "--row-group-rows", 300)
    metadata = pq.read_metadata(target)
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [300, 300, 300, 100]
    name = {"none": "UNCOMPRESSED", "lz4": "LZ4_RAW"}.get(codec, codec.split(":", maxsplit=1)[0].upper())
    seen = metadata.row_group(0).column(0).compression
    assert seen in (name, name.removesuffix("_RAW"))
    assert pq.read_table(target).to_pylist() == people().to_pylist()


def test_csv_dialect_and_bad_rows(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("1;'a;b';NULL\n2;x;7\nthree;y;8\n")
    options = ["--delimiter", ";", "--quote", "'", "--null-string", "NULL", "--no-header"]
    options += ["--schema", "id int64, name utf8, n int32"]
    done = run("scan", source, *options, "--json")
    assert done.code == 4
    assert "in.csv" in done.error["place"]
    assert "3" in done.err
    assert "id" in done.err
    rows = ok("scan", source, *options, "--on-bad-row", "skip", "--format", "jsonl").out.splitlines()
    assert [json.loads(row) for row in rows] == [
        {"id": 1, "name": "a;b", "n": None},
        {"id": 2, "name": "x", "n": 7},
    ]
    rows = ok("scan", source, *options, "--on-bad-row", "null", "--format", "jsonl").out.splitlines()
    assert json.loads(rows[2]) == {"id": None, "name": "y", "n": 8}


@pytest.mark.parametrize(
    ("name", "text"), [("in.csv", "id,x\n1,a\nbad\n3,c\n"), ("in.jsonl", '{"id":1}\nbad\n{"id":3}\n')]
)
def test_rows_that_are_left_out_are_told(tmp_path: Path, name: str, text: str) -> None:
    source = tmp_path / name
    source.write_text(text)
    warning = "1 row does not fit its columns and is skipped"
    done = ok("copy", source, tmp_path / "a.parquet", "--on-bad-row", "skip", "--json")
    assert (done.json["rows"], done.json["bad_rows"]) == (2, 1)
    assert warning in done.json["warnings"][0]
    assert warning in done.err
    done = ok("copy", source, tmp_path / "b.parquet", "--on-bad-row", "skip")
    assert warning in done.err
    assert "copied 2 rows, 1 bad row: " in done.err
    done = ok("scan", source, "--on-bad-row", "skip", "--format", "csv")
    assert warning in done.err
    assert ok("copy", tmp_path / "a.parquet", tmp_path / "c.parquet", "--json").json["bad_rows"] == 0
    # In Python, what an argument asks for is no warning.
    copied = lr.copy(source, tmp_path / "d.parquet", on_bad_row="skip")
    assert (copied.rows, copied.bad_rows) == (2, 1)
    scan = lr.scan(source, on_bad_row="skip")
    assert (len(list(scan.rows())), scan.report()["bad_rows"]) == (2, 1)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    big = tmp_path / "big.parquet"
    pq.write_table(pa.table({"a": pa.array(range(500_000))}), big)
    for form in ("table", "csv", "jsonl", "arrow"):
        process = subprocess.Popen(
            command("scan", big, "--format", form), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        error = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(timeout=TIMEOUT_SECONDS) == 0, error
        assert "error" not in error


def test_what_was_done_does_not_depend_on_standard_error(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(people(10), source)
    with open("/dev/full", "w", encoding="utf-8") as full:
        for arguments, code in (
            (("copy", source, tmp_path / "b.parquet"), 0),
            (("scan", source, "--count"), 0),
            (("scan", tmp_path / "none.parquet"), 3),
            (("scan", source, "--none"), 2),
        ):
            done = subprocess.run(
                command(*arguments), stdout=subprocess.PIPE, stderr=full, timeout=TIMEOUT_SECONDS, check=False
            )
            assert done.returncode == code, arguments


def test_a_packed_name_is_refused_where_rows_are_not_packed(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(people(10), source)
    done = run("scan", source, "-o", tmp_path / "a.csv.gz", "--format", "csv")
    assert (done.code, "lakerace copy" in done.err) == (2, True), done.err
    assert not (tmp_path / "a.csv.gz").exists()


def test_demo(tmp_path: Path) -> None:
    done = ok("demo", "--rows", 20_000, "--keep", tmp_path, "--json")
    report = done.json
    assert sorted(p.name for p in tmp_path.iterdir()) == ["changes.csv", "orders", "orders.csv", "orders.parquet"]
    steps = {step["step"]: step for step in report["steps"]}
    assert steps["copy CSV to Parquet"]["rows"] == 20_000
    assert 0 < steps["scan with a filter"]["rows"] < 20_000
    assert steps["upsert by key from CSV"]["rows"] == 2000
    assert steps["scan the version before"]["rows"] == 20_000
    assert steps["scan the compacted table"]["rows"] == 21_000
    assert lr.checksum(pq.read_table(tmp_path / "orders.parquet")).checksum == report["checksum"]
    assert "all checksums agree" in ok("demo", "--rows", 1000).err


def test_a_place_without_a_table_is_told_as_such(parquet: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in (parquet, tmp_path / "empty", tmp_path / "nothing"):
        for arguments in (["verify", place], ["history", place], ["compact", place], ["restore", place, "--at", "0"]):
            done = run(*arguments, "--json")
            assert done.code == 3
            assert done.error["message"] == "no Delta table exists here: it has no _delta_log", arguments
            assert done.error["place"] == str(place)


def test_a_proof_is_told(parquet: Path, tmp_path: Path) -> None:
    done = ok("copy", parquet, tmp_path / "x.orc", "--verify")
    checksum = ok("scan", parquet, "--checksum", "--json").json["checksum"]
    assert f"verified: the target has the rows that were sent (checksum {checksum})" in done.err
    assert "verified" not in ok("copy", parquet, tmp_path / "y.orc").err
    assert ok("copy", parquet, tmp_path / "z.orc", "--verify", "-q").err == ""


def test_a_copy_that_deletes_says_so(parquet: Path, tmp_path: Path) -> None:
    target = f"sqlite:{tmp_path / 'a.db'}#t"
    ok("copy", parquet, target, "--key", "id")
    done = ok("copy", parquet, target, "--mode", "delete", "--key", "id", "--where", "id < 2")
    assert "deleted rows by 2 keys: " in done.err
    assert "copied" not in done.err
    assert lr.scan(target).count() == 998


def test_a_copy_has_a_limit_as_in_python(parquet: Path, tmp_path: Path) -> None:
    ok("copy", parquet, tmp_path / "x.parquet", "--limit", "7", "--where", "id > 3")
    lr.copy(parquet, tmp_path / "y.parquet", limit=7, where="id > 3")
    expected = pq.read_table(parquet)["id"].to_pylist()[4:11]
    for name in ("x.parquet", "y.parquet"):
        assert pq.read_table(tmp_path / name)["id"].to_pylist() == expected
    done = run("copy", parquet, f"sqlite:{tmp_path / 'a.db'}#t", "--since", "id", "--limit", "7")
    assert done.code == 2


def test_a_scan_does_not_replace_its_own_source(tmp_path: Path) -> None:
    source = tmp_path / "own.csv"
    source.write_text("a\n1\n2\n3\n")
    (tmp_path / "link.csv").symlink_to(source)
    for read, written in (("own.csv", "own.csv"), ("link.csv", "own.csv"), ("*.csv", "own.csv")):
        done = run("scan", tmp_path / read, "--limit", 1, "-o", tmp_path / written)
        assert done.code == 2
        assert "would replace its own source" in done.err
    for arguments in (
        ["sql", f"SELECT a FROM '{source}' LIMIT 1"],
        ["sql", "SELECT a FROM t LIMIT 1", "--relation", f"t={tmp_path}/l*.csv"],
        ["diff", source, source, "--key", "a"],
    ):
        done = run(*arguments, "-o", source)
        assert done.code == 2, done.err
        assert "would replace its own source" in done.err
    assert source.read_text() == "a\n1\n2\n3\n"
    assert run("scan", source, "--limit", 1, "-o", tmp_path / "other.csv").code == 0
