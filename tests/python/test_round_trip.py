"""Random tables of every type through every format and codec: the same rows for pyarrow and for us."""

from __future__ import annotations

import datetime
import decimal
import random
import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakerace as lr

if TYPE_CHECKING:
    from pathlib import Path

Make = Callable[[random.Random], Any]
EPOCH = datetime.datetime(1970, 1, 1)
TEXTS = ["", " ", "a", "ä€😀", 'quo"te', "com,ma", "new\nline", "tab\t", "\\", "null", "NaN", "x" * 300]


def signed(bits: int) -> Make:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda r: r.choice([low, high, 0, -1, r.randint(low, high), r.randint(-100, 100)])


def unsigned(bits: int) -> Make:
    return lambda r: r.choice([0, 2**bits - 1, r.randint(0, 2**bits - 1), r.randint(0, 100)])


def decimals(precision: int, scale: int) -> Make:
    context = decimal.Context(prec=precision + 1)
    return lambda r: context.scaleb(decimal.Decimal(r.randint(-(10**precision) + 1, 10**precision - 1)), -scale)


def text(r: random.Random) -> str:
    return r.choice([*TEXTS, "".join(r.choices(string.ascii_letters, k=r.randint(1, 40)))])


def day(r: random.Random) -> datetime.date:
    return datetime.date.fromordinal(r.randint(600_000, 800_000))


def moment(unit: str, zone: datetime.timezone | None = None) -> Make:
    steps = {"ms": 1000, "us": 1_000_000, "ns": 1_000_000}[unit]

    def make(r: random.Random) -> datetime.datetime:
        micros = r.randint(-(10**10), 4 * 10**9) * 1_000_000 + r.randrange(steps) * (1_000_000 // steps)
        made = EPOCH + datetime.timedelta(microseconds=max(micros, -(2**62) // 1000))
        return made.replace(tzinfo=zone) if zone else made

    return make


def clock(step: int) -> Make:
    return lambda r: (EPOCH + datetime.timedelta(microseconds=r.randrange(0, 86_400_000_000, step))).time()


def floating(r: random.Random) -> float:
    return r.choice([0.0, -0.0, 1.5, float("inf"), float("-inf"), r.uniform(-1e9, 1e9)])


#: Types that every format keeps. Floats are such that 32 bits hold them or the type is 64 bits wide.
SCALARS: dict[str, tuple[pa.DataType, Make]] = {
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "int8": (pa.int8(), signed(8)),
    "int16": (pa.int16(), signed(16)),
    "int32": (pa.int32(), signed(32)),
    "int64": (pa.int64(), signed(64)),
    "uint8": (pa.uint8(), unsigned(8)),
    "uint16": (pa.uint16(), unsigned(16)),
    "uint32": (pa.uint32(), unsigned(32)),
    "uint64": (pa.uint64(), unsigned(64)),
    "float32": (pa.float32(), lambda r: r.choice([0.0, 1.5, -2.25, r.randint(-(2**20), 2**20) / 8])),
    "float64": (pa.float64(), floating),
    "decimal9": (pa.decimal128(9, 2), decimals(9, 2)),
    "decimal18": (pa.decimal128(18, 6), decimals(18, 6)),
    "decimal38": (pa.decimal128(38, 10), decimals(38, 10)),
    "date": (pa.date32(), day),
    "timestamp_ms": (pa.timestamp("ms"), moment("ms")),
    "timestamp_us": (pa.timestamp("us"), moment("us")),
    "timestamp_us_utc": (pa.timestamp("us", "UTC"), moment("us", datetime.timezone.utc)),
    "time_us": (
        pa.time64("us"),
        lambda r: (EPOCH + datetime.timedelta(microseconds=r.randrange(86_400_000_000))).time(),
    ),
    "string": (pa.string(), text),
}
#: Types that Parquet keeps and CSV has no text for, or writes under another type.
MORE: dict[str, tuple[pa.DataType, Make]] = {
    "large_string": (pa.large_string(), text),
    "string_view": (pa.string_view(), text),
    "binary": (pa.binary(), lambda r: r.randbytes(r.randint(0, 40))),
    "binary_view": (pa.binary_view(), lambda r: r.randbytes(r.randint(0, 40))),
    "fixed_binary": (pa.binary(16), lambda r: r.randbytes(16)),
    "float16": (pa.float16(), lambda r: r.randint(-2000, 2000) / 4),
    "decimal76": (pa.decimal256(60, 10), decimals(60, 10)),
    "timestamp_ns": (pa.timestamp("ns"), moment("us")),
    "time_ms": (pa.time32("ms"), clock(1000)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda r: r.choice(["red", "green", "blue"])),
    "list": (pa.list_(pa.int32()), lambda r: [r.choice([None, r.randint(0, 9)]) for _ in range(r.randint(0, 5))]),
    "large_list": (pa.large_list(pa.string()), lambda r: [text(r) for _ in range(r.randint(0, 3))]),
    "struct": (
        pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.string())]))]),
        lambda r: {"x": r.choice([None, r.randint(0, 9)]), "y": r.choice([None, {"z": r.choice([None, text(r)])}])},
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        lambda r: [(f"k{i}", r.choice([None, i])) for i in range(r.randint(0, 4))],
    ),
    "list_of_structs": (
        pa.list_(pa.struct([("a", pa.list_(pa.int8())), ("b", pa.bool_())])),
        lambda r: [{"a": [1, None], "b": r.choice([None, True])} for _ in range(r.randint(0, 3))],
    ),
}
EVERY = SCALARS | MORE


