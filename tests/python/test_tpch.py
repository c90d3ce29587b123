"""Generated TPC-H tables: dbgen's bytes, other tools' reading, the specification's answers."""

from __future__ import annotations

import hashlib
import pickle
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from conftest import ok, run

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

#: SHA-256 of what TPC-H's own dbgen writes, at scale factors 0.001 and 0.01.
DBGEN = {
    "nation": [
        "66f96949939fa8fdf1c4ffed1e5f6c2842fe11a14b51fdc6ed1e17460031e8c5",
        "66f96949939fa8fdf1c4ffed1e5f6c2842fe11a14b51fdc6ed1e17460031e8c5",
    ],
    "region": [
        "6022658d673924389b54dcb70fa8c3d6da1b0d7afa3c1c017bab62a019df404f",
        "6022658d673924389b54dcb70fa8c3d6da1b0d7afa3c1c017bab62a019df404f",
    ],
    "part": [
        "7a26cd61498eb1cc84d73ca859bcb2acfe1b6cc22e5eae47ba49640ca2a4e59e",
        "896e14465325110dd9cf05a16972028a58be0010959262176ecd97f4db1702f8",
    ],
    "supplier": [
        "0e8d5acfdd475c136523d94b297e0cf6ee223dad6fce352de001ca283d63541c",
        "9dc1002ee774699a092ed83ba278caf466d62a15d7e35bb6ed9293475528734b",
    ],
    "partsupp": [
        "6d02a612f975020e5982d4d2e6e5d66c879a332c9fb02521ebf1e1b2f90ba4af",
        "5947b5ebab042b49148f82c1324ad122f7e0d98cfadcbef12da0a5e239e09e79",
    ],
    "customer": [
        "35687dad57aeb383f029354868719ecf0f4a4f60d56e0cfaef2edebbd28cbeb3",
        "6b690cce995cb715861ebf2c77aa02c61406e3a0ddcd3326d1ecfa969b9163f8",
    ],
    "orders": [
        "6791f5e540e2399a4086adc8effc2f28878c4420878fe1132925e89446a0bf9d",
        "07cc8b362fda6d0b503c4d6c5d228817548e0688a3b21b590c52bb47b7b79c0f",
    ],
    "lineitem": [
        "68af4af7afce86bda6e222998bfae75dd66fd8019ee1df8ae4978d1d0c2e2a03",
        "ee411d23efcd2943ef70489799e37dfc24543dbd03b461a88e16fd82a95765e4",
    ],
}
SCALES = ["0.001", "0.01"]


@pytest.mark.parametrize("table", DBGEN)
def test_tbl_files_are_those_of_dbgen_byte_for_byte(table: str, tmp_path: Path) -> None:
    for scale, expected in zip(SCALES, DBGEN[table], strict=True):
        target = tmp_path / f"{table}-{scale}.tbl"
        lr.copy(f"tpch:{table}?sf={scale}", target)
        assert hashlib.sha256(target.read_bytes()).hexdigest() == expected


def test_a_scan_is_an_arrow_stream_that_others_read(tmp_path: Path) -> None:
    scan = lr.scan("tpch:orders?sf=0.01", columns=["o_orderkey", "o_orderpriority"], where="o_orderkey < 1000")
    table = pa.table(scan)
    assert table.num_rows == 8 * 31 + 8 - 1  # 8 of each 32 keys are in use, and 0 is not
    assert duckdb.sql("SELECT count(*) FROM scan").fetchall() == [(table.num_rows,)]
    assert pl.DataFrame(scan).height == table.num_rows
    parts = [pickle.loads(pickle.dumps(task)) for task in lr.scan("tpch:lineitem?sf=0.1").tasks(3)]
    assert sum(pa.table(part).num_rows for part in parts) == 600_572
    for mode in ("baseline", "true-zero-copy"):
        other = lr.scan(f"tpch:lineitem?sf=0.01&mode={mode}")
        assert other.checksum() == lr.scan("tpch:lineitem?sf=0.01").checksum()


def test_the_command_knows_generated_tables() -> None:
    assert ok("scan", "tpch:lineitem?sf=1", "--count").out.strip() == "6001215"
    schema = ok("schema", "tpch:orders?sf=1", "--json").json
    assert (schema["rows"], schema["format"]) == (1_500_000, "tpch")
    assert {column["name"]: column["type"] for column in schema["columns"]}["o_totalprice"] == "Decimal128(15, 2)"
    assert "FRANCE" in ok("scan", "tpch:nation?sf=1").out
    bad = run("scan", "tpch:lineitm?sf=1", "--json")
    assert bad.code == 3
    assert "did you mean lineitem?" in bad.error["message"] + str(bad.error)
    for name in ("tpch:lineitem?sf=0", "tpch:lineitem?sf=-1", "tpch:lineitem?sf=1e9", "tpch:lineitem?sf=nan"):
        assert run("scan", name).code == 2, name


