"""Times and days of files that Spark's own writer makes: they are to Spark what they were when it wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

#: The session zone of a test and of the files that it writes, then the other settings.
Configure = Callable[..., None]


@pytest.fixture
def configure(spark: SparkSession) -> Iterator[Configure]:
    """Settings of the session, which end with the test."""
    before: dict[str, str | None] = {}

    def change(**settings: str) -> None:
        for short, value in settings.items():
            name = "spark.sql." + short.replace("__", ".")
            before.setdefault(name, spark.conf.get(name, None))
            spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def lakerace(spark: SparkSession, place: Path, **options: str) -> DataFrame:
    return spark.read.format("lakerace").options(**options).load(str(place))


def test_timestamps_of_96_bits_are_instants(spark: SparkSession, tmp_path: Path, configure: Configure) -> None:
    configure(session__timeZone="Asia/Kolkata", parquet__outputTimestampType="INT96")
    place, time = tmp_path / "files", "timestamp'2024-05-01 02:00:00'"
    spark.sql(f"SELECT 1 AS id, {time} AS t, array({time}) AS a, named_struct('t', {time}) AS s").write.parquet(
        str(place)
    )
    theirs, ours = spark.read.parquet(str(place)), lakerace(spark, place, format="parquet")
    assert ours.dtypes == theirs.dtypes
    seen = ["cast(t AS string)", "cast(a[0] AS string)", "cast(s.t AS date)", "hour(t)", "unix_micros(t)"]
    assert ours.selectExpr(*seen).collect() == theirs.selectExpr(*seen).collect()
    assert ours.where(f"t = {time}").count() == ours.where(f"s.t = {time}").count() == 1
    assert ours.where("t > timestamp'2024-05-01 02:00:01'").count() == 0

    table = tmp_path / "table"
    for frame in (theirs, ours):
        frame.write.format("lakerace").mode("append").save(f"delta:{table}")
    assert lakerace(spark, table).select("t", "a", "s").distinct().collect() == theirs.select("t", "a", "s").collect()


@pytest.mark.parametrize("year", ["2024", "0001"])
def test_times_without_zone_in_orc(spark: SparkSession, tmp_path: Path, year: str) -> None:
    time = f"timestamp_ntz'{year}-05-01 02:00:00.123456'"
    rows = f"IF(id % 3 = 0, NULL, {time} + make_dt_interval(CAST(id AS INT))) AS t"
    frame = spark.range(0, 100_000, 1, 2).selectExpr("id", rows, f"array(named_struct('t', {time}, 'n', id)) AS a")
    frame.write.option("orc.stripe.size", "100000").orc(str(tmp_path / "files"))
    theirs, ours = spark.read.orc(str(tmp_path / "files")), lakerace(spark, tmp_path / "files", format="orc")
    assert ours.dtypes == theirs.dtypes
    assert ours.exceptAll(theirs).count() == theirs.exceptAll(ours).count() == 0
    later = f"t >= {time} + make_dt_interval(99990)"
    assert ours.where(later).count() == theirs.where(later).count() == 6
    assert ours.where(f"t = {time} + make_dt_interval(7)").select("id").collect() == [(7,)]


@pytest.mark.parametrize("stored_as", ["TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "INT96"])
@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles"])
def test_days_and_times_of_the_old_calendar(
    spark: SparkSession, tmp_path: Path, configure: Configure, zone: str, mode: str, stored_as: str
) -> None:
    configure(session__timeZone=zone, parquet__outputTimestampType=stored_as)
    configure(parquet__datetimeRebaseModeInWrite=mode, parquet__int96RebaseModeInWrite=mode)
    years = [1, 900, 1500, 1582, 1583, 1850, 1883, 1900, 2024]
    rows = " UNION ALL ".join(
        f"SELECT {year} AS id, DATE'{year:04}-10-04' AS d, TIMESTAMP'{year:04}-10-04 01:02:03.004' AS t"
        for year in years
    )
    place = tmp_path / "files"
    spark.sql(f"SELECT *, array(d) AS ds, named_struct('t', t) AS s FROM ({rows})").repartition(1).write.parquet(
        str(place)
    )
    theirs, ours = spark.read.parquet(str(place)), lakerace(spark, place, format="parquet")
    seen = ["id", "unix_date(d)", "unix_micros(t)", "cast(t AS string)", "unix_date(ds[0])", "unix_micros(s.t)"]
    assert ours.selectExpr(*seen).orderBy("id").collect() == theirs.selectExpr(*seen).orderBy("id").collect()
    extremes = ["unix_date(min(d))", "unix_date(max(d))", "unix_micros(min(t))", "unix_micros(max(t))"]
    assert ours.selectExpr(*extremes).collect() == theirs.selectExpr(*extremes).collect()
    for condition in ("d <= DATE'1500-10-04'", "d = DATE'0900-10-04'", "t <= TIMESTAMP'1850-10-04 01:02:03.004'"):
        assert ours.where(condition).count() == theirs.where(condition).count() > 0, condition


@pytest.fixture
def zone_of_machine(spark: SparkSession) -> Iterator[Callable[[str], None]]:
    """Sets the zone of the virtual machine, by which ORC's timestamps are instants, until the test ends."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    yield lambda name: zones.setDefault(zones.getTimeZone(name))
    zones.setDefault(before)


