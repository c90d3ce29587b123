#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow::array::AsArray;

use super::super::super::testing::plain;
use super::super::super::writer_kind::WriterSoftware;
use super::*;

/// One time, stored as version 1 integers.
fn read(stored: i64, nanos: u64, zone: WriterZone, julian: bool, unit: TimeUnit) -> Result<i64> {
    read_with(stored, nanos, zone, julian, (unit, false))
}

fn read_with(stored: i64, nanos: u64, zone: WriterZone, julian: bool, (unit, exact): (TimeUnit, bool)) -> Result<i64> {
    let literal = |mut rest: u64| {
        let mut bytes = vec![0xff];
        while rest >= 128 {
            bytes.push(rest as u8 | 128);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    };
    let seconds = IntReader::new(plain(&literal((stored << 1 ^ stored >> 63) as u64)), true, false);
    let nanos = IntReader::new(plain(&literal(nanos)), false, false);
    let mut times =
        TimestampReader { id: 1, seconds, nanos, zone, clock: None, instant: false, julian, unit, exact, row: Some(7) };
    let array = times.read(1, None)?;
    Ok(match unit {
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(0),
        _ => array.as_primitive::<TimestampMicrosecondType>().value(0),
    })
}

#[test]
fn nanoseconds_are_stored_without_their_zeros() {
    assert_eq!(digits(0).unwrap(), 0);
    assert_eq!(digits(1000 << 3).unwrap(), 1000);
    // The specification's example: 1,000 nanoseconds are stored as 0x0a, 100,000 as 0x0c.
    assert_eq!(digits(0x0a).unwrap(), 1000);
    assert_eq!(digits(0x0c).unwrap(), 100_000);
    assert_eq!(digits(-5 << 3).unwrap(), -5);
    assert!(digits(i64::MAX).is_err());
    assert!(digits(i64::MIN).is_err());
}

#[test]
fn times_before_1970_are_cut_towards_zero() {
    let utc = || read(-1_420_070_400 - 1, 500_000_000 << 3, WriterZone::utc(), false, TimeUnit::Nanosecond);
    // -1.5 s was cut to -1 s.
    assert_eq!(utc().unwrap(), -1_500_000_000);
    let below = |nanos: u64| read(-1_420_070_401, nanos << 3, WriterZone::utc(), false, TimeUnit::Nanosecond).unwrap();
    assert_eq!(below(999_999), -999_000_001);
    assert_eq!(below(1_000_000), -1_999_000_000);
}

#[test]
fn the_writers_clock_is_kept() {
    let zone = || WriterZone::named("America/Los_Angeles", WriterSoftware::Java).unwrap();
    let seconds = |stored| read(stored, 0, zone(), false, TimeUnit::Nanosecond).unwrap() / 1_000_000_000;
    assert_eq!(seconds(0), 1_420_070_400);
    // 2015-07-01: an hour of summer time.
    assert_eq!(seconds(181 * 86_400), 1_420_070_400 + 181 * 86_400 + 3600);
}

#[test]
fn far_times_need_a_coarser_unit() {
    let year_1 = -62_135_596_800 - 1_420_070_400;
    let error = read(year_1, 0, WriterZone::utc(), false, TimeUnit::Nanosecond).unwrap_err();
    assert_eq!(error.to_string(), "column 1, row 7: the time 0001-01-01 00:00:00 doesn't fit 64 bits of nanoseconds");
    assert_eq!(read(year_1, 0, WriterZone::utc(), false, TimeUnit::Microsecond).unwrap(), -62_135_596_800_000_000);
    // The same name in the Julian calendar is two days earlier.
    assert_eq!(
        read(year_1 - 2 * DAY, 0, WriterZone::utc(), true, TimeUnit::Microsecond).unwrap(),
        -62_135_596_800_000_000
    );
    assert!(read(i64::MAX, 0, WriterZone::utc(), false, TimeUnit::Microsecond).is_err());
}

#[test]
fn digits_below_the_unit_are_lost_only_where_that_was_asked_for() {
    let micros = |exact| read_with(0, 1_234 << 3, WriterZone::utc(), false, (TimeUnit::Microsecond, exact));
    assert_eq!(micros(false).unwrap(), 1_420_070_400_000_001);
    let error = micros(true).unwrap_err();
    let wanted = "column 1, row 7: the time 2015-01-01 00:00:00.000001234 has digits below microseconds";
    assert_eq!(error.to_string(), wanted);
    assert_eq!(read_with(0, 5_000 << 3, WriterZone::utc(), false, (TimeUnit::Microsecond, true)).unwrap() % 1000, 5);
}
