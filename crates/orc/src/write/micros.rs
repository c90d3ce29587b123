//! Timestamps on no zone's clock, as Spark has them: microseconds since 1970.

use arrow::array::ArrayRef;
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};

use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// Microseconds of a second.
const MICROS: i64 = 1_000_000;

/// Timestamps without a zone of any unit. Digits below microseconds are an error: Spark has none.
pub(crate) struct MicrosValues;

impl ValueStreams for MicrosValues {
    fn streams(&self) -> Vec<StreamWriter> {
        vec![StreamWriter::new(StreamKind::Data, StreamCoding::Ints { signed: true })]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([data], digest) = out.parts()?;
        let numbers = &mut data.numbers;
        let before = numbers.len();
        match rows.array.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => extend::<TimestampSecondType>(rows, numbers, MICROS)?,
            DataType::Timestamp(TimeUnit::Millisecond, _) => extend::<TimestampMillisecondType>(rows, numbers, 1_000)?,
            DataType::Timestamp(TimeUnit::Microsecond, _) => extend::<TimestampMicrosecondType>(rows, numbers, 1)?,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                extend::<TimestampNanosecondType>(rows, numbers, 1)?;
                for nanos in &mut numbers[before..] {
                    if *nanos % 1_000 != 0 {
                        let message = format!(
                            "the timestamp {nanos} ns since 1970 has digits below microseconds, which Spark does not \
                             support"
                        );
                        return Err(Error::invalid(format!("{message}; round such values first")));
                    }
                    *nanos /= 1_000;
                }
            }
            other => return Err(Error::internal(format!("{other} is not a timestamp"))),
        }
        digest.add_ints(&numbers[before..]);
        Ok(Vec::new())
    }
}

/// Appends the values, each of `micros` microseconds.
fn extend<T: ArrowTimestampType>(rows: &WrittenRows<'_>, numbers: &mut Vec<i64>, micros: i64) -> Result<()> {
    let before = numbers.len();
    rows.extend::<T, _>(numbers, |value| value)?;
    if micros == 1 {
        return Ok(());
    }
    for value in &mut numbers[before..] {
        *value = value.checked_mul(micros).ok_or_else(|| {
            Error::invalid(format!(
                "the timestamp {value} does not fit 64 bits of microseconds; filter or clamp such values first"
            ))
        })?;
    }
    Ok(())
}
