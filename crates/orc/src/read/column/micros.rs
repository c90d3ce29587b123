//! Timestamps that Spark stores as microseconds since 1970, on no zone's clock.

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::TimeUnit;

use super::super::ints::IntReader;
use super::in_stream;
use super::time::{in_unit, misfit};
use crate::error::Result;
use crate::proto::StreamKind;

const PER_SECOND: i64 = 1_000_000;

pub(super) struct MicrosReader {
    pub(super) id: u32,
    pub(super) micros: IntReader,
    pub(super) unit: TimeUnit,
    /// Digits below the unit are an error.
    pub(super) exact: bool,
    /// The number in the file of the next row; `None` below lists, maps and unions.
    pub(super) row: Option<u64>,
}

impl MicrosReader {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let mut values: Vec<i64> = self.micros.take(there).map_err(in_stream(self.id, StreamKind::Data))?;
        let per_unit = match self.unit {
            TimeUnit::Second => PER_SECOND,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond | TimeUnit::Nanosecond => 1,
        };
        let per_micro = if self.unit == TimeUnit::Nanosecond { 1_000 } else { 1 };
        for (nth, value) in values.iter_mut().enumerate() {
            let micros = *value;
            let lost = self.exact && micros.rem_euclid(per_unit) != 0;
            *value = match micros.div_euclid(per_unit).checked_mul(per_micro) {
                Some(units) if !lost => units,
                units => {
                    let time = (micros.div_euclid(PER_SECOND), micros.rem_euclid(PER_SECOND) * 1_000);
                    let nth = (nth, validity.as_ref());
                    return Err(misfit((self.id, self.row), self.unit, time, units.is_some(), nth));
                }
            };
        }
        self.row = self.row.map(|row| row + validity.as_ref().map_or(there, NullBuffer::len) as u64);
        Ok(in_unit(values, validity, self.unit, None))
    }
}

#[cfg(test)]
mod tests;
