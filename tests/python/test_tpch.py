"""Generated TPC-H tables: dbgen's bytes, other tools' reading, the specification's answers."""

from __future__ import annotations

import hashlib
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from pyarrow import orc

import lakerace as lr

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


#: SHA-256 of what dbgen (2.14) writes at scale factor 1, 1.1 GB.
DBGEN_1 = {
    "customer": "4483680548a965833877c911ed43e795f4d3543c7a3f7d1dba9ccb24ea5989d6",
    "lineitem": "96d555e07a1ae8cf5196387d9edd9427f9af70c56fa5f4b18affee5555ddb184",
    "nation": "66f96949939fa8fdf1c4ffed1e5f6c2842fe11a14b51fdc6ed1e17460031e8c5",
    "orders": "8709061d7bbc81932356fdfc664f8d582252747c2d7e204ae6d3cde624586357",
    "part": "f0e4ccdfb5f6d19428ce54f9c84b17037d20f00ac8d2b2272c8d43b18a0b4880",
    "partsupp": "43c37f99918f06d4de6b99b05c0a28d5c46f71d66424cffcc595cb059a499254",
    "region": "6022658d673924389b54dcb70fa8c3d6da1b0d7afa3c1c017bab62a019df404f",
    "supplier": "9b99cf155974e6db8773970b40746bfccfa64fa078169574165f3e19e2158391",
}
#: The same of its first two refresh streams.
DBGEN_1_STREAMS = {
    "delete.1": "801d3d83fd0735a07ac9c60c247d93f2233bdd17d1e5ff7a7e9c81629c6cb8b9",
    "delete.2": "2e17020ddd0807cbe26c7057e774cb20782265387893b337825c307e369c0f93",
    "lineitem.tbl.u1": "bd924b1d723f906ca63f8b76e8dd19deb7c55374cbb0cc47785c73bb90cdea1f",
    "lineitem.tbl.u2": "0f39c9184a43da4bde2b7f5190159618a3819009fb23fd1bc87fe2190f5ea833",
    "orders.tbl.u1": "9959cc8fc853d82cc8a424828af2ea4c3a9e9b36f3ec4b0fece52f130a26a8aa",
    "orders.tbl.u2": "eaee073d331dd1bf9d1d00dc88c8d58fef514c23f760f23099b24d568383ef28",
}


def test_scale_factor_1_is_that_of_dbgen_byte_for_byte(tmp_path: Path) -> None:
    ok("tpch", "-s", "1", "-o", tmp_path, "--format", "tbl")
    ok("tpch", "-s", "1", "-o", tmp_path, "--format", "tbl", "--refresh", "2")
    expected = {f"{table}.tbl": digest for table, digest in DBGEN_1.items()} | DBGEN_1_STREAMS
    for path in tmp_path.iterdir():
        with path.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == expected.pop(path.name), path.name
        path.unlink()  # a gigabyte in all, which pytest would keep
    assert not expected


def test_others_read_orc_and_parquet_of_every_table(tmp_path: Path) -> None:
    for mode in ("zero-copy", "true-zero-copy"):
        for form in ("orc", "parquet"):
            ok("tpch", "-s", "0.01", "-o", tmp_path / mode, "--format", form, "--mode", mode)
        for table in DBGEN:
            expected = lr.scan(f"tpch:{table}?sf=0.01").checksum()
            path = tmp_path / mode / table
            for found in (
                orc.read_table(f"{path}.orc"),
                pq.read_table(f"{path}.parquet"),
                duckdb.read_parquet(f"{path}.parquet").to_arrow_table(),
            ):
                lr.copy(found, tmp_path / "again.parquet", mode="overwrite")
                assert lr.scan(tmp_path / "again.parquet").checksum() == expected, (mode, table)


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


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "tbl", "delta"])
def test_the_function_generates_what_the_command_does(format: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"sf": 0.01, "tables": ["orders", "nation"], "format": format, "threads": 2}
    made = lr.tpch(tmp_path / "a" / "b", **options)
    done = ok(
        *("tpch", "-s", 0.01, "--tables", "orders,nation", "--format", format, "-o", tmp_path / "c", "--threads", 2),
        "--json",
    ).json
    mode = "true-zero-copy" if format == "parquet" else "zero-copy"
    assert (made.rows, made.mode, made.io) == (done["rows"], done["mode"], "auto") == (15_025, mode, "auto")
    assert made.file_bytes == sum(table.bytes for table in made.tables) > 0
    for table, other, rows in zip(made.tables, done["tables"], (15_000, 25), strict=True):
        assert (table.table, table.rows) == (other["table"], other["rows"]) == (table.table, rows)
        if format != "delta":
            [one], [two] = table.files, other["files"]
            assert Path(one).read_bytes() == Path(two).read_bytes()
        else:
            checksum = lr.scan(f"tpch:{table.table}?sf=0.01").checksum()
            assert lr.scan(tmp_path / "a" / "b" / table.table).checksum() == checksum
    with pytest.raises(lr.ConflictError):
        lr.tpch(tmp_path / "a" / "b", **options)
    again = lr.tpch(tmp_path / "a" / "b", overwrite=True, mode="baseline", **options)
    assert (again.rows, again.mode) == (15_025, "baseline")