def column(kind: str, rows: int, seed: str, nulls: float) -> pa.Array:
    """Random values of a type, the same for the same seed."""
    r = random.Random(f"{kind}{seed}")
    data_type, make = EVERY[kind]
    values = [None if r.random() < nulls else make(r) for _ in range(rows)]
    if pa.types.is_dictionary(data_type):
        return pa.array(values, data_type.value_type).dictionary_encode().cast(data_type)
    return pa.array(values, data_type)


def table(seed: str, kinds: dict[str, tuple[pa.DataType, Make]], rows: int) -> pa.Table:
    """Random columns of all kinds, in chunks."""
    nulls = {"none": 0.0, "some": 0.2, "all": 1.0}
    columns = {f"{kind} {name}": column(kind, rows, seed, share) for kind in kinds for name, share in nulls.items()}
    made = pa.table(columns)
    return pa.Table.from_batches(made.to_batches(max_chunksize=max(1, rows // 3)), made.schema)


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as Python values; times of day and the like compare as what they mean."""
    return table.to_pylist()


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
@pytest.mark.parametrize("rows", [0, 1, 2500])
def test_parquet(tmp_path: Path, codec: str, rows: int) -> None:
    made = table(codec, EVERY, rows)
    path = tmp_path / "x.parquet"
    result = lr.copy(made, path, compression=codec, row_group_rows=1000)
    assert result.rows == rows
    theirs = pq.read_table(path)
    assert theirs.schema.names == made.schema.names
    assert plain(theirs) == plain(made)
    ours = lr.scan(path, batch_rows=333)
    assert plain(ours.to_arrow()) == plain(made)
    assert lr.checksum(made) == lr.checksum(path) == lr.checksum(theirs)
    # Types come back as they were written, views and dictionaries as their values' type.
    for before, after in zip(made.schema.types, theirs.schema.types, strict=True):
        same = before == after or str(before).startswith(("dictionary", "string_view", "binary_view", "large_"))
        assert same, f"{before} became {after}"


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_parquet_of_pyarrow(tmp_path: Path, version: str, pages: str, dictionary: bool) -> None:
    made = table("theirs", {k: v for k, v in EVERY.items() if version != "1.0" or k != "timestamp_ns"}, 1500)
    path = tmp_path / "x.parquet"
    pq.write_table(
        made, path, version=version, data_page_version=pages, use_dictionary=dictionary, row_group_size=400,
        data_page_size=2000, write_page_index=True,
    )  # fmt: skip
    expected = plain(pq.read_table(path))
    assert plain(lr.scan(path).to_arrow()) == expected
    assert lr.checksum(path) == lr.checksum(pq.read_table(path))
    for name in made.schema.names[::7]:
        assert plain(lr.scan(path, columns=[name], threads=1).to_arrow()) == plain(pq.read_table(path, columns=[name]))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
@pytest.mark.parametrize("rows", [0, 1, 2500])
def test_csv(tmp_path: Path, ending: str, rows: int) -> None:
    made = table(ending, SCALARS, rows)
    path = tmp_path / f"x.{ending}"
    lr.copy(made, path)
    schema = ", ".join(f'"{field.name}" {csv_type(field.type)}' for field in made.schema)
    back = lr.scan(path, schema=schema)
    assert plain(back.to_arrow()) == plain(made)
    assert back.checksum() == lr.checksum(made).checksum
    parquet = tmp_path / "x.parquet"
    lr.copy(path, parquet, schema=schema)
    assert lr.checksum(parquet) == lr.checksum(made)


def csv_type(kind: pa.DataType) -> str:
    """A type as `--schema` names it."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return f"timestamp({kind.unit}, {kind.tz})" if kind.tz else f"timestamp({kind.unit})"
    names = {"bool": "bool", "float": "float32", "double": "float64", "date32[day]": "date32", "string": "utf8"}
    return {"time64[us]": "time64(us)"}.get(str(kind), names.get(str(kind), str(kind)))


def test_the_checksum_sees_every_change() -> None:
    made = table("sum", SCALARS, 200)
    base = lr.checksum(made)
    shuffled = made.take(random.Random(1).sample(range(200), 200))
    assert lr.checksum(shuffled) == base
    assert lr.checksum(made.slice(0, 199)) != base
    assert lr.checksum(pa.concat_tables([made, made.slice(0, 1)])) != base
    r = random.Random(2)
    for name in made.schema.names:
        values = made[name].to_pylist()
        at = r.randrange(200)
        kind = name.split(" ")[0]
        value = None if values[at] is not None else SCALARS[kind][1](r)
        changed = [*values[:at], value, *values[at + 1 :]]
        index = made.schema.get_field_index(name)
        other = made.set_column(index, name, pa.array(changed, made.schema.field(name).type))
        assert lr.checksum(other) != base, name


@pytest.mark.parametrize("seed", range(20))
def test_filters_agree_with_pyarrow(tmp_path: Path, seed: int) -> None:
    r = random.Random(seed)
    made = pa.table({"a": column("int32", 3000, str(seed), 0.1).cast(pa.int64()), "b": column("string", 3000, "", 0.1)})
    made = made.sort_by("a") if seed % 2 else made
    path = tmp_path / "x.parquet"
    lr.copy(made, path, row_group_rows=r.choice([100, 1000, 5000]), bloom_filter=["b"])
    low, high = sorted(r.choices([v for v in made["a"].to_pylist() if v is not None], k=2))
    texts = r.sample(TEXTS, 3)
    quoted = ", ".join("'" + t.replace("'", "''") + "'" for t in texts)
    cases = [
        (f"a BETWEEN {low} AND {high}", lambda a, _: a is not None and low <= a <= high),
        (f"a < {low} OR a > {high}", lambda a, _: a is not None and (a < low or a > high)),
        (f"NOT (a >= {low}) AND b IS NOT NULL", lambda a, b: a is not None and a < low and b is not None),
        (f"b IN ({quoted})", lambda _, b: b in texts),
        ("a IS NULL", lambda a, _: a is None),
        ("b LIKE 'a%' OR b LIKE '%e'", lambda _, b: b is not None and (b.startswith("a") or b.endswith("e"))),
    ]
    for expression, keeps in cases:
        expected = [row for row in made.to_pylist() if keeps(row["a"], row["b"])]
        scan = lr.scan(path, where=expression)
        assert scan.to_arrow().to_pylist() == expected, expression
        assert scan.count() == len(expected), expression
