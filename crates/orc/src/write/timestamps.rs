//! Timestamps: seconds since 2015 and nanoseconds.

use arrow::array::ArrayRef;
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};

use crate::encode::nanos;
use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::statistics::Instant;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// Seconds from 1970 to 2015, in UTC, which is the zone that the writer states.
const BASE: i64 = 1_420_070_400;
const NANOS: i64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
const MILLI: i64 = 1_000_000;
/// Readers count milliseconds in 64 bits.
const MAX_SECONDS: i64 = i64::MAX / 1000 - 1;

/// Timestamps with and without a zone.
///
/// Before 1970, readers take one second away where the nanoseconds are a millisecond or more: the reference implementation
/// has always rounded seconds towards 1970. The same rounding is written here. Nothing in the file can then stand for the
/// last 999 milliseconds before 1970 but their first nanoseconds: readers take any of them for a time in 1970. They are
/// refused.
#[derive(Default)]
pub(crate) struct TimestampValues {
    scratch: Vec<i64>,
}

impl ValueStreams for TimestampValues {
    /// Seconds, nanoseconds.
    fn streams(&self) -> Vec<StreamWriter> {
        vec![
            StreamWriter::new(StreamKind::Data, StreamCoding::Ints { signed: true }),
            StreamWriter::new(StreamKind::Secondary, StreamCoding::Ints { signed: false }),
        ]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        match rows.array.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => self.append_ticks::<TimestampSecondType, 1>(rows, out),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.append_ticks::<TimestampMillisecondType, 1000>(rows, out)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.append_ticks::<TimestampMicrosecondType, 1_000_000>(rows, out)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.append_ticks::<TimestampNanosecondType, NANOS>(rows, out)
            }
            other => return Err(Error::internal(format!("{other} is not a timestamp"))),
        }?;
        Ok(Vec::new())
    }

    fn memory_bytes(&self) -> usize {
        self.scratch.capacity() * 8
    }
}

impl TimestampValues {
    /// Appends ticks, of which a second has `TICKS`.
    fn append_ticks<T: ArrowTimestampType, const TICKS: i64>(
        &mut self,
        rows: &WrittenRows<'_>,
        out: &mut ValueTarget<'_>,
    ) -> Result<()> {
        let ([seconds, nanos], digest) = out.parts()?;
        let values = rows.values::<T>(&mut self.scratch)?;
        let Some(&first) = values.first() else { return Ok(()) };
        let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
        check_range(min.div_euclid(TICKS))?;
        check_range(max.div_euclid(TICKS))?;
        seconds.numbers.reserve(values.len());
        nanos.numbers.reserve(values.len());
        for &ticks in values {
            let (second, nano) = (ticks.div_euclid(TICKS), ticks.rem_euclid(TICKS) * (NANOS / TICKS));
            let rounded = second + i64::from(second < 0 && nano >= MILLI);
            if rounded == 0 && second < 0 {
                return Err(lost(NANOS - nano));
            }
            seconds.numbers.push(rounded - BASE);
            nanos.numbers.push(nanos::encode(nano as u32));
        }
        let millis = values.iter().map(|&ticks| instant::<TICKS>(ticks).0);
        digest.add_instants(instant::<TICKS>(min), instant::<TICKS>(max), millis);
        Ok(())
    }
}

fn check_range(second: i64) -> Result<()> {
    if (-MAX_SECONDS..=MAX_SECONDS).contains(&second) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the timestamp {second} s since 1970 is out of ORC's range; filter or clamp such values first"
    )))
}

fn lost(nanos: i64) -> Error {
    Error::invalid(format!(
        "readers of ORC can't distinguish the timestamp {nanos} ns before 1970-01-01 UTC from one after it, nor any \
         other from 1969-12-31 23:59:59.001 on; filter or round such values first"
    ))
}

/// The milliseconds, and the nanoseconds below them, of a number of ticks whose seconds are in range.
fn instant<const TICKS: i64>(ticks: i64) -> Instant {
    if TICKS <= 1000 {
        return (ticks * (1000 / TICKS), 0);
    }
    let in_milli = TICKS / 1000;
    (ticks.div_euclid(in_milli), (ticks.rem_euclid(in_milli) * (NANOS / TICKS)) as u32)
}