def test_the_function_knows_parts_sizes_codecs_and_streams(tmp_path: Path) -> None:
    parts = lr.tpch(tmp_path / "parts", sf=0.01, tables=["lineitem", "nation"], parts=3, compression="zstd:3")
    assert [len(table.files) for table in parts.tables] == [3, 1]
    assert pq.read_metadata(parts.tables[0].files[0]).row_group(0).column(0).compression == "ZSTD"
    sized = lr.tpch(tmp_path / "sized", sf=0.05, tables=["lineitem"], file_bytes=2_000_000, row_group_rows=20_000)
    assert len(sized.tables[0].files) > 3
    assert pq.read_metadata(sized.tables[0].files[0]).row_group(0).num_rows == 20_000
    streams = lr.tpch(tmp_path / "streams", sf=0.01, refresh=2)
    assert [table.table for table in streams.tables] == ["orders", "lineitem", "delete"]


def test_wrong_arguments_of_the_function_are_named(tmp_path: Path) -> None:
    with pytest.raises(lr.UsageError, match=r"sf: .*10000"):
        lr.tpch(tmp_path, sf=100_000)
    with pytest.raises(lr.NotFoundError, match=r"tables: .*lineitem"):
        lr.tpch(tmp_path, tables=["linetem"])
    with pytest.raises(lr.UsageError, match="tables is a list"):
        lr.tpch(tmp_path, tables="lineitem")
    with pytest.raises(lr.UsageError, match=r"format: .*delta"):
        lr.tpch(tmp_path, format="lance")  # type: ignore[arg-type]
    with pytest.raises(lr.UsageError, match=r"mode: .*zero-copy"):
        lr.tpch(tmp_path, mode="zerocopy")  # type: ignore[arg-type]
    with pytest.raises(lr.UsageError, match="folder"):
        lr.tpch("-")
    with pytest.raises(lr.UsageError, match="parts"):
        lr.tpch(tmp_path, parts=2, file_bytes=1_000_000)
    with pytest.raises(lr.UsageError, match="file_bytes: "):
        lr.tpch(tmp_path, file_bytes=0)
    assert not any(tmp_path.iterdir())


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


#: SHA-256 of what dbgen -U 3 writes at scale factor 0.02.
DBGEN_STREAMS = {
    "orders.tbl.u1": "00c4bca6883488144b94d5eae662e3fc2fb3e1f5e965a90b7937cdbc70b145d4",
    "orders.tbl.u2": "6d03c95d845edb0730b7415f5c245041c2ae933e708ee50991283a95a4c9ab68",
    "orders.tbl.u3": "334c84fea4ba9c86e831b72ce0ad2e7ff825ee0220e2a993e4b368f139d79097",
    "lineitem.tbl.u1": "51b510fb0265386e010213d01d0826d3bf03229f89a1484eaa5d2d7a1a42f2c0",
    "lineitem.tbl.u2": "22e940fd4d5187b1851ac73237bd6576406f925d004411dd245d601aec892a45",
    "lineitem.tbl.u3": "e9983b711a0242bd6b8c27d693b8f20bc98d55dadab9c02d770cfba541c6d64e",
    "delete.1": "2647953eeaf87734e9474f61ca581948e2935aefc5b6f42ef0168d5cf00310c2",
    "delete.2": "75e6cea4de465cd1d560b6892f7fc0eb0dc42e411f9abad52c64784e3ab64982",
    "delete.3": "4c32ac32eb2ba572b2ef3016a93c29f53390a36ab86147e97b6cf99eba560aa4",
}
STREAM_SCALE = "0.02"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("mode", ["baseline", "zero-copy", "true-zero-copy"])
def test_refresh_streams_are_those_of_dbgen_byte_for_byte(mode: str, tmp_path: Path) -> None:
    options = ["-s", STREAM_SCALE, "-o", tmp_path / "s", "--refresh", "3", "--mode", mode]
    report = ok("tpch", *options, "--format", "tbl", "--json").json
    assert {path.name: sha256(path) for path in (tmp_path / "s").iterdir()} == DBGEN_STREAMS
    rows = {table["table"]: (table["rows"], len(table["files"])) for table in report["tables"]}
    assert rows == {"orders": (90, 3), "lineitem": (362, 3), "delete": (90, 3)}
    again = run("tpch", *options, "--format", "tbl")
    assert (again.code, "already" in again.err) == (7, True)


