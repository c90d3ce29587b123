#![allow(clippy::unwrap_used)]

use arrow::array::AsArray;
use arrow::datatypes::{TimestampMillisecondType, TimestampNanosecondType};

use super::super::super::testing::plain;
use super::*;

/// One value behind a null, in version 1 integers: that of row 8.
fn read(micros: i64, unit: TimeUnit, exact: bool) -> Result<ArrayRef> {
    let mut rest = (micros << 1 ^ micros >> 63) as u64;
    let mut bytes = vec![0xff];
    while rest >= 128 {
        bytes.push(rest as u8 | 128);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    let ints = IntReader::new(plain(&bytes), true, false);
    MicrosReader { id: 1, micros: ints, unit, exact, row: Some(7) }.read(1, Some(NullBuffer::from(vec![false, true])))
}

#[test]
fn microseconds_come_in_every_unit() {
    let nanos = read(-1, TimeUnit::Nanosecond, true).unwrap();
    assert!(nanos.is_null(0));
    assert_eq!(nanos.as_primitive::<TimestampNanosecondType>().value(1), -1_000);
    let millis = read(-1, TimeUnit::Millisecond, false).unwrap();
    assert_eq!(millis.as_primitive::<TimestampMillisecondType>().value(1), -1);
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_row() {
    let far = read(i64::MAX, TimeUnit::Nanosecond, true).unwrap_err().to_string();
    assert!(far.contains("column 1, row 8") && far.contains("doesn't fit 64 bits of nanoseconds"), "{far}");
    let lost = read(1_500, TimeUnit::Millisecond, true).unwrap_err().to_string();
    assert!(lost.contains("row 8") && lost.contains("00:00:00.001500 has digits below milliseconds"), "{lost}");
}