def test_the_answers_are_those_of_the_specification(tmp_path: Path) -> None:
    """Q1 and Q6 with the validation parameters, at scale factor 1 (specification, appendix C)."""
    columns = [
        "l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate",
    ]  # fmt: skip
    lr.copy("tpch:lineitem?sf=1", tmp_path / "lineitem.parquet", columns=columns)
    q1 = duckdb.sql(f"""
        SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
            round(sum(l_extendedprice * (1 - l_discount)), 2),
            round(sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), 2),
            round(avg(l_quantity), 2), round(avg(l_extendedprice), 2), round(avg(l_discount), 2), count(*)
        FROM '{tmp_path}/lineitem.parquet' WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
        GROUP BY ALL ORDER BY ALL""")
    answers = [
        "A F 37734107.00 56586554400.73 53758257134.87 55909065222.83 25.52 38273.13 0.05 1478493",
        "N F 991417.00 1487504710.38 1413082168.05 1469649223.19 25.52 38284.47 0.05 38854",
        "N O 74476040.00 111701729697.74 106118230307.61 110367043872.50 25.50 38249.12 0.05 2920374",
        "R F 37719753.00 56568041380.90 53741292684.60 55889619119.83 25.51 38250.85 0.05 1478870",
    ]
    for row, answer in zip(q1.fetchall(), answers, strict=True):
        flag, status, *numbers = answer.split()
        assert row[:2] == (flag, status)
        assert [Decimal(str(number)) for number in row[2:]] == [Decimal(number) for number in numbers]
    q6 = duckdb.sql(f"""
        SELECT sum(l_extendedprice * l_discount) FROM '{tmp_path}/lineitem.parquet'
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
            AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""").fetchall()
    assert round(q6[0][0], 2) == Decimal("123141078.23")


def test_the_command_generates_all_tables(tmp_path: Path) -> None:
    report = ok("tpch", "-s", "0.01", "-o", tmp_path / "tables", "--format", "tbl", "--threads", "2", "--json").json
    assert (report["mode"], report["files_added"], len(report["tables"])) == ("zero-copy", 8, 8)
    assert report["rows"] == sum(table["rows"] for table in report["tables"]) == 86_805
    for table, digests in DBGEN.items():
        assert hashlib.sha256((tmp_path / "tables" / f"{table}.tbl").read_bytes()).hexdigest() == digests[1]
    again = run("tpch", "-s", "0.01", "-o", tmp_path / "tables", "--format", "tbl", "--json")
    assert (again.code, again.error["kind"]) == (7, "conflict")
    done = ok(
        "tpch", "-s", "0.01", "-o", tmp_path / "tables", "--format", "tbl", "--overwrite", "--tables", "part,nation"
    )
    assert "mode zero-copy" in done.err
    assert "2,000" in done.err
    delta = tmp_path / "lake"
    ok("tpch", "-s", "0.01", "-o", delta, "--format", "delta", "--tables", "orders,lineitem")
    assert ok("schema", delta / "lineitem", "--json").json["key"] == ["l_orderkey", "l_linenumber"]
    orc = tmp_path / "orc"
    ok(
        "tpch",
        "-s",
        "0.01",
        "-o",
        orc,
        "--format",
        "orc",
        "--parts",
        "3",
        "--tables",
        "orders",
        "--mode",
        "true-zero-copy",
    )
    assert lr.scan(orc / "orders").checksum() == lr.scan(delta / "orders").checksum()


def test_one_table_goes_to_standard_output() -> None:
    for name, options in {"tbl": ["tbl"], "true": ["tbl", "--mode", "true-zero-copy"]}.items():
        done = ok("tpch", "-s", "0.01", "-o", "-", "--tables", "lineitem", "--format", *options)
        assert hashlib.sha256(done.out.encode()).hexdigest() == DBGEN["lineitem"][1], name
        assert "60,175" in done.err
    assert run("tpch", "-s", "0.01", "-o", "-", "--format", "tbl").code == 2
    assert run("tpch", "-s", "0.01", "-o", "-", "--tables", "part", "--format", "delta").code == 2


def test_bad_command_lines_name_what_was_meant(tmp_path: Path) -> None:
    for options, code, text in [
        (["-s", "0"], 2, "choose 0.001 to 10000"),
        (["-s", "-1"], 2, "choose 0.001 to 10000"),
        (["-s", "1e9"], 2, "choose 0.001 to 10000"),
        (["-s", "1", "--tables", "order"], 3, "did you mean orders?"),
        (["-s", "1", "--mode", "zero"], 2, "zero-copy"),
        (["-s", "1", "--parts", "0"], 2, "part"),
        (["-s", "0.01", "--format", "tbl", "--compression", "snappy"], 2, "gzip or zstd"),
    ]:
        done = run("tpch", "-o", tmp_path / "out", *options)
        assert (done.code, text in done.err) == (code, True), done.err
        assert not (tmp_path / "out").exists()
