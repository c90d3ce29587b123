//! Timestamps: seconds from the beginning of 2015 on the writer's clock, and nanoseconds.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};

use chrono::DateTime;

use super::super::calendar::{FIRST_GREGORIAN_DAY, from_julian};
use super::super::ints::IntReader;
use super::super::reader_clock::ReaderClock;
use super::super::zone::WriterZone;
use super::{in_stream, spread};
use crate::error::{Error, Result};
use crate::proto::StreamKind;

const DAY: i64 = 86_400;

pub(super) struct TimestampReader {
    pub(super) id: u32,
    pub(super) seconds: IntReader,
    pub(super) nanos: IntReader,
    pub(super) zone: WriterZone,
    /// The reader's clock, by which the values are instants.
    pub(super) clock: Option<ReaderClock>,
    pub(super) instant: bool,
    pub(super) julian: bool,
    pub(super) unit: TimeUnit,
    /// Digits below the unit are an error.
    pub(super) exact: bool,
    /// The number in the file of the next row; `None` below lists, maps and unions.
    pub(super) row: Option<u64>,
}

impl TimestampReader {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let mut values: Vec<i64> = self.seconds.take(there).map_err(in_stream(self.id, StreamKind::Data))?;
        let nanos: Vec<i64> = self.nanos.take(there).map_err(in_stream(self.id, StreamKind::Secondary))?;
        let per_second: i64 = match self.unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        };
        let per_unit = 1_000_000_000 / per_second;
        let exact = self.exact && per_unit > 1;
        for (nth, (value, nanos)) in values.iter_mut().zip(&nanos).enumerate() {
            let nanos = digits(*nanos).map_err(in_stream(self.id, StreamKind::Secondary))?;
            let seconds = match &self.clock {
                None => self.wall_clock(*value, nanos),
                Some(_) => self.instant(*value, nanos)?,
            };
            let below = nanos.div_euclid(per_unit);
            let lost = exact && nanos.rem_euclid(per_unit) != 0;
            let units = seconds.and_then(|seconds| {
                let whole = seconds.checked_mul(per_second).and_then(|units| units.checked_add(below));
                // Negative seconds may fit only after the fraction is added to them.
                whole.or_else(|| i64::try_from(i128::from(seconds) * i128::from(per_second) + i128::from(below)).ok())
            });
            *value = match units {
                Some(units) if !lost => units,
                _ => return Err(self.misfit(seconds, nanos, units.is_some(), (nth, validity.as_ref()))),
            };
        }
        self.row = self.row.map(|row| row + validity.as_ref().map_or(there, NullBuffer::len) as u64);
        Ok(in_unit(values, validity, self.unit, self.instant.then_some("UTC")))
    }

    /// Seconds since 1970 in UTC, from those since 2015 on the writer's clock.
    #[inline]
    fn seconds(&self, stored: i64, nanos: i64) -> Option<i64> {
        let seconds = stored.checked_add(self.zone.base)?;
        // Writers round seconds towards zero, except for times within the first millisecond of a second.
        if seconds < 0 && nanos > 999_999 { seconds.checked_sub(1) } else { Some(seconds) }
    }

    /// Seconds since 1970 in UTC as the reader's clock makes them.
    fn instant(&mut self, stored: i64, nanos: i64) -> Result<Option<i64>> {
        let (Some(seconds), Some(clock)) = (self.seconds(stored, nanos), &mut self.clock) else { return Ok(None) };
        clock.instant(&mut self.zone, seconds, self.julian).map_err(in_stream(self.id, StreamKind::Data))
    }

    /// Seconds since 1970 that the writer's clock showed, from those since its 2015.
    #[inline]
    fn wall_clock(&mut self, stored: i64, nanos: i64) -> Option<i64> {
        let mut seconds = self.seconds(stored, nanos)?;
        if !self.zone.is_utc() {
            seconds = seconds.checked_add(self.zone.offset(seconds))?;
        }
        if self.julian && seconds < FIRST_GREGORIAN_DAY * DAY {
            let day = seconds.div_euclid(DAY);
            seconds = seconds.checked_add((from_julian(day) - day).checked_mul(DAY)?)?;
        }
        Some(seconds)
    }

    #[cold]
    fn misfit(&self, seconds: Option<i64>, nanos: i64, in_range: bool, nth: (usize, Option<&NullBuffer>)) -> Error {
        let Some(seconds) = seconds else {
            return in_stream(self.id, StreamKind::Data)(Error::invalid("a time doesn't fit 64 bits of seconds"));
        };
        misfit((self.id, self.row), self.unit, (seconds, nanos), in_range, nth)
    }
}

/// The values that are there, which have this unit, over all rows.
pub(super) fn in_unit(
    values: Vec<i64>,
    validity: Option<NullBuffer>,
    unit: TimeUnit,
    zone: Option<&'static str>,
) -> ArrayRef {
    let values = spread(values, validity.as_ref());
    macro_rules! array {
        ($type:ty) => {
            Arc::new(PrimitiveArray::<$type>::new(values.into(), validity).with_timezone_opt(zone))
        };
    }
    match unit {
        TimeUnit::Second => array!(TimestampSecondType),
        TimeUnit::Millisecond => array!(TimestampMillisecondType),
        TimeUnit::Microsecond => array!(TimestampMicrosecondType),
        TimeUnit::Nanosecond => array!(TimestampNanosecondType),
    }
}

/// The error for a time, as seconds and nanoseconds, that the unit can't hold, or not all digits of. It is the nth of the
/// values that are there; the first of all rows has the number `row`.
#[cold]
pub(super) fn misfit(
    (id, row): (u32, Option<u64>),
    unit: TimeUnit,
    (seconds, nanos): (i64, i64),
    in_range: bool,
    (nth, validity): (usize, Option<&NullBuffer>),
) -> Error {
    let unit = match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    };
    let time = format!("the time {}", shown(seconds, nanos));
    let error = Error::invalid(match in_range {
        true => format!("{time} has digits below {unit}"),
        false => format!("{time} doesn't fit 64 bits of {unit}"),
    });
    let at = validity.map_or(Some(nth), |validity| validity.inner().set_indices().nth(nth));
    match row.zip(at).map(|(first, at)| first + at as u64) {
        Some(row) => error.at(format!("column {id}, row {row}")),
        None => error.at(format!("column {id}")),
    }
}

/// A time as people write it, where the calendar reaches that far.
fn shown(seconds: i64, nanos: i64) -> String {
    let (seconds, nanos) = (seconds.saturating_add(nanos.div_euclid(1_000_000_000)), nanos.rem_euclid(1_000_000_000));
    match DateTime::from_timestamp(seconds, nanos as u32) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S%.f").to_string(),
        None => format!("{seconds} s since 1970"),
    }
}

/// Nanoseconds, of which up to eight zeros at the end are cut off and counted in the lowest three bits.
///
/// Arrow's C++ writer stores nanoseconds below zero for times before 1970, with seconds cut towards zero; they just add up.
#[inline]
fn digits(stored: i64) -> Result<i64> {
    const POWERS: [i64; 8] = [1, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let nanos = (stored >> 3).saturating_mul(POWERS[(stored & 7) as usize]);
    if !(-999_999_999..=999_999_999).contains(&nanos) {
        return Err(Error::corrupt(format!("a time has {nanos} nanoseconds")));
    }
    Ok(nanos)
}

#[cfg(test)]
mod tests;