def test_refresh_streams_come_in_every_format(tmp_path: Path) -> None:
    for form in ("parquet", "orc", "csv", "delta"):
        ok("tpch", "-s", STREAM_SCALE, "-o", tmp_path / form, "--refresh", "2", "--format", form)
        ending = "" if form == "delta" else f".{form}"
        for stream in (1, 2):
            for table in ("orders", "lineitem"):
                written = lr.scan(tmp_path / form / f"{table}.u{stream}{ending}")
                assert written.checksum() == lr.scan(f"tpch:{table}?sf={STREAM_SCALE}&insert={stream}").checksum()
            keys = lr.scan(tmp_path / form / f"delete.{stream}{ending}")
            wanted = lr.scan(f"tpch:orders?sf={STREAM_SCALE}&delete={stream}", columns=["o_orderkey"])
            assert keys.checksum() == wanted.checksum()


def applied_by_duckdb(folder: Path, streams: int) -> dict[str, list[tuple[object, ...]]]:
    """The tables after so many streams, from dbgen's bytes alone."""
    connection = duckdb.connect()
    for table in ("orders", "lineitem"):
        names = [f"'{name}': '{kind}'" for name, kind in SQL_TYPES[table].items()] + ["'_end': 'VARCHAR'"]
        how = f"auto_detect = false, delim = '|', quote = '', header = false, columns = {{{', '.join(names)}}}"
        connection.execute(
            f"CREATE TABLE {table} AS SELECT * EXCLUDE _end FROM read_csv('{folder}/{table}.tbl', {how})"
        )
        for stream in range(1, streams + 1):
            new = f"SELECT * EXCLUDE _end FROM read_csv('{folder}/{table}.tbl.u{stream}', {how})"
            connection.execute(f"INSERT INTO {table} {new}")
            key = next(iter(SQL_TYPES[table]))
            gone = f"SELECT column0 FROM read_csv('{folder}/delete.{stream}', delim = '|', header = false)"
            connection.execute(f"DELETE FROM {table} WHERE {key} IN ({gone})")
    return {table: sorted(connection.sql(f"FROM {table}").fetchall(), key=str) for table in ("orders", "lineitem")}


DECIMAL = "DECIMAL(15,2)"
SQL_TYPES = {
    "orders": {
        "o_orderkey": "BIGINT",
        "o_custkey": "BIGINT",
        "o_orderstatus": "VARCHAR",
        "o_totalprice": DECIMAL,
        "o_orderdate": "DATE",
        "o_orderpriority": "VARCHAR",
        "o_clerk": "VARCHAR",
        "o_shippriority": "INTEGER",
        "o_comment": "VARCHAR",
    },
    "lineitem": {
        "l_orderkey": "BIGINT",
        "l_partkey": "BIGINT",
        "l_suppkey": "BIGINT",
        "l_linenumber": "INTEGER",
        "l_quantity": DECIMAL,
        "l_extendedprice": DECIMAL,
        "l_discount": DECIMAL,
        "l_tax": DECIMAL,
        "l_returnflag": "VARCHAR",
        "l_linestatus": "VARCHAR",
        "l_shipdate": "DATE",
        "l_commitdate": "DATE",
        "l_receiptdate": "DATE",
        "l_shipinstruct": "VARCHAR",
        "l_shipmode": "VARCHAR",
        "l_comment": "VARCHAR",
    },
}