#: Ordinary times, those around the jumps of clocks, and old ones, in UTC.
INSTANTS = [
    "2024-03-10 06:30:00.123456",
    "2024-03-10 07:30:00",
    "2024-11-03 05:30:00",
    "2024-11-03 06:30:00",
    "2024-10-27 00:30:00",
    "2024-10-27 01:30:00",
    "1970-01-01 00:00:00",
    "1960-05-01 12:00:00.5",
    "1899-12-31 12:00:00",
    "1850-01-01 00:00:00",
    "1500-03-05 06:07:08",
    "0001-01-03 00:00:00",
]


@pytest.mark.parametrize(
    ("session", "writer", "reader"),
    [
        ("America/New_York", "UTC", "UTC"),
        ("UTC", "America/New_York", "America/New_York"),
        ("Asia/Kolkata", "Europe/Berlin", "America/New_York"),
        ("Europe/Berlin", "America/New_York", "Europe/Berlin"),
        ("UTC", "Asia/Tokyo", "UTC"),
    ],
)
def test_timestamps_of_orc_are_instants(
    spark: SparkSession,
    tmp_path: Path,
    configure: Configure,
    zone_of_machine: Callable[[str], None],
    session: str,
    writer: str,
    reader: str,
) -> None:
    configure(session__timeZone=session)
    values = " UNION ALL ".join(
        f"SELECT {number} AS id, timestamp'{time}Z' AS t, timestamp_ntz'{time}' AS n, date'{time[:10]}' AS d"
        for number, time in enumerate(INSTANTS)
    )
    frame = spark.sql(f"SELECT *, array(named_struct('t', t, 'n', n)) AS a, map('k', t) AS m FROM ({values})")
    frame = frame.repartition(1)
    files = tmp_path / "files"
    zone_of_machine(writer)
    frame.write.orc(str(files))
    zone_of_machine(reader)
    theirs, ours = spark.read.orc(str(files)), lakerace(spark, files, format="orc")
    assert ours.dtypes == theirs.dtypes
    seen = [
        "id",
        "unix_micros(t)",
        "cast(n AS string)",
        "unix_date(d)",
        "unix_micros(a[0].t)",
        "cast(a[0].n AS string)",
    ]
    seen = [*seen, "unix_micros(m['k'])", "cast(t AS string)"]
    rows = theirs.selectExpr(*seen).orderBy("id").collect()
    assert ours.selectExpr(*seen).orderBy("id").collect() == rows
    # Where clocks differ, two times may become the same one.
    for moment in sorted({row[1] for row in rows}):
        wanted = [row.id for row in rows if row[1] == moment]
        for column in ("t", "a[0].t"):
            found = ours.where(f"{column} IN (timestamp_micros({moment}))").select("id").orderBy("id").collect()
            assert [row.id for row in found] == wanted
    # Bounds of statistics are what the writer's clock showed.
    recent = "t >= timestamp'2024-11-03 05:30:00Z'"
    assert ours.where(recent).count() == theirs.where(recent).count()

    # Spark reads what is written here as what it was, whatever the zone; old times by the clock of its machine.
    back = tmp_path / "back"
    frame.write.format("lakerace").mode("append").option("format", "orc").save(f"{back}/")
    zone_of_machine(writer)
    again = spark.read.orc(str(back))
    assert again.dtypes == frame.dtypes
    recent_ids = "id < 8"
    known = frame.where(recent_ids).selectExpr(*seen).orderBy("id").collect()
    assert again.where(recent_ids).selectExpr(*seen).orderBy("id").collect() == known
    zones_free = ["id", "cast(n AS string)", "unix_date(d)"]
    assert (
        again.selectExpr(*zones_free).orderBy("id").collect() == frame.selectExpr(*zones_free).orderBy("id").collect()
    )
    own = lakerace(spark, back, format="orc")
    assert own.selectExpr(*seen).orderBy("id").collect() == frame.selectExpr(*seen).orderBy("id").collect()


def test_old_days_and_times_are_read_by_default(spark: SparkSession, tmp_path: Path, configure: Configure) -> None:
    configure(parquet__datetimeRebaseModeInRead="EXCEPTION", session__timeZone="America/Los_Angeles")
    days = ["0001-01-01", "1500-02-28", "1582-10-10", "1850-06-01", "2024-01-01"]
    values = " UNION ALL ".join(
        f"SELECT {number} AS id, date'{day}' AS d, timestamp'{day} 01:02:03.004Z' AS t, timestamp_ntz'{day}' AS n"
        for number, day in enumerate(days)
    )
    frame = spark.sql(f"SELECT *, array(d) AS ds, named_struct('t', t) AS s FROM ({values})")
    frame.write.format("lakerace").mode("append").option("format", "parquet").save(f"{tmp_path}/files/")
    frame.write.format("lakerace").mode("append").save(f"delta:{tmp_path}/table")
    table = f"lake.`{tmp_path}/table`"
    spark.sql(f"UPDATE {table} SET id = id + 10 WHERE d < date'1600-01-01'")
    frame.limit(5).write.format("lakerace").mode("append").option("key", "id").save(f"{tmp_path}/table")
    seen = ["id", "unix_date(d)", "unix_micros(t)", "cast(n AS string)", "unix_date(ds[0])", "unix_micros(s.t)"]
    known = frame.selectExpr(*seen).orderBy("id").collect()
    for place in (tmp_path / "files", *(tmp_path / "table").glob("*.parquet")):
        rows = spark.read.parquet(str(place)).selectExpr("id % 10 AS id", *seen[1:]).collect()
        assert rows
        assert all(row in known for row in rows)
    files = spark.read.parquet(str(tmp_path / "files"))
    assert files.selectExpr(*seen).orderBy("id").collect() == known
    assert files.where("d < date'1582-10-15'").count() == 3
