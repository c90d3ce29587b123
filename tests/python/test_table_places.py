"""Tables are found by the same names on every store, and are not made over the files of others."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ok, run
from s3server import S3

import lakerace as lr


def rows(first: int, last: int) -> pa.Table:
    return pa.table({"id": list(range(first, last)), "day": [f"d{n % 2}" for n in range(first, last)]})


def ids(place: str, options: dict[str, str]) -> list[int]:
    return sorted(lr.scan(place, storage_options=options).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("name", ["orders", "orders.parquet", "orders.csv"])
@pytest.mark.parametrize("store", ["disk", "s3"])
def test_a_table_is_a_table_with_and_without_a_slash(
    request: pytest.FixtureRequest, tmp_path: Path, store: str, name: str
) -> None:
    s3: S3 | None = request.getfixturevalue("s3") if store == "s3" else None
    options = s3.options if s3 else {}
    place = s3.url(f"{tmp_path.name}/{name}") if s3 else str(tmp_path / name)
    lr.copy(rows(0, 3), f"delta:{place}", storage_options=options)
    expected = [0, 1, 2]
    for number, target in enumerate((place, place + "/", f"delta:{place}", f"delta:{place}/"), start=3):
        lr.copy(rows(number, number + 1), target, mode="append", storage_options=options)
        expected.append(number)
        for source in (place, place + "/", f"delta:{place}", f"delta:{place}/"):
            assert ids(source, options) == expected, (target, source)
        with pytest.raises(lr.ConflictError):
            lr.copy(rows(0, 1), target, storage_options=options)
    for target in (place, place + "/"):
        lr.copy(rows(0, 2), target, mode="overwrite", storage_options=options)
        assert ids(place, options) == [0, 1]
        lr.copy(rows(0, 3), target, mode="overwrite", storage_options=options)
    storage = {key.upper(): value for key, value in options.items()}
    found = deltalake.DeltaTable(place, storage_options=storage).to_pyarrow_table()
    assert sorted(found["id"].to_pylist()) == [0, 1, 2]


def test_a_folder_of_files_on_a_store_needs_no_slash(s3: S3, tmp_path: Path) -> None:
    place, options = s3.url(f"{tmp_path.name}/files.parquet"), s3.options
    lr.copy(rows(0, 3), place + "/", storage_options=options)
    with pytest.raises(lr.ConflictError):
        lr.copy(rows(3, 4), place, storage_options=options)
    lr.copy(rows(3, 4), place, mode="append", storage_options=options)
    assert ids(place, options) == [0, 1, 2, 3]
    lr.copy(rows(7, 8), place, mode="overwrite", storage_options=options)
    assert ids(place + "/", options) == ids(place, options) == [7]
    assert s3.keys(f"{tmp_path.name}/") == [
        f"files.parquet/{name}" for name in s3.keys(f"{tmp_path.name}/files.parquet/")
    ]


@pytest.mark.parametrize("mode", ["error", "overwrite", "append"])
@pytest.mark.parametrize("file", ["theirs.parquet", "notes.txt", "year=2025/a.csv", "part-00000-1f.parquet"])
def test_a_table_is_not_made_over_the_files_of_others(tmp_path: Path, file: str, mode: str) -> None:
    folder = tmp_path / "folder"
    theirs = folder / file
    theirs.parent.mkdir(parents=True)
    pq.write_table(rows(0, 3), theirs)
    done = run("copy", "tpch:region?sf=0.01", f"delta:{folder}", "--mode", mode)
    assert done.code == 7
    assert str(theirs) in done.err
    with pytest.raises(lr.ConflictError, match=file):
        lr.copy(rows(0, 3), f"delta:{folder}", mode=mode)
    assert [path for path in folder.rglob("*") if path.is_file()] == [theirs]


def test_hidden_files_and_left_overs_are_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".notes").write_text("mine")
    (folder / "_SUCCESS").write_text("")
    (folder / f"part-00000-{'0a' * 16}.parquet").write_bytes(b"of a killed writer")
    ok("copy", "tpch:region?sf=0.01", f"delta:{folder}")
    assert ok("scan", folder, "--count").out.strip() == "5"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_an_empty_text_divides_no_files(tmp_path: Path, kind: pa.DataType) -> None:
    batch = pa.table({"id": [1, 2], "day": pa.array(["", "x"], kind)})
    with pytest.raises(lr.InvalidInputError, match="day"):
        lr.copy(batch, f"delta:{tmp_path / 'new'}", partition_by=["day"])
    table = tmp_path / "table"
    lr.copy(rows(0, 3), f"delta:{table}", partition_by=["day"])
    for write in (
        lambda: lr.copy(batch, table, mode="append"),
        lambda: lr.copy(batch, table, mode="overwrite"),
        lambda: lr.Table(table, key="id").upsert(batch),
        lambda: lr.Table(table, key="id").upsert(batch, insert_only=True),
    ):
        with pytest.raises(lr.InvalidInputError, match="empty string"):
            write()
    # Null is a value of its own, as others read it.
    nulls = pa.table({"id": [9], "day": pa.array([None], pa.string())})
    lr.copy(nulls, table, mode="append")
    found = deltalake.DeltaTable(table).to_pyarrow_table()
    assert dict(zip(found["id"].to_pylist(), found["day"].to_pylist(), strict=True)) == {
        0: "d0",
        1: "d1",
        2: "d0",
        9: None,
    }


def test_a_name_of_an_object_and_a_folder_is_refused() -> None:
    place = "memory://both/x.parquet"
    lr.copy(rows(0, 1), place)
    with pytest.raises(lr.ConflictError, match="object with this name"):
        lr.copy(rows(0, 1), f"delta:{place}")
    lr.copy(rows(1, 2), f"{place}/y.parquet")
    for mode in ("error", "append", "overwrite"):
        with pytest.raises(lr.InvalidInputError, match="both an object and a folder"):
            lr.copy(rows(2, 3), place, mode=mode)
    lr.copy(rows(2, 3), f"{place}/", mode="append")
    assert ids(place, {}) == [0]
    assert ids(f"{place}/", {}) == [1, 2]


@pytest.mark.parametrize("name", ["..", "..a", ".. /b"])
def test_a_partition_column_whose_folders_would_lead_out_of_the_table_is_refused(tmp_path: Path, name: str) -> None:
    batch = pa.table({"id": [1], name: ["x"]})
    with pytest.raises(lr.InvalidInputError):
        lr.copy(batch, f"delta:{tmp_path / 'table'}", partition_by=[name])
    assert not (tmp_path / "table").exists()
    mapped = {"delta.columnMapping.mode": "name"}
    lr.copy(batch, f"delta:{tmp_path / 'mapped'}", partition_by=[name], table_properties=mapped)
    assert lr.scan(tmp_path / "mapped").to_arrow().to_pylist() == [{"id": 1, name: "x"}]


def test_databases_stores_and_other_files_are_not_made_in_a_table(tmp_path: Path) -> None:
    """A vacuum would remove them: delta-rs names them among the files that it would remove."""
    table = tmp_path / "table"
    lr.copy(rows(0, 3), f"delta:{table}", partition_by="day")
    before = sorted(path for path in tmp_path.rglob("*"))
    store = lr.files.Store(tmp_path / "outside.db")
    store.put("a.txt", b"a")
    store.close()
    before = sorted(path for path in tmp_path.rglob("*"))
    names = [table / "app.db", table / "day=d0" / "app.db", table / "new" / "app.db"]
    for name in names:
        calls = [
            ("copy", table, f"sqlite:{name}#t"),
            ("copy", table, f"sqlite://{name}#t", "--dry-run"),
            ("sync", table, f"sqlite:{name}#t", "--key", "id"),
            ("copy", table, f"sqlite:{tmp_path}/x.db#t", "--key", "id", "--dead-letter", name),
            ("files", "put", name, "a.txt", __file__),
            ("files", "put", f"sqlite:{name}", "a.txt", __file__),
            ("files", "put", f"{name}/", "a.txt", __file__),
            ("files", "put", f"dir:{name}", "a.txt", __file__),
            ("files", "get", tmp_path / "outside.db", "a.txt", "-o", name),
            ("files", "export", tmp_path / "outside.db", name),
            ("files", "export", tmp_path / "outside.db", f"{name}.tar"),
            ("scan", table, "-o", f"{name}.csv"),
        ]
        for call in calls:
            done = run(*call)
            assert done.code == 7, (call, done.err)
            assert f"it is in the folder of the Delta table {table}" in done.err, call
            assert sorted(path for path in tmp_path.rglob("*")) == before, call
        for make in (
            lambda name=name: lr.files.Store(name),
            lambda name=name: lr.files.Store(f"{name}/"),
            lambda name=name: lr.copy(table, f"sqlite:{name}#t"),
            lambda name=name: lr.files.Store(tmp_path / "outside.db").export_tree(name),
        ):
            with pytest.raises(lr.ConflictError, match="it is in the folder of the Delta table"):
                make()
    # Below a hidden name, vacuums leave files alone; and so does delta-rs.
    hidden = table / "_app"
    hidden.mkdir()
    ok("copy", table, f"sqlite:{hidden}/app.db#t")
    ok("files", "put", hidden / "store.db", "a.txt", __file__)
    old = deltalake.DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=True)
    assert not any("_app" in name for name in old)
    # What is there already, stays usable.
    moved = table / "store.db"
    (hidden / "store.db").rename(moved)
    assert ok("files", "get", moved, "a.txt").out == Path(__file__).read_text(encoding="utf-8")