def test_applied_streams_leave_what_duckdb_makes_of_the_files_of_dbgen(tmp_path: Path) -> None:
    lake, files = tmp_path / "lake", tmp_path / "files"
    tables = ["--tables", "orders,lineitem"]
    ok("tpch", "-s", STREAM_SCALE, "-o", files, "--format", "tbl", *tables)
    ok("tpch", "-s", STREAM_SCALE, "-o", files, "--format", "tbl", "--refresh", "3")
    ok("tpch", "-s", STREAM_SCALE, "-o", lake, "--format", "delta", *tables)

    def apply(streams: int) -> dict[str, object]:
        command = ["tpch", "-s", STREAM_SCALE, "-o", lake, "--refresh", str(streams), "--apply"]
        return ok(*command, "--json").json

    def check(streams: int) -> None:
        for table, expected in applied_by_duckdb(files, streams).items():
            found = duckdb.from_arrow(lr.scan(lake / table)).fetchall()
            assert sorted(found, key=str) == expected, table

    first = apply(1)
    assert (first["rows_inserted"], first["rows_deleted"]) == (30 + 99, 30 + 117)
    assert [stream["outcome"] for stream in first["streams"]] == ["applied"]
    check(1)
    more = apply(3)
    assert [stream["outcome"] for stream in more["streams"]] == ["already-applied", "applied", "applied"]
    check(3)
    before = ok("history", lake / "orders", "--json").json
    again = apply(3)
    assert (again["rows_inserted"], again["rows_deleted"]) == (0, 0)
    assert ok("history", lake / "orders", "--json").json["rows"] == before["rows"], "no version was made"
    check(3)


def test_a_stream_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ok("tpch", "-s", STREAM_SCALE, "-o", lake, "--format", "delta", "--tables", "orders,lineitem")
    ok("upsert", lake / "orders", f"tpch:orders?sf={STREAM_SCALE}&insert=1")
    command = ["tpch", "-s", STREAM_SCALE, "-o", lake, "--refresh", "1", "--apply"]
    done = ok(*command, "--json").json
    assert [stream["outcome"] for stream in done["streams"]] == ["completed"]
    assert (done["rows_inserted"], done["rows_deleted"]) == (99, 30 + 117)
    assert "stream 1: already applied" in ok(*command).err
    assert lr.scan(lake / "orders").count() == 30_000


def test_streams_that_do_not_fit_the_tables_are_refused_before_anything_is_changed(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    apply = ["tpch", "-o", lake, "--apply", "--refresh"]
    nothing = run(*apply, "1", "-s", STREAM_SCALE)
    assert (nothing.code, "--format delta" in nothing.err) == (3, True), nothing.err
    ok("tpch", "-s", STREAM_SCALE, "-o", lake, "--tables", "orders,lineitem")
    files = run(*apply, "1", "-s", STREAM_SCALE)
    assert files.code == 3, files.err
    ok("tpch", "-s", STREAM_SCALE, "-o", lake, "--format", "delta", "--tables", "orders,lineitem")
    other = run(*apply, "1", "-s", "0.03")
    assert (other.code, "as at a scale factor of 0.02" in other.err) == (4, True), other.err
    # Some lines of another scale factor's stream.
    ok("upsert", lake / "lineitem", "tpch:lineitem?sf=0.01&insert=1")
    odd = run(*apply, "2", "-s", STREAM_SCALE)
    assert (odd.code, "stream 1 of scale factor 0.02 inserts" in odd.err) == (4, True), odd.err
    for table in ("orders", "lineitem"):
        scan = lr.scan(lake / table, where=f"{table[0]}_orderkey <= 100")
        assert scan.count() == lr.scan(f"tpch:{table}?sf=0.02", where=f"{table[0]}_orderkey <= 100").count() + (
            lr.scan("tpch:lineitem?sf=0.01&insert=1").count() if table == "lineitem" else 0
        )


def test_bad_options_of_refresh_streams_name_what_was_meant(tmp_path: Path) -> None:
    for options, text in [
        (["--refresh", "0"], "choose 1 to 999"),
        (["--refresh", "1000"], "choose 1 to 999"),
        (["--refresh", "-1"], "--refresh"),
        (["--refresh", "1", "--tables", "orders"], "omit --tables, --parts"),
        (["--refresh", "1", "--parts", "2"], "omit --tables, --parts"),
        (["--refresh", "1", "-o", "-"], "standard output"),
        (["--apply"], "--refresh"),
        (["--refresh", "0", "--apply"], "choose 1 to 999"),
        (["--refresh", "1", "--apply", "--format", "orc"], "applied to Delta tables"),
        (["--refresh", "1", "--apply", "--overwrite"], "--overwrite"),
    ]:
        place = [] if "-o" in options else ["-o", tmp_path / "out"]
        done = run("tpch", "-s", "0.01", *place, *options)
        assert (done.code, text in done.err) == (2, True), (options, done.err)
        assert not (tmp_path / "out").exists()
